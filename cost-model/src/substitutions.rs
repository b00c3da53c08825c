//! The rules for the substitution of attribute values: `substitutions.toml`, or a user's file.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use x11prof_session::{Attribute, Value};

use crate::file::line_at;
use crate::{AttributeValue, FORMAT};

/// The rules that come with the program.
const DEFAULT: &str = include_str!("../substitutions.toml");

/// The rules for the substitution of attribute values that were not measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Substitutions {
    rules: HashMap<Attribute, Rule>,
    /// The rule for attributes without a separate rule.
    others: Rule,
}

/// An error in a file of substitution rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", line.map_or_else(String::new, |line| format!("line {line}: ")))]
pub struct SubstitutionError {
    /// The line of the error, counted from 1; `None` if unknown.
    pub line: Option<usize>,
    /// The problem, as a sentence.
    pub message: String,
}

/// The way in which measured numbers substitute a number that was not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Numbers {
    Interpolate,
    Nearest,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    attribute: BTreeMap<String, FileRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRule {
    numbers: Option<Numbers>,
    #[serde(default)]
    instead_of: BTreeMap<String, Vec<AttributeValue>>,
    #[serde(default)]
    otherwise: Vec<AttributeValue>,
    #[serde(default)]
    any: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Rule {
    numbers: Option<Numbers>,
    instead_of: HashMap<Value, Vec<Value>>,
    otherwise: Vec<Value>,
    any: bool,
}

impl Default for Substitutions {
    /// The rules that come with the program.
    #[expect(
        clippy::expect_used,
        reason = "the text is compiled in, and a test parses it"
    )]
    fn default() -> Substitutions {
        Substitutions::parse(DEFAULT).expect("the rules that come with the program parse")
    }
}

impl Substitutions {
    /// Parses rules in the format of `substitutions.toml`. The parsed rules replace all built-in rules.
    pub fn parse(text: &str) -> Result<Substitutions, SubstitutionError> {
        let file: File = toml::from_str(text).map_err(|error| SubstitutionError {
            line: error.span().map(|span| line_at(text, span.start)),
            message: error.message().trim_end().replace('\n', ", "),
        })?;
        if file.format != FORMAT {
            let message = format!(
                "format is {}; this x11prof reads format {FORMAT}",
                file.format
            );
            return Err(SubstitutionError {
                line: None,
                message,
            });
        }
        let mut rules: HashMap<Attribute, Rule> = file
            .attribute
            .into_iter()
            .map(|(name, rule)| (Attribute::new(&name), rule.into()))
            .collect();
        let others = rules.remove(&Attribute::new("*")).unwrap_or_default();
        Ok(Substitutions { rules, others })
    }

    fn rule(&self, attribute: Attribute) -> &Rule {
        self.rules.get(&attribute).unwrap_or(&self.others)
    }

    /// True if numeric values of `attribute` are interpolated between measured values.
    pub(crate) fn interpolates(&self, attribute: Attribute) -> bool {
        self.rule(attribute).numbers == Some(Numbers::Interpolate)
    }

    /// The rank of the value `to` as a substitute for the value `from` of `attribute`, where 0 is the best; `None` if
    /// no rule allows it.
    pub(crate) fn preference(
        &self,
        attribute: Attribute,
        from: Option<Value>,
        to: Value,
    ) -> Option<usize> {
        let rule = self.rule(attribute);
        if let (Some(Value::Number(_)), Value::Number(_), Some(_)) = (from, to, rule.numbers) {
            return Some(0);
        }
        let own = from
            .and_then(|from| rule.instead_of.get(&from))
            .map_or(&[][..], Vec::as_slice);
        let listed = own
            .iter()
            .chain(&rule.otherwise)
            .position(|value| *value == to);
        listed.or_else(|| rule.any.then_some(own.len() + rule.otherwise.len()))
    }
}

impl From<FileRule> for Rule {
    fn from(rule: FileRule) -> Rule {
        let values = |values: &[AttributeValue]| values.iter().map(Value::from).collect();
        Rule {
            numbers: rule.numbers,
            instead_of: rule
                .instead_of
                .iter()
                .map(|(from, to)| (Value::parse(from), values(to)))
                .collect(),
            otherwise: values(&rule.otherwise),
            any: rule.any,
        }
    }
}

#[cfg(test)]
mod tests {
    use x11prof_session::Value;

    use super::{DEFAULT, Substitutions};

    fn preference(attribute: &str, from: &str, to: &str) -> Option<usize> {
        let rules = Substitutions::default();
        rules.preference(attribute.into(), Some(Value::parse(from)), Value::parse(to))
    }

    #[test]
    fn default_rules_parse() {
        assert!(Substitutions::parse(DEFAULT).is_ok());
    }

    #[test]
    fn substitutions_of_the_paper_are_preferred() {
        assert_eq!(preference("gxmode", "GXand", "GXxor"), Some(0));
        assert_eq!(preference("gxmode", "GXset", "GXcopy"), Some(0));
        assert_eq!(
            preference("fillstyle", "FillStippled", "FillOpaqueStippled"),
            Some(0)
        );
        assert!(preference("gxmode", "GXand", "GXcopy") > preference("gxmode", "GXand", "GXxor"));
        assert_eq!(preference("depth", "24", "8"), Some(0));
    }

    #[test]
    fn every_gc_function_has_a_rule() {
        let rules = Substitutions::default();
        assert_eq!(rules.rule("gxmode".into()).instead_of.len(), 16);
    }

    #[test]
    fn user_rules_can_forbid_default_substitutions() {
        let rules =
            Substitutions::parse("format = 1\n[attribute.gxmode.instead_of]\nGXand = [\"GXor\"]\n")
                .unwrap();
        let preference = |to: &str| {
            rules.preference(
                "gxmode".into(),
                Some(Value::parse("GXand")),
                Value::parse(to),
            )
        };
        assert_eq!(preference("GXor"), Some(0));
        assert_eq!(preference("GXxor"), None);
        assert_eq!(
            rules.preference("depth".into(), None, Value::Number(8)),
            None
        );
    }

    #[test]
    fn errors_name_the_line() {
        let error = Substitutions::parse("format = 1\n[attribute.gxmode]\nsome = 1\n").unwrap_err();
        assert_eq!(error.line, Some(3));
        assert!(Substitutions::parse("format = 2\n[attribute]\n").is_err());
    }
}
