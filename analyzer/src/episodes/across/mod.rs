//! From client to client: what one client's request makes another one do, and the trees and chains of waits
//! that come of it.

pub(crate) mod blame;
pub(crate) mod causes;
pub(crate) mod fewer;
pub(crate) mod link;
pub(crate) mod nest;
pub(crate) mod path;
pub(crate) mod path_step;
pub(crate) mod signs;
pub(crate) mod steps;
