//! Cookies of displays. This module reads the user's authority file, never writes it, and writes the recorder's own
//! authority files.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::{fmt, hint};

use x11prof_stacks::open_regular;

use crate::private_dir::random;

/// The only authorization protocol that clients may use.
pub(crate) const MIT_MAGIC_COOKIE_1: &[u8] = b"MIT-MAGIC-COOKIE-1";

/// Address families of an authority file (Xauth.h, X.h).
const FAMILY_INTERNET: u16 = 0;
const FAMILY_INTERNET6: u16 = 6;
const FAMILY_LOCAL: u16 = 256;
const FAMILY_WILD: u16 = 65_535;

/// At most this many bytes of an authority file are read.
const LONGEST_FILE: u64 = 1 << 20;

/// An MIT-MAGIC-COOKIE-1 secret. `Debug` does not print the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Cookie(Vec<u8>);

impl Cookie {
    /// Creates a random cookie of 16 bytes.
    pub(crate) fn random() -> io::Result<Cookie> {
        Ok(Cookie(random::<16>()?.to_vec()))
    }

    /// The bytes of the cookie.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// True if `offered` is this cookie. The time of the comparison does not depend on the number of equal bytes.
    pub(crate) fn matches(&self, offered: &[u8]) -> bool {
        let differing = self
            .0
            .iter()
            .zip(offered)
            .fold(0, |bits, (a, b)| hint::black_box(bits | (a ^ b)));
        self.0.len() == offered.len() && differing == 0
    }
}

impl From<Vec<u8>> for Cookie {
    fn from(bytes: Vec<u8>) -> Cookie {
        Cookie(bytes)
    }
}

impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cookie(…)")
    }
}

/// The server for which a cookie is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Peer {
    /// A Unix socket, or TCP to the loopback interface, which Xlib treats as the same.
    Local,
    Address(std::net::IpAddr),
}

/// An entry of an authority file.
struct AuthorityEntry<'a> {
    family: u16,
    address: &'a [u8],
    number: &'a [u8],
    name: &'a [u8],
    data: &'a [u8],
}

/// The path of the file with the user's cookies: XAUTHORITY, or `~/.Xauthority`.
pub(crate) fn users_file() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    set("XAUTHORITY")
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(&set("HOME")?).join(".Xauthority")))
}

/// The cookie for display `number` of `peer` in an authority file; `None` if there is none, or if the file is missing
/// or unreadable, as in every X client.
pub(crate) fn look_up(file: &Path, peer: &Peer, number: u32) -> Option<Cookie> {
    find(&entries_of(file)?, peer, hostname().as_bytes(), number)
}

/// The bytes of an authority file; `None` if it is missing, unreadable, or a pipe, on which the recorder would wait.
fn entries_of(file: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = open_regular(file).ok()?.take(LONGEST_FILE);
    file.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The name of this machine, as in authority files.
fn hostname() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

/// Finds the first matching entry in the bytes of an authority file, like XauGetBestAuthByAddr. An empty display number
/// in the file matches every display.
pub(crate) fn find(file: &[u8], peer: &Peer, hostname: &[u8], number: u32) -> Option<Cookie> {
    let number = number.to_string();
    entries(file)
        .find(|entry| {
            let addressed = match (entry.family, peer) {
                (FAMILY_WILD, _) => true,
                (FAMILY_LOCAL, Peer::Local) => entry.address == hostname,
                (FAMILY_INTERNET, Peer::Address(std::net::IpAddr::V4(ip))) => {
                    entry.address == ip.octets()
                }
                (FAMILY_INTERNET6, Peer::Address(std::net::IpAddr::V6(ip))) => {
                    entry.address == ip.octets()
                }
                _ => false,
            };
            addressed
                && entry.name == MIT_MAGIC_COOKIE_1
                && (entry.number.is_empty() || entry.number == number.as_bytes())
        })
        .map(|entry| Cookie(entry.data.to_vec()))
}

/// The entries up to the end of the file, or to the first truncated entry.
fn entries(mut file: &[u8]) -> impl Iterator<Item = AuthorityEntry<'_>> {
    std::iter::from_fn(move || {
        let (family, mut rest) = file.split_first_chunk::<2>()?;
        let mut counted = || {
            let (count, after) = rest.split_first_chunk::<2>()?;
            let (text, after) = after.split_at_checked(u16::from_be_bytes(*count).into())?;
            rest = after;
            Some(text)
        };
        let entry = AuthorityEntry {
            family: u16::from_be_bytes(*family),
            address: counted()?,
            number: counted()?,
            name: counted()?,
            data: counted()?,
        };
        file = rest;
        Some(entry)
    })
}

/// The bytes of the user's authority file; empty if it is missing or unreadable.
pub(crate) fn users_entries() -> Vec<u8> {
    // Clients read an authority file up to its first truncated entry.
    users_file()
        .and_then(|file| entries_of(&file))
        .unwrap_or_default()
}

