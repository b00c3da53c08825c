//! x11prof xmeasure.
