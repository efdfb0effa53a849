//! Devices: discovery, opening, memory, launches; and the traits a driver implements.
//!
//! In: kernels as data ([`unigrad_kernel::Kernel`]), bytes. Out: buffers, results, typed errors.
//! Always: a driver is found through its [`Driver`] in the list it was registered with; the CPU is a driver like any other.
//! Never: names a backend, knows a tensor or a graph, or panics because of a device.

#![warn(clippy::wildcard_enum_match_arm)]

mod ability;
mod background;
mod budget;
mod buffer;
mod cancel;
mod config;
mod device;
mod driver;
mod end;
mod error;
mod exchange;
mod message;
mod pool;
pub mod profile;
mod registry;
mod select;
mod sequence;
mod stream;
mod summary;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod timestamp;

pub use ability::{
    Abilities, Choices, Exchange, Flush, Health, HostMemory, MappedMemory, MappedWords, Mark, Marks, Monitor, Peers, ReadAsync, Sequences,
    Threads, Timeline,
};
pub use background::{Background, Pending, in_background};
pub use budget::Budget;
pub use buffer::Buffer;
pub use cancel::{Cancelled, Patience, cancel_by};
pub use config::{CacheDir, Config, Debug, Kernels, MAX_THREADS, MemoryPool, Power, Products, Replay, Scalars};
pub use device::{Counters, Device, Event};
pub use driver::{Compiled, Discovery, Driver, Executable, Info, Link, OpenDevice, Range, RawBuffer, STATED_BANDWIDTH, Slice};
pub use error::Error;
pub use exchange::Loan;
pub use message::{printable, tell};
pub use pool::{MemoryStats, TagStats, tag_or, with_tag};
pub use registry::{Available, Fallback, Problem, register, register_left_out, register_names};
pub use select::{By, Preference};
pub use sequence::{At, Launch, Prepared, Ran, Run, Sequence, Stopped};
pub use stream::Stream;
pub use summary::{BackendSummary, Purpose, Recommendation, Summary};
pub use timestamp::Timestamp;
pub use unigrad_kernel::{Channels, Kernel, Limits};
pub use unigrad_scalar::{Origin, OriginGuard};
