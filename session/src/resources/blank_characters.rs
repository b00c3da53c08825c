//! Characters that draw no pixel, such as spaces: servers draw them faster. QueryFont's reply shows them.

use rustc_hash::FxHashMap;
use x11prof_protocol::{Reply, Symbol};

/// Characters, of all fonts together, that are kept at most, a bit each.
const CHARACTERS_LIMIT: usize = 1 << 24;
/// A space in every encoding of text. Its metrics may say otherwise: fonts of cells give all of
/// their characters the same box, and some proportional ones a space of one pixel.
const SPACE: u16 = 0x20;

/// The fonts with known character metrics, by the names that they were opened by.
#[derive(Debug, Default)]
pub(crate) struct BlankCharacters {
    by_name: FxHashMap<Symbol, FontBlanks>,
    kept: usize,
}

impl BlankCharacters {
    /// Notes the character metrics in a reply to QueryFont on the font `name`.
    pub(crate) fn learn(&mut self, name: Symbol, reply: &Reply<'_>) {
        if !self.by_name.contains_key(&name)
            && let Some(blanks) = FontBlanks::read(reply)
            && self.kept + blanks.pixelless.len() <= CHARACTERS_LIMIT
        {
            self.kept += blanks.pixelless.len();
            self.by_name.insert(name, blanks);
        }
    }

    /// The number of `codes` that draw no pixel in the font `name`; in an unknown font only spaces count.
    pub(crate) fn blanks(&self, name: Option<Symbol>, codes: impl Iterator<Item = u16>) -> u32 {
        let blanks = name.and_then(|name| self.by_name.get(&name));
        let is_blank =
            |code: &u16| *code == SPACE || blanks.is_some_and(|blanks| blanks.contains(*code));
        u32::try_from(codes.filter(is_blank).count()).unwrap_or(u32::MAX)
    }
}

/// The characters of a font that draw no pixel.
#[derive(Debug)]
struct FontBlanks {
    /// The least byte1 and the least byte2; of a font without rows, the least code.
    first: (u16, u16),
    columns: usize,
    has_rows: bool,
    /// The characters that are drawn without a pixel, by row and column.
    pixelless: Bits,
    /// True if a character that the font lacks draws no pixel: the server draws the default character for it.
    absent_too: bool,
}

impl FontBlanks {
    /// Reads the CHARINFOs of QueryFont. `None` if there are none, since all characters are then alike, and
    /// if they are truncated.
    fn read(reply: &Reply<'_>) -> Option<FontBlanks> {
        let (bytes, order) = (reply.bytes, reply.order);
        let (least, most) = (order.u16(bytes, 40)?, order.u16(bytes, 42)?);
        let default = order.u16(bytes, 44)?;
        let properties = usize::from(order.u16(bytes, 46)?);
        let (top, bottom) = (*bytes.get(49)?, *bytes.get(50)?);
        let columns = usize::from(most.checked_sub(least)?) + 1;
        let rows = usize::from(bottom.checked_sub(top)?) + 1;
        let count = columns.checked_mul(rows)?;
        if order.u32(bytes, 56)? as usize != count {
            return None;
        }
        let from = 60 + 8 * properties;
        let infos = bytes.get(from..from + 12 * count)?.chunks_exact(12);
        let side = |info: &[u8], at| Some(i32::from(order.i16(info, at)?));
        let mut blanks = FontBlanks {
            first: (u16::from(top), least),
            columns,
            has_rows: bottom > 0,
            pixelless: Bits::new(count),
            absent_too: true,
        };
        let mut absent = Bits::new(count);
        for (at, info) in infos.enumerate() {
            let width = side(info, 2)? - side(info, 0)?;
            let height = side(info, 6)? + side(info, 8)?;
            if width <= 0 || height <= 0 {
                blanks.pixelless.set(at);
            }
            // A character that does not exist has metrics of zeros alone (protocol, QueryFont).
            if info.iter().all(|byte| *byte == 0) {
                absent.set(at);
            }
        }
        let default = blanks.place(default).filter(|at| !absent.get(*at));
        blanks.absent_too = default.is_none_or(|at| blanks.pixelless.get(at));
        if !blanks.absent_too {
            blanks.pixelless.remove(&absent);
        }
        Some(blanks)
    }

    /// The index of a character code, row by row.
    fn place(&self, code: u16) -> Option<usize> {
        let (row, column) = if self.has_rows {
            (code >> 8, code & 0xFF)
        } else {
            (0, code)
        };
        let row = usize::from(row.checked_sub(self.first.0)?);
        let column = usize::from(column.checked_sub(self.first.1)?);
        let at = row * self.columns + column;
        (column < self.columns && at < self.pixelless.len()).then_some(at)
    }

    fn contains(&self, code: u16) -> bool {
        self.place(code)
            .map_or(self.absent_too, |at| self.pixelless.get(at))
    }
}

/// A bit for each character.
#[derive(Debug)]
struct Bits {
    words: Box<[u64]>,
    count: usize,
}

impl Bits {
    fn new(count: usize) -> Bits {
        Bits {
            words: vec![0; count.div_ceil(64)].into(),
            count,
        }
    }

    fn len(&self) -> usize {
        self.count
    }

    fn get(&self, at: usize) -> bool {
        self.words
            .get(at / 64)
            .is_some_and(|word| word & (1 << (at % 64)) != 0)
    }

    fn set(&mut self, at: usize) {
        if let Some(word) = self.words.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
    }

    fn remove(&mut self, removed: &Bits) {
        for (word, removed) in self.words.iter_mut().zip(&removed.words) {
            *word &= !removed;
        }
    }
}
