//! The tree of an open episode: its handling and, nested in it, the handling of events that its own requests caused.
//!
//! An event is nested in another event if a request that the client sent while it handled the other event caused it.
//! The sequence number of an event shows which request caused it. Events after the last request belong to no response.

use x11prof_protocol::{SequenceNumber, Symbol};
use x11prof_trace::Timestamp;

use super::cause::{Cause, ServerCause};
use super::episode::{Child, LatencyComponent, SHORTEST_CHILD, without};
use super::kinds::Kinds;
use super::timeline_event::EpisodeLabel;
use super::tree::Tree;
use crate::text::label::Label;

/// Maximum number of children of an episode. Beyond it, the work of further children counts as the last child's.
const MAX_CHILDREN: usize = 64;
/// Maximum nesting depth of children; deeper children count at this depth.
const DEEPEST: usize = 8;
/// The shortest wait that is part of the tree, in nanoseconds: LiLa's filter, 3 ms.
pub(super) const SHORTEST_WAIT: u64 = 3_000_000;
/// Maximum number of requests with separate round trips in an episode.
const MAX_REQUESTS: usize = 32;

#[derive(Debug, Clone)]
struct Node {
    landmark: Label,
    depth: usize,
    start: u64,
    /// The sequence number of the first request.
    first: Option<SequenceNumber>,
    tree: Tree,
}

/// The waits after the last request. They are part of the response only if another request follows.
#[derive(Debug, Clone, Default)]
struct Pending {
    /// The waits for replies: the index of the node, the request, and the nanoseconds.
    asked: Vec<(usize, Symbol, u64)>,
    waited: Vec<(usize, Cause)>,
    /// The current wait, with its cause and its nanoseconds so far.
    wait: Option<(Cause, u64)>,
}

/// The tree of the intervals of an open episode.
#[derive(Debug, Clone)]
pub(crate) struct Outline {
    /// The nodes of the tree. A parent precedes its children. The last node is the current one.
    nodes: Vec<Node>,
    asked: Vec<(Symbol, u64)>,
    pending: Pending,
}

/// The tree of the intervals of a finished episode.
pub(crate) struct Outlined {
    pub(crate) tree: Tree,
    pub(crate) children: Vec<Child>,
    /// Nanoseconds that the client waited for replies, by request.
    pub(crate) asked: Vec<(Symbol, u64)>,
}

impl Outline {
    pub(crate) fn new() -> Outline {
        let nothing = Symbol::new("");
        let root = Node {
            landmark: Label::new(""),
            depth: 0,
            start: 0,
            first: None,
            tree: Tree::new(nothing),
        };
        Outline {
            nodes: vec![root],
            asked: Vec::new(),
            pending: Pending::default(),
        }
    }

    /// The kinds of all requests that the episode's client sent itself.
    pub(crate) fn kinds(&self) -> Kinds {
        self.nodes[0].tree.kinds
    }

