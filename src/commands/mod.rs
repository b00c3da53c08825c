//! One file a command: from its arguments to its result.

pub(crate) mod audit;
mod calibration;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod diff;
pub(crate) mod dump;
pub(crate) mod episodes;
pub(crate) mod export;
pub(crate) mod html;
pub(crate) mod issues;
pub(crate) mod link;
pub(crate) mod manual;
pub(crate) mod mark;
pub(crate) mod measure;
pub(crate) mod needed;
mod operation;
pub(crate) mod params;
mod partial;
mod price_table;
pub(crate) mod record;
pub(crate) mod recover;
pub(crate) mod report;
pub(crate) mod roundtrips;
pub(crate) mod scrub;
pub(crate) mod sql;
pub(crate) mod stats;
pub(crate) mod top;
