//! Functions of program files, read by a separate process: a stranger's file may crash the libraries that read it, or make them
//! use all memory. Such a file ends the separate process only.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{CodeInfo, Input, Symbolized, Symbolizer};
use object::ReadCache;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::debug_files::DebugFiles;
use crate::frames::Frame;
use crate::tables::Tables;

/// The memory that the process may use. Files that are mapped do not count.
const MEMORY: u64 = 2 << 30;
/// The CPU time that each file may take.
const CPU_TIME: Duration = Duration::from_secs(60);

/// A function of a frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// The name.
    pub name: String,
    /// The source file and the line (`src/app.c:12`), if the program has line tables.
    pub line: Option<String>,
    /// True if the call was inlined into the next function.
    pub is_inlined: bool,
}

/// The functions at an address, the innermost first: several if calls were inlined.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Functions {
    /// The functions; none if no table contains the address.
    pub functions: Vec<Function>,
    /// The address at which a function without a name begins in its file. A stripped file has this as well.
    pub start: Option<u64>,
}

/// Reads addresses from standard input and writes their functions to standard output, a line of JSON each, until the input ends.
/// The process limits its own memory, and its CPU time for each file.
///
/// # Errors
/// Standard input or output fails, or the limits cannot be set.
pub fn serve_symbols(with_debug_files: bool) -> io::Result<()> {
    limit(Resource::Data, MEMORY)?;
    limit(Resource::Core, 0)?;
    let mut symbols = Symbols::new(with_debug_files);
    let mut spent: HashMap<Arc<str>, Duration> = HashMap::new();
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let (file, address): (String, u64) = serde_json::from_str(&line?)?;
        let file: Arc<str> = file.into();
        let before = cpu_time();
        let spent = spent.entry(Arc::clone(&file)).or_default();
        // A limit of whole seconds, at which the kernel ends the process.
        let end = before + CPU_TIME.saturating_sub(*spent);
        limit(Resource::Cpu, end.as_secs() + 1)?;
        let mut reply = serde_json::to_vec(&symbols.of(&Frame { file, address }))?;
        *spent += cpu_time().saturating_sub(before);
        reply.push(b'\n');
        out.write_all(&reply)?;
        out.flush()?;
    }
    Ok(())
}

/// Sets a soft limit, below the limit that the user has set.
fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let old = getrlimit(resource);
    let current = Some(old.maximum.map_or(most, |own| own.min(most)));
    Ok(setrlimit(resource, Rlimit { current, ..old })?)
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// Reads functions from program files, each file once.
#[derive(Default)]
pub(crate) struct Symbols {
    symbolizer: Symbolizer,
    tables: HashMap<Arc<str>, Option<Tables>>,
    debug_files: Option<DebugFiles>,
}

impl Symbols {
    /// With debug files, x11prof requests what the files lack from a server, if the user has named one.
    fn new(with_debug_files: bool) -> Symbols {
        Symbols {
            debug_files: with_debug_files.then(DebugFiles::new),
            ..Symbols::default()
        }
    }

    pub(crate) fn of(&mut self, frame: &Frame) -> Functions {
        // A pipe or a device that a trace names is not opened. Libraries add to addresses, half of which belong to no file.
        if !Path::new(&*frame.file).is_file() || frame.address > u64::MAX / 2 {
            return Functions::default();
        }
        let functions = self.named(frame).unwrap_or_default();
        let start = match functions.is_empty() {
            true => self.start(frame),
            false => None,
        };
        Functions { functions, start }
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

    fn named(&mut self, frame: &Frame) -> Option<Vec<Function>> {
        let debug_files = self.debug_files.as_mut();
        let debug_file = debug_files.and_then(|files| files.of(&frame.file));
        let of_debug_file = debug_file.and_then(|path| self.named_in(&path, frame.address));
        of_debug_file.or_else(|| self.named_in(Path::new(&*frame.file), frame.address))
    }

    fn named_in(&self, file: &Path, address: u64) -> Option<Vec<Function>> {
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
