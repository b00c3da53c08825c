//! Message statistics as a document: the JSON of `stats --format json` (docs/REFERENCE.md), which is also the source of
//! text and CSV.

use serde::{Deserialize, Serialize};

use crate::statistics::distribution::Distribution;
use crate::statistics::histogram::{Cell, linear, logarithmic, mode_of_times};
use crate::statistics::{Category, MessageStatistics, Statistics};

/// The version of the JSON.
const FORMAT: u32 = 1;

/// The statistics of a trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatisticsReport {
    /// The version of this layout: 1.
    pub format: u32,
    /// The trace's path as given by the user.
    pub trace: String,
    /// Requests, replies, events and errors, with the bytes of each kind (Tables 4 and 5).
    pub categories: Vec<CategoryReport>,
    /// The kinds of messages (Table 6).
    pub messages: Vec<MessageReport>,
}

/// A category of messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CategoryReport {
    /// `Requests`.
    pub name: String,
    /// Bytes in all.
    pub total_bytes: u64,
    /// Milliseconds from one message to the next, of any kind.
    pub inter_arrival_ms: DistributionReport,
    /// Times without messages that arrived together with the previous one.
    pub zeros_removed_ms: DistributionReport,
    /// Bytes of each.
    pub bytes: DistributionReport,
    /// The bytes of each kind, the most first.
    pub by_message: Vec<BytesReport>,
}

/// The bytes of a kind of message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BytesReport {
    /// The name; for replies that of the request.
    pub name: String,
    /// Bytes in all.
    pub total_bytes: u64,
    /// The number.
    pub count: u64,
}

/// A kind of message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageReport {
    /// `Requests`.
    pub category: String,
    /// The name; for replies that of the request.
    pub name: String,
    /// Bytes in all.
    pub total_bytes: u64,
    /// Milliseconds from one message to the next of its kind.
    pub inter_arrival_ms: DistributionReport,
    /// Times without messages that arrived together with the previous one.
    pub zeros_removed_ms: DistributionReport,
    /// Bytes of each.
    pub bytes: DistributionReport,
    /// Op-sizes, for requests.
    pub op_size: Option<DistributionReport>,
}

/// A summary of a distribution. Figures are null if there are too few values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DistributionReport {
    /// The number of values.
    #[serde(rename = "count")]
    pub number: u64,
    /// The least.
    pub min: Option<f64>,
    /// The most.
    pub max: Option<f64>,
    /// The mode; for times, the median of the fullest cell of the histogram.
    pub mode: Option<f64>,
    /// The median.
    pub median: Option<f64>,
    /// The mean.
    pub mean: Option<f64>,
    /// The standard deviation of a sample.
    pub standard_deviation: Option<f64>,
    /// True if every value was kept; otherwise mode, median and histogram are approximate, within 1/128 of the value.
    pub exact: bool,
    /// The cells of the histogram, with `--histograms`: nanoseconds on a logarithmic scale, or sizes on a linear one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Vec<Cell>>,
    /// The width of a linear histogram's cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grain: Option<u64>,
}

impl StatisticsReport {
    /// The report of a pass over `statistics`, with or without histograms; `path` is the trace's path as given by the
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
