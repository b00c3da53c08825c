//! Expressions of a request's fields, such as `u16@12 * u16@14 + 4`.

use std::iter::Peekable;
use std::str::CharIndices;

use x11prof_protocol::{Body, Request};

/// Maximum depth of nested parentheses.
const DEEPEST: usize = 16;

/// An expression over integers. A field in an expression has a type and the offset of its first byte in the request, or
/// in an element of the request's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Expression {
    Number(i64),
    Field(Field),
    /// The length of the request on the wire, in bytes.
    Length,
    /// A sum of terms; a term is subtracted if its flag is true.
    Sum(Vec<(bool, Expression)>),
    /// A product of factors; the result is divided by a factor if its flag is true.
    Product(Vec<(bool, Expression)>),
}

/// A field of a request or of an element: its type and the offset of its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    kind: Kind,
    pub(crate) at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    U8,
    U16,
    U32,
    I8,
    I16,
    I32,
}

/// The types of fields by name.
const KINDS: [(&str, Kind); 6] = [
    ("u8", Kind::U8),
    ("u16", Kind::U16),
    ("u32", Kind::U32),
    ("i8", Kind::I8),
    ("i16", Kind::I16),
    ("i32", Kind::I32),
];

/// The length of a request's header in bytes. A field's offset counts from the first byte of the header.
const HEADER: usize = 4;

