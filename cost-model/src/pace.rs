//! The processor's speed during the measurement of a file, which shows if the core was shared.

use serde::{Deserialize, Serialize};

use crate::Micros;

/// A mean so much above the fastest is worth a remark.
const WORTH: f64 = 1.15;

/// The processor time of a short, constant piece of work during a measurement. If another thread of the core is at work
/// (on a virtual machine another guest), it takes up to twice as long, and so do the measured requests.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// At its fastest (the 5th percentile): with the core to itself.
    pub fastest_us: Micros,
    /// On average.
    pub mean_us: Micros,
    /// At the pace that the file's figures were brought to; `None` where they are as they were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_us: Option<Micros>,
}

impl Pace {
    /// A remark for the reader if the figures are those of a shared core.
    pub(crate) fn remark(self) -> Option<String> {
        let times = |time: Micros| time.0 / self.fastest_us.0;
        let slower = times(self.mean_us);
        let figures = match self.at_us.map(times) {
            Some(at) if at < WORTH => "and the figures were corrected for that".to_owned(),
            Some(at) if self.at_us != Some(self.mean_us) => {
                format!("and the figures were corrected to {at:.2} times")
            }
            _ => "and the figures are higher by that much".to_owned(),
        };
        (slower.is_finite() && slower > WORTH).then(|| {
            format!(
                "other programs shared the processor's core: on average, work took {slower:.2} times as long as \
                 without them, {figures}"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;
    use crate::Micros;

    #[test]
    fn a_shared_core_is_told_of() {
        let pace = |mean| Pace {
            fastest_us: Micros(10.0),
            mean_us: Micros(mean),
            at_us: None,
        };
        assert_eq!(pace(11.0).remark(), None);
        assert!(pace(13.0).remark().unwrap().contains("1.30 times"));
        assert_eq!(Pace::default().remark(), None);
        let at = |at| Pace {
            at_us: Some(Micros(at)),
            ..pace(13.0)
        };
        let ends = |at: Pace, with: &str| at.remark().unwrap().ends_with(with);
        assert!(ends(at(10.0), "corrected for that"));
        assert!(ends(at(13.0), "higher by that much"));
        assert!(ends(at(15.0), "corrected to 1.50 times"));
    }
}
