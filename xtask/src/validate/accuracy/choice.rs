//! What of the comparison to run, from the words of the command line.

use x11prof_proxy::ServerKind;

use super::workloads::{WORKLOADS, Workload};

/// Rounds where nothing else is said.
const ROUNDS: usize = 2;

/// The servers where none are named: all that are of different making.
const SERVERS: [ServerKind; 6] = [
    ServerKind::Xvfb,
    ServerKind::Xvfb8,
    ServerKind::XorgDummy,
    ServerKind::XvncViewed,
    ServerKind::Xephyr,
    ServerKind::Xwayland,
];

/// Where to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// With nothing.
    Afresh,
    /// With what the last run has, which is added to.
    More,
    /// With the recordings of the last run, which are priced again beside its truths; nothing is
    /// run.
    Again,
}

/// What to run.
pub(super) struct Choice {
    /// How many rounds there are to be, those of before included; `None` where it is not said.
    said: Option<usize>,
    pub(super) servers: Vec<ServerKind>,
    pub(super) workloads: Vec<&'static Workload>,
    pub(super) start: Start,
}

impl Choice {
    /// From arguments in any order: a number of rounds, kinds of server, parts of workloads' names,
    /// `more` or `again`.
    pub(super) fn new(arguments: &[String]) -> Result<Choice, String> {
        let mut choice = Choice {
            said: None,
            servers: Vec::new(),
            workloads: Vec::new(),
            start: Start::Afresh,
        };
        for argument in arguments {
            if let Ok(rounds) = argument.parse::<usize>() {
                choice.said = Some(rounds.max(1));
            } else if let Some(kind) = ServerKind::from_name(argument) {
                choice.servers.push(kind);
            } else if argument == "more" {
                choice.start = Start::More;
            } else if argument == "again" {
                choice.start = Start::Again;
            } else {
                choice.workloads_named(argument)?;
            }
        }
        if choice.servers.is_empty() {
            choice.servers = SERVERS.to_vec();
        }
        if choice.workloads.is_empty() {
            choice.workloads = WORKLOADS.iter().collect();
        }
        Ok(choice)
    }

    fn workloads_named(&mut self, part: &str) -> Result<(), String> {
        let mut named = WORKLOADS.iter().filter(|it| it.name.contains(part));
        let mut none = true;
        for named in named.by_ref() {
            none = false;
            // Two arguments may mean one workload.
            if self.workloads.iter().all(|it| it.name != named.name) {
                self.workloads.push(named);
            }
        }
        match none {
            true => Err(format!(
                "{part} is neither a number of rounds, nor a kind of server, nor in the name of a workload"
            )),
            false => Ok(()),
        }
    }

    /// How many rounds each workload is to have on each server, where they have had so many. If
    /// it is not said, `more` evens them out, or adds one.
    pub(super) fn rounds(&self, had: impl Iterator<Item = usize> + Clone) -> usize {
        let (least, most) = (
            had.clone().min().unwrap_or_default(),
            had.max().unwrap_or_default(),
        );
        match (self.said, self.start) {
            (Some(said), _) => said,
            (None, Start::More) if least < most => most,
            (None, Start::More) => most + 1,
            (None, _) => ROUNDS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Choice, SERVERS, Start};

    fn choice(words: &[&str]) -> Choice {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        Choice::new(&words).expect("all of them mean something")
    }

    #[test]
    fn arguments_name_rounds_servers_and_each_workload_once() {
        let chosen = choice(&["2", "xvfb", "text", "again", "xterm"]);
        assert_eq!((chosen.said, chosen.servers.len()), (Some(2), 1));
        assert_eq!(chosen.start, Start::Again);
        let named: Vec<_> = chosen.workloads.iter().map(|it| it.name).collect();
        assert_eq!(
            named,
            ["x11perf text", "xterm long text", "xterm jump scroll off"]
        );
        assert!(Choice::new(&["nonsense".to_owned()]).is_err());
        assert_eq!(choice(&[]).servers, SERVERS);
    }

    #[test]
    fn more_goes_on_where_it_was_interrupted() {
        let rounds = |words: &[&str], had: &[usize]| choice(words).rounds(had.iter().copied());
        assert_eq!(rounds(&["more"], &[2, 2, 1]), 2);
        assert_eq!(rounds(&["more"], &[2, 2]), 3);
        assert_eq!(rounds(&["more", "3"], &[2, 1]), 3);
        assert_eq!(rounds(&[], &[0, 0]), 2);
    }
}
