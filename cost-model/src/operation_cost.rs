//! The cost of an operation, with its source and caveats.

use x11prof_protocol::Symbol;
use x11prof_session::Value;

use crate::{Clock, Cost};

/// The source of a cost, from the best to the worst. A cost with two sources counts as the worse one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum CostSource {
    /// The cost was measured with these attributes at these sizes.
    Exact,
    /// The cost was interpolated or extrapolated from measured sizes with these attributes.
    Interpolated,
    /// The cost of another attribute value was substituted.
    Substituted,
    /// The parameter file has no cost for the operation.
    #[default]
    NoCost,
}

/// The estimated cost of one operation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OperationCost {
    /// The time of the server; zero without cost data.
    pub server: Cost,
    /// The clock by which the cost was measured; `None` without cost data.
    pub clock: Option<Clock>,
    /// The source from which the cost was determined.
    pub basis: CostSource,
    /// The caveats about the cost; usually empty.
    pub doubts: Vec<Caveat>,
}

/// A caveat about an estimated cost.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Caveat {
    /// The value `from` of `attribute` was not measured, so the cost of the value `to` was used.
    Substituted {
        /// The name of the attribute.
        attribute: Symbol,
        /// The value in the operation; `None` if the operation does not have the attribute.
        from: Option<Value>,
        /// The measured value whose cost was used.
        to: Value,
    },
    /// A size of the operation is outside the measured sizes.
    Extrapolated {
        /// True if the size is larger than the largest measured size, false if it is smaller than the smallest.
        beyond: bool,
    },
    /// The request has several items, but the file has no fixed part. The cost is the cost of one item with the total
    /// op-size.
    OneItem,
    /// The file has no cost for this request.
    NoCost,
}
