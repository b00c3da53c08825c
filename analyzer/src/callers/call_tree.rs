//! A tree of call stacks, with sums for each function.

use std::collections::BTreeMap;

/// Maximum number of functions of a tree. Beyond it, a function's new callees are summed in one callee, [`OTHERS`].
const NODES: usize = 200_000;
/// The name of the callee that sums all calls beyond the limit.
pub(super) const OTHERS: &str = "(others)";

/// A tree of functions with their callees. Each node has sums of the stacks that lead through it.
#[derive(Debug, Default)]
pub struct CallTree<'a, S> {
    /// The sums by node; node 0 is the root.
    sums: Vec<S>,
    /// The nodes by caller and name. One map is used for all nodes, because a map for each node would use a kilobyte.
    nodes: BTreeMap<(usize, &'a str), usize>,
}

impl<'a, S: Default + Copy> CallTree<'a, S> {
    /// Calls `add` with the sums of each function of a stack, the outermost function first.
    pub fn add(&mut self, stack: impl IntoIterator<Item = &'a str>, add: impl Fn(&mut S)) {
        if self.sums.is_empty() {
            self.sums.push(S::default());
        }
        let mut node = 0;
        add(&mut self.sums[node]);
        for name in stack {
            let known = self.nodes.get(&(node, name)).copied();
            let is_kept = known.is_some() || self.sums.len() < NODES;
            let name = if is_kept { name } else { OTHERS };
            let new = self.sums.len();
            node = known.unwrap_or_else(|| *self.nodes.entry((node, name)).or_insert(new));
            if node == new {
                self.sums.push(S::default());
            }
            add(&mut self.sums[node]);
            if !is_kept {
                break;
            }
        }
    }

    /// The sums of a node. Node 0 has the sums of all stacks.
    pub fn sums(&self, node: usize) -> S {
        self.sums.get(node).copied().unwrap_or_default()
    }

    /// The callees of a node, by name.
    pub fn calls(&self, node: usize) -> impl Iterator<Item = (&'a str, usize)> {
        let calls = self.nodes.range((node, "")..(node + 1, ""));
        calls.map(|((_, name), call)| (*name, *call))
    }
}

#[cfg(test)]
mod tests {
    use super::{CallTree, NODES, OTHERS};

    #[test]
    fn calls_beyond_the_limit_are_joined() {
        let names: Vec<String> = (0..NODES).map(|at| at.to_string()).collect();
        let mut tree: CallTree<'_, u64> = CallTree::default();
        for name in &names {
            tree.add([name.as_str(), "main", "draw"], |sum| *sum += 1);
        }
        let whole = NODES / 3;
        assert_eq!(tree.sums(0), NODES as u64);
        let calls: Vec<_> = tree.calls(0).collect();
        let others = calls.iter().find(|(name, _)| *name == OTHERS).unwrap().1;
        let joined = tree.sums(others);
        assert!(joined.abs_diff((NODES - whole) as u64) <= 2, "{joined}");
        assert_eq!(tree.calls(others).count(), 0);
        assert!(tree.sums.len() <= 2 * NODES, "{}", tree.sums.len());
        // A function in the tree still has its sums.
        tree.add(["0", "main", "draw"], |sum| *sum += 1);
        let (_, node) = calls.iter().find(|(name, _)| *name == "0").unwrap();
        assert_eq!(tree.sums(*node), 2);
        let below: Vec<_> = tree.calls(*node).collect();
        assert_eq!(below.len(), 1);
        assert_eq!((below[0].0, tree.sums(below[0].1)), ("main", 2));
    }
}
