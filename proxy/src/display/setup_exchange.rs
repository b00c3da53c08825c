//! The client's connection setup. The recorder checks it against its own cookie, and replaces the cookie by the
//! server's.

use std::ops::Range;

use thiserror::Error;
use x11prof_protocol::ByteOrder;

use crate::display::authority::{Cookie, MIT_MAGIC_COOKIE_1};

/// The number of bytes before the authorization protocol's name (protocol, "Connection Setup").
pub(crate) const FIXED_LEN: usize = 12;
/// The maximum lengths in bytes of the authorization protocol's name and data. The names of known protocols are
/// shorter than 32 bytes, their data shorter than 4 KiB (a GSS-API token).
const LONGEST_NAME: usize = 256;
const LONGEST_DATA: usize = 16 << 10;

/// The reason why the recorder refuses a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum Refusal {
    #[error("not an X client: the first byte is neither 'l' nor 'B'")]
    NoByteOrder,
    #[error("the authorization data are too long")]
    Overlong,
    #[error(
        "no authorization: a client of another user or host needs x11prof's cookie; set XAUTHORITY as x11prof printed it"
    )]
    NoCookie,
    #[error("wrong authorization: set XAUTHORITY as x11prof printed it")]
    WrongCookie,
}

/// The state of a setup that is being received.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The setup is incomplete; contains the total number of bytes that are needed, as far as known.
    Needs(usize),
    /// The setup is complete; contains the positions of its parts.
    Whole(Layout),
}

/// The positions of the parts of a complete setup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) order: ByteOrder,
    pub(crate) name: Range<usize>,
    pub(crate) data: Range<usize>,
    /// The length of the connection setup in bytes.
    pub(crate) len: usize,
}

fn padded(n: usize) -> usize {
    n.next_multiple_of(4)
}

/// Parses the bytes of a connection setup that have been received so far.
pub(crate) fn progress(bytes: &[u8]) -> Result<Progress, Refusal> {
    let Some(&first) = bytes.first() else {
        return Ok(Progress::Needs(FIXED_LEN));
    };
    let order = ByteOrder::from_setup_byte(first).ok_or(Refusal::NoByteOrder)?;
    let (Some(name), Some(data)) = (order.u16(bytes, 6), order.u16(bytes, 8)) else {
        return Ok(Progress::Needs(FIXED_LEN));
    };
    let (name, data) = (usize::from(name), usize::from(data));
    if name > LONGEST_NAME || data > LONGEST_DATA {
        return Err(Refusal::Overlong);
    }
    let data_at = FIXED_LEN + padded(name);
    let len = data_at + padded(data);
    if bytes.len() < len {
        return Ok(Progress::Needs(len));
    }
    Ok(Progress::Whole(Layout {
        order,
        name: FIXED_LEN..FIXED_LEN + name,
        data: data_at..data_at + data,
        len,
    }))
}

/// Succeeds if the complete setup contains the recorder's cookie `ours`.
pub(crate) fn check(setup: &[u8], layout: &Layout, ours: &Cookie) -> Result<(), Refusal> {
    let part = |range: &Range<usize>| setup.get(range.clone()).unwrap_or_default();
    if part(&layout.name) != MIT_MAGIC_COOKIE_1 {
        return Err(Refusal::NoCookie);
    }
    match ours.matches(part(&layout.data)) {
        true => Ok(()),
        false => Err(Refusal::WrongCookie),
    }
}

/// Returns the setup for the real server: the client's byte order and version, with the server's cookie `servers`.
pub(crate) fn rewrite(setup: &[u8], layout: &Layout, servers: Option<&Cookie>) -> Vec<u8> {
    let (name, data) = match servers {
        Some(cookie) => (MIT_MAGIC_COOKIE_1, cookie.as_bytes()),
        None => (&[][..], &[][..]),
    };
    let mut out = setup.get(..6).unwrap_or_default().to_vec();
    for part in [name, data] {
        // The cookie comes from a file with 16-bit lengths.
        let len = u16::try_from(part.len()).unwrap_or(u16::MAX);
        out.extend(layout.order.u16_bytes(len));
    }
    out.extend([0, 0]);
    for part in [name, data] {
        out.extend(part);
        out.resize(padded(out.len()), 0);
    }
    out
}

