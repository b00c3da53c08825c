//! The accessibility bus of a recorded session. GTK programs start a bus if the user's session has none, and the bus's
//! launcher writes its address to the root window of the real display. The bus ends with the recording, and its
//! launcher can then no longer reach the display to remove the address. Programs that start later would wait for a bus
//! that no longer exists.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::geteuid;
use x11rb_protocol::protocol::xproto::{
    AtomEnum, DeletePropertyRequest, GetPropertyRequest, InternAtomRequest,
};

use crate::display::conversation::Conversation;
use crate::display::listener::connect_at_once;
use crate::display::server_link::ServerLink;
use crate::processes::peer::Peer;

/// The server must reply within this time.
const PATIENCE: Duration = Duration::from_secs(1);
/// The property of the root window (at-spi2-core, bus/at-spi-bus-launcher.c).
const PROPERTY: &[u8] = b"AT_SPI_BUS";
/// The longest address that is read, in units of 4 bytes.
const ADDRESS: u32 = 256;

/// Removes the address of the bus from the root window of `link`'s display if the bus belongs to the clients of the
/// display `served`, or if the bus has ended.
///
/// # Errors
/// Fails if the server does not reply.
pub(super) fn remove_address(link: &ServerLink, served: &str) -> Result<(), String> {
    let mut conversation = Conversation::begin(link, PATIENCE, Vec::new())?;
    let atom = conversation.ask_one(InternAtomRequest {
        only_if_exists: true,
        name: PROPERTY.into(),
    })?;
    let Some(property) = atom.map(|atom| atom.atom).filter(|atom| *atom != 0) else {
        return Ok(());
    };
    let roots: Vec<u32> = conversation
        .setup()
        .roots
        .iter()
        .map(|one| one.root)
        .collect();
    for window in roots {
        let address = conversation.ask_one(GetPropertyRequest {
            delete: false,
            window,
            property,
            type_: AtomEnum::ANY.into(),
            long_offset: 0,
            long_length: ADDRESS,
        })?;
        let address = address.map(|reply| reply.value).unwrap_or_default();
        if is_of_recording(&String::from_utf8_lossy(&address), served) {
            conversation.send(DeletePropertyRequest { window, property })?;
            conversation.settle()?;
        }
    }
    Ok(())
}

/// True if the bus has ended, or if its process uses the display `served`. Only buses at a path are recognized. Any
/// client can write the address, so connecting must not block.
fn is_of_recording(address: &str, served: &str) -> bool {
    let path = address.strip_prefix("unix:path=");
    let Some(path) = path.and_then(|rest| rest.split([',', ';']).next()) else {
        return false;
    };
    let bus = match connect_at_once(Path::new(path)) {
        Ok(bus) => bus,
        Err(error) => return has_ended(Path::new(path), error),
    };
    let pid = Peer::of(&bus).and_then(|peer| peer.pid);
    let environment = pid.and_then(|pid| fs::read(format!("/proc/{pid}/environ")).ok());
    let display = format!("DISPLAY={served}");
    environment
        .unwrap_or_default()
        .split(|byte| *byte == 0)
        .any(|variable| variable == display.as_bytes())
}

/// True if nobody serves the socket at `path`, and not only this process cannot reach it, as in a container: its folder
/// is here, and belongs to the user.
fn has_ended(path: &Path, error: Errno) -> bool {
    let folder = path.parent().and_then(|folder| fs::metadata(folder).ok());
    matches!(error, Errno::NOENT | Errno::CONNREFUSED)
        && folder.is_some_and(|folder| folder.uid() == geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::{Errno, has_ended, is_of_recording};
    use std::os::unix::net::UnixListener;

    #[test]
    fn only_a_dead_bus_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bus");
        let address = format!("unix:path={},guid=12", path.display());
        assert!(is_of_recording(&address, ":1000"));
        assert!(!has_ended(&path, Errno::ACCESS));
        assert!(!has_ended(&path.join("of/another/machine"), Errno::NOENT));
        let listener = UnixListener::bind(&path).unwrap();
        // From the second connection on the queue is full.
        rustix::net::listen(&listener, 0).unwrap();
        for _ in 0..3 {
            assert!(!is_of_recording(&address, ":1000"));
        }
        assert!(!is_of_recording("unix:abstract=/tmp/bus", ":1000"));
        assert!(!is_of_recording("", ":1000"));
    }
}
