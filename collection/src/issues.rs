//! Groups the slow episodes of any number of sessions into issues, in one pass. The episodes of an issue have the same
//! program, landmark and blame.
//!
//! In LagHunter, an issue is a landmark (the thesis, section 5.4). Here, the blame also distinguishes different
//! problems of one landmark. The tree of intervals does not distinguish issues, because a handler does different work
//! for different screen contents. Instead, each issue counts its episodes by tree (patterns).
//!
//! An episode that another client's episode caused does not belong to an issue. Its time is part of the other episode's
//! latency, and the other episode's blame names its client. Otherwise a wait would count twice.
//!
//! Memory use: 56 bytes for each episode over its threshold, because an exact median needs all latencies; 100 to 200
//! bytes for each session and each pattern. Each name is stored once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::episode_row::{EpisodeRow, PARTS, TYPING};
use crate::hive::Partition;

/// The maximum number of stored issues. The episodes of all further issues count as one issue.
const ISSUES_LIMIT: usize = 20_000;
/// The maximum number of stored patterns of an issue.
const PATTERNS_LIMIT: usize = 10_000;
/// The maximum number of keys of a window whose issues with the same cause are not joined.
const KEYS: usize = 3;
/// The other keys have less than one part in this many of the time over the threshold: a busy machine delays any key.
const OTHER_KEYS: u64 = 5;
/// Maximum length of a name in bytes. Longer names are cut.
const NAME_BYTES: usize = 1024;
/// The name of the sum of all issues, or of all patterns, beyond the limit.
const OTHERS: &str = "(others)";

/// The criterion for slow episodes.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Selection {
    /// The minimum latency of a slow episode, in nanoseconds; `None` to use the threshold of each episode.
    pub threshold: Option<u64>,
}

/// The index of a session, in the order in which sessions were added to the issues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionNumber(u32);

/// The properties of a session that the issues need.
#[derive(Debug)]
pub(crate) struct SessionFacts {
    pub(crate) id: Arc<str>,
    /// The version, user and date; sessions in the same folder share the value.
    pub(crate) partition: Arc<Partition>,
    pub(crate) trace: Arc<str>,
}

/// An episode of an issue, with a latency over its threshold. Times are in nanoseconds.
#[derive(Debug)]
pub(crate) struct Occurrence {
    pub(crate) latency: u64,
    /// The latency minus the threshold, in nanoseconds.
    pub(crate) over: u64,
    pub(crate) session: SessionNumber,
    /// The call site of the client's longest wait; `None` if unknown.
    pub(crate) waited_in: Option<Arc<str>>,
    /// The function in which the client used the most CPU time; `None` if unknown.
    pub(crate) ran_in: Option<Arc<str>>,
}

/// The episode of an issue with the greatest latency. Times are in nanoseconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Worst {
    pub(crate) latency: u64,
    pub(crate) trace: Arc<str>,
    pub(crate) start: u64,
    pub(crate) client: u32,
}

/// The episodes of an issue with the same tree of intervals. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Pattern {
    pub(crate) occurrences: u64,
    /// The sum over the episodes of the time over the threshold, in nanoseconds.
    pub(crate) over: u64,
    /// The greatest latency of the episodes, in nanoseconds.
    pub(crate) worst: u64,
}

/// An issue: slow episodes of equal program, landmark and blame. Times are in nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Issue {
    pub(crate) program: Option<Arc<str>>,
    pub(crate) landmark: Arc<str>,
    pub(crate) blame: Arc<str>,
    pub(crate) patterns: HashMap<Arc<str>, Pattern>,
    pub(crate) occurrences: Vec<Occurrence>,
    pub(crate) over: u64,
    pub(crate) parts: [u64; PARTS],
    pub(crate) round_trips: u64,
    pub(crate) requests: u64,
    pub(crate) unsure: u64,
    pub(crate) worst: Worst,
}

impl Issue {
    /// The issue's patterns with their names, sorted by time over the threshold in descending order, then by name.
    pub(crate) fn ranked_patterns(&self) -> Vec<(&Arc<str>, Pattern)> {
        let patterns = self.patterns.iter();
        let mut list: Vec<_> = patterns.map(|(name, of)| (name, *of)).collect();
        list.sort_unstable_by_key(|(name, of)| (Reverse(of.over), *name));
        list
    }