/// Writes an authority file of mode 0600 with one cookie for one display, or for any display if `number` is `None`.
/// The entries `others` follow. Replaces an existing file.
pub(crate) fn write(
    path: &Path,
    number: Option<u32>,
    cookie: &Cookie,
    others: &[u8],
) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)?;
    file.write_all(&encode(hostname().as_bytes(), number, cookie))?;
    file.write_all(others)?;
    std::fs::rename(new, path)
}

/// Encodes two entries for the cookie, because some clients search for the host name and others only for the wild entry.
fn encode(hostname: &[u8], number: Option<u32>, cookie: &Cookie) -> Vec<u8> {
    let number = number.map(|n| n.to_string()).unwrap_or_default();
    let mut file = Vec::new();
    for (family, address) in [(FAMILY_LOCAL, hostname), (FAMILY_WILD, &[])] {
        file.extend(family.to_be_bytes());
        for text in [address, number.as_bytes(), MIT_MAGIC_COOKIE_1, &cookie.0] {
            // Host names and cookies are far shorter than 64 KiB.
            let count = u16::try_from(text.len()).unwrap_or(0);
            file.extend(count.to_be_bytes());
            file.extend(text.get(..count.into()).unwrap_or_default());
        }
    }
    file
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn cookie() -> Cookie {
        Cookie((0..16).collect())
    }

    #[test]
    fn authority_file_bytes_match_the_format() {
        let mut expected = Vec::new();
        for (family, host) in [([1, 0], &b"\0\x04host"[..]), ([255, 255], &b"\0\0"[..])] {
            expected.extend(family);
            expected.extend(host);
            expected.extend(b"\0\x0242\0\x12MIT-MAGIC-COOKIE-1\0\x10");
            expected.extend(0..16);
        }
        assert_eq!(encode(b"host", Some(42), &cookie()), expected);
    }

    #[test]
    fn entry_is_found_by_display_and_address() {
        let mut file = encode(b"host", Some(1), &Cookie(vec![1; 16]));
        file.truncate(file.len() / 2 + 2);
        let file = [
            encode(b"host", Some(2), &Cookie(vec![2; 16])),
            b"\0\0\0\x04\x0a\0\0\x01\0\x013\0\x12MIT-MAGIC-COOKIE-1\0\x023!".to_vec(),
            file,
        ]
        .concat();
        let ten = Peer::Address([10, 0, 0, 1].into());
        let found = |peer, number| find(&file, peer, b"host", number).map(|c| c.0);
        assert_eq!(found(&Peer::Local, 2), Some(vec![2; 16]));
        assert_eq!(found(&ten, 2), Some(vec![2; 16]), "the wild entry");
        assert_eq!(found(&ten, 3), Some(b"3!".to_vec()));
        assert_eq!(found(&Peer::Local, 3), None);
        assert_eq!(found(&Peer::Local, 9), None);
    }

    #[test]
    fn empty_display_number_matches_every_display() {
        let file = encode(b"host", None, &cookie());
        assert_eq!(find(&file, &Peer::Local, b"host", 77), Some(cookie()));
    }

    #[test]
    fn truncated_file_is_read_up_to_the_cut() {
        let file = encode(b"host", Some(2), &cookie());
        for end in 0..file.len() {
            let found = find(&file[..end], &Peer::Local, b"host", 2);
            assert_eq!(found.is_some(), end >= 49, "cut at {end}");
        }
    }

    #[test]
    fn authority_file_is_private_and_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("Xauthority");
        write(&path, Some(7), &cookie(), &[]).unwrap();
        let other = Cookie(vec![9; 16]);
        let others = [
            encode(hostname().as_bytes(), Some(8), &other),
            encode(hostname().as_bytes(), Some(9), &other),
        ];
        write(&path, Some(8), &cookie(), &others.concat()).unwrap();
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(look_up(&path, &Peer::Local, 8), Some(cookie()));
        assert_eq!(look_up(&path, &Peer::Local, 9), Some(other));
        assert_eq!(look_up(&path, &Peer::Local, 7), None);
        assert_eq!(look_up(&dir.path().join("none"), &Peer::Local, 7), None);
        let pipe = dir.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
        assert_eq!(look_up(&pipe, &Peer::Local, 7), None);
    }

    #[test]
    fn cookies_match_only_in_full() {
        let right = cookie();
        assert!(right.matches(&right.0));
        assert!(!right.matches(&right.0[..15]));
        assert!(!right.matches(&[]));
        let mut wrong = right.0.clone();
        wrong[15] ^= 1;
        assert!(!right.matches(&wrong));
        assert!(!right.matches(&[right.0.clone(), vec![0]].concat()));
        assert_eq!(format!("{right:?}"), "Cookie(…)");
        assert_ne!(Cookie::random().unwrap(), Cookie::random().unwrap());
    }
}
