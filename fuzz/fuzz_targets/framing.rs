//! Input: the two directions of a connection, in reads of any length. Parses the message boundaries and the
//! messages, and omits contents as a trace does.
#![no_main]

use x11prof_protocol::{Connection, Extensions, Input, Side};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    x11prof_proxy::fuzzing::omission(bytes);
    let (mut connection, mut extensions) = (Connection::new(), Extensions::new());
    for (side, read) in x11prof_proxy::fuzzing::reads(bytes) {
        let side = if side { Side::Server } else { Side::Client };
        connection.feed(
            side,
            Input::Bytes(read),
            &mut extensions,
            |message, extensions| {
                use x11prof_protocol::Message;
                match message {
                    Message::Request(request) => drop(request.decode(extensions).is_ok()),
                    Message::Reply(reply) => drop(reply.decode(extensions).is_ok()),
                    Message::Event(event) => drop(event.decode(extensions).is_ok()),
                    Message::ServerSetup(setup) => drop(setup.decode().is_ok()),
                    _ => {}
                }
            },
        );
    }
});