    /// The episodes of both issues, with the name of the first.
    fn with(mut self, other: Issue) -> Issue {
        for (name, one) in other.patterns {
            let pattern = self.patterns.entry(name).or_default();
            pattern.occurrences += one.occurrences;
            pattern.over = pattern.over.saturating_add(one.over);
            pattern.worst = pattern.worst.max(one.worst);
        }
        self.occurrences.extend(other.occurrences);
        for (sum, part) in self.parts.iter_mut().zip(other.parts) {
            *sum = sum.saturating_add(part);
        }
        let later = |of: &Worst| (Reverse(of.latency), Arc::clone(&of.trace), of.start);
        if later(&other.worst) < later(&self.worst) {
            self.worst = other.worst;
        }
        Issue {
            over: self.over.saturating_add(other.over),
            round_trips: self.round_trips.saturating_add(other.round_trips),
            requests: self.requests.saturating_add(other.requests),
            unsure: self.unsure + other.unsure,
            ..self
        }
    }

    fn add_pattern(&mut self, name: Arc<str>, latency: u64, over: u64) {
        let full = self.patterns.len() >= PATTERNS_LIMIT && !self.patterns.contains_key(&name);
        let name = if full { OTHERS.into() } else { name };
        let pattern = self.patterns.entry(name).or_default();
        pattern.occurrences += 1;
        pattern.over = pattern.over.saturating_add(over);
        pattern.worst = pattern.worst.max(latency);
    }
}

/// The program, landmark and blame of an issue.
type IssueKey = (Option<Arc<str>>, Arc<str>, Arc<str>);

/// The issues in the sessions that were added.
#[derive(Debug, Default)]
pub struct Issues {
    selection: Selection,
    numbers: HashMap<Arc<str>, SessionNumber>,
    pub(crate) sessions: Vec<SessionFacts>,
    /// The number of the user's actions (episodes that input began), by program and session.
    pub(crate) actions: BTreeMap<(Option<Arc<str>>, SessionNumber), u64>,
    /// All names of programs, landmarks, causes, patterns, functions and traces. Equal names share memory.
    names: HashSet<Arc<str>>,
    /// The index of each issue in `issues`.
    keys: HashMap<IssueKey, usize>,
    pub(crate) issues: Vec<Issue>,
    /// The number of episodes of any latency, by program and landmark.
    pub(crate) of_landmark: HashMap<(Option<Arc<str>>, Arc<str>), u64>,
    /// For each version, the number of episodes in each step of latency. Steps are identified by their lower bounds in
    /// nanoseconds.
    pub(crate) steps: BTreeMap<Option<String>, BTreeMap<u64, u64>>,
    pub(crate) episodes: u64,
}

impl Issues {
    /// Creates an empty list of issues; `selection` decides which episodes count as slow.
    pub fn new(selection: Selection) -> Issues {
        Issues {
            selection,
            ..Issues::default()
        }
    }

    /// The number of the session with this id; `None` if it was not added.
    pub fn known(&self, id: &str) -> Option<SessionNumber> {
        self.numbers.get(id).copied()
    }

    /// The number of the session with this id. If the session is new, it is added with `trace` (its path) and
    /// `partition`.
    pub fn session(&mut self, id: &str, trace: &str, partition: &Partition) -> SessionNumber {
        if let Some(known) = self.known(id) {
            return known;
        }
        let number = SessionNumber(u32::try_from(self.sessions.len()).unwrap_or(u32::MAX));
        let id = Arc::<str>::from(id);
        let trace = self.shared(trace);
        self.numbers.insert(Arc::clone(&id), number);
        let partition = match self.sessions.last() {
            Some(last) if *last.partition == *partition => Arc::clone(&last.partition),
            _ => Arc::new(partition.clone()),
        };
        self.sessions.push(SessionFacts {
            id,
            partition,
            trace,
        });
        number
    }

    pub(crate) fn facts(&self, session: SessionNumber) -> Option<&SessionFacts> {
        self.sessions.get(session.0 as usize)
    }

