//! Names and lines of functions, from the programs' files: the process may be gone.

use std::collections::HashMap;
use std::path::PathBuf;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{CodeInfo, Input, Symbolized, Symbolizer};

use crate::frames::Frame;

/// A function of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// The name.
    pub name: String,
    /// The source file and the line, where the program has them.
    pub line: Option<(PathBuf, u32)>,
    /// True where the call was inlined into the function after it.
    pub is_inlined: bool,
}

/// Looks names up, each once.
#[derive(Default)]
pub struct Names {
    symbolizer: Symbolizer,
    known: HashMap<Frame, Vec<Function>>,
}

impl Names {
    /// The functions of a frame, the innermost first: several where calls were inlined, none where no table knows
    /// the address.
    pub fn of(&mut self, frame: &Frame) -> Vec<Function> {
        if let Some(known) = self.known.get(frame) {
            return known.clone();
        }
        let found = self.look_up(frame).unwrap_or_default();
        self.known.insert(frame.clone(), found.clone());
        found
    }

    fn look_up(&self, frame: &Frame) -> Option<Vec<Function>> {
        if frame.file.is_empty() {
            return None;
        }
        let source = Source::Elf(Elf::new(&*frame.file));
        let input = Input::VirtOffset(frame.address);
        let found = self.symbolizer.symbolize_single(&source, input).ok()?;
        let Symbolized::Sym(symbol) = found else {
            return None;
        };
        let function = |name: &str, code: Option<&CodeInfo<'_>>, is_inlined| Function {
            name: name.to_owned(),
            line: code.and_then(|code| Some((code.to_path().into_owned(), code.line?))),
            is_inlined,
        };
        // blazesym has the outermost of the inlined calls first.
        let inlined = symbol.inlined.iter().rev();
        let inlined = inlined.map(|one| function(&one.name, one.code_info.as_ref(), true));
        let itself = function(&symbol.name, symbol.code_info.as_deref(), false);
        Some(inlined.chain([itself]).collect())
    }
}
