//! Reads and writes the paper's description language (equation 8, Figure 6): one line for each point, `request
//! attribute=value … (op-size, operations per second)`. A backslash at the end of a line continues it, `...` marks
//! omitted lines, `#` starts a comment.

use std::collections::BTreeMap;
use std::fmt::Write;

use nom::branch::alt;
use nom::bytes::complete::{tag, take_while, take_while1};
use nom::character::complete::{char, multispace0, not_line_ending, satisfy};
use nom::combinator::{cut, opt, recognize, value, verify};
use nom::error::{ContextError, ErrorKind, ParseError, context};
use nom::multi::{many0, many0_count};
use nom::number::complete::double;
use nom::sequence::{delimited, preceded, separated_pair};
use nom::{IResult, Parser};

use crate::{AttributeValue, Clock, FORMAT, Micros, Point, RequestCosts, ServerParameters};

/// The comment line of a description whose rates are per second of CPU time.
const BY_CPU: &str = "# operations per second of the server's CPU time";

/// An error in a server description (the paper's description language).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct DescriptionError {
    /// The line of the error, counted from 1.
    pub line: usize,
    /// The column of the error in characters, counted from 1.
    pub column: usize,
    /// The expected text, or a description of the problem.
    pub message: String,
}

impl ServerParameters {
    /// Parses a server description in Xprof's language; `name` is the server's name.
    pub fn from_description(text: &str, name: &str) -> Result<ServerParameters, DescriptionError> {
        let mut parameters = ServerParameters {
            format: FORMAT,
            ..ServerParameters::default()
        };
        parameters.server.name = name.to_owned();
        let is_cpu = text.lines().any(|line| line == BY_CPU);
        let mut entries: BTreeMap<(String, BTreeMap<String, AttributeValue>), Vec<Point>> =
            BTreeMap::new();
        let mut rest = text;
        loop {
            let (after, _) = blank(rest).map_err(|fault| locate(text, &fault))?;
            if after.is_empty() {
                break;
            }
            let (next, entry) = entry(after).map_err(|fault| locate(text, &fault))?;
            let points = entries.entry((entry.name, entry.attributes)).or_default();
            if points.iter().any(|known| known.size == entry.point.size) {
                let message = "this request has a rate for these attributes and this size already";
                return Err(at(text, after, message));
            }
            points.push(entry.point);
            rest = next;
        }
        for ((name, attributes), mut points) in entries {
            for point in points.iter_mut().filter(|_| is_cpu) {
                point.cpu_us = point.per_second.take().map(|rate| Micros(1e6 / rate));
            }
            points.sort_by(|one, other| one.size.total_cmp(&other.size));
            parameters.requests.push(RequestCosts {
                name,
                attributes,
                fixed: None,
                points,
            });
        }
        Ok(parameters)
    }

    /// The parameters as a server description in Xprof's language. All rates are by one clock: by CPU time if the
    /// parameters have CPU times, which a comment states. Spreads, fixed parts, times by the other clock, transport
    /// costs, and points with zero time are left out.
    pub fn to_description(&self) -> String {
        let mut text = format!("# {}\n", self.server.name);
        let mut points = self.requests.iter().flat_map(|costs| &costs.points);
        let clock = match points.any(|point| point.cpu_us.is_some()) {
            true => Clock::Cpu,
            false => Clock::Wall,
        };
        if clock == Clock::Cpu {
            text.push_str(BY_CPU);
            text.push('\n');
        }
        for costs in &self.requests {
            let mut key = quoted(&costs.name);
            for (name, value) in &costs.attributes {
                let value = match value {
                    AttributeValue::Number(number) => number.to_string(),
                    AttributeValue::Name(name) => quoted(name),
                };
                // Writing to a String cannot fail.
                let _ = write!(key, " {name}={value}");
            }
            for point in &costs.points {
                let wall = point.per_second.filter(|_| clock == Clock::Wall);
                let rate = wall.or_else(|| {
                    let time = point.time(clock)?;
                    (time.0 > 0.0).then(|| seven_digits(1e6 / time.0))
                });
                if let Some(rate) = rate {
                    let _ = writeln!(text, "{key} ({}, {rate})", point.size);
                }
            }
        }
        text
    }
}

/// Rounds a rate to seven significant digits, which all measured times have.
fn seven_digits(rate: f64) -> f64 {
    format!("{rate:.6e}").parse().unwrap_or(rate)
}

/// Returns the word in quotes if the word would be ambiguous otherwise.
fn quoted(word: &str) -> String {
    if !word.is_empty() && word.chars().all(is_word) {
        word.to_owned()
    } else {
        format!("\"{}\"", word.replace('"', "'"))
    }
}

/// A line of a description.
struct Entry {
    name: String,
    attributes: BTreeMap<String, AttributeValue>,
    point: Point,
}

/// The position at which parsing failed, and the expected text.
#[derive(Debug)]
struct Fault<'a> {
    at: &'a str,
    expected: Option<&'static str>,
}

