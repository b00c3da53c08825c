//! Parses values from the text that `#[derive(Debug)]` produces. The serde support of `x11rb-protocol` is no
//! substitute: constants and flags would lose their names, `Request`, `Reply` and `Event` do not implement serde's
//! traits, and the crate would take three times as long to compile.

use std::fmt::{self, Debug, Write as _};

use compact_str::format_compact;

use super::Value;
use crate::ByteOrder;

/// The maximum length of a message's debug text in bytes. Images would produce far too much text.
pub(crate) const LONGEST: usize = 1 << 13;
/// Length of most messages' debug text, in bytes.
const USUAL: usize = 1 << 9;
/// Maximum depth of nested values. The deepest layouts of the protocol have a depth of 6.
const DEEPEST: u32 = 32;

/// Lists of bytes in fields with these names are text.
const TEXTS: &[&str] = &[
    "name",
    "string",
    "filter",
    "pattern",
    "vendor",
    "reason",
    "driver_name",
    "device_name",
    "keycodes_spec",
    "client_vendor_string",
];

/// Groups of names for the same bit. Only the kind of device or action in a message determines which name is correct,
/// so the output contains all names of the group, separated by `/`.
const ONE_BIT: &[&[&str]] = &[
    &["USE_MOD_MAP_MODS", "GROUP_ABSOLUTE"],
    &["KEY_CLICK_PERCENT", "STRING", "INTEGER", "ACCEL_NUM"],
    &["PERCENT", "ACCEL_DENOM"],
    &["PITCH", "THRESHOLD"],
];

/// The fields of the decoded message, parsed from at most `longest` bytes of its debug text.
pub(crate) fn read(decoded: &impl Debug, longest: usize) -> Value {
    let mut clipped = Clipped {
        text: String::with_capacity(USUAL),
        longest,
    };
    // Writing fails at the length limit, which also ends the formatting early.
    let _ = write!(clipped, "{decoded:?}");
    let mut parser = Parser {
        rest: &clipped.text,
        depth: 0,
    };
    let mut value = parser.value();
    name_texts(&mut value);
    value
}

/// A writer that accepts `longest` bytes of text, and then fails.
struct Clipped {
    text: String,
    longest: usize,
}

impl fmt::Write for Clipped {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.text.len() + text.len() > self.longest {
            return Err(fmt::Error);
        }
        self.text.push_str(text);
        Ok(())
    }
}

/// Parses values from the start of the text. If the text ends early, the values end with a `Cut`.
struct Parser<'a> {
    rest: &'a str,
    depth: u32,
}

impl<'a> Parser<'a> {
    fn value(&mut self) -> Value {
        if self.depth == DEEPEST {
            self.rest = "";
        }
        self.depth += 1;
        let value = self.any();
        self.depth -= 1;
        value
    }

    fn any(&mut self) -> Value {
        self.space();
        match self.next() {
            None => Value::Cut,
            Some(b'[') => self.list(b']'),
            Some(b'(') => self.list(b')'),
            Some(b'{') => self.fields(),
            Some(b'"') => self.quoted(),
            Some(b'0'..=b'9' | b'-') => self.number(),
            Some(_) => self.named(),
        }
    }

