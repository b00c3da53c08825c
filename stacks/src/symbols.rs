//! Looks up functions in program files. A separate process does this ([`IsolatedProcess`](crate::IsolatedProcess)).

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{CodeInfo, Input, Symbolized, Symbolizer};
use object::{Object, ReadCache};
use serde::{Deserialize, Serialize};

use crate::debug_files::lacking;
use crate::demangle::demangle;
use crate::frames::Frame;
use crate::isolated::{cpu_time, limit_time, serve};
use crate::open_regular;
use crate::perf_map::{PerfMap, is_perf_map};
use crate::sandbox::allow_only_reading;
use crate::tables::Tables;

/// A function that contains the address of a frame, or a function that is inlined there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// The name of the function.
    pub name: String,
    /// The source file and the line in it (`src/app.c:12`); `None` if the program has no line tables.
    pub line: Option<String>,
    /// True if the call of this function was inlined into the next function of the list.
    pub is_inlined: bool,
}

/// The functions at an address of a file. There are several functions if calls were inlined.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Functions {
    /// The functions at the address, the innermost first; empty if no symbol table contains the address.
    pub functions: Vec<Function>,
    /// The start address of the function in the file if the function's name is unknown, because stripped files still
    /// contain start addresses; otherwise `None`.
    pub start: Option<u64>,
}

/// The folders in which the symbol library searches for debug files.
const DEBUG_FOLDERS: [&str; 2] = ["/usr/lib/debug", "/lib/debug"];
/// The CPU time that the symbol reader may use for all requests about one file.
const CPU_TIME: Duration = Duration::from_secs(20);
/// The maximum number of links from a program file to debug files that are followed.
const LINKS: usize = 2;

/// True if all files with debug information to which the file at `path` links are regular files. The symbol library
/// opens these files, and opening a pipe or a device may block or have effects. `left` is the number of links that may
/// still be followed.
fn links_to_files(path: &Path, left: usize) -> bool {
    let Ok(path) = path.canonicalize() else {
        return true;
    };
    let Ok(file) = open_regular(&path).map(ReadCache::new) else {
        return true;
    };
    let Ok(elf) = object::File::parse(&file) else {
        return true;
    };
    let folder = path.parent().unwrap_or(&path);
    // The file's DWARF package.
    let mut linked = vec![path.with_extension("dwp")];
    if let Ok(Some((name, _))) = elf.gnu_debuglink() {
        let name = Path::new(OsStr::from_bytes(name));
        linked.extend([folder.join(name), folder.join(".debug").join(name)]);
        for debug in DEBUG_FOLDERS.map(Path::new) {
            linked.push(debug.join(name));
            linked.push(
                debug
                    .join(folder.strip_prefix("/").unwrap_or(folder))
                    .join(name),
            );
        }
    }
    if let Ok(Some((name, _))) = elf.gnu_debugaltlink() {
        linked.push(folder.join(OsStr::from_bytes(name)));
    }
    linked.iter().all(|path| match path.metadata() {
        Ok(found) => found.is_file() && (left == 0 || links_to_files(path, left - 1)),
        Err(_) => true,
    })
}

/// A request to the process that reads symbols.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SymbolRequest<'a> {
    pub(crate) file: Cow<'a, str>,
    pub(crate) address: u64,
    /// A file with the debug information that the file lacks.
    pub(crate) debug_file: Option<String>,
    /// True to also get the file's build id if it lacks debug information.
    pub(crate) wants_build_id: bool,
}

