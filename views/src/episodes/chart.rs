//! CPU utilisation and latency over time as a small chart of characters.

use x11prof_analyzer::SeriesReport;

use super::words::latency;

/// The number of columns of the chart.
const COLUMNS: usize = 60;
const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The chart: one line of text for each series.
pub(super) fn text(series: &SeriesReport) -> String {
    let steps = series.episodes.len();
    if steps == 0 {
        return String::new();
    }
    let group = steps.div_ceil(COLUMNS);
    let column = series.step_ms * group as f64;
    let columns = series.longest_ms.chunks(group);
    let longest: Vec<f64> = columns
        .map(|chunk| chunk.iter().copied().fold(0.0, f64::max))
        .collect();
    let most = longest.iter().copied().fold(0.0, f64::max);
    let mut text = format!(
        "\nOver time from {:.2} s, {} per column (full: 100 %; longest: {}):\n",
        series.start_ms / 1000.0,
        latency(column),
        latency(most)
    );
    let mut line = |name: &str, values: &[f64], full: f64| {
        let levels = values.iter().map(|value| level(*value, full));
        let levels: String = levels.collect();
        let line = format!("{name:<14}{levels}");
        text.push_str(line.trim_end());
        text.push('\n');
    };
    let mean = |values: &[f64]| -> Vec<f64> {
        let columns = values.chunks(group);
        columns
            .map(|chunk| chunk.iter().sum::<f64>() / group as f64)
            .collect()
    };
    line("user waits", &mean(&series.waiting_percent), 100.0);
    if let Some(client) = &series.client_percent {
        line("clients' CPU", &mean(client), 100.0);
    }
    if let Some(server) = &series.server_percent {
        line("server's CPU", &mean(server), 100.0);
    }
    line("longest", &longest, most);
    text
}

/// Returns the character that draws `value` if `full` is the highest level. A value above 0 is always visible.
fn level(value: f64, full: f64) -> char {
    if value <= 0.0 || full <= 0.0 {
        return LEVELS[0];
    }
    let at = (value / full * 8.0).ceil().clamp(1.0, 8.0);
    LEVELS[at as usize]
}

#[cfg(test)]
mod tests {
    use super::level;

    #[test]
    fn nonzero_values_have_a_visible_bar() {
        let levels: String = [0.0, 0.1, 12.5, 13.0, 50.0, 100.0, 180.0]
            .map(|value| level(value, 100.0))
            .into_iter()
            .collect();
        assert_eq!(levels, " ▁▁▂▄██");
    }
}