    /// Parses a number, or flags that begin with a number.
    fn number(&mut self) -> Value {
        let text = self.take(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'+' | b'.'));
        if self.rest.starts_with(" | ") {
            return self.flags(text);
        }
        // Nearly all numbers fit into an i64, which parses fastest.
        if let Ok(number) = text.parse::<i64>() {
            return Value::Number(number.into());
        }
        match text.parse() {
            Ok(number) => Value::Number(number),
            Err(_) => text
                .parse()
                .map_or_else(|_| Value::Name(text.into()), Value::Real),
        }
    }

    /// Parses a constant, flags, a struct or a variant.
    fn named(&mut self) -> Value {
        let name = self.take(|c| is_of_name(c) || c == b':');
        if name.is_empty() {
            // Derived Debug never writes this text; stop here.
            self.rest = "";
            return Value::Cut;
        }
        if self.rest.starts_with(" | ") {
            return self.flags(name);
        }
        match (name, self.next()) {
            ("true", _) => Value::Bool(true),
            ("false", _) => Value::Bool(false),
            (_, Some(b'(')) => match self.list(b')') {
                // The inner list marks where it was cut.
                Value::List(mut list) if list.len() == 1 || list.get(1) == Some(&Value::Cut) => {
                    list.remove(0)
                }
                list => list,
            },
            _ if self.rest.starts_with(" {") => {
                self.space();
                self.fields()
            }
            // A struct without fields is printed as its name only.
            _ if name.ends_with("Request") || name.ends_with("Reply") => Value::Fields(Vec::new()),
            _ => Value::Name(name.into()),
        }
    }

    fn flags(&mut self, first: &str) -> Value {
        let more = self.take(|c| is_of_name(c) || matches!(c, b'|' | b' '));
        let mut flags = format_compact!("{first}{}", more.trim_end());
        for of_bit in ONE_BIT {
            let has = |name: &&str| flags.split(" | ").any(|one| one == *name);
            if of_bit.iter().all(has) {
                let names = flags.split(" | ").filter(|one| !of_bit[1..].contains(one));
                let names: Vec<String> = names
                    .map(|one| match one == of_bit[0] {
                        true => of_bit.join("/"),
                        false => one.to_owned(),
                    })
                    .collect();
                flags = names.join(" | ").into();
            }
        }
        Value::Name(flags)
    }

    fn quoted(&mut self) -> Value {
        self.rest = &self.rest[1..];
        let mut text = String::new();
        let mut escaped = false;
        for (at, c) in self.rest.char_indices() {
            match c {
                '"' if !escaped => {
                    self.rest = &self.rest[at + 1..];
                    return Value::Text(text);
                }
                '\\' if !escaped => escaped = true,
                c => {
                    text.push(c);
                    escaped = false;
                }
            }
        }
        self.rest = "";
        Value::Text(text)
    }

    /// Parses a list of values up to the bracket `close`. The text begins with the opening bracket.
    fn list(&mut self, close: u8) -> Value {
        self.rest = &self.rest[1..];
        let mut list = Vec::new();
        loop {
            self.separator();
            if self.ends(close) {
                return Value::List(list);
            }
            list.push(self.value());
            if self.rest.is_empty() {
                if list.last() != Some(&Value::Cut) {
                    list.push(Value::Cut);
                }
                return Value::List(list);
            }
        }
    }

    /// Parses names and values up to the closing brace.
    fn fields(&mut self) -> Value {
        self.rest = &self.rest[1..];
        let mut fields = Vec::new();
        loop {
            self.separator();
            if self.ends(b'}') {
                return Value::Fields(fields);
            }
            let name = self.take(is_of_name);
            if !self.ends(b':') {
                self.rest = "";
                if !fields.last().is_some_and(|(_, last)| last.is_cut_off()) {
                    fields.push(("…".into(), Value::Cut));
                }
                return Value::Fields(fields);
            }
            // An unset Option is not part of the message.
            match self.value() {
                Value::Name(none) if none == "None" => {}
                value => fields.push((name.trim_end_matches('_').into(), value)),
            }
        }
    }

    fn separator(&mut self) {
        self.take(|c| matches!(c, b',' | b' '));
    }

    fn space(&mut self) {
        self.take(|c| c == b' ');
    }

    /// The next byte, which is the first byte of a character; `None` at the end of the text.
    fn next(&self) -> Option<u8> {
        self.rest.as_bytes().first().copied()
    }

    fn ends(&mut self, with: u8) -> bool {
        let ends = self.next() == Some(with);
        if ends {
            self.rest = &self.rest[1..];
        }
        ends
    }

    /// Removes and returns the leading characters for which `part` is true. These characters must be ASCII.
    fn take(&mut self, part: impl Fn(u8) -> bool) -> &'a str {
        let bytes = self.rest.as_bytes();
        let end = bytes.iter().position(|c| !part(*c)).unwrap_or(bytes.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }
}

fn is_of_name(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_'
}

/// Converts lists of bytes in fields that contain text into text, and the data of properties into numbers of the
/// property's format.
fn name_texts(value: &mut Value) {
    match value {
        Value::Fields(fields) => {
            // ChangeProperty and GetProperty: the format, which comes first, determines the type of the data.
            let mut of_data = None;
            for (name, value) in fields {
                let format = match (name.as_str(), &value) {
                    ("format", value) => {
                        of_data = value.as_u32();
                        None
                    }
                    (_, Value::Number(_)) => None,
                    ("data" | "value", _) => of_data,
                    (name, _) if TEXTS.contains(&name) => Some(8),
                    _ => None,
                };
                match (format, value.as_bytes()) {
                    (Some(format), Some(bytes)) => in_format(value, format, &bytes),
                    _ => name_texts(value),
                }
            }
        }
        Value::List(list) => list.iter_mut().for_each(name_texts),
        _ => {}
    }
}

