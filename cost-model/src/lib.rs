//! The costs of operations on a display server: parameter files, interpolation over op-sizes, substitution of
//! attributes, transport costs, network models.
//!
//! The crate reads no file, measures nothing and prints nothing. The crate depends on operations (from `session`), but
//! not on traces or the wire protocol.

mod after_sleep;
mod attribute;
mod bringing;
mod built_in;
mod clocks;
mod cost;
mod description;
mod difference;
mod file;
mod interpolate;
mod items;
mod matching;
mod network;
mod operation_cost;
mod parameters;
mod rescaled;
mod review;
mod substitute;
mod substitutions;
mod table;
mod transport;
mod typical;
mod validation;
mod writing;

pub use after_sleep::SleepCosts;
pub use bringing::keep_common;
pub use built_in::{BuiltIn, built_in};
pub use cost::{Clock, Cost, Micros};
pub use description::DescriptionError;
pub use difference::{Difference, differences};
pub use file::ParameterError;
pub use matching::{Match, best_match, is_same_server};
pub use network::{Network, NetworkError};
pub use operation_cost::{Caveat, CostSource, OperationCost};
pub use parameters::{
    AfterSleep, AttributeValue, FORMAT, Host, Measured, Method, Point, RequestCosts,
    ServerIdentity, ServerParameters, TransportCosts,
};
pub use rescaled::Rescaled;
pub use review::{review, review_method};
pub use substitutions::{SubstitutionError, Substitutions};
pub use table::CostTable;
pub use transport::TransportEstimates;
pub use typical::{TypicalCost, TypicalCosts, TypicalRequest};