    /// The sessions that contain the program (`None` if unknown), each with its number of user actions in the program,
    /// sorted by id.
    pub(crate) fn of_program(&self, program: Option<&Arc<str>>) -> Vec<(SessionNumber, u64)> {
        let key = |number| (program.cloned(), SessionNumber(number));
        let own = self.actions.range(key(0)..=key(u32::MAX));
        let mut list: Vec<_> = own
            .map(|((_, session), actions)| (*session, *actions))
            .collect();
        list.sort_unstable_by_key(|(session, _)| self.facts(*session).map(|facts| &facts.id));
        list
    }

    /// The shared copy of a name, truncated to `NAME_BYTES` bytes.
    fn name(&mut self, name: &str) -> Arc<str> {
        let name = &name[..name.floor_char_boundary(NAME_BYTES)];
        self.shared(name)
    }

    fn shared(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        let name = Arc::<str>::from(name);
        self.names.insert(Arc::clone(&name));
        name
    }

    /// Adds an episode of the session to its issue, if the episode is slow and no other client caused it.
    pub fn add<T: AsRef<str>>(&mut self, session: SessionNumber, row: &EpisodeRow<T>) {
        let threshold = self.selection.threshold.unwrap_or(row.threshold);
        if row.latency < threshold || row.led_to_by.is_some() {
            return;
        }
        let program = row.program.as_ref().map(|name| self.name(name.as_ref()));
        let landmark = self.name(row.landmark.as_ref());
        let blame = self.name(row.blame.as_ref());
        let pattern = self.name(row.pattern.as_ref());
        let at = self.issue((program, landmark, blame));
        let mut place = |name: &Option<T>| Some(self.name(name.as_ref()?.as_ref()));
        let (waited_in, ran_in) = (place(&row.waited_in), place(&row.ran_in));
        let Some(issue) = self.issues.get_mut(at) else {
            return;
        };
        let over = row.latency - threshold;
        issue.over = issue.over.saturating_add(over);
        issue.add_pattern(pattern, row.latency, over);
        issue.occurrences.push(Occurrence {
            latency: row.latency,
            over,
            session,
            waited_in,
            ran_in,
        });
        for (sum, part) in issue.parts.iter_mut().zip(row.parts) {
            *sum = sum.saturating_add(part);
        }
        issue.round_trips = issue.round_trips.saturating_add(row.round_trips);
        issue.requests = issue.requests.saturating_add(row.requests);
        issue.unsure += u64::from(row.unsure.is_some());
        let trace = self.sessions.get(session.0 as usize);
        let trace = trace.map_or_else(Arc::default, |session| Arc::clone(&session.trace));
        let worst = &issue.worst;
        // Of several episodes with equal latencies, the first by trace name and time is used, so that the result does
        // not depend on the order of the input.
        let before = (&trace, row.start) < (&worst.trace, worst.start);
        let first = issue.occurrences.len() == 1;
        if first || row.latency > worst.latency || (row.latency == worst.latency && before) {
            issue.worst = Worst {
                latency: row.latency,
                trace,
                start: row.start,
                client: row.client,
            };
        }
    }

    /// Returns the index of the issue with this program, landmark and blame. Adds the issue if it is new.
    fn issue(&mut self, key: IssueKey) -> usize {
        if let Some(at) = self.keys.get(&key) {
            return *at;
        }
        let key = match self.issues.len() < ISSUES_LIMIT {
            true => key,
            false => (None, OTHERS.into(), OTHERS.into()),
        };
        let (program, landmark, blame) = key.clone();
        *self.keys.entry(key).or_insert_with(|| {
            self.issues.push(Issue {
                program,
                landmark,
                blame,
                ..Issue::default()
            });
            self.issues.len() - 1
        })
    }

    /// Adds `count` episodes of a session to the distributions of latencies. `step` is the lower bound, in nanoseconds,
    /// of the step that contains the episodes' latencies.
    pub fn add_latencies(
        &mut self,
        session: SessionNumber,
        (program, landmark, trigger, step, count): (Option<&str>, &str, &str, u64, u64),
    ) {
        let program = program.map(|name| self.name(name));
        let landmark = self.name(landmark);
        let Some(facts) = self.sessions.get(session.0 as usize) else {
            return;
        };
        // An untrusted table may contain any number.
        let add = |sum: &mut u64, count| *sum = sum.saturating_add(count);
        let actions = self.actions.entry((program.clone(), session)).or_default();
        add(actions, if trigger == "input" { count } else { 0 });
        let version = &facts.partition.version;
        let steps = match self.steps.get_mut(version) {
            Some(steps) => steps,
            None => self.steps.entry(version.clone()).or_default(),
        };
        add(steps.entry(step).or_default(), count);
        add(&mut self.episodes, count);
        let key = (program, landmark);
        if self.of_landmark.len() < ISSUES_LIMIT || self.of_landmark.contains_key(&key) {
            add(self.of_landmark.entry(key).or_default(), count);
        }
    }

