//! Repetitions: the combined results of several recordings of the same actions (the latency-benchmark paper ran each
//! benchmark five times).

use std::collections::BTreeMap;

use serde::Serialize;

use super::report::{EpisodesReport, LandmarkReport};

/// The version of the JSON.
const FORMAT: u32 = 1;

/// A figure over several recordings: mean and standard deviation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figure {
    /// The mean of the figure over the recordings that have it.
    pub mean: f64,
    /// The sample standard deviation; null for fewer than two recordings.
    pub standard_deviation: Option<f64>,
}

impl Figure {
    fn of(values: &[f64]) -> Figure {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count.max(1.0);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Figure {
            mean,
            standard_deviation: (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt()),
        }
    }
}

/// The combined figures of several recordings.
#[derive(Debug, Clone, Serialize)]
pub struct RepeatedReport {
    /// The version of this document's layout.
    pub format: u32,
    /// The paths of the traces.
    pub traces: Vec<String>,
    /// The number of episodes in a recording.
    pub count: Figure,
    /// The number of episodes over their threshold in a recording.
    pub perceptible: Figure,
    /// The time of a recording in which at least one episode was in progress, in milliseconds.
    pub in_episode_ms: Figure,
    /// The time of a recording in which the user waited, in milliseconds.
    pub wait_ms: Figure,
    /// The groups of landmarks (by the kind of action and the class of the window), the most time first.
    pub groups: Vec<RepeatedLandmark>,
    /// The landmarks, the most time first.
    pub landmarks: Vec<RepeatedLandmark>,
}

/// A landmark of several recordings. Its figures cover the recordings that contain it.
#[derive(Debug, Clone, Serialize)]
pub struct RepeatedLandmark {
    /// The name of the landmark or the group.
    pub landmark: String,
    /// The number of recordings that contain the landmark.
    pub recordings: u64,
    /// The number of the landmark's episodes in a recording.
    pub count: Figure,
    /// The number of the landmark's episodes over their threshold in a recording.
    pub perceptible: Figure,
    /// The mean latency of the landmark's episodes in a recording, in milliseconds.
    pub mean_ms: Figure,
    /// The median latency of the landmark's episodes in a recording, in milliseconds.
    #[serde(rename = "p50_ms")]
    pub median_ms: Figure,
    /// The greatest latency of the landmark's episodes in a recording, in milliseconds.
    pub max_ms: Figure,
    /// The total latency of the landmark's episodes in a recording, in milliseconds.
    pub total_ms: Figure,
}

impl RepeatedReport {
    /// Combines the reports of several recordings.
    pub fn new(reports: &[EpisodesReport]) -> RepeatedReport {
        let figure = |of: fn(&EpisodesReport) -> f64| {
            let values: Vec<f64> = reports.iter().map(of).collect();
            Figure::of(&values)
        };
        RepeatedReport {
            format: FORMAT,
            traces: reports.iter().map(|of| of.trace.clone()).collect(),
            count: figure(|of| of.summary.count as f64),
            perceptible: figure(|of| of.summary.perceptible as f64),
            in_episode_ms: figure(|of| of.summary.in_episode_ms),
            wait_ms: figure(|of| of.think_and_wait.wait_ms),
            groups: landmarks(reports.iter().flat_map(|of| &of.groups)),
            landmarks: landmarks(reports.iter().flat_map(|of| &of.landmarks)),
        }
    }
}

fn landmarks<'a>(all: impl Iterator<Item = &'a LandmarkReport>) -> Vec<RepeatedLandmark> {
    let mut by_name: BTreeMap<(&str, &str), Vec<&LandmarkReport>> = BTreeMap::new();
    for of in all {
        let key = (&*of.landmark, of.trigger);
        by_name.entry(key).or_default().push(of);
    }
    let mut list: Vec<RepeatedLandmark> = by_name
        .into_iter()
        .map(|((name, _), these)| landmark(name, &these))
        .collect();
    let time = |of: &RepeatedLandmark| of.total_ms.mean * of.recordings as f64;
    list.sort_by(|a, b| time(b).total_cmp(&time(a)));
    list
}

fn landmark(name: &str, these: &[&LandmarkReport]) -> RepeatedLandmark {
    let figure = |of: fn(&LandmarkReport) -> f64| {
        let values: Vec<f64> = these.iter().map(|one| of(one)).collect();
        Figure::of(&values)
    };
    RepeatedLandmark {
        landmark: name.to_owned(),
        recordings: these.len() as u64,
        count: figure(|of| of.count as f64),
        perceptible: figure(|of| of.perceptible as f64),
        mean_ms: figure(|of| of.mean_ms),
        median_ms: figure(|of| of.median_ms),
        max_ms: figure(|of| of.max_ms),
        total_ms: figure(|of| of.total_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::Figure;

    #[test]
    fn mean_and_sample_standard_deviation() {
        let figure = |values: &[f64]| {
            let of = Figure::of(values);
            (of.mean, of.standard_deviation)
        };
        assert_eq!(figure(&[3.0]), (3.0, None));
        assert_eq!(figure(&[2.0, 4.0, 6.0]), (4.0, Some(2.0)));
    }
}
