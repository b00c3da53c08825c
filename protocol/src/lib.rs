//! The X11 protocol as bytes: framing, byte order, 64-bit sequence numbers, pairing of replies, events and errors with
//! their requests, a server's extension opcodes, names, and decoding with `x11rb-protocol`.
//!
//! This crate transforms bytes into values. It has no I/O, no clock and no threads. `session` models the effect of
//! messages on a display session, `cost-model` models costs.

mod assemble;
mod body;
mod byte_order;
mod chord;
mod connection;
mod counts;
mod decode;
mod extension;
mod extensions;
mod fields;
mod header;
mod id_fields;
mod keysyms;
mod known_names;
mod message;
mod name_table;
mod names;
mod opcode;
mod pending_replies;
mod request_names;
mod sequence;
mod swap;
mod symbol;
mod unsafe_characters;
mod walk;

pub use assemble::ScratchBuffers;
pub use body::Body;
pub use byte_order::ByteOrder;
pub use chord::{Chord, ChordError};
pub use connection::{Connection, ConnectionCheckpoint, Input};
pub use decode::{DecodeError, parse_reply};
pub use extension::Extension;
pub use extensions::Extensions;
pub use fields::{NumberKind, Value};
pub use header::{Head, HeadKind, Side};
pub use id_fields::IdKind;
pub use keysyms::{keysym_name, keysym_named, keysym_of};
pub use known_names::known_names;
pub use message::{
    ClientSetup, ErrorMessage, Event, Malformed, Message, Reply, Request, ServerSetup, SetupStatus,
};
pub use names::request_name;
pub use sequence::SequenceNumber;
pub use symbol::Symbol;
pub use unsafe_characters::is_unsafe;
pub use walk::{Piece, Walker};
