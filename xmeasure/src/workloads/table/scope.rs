//! Parses the expressions and requests of the tables of loads.

use std::collections::HashMap;

use super::expression::{self, Expression, OPERATORS};
use super::request::{Field, Request};
use crate::error::MeasureError;
use crate::server::client::Client;
use crate::server::wire::Major;

/// The reason why a line of a table has no effect.
#[derive(Debug)]
pub(super) enum Stop {
    /// The line refers to something that the server lacks.
    Lacking,
    /// The connection to the server failed.
    Failed(MeasureError),
}

impl From<MeasureError> for Stop {
    fn from(error: MeasureError) -> Stop {
        Stop::Failed(error)
    }
}

/// The names that a line of a table can use.
pub(super) struct Scope<'a> {
    pub(super) client: &'a mut Client,
    /// The texts of the variables: numbers or expressions.
    pub(super) variables: HashMap<String, String>,
    /// The name and the major opcode of the extension of the current lines; the opcode is `None` if the server lacks the
    /// extension. The name of the core protocol is empty.
    pub(super) extension: (String, Option<Major>),
    /// The names of the items around the current expression.
    items: Vec<String>,
}

impl<'a> Scope<'a> {
    /// Creates the scope of the first line, which is about the core protocol.
    pub(super) fn new(client: &'a mut Client, variables: HashMap<String, String>) -> Scope<'a> {
        Scope {
            client,
            variables,
            extension: (String::new(), Some(Major::CORE)),
            items: Vec::new(),
        }
    }

    /// The text of a variable.
    pub(super) fn variable(&self, name: &str) -> Result<String, Stop> {
        self.variables.get(name).cloned().ok_or(Stop::Lacking)
    }

    /// Replaces each `$NAME` in `text` with the variable's text.
    pub(super) fn substituted(&self, text: &str) -> Result<String, Stop> {
        let mut parts = text.split('$');
        let mut whole = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = name(part);
            whole += &self.variable(name)?;
            whole += rest;
        }
        Ok(whole)
    }

    /// The value of a constant expression.
    pub(super) fn number(&mut self, text: &str) -> Result<i64, Stop> {
        Ok(self.expression(text)?.value(&[]))
    }

    /// Parses a text that is one operand.
    fn expression(&mut self, text: &str) -> Result<Expression, Stop> {
        let mut rest = text;
        let expression = self.operand(&mut rest)?;
        match rest.is_empty() {
            true => Ok(expression),
            false => Err(Stop::Lacking),
        }
    }

    /// Parses a request: its opcode, its name, and its fields.
    pub(super) fn request(&mut self, words: &[&str]) -> Result<Request, Stop> {
        let (opcode, rest) = match words {
            [template] if template.starts_with('$') => {
                let text = self.substituted(template)?;
                return self.request(&split(&text));
            }
            [opcode, rest @ ..] => (*opcode, rest),
            [] => return Err(Stop::Lacking),
        };
        let (opcode, data) = opcode.split_once('=').unwrap_or((opcode, "0"));
        let extension = self.extension.clone();
        let (extension, major) = match (opcode.strip_prefix('c'), extension) {
            (None, (extension, Some(Major(major)))) => (extension, major),
            _ => (String::new(), 0),
        };
        let opcode = opcode.trim_start_matches('c');
        let (name, fields) = rest.split_first().unwrap_or((&"", &[]));
        let head = match major {
            0 => [self.number(opcode)?.into(), self.expression(data)?],
            _ => [i64::from(major).into(), self.number(opcode)?.into()],
        };
        let mut name = self.substituted(name)?;
        if !extension.is_empty() {
            name = format!("{extension}:{name}");
        }
        let fields = self.fields(&mut fields.iter().copied())?;
        Ok(Request { name, head, fields })
    }

