//! The changes between two versions of a program, as text and CSV.

use x11prof_analyzer::{Difference, DifferenceRow, Quantity, SideReport};

use crate::csv_tables;
use crate::page::{Page, Style, name};
use crate::plain::plain;
use crate::profile::basis_word;
use crate::table::Table;
use crate::units::{counted, three};

/// The default number of rows.
const ROWS: usize = 15;
/// The maximum length of a name in the table, in characters.
const NAME: usize = 32;

/// The changes as text. A page with all results has all rows instead of the first fifteen.
pub fn text(difference: &Difference, page: &Page) -> String {
    let mut text = page.answer(verdict(difference, page).lines().map(plain), 2);
    let changed: Vec<&DifferenceRow> = difference
        .rows
        .iter()
        .filter(|row| row.change != 0.0)
        .collect();
    let shown = if page.all {
        changed.len()
    } else {
        ROWS.min(changed.len())
    };
    let several = changed.iter().any(|row| row.low.is_some());
    if shown > 0 {
        let mut table = Table::new(["What", "Old", "New", "Change"]);
        // With one recording of each version there is no spread to show.
        if several {
            let certain = match difference.real {
                Some(_) => "Significant",
                None => "In every run",
            };
            table.headings(["95 % interval", certain].map(str::to_owned));
        }
        for row in &changed[..shown] {
            let [sure, between] = [certainty(row), spread(row)];
            let more = several.then_some([between, sure]);
            table.row(cells(row).into_iter().chain(more.into_iter().flatten()));
        }
        text.push_str(&format!("\n{}", table.on(page)));
    }
    let same = counted((difference.rows.len() - changed.len()) as u64, "figure");
    if shown > 0 {
        let more = match changed.len() - shown {
            0 => String::new(),
            more => format!("{more} more with --all. "),
        };
        let certain = match (difference.real, several) {
            (Some(_), _) => "Significant rows first",
            (None, true) => {
                "yes: every new run is above (or below) every old run. These rows first"
            }
            (None, false) => "Counts first",
        };
        let legend = format!("{certain}. {more}{same} unchanged.");
        text.push_str(&page.wrap_in(Style::Faint, &legend, 0));
    }
    for line in doubts(difference) {
        text.push_str(&page.wrap_in(Style::Caveat, &plain(&line), 2));
    }
    text
}

/// Returns the summary in at most five lines.
fn verdict(difference: &Difference, page: &Page) -> String {
    // The requests that --try changed are an option, not a result.
    let changed = difference
        .rows
        .iter()
        .filter(|row| row.change != 0.0 && row.quantity != Quantity::Tried);
    let all = changed.clone().count() as u64;
    let counts = changed.clone().filter(|row| row.count).count() as u64;
    let first = changed.clone().next();
    let real = changed.filter(|row| row.real == Some(true)).count() as u64;
    let mut text = match (difference.real, first) {
        (_, None) => "Nothing differs.\n".to_owned(),
        (Some(_), _) if real == 0 => "No significant difference.\n".to_owned(),
        (Some(_), Some(first)) => format!(
            "{}, such as {}\n",
            counted(real, "significant difference"),
            said(first)
        ),
        (None, Some(first)) if first.count && first.steady != Some(false) => format!(
            "{}, {counts} in counts, such as {}\n",
            counted(all, "difference"),
            said(first)
        ),
        (None, Some(_)) if counts == 0 => {
            "All counts are the same; times differ as between any two runs.\n".to_owned()
        }
        (None, Some(_)) => {
            "No count changed in every run; runs of one version differ as well.\n".to_owned()
        }
    };
    text.push_str(&speeds(difference));
    text.push_str(&lost(difference));
    text.push_str(&format!(
        "Old: {}\nNew: {}\n",
        side(&difference.old, page),
        side(&difference.new, page)
    ));
    let fewest = difference.fewest_runs;
    match (difference.real, is_repeated(difference)) {
        (Some(_), _) => {
            let percent = 100.0 * difference.level;
            text.push_str(&format!(
                "Significant at the {percent:.0} % level, corrected for {} comparisons. Intervals have no such correction.\n",
                difference.rows.len()
            ));
        }
        (None, false) => text.push_str(&format!(
            "With one recording of each version, only counts are reliable. \
             Record {fewest} or more of each to test for significance.\n"
        )),
        (None, true) => text.push_str(&format!(
            "Too few recordings to test for significance. Record {fewest} or more of each version.\n"
        )),
    }
    text
}

