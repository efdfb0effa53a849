//! Training.

pub mod network;
