//! Costs of operations.

use x11prof_protocol::Symbol;
use x11prof_session::Value;

use crate::{Clock, Cost};

/// The source of a cost, from best to worst. A cost with two sources counts as the worse one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum CostSource {
    /// Measured with these attributes at these sizes.
    Exact,
    /// Interpolated with these attributes, between or beyond measured sizes.
    Interpolated,
    /// Another attribute value was substituted for one that was not measured.
    Substituted,
    /// The file has no cost for the operation.
    #[default]
    NoCost,
}

/// The cost of one operation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OperationCost {
    /// The server's time; zero without cost data.
    pub server: Cost,
    /// The clock of the measurement; `None` without cost data.
    pub clock: Option<Clock>,
    /// The source of the cost.
    pub basis: CostSource,
    /// Caveats for the user; usually empty.
    pub doubts: Vec<Caveat>,
}

/// A caveat about a cost.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Caveat {
    /// `attribute` was not measured with the value `from`; `to` was substituted.
    Substituted {
        /// The attribute.
        attribute: Symbol,
        /// The value that the operation has.
        from: Option<Value>,
        /// The value that was measured.
        to: Value,
    },
    /// A size lies outside the measured ones.
    Extrapolated {
        /// True if it is larger than the largest measured size.
        beyond: bool,
    },
    /// The request has several items and the file has no fixed part, so the cost is that of one item.
    OneItem,
    /// The file has no cost for this request.
    NoCost,
}
