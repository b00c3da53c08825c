//! The functions of code that a program generates while it runs, from the map that its runtime writes for `perf`
//! (linux/tools/perf/Documentation/jit-interface.txt).

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use crate::open_regular;

/// The maximum number of bytes that are read of a map.
const BYTES: u64 = 64 << 20;
/// The maximum number of characters of a name. A recording may contain the names.
const NAME: usize = 4096;

/// Returns the path at which the runtime of a process writes the map of its generated code.
pub(crate) fn path(pid: u32) -> String {
    format!("/tmp/perf-{pid}.map")
}

/// True if `path` is that of a map of generated code.
pub fn is_perf_map(path: &str) -> bool {
    let pid = path
        .strip_prefix("/tmp/perf-")
        .and_then(|rest| rest.strip_suffix(".map"));
    pid.is_some_and(|pid| pid.parse::<u32>().is_ok())
}

/// The generated functions of a process.
#[derive(Debug, Default)]
pub struct PerfMap {
    /// The size and the name of each function, by its address.
    functions: BTreeMap<u64, (u64, String)>,
}

impl PerfMap {
    /// Reads the map at `path`; empty if there is none.
    pub(crate) fn read(path: &Path) -> PerfMap {
        let mut bytes = Vec::new();
        let read = open_regular(path).and_then(|file| file.take(BYTES).read_to_end(&mut bytes));
        match read {
            Ok(_) => PerfMap::parse(&String::from_utf8_lossy(&bytes)),
            Err(_) => PerfMap::default(),
        }
    }

    /// Parses lines such as `7f0c3c00 1a0 LMain;::paint`: address and size in hexadecimal digits, and the name. Code
    /// may replace earlier code at the same address.
    pub fn parse(text: &str) -> PerfMap {
        let function = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let mut number =
                || u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok();
            let (address, size) = (number()?, number()?);
            let name: String = words.next()?.trim().chars().take(NAME).collect();
            (!name.is_empty()).then_some((address, (size, name)))
        };
        let functions = text.lines().filter_map(function).collect();
        PerfMap { functions }
    }

    /// The name of the function that contains `address`.
    pub fn name(&self, address: u64) -> Option<&str> {
        let (start, (size, name)) = self.functions.range(..=address).next_back()?;
        (address - start < *size).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::{NAME, PerfMap, is_perf_map, path};

    #[test]
    fn function_is_found_by_an_address_within_it() {
        let map = PerfMap::parse(
            "1000 20 first\nbad\n2000 zz x\n0x1000 10 second one\n30 8 low\n1 1  \n",
        );
        let names = [0x1000, 0x100f, 0x1010, 0x37, 0x38, 1].map(|at| map.name(at));
        let second = Some("second one");
        assert_eq!(names, [second, second, None, Some("low"), None, None]);
        let long = PerfMap::parse(&format!("10 1 {}", "n".repeat(2 * NAME)));
        assert_eq!(long.name(0x10).map(str::len), Some(NAME));
    }

    #[test]
    fn only_the_paths_of_maps_are_recognised() {
        assert!(is_perf_map(&path(12)));
        for other in [
            "/tmp/perf-.map",
            "/tmp/perf-1.map/x",
            "/home/perf-1.map",
            "perf-1.map",
            "",
        ] {
            assert!(!is_perf_map(other), "{other}");
        }
    }
}
