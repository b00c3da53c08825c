//! Deferred work of a server: one update for all changes of its screen.

use serde::{Deserialize, Serialize};

use crate::{Cost, Micros};

/// Deferred work of a server: one update for all changes of its screen, such as Xvnc's for its viewer. CPU times of
/// the server, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deferred {
    /// The minimum interval between two such updates.
    pub interval_us: Micros,
    /// The time of an update.
    pub update_us: Micros,
    /// The time of each pixel that has changed, of text in two colours.
    pub pixel_us: Micros,
    /// The time of each pixel that was drawn and is unchanged; `None` if this was not measured.
    pub same_us: Option<Micros>,
    /// The time of each changed pixel of anti-aliased text; `None` if not measured.
    pub smooth_us: Option<Micros>,
    /// The time from the first change after a pause to its update; half the interval if `None`.
    pub first_us: Option<Micros>,
    /// Half the width of the 95 % confidence interval of a large update, relative to it.
    pub spread: Option<f64>,
}

impl Deferred {
    /// An update of `pixels` drawn pixels. A recording shows neither which pixels stay unchanged (a program may draw
    /// the same again) nor their content. The lower bound assumes no changed pixel, the upper bound that all are the
    /// most expensive ones measured. The estimate is the mean of zero and anti-aliased text for all pixels.
    pub fn cost(&self, pixels: u64) -> Cost {
        let spread = self.spread.unwrap_or(0.0);
        let all = |pixel: Micros| self.update_us + pixel * pixels as f64;
        let (text, same) = (self.pixel_us, self.same_us.unwrap_or_default());
        let smooth = self.smooth_us.unwrap_or(text);
        let least = all(Micros(same.0.min(text.0)));
        let most = all(Micros(smooth.0.max(text.0).max(same.0)));
        Cost {
            time: all(Micros((text.0 + same.0) / 2.0)),
            low: Cost::with_spread(least, spread).low,
            high: Cost::with_spread(most, spread).high,
        }
    }

    /// The delay of the update after the first change that follows a pause.
    pub fn first(&self) -> Micros {
        self.first_us.unwrap_or(self.interval_us * 0.5)
    }
}
