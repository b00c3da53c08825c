//! A relay that only copies: the minimal overhead of any proxy.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};

/// Serves at the socket path in the first argument for the server at the path in the second, until killed.
pub(crate) fn serve(arguments: &[String]) -> Result<(), String> {
    let [listen, server] = arguments else {
        return Err("usage: plain-relay LISTEN-PATH SERVER-PATH".to_owned());
    };
    let listener = UnixListener::bind(listen).map_err(|error| format!("{listen}: {error}"))?;
    for client in listener.incoming() {
        let pair = client.and_then(|client| Ok((client, UnixStream::connect(server)?)));
        let (client, server) = pair.map_err(|error| error.to_string())?;
        let both = client
            .try_clone()
            .and_then(|client| Ok((client, server.try_clone()?)));
        let (client_too, server_too) = both.map_err(|error| error.to_string())?;
        std::thread::spawn(move || copy(client, server));
        std::thread::spawn(move || copy(server_too, client_too));
    }
    Ok(())
}

/// Copies until the end. An error ends the connection, as in a real relay.
fn copy(mut from: UnixStream, mut to: UnixStream) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    // The peer may have closed the connection already.
    let _ = to.shutdown(Shutdown::Write);
}
