//! What-if analysis: scales the cost of requests, or omits them.
//!
//! A factor describes a hypothetical server: it multiplies the server's time for the operation alone. At 0 the request
//! is omitted: it is not counted, is not sent, wakes no server, and has no reply.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use x11prof_protocol::Symbol;

use crate::text::pattern::matches;

/// The maximum factor; a larger one is an error. It keeps sums of times finite, and no server is slower by more.
const MAX_FACTOR: f64 = 1e6;

/// A what-if rule, such as `PolyFillRectangle=0.5` or `MIT-SHM:*=0`.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    /// The name of the requests that the rule applies to; `*` matches any text.
    pub pattern: String,
    /// The factor on the server's time for the requests that match the rule; 0 omits them.
    pub factor: f64,
}

/// The error of a text that is not a valid what-if rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScaleError {
    /// The text has no `=`.
    #[error("expected REQUEST=FACTOR, such as PolyFillRectangle=0.5 or 'MIT-SHM:*=0'")]
    Form,
    /// The factor is not a number from 0 to 1,000,000.
    #[error("{0:?} is no factor: expected a number from 0 to 1000000")]
    Factor(String),
}

impl Scale {
    /// Parses a rule of the form `REQUEST=FACTOR`.
    pub fn parse(text: &str) -> Result<Scale, ScaleError> {
        let (pattern, factor) = text.rsplit_once('=').ok_or(ScaleError::Form)?;
        let pattern = pattern.trim();
        if pattern.is_empty() {
            return Err(ScaleError::Form);
        }
        match factor.trim().parse::<f64>() {
            Ok(number) if (0.0..=MAX_FACTOR).contains(&number) => Ok(Scale {
                pattern: pattern.to_owned(),
                factor: number,
            }),
            _ => Err(ScaleError::Factor(factor.trim().to_owned())),
        }
    }
}

/// A what-if rule, and the number of requests that it matched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScaleReport {
    /// The name in the rule; `*` matches any text.
    pub pattern: String,
    /// The factor on the server's time; 0 omits the requests.
    pub factor: f64,
    /// The number of requests that the rule matched.
    pub requests: u64,
}

/// All what-if rules. If several rules match a request, the last one applies.
#[derive(Debug, Clone, Default)]
pub struct Scales {
    rules: Vec<(Scale, u64)>,
    /// The index of the rule that applies to each request name; `None` if no rule applies.
    known: FxHashMap<Symbol, Option<usize>>,
}

impl Scales {
    /// Creates the rules in the given order.
    pub fn new(rules: impl IntoIterator<Item = Scale>) -> Scales {
        Scales {
            rules: rules.into_iter().map(|rule| (rule, 0)).collect(),
            known: FxHashMap::default(),
        }
    }

    /// Resets the counts of matched requests.
    pub(crate) fn start_afresh(&mut self) {
        self.rules.iter_mut().for_each(|rule| rule.1 = 0);
    }

    /// The factor by which the costs of `request` are multiplied: 1 if no rule matches.
    pub(crate) fn factor(&mut self, request: Symbol) -> f64 {
        self.rule(request).map_or(1.0, |rule| rule.0.factor)
    }

    /// Counts `times` requests that the profile now estimates or omits.
    pub(crate) fn count(&mut self, request: Symbol, times: u64) {
        if let Some(rule) = self.rule(request) {
            rule.1 += times;
        }
    }

    #[inline]
    fn rule(&mut self, request: Symbol) -> Option<&mut (Scale, u64)> {
        match self.rules.is_empty() {
            true => None,
            false => self.known_rule(request),
        }
    }

    fn known_rule(&mut self, request: Symbol) -> Option<&mut (Scale, u64)> {
        let rules = &self.rules;
        let at = *self.known.entry(request).or_insert_with(|| {
            let fits = |(rule, _): &(Scale, u64)| matches(&rule.pattern, request.as_str());
            rules.iter().rposition(fits)
        });
        at.and_then(|at| self.rules.get_mut(at))
    }

    /// The rules, each with the number of requests that it matched.
    pub fn report(&self) -> Vec<ScaleReport> {
        let report = |(rule, requests): &(Scale, u64)| ScaleReport {
            pattern: rule.pattern.clone(),
            factor: rule.factor,
            requests: *requests,
        };
        self.rules.iter().map(report).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Scale, ScaleError, Scales};

    #[test]
    fn scale_rules_are_parsed_and_the_last_match_wins() {
        assert_eq!(Scale::parse("PolyLine"), Err(ScaleError::Form));
        assert!(matches!(
            Scale::parse("PolyLine=-1"),
            Err(ScaleError::Factor(_))
        ));
        for factor in ["1e308", "inf", "nan"] {
            let scale = Scale::parse(&format!("*={factor}"));
            assert!(matches!(scale, Err(ScaleError::Factor(_))));
        }
        let rules = ["Poly*=0.5", "PolyLine=0"].map(|text| Scale::parse(text).unwrap());
        let mut scales = Scales::new(rules);
        assert_eq!(scales.factor("PolyLine".into()), 0.0);
        assert_eq!(scales.factor("PolyArc".into()), 0.5);
        assert_eq!(scales.factor("CopyArea".into()), 1.0);
        scales.count("PolyArc".into(), 1);
        assert_eq!(scales.report()[0].requests, 1);
    }
}
