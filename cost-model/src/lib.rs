//! The costs of operations on a display server: parameter files, interpolation over op-sizes, substitution of
//! attributes, transport costs, network models.
//!
//! The crate reads no file, measures nothing and prints nothing. It depends on operations (from `session`), but not
//! on traces or the wire.

mod after_sleep;
mod attribute;
mod bringing;
mod brought;
mod built_in;
mod clocks;
mod cost;
mod deferred;
mod description;
mod difference;
mod file;
mod interpolate;
mod items;
mod matching;
mod network;
mod parameters;
mod price;
mod review;
mod substitute;
mod substitutions;
mod table;
mod transport;
mod typical;
mod validation;
mod writing;

pub use after_sleep::SleepPrices;
pub use brought::Brought;
pub use built_in::{BuiltIn, built_in};
pub use cost::{Clock, Cost, Micros};
pub use deferred::Deferred;
pub use description::DescriptionError;
pub use difference::{Difference, differences};
pub use file::ParameterError;
pub use matching::{Match, best_match, is_same_server};
pub use network::{Network, NetworkError};
pub use parameters::{
    AfterSleep, AttributeValue, FORMAT, Host, Measured, Method, Point, RequestCosts,
    ServerIdentity, ServerParameters, TransportCosts,
};
pub use price::{Basis, Doubt, Price};
pub use review::{review, review_method};
pub use substitutions::{SubstitutionError, Substitutions};
pub use table::CostTable;
pub use transport::TransportPrices;
pub use typical::{PriceTable, PricedRequest, ServerPrice};
