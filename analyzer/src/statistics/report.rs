//! Message statistics as a document: the JSON of `stats --format json` (docs/REFERENCE.md), which is also the source of
//! text and CSV.

use serde::{Deserialize, Serialize};

use crate::statistics::distribution::Distribution;
use crate::statistics::histogram::{Cell, linear, logarithmic, mode_of_times};
use crate::statistics::{Category, MessageStatistics, Statistics};

/// The version of the JSON.
const FORMAT: u32 = 1;

/// The message statistics of a trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatisticsReport {
    /// The version of this document's layout: 1.
    pub format: u32,
    /// The path of the trace, as the user specified it.
    pub trace: String,
    /// The time in milliseconds from the trace's first record to its last, or the length of the reported part.
    #[serde(default)]
    pub duration_ms: f64,
    /// The four categories (requests, replies, events and errors), with the bytes of each kind (Tables 4 and 5).
    pub categories: Vec<CategoryReport>,
    /// The selected kinds of messages (Table 6).
    pub messages: Vec<MessageReport>,
}

/// The statistics of one category of messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CategoryReport {
    /// The name of the category, such as `Requests`.
    pub name: String,
    /// The number of bytes of all messages.
    pub total_bytes: u64,
    /// Milliseconds from one message to the next in the category.
    pub inter_arrival_ms: DistributionReport,
    /// `inter_arrival_ms` without the messages that arrived together with the previous one (0 ms).
    pub zeros_removed_ms: DistributionReport,
    /// The number of bytes of each message.
    pub bytes: DistributionReport,
    /// The bytes of each kind of message, the most bytes first.
    pub by_message: Vec<BytesReport>,
}

/// The total bytes of one kind of message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BytesReport {
    /// The name of the message; for replies, the name of the request.
    pub name: String,
    /// The number of bytes of all messages of this kind.
    pub total_bytes: u64,
    /// The number of messages of this kind.
    pub count: u64,
}

/// The statistics of one kind of message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageReport {
    /// The name of the category, such as `Requests`.
    pub category: String,
    /// The name of the message; for replies, the name of the request.
    pub name: String,
    /// The number of bytes of all messages of this kind.
    pub total_bytes: u64,
    /// Milliseconds from one message of this kind to the next.
    pub inter_arrival_ms: DistributionReport,
    /// `inter_arrival_ms` without the messages that arrived together with the previous one (0 ms).
    pub zeros_removed_ms: DistributionReport,
    /// The number of bytes of each message.
    pub bytes: DistributionReport,
    /// The op-size of each request; null for other messages.
    pub op_size: Option<DistributionReport>,
}

/// The summary of a distribution. A figure is null if there are too few values for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DistributionReport {
    /// The number of values in the distribution.
    #[serde(rename = "count")]
    pub number: u64,
    /// The smallest of the values; null without values.
    pub min: Option<f64>,
    /// The largest of the values; null without values.
    pub max: Option<f64>,
    /// The most frequent value; for times, the median of the histogram's fullest cell.
    pub mode: Option<f64>,
    /// The median of the values.
    pub median: Option<f64>,
    /// The mean of the values.
    pub mean: Option<f64>,
    /// The sample standard deviation.
    pub standard_deviation: Option<f64>,
    /// True if all values were kept; otherwise mode, median and histogram are approximate, within 1/128 of the value.
    pub exact: bool,
    /// The cells of the histogram: nanoseconds on a logarithmic scale, or sizes on a linear scale; absent without
    /// `--histograms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Vec<Cell>>,
    /// The width of the cells in a linear histogram; absent for other histograms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grain: Option<u64>,
}

impl StatisticsReport {
    /// Creates the report on `statistics`, with or without `histograms`. `path` is the trace's path as given by the
    /// user.
    pub fn new(path: &str, statistics: &Statistics, histograms: bool) -> StatisticsReport {
        let categories = Category::ALL
            .into_iter()
            .map(|category| category_report(statistics, category, histograms))
            .collect();
        let messages = statistics
            .kinds()
            .into_iter()
            .map(|(category, name, kind)| {
                let name = name.as_str();
                let (all, zeros_removed) = times(kind, histograms);
                let op_size =
                    (category == Category::Requests).then(|| of_sizes(&kind.op_size, histograms));
                MessageReport {
                    category: category.name().to_owned(),
                    name: name.to_owned(),
                    total_bytes: kind.total_bytes,
                    inter_arrival_ms: all,
                    zeros_removed_ms: zeros_removed,
                    bytes: of_sizes(&kind.bytes, histograms),
                    op_size,
                }
            })
            .collect();
        StatisticsReport {
            format: FORMAT,
            trace: path.to_owned(),
            duration_ms: 0.0,
            categories,
            messages,
        }
    }
}

fn category_report(
    statistics: &Statistics,
    category: Category,
    histograms: bool,
) -> CategoryReport {
    let of = statistics.category(category);
    let (all, zeros_removed) = times(of, histograms);
    CategoryReport {
        name: category.name().to_owned(),
        total_bytes: of.total_bytes,
        inter_arrival_ms: all,
        zeros_removed_ms: zeros_removed,
        bytes: of_sizes(&of.bytes, histograms),
        by_message: statistics
            .bytes(category)
            .into_iter()
            .map(|(name, total_bytes, count)| BytesReport {
                name: name.to_string(),
                total_bytes,
                count,
            })
            .collect(),
    }
}

fn times(of: &MessageStatistics, histograms: bool) -> (DistributionReport, DistributionReport) {
    /// Nanoseconds of a millisecond.
    const MILLISECOND: f64 = 1e6;
    let all = &of.inter_arrival;
    let sum_up = |times: &Distribution| DistributionReport {
        mode: mode_of_times(times).map(|mode| mode as f64 / MILLISECOND),
        ..sum_up(times, MILLISECOND)
    };
    let mut first = sum_up(all);
    if histograms {
        first.histogram = Some(logarithmic(all));
    }
    (first, sum_up(&all.without_zeros()))
}

fn of_sizes(sizes: &Distribution, shown: bool) -> DistributionReport {
    let mut report = sum_up(sizes, 1.0);
    if shown {
        let (grain, cells) = linear(sizes);
        report.histogram = Some(cells);
        report.grain = Some(grain);
    }
    report
}

/// The figures of a distribution, in units of `unit`.
fn sum_up(distribution: &Distribution, unit: f64) -> DistributionReport {
    let scaled = |value: u64| value as f64 / unit;
    let range = distribution.range();
    DistributionReport {
        number: distribution.number(),
        min: range.map(|(least, _)| scaled(least)),
        max: range.map(|(_, most)| scaled(most)),
        mode: distribution.mode().map(scaled),
        median: distribution.median().map(scaled),
        mean: distribution.mean().map(|mean| mean / unit),
        standard_deviation: distribution.standard_deviation().map(|sd| sd / unit),
        exact: distribution.is_exact(),
        histogram: None,
        grain: None,
    }
}
