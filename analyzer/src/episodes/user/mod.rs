//! Events as a user defines them (Reiss, "Event-Based Performance Analysis"): what starts one, what ends
//! it, and the resources of all of one type. Where Reiss names procedures, the protocol has events and
//! requests.

pub(crate) mod definition;
pub(crate) mod file;
pub(crate) mod instances;
pub(crate) mod matching;
pub(crate) mod server_time;
pub(crate) mod tag;
