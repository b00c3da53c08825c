//! A viewer of an Xvnc that reads and discards updates. Without a viewer, Xvnc's encoder does not run.
//!
//! The viewer implements enough of the RFB protocol (RFC 6143) to make the server encode all changes as ZRLE, whose
//! rectangles contain their length.

use std::io::{BufReader, Error, ErrorKind, Read, Result, Write, copy, sink};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;

/// The security type without a password (section 7.1.2).
const NO_SECURITY: u8 = 1;
/// Encodings (section 7.7).
const RAW: u32 = 0;
const ZRLE: u32 = 16;
const SET_ENCODINGS: u8 = 2;
const UPDATE_REQUEST: u8 = 3;

/// Connects a viewer to the socket at `path`, on a separate thread, until the server ends. Returns after the first
/// update, of the whole screen, has arrived.
pub(crate) fn view(path: &Path) -> Result<()> {
    let mut viewer = Viewer::new(UnixStream::connect(path)?)?;
    viewer.next()?;
    // The loop ends with the server, which closes the connection.
    thread::Builder::new().spawn(move || while viewer.next().is_ok() {})?;
    Ok(())
}

struct Viewer {
    socket: UnixStream,
    input: BufReader<UnixStream>,
    /// Width and height in wire format.
    size: [u8; 4],
}

impl Viewer {
    /// Performs the handshake, and requests the whole screen.
    fn new(socket: UnixStream) -> Result<Viewer> {
        let input = BufReader::with_capacity(1 << 18, socket.try_clone()?);
        let mut viewer = Viewer {
            socket,
            input,
            size: [0; 4],
        };
        let version: [u8; 12] = viewer.bytes()?;
        viewer.socket.write_all(&version)?;
        let [kinds] = viewer.bytes()?;
        viewer.skip(u64::from(kinds))?;
        viewer.socket.write_all(&[NO_SECURITY])?;
        if viewer.number()? != 0 {
            return Err(Error::new(ErrorKind::PermissionDenied, "refused"));
        }
        // The display is shared with other viewers.
        viewer.socket.write_all(&[1])?;
        viewer.size = viewer.bytes()?;
        viewer.skip(16)?;
        let name = viewer.number()?;
        viewer.skip(u64::from(name))?;
        let mut encodings = vec![SET_ENCODINGS, 0, 0, 2];
        encodings.extend(ZRLE.to_be_bytes());
        encodings.extend(RAW.to_be_bytes());
        viewer.socket.write_all(&encodings)?;
        viewer.ask(false)?;
        Ok(viewer)
    }

    /// Requests the changes since the last update if `changes` is true, otherwise the whole screen.
    fn ask(&mut self, changes: bool) -> Result<()> {
        let mut request = [UPDATE_REQUEST, u8::from(changes), 0, 0, 0, 0, 0, 0, 0, 0];
        request[6..].copy_from_slice(&self.size);
        self.socket.write_all(&request)
    }

    /// Reads one message (section 7.6). After an update, requests the next update.
    fn next(&mut self) -> Result<()> {
        let [kind] = self.bytes()?;
        match kind {
            0 => {
                let [_, high, low] = self.bytes()?;
                for _ in 0..u16::from_be_bytes([high, low]) {
                    self.rectangle()?;
                }
                self.ask(true)
            }
            1 => {
                let [_, _, _, high, low] = self.bytes()?;
                self.skip(6 * u64::from(u16::from_be_bytes([high, low])))
            }
            2 => Ok(()),
            3 => {
                self.skip(3)?;
                let length = self.number()?;
                self.skip(u64::from(length))
            }
            _ => Err(Error::from(ErrorKind::InvalidData)),
        }
    }

    fn rectangle(&mut self) -> Result<()> {
        let [_, _, _, _, w1, w0, h1, h0]: [u8; 8] = self.bytes()?;
        let pixels =
            u64::from(u16::from_be_bytes([w1, w0])) * u64::from(u16::from_be_bytes([h1, h0]));
        let length = match self.number()? {
            RAW => 4 * pixels,
            ZRLE => u64::from(self.number()?),
            _ => return Err(Error::from(ErrorKind::InvalidData)),
        };
        self.skip(length)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn number(&mut self) -> Result<u32> {
        self.bytes().map(u32::from_be_bytes)
    }

    fn skip(&mut self, length: u64) -> Result<()> {
        match copy(&mut self.input.by_ref().take(length), &mut sink())? == length {
            true => Ok(()),
            false => Err(Error::from(ErrorKind::UnexpectedEof)),
        }
    }
}
