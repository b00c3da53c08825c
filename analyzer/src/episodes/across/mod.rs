//! From client to client: what one client's request makes another one do, and the trees and chains of waits
//! that come of it.

pub(crate) mod blame;
pub(crate) mod causal_edge;
pub(crate) mod causal_keys;
pub(crate) mod causes;
pub(crate) mod coalesce;
pub(crate) mod episode_forest;
pub(crate) mod path;
pub(crate) mod path_step;
pub(crate) mod steps;