/// The bytes of the protocol's failure reply (status 0; protocol, "Connection Setup").
pub(crate) fn failure(order: ByteOrder, reason: &str) -> Vec<u8> {
    // The length is one byte. The reasons are ASCII, except for the text of a system error.
    let mut end = reason.len().min(255);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    let reason = reason.get(..end).unwrap_or_default().as_bytes();
    let units = u16::try_from(padded(reason.len()) / 4).unwrap_or(0);
    let mut out = vec![0, u8::try_from(reason.len()).unwrap_or(0)];
    for number in [11, 0, units] {
        out.extend(order.u16_bytes(number));
    }
    out.extend(reason);
    out.resize(padded(out.len()), 0);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];

    fn cookie() -> Cookie {
        Cookie::from(vec![7; 16])
    }

    fn setup(order: ByteOrder, name: &[u8], data: &[u8]) -> Vec<u8> {
        let mut out = match order {
            ByteOrder::Little => vec![b'l', 0],
            ByteOrder::Big => vec![b'B', 0],
        };
        for n in [11, 0, name.len() as u16, data.len() as u16, 0] {
            out.extend(order.u16_bytes(n));
        }
        for part in [name, data] {
            out.extend(part);
            out.resize(padded(out.len()), 0);
        }
        out
    }

    fn whole(bytes: &[u8]) -> Layout {
        match progress(bytes) {
            Ok(Progress::Whole(layout)) => layout,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn proxy_cookie_is_replaced_by_the_servers() {
        for order in ORDERS {
            let ours = setup(order, MIT_MAGIC_COOKIE_1, &[7; 16]);
            let layout = whole(&ours);
            assert_eq!((layout.name.clone(), layout.data.clone()), (12..30, 32..48));
            assert_eq!((layout.order, layout.len), (order, 48));
            assert_eq!(check(&ours, &layout, &cookie()), Ok(()));
            let servers = Cookie::from(vec![9; 16]);
            assert_eq!(
                rewrite(&ours, &layout, Some(&servers)),
                setup(order, MIT_MAGIC_COOKIE_1, &[9; 16])
            );
            assert_eq!(rewrite(&ours, &layout, None), setup(order, b"", b""));
        }
    }

    #[test]
    fn wrong_or_missing_cookie_is_rejected() {
        for order in ORDERS {
            let refusal = |name: &[u8], data: &[u8]| {
                let bytes = setup(order, name, data);
                check(&bytes, &whole(&bytes), &cookie()).unwrap_err()
            };
            assert_eq!(refusal(b"", b""), Refusal::NoCookie);
            assert_eq!(refusal(b"XDM-AUTHORIZATION-1", &[7; 16]), Refusal::NoCookie);
            assert_eq!(refusal(MIT_MAGIC_COOKIE_1, &[8; 16]), Refusal::WrongCookie);
            assert_eq!(refusal(MIT_MAGIC_COOKIE_1, &[7; 15]), Refusal::WrongCookie);
            assert_eq!(refusal(MIT_MAGIC_COOKIE_1, b""), Refusal::WrongCookie);
        }
    }

    #[test]
    fn partial_setup_reports_the_bytes_needed() {
        for order in ORDERS {
            let bytes = setup(order, MIT_MAGIC_COOKIE_1, &[7; 16]);
            for end in 0..bytes.len() {
                let needed = if end < 10 { FIXED_LEN } else { 48 };
                assert_eq!(progress(&bytes[..end]), Ok(Progress::Needs(needed)));
            }
        }
    }

    #[test]
    fn garbage_and_oversized_setups_are_rejected_at_once() {
        assert_eq!(progress(b"GET / HTTP/1.1"), Err(Refusal::NoByteOrder));
        assert_eq!(
            progress(b"l\0\x0b\0\0\0\xff\xff\0\0"),
            Err(Refusal::Overlong)
        );
        assert_eq!(
            progress(b"B\0\0\x0b\0\0\0\0\xff\xff"),
            Err(Refusal::Overlong)
        );
    }

    #[test]
    fn failure_reply_is_encoded_in_both_byte_orders() {
        assert_eq!(
            failure(ByteOrder::Little, "No way"),
            b"\0\x06\x0b\0\0\0\x02\0No way\0\0"
        );
        assert_eq!(
            failure(ByteOrder::Big, "No!!"),
            b"\0\x04\0\x0b\0\0\0\x01No!!"
        );
        let long = failure(ByteOrder::Little, &"ä".repeat(200));
        assert_eq!((long[1], long.len()), (254, 8 + 256));
    }
}
