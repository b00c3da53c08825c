//! Replacements of words and bytes, which keep their length. They are irreversible without the key, which is not
//! stored.

use std::hash::{BuildHasher, RandomState};

/// Creates replacements. The key of its hash (SipHash, from the system's random numbers) is never stored.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    key: RandomState,
    /// The number of characters drawn so far. It is part of the hash, so that each character is replaced independently.
    drawn: u64,
}

/// The purpose for which a number is computed from the hash. Different purposes get different numbers.
#[derive(Hash)]
enum Use<'a> {
    Word(&'a [u8]),
    Letter(u64, usize),
    Content(&'a [u8]),
    Drawn(u64),
    Round(u32, u32, u8, u32),
    Begin,
}

impl Secrets {
    /// Replaces the words between zero bytes with letters; equal words get equal replacements. Zero bytes are kept between
    /// words, but not in other data (UTF-16, a picture), which they would make readable: that is replaced as a whole.
    pub(super) fn words(&self, bytes: &mut [u8]) {
        let zeros = bytes.iter().filter(|byte| **byte == 0).count();
        let is_control = |byte: &u8| matches!(byte, 1..=8 | 14..=31 | 127);
        let is_text = std::str::from_utf8(bytes).is_ok() && !bytes.iter().any(is_control);
        if zeros == 0 {
            self.word(bytes);
        } else if is_text && 3 * zeros <= bytes.len() {
            let words = bytes.split_mut(|byte| *byte == 0);
            words.for_each(|word| self.word(word));
        } else {
            self.blank_property(bytes);
        }
    }

    /// Replaces a whole word with letters.
    pub(super) fn word(&self, bytes: &mut [u8]) {
        let word = self.key.hash_one(Use::Word(bytes));
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = letter(self.key.hash_one(Use::Letter(word, at)));
        }
    }

    /// Replaces a property with zeros and a hash at the end, so that equal properties are still equal.
    pub(super) fn blank_property(&self, bytes: &mut [u8]) {
        let tag = self.key.hash_one(Use::Content(bytes));
        zero(bytes, tag);
    }

    /// Replaces a body with zeros and a number at the end that no other body has. Equal bodies are not equal afterwards:
    /// each letter may have a picture or a keyboard map of its own.
    pub(super) fn blank(&mut self, bytes: &mut [u8]) {
        let tag = self.next();
        zero(bytes, tag);
    }

    /// Replaces drawn text of one byte per character: each character except spaces becomes a letter independently,
    /// because programs draw typed words letter by letter. The space, which costs less, is the same in all encodings.
    pub(super) fn drawn(&mut self, text: &mut [u8]) {
        for code in text.iter_mut().filter(|code| **code != b' ') {
            *code = letter(self.next());
        }
    }

    /// Replaces drawn text of two bytes per character. Characters of other rows are replaced with characters that fonts
    /// with such rows contain.
    pub(super) fn drawn_wide(&mut self, text: &mut [u8]) {
        let mut characters = text.chunks_exact_mut(2);
        for character in &mut characters {
            let number = self.next();
            let low = (number >> 32) % 32;
            match character[0] {
                0 => self.drawn(&mut character[1..]),
                0x01..=0x2F => character[1] = 0x30 + low as u8,
                // Kanji of the second level in JIS X 0208, ideographs in ISO 10646.
                _ => {
                    character[0] = 0x50 + (number % 32) as u8;
                    character[1] = 0x30 + low as u8;
                }
            }
        }
        // A character that was cut in two.
        characters.into_remainder().fill(0);
    }

    /// The glyph id of the set that replaces `glyph`: each id has a different replacement, with as many bytes on the
    /// wire.
    pub(super) fn glyph(&self, set: u32, glyph: u32) -> u32 {
        let (half, least) = match glyph {
            0..=0xFF => (4, 0),
            0x100..=0xFFFF => (8, 0x100),
            _ => (16, 0x1_0000),
        };
        let mut now = glyph;
        loop {
            now = self.permuted(set, half, now);
            // Numbers with fewer bytes have a separate permutation and are skipped.
            if now >= least {
                return now;
            }
        }
    }

    /// Returns the permutation of `number` that the key selects: a Feistel network of two halves of `half` bits.
    fn permuted(&self, set: u32, half: u32, number: u32) -> u32 {
        const ROUNDS: u8 = 6;
        let mask = (1_u32 << half) - 1;
        let (mut left, mut right) = (number >> half, number & mask);
        for round in 0..ROUNDS {
            let mixed = self.key.hash_one(Use::Round(set, half, round, right)) as u32;
            (left, right) = (right, (left ^ mixed) & mask);
        }
        left << half | right
    }

    /// The first code of the rotating range of key codes.
    pub(super) fn first_key(&self) -> u8 {
        self.key.hash_one(Use::Begin) as u8
    }

    fn next(&mut self) -> u64 {
        self.drawn += 1;
        self.key.hash_one(Use::Drawn(self.drawn))
    }
}

