//! What a letter counts as by how hard the letters of late were to foresee: between three measured
//! texts it lies on the plane through them.

use x11prof_session::Lettering;

use crate::Lettered;

/// What a letter counts as in a text, with bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Share {
    pub(crate) share: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// The plane through three measured texts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Plane {
    texts: [Lettered; 3],
}

impl Plane {
    /// `None` where there are not three texts, or where they lie in a line.
    pub(crate) fn new(texts: &[Lettered]) -> Option<Plane> {
        let plane = Plane {
            texts: texts.try_into().ok()?,
        };
        (plane.area().abs() > 1e-6).then_some(plane)
    }

    fn area(&self) -> f64 {
        let [a, b, c] = &self.texts;
        (b.variety - a.variety) * (c.foreseen - a.foreseen)
            - (c.variety - a.variety) * (b.foreseen - a.foreseen)
    }

    /// What a letter counts as in a text like `lettering`: a text of less or more variety than the
    /// measured ones is as the next of them, and none costs less or more than these do.
    pub(crate) fn at(&self, lettering: Lettering) -> Share {
        let [a, b, c] = &self.texts;
        let within = |of: fn(&Lettered) -> f64, value: f64| {
            let (least, most) = self.range(of);
            if value.is_nan() {
                least
            } else {
                value.clamp(least, most)
            }
        };
        let variety = within(|it| it.variety, lettering.variety) - a.variety;
        let foreseen = within(|it| it.foreseen, lettering.foreseen) - a.foreseen;
        let area = self.area();
        let of_b =
            (variety * (c.foreseen - a.foreseen) - (c.variety - a.variety) * foreseen) / area;
        let of_c =
            ((b.variety - a.variety) * foreseen - variety * (b.foreseen - a.foreseen)) / area;
        let weights = [1.0 - of_b - of_c, of_b, of_c];
        let sum = |of: fn(&Lettered) -> f64| -> f64 {
            let both = self.texts.iter().zip(weights);
            both.map(|(text, weight)| of(text) * weight).sum()
        };
        let (least, most) = self.range(|it| it.share);
        let share = sum(|it| it.share).clamp(least, most);
        let both = self.texts.iter().zip(weights);
        let spread: f64 = both
            .map(|(text, weight)| text.share * text.spread.unwrap_or(0.0) * weight.abs())
            .sum();
        Share {
            share,
            low: (share - spread).max(0.0),
            high: share + spread,
        }
    }

    fn range(&self, of: fn(&Lettered) -> f64) -> (f64, f64) {
        let all = self.texts.iter().map(of);
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), it| {
            (least.min(it), most.max(it))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Plane;
    use crate::Lettered;
    use x11prof_session::Lettering;

    fn text(variety: f64, foreseen: f64, share: f64) -> Lettered {
        Lettered {
            variety,
            foreseen,
            share,
            spread: Some(0.1),
        }
    }

    fn plane() -> Plane {
        let texts = [
            text(4.0, 0.2, 1.0),
            text(6.0, 1.0, 0.8),
            text(6.0, 0.0, 1.5),
        ];
        Plane::new(&texts).unwrap()
    }

    fn share(variety: f64, foreseen: f64) -> f64 {
        let lettering = Lettering { variety, foreseen };
        plane().at(lettering).share
    }

    #[test]
    fn the_measured_texts_are_as_measured() {
        for (variety, foreseen, expected) in [(4.0, 0.2, 1.0), (6.0, 1.0, 0.8), (6.0, 0.0, 1.5)] {
            assert!((share(variety, foreseen) - expected).abs() < 1e-9);
        }
        let words = plane().at(Lettering {
            variety: 4.0,
            foreseen: 0.2,
        });
        assert!((words.low - 0.9).abs() < 1e-9 && (words.high - 1.1).abs() < 1e-9);
    }

    #[test]
    fn between_them_it_is_linear() {
        assert!((share(6.0, 0.5) - 1.15).abs() < 1e-9);
        assert!((share(5.0, 0.1) - 1.25).abs() < 1e-9);
    }

    #[test]
    fn beyond_them_nothing_is_made_up() {
        assert_eq!(share(0.0, 0.2), share(4.0, 0.2));
        assert_eq!(share(9.0, 0.5), share(6.0, 0.5));
        assert_eq!(share(4.0, 1.0), 0.8);
        assert_eq!(share(f64::NAN, f64::NAN), share(4.0, 0.0));
    }

    #[test]
    fn three_texts_in_a_line_make_no_plane() {
        let flat = [
            text(4.0, 0.2, 1.0),
            text(6.0, 0.2, 1.1),
            text(5.0, 0.2, 1.2),
        ];
        assert_eq!(Plane::new(&flat), None);
        assert_eq!(Plane::new(&flat[..2]), None);
    }
}
