//! Blocks of a pcapng file (IETF draft-ietf-opsawg-pcapng).

use std::io;

/// LINKTYPE_RAW: packets begin with their IP header.
const LINK_RAW: u16 = 101;

/// Writes the header of the file.
pub(super) fn head(out: &mut dyn io::Write) -> io::Result<()> {
    // Section header: byte order, version 1.0, unknown length.
    block(
        out,
        0x0A0D_0D0A,
        &[
            &0x1A2B_3C4D_u32.to_le_bytes(),
            &1_u16.to_le_bytes(),
            &0_u16.to_le_bytes(),
            &u64::MAX.to_le_bytes(),
        ],
    )?;
    // Interface description: no limit on the length, option 9 (if_tsresol: units of 10^-9 s), end of options.
    block(
        out,
        1,
        &[
            &LINK_RAW.to_le_bytes(),
            &[0; 2],
            &0_u32.to_le_bytes(),
            &9_u16.to_le_bytes(),
            &1_u16.to_le_bytes(),
            &[9, 0, 0, 0],
            &[0; 4],
        ],
    )
}

/// Writes a packet that was captured at `nanos`, in nanoseconds.
pub(super) fn packet(nanos: u64, packet: &[u8], out: &mut dyn io::Write) -> io::Result<()> {
    let len = (packet.len() as u32).to_le_bytes();
    let padding = packet.len().next_multiple_of(4) - packet.len();
    // Enhanced packet: interface 0, time, captured and original length.
    block(
        out,
        6,
        &[
            &0_u32.to_le_bytes(),
            &((nanos >> 32) as u32).to_le_bytes(),
            &(nanos as u32).to_le_bytes(),
            &len,
            &len,
            packet,
            &[0; 3][..padding],
        ],
    )
}

/// Writes a block of the file: its type, its length, its body, and its length again.
fn block(out: &mut dyn io::Write, kind: u32, body: &[&[u8]]) -> io::Result<()> {
    let len: usize = 12 + body.iter().map(|part| part.len()).sum::<usize>();
    let len = (len as u32).to_le_bytes();
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&len)?;
    for part in body {
        out.write_all(part)?;
    }
    out.write_all(&len)
}