/// Zeroes all bytes but the last ones, which become `tag`.
fn zero(bytes: &mut [u8], tag: u64) {
    bytes.fill(0);
    let tag = tag.to_be_bytes();
    let tagged = bytes.len().min(tag.len());
    let from = bytes.len() - tagged;
    bytes[from..].copy_from_slice(&tag[..tagged]);
}

fn letter(number: u64) -> u8 {
    b'a' + (number % 26) as u8
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::Secrets;

    #[test]
    fn equal_words_stay_equal_and_zeros_are_kept() {
        let secrets = Secrets::default();
        let mut text = *b"private notes\0private notes\0x\0";
        secrets.words(&mut text);
        assert_eq!(text[..13], text[14..27]);
        assert_eq!((text[13], text[27], text[29]), (0, 0, 0));
        assert!(
            text.iter()
                .all(|byte| *byte == 0 || byte.is_ascii_lowercase())
        );
        assert_ne!(&text[..13], b"private notes");
    }

    #[test]
    fn wide_text_and_pictures_keep_no_zeros_in_place() {
        let text: Vec<u8> = "attack at dawn"
            .bytes()
            .flat_map(|byte| [byte, 0])
            .collect();
        let wide: Vec<u8> = "тайна: a"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let picture = [[0, 0, 0], [255, 255, 255], [255, 255, 255], [0, 0, 0]].concat();
        for mut value in [text, wide, picture] {
            Secrets::default().words(&mut value);
            let tag = value.len() - 8;
            assert!(value[..tag].iter().all(|byte| *byte == 0), "{value:?}");
        }
    }

    #[test]
    fn drawn_text_keeps_spaces_and_varies_letters() {
        let mut secrets = Secrets::default();
        let mut text = [b"e e ".repeat(100), b"\x8F\xA0".repeat(50)].concat();
        secrets.drawn(&mut text);
        let letters: HashSet<u8> = text.iter().copied().filter(|byte| *byte > b' ').collect();
        assert!(
            letters.len() > 10,
            "one letter became {} ones",
            letters.len()
        );
        assert!(
            text[..400]
                .iter()
                .skip(1)
                .step_by(2)
                .all(|byte| *byte == b' ')
        );
        // Letters in the encoding of CP866.
        assert!(text[400..].iter().all(u8::is_ascii_lowercase));
        let mut wide = *b"\0e\0 \x30\x42\x4E\x00";
        secrets.drawn_wide(&mut wide);
        assert_eq!((wide[0], wide[2], wide[3]), (0, 0, b' '));
        assert_ne!(wide[4..], *b"\x30\x42\x4E\x00");
    }

    #[test]
    fn glyphs_are_permuted_within_their_width() {
        let secrets = Secrets::default();
        let all: HashSet<u32> = (0..0x1_0000).map(|glyph| secrets.glyph(7, glyph)).collect();
        assert_eq!(all.len(), 0x1_0000);
        assert!((0..0x100).all(|glyph| secrets.glyph(7, glyph) < 0x100));
        assert!(
            (0x100..0x1_0000).all(|glyph| (0x100..0x1_0000).contains(&secrets.glyph(7, glyph)))
        );
        assert!(secrets.glyph(7, 0x12_3456) >= 0x1_0000);
        assert!((0..0x100).any(|glyph| secrets.glyph(7, glyph) != secrets.glyph(8, glyph)));
    }

    #[test]
    fn blank_properties_preserve_only_equality() {
        let mut secrets = Secrets::default();
        let blanked = |text: &[u8]| {
            let mut bytes = text.to_vec();
            secrets.blank_property(&mut bytes);
            bytes
        };
        assert_eq!(blanked(b"one, two, three"), blanked(b"one, two, three"));
        assert_ne!(blanked(b"one, two, three"), blanked(b"one, two, 3333!"));
        assert_eq!(blanked(b""), b"");
        assert_eq!(blanked(b"one, two, three")[..7], [0; 7]);
        let mut pictures = [*b"a picture of an e"; 2];
        pictures
            .iter_mut()
            .for_each(|picture| secrets.blank(picture));
        assert_ne!(pictures[0], pictures[1]);
        assert_eq!(pictures[0][..9], [0; 9]);
    }
}
