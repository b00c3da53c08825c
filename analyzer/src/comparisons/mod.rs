//! Comparisons: of servers by their cost tables (`comparison`), of two versions of a program (`difference`), and with
//! the limits of a budget (`budget`).

pub(crate) mod budget;
pub(crate) mod comparison;
pub(crate) mod difference;
pub(crate) mod divergence;
