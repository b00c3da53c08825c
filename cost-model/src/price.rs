//! Prices of operations.

use x11prof_protocol::Symbol;
use x11prof_session::Value;

use crate::{Clock, Cost};

/// The source of a price, from best to worst. A request priced by two sources counts as the worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Basis {
    /// Measured with these attributes at these sizes.
    Exact,
    /// Interpolated with these attributes, between or beyond measured sizes.
    Interpolated,
    /// Substituted: another attribute stood in for one that was not measured.
    Substituted,
    /// Unpriced: the file has no cost for the operation.
    #[default]
    Unpriced,
}

/// The price of one operation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Price {
    /// The server's time; zero where unpriced.
    pub server: Cost,
    /// The clock it was measured on; `None` where unpriced.
    pub clock: Option<Clock>,
    /// The source of the price.
    pub basis: Basis,
    /// Doubts for the user; empty in the common case.
    pub doubts: Vec<Doubt>,
}

/// A reason not to trust a price blindly.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Doubt {
    /// `attribute` was not measured with the value `from`; `to` stood in.
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
        /// True where it is larger than the largest.
        beyond: bool,
    },
    /// The request has several items and the file knows no fixed part: priced as one item.
    OneItem,
    /// The file has no price for this request.
    Unpriced,
}
