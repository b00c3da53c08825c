//! The interval tree of an episode without times (the thesis, chapter 4).
//!
//! A node is a handled event, with the kinds of its requests, the requests whose replies the client waited for, and its
//! other waits. A node stores neither counts nor the order of requests, because 3 and 300 round trips of one request
//! come from the same code. Children are in order; equal consecutive children are merged.

use std::fmt;

use x11prof_protocol::Symbol;

use super::cause::Cause;
use super::kinds::Kinds;

/// Maximum number of different requests that a node stores as waited for; further ones are ignored.
const MAX_REQUESTS: usize = 16;

/// A set of causes of waiting, one bit for each cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Causes(u8);

const CAUSES: [(Cause, &str); 4] = [
    (Cause::Sleeping, "sleeps"),
    (Cause::Synchronisation, "waits for a thread"),
    (Cause::File, "waits for a file"),
    (Cause::Elsewhere, "other off-CPU"),
];

impl Causes {
    /// Adds a cause. Waits for a processor and for the next frame are left out, because their lengths vary by chance.
    pub(crate) fn add(&mut self, cause: Cause) {
        if let Some(at) = CAUSES.iter().position(|(one, _)| *one == cause) {
            self.0 |= 1 << at;
        }
    }

    fn names(self) -> impl Iterator<Item = &'static str> {
        let named = CAUSES.into_iter().enumerate();
        named
            .filter(move |(n, _)| self.0 >> n & 1 == 1)
            .map(|(_, (_, name))| name)
    }
}

/// A node of the interval tree, with its descendants.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Tree {
    /// The kind of action or event of the interval, and the class of its window.
    pub(crate) about: Symbol,
    pub(crate) kinds: Kinds,
    /// The requests that were waited for, in the order of their names.
    asked: Vec<Symbol>,
    causes: Causes,
    children: Vec<Tree>,
}

impl Tree {
    /// Creates a node without requests, waits and children.
    pub(crate) fn new(about: Symbol) -> Tree {
        Tree {
            about,
            kinds: Kinds::default(),
            asked: Vec::new(),
            causes: Causes::default(),
            children: Vec::new(),
        }
    }

    /// Adds requests of these kinds to the node.
    pub(crate) fn sends(&mut self, kinds: Kinds) {
        self.kinds.add(kinds);
    }

    /// Adds a wait for the reply to a request of this name to the node.
    pub(crate) fn asks(&mut self, request: Symbol) {
        if let Err(at) = self.asked.binary_search(&request)
            && self.asked.len() < MAX_REQUESTS
        {
            self.asked.insert(at, request);
        }
    }

    /// Adds a wait with this cause to the node, which is not for a reply.
    pub(crate) fn waits(&mut self, cause: Cause) {
        self.causes.add(cause);
    }

    /// Adds the requests, waits and children of `other` to this node.
    pub(crate) fn absorb(&mut self, other: Tree) {
        self.kinds.add(other.kinds);
        other.asked.into_iter().for_each(|one| self.asks(one));
        self.causes.0 |= other.causes.0;
        other.children.into_iter().for_each(|one| self.child(one));
    }

    /// Adds a child, unless the last child is equal.
    pub(crate) fn child(&mut self, child: Tree) {
        if self.children.last() != Some(&child) {
            self.children.push(child);
        }
    }
}

/// The tree as text: `Clicks in Editor (drawing; awaits QueryTree), then Expose in Menu (text)`.
impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.called(self.about.as_str(), f)
    }
}

impl Tree {
    /// The tree as text, with `landmark` in place of the name of its group.
    pub(crate) fn of(&self, landmark: &str) -> impl fmt::Display {
        fmt::from_fn(move |f| self.called(landmark, f))
    }

    fn called(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.node(name, f)?;
        for child in &self.children {
            f.write_str(", then ")?;
            child.with_children(f)?;
        }
        Ok(())
    }

    /// The node's own requests and waits.
    fn node(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<&str> = self.kinds.names().collect();
        let asked: Vec<&str> = self.asked.iter().map(|one| one.as_str()).collect();
        let mut does = Vec::new();
        if !kinds.is_empty() {
            does.push(kinds.join(", "));
        }
        if !asked.is_empty() {
            does.push(format!("awaits {}", asked.join(", ")));
        }
        does.extend(self.causes.names().map(str::to_owned));
        f.write_str(name)?;
        match does.is_empty() {
            true => Ok(()),
            false => write!(f, " ({})", does.join("; ")),
        }
    }

    /// Writes the node, and after it its children as its effects.
    fn with_children(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.node(self.about.as_str(), f)?;
        for (number, child) in self.children.iter().enumerate() {
            f.write_str(if number == 0 {
                ", which led to "
            } else {
                " and "
            })?;
            child.with_children(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use x11prof_protocol::Symbol;

    use super::Tree;
    use crate::episodes::cause::Cause;
    use crate::episodes::kinds::Kinds;

    #[test]
    fn trees_are_formatted_as_text() {
        let tree = |about: &str| Tree::new(Symbol::new(about));
        let mut click = tree("Clicks in Editor");
        click.asks(Symbol::new("QueryTree"));
        click.sends(Kinds::of(Symbol::new("PolyLine")));
        click.waits(Cause::Sleeping);
        assert_eq!(
            click.to_string(),
            "Clicks in Editor (drawing; awaits QueryTree; sleeps)"
        );
        let mut map = tree("Map in Menu");
        map.child(tree("Expose in Menu"));
        map.child(tree("Focus in Menu"));
        let mut click = tree("Clicks");
        click.child(map);
        click.child(tree("Expose"));
        assert_eq!(
            click.to_string(),
            "Clicks, then Map in Menu, which led to Expose in Menu and Focus in Menu, then Expose"
        );
    }
}