    /// Parses fields up to the end or to a closing bracket.
    fn fields<'t>(
        &mut self,
        words: &mut impl Iterator<Item = &'t str>,
    ) -> Result<Vec<Field>, Stop> {
        let mut fields = Vec::new();
        while let Some(word) = words.next().filter(|word| *word != "]") {
            fields.push(if let Some(items) = word.strip_prefix('[') {
                let (item, count) = items.split_once('<').ok_or(Stop::Lacking)?;
                let count = self.expression(count)?;
                self.items.push(item.to_owned());
                let fields = self.fields(words);
                self.items.pop();
                Field::Items(count, fields?)
            } else if let Some((text, times)) = word
                .strip_prefix('"')
                .and_then(|text| text.rsplit_once('"'))
            {
                let times = self.times(times)?;
                Field::Text(text.replace("\\0", "\0").into(), times)
            } else if word == "align" {
                Field::Align
            } else {
                let mut rest = word;
                let value = self.operand(&mut rest)?;
                let width = match skipped(&mut rest, ':') {
                    true => self.operand(&mut rest)?.value(&[]),
                    false => 4,
                };
                Field::Number(value, width, self.times(rest)?)
            });
        }
        Ok(fields)
    }

    /// Parses `*N` at the end of a field.
    fn times(&mut self, rest: &str) -> Result<Expression, Stop> {
        match rest.strip_prefix('*') {
            Some(times) => self.expression(times),
            None if rest.is_empty() => Ok(1.into()),
            None => Err(Stop::Lacking),
        }
    }

    /// Parses a number, an index, a variable, a function call, or an expression in parentheses at the start of `rest`.
    fn operand(&mut self, rest: &mut &str) -> Result<Expression, Stop> {
        *rest = rest.trim_start();
        for (start, index) in [('#', 0), ('@', 1)] {
            if skipped(rest, start) {
                return Ok(Expression::Index(index));
            }
        }
        if skipped(rest, '(') {
            let inner = self.binary(rest, 0)?;
            return closed(rest, inner);
        }
        let is_variable = skipped(rest, '$');
        let (name, after) = name(rest);
        *rest = after;
        if name.starts_with(|first: char| first.is_ascii_digit()) {
            let number = match name.strip_prefix("0x") {
                Some(digits) => i64::from_str_radix(digits, 16),
                None => name.parse(),
            };
            return number.map(Expression::Number).map_err(|_| Stop::Lacking);
        }
        if !is_variable && skipped(rest, '(') {
            return self.function(name, rest);
        }
        if let Some(at) = self.items.iter().rposition(|item| item == name) {
            return Ok(Expression::Index(at + 2));
        }
        let text = self.variable(name)?;
        self.expression(&text)
    }

    /// Parses operators of this precedence and above, and their operands.
    fn binary(&mut self, rest: &mut &str, precedence: usize) -> Result<Expression, Stop> {
        let Some(operators) = OPERATORS.get(precedence) else {
            return self.operand(rest);
        };
        let mut left = self.binary(rest, precedence + 1)?;
        while let Some((_, function)) = operators.iter().find(|(name, _)| skipped(rest, *name)) {
            let right = self.binary(rest, precedence + 1)?;
            left = Expression::call(*function, vec![left, right]);
        }
        Ok(left)
    }

    /// Parses the arguments of the function `name`.
    fn function(&mut self, name: &str, rest: &mut &str) -> Result<Expression, Stop> {
        match name {
            "atom" => {
                let (atom, after) = rest.split_once(')').ok_or(Stop::Lacking)?;
                *rest = after;
                let atom = self.substituted(atom)?;
                let Some((stem, count)) = atom.split_once('#') else {
                    return Ok(i64::from(self.client.atom(&atom)?).into());
                };
                let names =
                    (0..count.parse().unwrap_or(0)).map(|number: u32| format!("{stem}{number}"));
                let atoms: Result<_, MeasureError> = names
                    .map(|name| Ok(self.client.atom(&name)?.into()))
                    .collect();
                Ok(Expression::List(atoms?))
            }
            "sum" => {
                let (item, after) = rest.split_once('<').ok_or(Stop::Lacking)?;
                *rest = after;
                let count = self.binary(rest, 1)?;
                skipped(rest, ',');
                self.items.push(item.to_owned());
                let part = self.binary(rest, 0);
                self.items.pop();
                closed(rest, Expression::Sum(Box::new([count, part?])))
            }
            _ => {
                let mut arguments = vec![self.binary(rest, 0)?];
                while skipped(rest, ',') {
                    arguments.push(self.binary(rest, 0)?);
                }
                if name == "id" {
                    arguments.push(self.client.id_step().into());
                }
                let function = expression::function(name, arguments.len());
                let function = function.ok_or(Stop::Lacking)?;
                closed(rest, Expression::call(function, arguments))
            }
        }
    }
}

/// Splits a name or number from the start of `text`.
fn name(text: &str) -> (&str, &str) {
    let is_end = |character: char| !character.is_ascii_alphanumeric() && character != '_';
    text.split_at(text.find(is_end).unwrap_or(text.len()))
}

/// Removes `character` from the start of `rest`. Returns true if it was there.
fn skipped(rest: &mut &str, character: char) -> bool {
    let after = rest.strip_prefix(character);
    *rest = after.unwrap_or(rest);
    after.is_some()
}

/// Removes a closing parenthesis from the start of `rest`.
fn closed(rest: &mut &str, inner: Expression) -> Result<Expression, Stop> {
    match skipped(rest, ')') {
        true => Ok(inner),
        false => Err(Stop::Lacking),
    }
}

/// Splits a line into words. Text in quotes or parentheses belongs to one word.
pub(super) fn split(line: &str) -> Vec<&str> {
    let (mut words, mut start, mut depth, mut quoted) = (Vec::new(), 0, 0, false);
    for (at, character) in line.char_indices() {
        match character {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' => depth += 1,
            ')' => depth -= 1,
            ' ' if depth == 0 => {
                words.push(&line[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    words.push(&line[start..]);
    words
}
