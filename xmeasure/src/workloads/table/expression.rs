//! Expressions of the tables of loads: whole numbers that may depend on the number of a request or item.

use std::cmp::{max, min};
use std::f64::consts::PI;
use std::sync::LazyLock;

use crate::server::client::SIDE;

/// Maximum number of arguments of a function.
const ARGUMENTS: usize = 12;
/// The largest angle between a side of a trapezoid and the vertical.
const STEEPEST: f64 = PI / 3.0;

/// A function of whole numbers.
pub(super) type Function = fn(&[i64]) -> i64;

/// An expression whose variables have been replaced by their values.
#[derive(Debug, Clone)]
pub(super) enum Expression {
    Number(i64),
    /// The value at this position of the indexes: the number of the request, the id of the resource, and the numbers of
    /// the items around the expression.
    Index(usize),
    /// The number in this list that belongs to the request.
    List(Vec<i64>),
    /// A function and its arguments.
    Call(Function, Vec<Expression>),
    /// The sum of the second expression for all values of one more index, which are less than the first expression.
    Sum(Box<[Expression; 2]>),
}

impl From<i64> for Expression {
    fn from(number: i64) -> Expression {
        Expression::Number(number)
    }
}

impl Expression {
    /// The call of `function`, or its value if all arguments are constant.
    pub(super) fn call(function: Function, arguments: Vec<Expression>) -> Expression {
        let constant = |argument: &Expression| matches!(argument, Expression::Number(_));
        let is_constant = arguments.iter().all(constant);
        let call = Expression::Call(function, arguments);
        if is_constant {
            return Expression::Number(call.value(&[]));
        }
        call
    }

    /// The value of the expression for these indexes.
    pub(super) fn value(&self, indexes: &[i64]) -> i64 {
        match self {
            Expression::Number(number) => *number,
            Expression::Index(at) => indexes.get(*at).copied().unwrap_or(0),
            Expression::List(all) => {
                let request = indexes.first().copied().unwrap_or(0) as usize;
                all.get(request).copied().unwrap_or(0)
            }
            Expression::Call(function, arguments) => {
                let mut values = [0; ARGUMENTS];
                for (value, argument) in values.iter_mut().zip(arguments) {
                    *value = argument.value(indexes);
                }
                function(&values[..arguments.len().min(ARGUMENTS)])
            }
            Expression::Sum(parts) => {
                let [count, item] = &**parts;
                let of = |index| item.value(&[indexes, &[index]].concat());
                (0..count.value(indexes)).map(of).sum()
            }
        }
    }
}

/// The operators by increasing precedence. A comparison is 1 if it is true, and 0 otherwise.
pub(super) const OPERATORS: [&[(char, Function)]; 3] = [
    &[
        ('<', |v| i64::from(v[0] < v[1])),
        ('=', |v| i64::from(v[0] == v[1])),
    ],
    &[
        ('+', |v| v[0].wrapping_add(v[1])),
        ('-', |v| v[0].wrapping_sub(v[1])),
    ],
    &[
        ('*', |v| v[0].wrapping_mul(v[1])),
        ('/', |v| v[0].checked_div(v[1]).unwrap_or(0)),
        ('%', |v| v[0].checked_rem(v[1]).unwrap_or(0)),
    ],
];

/// The function `name`; `None` if there is none, or if it does not have `count` arguments.
pub(super) fn function(name: &str, count: usize) -> Option<Function> {
    let function: (usize, Function) = match name {
        "min" => (2, |v| min(v[0], v[1])),
        "max" => (2, |v| max(v[0], v[1])),
        "id" => (3, |v| v[0].wrapping_add(v[1].wrapping_mul(v[2]))),
        "across" => (3, |v| place(v[0], v[1], v[2]).0),
        "down" => (3, |v| place(v[0], v[1], v[2]).1),
        "bits" => (2, |v| (scattered(v[0]) >> (v[1] & 48) & 0xffff) as i64),
        "lean" => (2, |v| lean(v[0], v[1])),
        "letter" => (1, |v| letter(v[0])),
        "pick" => {
            let pick: Function = |v| v[1 + (scattered(v[0]) % (v.len() as u64 - 1)) as usize];
            (count.clamp(2, ARGUMENTS), pick)
        }
        _ => return None,
    };
    (function.0 == count).then_some(function.1)
}

/// The position at which the item number `index` of this size is drawn. The positions are spread over the window, as in
/// a program's drawing, and items are never clipped.
fn place(index: i64, width: i64, height: i64) -> (i64, i64) {
    let side = i64::from(SIDE);
    let (columns, rows) = (side / width.max(1), side / height.max(1));
    let (columns, rows) = (columns.max(1), rows.max(1));
    (index % columns * width, index / columns % rows * height)
}

/// Returns pseudo-random bits for the number `at`, which are equal in each run (SplitMix64: Steele, Lea & Flood 2014).
fn scattered(at: i64) -> u64 {
    let mut bits = (at.cast_unsigned() + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB)
}

/// The horizontal distance between the ends of a line that is `height` high. `bits`, a number of 16 bits, selects the
/// angle, up to 60 degrees from the vertical in both directions.
fn lean(height: i64, bits: i64) -> i64 {
    let angle = (bits as f64 / 65536.0 * 2.0 - 1.0) * STEEPEST;
    (height as f64 * angle.tan()) as i64
}

/// The character number `index` of a natural text without blanks. Natural text matters, because the cost of a letter
/// depends on the processor's branch prediction.
fn letter(index: i64) -> i64 {
    static INKED: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let text = include_bytes!("../../../LICENSE-APACHE");
        text.iter().copied().filter(u8::is_ascii_graphic).collect()
    });
    INKED[index as usize % INKED.len()].into()
}

#[cfg(test)]
mod tests {
    use super::{SIDE, function, lean, letter, place, scattered};

    #[test]
    fn positions_stay_inside_the_window() {
        let side = i64::from(SIDE);
        for (width, height) in [(1, 1), (7, 13), (500, 500), (600, 1)] {
            for index in 0..2000 {
                let (x, y) = place(index, width, height);
                assert!(x >= 0 && x + width <= side);
                assert!(y >= 0 && y + height <= side);
            }
        }
    }

    #[test]
    fn functions_check_the_number_of_arguments() {
        assert!(function("min", 1).is_none() && function("none", 1).is_none());
        assert!(function("pick", 1).is_none());
        assert_eq!(function("min", 2).unwrap()(&[4, 3]), 3);
        let pick = function("pick", 4).unwrap();
        let picked: Vec<i64> = (0..100).map(|index| pick(&[index, 5, 6, 7])).collect();
        assert!([5, 6, 7].iter().all(|value| picked.contains(value)));
        let bits = function("bits", 2).unwrap();
        assert_eq!(bits(&[9, 16]), (scattered(9) >> 16 & 0xffff) as i64);
    }

    #[test]
    fn lines_lean_up_to_sixty_degrees() {
        assert_eq!(lean(1000, 0), -1732);
        assert_eq!(lean(1000, 32768), 0);
        assert_eq!(lean(1000, 65535), 1731);
    }

    #[test]
    fn text_has_no_blanks() {
        let text: Vec<u8> = (0..17).map(|index| letter(index) as u8).collect();
        assert_eq!(text, b"ApacheLicenseVers");
    }
}
