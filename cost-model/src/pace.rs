//! How fast the processor worked while a file was measured: whether the core was shared.

use serde::{Deserialize, Serialize};

use crate::Micros;

/// A mean so much above the fastest is worth a remark.
const WORTH: f64 = 1.15;

/// What a short piece of work, always the same, took in processor time while something was measured.
/// Where another thread of the core is at work (on a virtual machine another guest), it takes up to
/// twice as long, and so does what is measured.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// At its fastest (the 5th percentile): with the core to itself.
    pub fastest_us: Micros,
    /// On average.
    pub mean_us: Micros,
}

impl Pace {
    /// What a careful reader would remark: that the figures are those of a shared core.
    pub(crate) fn remark(self) -> Option<String> {
        let slower = self.mean_us.0 / self.fastest_us.0;
        (slower.is_finite() && slower > WORTH).then(|| {
            format!(
                "others had a part in the processor's core: work took {slower:.2} times as long as with the \
                 core to itself, on average, and the figures are so much higher"
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
        };
        assert_eq!(pace(11.0).remark(), None);
        assert!(pace(13.0).remark().unwrap().contains("1.30 times"));
        assert_eq!(Pace::default().remark(), None);
    }
}