    /// Joins the issues that differ only in the key, except those of the `KEYS` slowest keys if these have most of the time
    /// over the threshold: then these keys are slow, and not typing. A table names no key, so its issues are joined. Call
    /// this after all sessions were added.
    pub fn join_keys(&mut self) {
        let mut joined: BTreeMap<IssueKey, Vec<Issue>> = BTreeMap::new();
        for issue in std::mem::take(&mut self.issues) {
            let landmark = typing(&issue.landmark).unwrap_or_else(|| Arc::clone(&issue.landmark));
            let key = (issue.program.clone(), landmark, Arc::clone(&issue.blame));
            joined.entry(key).or_default().push(issue);
        }
        self.keys.clear();
        for ((_, landmark, _), mut same) in joined {
            same.sort_by_key(|one| Reverse(one.over));
            let over = |of: &[Issue]| of.iter().map(|one| one.over).fold(0, u64::saturating_add);
            let rest = same.get(KEYS..).unwrap_or_default();
            let few = over(rest) <= over(&same) / OTHER_KEYS;
            let names_keys = same.iter().all(|one| one.landmark != landmark);
            let joined = match few && names_keys {
                true => same.split_off(same.len().min(KEYS)),
                false => std::mem::take(&mut same),
            };
            self.issues.extend(same);
            self.issues.extend(
                joined
                    .into_iter()
                    .reduce(Issue::with)
                    .map(|all| Issue { landmark, ..all }),
            );
        }
        let mut all: HashMap<_, u64> = HashMap::new();
        for ((program, landmark), count) in &self.of_landmark {
            if let Some(landmark) = typing(landmark) {
                *all.entry((program.clone(), landmark)).or_default() += count;
            }
        }
        for (key, count) in all {
            let sum = self.of_landmark.entry(key).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// The issues, sorted by time over the threshold in descending order, then by program, landmark and blame.
    pub(crate) fn ranked(&self) -> Vec<&Issue> {
        let mut list: Vec<&Issue> = self.issues.iter().collect();
        list.sort_unstable_by_key(|of| (Reverse(of.over), &of.program, &of.landmark, &of.blame));
        list
    }
}

/// The landmark without its key; `None` if it has no key that writes text.
fn typing(landmark: &str) -> Option<Arc<str>> {
    let rest = landmark.strip_prefix(TYPING)?;
    match rest.split_once(" in ") {
        _ if rest.starts_with("in ") => None,
        Some((_, window)) => Some(format!("{TYPING}in {window}").into()),
        None => Some(TYPING.trim_end().into()),
    }
}

/// The call sites or functions that `place` returns for the episodes, each with its number of episodes, sorted by this
/// number in descending order.
pub(crate) fn ranked_places<'a>(
    of: impl IntoIterator<Item = &'a Occurrence>,
    place: impl Fn(&'a Occurrence) -> &'a Option<Arc<str>>,
) -> Vec<(&'a str, usize)> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for name in of.into_iter().filter_map(|one| place(one).as_deref()) {
        *counts.entry(name).or_default() += 1;
    }
    let mut list: Vec<_> = counts.into_iter().collect();
    list.sort_unstable_by_key(|(name, count)| (Reverse(*count), *name));
    list
}

/// The median of the latencies; 0 if there are none. For an even number of latencies, returns the lower of the two
/// middle latencies.
pub(crate) fn median(mut latencies: Vec<u64>) -> u64 {
    let middle = latencies.len().saturating_sub(1) / 2;
    match latencies.is_empty() {
        true => 0,
        false => *latencies.select_nth_unstable(middle).1,
    }
}

#[cfg(test)]
mod tests {
    use super::{Issues, Selection, median};
    use crate::episode_row::EpisodeRow;
    use crate::hive::Partition;

