//! Layers, optimizers, schedules, data and checkpoints: what a training program is made of.

extern crate self as unigrad_nn;

mod archive;
pub mod data;
mod error;
pub mod files;
mod metrics;
pub mod random;
mod schedule;

pub use archive::{Archive, HostTensor};
pub use error::{Error, NotFinite, Result, StateDictMismatch};
pub use metrics::Confusion;
pub use schedule::Schedule;
