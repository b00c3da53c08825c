//! Unwinds stacks with the programs' tables (DWARF, `.eh_frame`). The tables of a file are read when a stack first
//! contains its code.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder as _};
use object::{Object, ObjectSection, ObjectSegment, ReadCache, ReadRef};

use crate::frame_pointer;
use crate::memory::{self, Mapping, Mappings};
use crate::perf_map;
use crate::regular_file::open_regular;
use crate::tables::{Bytes, Tables, section};
use crate::waiter::StackCopy;

/// The maximum number of frames.
const DEEPEST: usize = 256;
/// The maximum number of bytes of unwind tables that are in memory for one process.
const MOST_OF_A_PROCESS: usize = 128 << 20;
/// The maximum number of bytes of unwind tables that are in memory for all processes together.
const MOST_OF_ALL: usize = 512 << 20;
/// The maximum age of the memory mappings that a stack is unwound with.
const FRESH: Duration = Duration::from_millis(100);
/// The value of an unknown register. framehop interprets a frame pointer of 0 as the end of the stack, so with 0 a
/// stack that needs the register would seem complete.
const UNKNOWN: u64 = 1;

/// A function call on a stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The path of the file that contains the code, as the kernel names it (with ` (deleted)` after a deleted file's). For
    /// code without a file, such as code generated at run time, the path of the process's map of names
    /// ([`is_perf_map`](crate::is_perf_map)).
    pub file: Arc<str>,
    /// The address of the call in the file (not its address in memory, and not the return address).
    pub address: u64,
}

/// The result of unwinding a stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Unwound {
    /// The frames of the stack, the innermost first.
    pub frames: Vec<Frame>,
    /// True if the last frame is the thread's first function; false if the unwinder stopped before.
    pub is_whole: bool,
}

/// Unwinds stacks of threads of one process.
pub struct Unwinder {
    pid: u32,
    memory: File,
    mappings: Mappings,
    /// When `mappings` were read; `None` if they have changed since.
    read: Option<Instant>,
    unwinder: UnwinderX86_64<Bytes>,
    held: HeldBytes,
    cache: CacheX86_64,
    /// Files with their mappings, by the start of the mapping.
    modules: HashMap<u64, (Mapping, Arc<CodeFile>)>,
    /// The distance from the stack pointer to the frame pointer in bytes, by the address of the call.
    below: HashMap<u64, u64>,
    /// The return addresses that were verified to follow a call instruction.
    after_calls: HashSet<u64>,
}

/// The number of bytes of unwind tables that one unwinder has in memory.
#[derive(Debug)]
struct HeldBytes(usize);

/// The number of bytes of unwind tables that all unwinders have in memory.
static HELD: AtomicUsize = AtomicUsize::new(0);