    fn now(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Adds `nanos` nanoseconds of the component `owner`; `asks` is the request whose reply is pending, if any.
    pub(crate) fn pass(&mut self, owner: LatencyComponent, asks: Option<Symbol>, nanos: u64) {
        if nanos == 0 {
            return;
        }
        if let LatencyComponent::OffCpu(cause) = owner {
            match &mut self.pending.wait {
                Some((of, length)) if *of == cause => *length += nanos,
                _ => {
                    self.wait_is_over();
                    self.pending.wait = Some((cause, nanos));
                }
            }
            return;
        }
        self.wait_is_over();
        if let (LatencyComponent::Server(ServerCause::Reply), Some(request)) = (owner, asks) {
            let now = self.now();
            let asked = &mut self.pending.asked;
            let same = |last: &&mut (usize, Symbol, u64)| (last.0, last.1) == (now, request);
            if let Some((.., length)) = asked.last_mut().filter(same) {
                *length += nanos;
            } else if asked.len() < 4 * MAX_REQUESTS {
                asked.push((now, request, nanos));
            }
        }
    }

    fn wait_is_over(&mut self) {
        let now = self.now();
        if let Some((cause, length)) = self.pending.wait.take()
            && length >= SHORTEST_WAIT
            && self.pending.waited.len() < MAX_CHILDREN
        {
            self.pending.waited.push((now, cause));
        }
    }

    /// Removes the last `nanos` nanoseconds of waiting, in which a message was in flight to the server.
    pub(crate) fn on_the_way(&mut self, nanos: u64) {
        if let Some((Cause::Poll | Cause::Elsewhere, length)) = &mut self.pending.wait {
            *length = length.saturating_sub(nanos);
        }
    }

    /// Adds requests of these kinds; `first` is the sequence number of the first of them.
    pub(crate) fn sent(&mut self, kinds: Kinds, first: Option<SequenceNumber>) {
        self.wait_is_over();
        let Pending { asked, waited, .. } = std::mem::take(&mut self.pending);
        for (at, request, nanos) in asked {
            self.nodes[at].tree.asks(request);
            if let Some((_, sum)) = self.asked.iter_mut().find(|(of, _)| *of == request) {
                *sum = sum.saturating_add(nanos);
            } else if self.asked.len() < MAX_REQUESTS {
                self.asked.push((request, nanos));
            }
        }
        for (at, cause) in waited {
            self.nodes[at].tree.waits(cause);
        }
        if let Some(now) = self.nodes.last_mut() {
            now.tree.sends(kinds);
            now.first = now.first.or(first);
        }
    }

    /// Begins a child: the handling of an event at `time` (nanoseconds) that the client's own request number `answers`
    /// caused.
    pub(crate) fn child(
        &mut self,
        about: EpisodeLabel,
        time: u64,
        answers: Option<SequenceNumber>,
    ) {
        if self.nodes.len() > MAX_CHILDREN {
            return;
        }
        // The parent is the innermost event in progress that had sent a request by then.
        let mut depth = self.nodes[self.now()].depth;
        for node in self.nodes.iter().rev() {
            if node.depth <= depth {
                depth = node.depth;
                if node.first.is_some_and(|first| Some(first) <= answers) {
                    break;
                }
                depth = depth.saturating_sub(1);
            }
        }
        self.nodes.push(Node {
            landmark: about.landmark,
            depth: (depth + 1).min(DEEPEST),
            start: time,
            first: None,
            tree: Tree::new(about.group),
        });
    }

    /// Ends the tree at `end` (nanoseconds); `about` is the label of its root.
    pub(crate) fn finish(self, about: Symbol, end: u64) -> Outlined {
        // Iterates backwards and moves complete children into their parents.
        let mut open: Vec<(usize, Child, Tree)> = Vec::new();
        // By depth, the beginning of the following node that is not nested in the current one.
        let mut next = [end; DEEPEST + 2];
        for node in self.nodes.into_iter().rev() {
            let until = next[node.depth].max(node.start);
            for one in next.iter_mut().skip(node.depth) {
                *one = node.start.min(end);
            }
            let mut child = Child {
                client: None,
                request: None,
                landmark: node.landmark,
                start: Timestamp::from_nanos(node.start),
                latency: until - node.start,
                exclusive: 0,
                children: Vec::new(),
            };
            let mut tree = node.tree;
            while let Some((_, below, of_below)) = open.pop_if(|(depth, ..)| *depth > node.depth) {
                if below.latency < SHORTEST_CHILD {
                    tree.absorb(of_below);
                } else {
                    child.children.push(below);
                    tree.child(of_below);
                }
            }
            child.exclusive = without(child.latency, &child.children);
            open.push((node.depth, child, tree));
        }
        let (children, mut tree) = open.pop().map_or_else(
            || (Vec::new(), Tree::new(about)),
            |(_, root, tree)| (root.children, tree),
        );
        tree.about = about;
        Outlined {
            tree,
            children,
            asked: self.asked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kinds, Outline};
    use crate::episodes::cause::{Cause, ServerCause};
    use crate::episodes::episode::{Child, LatencyComponent};
    use crate::episodes::timeline_event::EpisodeLabel;
    use x11prof_protocol::{SequenceNumber, Symbol};

    const MS: u64 = 1_000_000;

    fn tree(children: &[Child]) -> Vec<(&str, u64, usize)> {
        let all = children.iter();
        all.map(|one| (one.landmark.as_str(), one.latency / MS, one.children.len()))
            .collect()
    }

    #[test]
    fn event_nests_under_the_event_that_caused_it() {
        let number = |n| Some(SequenceNumber(n));
        let drawing = Kinds::of(Symbol::new("PolyLine"));
        let mut outline = Outline::new();
        outline.sent(Kinds::default(), number(10));
        outline.child(EpisodeLabel::alone("first"), 100 * MS, number(10));
        outline.sent(drawing, number(11));
        outline.child(EpisodeLabel::alone("within"), 110 * MS, number(11));
        // This event belongs to a request sent before the first event, so it becomes a sibling of the first event.
        outline.child(EpisodeLabel::alone("second"), 130 * MS, number(10));
        outline.child(EpisodeLabel::alone("brief"), 149 * MS + 999_999, number(10));
        outline.sent(drawing, number(12));
        // After the last request: no request responds to this event.
        outline.child(EpisodeLabel::alone("late"), 170 * MS, number(12));
        let done = outline.finish(Symbol::new("Click"), 150 * MS);
        let top = [("first", 30, 1), ("second", 19, 0)];
        assert_eq!(tree(&done.children), top);
        assert_eq!(tree(&done.children[0].children), [("within", 20, 0)]);
        let text = "Click (drawing), then first (drawing), which led to within, then second";
        assert_eq!(done.tree.to_string(), text);
    }

    #[test]
    fn waits_after_last_request_are_excluded() {
        let asks = |outline: &mut Outline, name: &str| {
            let name = Some(Symbol::new(name));
            outline.pass(LatencyComponent::Server(ServerCause::Reply), name, 2 * MS);
        };
        let mut outline = Outline::new();
        for _ in 0..3 {
            asks(&mut outline, "QueryTree");
            outline.pass(LatencyComponent::OffCpu(Cause::Sleeping), None, 2 * MS);
            outline.pass(LatencyComponent::OffCpu(Cause::Sleeping), None, MS);
            outline.pass(LatencyComponent::OffCpu(Cause::File), None, MS);
            outline.sent(Kinds::default(), None);
        }
        asks(&mut outline, "GetProperty");
        outline.pass(LatencyComponent::OffCpu(Cause::File), None, 9 * MS);
        let done = outline.finish(Symbol::new("Click"), 0);
        assert_eq!(done.asked, [(Symbol::new("QueryTree"), 6 * MS)]);
        assert_eq!(done.tree.to_string(), "Click (awaits QueryTree; sleeps)");
    }
}