/// Replaces `value`, the list of the numbers in `bytes`, by text if `format` is 8, or by a list of numbers with
/// `format` bits (16 or 32). Other formats have no effect.
fn in_format(value: &mut Value, format: u32, bytes: &[u8]) {
    let cut = matches!(value, Value::List(list) if list.last() == Some(&Value::Cut));
    let order = ByteOrder::native();
    let mut numbers: Vec<Value> = match format {
        16 => (0..bytes.len())
            .step_by(2)
            .filter_map(|at| order.u16(bytes, at))
            .map(|number| Value::Number(number.into()))
            .collect(),
        32 => (0..bytes.len())
            .step_by(4)
            .filter_map(|at| order.u32(bytes, at))
            .map(|number| Value::Number(number.into()))
            .collect(),
        8 => {
            let Value::Text(mut text) = Value::of_text(bytes) else {
                return;
            };
            if cut {
                text.push('…');
            }
            *value = Value::Text(text);
            return;
        }
        _ => return,
    };
    if cut {
        numbers.push(Value::Cut);
    }
    *value = Value::List(numbers);
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, read};
    use crate::Value;

    fn whole(decoded: &impl std::fmt::Debug) -> Value {
        read(decoded, LONGEST)
    }

    #[derive(Debug)]
    #[allow(dead_code, reason = "read through Debug")]
    struct Outer<'a> {
        window: u32,
        name: &'a [u8],
        type_: Option<i16>,
        unset: Option<u8>,
        inner: Vec<Inner>,
        on: bool,
    }
    #[derive(Debug)]
    #[allow(dead_code, reason = "read through Debug")]
    enum Inner {
        Unit,
        Tuple(u8),
        Two(f32, i64),
    }
    #[derive(Debug)]
    struct EmptyRequest;

    #[test]
    fn debug_text_becomes_named_fields() {
        let outer = Outer {
            window: 4_194_305,
            name: b"WM_NAME",
            type_: Some(-3),
            unset: None,
            inner: vec![Inner::Unit, Inner::Tuple(7), Inner::Two(0.5, -9)],
            on: true,
        };
        let expected = Value::fields([
            ("window", Value::Number(4_194_305)),
            ("name", Value::Text("WM_NAME".into())),
            ("type", Value::Number(-3)),
            (
                "inner",
                Value::List(vec![
                    Value::Name("Unit".into()),
                    Value::Number(7),
                    Value::List(vec![Value::Real(0.5), Value::Number(-9)]),
                ]),
            ),
            ("on", Value::Bool(true)),
        ]);
        assert_eq!(whole(&outer), expected);
        assert_eq!(whole(&Some(EmptyRequest)), Value::Fields(Vec::new()));
    }

    #[test]
    fn flags_and_constants_keep_their_names() {
        use x11rb_protocol::protocol::xproto::{EventMask, GX};
        assert_eq!(whole(&GX::COPY), Value::Name("COPY".into()));
        let mask = EventMask::EXPOSURE | EventMask::KEY_PRESS;
        assert_eq!(whole(&mask), Value::Name("KEY_PRESS | EXPOSURE".into()));
        let odd = EventMask::from(1 << 31 | 1_u32);
        assert_eq!(whole(&odd), Value::Name("2147483648 | KEY_PRESS".into()));
        use x11rb_protocol::protocol::{xinput::ChangeFeedbackControlMask, xkb::SA};
        let bits = ChangeFeedbackControlMask::from(2 | 8_u32);
        let shown = "PERCENT/ACCEL_DENOM | DURATION";
        assert_eq!(whole(&bits), Value::Name(shown.into()));
        let shown = "USE_MOD_MAP_MODS/GROUP_ABSOLUTE";
        assert_eq!(whole(&SA::GROUP_ABSOLUTE), Value::Name(shown.into()));
    }

    #[test]
    fn a_struct_that_is_cut_off_says_so() {
        #[derive(Debug)]
        #[allow(dead_code, reason = "read through Debug")]
        struct Two {
            first: u8,
            second: u8,
        }
        let two = Two {
            first: 1,
            second: 2,
        };
        let expected = Value::fields([("first", Value::Number(1)), ("…", Value::Cut)]);
        assert_eq!(read(&two, "Two { first: 1, sec".len()), expected);
    }

    #[test]
    fn long_lists_are_truncated() {
        match whole(&vec![255_u8; LONGEST]) {
            Value::List(list) => {
                assert!(list.len() > LONGEST / 6 && list.len() < LONGEST / 4);
                assert_eq!(list.last(), Some(&Value::Cut));
            }
            other => panic!("{other:?}"),
        }
    }
}
