//! Stacks unwound by the programs' own tables (DWARF, `.eh_frame`). A file's tables are read when a stack first passes
//! through the file.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::Arc;

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder as _};
use object::{Object, ObjectSection, ObjectSegment, ReadCache, ReadRef};

use crate::memory::{self, Mapping, Mappings};
use crate::waiter::StackCopy;

/// The deepest stack.
const DEEPEST: usize = 256;
/// The value of a register that is not known. framehop takes a frame pointer of 0 for the end of the stack, so with 0 a
/// stack that needed the register would pass for a whole one.
const UNKNOWN: u64 = 1;

type Bytes = Arc<[u8]>;

/// A function's call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The file of the code; empty where there is none, as for code that was made at run time.
    pub file: Arc<str>,
    /// The address in the file, of the call and not of the return.
    pub address: u64,
}

/// A stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Unwound {
    /// The frames, the innermost first.
    pub frames: Vec<Frame>,
    /// True if the last frame is the thread's first.
    pub is_whole: bool,
}

/// Unwinds the stacks of one process.
pub struct Unwinder {
    pid: u32,
    memory: File,
    mappings: Mappings,
    unwinder: UnwinderX86_64<Bytes>,
    cache: CacheX86_64,
    /// By a mapping's start: the file, and the difference between an address and that in the file.
    modules: HashMap<u64, (Arc<str>, u64)>,
}

impl Unwinder {
    /// Reads what is mapped into the process.
    ///
    /// # Errors
    /// The process is gone, or this user may not look into it.
    pub fn of(pid: u32) -> io::Result<Unwinder> {
        Ok(Unwinder {
            pid,
            memory: File::open(format!("/proc/{pid}/mem"))?,
            mappings: Mappings::of(pid)?,
            unwinder: UnwinderX86_64::default(),
            cache: CacheX86_64::default(),
            modules: HashMap::new(),
        })
    }

    /// Unwinds a stack of the process.
    pub fn unwind(&mut self, copy: &StackCopy) -> Unwound {
        let unwound = self.walk(copy);
        if unwound.is_whole {
            return unwound;
        }
        // A library may have been loaded meanwhile.
        match Unwinder::of(self.pid) {
            Ok(anew) if !self.knows(&anew) => {
                *self = anew;
                self.walk(copy)
            }
            _ => unwound,
        }
    }

    fn knows(&self, other: &Unwinder) -> bool {
        self.mappings.same_as(&other.mappings)
    }

    fn walk(&mut self, copy: &StackCopy) -> Unwound {
        let mut registers = UnwindRegsX86_64::new(copy.pc, copy.sp, UNKNOWN);
        let mut address = FrameAddress::from_instruction_pointer(copy.pc);
        let mut frames = Vec::new();
        loop {
            let lookup = address.address_for_lookup();
            let Some((file, base)) = self.module(lookup) else {
                return Unwound {
                    frames,
                    is_whole: false,
                };
            };
            frames.push(Frame {
                file,
                address: lookup.wrapping_sub(base),
            });
            let mut word = |at: u64| word(copy, at).ok_or(());
            let next =
                self.unwinder
                    .unwind_frame(address, &mut registers, &mut self.cache, &mut word);
            let next = match next {
                Ok(next) => next,
                Err(_) => {
                    // framehop keeps its fallback where a rule fails; a wrong register would spoil later stacks.
                    self.cache = CacheX86_64::default();
                    return Unwound {
                        frames,
                        is_whole: false,
                    };
                }
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

    fn module(&mut self, address: u64) -> Option<(Arc<str>, u64)> {
        let mapping = self.mappings.at(address)?;
        if let Some(known) = self.modules.get(&mapping.range.start) {
            return Some(known.clone());
        }
        let base = if mapping.path.starts_with('/') {
            // By the process's own root: it may be in a container.
            let inside = format!("/proc/{}/root{}", self.pid, mapping.path);
            let file = File::open(inside).ok();
            file.and_then(|file| add_module(&mut self.unwinder, mapping, &ReadCache::new(file)))
        } else if mapping.path == "[vdso]" {
            let length = usize::try_from(mapping.range.end - mapping.range.start).ok()?;
            let image = memory::read(&self.memory, mapping.range.start, length).ok()?;
            add_module(&mut self.unwinder, mapping, image.as_slice())
        } else {
            None
        };
        let known: (Arc<str>, u64) = match base {
            Some(base) => (mapping.path.as_str().into(), base),
            None => ("".into(), 0),
        };
        self.modules.insert(mapping.range.start, known.clone());
        Some(known)
    }
}

/// The word at an address of the stack.
fn word(copy: &StackCopy, address: u64) -> Option<u64> {
    let at = usize::try_from(address.checked_sub(copy.sp)?).ok()?;
    let word = copy.bytes.get(at..)?.first_chunk()?;
    Some(u64::from_le_bytes(*word))
}

/// Adds a file's tables. Returns the difference between an address in memory and that in the file.
fn add_module<'d>(
    unwinder: &mut UnwinderX86_64<Bytes>,
    mapping: &Mapping,
    data: impl ReadRef<'d>,
) -> Option<u64> {
    let elf = object::File::parse(data).ok()?;
    // A file may say anything of itself.
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
    let bytes = |name| {
        let data = elf.section_by_name(name)?.data().ok();
        data.filter(|data| !data.is_empty()).map(Bytes::from)
    };
    let sections = ExplicitModuleSectionInfo {
        base_svma: 0,
        text_svma: range(".text"),
        got_svma: range(".got"),
        eh_frame_svma: range(".eh_frame"),
        eh_frame: bytes(".eh_frame"),
        eh_frame_hdr_svma: range(".eh_frame_hdr"),
        eh_frame_hdr: bytes(".eh_frame_hdr"),
        debug_frame: bytes(".debug_frame"),
        ..Default::default()
    };
    let module = Module::new(mapping.path.clone(), mapping.range.clone(), base, sections);
    unwinder.add_module(module);
    Some(base)
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::Unwinder;
    use crate::{Names, Waiter};

    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn the_stack_of_a_program_that_reads_is_whole_and_has_names() {
        let (ours, theirs) = UnixStream::pair().expect("sockets");
        let mut cat = Command::new("cat");
        let mut cat = cat.stdin(OwnedFd::from(theirs)).spawn().expect("cat");
        let mut waiter = Waiter::open(cat.id()).expect("our own process");
        let mut names = Names::default();
        let until = Instant::now() + PATIENCE;
        let seen = loop {
            // Until it has loaded its libraries and reads.
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
        let innermost = names.of(&seen.frames[0]);
        assert!(innermost[0].name.contains("read"), "{innermost:?}");
        drop(ours);
        assert!(cat.wait().expect("it ran").success());
    }
}
