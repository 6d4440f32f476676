//! Owns recordings of a node and what can be made into one.
//! It must not talk to a node, nor know what anybody concludes from an observation.

pub mod import;