impl<'a> ParseError<&'a str> for Fault<'a> {
    fn from_error_kind(at: &'a str, _: ErrorKind) -> Fault<'a> {
        Fault { at, expected: None }
    }

    fn append(_: &'a str, _: ErrorKind, other: Fault<'a>) -> Fault<'a> {
        other
    }
}

impl<'a> ContextError<&'a str> for Fault<'a> {
    fn add_context(_: &'a str, expected: &'static str, other: Fault<'a>) -> Fault<'a> {
        let expected = other.expected.or(Some(expected));
        Fault { expected, ..other }
    }
}

type Parsed<'a, T> = IResult<&'a str, T, Fault<'a>>;

fn locate(text: &str, fault: &nom::Err<Fault<'_>>) -> DescriptionError {
    match fault {
        nom::Err::Error(fault) | nom::Err::Failure(fault) => {
            let expected = fault.expected.unwrap_or("a request");
            at(text, fault.at, format!("expected {expected}"))
        }
        nom::Err::Incomplete(_) => at(text, "", "the text ends too early"),
    }
}

/// Creates an error for the position at which `rest`, the end of `text`, begins.
fn at(text: &str, rest: &str, message: impl Into<String>) -> DescriptionError {
    let before = text
        .get(..text.len().saturating_sub(rest.len()))
        .unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    DescriptionError {
        line: 1 + before.matches('\n').count(),
        column: 1 + before.get(line_start..).unwrap_or("").chars().count(),
        message: message.into(),
    }
}

/// Skips empty lines, comments, and `...` for omitted lines.
fn blank(input: &str) -> Parsed<'_, usize> {
    let comment = recognize((char('#'), not_line_ending));
    let left_out = tag("...");
    let (input, _) = multispace0(input)?;
    many0_count((alt((comment, left_out)), multispace0)).parse(input)
}

/// Skips space within an entry, which may continue on the next line.
fn space(input: &str) -> Parsed<'_, ()> {
    let continued = recognize((
        char('\\'),
        take_while(|c| matches!(c, ' ' | '\t' | '\r')),
        char('\n'),
    ));
    let blanks = take_while1(|c| matches!(c, ' ' | '\t'));
    value((), many0_count(alt((blanks, continued)))).parse(input)
}

fn is_word(character: char) -> bool {
    !character.is_whitespace() && !matches!(character, '(' | ')' | '=' | '"' | '#' | '\\' | ',')
}

fn word(input: &str) -> Parsed<'_, &str> {
    let quotes = delimited(char('"'), take_while1(|c| c != '"' && c != '\n'), char('"'));
    let bare = recognize((satisfy(is_word), take_while(is_word)));
    alt((quotes, bare)).parse(input)
}

fn attribute(input: &str) -> Parsed<'_, (String, AttributeValue)> {
    let (input, name) = word(input)?;
    let (input, _) = cut(context(
        "'=' and the attribute's value",
        preceded(space, char('=')),
    ))
    .parse(input)?;
    let (input, value) =
        cut(context("the attribute's value", preceded(space, word))).parse(input)?;
    let value = value.parse().map_or_else(
        |_| AttributeValue::Name(value.to_owned()),
        AttributeValue::Number,
    );
    Ok((input, (name.to_owned(), value)))
}

fn point(input: &str) -> Parsed<'_, Point> {
    let size = context(
        "the op-size, a number from 0 on",
        preceded(
            space,
            verify(double, |number| number.is_finite() && *number >= 0.0),
        ),
    );
    let rate = context(
        "the rate, operations per second above 0",
        preceded(
            space,
            verify(double, |number| number.is_finite() && *number > 0.0),
        ),
    );
    let comma = context("',' between op-size and rate", preceded(space, char(',')));
    let (input, _) = context("an attribute or '('", char('(')).parse(input)?;
    let (input, (size, rate)) = cut(separated_pair(size, comma, rate)).parse(input)?;
    let (input, _) = cut(context("')'", preceded(space, char(')')))).parse(input)?;
    let point = Point {
        size,
        per_second: Some(rate),
        ..Point::default()
    };
    Ok((input, point))
}

fn entry(input: &str) -> Parsed<'_, Entry> {
    let (input, name) = context("a request's name", word).parse(input)?;
    let (input, attributes) = many0(preceded(space, attribute)).parse(input)?;
    let (input, point) = cut(preceded(space, point)).parse(input)?;
    let (input, _) = space(input)?;
    let (input, _) = opt(recognize((char('#'), not_line_ending))).parse(input)?;
    let end = alt((tag("\n"), tag("\r\n"), nom::combinator::eof));
    let (input, _) = cut(context("the end of the line", end)).parse(input)?;
    let entry = Entry {
        name: name.to_owned(),
        attributes: attributes.into_iter().collect(),
        point,
    };
    Ok((input, entry))
}

#[cfg(test)]
mod tests;
