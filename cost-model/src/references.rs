//! The times of a few loads at the beginning and at the end of a calibration. They show if the calibration left the
//! server unchanged.

use serde::{Deserialize, Serialize};

use crate::Micros;

/// A load that changed by more than this is worth a remark.
const WORTH: f64 = 0.15;
/// And if it is by this many microseconds: a NoOperation takes seven thousandths of one, and a seventh of
/// that comes and goes.
const LEAST: f64 = 0.005;

/// A load that was measured twice, with the whole calibration in between.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// The load's request, and its size.
    pub load: String,
    /// The time of a request at the beginning, its transport included.
    pub start_us: Micros,
    /// The time at the end.
    pub end_us: Micros,
    /// Half the width of the 95 % confidence interval of their ratio, relative to it.
    pub spread: Option<f64>,
}

impl Reference {
    fn ratio(&self) -> Option<f64> {
        let ratio = self.end_us.0 / self.start_us.0;
        (ratio.is_finite() && ratio > 0.0).then_some(ratio)
    }
}

/// Remarks from the references. A machine that drifts changes all of them alike, by the median of their ratios. A load
/// that became slower than the median, by more than its spread and 15 %, met a lasting effect of the calibration. For
/// example, after a first cursor a server checks each drawing request.
pub fn left_behind(references: &[Reference]) -> Vec<String> {
    let mut ratios: Vec<f64> = references.iter().filter_map(Reference::ratio).collect();
    ratios.sort_by(f64::total_cmp);
    // An effect makes slower: where half of the loads have one, the other half shows the drift.
    let Some(common) = ratios.get(ratios.len().saturating_sub(1) / 2) else {
        return Vec::new();
    };
    let mut remarks = Vec::new();
    if (common - 1.0).abs() > WORTH {
        remarks.push(format!(
            "the loads measured at the beginning and at the end took {common:.2} times as long at the \
             end: the machine drifted, or all requests cost the server something else by then"
        ));
    }
    let single = references.iter().filter_map(|reference| {
        let own = reference.ratio()? / common;
        let explained = reference.spread.unwrap_or(0.0).max(WORTH);
        let more_us = reference.start_us.0 * common * (own - 1.0);
        (own - 1.0 > explained && more_us > LEAST).then(|| {
            format!(
                "{} took {own:.2} times as long at the end of the calibration as at its beginning, the \
                 drift of the others left out: something that was measured has a lasting effect on it",
                reference.load
            )
        })
    });
    remarks.extend(single);
    remarks
}

#[cfg(test)]
mod tests {
    use super::{Reference, left_behind};
    use crate::{Micros, ServerParameters};

    fn reference(load: &str, start: f64, end: f64, spread: f64) -> Reference {
        Reference {
            load: load.into(),
            start_us: Micros(start),
            end_us: Micros(end),
            spread: Some(spread),
        }
    }

    #[test]
    fn drift_is_common_to_all_and_an_effect_is_not() {
        let same = [
            reference("A", 1.0, 1.05, 0.01),
            reference("B", 2.0, 2.1, 0.01),
            reference("C", 3.0, 3.2, 0.01),
        ];
        assert!(left_behind(&same).is_empty());
        assert!(left_behind(&[]).is_empty());

        let slower = same.clone().map(|reference| Reference {
            end_us: Micros(reference.end_us.0 * 1.3),
            ..reference
        });
        let remarks = left_behind(&slower);
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        assert!(remarks[0].contains("1.37 times"), "{remarks:?}");

        let mut marked = same.to_vec();
        marked.push(reference("D", 0.06, 0.12, 0.02));
        let remarks = left_behind(&marked);
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        assert!(remarks[0].starts_with("D took 1.90"), "{remarks:?}");
        // An effect on half of the loads is found too.
        let half = [same[0].clone(), marked[3].clone()];
        assert!(left_behind(&half)[0].starts_with("D took 1.90"));
        // As far apart, but no surer than that.
        marked[3].spread = Some(1.0);
        assert!(left_behind(&marked).is_empty());
    }

    #[test]
    fn a_file_with_an_impossible_time_is_refused() {
        let file = |start| {
            let load = format!("{{ load = \"A\", start_us = {start}, end_us = 1 }}");
            let text =
                format!("format = 1\n[server]\nname = \"t\"\n[method]\nreferences = [{load}]\n");
            ServerParameters::from_toml(&text)
        };
        assert_eq!(file("2").unwrap().method.references.len(), 1);
        let fault = file("-2").unwrap_err().to_string();
        assert!(fault.contains("references"), "{fault}");
    }

    #[test]
    fn times_of_nothing_say_nothing() {
        let nothing = [reference("A", 0.0, 0.0, 0.0), reference("B", 0.0, 1.0, 0.0)];
        assert!(left_behind(&nothing).is_empty());
    }
}
