//! The functions of a program as a tree. Each function has the cost of the requests that it and its callees sent, and
//! its CPU time.

use serde::Serialize;
use x11prof_analyzer::{CallTree, RUNS, Stack, StackHeld, StackRun, StackWaits};

/// A node is on the page only if at least one of its sums exceeds this share of the root's sum. A node with smaller
/// shares would be narrower than a pixel.
const LEAST: f64 = 0.0005;

/// The sums of a node: server time in milliseconds, requests, bytes in both directions, round trips, client CPU time in
/// milliseconds, held bytes, and off-CPU time in milliseconds.
type Sums = [f64; 7];

/// The name of the leaf, below a client's functions, for the time that the client was blocked.
const BLOCKED: &str = "(blocked)";

/// The tree as a list, in which each node precedes its callees. A nested tree could exceed the depth that JSON parsers
/// support, because a stack may have a hundred calls.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Code(Vec<CodeNode>);

/// A node of the page's tree of call stacks: a client, a function, or a request as a leaf.
#[derive(Debug, Serialize)]
struct CodeNode {
    /// The number of ancestors; 0 for the root.
    depth: usize,
    name: String,
    sums: Sums,
}

/// Adds a node and its callees to the list `to`. Callees whose sums are all below `least` are omitted.
fn list(tree: &CallTree<'_, Sums>, node: (&str, usize), depth: usize, least: Sums, to: &mut Code) {
    let (name, node) = (node.0.to_owned(), node.1);
    let sums = tree.sums(node);
    to.0.push(CodeNode { depth, name, sums });
    for call in tree.calls(node) {
        let mut sums = tree.sums(call.1).into_iter().zip(least);
        if sums.any(|(sum, least)| sum > least) {
            list(tree, call, depth + 1, least, to);
        }
    }
}

impl Code {
    /// Creates the tree of all stacks: of requests, of waits for replies, of CPU samples, of held resources, and of
    /// blocked threads.
    pub fn new<'a>(
        stacks: &'a [Stack],
        waits: &'a [StackWaits],
        runs: &'a [StackRun],
        held: &'a [StackHeld],
        blocked: &'a [StackRun],
    ) -> Code {
        let mut tree = CallTree::default();
        // Adds the sums of a request, or of CPU time, to a client's call stack.
        let mut put = |client: &'a str, place: &'a [String], request: &'a str, sums: &[_]| {
            let place = place.iter().map(String::as_str);
            let stack = [client].into_iter().chain(place).chain([request]);
            tree.add(stack, |all: &mut Sums| {
                sums.iter().for_each(|(weight, sum)| all[*weight] += sum);
            });
        };
        for of in stacks {
            let bytes = of.sent.saturating_add(of.returned);
            let sums = [
                (0, of.server.0 / 1000.0),
                (1, of.count as f64),
                (2, bytes as f64),
            ];
            put(&of.client, &of.place, &of.request, &sums);
        }
        for of in waits {
            put(
                &of.client,
                &of.place,
                &of.request,
                &[(3, of.round_trips as f64)],
            );
        }
        for of in runs {
            put(&of.client, &of.place, RUNS, &[(4, of.ran_ms)]);
        }
        for of in blocked {
            put(&of.client, &of.place, BLOCKED, &[(6, of.ran_ms)]);
        }
        for of in held {
            put(&of.client, &of.place, &of.request, &[(5, of.bytes as f64)]);
        }
        let least = tree.sums(0).map(|sum| LEAST * sum);
        let mut code = Code::default();
        list(&tree, ("all", 0), 0, least, &mut code);
        code
    }
}

#[cfg(test)]
mod tests {
    use x11prof_analyzer::{Stack, StackHeld, StackRun, StackWaits};
    use x11prof_cost_model::Micros;

    use super::Code;

    #[test]
    fn functions_sum_up_their_stacks() {
        let names = |place: &[&str]| place.iter().map(|name| (*name).to_owned()).collect();
        let stack = |place: &[&str], request: &str, server: f64| Stack {
            client: "app".to_owned(),
            place: names(place),
            request: request.to_owned(),
            count: 1,
            sent: 8,
            returned: 32,
            server: Micros(server),
            ..Stack::default()
        };
        let stacks = [
            stack(&["main", "draw"], "PolyLine", 3000.0),
            stack(&["main"], "GetProperty", 1000.0),
            stack(&["main", "rest"], "NoOperation", 0.1),
        ];
        let waits = [StackWaits {
            client: "app".to_owned(),
            place: names(&["main"]),
            request: "GetProperty".to_owned(),
            round_trips: 2,
        }];
        let runs = [StackRun {
            client: "app".to_owned(),
            place: names(&["main"]),
            ran_ms: 6.0,
        }];
        let held = [StackHeld {
            client: "app".to_owned(),
            place: names(&["main", "draw"]),
            request: "PolyLine".to_owned(),
            bytes: 4096,
        }];
        let blocked = [StackRun {
            client: "app".to_owned(),
            place: names(&["main"]),
            ran_ms: 500.0,
        }];
        let code = Code::new(&stacks, &waits, &runs, &held, &blocked);
        let sums = [4.0001, 3.0, 120.0, 2.0, 6.0, 4096.0, 500.0];
        assert_eq!(code.0[0].sums, sums);
        let nodes: Vec<_> = code.0.iter().map(|one| (one.depth, &*one.name)).collect();
        let expected = [
            (0, "all"),
            (1, "app"),
            (2, "main"),
            (3, "(blocked)"),
            (3, "(runs)"),
            (3, "GetProperty"),
            (3, "draw"),
            (4, "PolyLine"),
            (3, "rest"),
            (4, "NoOperation"),
        ];
        assert_eq!(nodes, expected);
        assert_eq!(code.0[6].sums, [3.0, 1.0, 40.0, 0.0, 0.0, 4096.0, 0.0]);
        // Stacks whose share of every quantity is negligible are omitted.
        let few = Stack {
            server: Micros(1.0),
            ..Stack::default()
        };
        let code = Code::new(&[stacks[0].clone(), few], &waits, &[], &[], &[]);
        assert!(code.0.iter().all(|one| !one.name.is_empty()));
    }
}
