//! Requests as operations: the name of the request, the attributes that determine the cost, and the op-sizes.

pub(crate) mod compositing;
pub(crate) mod composition;
pub(crate) mod drawing;
pub(crate) mod images;
pub(crate) mod names;
pub(crate) mod network_substitute;
pub(crate) mod operation;
pub(crate) mod pixel_access;
pub(crate) mod plain;
pub(crate) mod subject;
pub(crate) mod text;
pub(crate) mod window_requests;
