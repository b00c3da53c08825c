//! The what-if factors, as text.

use x11prof_analyzer::ScaleReport;

use crate::plain::plain;

/// The what-if factors as text, with a line for each.
pub(crate) fn scaled_text(scaled: &[ScaleReport]) -> String {
    let line = |rule: &ScaleReport| {
        let pattern = plain(&rule.pattern);
        if rule.factor == 0.0 {
            format!("What if: without {pattern} ({} requests)\n", rule.requests)
        } else {
            format!(
                "What if: {pattern} at {} times its cost ({} requests)\n",
                rule.factor, rule.requests
            )
        }
    };
    scaled.iter().map(line).collect()
}
