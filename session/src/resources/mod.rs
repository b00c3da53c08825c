//! The server's resources on which no request draws (atoms, fonts, regions, cursors and others), and the clients that
//! own the resources.

pub(crate) mod atoms;
pub(crate) mod clients;
pub(crate) mod fonts;
pub(crate) mod inventory;
pub(crate) mod regions;
pub(crate) mod resource;
