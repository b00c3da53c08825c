//! The server's resources that are not drawn on: atoms, fonts, regions, cursors and others, and the clients
//! that own them.

pub(crate) mod atoms;
pub(crate) mod clients;
pub(crate) mod fonts;
pub(crate) mod inventory;
pub(crate) mod regions;
pub(crate) mod resource;