/// Returns sentences on the times that became longer and shorter. If times were tested for significance, only
/// significant changes count.
fn speeds(difference: &Difference) -> String {
    let times = difference.rows.iter().filter_map(|row| {
        let name = match (row.quantity, &row.name) {
            (Quantity::StartUpMs, None) => "start-up",
            // Without a test the duration of a session is no evidence: often the user ends the session.
            (Quantity::WallMs, None) if difference.real.is_some() => "wall clock",
            (Quantity::EpisodeMs, None) => "all episodes",
            (Quantity::ClientMs, None) => "client CPU",
            (Quantity::ServerMs, None) => "server CPU",
            _ => return None,
        };
        let percent = row
            .percent
            .map(|percent| format!(" ({})", percents(percent)));
        let (old, new) = (number(row, row.old.mean), number(row, row.new.mean));
        let text = format!("{name} {old} → {new} ms{}", percent.unwrap_or_default());
        Some((row, text))
    });
    let tested = difference.real.is_some();
    // Without a test, a change below 2 % is not evidence, nor is a change whose interval contains 0.
    let is_large = |row: &DifferenceRow| {
        let is_sure = row
            .low
            .zip(row.high)
            .is_none_or(|(low, high)| low * high > 0.0);
        is_sure && row.percent.is_none_or(|percent| percent.abs() >= 2.0)
    };
    let counts = |row: &DifferenceRow| match tested {
        true => row.change != 0.0 && row.real == Some(true),
        false => row.change != 0.0 && is_large(row),
    };
    let (longer, shorter): (Vec<_>, Vec<_>) = times
        .filter(|(row, _)| counts(row))
        .partition(|(row, _)| row.change > 0.0);
    let list = |word: &str, times: Vec<(&DifferenceRow, String)>| {
        let times: Vec<String> = times.into_iter().map(|(_, text)| text).collect();
        (!times.is_empty()).then(|| format!("{word}: {}.", times.join(", ")))
    };
    let [slower, faster] = match tested {
        true => ["Slower", "Faster"],
        false => ["Perhaps slower", "Perhaps faster"],
    };
    let lists: Vec<String> = [list(slower, longer), list(faster, shorter)]
        .into_iter()
        .flatten()
        .collect();
    match (lists.is_empty(), tested) {
        (true, true) => {
            let mut rows = difference.rows.iter();
            let part = rows.find(|row| row.real == Some(true) && !row.quantity.is_count());
            let part = part.map(|row| format!("; parts did, such as {}", said(row)));
            format!(
                "No total time changed significantly{}.\n",
                part.unwrap_or_default()
            )
        }
        (true, false) => String::new(),
        (false, _) => format!("{}\n", lists.join(" ")),
    }
}

/// Returns a sentence on the action whose latency increased most.
fn lost(difference: &Difference) -> String {
    let rows = difference.rows.iter();
    let slower = rows.filter(|row| {
        row.quantity == Quantity::ActionMs && row.change > 0.0 && row.real != Some(false)
    });
    let most = slower.max_by(|a, b| a.change.total_cmp(&b.change));
    let Some((row, action)) = most.and_then(|row| Some((row, row.name.as_ref()?))) else {
        return String::new();
    };
    let runs = row.old.runs.max(row.new.runs);
    let mean = if runs > 1 { " (mean)" } else { "" };
    format!(
        "The largest change for users: {action}: {} → {} ms{mean}.\n",
        number(row, row.old.mean),
        number(row, row.new.mean)
    )
}

fn doubts(difference: &Difference) -> Vec<String> {
    let mut lines = Vec::new();
    if difference.old.basis.is_none() || difference.old.basis != difference.new.basis {
        let source = |side: &SideReport| side.basis.map_or("several", basis_word);
        lines.push(format!(
            "Server times are left out: their time sources differ (old: {}, new: {}). Record both versions in the same way.",
            source(&difference.old),
            source(&difference.new)
        ));
    }
    for (name, side) in [("old", &difference.old), ("new", &difference.new)] {
        if let Some(network) = &side.network {
            lines.push(format!(
                "Times of the {name} recordings include an emulated network ({network})."
            ));
        }
        if !side.fixes.is_empty() {
            let fixes = side.fixes.join(", ");
            lines.push(format!(
                "Results of the {name} recordings include the changes made by --try {fixes}."
            ));
        }
    }
    lines
}

