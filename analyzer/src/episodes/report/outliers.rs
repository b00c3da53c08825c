//! Actions that took far longer than the same actions usually take, regardless of the threshold.

use std::collections::BTreeMap;

use serde::Serialize;
use x11prof_protocol::Symbol;

use crate::episodes::episode::{Episode, Trigger};
use crate::episodes::findings::Findings;
use crate::text::label::Label;
use crate::text::units::nanos_ms;

/// The outliers among the actions of one kind. Actions that waited behind another action are excluded.
#[derive(Debug, Clone, Serialize)]
pub struct OutliersReport {
    /// The kind of user action and the class of its window.
    pub group: String,
    /// The number of actions that took far longer than usual.
    pub count: u64,
    /// The number of all actions of the same kind and window class.
    pub actions: u64,
    /// The number of actions from one outlier to the next; null if it varies.
    pub every: Option<u64>,
    /// The smallest latency of an outlier in milliseconds.
    pub min_ms: f64,
    /// The greatest latency of an outlier in milliseconds.
    pub max_ms: f64,
    /// The median latency of all actions of the kind, in milliseconds.
    pub usual_ms: f64,
}

impl OutliersReport {
    /// The outliers by kind of action, the most time first. An outlier exceeds the upper quartile by more than three
    /// times the interquartile range (Tukey's outer fence), and takes longer than a frame.
    pub(super) fn all(findings: &Findings) -> Vec<OutliersReport> {
        let mut kinds: BTreeMap<Symbol, Vec<&Episode>> = BTreeMap::new();
        for one in findings.episodes() {
            if one.trigger == Trigger::Input && findings.counts(one) {
                kinds.entry(one.group).or_default().push(one);
            }
        }
        let mut all: Vec<(u64, OutliersReport)> = kinds
            .into_iter()
            .filter_map(|(group, episodes)| of_kind(findings, group, episodes))
            .collect();
        all.sort_by_key(|(total, _)| std::cmp::Reverse(*total));
        all.into_iter().map(|(_, of)| of).collect()
    }
}

fn of_kind(
    findings: &Findings,
    group: Symbol,
    mut episodes: Vec<&Episode>,
) -> Option<(u64, OutliersReport)> {
    let latencies = &findings
        .groups
        .of_user(Label::new(group.as_str()))?
        .latencies;
    let (low, high) = (latencies.percentile(0.25)?, latencies.percentile(0.75)?);
    let fence = high.saturating_add(3 * (high - low));
    let fence = fence.max(findings.options.frame());
    episodes.sort_by_key(|one| one.start);
    let far: Vec<usize> = (0..)
        .zip(&episodes)
        .filter(|(_, one)| one.latency() - one.queued().min(one.latency()) > fence)
        .map(|(at, _)| at)
        .collect();
    let took = far.iter().map(|at| episodes[*at].latency());
    let (least, most) = (took.clone().min()?, took.clone().max()?);
    let mut apart = far.windows(2).map(|pair| pair[1] - pair[0]);
    let every = apart.next().filter(|first| apart.all(|one| one == *first));
    let all_known = episodes.len() as u64 == latencies.number();
    let of = OutliersReport {
        group: group.to_string(),
        count: far.len() as u64,
        actions: latencies.number(),
        every: every
            .filter(|_| all_known && far.len() > 2)
            .map(|every| every as u64),
        min_ms: nanos_ms(least),
        max_ms: nanos_ms(most),
        usual_ms: nanos_ms(latencies.percentile(0.5)?),
    };
    Some((took.fold(0, u64::saturating_add), of))
}