impl HeldBytes {
    /// Adds `more` bytes for the tables of a file. Returns false, and adds nothing, if a limit would be exceeded. A
    /// sparse file can claim tables of any size.
    fn add(&mut self, more: usize) -> bool {
        let all = HELD.fetch_add(more, Ordering::Relaxed) + more;
        self.0 += more;
        let is_held = self.0 <= MOST_OF_A_PROCESS && all <= MOST_OF_ALL;
        if !is_held {
            self.0 -= more;
            HELD.fetch_sub(more, Ordering::Relaxed);
        }
        is_held
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        HELD.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// A file with code that is mapped into the process.
#[derive(Debug)]
struct CodeFile {
    /// See [`Frame::file`].
    name: Arc<str>,
    /// The difference between an address in memory and the same address in the file.
    base: u64,
    tables: Option<Tables>,
    /// True if the file could be read as a program file.
    is_readable: bool,
}

impl Unwinder {
    /// Creates an unwinder for the process with the id `pid`, and reads the process's memory mappings.
    ///
    /// # Errors
    /// Fails if the process has ended, or if this user may not inspect it.
    pub fn of(pid: u32) -> io::Result<Unwinder> {
        Ok(Unwinder {
            pid,
            memory: File::open(format!("/proc/{pid}/mem"))?,
            mappings: Mappings::of(pid)?,
            read: Some(Instant::now()),
            unwinder: UnwinderX86_64::default(),
            held: HeldBytes(0),
            cache: CacheX86_64::default(),
            modules: HashMap::new(),
            below: HashMap::new(),
            after_calls: HashSet::new(),
        })
    }

    /// Unwinds the copy of a stack that was made just now. Reads the memory mappings again if they are old or if the
    /// unwinder stops early, because the process may have loaded or unloaded code since.
    pub fn unwind(&mut self, copy: &StackCopy) -> Unwound {
        if self.read.is_none_or(|read| read.elapsed() > FRESH) {
            self.read_mappings();
        }
        let unwound = self.walk(copy);
        match unwound.is_whole || !self.read_mappings() {
            true => unwound,
            false => self.walk(copy),
        }
    }

    /// Notes that the process has mapped code, perhaps to the address of code that it has unloaded.
    pub fn has_mapped(&mut self) {
        self.read = None;
    }

    /// Reads the memory mappings again. Returns true if they have changed. If code of a file is no longer where it was,
    /// forgets all tables, because addresses have other meanings now.
    fn read_mappings(&mut self) -> bool {
        self.read = Some(Instant::now());
        let Some(mappings) = Mappings::of(self.pid).ok().filter(|new| !new.is_empty()) else {
            // The process has ended.
            return false;
        };
        if mappings == self.mappings {
            return false;
        }
        let is_same = |one: &Mapping| {
            let new = mappings.at(one.range.start);
            new.is_some_and(|new| new.is_same(one))
        };
        let mut modules = self.modules.values();
        if modules.all(|(mapping, file)| !file.is_readable || is_same(mapping)) {
            self.modules.retain(|_, (mapping, _)| is_same(mapping));
            self.mappings = mappings;
        } else if let Ok(new) = Unwinder::of(self.pid) {
            *self = new;
        }
        true
    }

    fn walk(&mut self, copy: &StackCopy) -> Unwound {
        let pointer = copy.bp.unwrap_or(UNKNOWN);
        let mut registers = UnwindRegsX86_64::new(copy.pc, copy.sp, pointer);
        let mut address = FrameAddress::from_instruction_pointer(copy.pc);
        let mut frames = Vec::new();
        loop {
            let lookup = address.address_for_lookup();
            let Some(file) = self.module(lookup) else {
                return Unwound {
                    frames,
                    is_whole: false,
                };
            };
            frames.push(Frame {
                file: Arc::clone(&file.name),
                address: lookup.wrapping_sub(file.base),
            });
            let Some(next) = self.step(address, &mut registers, copy, &file) else {
                return Unwound {
                    frames,
                    is_whole: false,
                };
            };
            match next.and_then(FrameAddress::from_return_address) {
                Some(next) if frames.len() < DEEPEST => address = next,
                at_end => {
                    return Unwound {
                        frames,
                        is_whole: at_end.is_none(),
                    };
                }
            }
        }
    }

    /// Unwinds one frame. Returns the address of the caller, `Some(None)` after the thread's first function, and `None`
    /// if the unwinder cannot continue.
    fn step(
        &mut self,
        address: FrameAddress,
        registers: &mut UnwindRegsX86_64,
        copy: &StackCopy,
        file: &CodeFile,
    ) -> Option<Option<u64>> {
        let mut word = |at: u64| word(copy, at).ok_or(());
        let mut unwind = |this: &mut Unwinder, registers: &mut UnwindRegsX86_64| {
            let cache = &mut this.cache;
            let next = this
                .unwinder
                .unwind_frame(address, registers, cache, &mut word);
            if next.is_err() {
                // framehop caches its fallback if a rule fails; a wrong register would corrupt later stacks.
                *cache = CacheX86_64::default();
            }
            next.ok()
        };
        let next = unwind(self, registers);
        if next.is_some() || registers.bp() != UNKNOWN {
            return next;
        }
        registers.set_bp(self.frame_pointer(
            address.address_for_lookup(),
            registers.sp(),
            copy,
            file,
        )?);
        unwind(self, registers)
    }

    /// Computes the frame pointer of a function from its prologue; `None` if it is unknown. Results are cached, because
    /// a program may exit before its last stacks are unwound.
    fn frame_pointer(
        &mut self,
        at: u64,
        sp: u64,
        copy: &StackCopy,
        file: &CodeFile,
    ) -> Option<u64> {
        let below = match self.below.get(&at) {
            Some(below) => *below,
            None => {
                let code = |from: u64, length: usize| {
                    let bytes =
                        memory::read(&self.memory, from.wrapping_add(file.base), length).ok()?;
                    (bytes.len() == length).then_some(bytes)
                };
                let tables = file.tables.as_ref()?;
                let below = tables.below(at.wrapping_sub(file.base), code)?;
                self.below.insert(at, below);
                below
            }
        };
        let pointer = sp.checked_add(below)?;
        let returns = word(copy, pointer.checked_add(8)?)?;
        if !self.after_calls.contains(&returns) {
            self.mappings.at(returns)?;
            let before = returns.checked_sub(frame_pointer::BEFORE as u64)?;
            let before = memory::read(&self.memory, before, frame_pointer::BEFORE).ok()?;
            if !frame_pointer::ends_with_call(&before) {
                return None;
            }
            self.after_calls.insert(returns);
        }
        Some(pointer)
    }

    fn module(&mut self, address: u64) -> Option<Arc<CodeFile>> {
        let mapping = self.mappings.at(address)?;
        if let Some((_, known)) = self.modules.get(&mapping.range.start) {
            return Some(Arc::clone(known));
        }
        let mapping = mapping.clone();
        let parts = (&mut self.unwinder, &mut self.held);
        let is_file = mapping.path.starts_with('/');
        let file = if is_file {
            // Opened below the process's root directory, because the process may be in a container.
            let inside = format!("/proc/{}/root{}", self.pid, mapping.path);
            let file = open_regular(Path::new(&inside)).ok();
            file.and_then(|file| add_module(parts, &mapping, &ReadCache::new(file)))
        } else if mapping.path == "[vdso]" {
            let length = usize::try_from(mapping.range.end - mapping.range.start).ok()?;
            let image = memory::read(&self.memory, mapping.range.start, length).ok()?;
            add_module(parts, &mapping, image.as_slice())
        } else {
            None
        };
        let unreadable = || CodeFile {
            name: match is_file {
                true => mapping.path.as_str().into(),
                // The code was generated at run time.
                false => perf_map::path(self.pid).into(),
            },
            base: match is_file {
                true => mapping.range.start.wrapping_sub(mapping.offset),
                false => 0,
            },
            tables: None,
            is_readable: false,
        };
        let file = Arc::new(file.unwrap_or_else(unreadable));
        let known = (mapping, Arc::clone(&file));
        self.modules.insert(known.0.range.start, known);
        Some(file)
    }
}

/// The word at `address` in the copied stack; `None` if the copy does not contain the address.
fn word(copy: &StackCopy, address: u64) -> Option<u64> {
    let at = usize::try_from(address.checked_sub(copy.sp)?).ok()?;
    let word = copy.bytes.get(at..)?.first_chunk()?;
    Some(u64::from_le_bytes(*word))
}

/// Adds the unwind tables of a file. Returns the file; `None` if the file is not readable as a program file with code
/// at this mapping.
fn add_module<'d>(
    (unwinder, held): (&mut UnwinderX86_64<Bytes>, &mut HeldBytes),
    mapping: &Mapping,
    data: impl ReadRef<'d>,
) -> Option<CodeFile> {
    let elf = object::File::parse(data).ok()?;
    // The contents of a file are untrusted.
    let length = mapping.range.end.saturating_sub(mapping.range.start);
    let end = mapping.offset.saturating_add(length);
    let segment = elf.segments().find(|segment| {
        let (offset, size) = segment.file_range();
        segment.permissions().executable()
            && offset < end
            && offset.saturating_add(size) > mapping.offset
    })?;
    let start = mapping.range.start.wrapping_sub(mapping.offset);
    let base = start.wrapping_sub(segment.address().wrapping_sub(segment.file_range().0));
    let range = |name| {
        let section = elf.section_by_name(name)?;
        Some(section.address()..section.address().saturating_add(section.size()))
    };
    let tables = Tables::of(&elf);
    let [eh_frame, eh_frame_hdr] = match &tables {
        Some(tables) => [&tables.eh_frame, &tables.eh_frame_hdr].map(|one| Some(Arc::clone(one))),
        None => [".eh_frame", ".eh_frame_hdr"].map(|name| section(&elf, name)),
    };
    let debug_frame = section(&elf, ".debug_frame");
    let parts = [&eh_frame, &eh_frame_hdr, &debug_frame]
        .into_iter()
        .flatten();
    let length = parts.map(|part| part.len()).sum();
    let name = mapping.path.as_str().into();
    if !held.add(length) {
        return Some(CodeFile {
            name,
            base,
            tables: None,
            is_readable: true,
        });
    }
    let sections = ExplicitModuleSectionInfo {
        base_svma: 0,
        text_svma: range(".text"),
        got_svma: range(".got"),
        eh_frame_svma: range(".eh_frame"),
        eh_frame,
        eh_frame_hdr_svma: range(".eh_frame_hdr"),
        eh_frame_hdr,
        debug_frame,
        ..Default::default()
    };
    let module = Module::new(mapping.path.clone(), mapping.range.clone(), base, sections);
    unwinder.add_module(module);
    Some(CodeFile {
        name,
        base,
        tables,
        is_readable: true,
    })
}

/// Unwinds one frame on a stack of zeros, at `address` of a file whose contents are `file` (for the fuzz targets).
pub fn unwind(file: &[u8], address: u64) {
    let mapping = Mapping {
        range: 0..1 << 40,
        offset: 0,
        inode: String::new(),
        path: String::new(),
    };
    let mut unwinder = UnwinderX86_64::default();
    let Some(file) = add_module((&mut unwinder, &mut HeldBytes(0)), &mapping, file) else {
        return;
    };
    let mut registers = UnwindRegsX86_64::new(address, 0, UNKNOWN);
    let mut cache = CacheX86_64::default();
    let at = FrameAddress::from_instruction_pointer(address);
    let _ = unwinder.unwind_frame(at, &mut registers, &mut cache, &mut |_| Ok(0));
    if let Some(tables) = file.tables {
        tables.below(address, |_, length| Some(vec![0x90; length]));
        let _ = tables.function(address);
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::{HELD, HeldBytes, MOST_OF_A_PROCESS, MOST_OF_ALL, Ordering, Unwinder};
    use crate::Waiter;
    use crate::symbols::Symbols;

    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn tables_of_all_processes_are_bounded() {
        let mut held: Vec<_> = (0..100).map(|_| HeldBytes(0)).collect();
        assert!(!held[0].add(MOST_OF_A_PROCESS + 1));
        let count = held.iter_mut().filter(|one| one.0 == 0);
        let count = count.map(|one| usize::from(one.add(MOST_OF_A_PROCESS / 2)));
        let count: usize = count.sum();
        let most = 2 * MOST_OF_ALL / MOST_OF_A_PROCESS;
        assert!((1..=most).contains(&count), "{count}");
        drop(held);
        assert!(HELD.load(Ordering::Relaxed) < MOST_OF_ALL / 2);
    }

    #[test]
    fn stack_of_a_reading_program_is_complete_and_symbolized() {
        let (ours, theirs) = UnixStream::pair().expect("sockets");
        let mut cat = Command::new("cat");
        let mut cat = cat.stdin(OwnedFd::from(theirs)).spawn().expect("cat");
        let mut waiter = Waiter::open(cat.id()).expect("our own process");
        let mut symbols = Symbols::default();
        let until = Instant::now() + PATIENCE;
        let seen = loop {
            // Repeats until `cat` has loaded its libraries and blocks in a read.
            if let Some(copy) = waiter.copy() {
                let stack = Unwinder::of(cat.id())
                    .expect("our own process")
                    .unwind(&copy);
                if stack.frames.iter().any(|frame| frame.file.ends_with("cat")) {
                    break stack;
                }
            }
            assert!(Instant::now() < until, "cat does not read");
            std::thread::sleep(Duration::from_millis(1));
        };
        assert!(seen.is_whole, "{seen:?}");
        let innermost = symbols.of(&seen.frames[0], None).functions;
        assert!(innermost[0].name.contains("read"), "{innermost:?}");
        drop(ours);
        assert!(cat.wait().expect("it ran").success());
    }
}