/// The bytes from which an expression reads fields.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bytes<'a> {
    /// A whole request. Offsets count from its header, as in protocol tables (the extended length of BIG-REQUESTS is
    /// not counted).
    Request(&'a Request<'a>, Body<'a>),
    /// An element of a list in a request. Offsets count from the element's first byte.
    Element(&'a Request<'a>, Body<'a>),
}

impl Expression {
    /// Parses an expression. The error describes the problem in a sentence.
    pub(crate) fn parse(text: &str) -> Result<Expression, String> {
        let mut parser = Parser {
            text,
            chars: text.char_indices().peekable(),
        };
        let expression = parser.sum(0)?;
        match parser.next_char() {
            None => Ok(expression),
            Some((at, found)) => Err(format!(
                "in \"{text}\": unexpected '{found}' at column {}",
                at + 1
            )),
        }
    }

    /// The value of the expression; `None` if a field is missing, or if a number overflows.
    pub(crate) fn value(&self, bytes: &Bytes<'_>) -> Option<i64> {
        match self {
            Expression::Number(number) => Some(*number),
            Expression::Field(field) => field.value(bytes),
            Expression::Length => {
                let (Bytes::Request(request, _) | Bytes::Element(request, _)) = bytes;
                i64::try_from(request.wire_len).ok()
            }
            Expression::Sum(terms) => terms.iter().try_fold(0_i64, |sum, (minus, term)| {
                let term = term.value(bytes)?;
                if *minus {
                    sum.checked_sub(term)
                } else {
                    sum.checked_add(term)
                }
            }),
            Expression::Product(factors) => {
                factors.iter().try_fold(1_i64, |product, (over, factor)| {
                    let factor = factor.value(bytes)?;
                    if *over {
                        product.checked_div(factor)
                    } else {
                        product.checked_mul(factor)
                    }
                })
            }
        }
    }

    /// The first field of the expression for which `refuses` returns true; `None` if there is none.
    pub(crate) fn find_field(&self, refuses: &impl Fn(Field) -> bool) -> Option<Field> {
        match self {
            Expression::Field(field) => Some(*field).filter(|field| refuses(*field)),
            Expression::Sum(parts) | Expression::Product(parts) => {
                parts.iter().find_map(|(_, part)| part.find_field(refuses))
            }
            Expression::Number(_) | Expression::Length => None,
        }
    }
}

impl Field {
    /// True if the field overlaps the 4 bytes of a request's header. Single bytes at the offsets 0 and 1 do not count,
    /// because they are the opcode and the request's data byte.
    pub(crate) fn is_in_header(self) -> bool {
        self.at < HEADER && !(self.kind == Kind::U8 && self.at < 2)
    }

    fn value(self, bytes: &Bytes<'_>) -> Option<i64> {
        let (body, at) = match bytes {
            Bytes::Request(request, _) if self.at < HEADER => {
                return request.bytes.get(self.at).map(|byte| i64::from(*byte));
            }
            Bytes::Request(_, body) => (body, self.at - HEADER),
            Bytes::Element(_, element) => (element, self.at),
        };
        match self.kind {
            Kind::U8 => body.u8(at).map(i64::from),
            Kind::U16 => body.u16(at).map(i64::from),
            Kind::U32 => body.u32(at).map(i64::from),
            Kind::I8 => body.u8(at).map(|byte| i64::from(byte.cast_signed())),
            Kind::I16 => body.i16(at).map(i64::from),
            Kind::I32 => body.u32(at).map(|word| i64::from(word.cast_signed())),
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    chars: Peekable<CharIndices<'a>>,
}

impl Parser<'_> {
    fn sum(&mut self, depth: usize) -> Result<Expression, String> {
        let mut terms = vec![(false, self.product(depth)?)];
        while let Some(operator @ ('+' | '-')) = self.peek() {
            self.chars.next();
            terms.push((operator == '-', self.product(depth)?));
        }
        Ok(single_or(terms, Expression::Sum))
    }

    fn product(&mut self, depth: usize) -> Result<Expression, String> {
        let mut factors = vec![(false, self.factor(depth)?)];
        while let Some(operator @ ('*' | '/')) = self.peek() {
            self.chars.next();
            factors.push((operator == '/', self.factor(depth)?));
        }
        Ok(single_or(factors, Expression::Product))
    }

    fn factor(&mut self, depth: usize) -> Result<Expression, String> {
        match self.peek() {
            Some('(') if depth < DEEPEST => {
                self.chars.next();
                let inner = self.sum(depth + 1)?;
                match self.next_char() {
                    Some((_, ')')) => Ok(inner),
                    _ => Err(self.wrong("a ')' is missing")),
                }
            }
            Some('(') => Err(self.wrong("too many parentheses within each other")),
            Some('0'..='9') => {
                let digits = self.word();
                digits
                    .parse()
                    .map(Expression::Number)
                    .map_err(|_| self.wrong(&format!("{digits} is no number")))
            }
            Some('a'..='z') => match self.word().as_str() {
                "length" => Ok(Expression::Length),
                kind => self.field(kind),
            },
            _ => Err(self.wrong("expected a number, a field such as u16@12, or length")),
        }
    }

    fn field(&mut self, name: &str) -> Result<Expression, String> {
        let Some((_, kind)) = KINDS.iter().find(|(known, _)| *known == name) else {
            return Err(self.wrong(&format!(
                "{name} is no type; there are u8, u16, u32, i8, i16 and i32"
            )));
        };
        if self.peek() != Some('@') {
            return Err(self.wrong(&format!("{name} needs its place, such as {name}@12")));
        }
        self.chars.next();
        // An offset above 4 GiB is a mistake.
        let at: u32 = self
            .word()
            .parse()
            .map_err(|_| self.wrong(&format!("{name}@ needs a number of bytes")))?;
        Ok(Expression::Field(Field {
            kind: *kind,
            at: at as usize,
        }))
    }

    /// Reads the next word, which consists of letters and digits.
    fn word(&mut self) -> String {
        let mut word = String::new();
        self.peek();
        while let Some((_, char)) = self.chars.next_if(|(_, char)| char.is_ascii_alphanumeric()) {
            word.push(char);
        }
        word
    }

    fn peek(&mut self) -> Option<char> {
        while self.chars.next_if(|(_, char)| *char == ' ').is_some() {}
        self.chars.peek().map(|(_, char)| *char)
    }

    fn next_char(&mut self) -> Option<(usize, char)> {
        self.peek();
        self.chars.next()
    }

    fn wrong(&self, why: &str) -> String {
        format!("in \"{}\": {why}", self.text)
    }
}

fn single_or(
    mut parts: Vec<(bool, Expression)>,
    all: impl Fn(Vec<(bool, Expression)>) -> Expression,
) -> Expression {
    match (parts.len(), parts.pop()) {
        (1, Some((false, only))) => only,
        (_, Some(last)) => {
            parts.push(last);
            all(parts)
        }
        (_, None) => all(parts),
    }
}

#[cfg(test)]
mod tests {
    use x11prof_protocol::{Body, ByteOrder, Request, SequenceNumber};

    use super::{Bytes, Expression};

    fn value(text: &str) -> Option<i64> {
        let bytes = [200, 3, 3, 0, 0x10, 0, 0xFF, 0xFF, 5, 0, 0, 0];
        let request = Request {
            sequence: SequenceNumber(1),
            name: "FOO:3".into(),
            major: 200,
            minor: 3,
            order: ByteOrder::Little,
            bytes: &bytes,
            wire_len: 12,
            header_len: 4,
            has_reply: false,
        };
        let body = Body::of(&request);
        Expression::parse(text)
            .unwrap()
            .value(&Bytes::Request(&request, body))
    }

    fn error(text: &str) -> String {
        Expression::parse(text).unwrap_err()
    }

    #[test]
    fn products_bind_tighter_than_sums() {
        assert_eq!(value("2 + 3 * 4 - 1"), Some(13));
        assert_eq!(value("(2+3)*4/3"), Some(6));
        assert_eq!(value("10 - 3 - 2"), Some(5));
    }

    #[test]
    fn field_offsets_count_from_the_request_start() {
        assert_eq!(value("u8@1"), Some(3));
        assert_eq!(value("u16@4 * u32@8"), Some(80));
        assert_eq!(value("i16@6 + u16@6"), Some(65534));
        assert_eq!(value("i8@7"), Some(-1));
        assert_eq!(value("(length - 4) / 8"), Some(1));
    }

    #[test]
    fn absent_or_overflowing_fields_have_no_value() {
        assert_eq!(value("u32@9"), None);
        assert_eq!(value("u8@4294967295"), None);
        assert_eq!(value("9223372036854775807 * 2"), None);
        assert_eq!(value("1 / (u8@5)"), None);
    }

    #[test]
    fn errors_explain_the_cause() {
        assert_eq!(
            error("u16 * 3"),
            "in \"u16 * 3\": u16 needs its place, such as u16@12"
        );
        assert_eq!(error("(1"), "in \"(1\": a ')' is missing");
        assert_eq!(error("1 1"), "in \"1 1\": unexpected '1' at column 3");
        assert!(error("f32@4").contains("f32 is no type"));
        assert!(error("").contains("expected a number"));
        assert!(error(&"(".repeat(1000)).contains("too many parentheses"));
        assert!(error("99999999999999999999").contains("is no number"));
    }
}