    #[test]
    fn median_is_one_of_the_values() {
        assert_eq!(median(vec![]), 0);
        assert_eq!(median(vec![4, 1, 3, 2]), 2);
        assert_eq!(median(vec![9, 1, 5]), 5);
    }

    #[test]
    fn issues_of_many_keys_are_joined_and_those_of_few_are_not() {
        let joined = |landmarks: &[&str]| {
            let mut issues = Issues::new(Selection::default());
            let session = issues.session("a", "a.mcap", &Partition::default());
            for (number, landmark) in (1..).zip(landmarks) {
                let row = EpisodeRow {
                    landmark: (*landmark).to_owned(),
                    latency: 100 * number,
                    threshold: 50,
                    ..EpisodeRow::default()
                };
                issues.add(session, &row);
                issues.add_latencies(session, (None, landmark, "input", 0, 10));
            }
            issues.join_keys();
            let figures = |of: &super::Issue| {
                let key = (None, of.landmark.clone());
                let all = issues.of_landmark.get(&key).copied();
                let name = of.landmark.to_string();
                (name, of.over, of.worst.latency, of.occurrences.len(), all)
            };
            issues.ranked().into_iter().map(figures).collect::<Vec<_>>()
        };
        let [a, b] = ["Typing a in Notes", "Typing b in Notes"];
        let two = [
            (b.to_owned(), 150, 200, 1, Some(10)),
            (a.to_owned(), 50, 100, 1, Some(10)),
        ];
        assert_eq!(joined(&[a, b]), two);
        let all = ("Typing in Notes".to_owned(), 1800, 600, 6, Some(60));
        let more = ["c", "d", "e", "f"].map(|key| format!("Typing {key} in Notes"));
        let keys = [a, b, &more[0], &more[1], &more[2], &more[3]];
        assert_eq!(joined(&keys), [all]);
        // The fourth key has less than a fifth of the time.
        let names: Vec<_> = joined(&keys[..4]).into_iter().map(|one| one.0).collect();
        assert_eq!(names, [&more[1], &more[0], b, "Typing in Notes"]);
        // A table names no keys.
        let table = ("Typing in Notes".to_owned(), 200, 200, 2, Some(20));
        assert_eq!(joined(&[a, "Typing in Notes"]), [table]);
    }

    #[test]
    fn issues_group_episodes_by_landmark_and_blame() {
        let mut issues = Issues::new(Selection::default());
        let row = |latency: u64, blame: &str, pattern: &str| EpisodeRow {
            landmark: "Clicks".to_owned(),
            blame: blame.to_owned(),
            pattern: pattern.to_owned(),
            latency,
            threshold: 100,
            ..EpisodeRow::default()
        };
        let one = issues.session("a", "a.mcap", &Partition::default());
        let two = issues.session("b", "b.mcap", &Partition::default());
        assert_eq!(issues.session("a", "", &Partition::default()), one);
        for (session, latency, blame, pattern) in [
            (one, 99, "sleeping", "a"),
            (one, 100, "sleeping", "a"),
            (two, 150, "sleeping", "b"),
            (one, 150, "sleeping", "c"),
            (one, 170, "sleeping", "c"),
            (one, 180, "drawing", "a"),
        ] {
            issues.add(session, &row(latency, blame, pattern));
        }
        // The time of an episode that another client caused is part of that client's episode.
        let led_to = EpisodeRow {
            led_to_by: Some("ConvertSelection".to_owned()),
            ..row(1000, "sleeping", "a")
        };
        issues.add(one, &led_to);
        let ranked = issues.ranked();
        let figures = |at: usize| {
            let of: &super::Issue = ranked[at];
            (&*of.blame, of.over, of.occurrences.len(), &*of.worst.trace)
        };
        assert_eq!(ranked.len(), 2);
        assert_eq!(figures(0), ("sleeping", 170, 4, "a.mcap"));
        assert_eq!(figures(1), ("drawing", 80, 1, "a.mcap"));
        let patterns = ranked[0].ranked_patterns();
        let patterns: Vec<_> = patterns
            .into_iter()
            .map(|(name, of)| (&**name, of.occurrences, of.over, of.worst))
            .collect();
        let expected = [("c", 2, 120, 170), ("b", 1, 50, 150), ("a", 1, 0, 100)];
        assert_eq!(patterns, expected);
    }
}
