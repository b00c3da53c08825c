//! What operations cost a display server: parameter files, interpolation over op-sizes,
//! substitution of attributes, transport costs, the server's clock, network models.
//!
//! Pure: it reads no file, measures nothing and prints nothing. It knows operations (from
//! `session`), not traces and not the wire.

mod cost;
mod parameters;
mod price;

pub use cost::{Clock, Cost, Micros};
pub use parameters::{
    AttributeValue, FORMAT, Host, Measured, Method, Point, RequestCosts, ServerIdentity,
    ServerParameters, TransportCosts,
};
pub use price::{Basis, Doubt, Price};
