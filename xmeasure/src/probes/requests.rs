//! What every request costs: its loads at chosen sizes.

pub(crate) mod explorer;
