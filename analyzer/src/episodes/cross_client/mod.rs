//! Effects across clients: one client's request causes another client to act. Builds trees of episodes and chains of
//! waits.

pub(crate) mod blame;
pub(crate) mod causal_edge;
pub(crate) mod causal_keys;
pub(crate) mod causes;
pub(crate) mod coalesce;
pub(crate) mod episode_forest;
pub(crate) mod loops;
pub(crate) mod open_waits;
pub(crate) mod path;
pub(crate) mod path_step;
pub(crate) mod steps;
