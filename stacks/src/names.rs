//! Names and lines of functions, from the programs' files: the process may be gone.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{CodeInfo, Input, Symbolized, Symbolizer};
use object::ReadCache;

use crate::debug_files::DebugFiles;
use crate::frames::Frame;
use crate::tables::Tables;

/// A function of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// The name.
    pub name: String,
    /// The source file and the line, `src/app.c:12`, where the program has them.
    pub line: Option<String>,
    /// True where the call was inlined into the function after it.
    pub is_inlined: bool,
}

/// Looks names up, each once.
#[derive(Default)]
pub struct Names {
    symbolizer: Symbolizer,
    known: HashMap<Frame, Vec<Function>>,
    tables: HashMap<Arc<str>, Option<Tables>>,
    debug_files: Option<DebugFiles>,
}

impl Names {
    /// Has a server for debug files asked for what the programs' files lack, where the user has named one (DEBUGINFOD_URLS).
    pub fn asking() -> Names {
        Names {
            debug_files: Some(DebugFiles::new()),
            ..Names::default()
        }
    }

    /// The functions of a frame, the innermost first: several where calls were inlined. Where no table knows the address, none,
    /// and the address at which the function begins in its file: a stripped file tells this as well.
    pub fn of(&mut self, frame: &Frame) -> (Vec<Function>, Option<u64>) {
        let functions = self.functions(frame);
        let start = match functions.is_empty() {
            true => self.start(frame),
            false => None,
        };
        (functions, start)
    }

    fn functions(&mut self, frame: &Frame) -> Vec<Function> {
        if let Some(known) = self.known.get(frame) {
            return known.clone();
        }
        let found = self.look_up(frame).unwrap_or_default();
        self.known.insert(frame.clone(), found.clone());
        found
    }

    fn start(&mut self, frame: &Frame) -> Option<u64> {
        let tables = self.tables.entry(Arc::clone(&frame.file));
        let tables = tables.or_insert_with(|| {
            let file = ReadCache::new(File::open(&*frame.file).ok()?);
            Tables::of(&object::File::parse(&file).ok()?)
        });
        let function = tables.as_ref()?.function(frame.address)?;
        Some(function.initial_address())
    }

    fn look_up(&mut self, frame: &Frame) -> Option<Vec<Function>> {
        if frame.file.is_empty() {
            return None;
        }
        let debug_files = self.debug_files.as_mut();
        let debug_file = debug_files.and_then(|files| files.of(&frame.file));
        let of_debug_file = debug_file.and_then(|path| self.look_up_in(&path, frame.address));
        of_debug_file.or_else(|| self.look_up_in(Path::new(&*frame.file), frame.address))
    }

    fn look_up_in(&self, file: &Path, address: u64) -> Option<Vec<Function>> {
        let source = Source::Elf(Elf::new(file));
        let input = Input::VirtOffset(address);
        let found = self.symbolizer.symbolize_single(&source, input).ok()?;
        let Symbolized::Sym(symbol) = found else {
            return None;
        };
        let function = |name: &str, code: Option<&CodeInfo<'_>>, is_inlined| Function {
            name: name.to_owned(),
            line: code
                .and_then(|code| Some(format!("{}:{}", code.to_path().display(), code.line?))),
            is_inlined,
        };
        // blazesym has the outermost of the inlined calls first.
        let inlined = symbol.inlined.iter().rev();
        let inlined = inlined.map(|one| function(&one.name, one.code_info.as_ref(), true));
        let itself = function(&symbol.name, symbol.code_info.as_deref(), false);
        Some(inlined.chain([itself]).collect())
    }
}
