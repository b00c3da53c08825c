//! The memory of a process, and the files that are mapped there as code.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use crate::regular_file::read_proc;

/// A range of a process's memory that contains code.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mapping {
    pub(crate) range: Range<u64>,
    /// The offset in the mapped file, in bytes, at which the range begins.
    pub(crate) offset: u64,
    /// The device and the inode of the mapped file; `00:00 0` for memory without a file.
    pub(crate) inode: String,
    /// The path of the mapped file, or the kernel's name for the range; empty for memory without a name.
    pub(crate) path: String,
}

/// The ranges of a process's memory that contain code, sorted by address.
#[derive(Debug, PartialEq)]
pub(crate) struct Mappings(Vec<Mapping>);

impl Mapping {
    /// True if `other` maps the same part of the same file to the same address. A file that is deleted or renamed remains
    /// the same.
    pub(crate) fn is_same(&self, other: &Mapping) -> bool {
        let of = |one: &Mapping| (one.range.start, one.range.end, one.offset);
        of(self) == of(other) && self.inode == other.inode
    }
}

impl Mappings {
    pub(crate) fn of(pid: u32) -> io::Result<Mappings> {
        let maps = read_proc(format!("/proc/{pid}/maps"))?;
        Ok(Mappings(maps.lines().filter_map(executable).collect()))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn at(&self, address: u64) -> Option<&Mapping> {
        let place = self.0.partition_point(|one| one.range.end <= address);
        self.0.get(place).filter(|one| one.range.contains(&address))
    }
}

/// Parses a line of `maps` (proc(5)): `7f00-7f10 r-xp 00026000 fe:00 1234   /usr/lib/libc.so.6`. A path may contain
/// spaces. Memory without a file has no path.
fn executable(line: &str) -> Option<Mapping> {
    let mut fields = line.splitn(6, ' ');
    let (range, rights, offset) = (fields.next()?, fields.next()?, fields.next()?);
    let inode = format!("{} {}", fields.next()?, fields.next()?);
    let path = fields.next().unwrap_or_default().trim_start().to_owned();
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let (start, end) = range.split_once('-')?;
    rights.as_bytes().get(2).filter(|right| **right == b'x')?;
    Some(Mapping {
        range: hex(start)?..hex(end)?,
        offset: hex(offset)?,
        inode,
        path,
    })
}

/// Reads `length` bytes at the address `from` of a process's memory file. Returns fewer bytes if the mapped memory ends
/// before.
pub(crate) fn read(memory: &File, from: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let got = memory.read_at(&mut bytes, from)?;
    bytes.truncate(got);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::executable;

    #[test]
    fn executable_mappings_are_parsed() {
        let of = |line| executable(line).map(|one| (one.range, one.offset, one.inode, one.path));
        assert_eq!(
            of("7f00-7f10 r-xp 00026000 fe:00 1234                       /usr/lib/a b.so"),
            Some((
                0x7f00..0x7f10,
                0x26000,
                "fe:00 1234".to_owned(),
                "/usr/lib/a b.so".to_owned()
            ))
        );
        assert_eq!(
            of("10-20 r-xp 00000000 00:00 0"),
            Some((0x10..0x20, 0, "00:00 0".to_owned(), String::new()))
        );
        assert_eq!(of("7f00-7f10 rw-p 00026000 fe:00 1234   /a.so"), None);
        assert_eq!(of("nonsense"), None);
    }
}