/// Replies to requests for the functions at an address of a file ([`serve`]), with a limit on the CPU time of each
/// file. The process can only read files.
///
/// # Errors
/// Fails if [`serve`] fails.
pub fn serve_symbols() -> io::Result<()> {
    // Old kernels have no filters.
    let _ = allow_only_reading();
    let mut symbols = Symbols::default();
    let mut spent: HashMap<Arc<str>, Duration> = HashMap::new();
    serve(move |request: SymbolRequest<'_>| {
        // A trace may name one file in many ways. A map of generated code is recognised by its path.
        let named = match is_perf_map(&request.file) {
            true => None,
            false => fs::canonicalize(&*request.file).ok(),
        };
        let named = named.and_then(|path| path.into_os_string().into_string().ok());
        let file: Arc<str> = named.map_or_else(|| (&*request.file).into(), Arc::from);
        let before = cpu_time();
        let spent = spent.entry(Arc::clone(&file)).or_default();
        limit_time(CPU_TIME.saturating_sub(*spent)).ok()?;
        let wanted = Path::new(&*file);
        let build_id = request.wants_build_id.then(|| lacking(wanted)).flatten();
        let address = request.address;
        let functions = symbols.of(&Frame { file, address }, request.debug_file.as_deref());
        *spent += cpu_time().saturating_sub(before);
        Some((functions, build_id))
    })
}

/// Reads the names of functions from program files. Each file is read once.
#[derive(Default)]
pub(crate) struct Symbols {
    symbolizer: Symbolizer,
    /// For each file, true if its links to debug files lead only to regular files.
    links: HashMap<Arc<str>, bool>,
    tables: HashMap<Arc<str>, Option<Tables>>,
    maps: HashMap<Arc<str>, PerfMap>,
}

impl Symbols {
    pub(crate) fn of(&mut self, frame: &Frame, debug_file: Option<&str>) -> Functions {
        // Pipes and devices in a trace must not be opened. The libraries add to addresses, so addresses in the upper
        // half, which belong to no file, could overflow.
        if !Path::new(&*frame.file).is_file() || frame.address > u64::MAX / 2 {
            return Functions::default();
        }
        if is_perf_map(&frame.file) {
            return self.generated(frame);
        }
        let functions = self.named(frame, debug_file).unwrap_or_default();
        let start = match functions.is_empty() {
            true => self.start(frame),
            false => None,
        };
        Functions { functions, start }
    }

    fn generated(&mut self, frame: &Frame) -> Functions {
        let map = self.maps.entry(Arc::clone(&frame.file));
        let map = map.or_insert_with(|| PerfMap::read(Path::new(&*frame.file)));
        let function = map.name(frame.address).map(|name| Function {
            name: demangle(name).into_owned(),
            line: None,
            is_inlined: false,
        });
        Functions {
            functions: function.into_iter().collect(),
            start: None,
        }
    }

    fn start(&mut self, frame: &Frame) -> Option<u64> {
        let tables = self.tables.entry(Arc::clone(&frame.file));
        let tables = tables.or_insert_with(|| {
            let file = ReadCache::new(open_regular(Path::new(&*frame.file)).ok()?);
            Tables::of(&object::File::parse(&file).ok()?)
        });
        let function = tables.as_ref()?.function(frame.address)?;
        Some(function.initial_address())
    }

    fn named(&mut self, frame: &Frame, debug_file: Option<&str>) -> Option<Vec<Function>> {
        let links = self.links.entry(Arc::clone(&frame.file));
        if !*links.or_insert_with(|| links_to_files(Path::new(&*frame.file), LINKS)) {
            return None;
        }
        let debug_file = debug_file.map(Path::new).filter(|path| path.is_file());
        let of_debug_file = debug_file.and_then(|path| self.named_in(path, frame.address));
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
            name: demangle(name).into_owned(),
            line: code
                .and_then(|code| Some(format!("{}:{}", code.to_path().display(), code.line?))),
            is_inlined,
        };
        // blazesym returns the outermost of the inlined calls first.
        let inlined = symbol.inlined.iter().rev();
        let inlined = inlined.map(|one| function(&one.name, one.code_info.as_ref(), true));
        let itself = function(&symbol.name, symbol.code_info.as_deref(), false);
        Some(inlined.chain([itself]).collect())
    }
}
