//! How hard letters are to foresee: a server's processor guesses the way through each glyph from
//! those before it, and pays for what it guesses wrong.
//!
//! Two figures of the letters drawn of late. How many there are to choose from is told by how long
//! ago each was drawn last: the mean logarithm of that is near the text's entropy (Elias's recency
//! rank coding). How well one follows from the one before is told by how often it is the same that
//! followed last time.

/// What the letters drawn of late were like.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Lettering {
    /// The mean binary logarithm of how many letters ago each was drawn last, in bits.
    pub variety: f64,
    /// The part of letters that followed the same letter when that was drawn last, from 0 to 1.
    pub foreseen: f64,
}

/// Letters that the figures are means over, the last ones counting most.
const OF_LATE: f64 = 256.0;
/// Codes are told apart by as many of their last bits as number these.
const CODES: usize = 1024;

/// The letters drawn on a display, in whichever font and by whichever client.
#[derive(Debug)]
pub(crate) struct Letters {
    /// How many there were up to each one's last time.
    last: Box<[u32; CODES]>,
    /// What followed each of them last.
    next: Box<[u16; CODES]>,
    before: u16,
    drawn: u32,
    lettering: Lettering,
}

impl Default for Letters {
    fn default() -> Letters {
        Letters {
            last: Box::new([0; CODES]),
            next: Box::new([u16::MAX; CODES]),
            before: 0,
            drawn: 0,
            lettering: Lettering::default(),
        }
    }
}

impl Letters {
    /// The letter of that code is drawn.
    pub(crate) fn draw(&mut self, code: u16) {
        self.drawn = self.drawn.wrapping_add(1);
        let (at, before) = (usize::from(code) % CODES, usize::from(self.before) % CODES);
        let ago = self.drawn.wrapping_sub(self.last[at]).max(1);
        self.last[at] = self.drawn;
        let foreseen = self.next[before] == code;
        self.next[before] = code;
        self.before = code;
        let weight = 1.0 / f64::from(self.drawn).clamp(1.0, OF_LATE);
        let Lettering {
            variety,
            foreseen: share,
        } = &mut self.lettering;
        *variety += (logarithm(ago) - *variety) * weight;
        *share += (f64::from(u8::from(foreseen)) - *share) * weight;
    }

    /// What the letters of late were like.
    pub(crate) fn lettering(&self) -> Lettering {
        self.lettering
    }
}

/// The binary logarithm, linear between powers of two: less by 0.09 at most.
fn logarithm(number: u32) -> f64 {
    let whole = number.max(1).ilog2();
    f64::from(whole) + f64::from(number) / (f64::from(whole)).exp2() - 1.0
}

#[cfg(test)]
mod tests {
    use super::{Lettering, Letters, logarithm};

    fn of(text: impl Iterator<Item = u16>) -> Lettering {
        let mut letters = Letters::default();
        text.for_each(|code| letters.draw(code));
        letters.lettering()
    }

    #[test]
    fn logarithms_are_near() {
        for number in [1, 2, 3, 60, 94, 1000, u32::MAX] {
            let off = logarithm(number) - f64::from(number).log2();
            assert!((-0.09..1e-6).contains(&off), "{number}: {off}");
        }
    }

    #[test]
    fn letters_in_turn_are_many_and_foreseen() {
        let Lettering { variety, foreseen } = of((0..4000).map(|at| at % 64));
        assert!((variety - 6.0).abs() < 1e-3 && foreseen > 0.999);
    }

    #[test]
    fn one_letter_has_no_variety() {
        let Lettering { variety, foreseen } = of((0..4000).map(|_| 65));
        assert!(variety < 1e-3 && foreseen > 0.999);
    }

    #[test]
    fn letters_at_random_are_many_and_not_foreseen() {
        let mut state = 1_u32;
        let random = (0..20_000).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 26) as u16
        });
        let Lettering { variety, foreseen } = of(random);
        // The logarithm of the mean is 6; the mean of logarithms is less.
        assert!((4.8..5.6).contains(&variety), "{variety}");
        assert!(foreseen < 0.1, "{foreseen}");
    }

    #[test]
    fn codes_of_two_bytes_are_letters_as_well() {
        let Lettering { foreseen, .. } = of((0..4000).map(|at| 0x4E00 + at % 500));
        assert!(foreseen > 0.9);
    }
}
