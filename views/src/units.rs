//! Formats numbers as text: counts, times, sizes, percentages. All formatting rules are here.

pub use x11prof_analyzer::counted;

/// A time in milliseconds as text, in the largest unit that leaves a whole part, with three digits: `9.05 s`, `369 ms`,
/// `23.1 µs`.
pub fn duration(ms: f64) -> String {
    let size = ms.abs();
    match size {
        _ if size >= 1000.0 => format!("{} s", three(ms / 1000.0)),
        _ if size >= 0.9995 => format!("{} ms", three(ms)),
        _ if size > 0.0 => format!("{} µs", three(ms * 1000.0)),
        _ => "0 ms".to_owned(),
    }
}

/// A number of bytes as text in decimal units, such as `12.3 MB`.
pub fn bytes(count: u64) -> String {
    let size = count as f64;
    for (unit, name) in [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")] {
        if size >= unit {
            return format!("{} {name}", three(size / unit));
        }
    }
    format!("{count} bytes")
}

/// A speed in bits per second as text, such as `1.50 Mbit/s`. The parameter is in bytes per second.
pub fn speed(bytes_per_second: f64) -> String {
    let bits = 8.0 * bytes_per_second;
    match bits {
        _ if bits >= 1e9 => format!("{} Gbit/s", three(bits / 1e9)),
        _ if bits >= 1e6 => format!("{} Mbit/s", three(bits / 1e6)),
        _ => format!("{} kbit/s", three(bits / 1e3)),
    }
}

/// A number as text, such as `1400`, `66` or `2.5`.
pub fn number(of: f64) -> String {
    if of.abs() < 9.95 {
        // The sum of an empty list is -0.
        return format!("{:.1}", of + 0.0);
    }
    format!("{of:.0}")
}

/// A percentage as text, such as `12 %` or `2.5 %`. From 10 % on, the text has no decimals.
pub fn share(percent: f64) -> String {
    match percent {
        p if p >= 9.95 => format!("{p:.0} %"),
        p => format!("{p:.1} %"),
    }
}

/// A number as text with three digits, such as `2.50` or `369`. From 100 on, the text has no decimals.
pub(crate) fn three(number: f64) -> String {
    match number.abs() {
        n if n >= 99.95 => format!("{number:.0}"),
        n if n >= 9.995 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

/// The number of decimals for a column of milliseconds whose largest value is `most`. Larger values have fewer
/// decimals.
pub(crate) fn decimals(most: f64) -> usize {
    match most {
        m if m >= 10_000.0 => 0,
        m if m >= 1000.0 => 1,
        m if m >= 10.0 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::{bytes, duration, number, share, speed};

    #[test]
    fn times_have_three_significant_digits_and_a_unit() {
        let written = [
            0.0, 0.000_4, 0.0231, 0.9999, 5.228, 40.639, 369.01, 9052.0, 123_456.0,
        ];
        assert_eq!(
            written.map(duration),
            [
                "0 ms", "0.40 µs", "23.1 µs", "1.00 ms", "5.23 ms", "40.6 ms", "369 ms", "9.05 s",
                "123 s"
            ]
        );
    }

    #[test]
    fn counts_sizes_and_shares_are_formatted() {
        assert_eq!(
            [187_500.0, 10_000.0, 2.5e8].map(speed),
            ["1.50 Mbit/s", "80.0 kbit/s", "2.00 Gbit/s"]
        );
        assert_eq!(
            [999, 12_345, 5_000_000_000].map(bytes),
            ["999 bytes", "12.3 kB", "5.00 GB"]
        );
        assert_eq!(
            [0.04, 2.46, 66.4, 1400.2, 1_234_567.0, -1400.0].map(number),
            ["0.0", "2.5", "66", "1400", "1234567", "-1400"]
        );
        assert_eq!([12.86, 9.96, 1.04].map(share), ["13 %", "10 %", "1.0 %"]);
    }
}