/// All rows of the difference as CSV.
pub fn csv(difference: &Difference) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let truth = |value: Option<bool>| value.map_or_else(String::new, |value| value.to_string());
    let headings = [
        "quantity",
        "name",
        "old_mean",
        "old_low",
        "old_high",
        "new_mean",
        "new_low",
        "new_high",
        "change",
        "percent",
        "percent_of_all",
        "low",
        "high",
        "constant",
        "p_value",
        "significant",
    ];
    // Writing to memory does not fail.
    let _ = writer.write_record(headings);
    for row in &difference.rows {
        let (old, new) = (&row.old, &row.new);
        let _ = writer.write_record([
            key(row.quantity),
            row.name.clone().unwrap_or_default(),
            old.mean.to_string(),
            old.low.to_string(),
            old.high.to_string(),
            new.mean.to_string(),
            new.low.to_string(),
            new.high.to_string(),
            row.change.to_string(),
            number(row.percent),
            row.percent_of_all.to_string(),
            number(row.low),
            number(row.high),
            truth(row.steady),
            number(row.chance),
            truth(row.real),
        ]);
    }
    csv_tables::text(writer)
}

/// Returns the name of a quantity in JSON.
fn key(quantity: Quantity) -> String {
    let name = serde_json::to_value(quantity).ok();
    name.and_then(|name| name.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// Returns a line on the recordings of one version.
fn side(side: &SideReport, page: &Page) -> String {
    let runs = side.traces.len();
    let program = side.command.first().map_or("", |program| program);
    // For replays and driven programs, the file names are more informative than the command of the player.
    let what = match program.is_empty() || program.rsplit('/').next() == Some("x11prof") {
        true => side.traces.first().cloned().unwrap_or_default(),
        false => side.command.join(" "),
    };
    let runs = counted(runs as u64, "recording");
    name(&format!("{runs} of {what}"), page.columns() - 6)
}

/// Returns the cells of a row: its name and figures.
fn cells(row: &DifferenceRow) -> [String; 4] {
    let change = match row.percent {
        _ if row.new.mean == 0.0 => "gone".to_owned(),
        Some(percent) => percents(percent),
        None => "new".to_owned(),
    };
    [
        title(row),
        number(row, row.old.mean),
        number(row, row.new.mean),
        change,
    ]
}

/// Returns `yes` if the change is significant or occurs in every recording, `no` if not, and an empty text if unknown.
fn certainty(row: &DifferenceRow) -> String {
    let said = match row.real.or(row.steady) {
        Some(true) => "yes",
        Some(false) => "no",
        None => "",
    };
    said.to_owned()
}

/// True if a version has several recordings.
fn is_repeated(difference: &Difference) -> bool {
    difference.old.traces.len().max(difference.new.traces.len()) > 1
}

/// Returns the 95 % confidence interval of the change as text, in percent if the change has a percentage.
fn spread(row: &DifferenceRow) -> String {
    // A change that is equal in all recordings has no interval. No figure can be below zero.
    let low = row.low.map(|low| low.max(-row.old.mean));
    let Some((low, high)) = low.zip(row.high).filter(|(low, high)| low < high) else {
        return String::new();
    };
    let text = |change: f64| match row.old.mean == 0.0 {
        true => number(row, change),
        false => percents(100.0 * change / row.old.mean),
    };
    let (low, high) = (text(low), text(high));
    let low = match high.ends_with(" %") {
        true => low.trim_end_matches(" %"),
        false => &low,
    };
    match low == high.trim_end_matches(" %") {
        true => high,
        false => format!("{low} to {high}"),
    }
}

fn percents(percent: f64) -> String {
    match percent.abs() {
        size if size < 10.0 => format!("{percent:+.1} %"),
        size if size < 1000.0 || percent < 0.0 => format!("{percent:+.0} %"),
        _ => format!("×{:.0}", 1.0 + percent / 100.0),
    }
}

/// Returns the old and the new figure of a row as text.
fn said(row: &DifferenceRow) -> String {
    let (old, new) = (number(row, row.old.mean), number(row, row.new.mean));
    format!("{} {old} → {new}", title(row))
}

fn title(row: &DifferenceRow) -> String {
    let quantity = row.quantity.name();
    match (&row.name, row.quantity) {
        (None, Quantity::ResourcesCreated | Quantity::ResourcesLeft) => {
            format!("resources {quantity}")
        }
        (None, Quantity::EpisodeMs) => "all episodes ms".to_owned(),
        (None, _) => quantity.to_owned(),
        (Some(named), _) => name(&format!("{quantity}: {named}"), NAME),
    }
}

/// Returns the text of `value`, with the number of digits that the size of the value justifies. Whole counts have no
/// decimals.
fn number(row: &DifferenceRow, value: f64) -> String {
    let whole = row.quantity.is_count() && value.fract() == 0.0;
    match value.abs() {
        _ if whole => format!("{value:.0}"),
        size if size >= 1.0 => three(value),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use x11prof_analyzer::{
        Difference, DifferenceRow, Quantity, SideReport, TimeSource, ValuesReport,
    };

    use super::{doubts, lost, speeds, spread, text};
    use crate::page::Page;

    fn row(action: &str, old: f64, new: f64) -> DifferenceRow {
        let values = |mean: f64| ValuesReport {
            runs: 1,
            mean,
            low: mean,
            high: mean,
        };
        DifferenceRow {
            quantity: Quantity::ActionMs,
            name: Some(action.to_owned()),
            count: false,
            old: values(old),
            new: values(new),
            change: new - old,
            percent: None,
            percent_of_all: 0.0,
            low: Some(-20.0),
            high: Some(new),
            steady: None,
            chance: None,
            real: None,
        }
    }

    fn side() -> SideReport {
        SideReport {
            traces: vec![String::new(), String::new()],
            command: Vec::new(),
            basis: None,
            fixes: Vec::new(),
            network: None,
        }
    }

    #[test]
    fn largest_regression_for_users_is_named() {
        let difference = Difference {
            format: 1,
            old: side(),
            new: side(),
            level: 0.05,
            fewest_runs: 4,
            real: None,
            rows: vec![
                row("Clicks in Notes", 300.0, 20.0),
                row("Typing in Notes", 1.0, 64.0),
                row("Pointer moved in Notes", 5.0, 9.0),
            ],
        };
        let said = "The largest change for users: Typing in Notes: 1.00 → 64.0 ms.\n";
        assert_eq!(lost(&difference), said);
        assert_eq!(spread(&difference.rows[1]), "-100 % to ×65");
        let clicks = DifferenceRow {
            low: Some(-414.0),
            high: Some(-21.0),
            real: Some(true),
            ..row("Clicks in Notes", 300.0, 82.5)
        };
        assert_eq!(spread(&clicks), "-100 to -7.0 %");
        let tested = Difference {
            real: Some(1),
            rows: vec![clicks],
            ..difference
        };
        let part = "ms an action: Clicks in Notes 300 → 82.5";
        let said = format!("No total time changed significantly; parts did, such as {part}.\n");
        assert_eq!(speeds(&tested), said);
    }

    #[test]
    fn verdict_separates_constant_counts_from_varying_ones() {
        let varying = DifferenceRow {
            quantity: Quantity::Requests,
            name: None,
            count: true,
            steady: Some(false),
            ..row("", 371.0, 398.0)
        };
        let first = |row: DifferenceRow| {
            let difference = Difference {
                format: 1,
                old: side(),
                new: side(),
                level: 0.05,
                fewest_runs: 4,
                real: None,
                rows: vec![row],
            };
            let text = text(&difference, &Page::default());
            text.lines().next().unwrap().to_owned()
        };
        let constant = DifferenceRow {
            steady: Some(true),
            ..varying.clone()
        };
        assert_eq!(
            first(varying),
            "No count changed in every run; runs of one version differ as well."
        );
        assert_eq!(
            first(constant),
            "1 difference, 1 in counts, such as requests 371 → 398"
        );
        assert_eq!(
            first(row("Typing", 1.0, 2.0)),
            "All counts are the same; times differ as between any two runs."
        );
    }

    #[test]
    fn caveats_name_time_sources_and_emulated_networks() {
        let difference = Difference {
            format: 1,
            old: SideReport {
                basis: Some(TimeSource::Attributed),
                ..side()
            },
            new: SideReport {
                basis: Some(TimeSource::Timed),
                network: Some("dsl".to_owned()),
                ..side()
            },
            level: 0.05,
            fewest_runs: 4,
            real: None,
            rows: Vec::new(),
        };
        let lines = doubts(&difference);
        assert!(
            lines[0].contains("(old: attributed, new: timed)"),
            "{lines:?}"
        );
        let network = "Times of the new recordings include an emulated network (dsl).";
        assert_eq!(lines[1..], [network]);
    }
}
