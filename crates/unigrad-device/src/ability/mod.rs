//! What a device may be able to do beyond what every device can: a file and a trait for each ability, and one method that gives it.
//!
//! Drivers say with [`Abilities`] which they have; devices and the backends of GPUs alike, so that what a backend can, its device passes on.
//! Always: an ability that is missing changes no result: callers have another way, or tell the user what is not to be had.

mod choices;
mod exchange;
mod flush;
mod host;
mod mapped;
mod marks;
mod monitor;
mod peers;
mod read_async;
mod sequences;
mod threads;

pub use choices::Choices;
pub use exchange::Exchange;
pub use flush::Flush;
pub use host::HostMemory;
pub use mapped::{MappedMemory, MappedWords};
pub use marks::{Mark, Marks, Timeline};
pub use monitor::{Health, Monitor};
pub use peers::Peers;
pub use read_async::ReadAsync;
pub use sequences::Sequences;
pub use threads::Threads;

/// The abilities that a device has; `None` of each unless it says so.
pub trait Abilities {
    /// Points in the queue that can be waited for, and timed.
    fn marks(&self) -> Option<&dyn Marks> {
        None
    }
    /// Work is collected before it is handed to the hardware.
    fn flush(&self) -> Option<&dyn Flush> {
        None
    }
    /// The vendor's management library tells how the device does.
    fn monitor(&self) -> Option<&dyn Monitor> {
        None
    }
    /// It copies from other devices' memory.
    fn peers(&self) -> Option<&dyn Peers> {
        None
    }
    /// The host sees its memory.
    fn host_memory(&self) -> Option<&dyn HostMemory> {
        None
    }
    /// Its memory is exchanged with other libraries where it lies.
    fn exchange(&self) -> Option<&dyn Exchange> {
        None
    }
    /// Its programs reach memory of the host.
    fn mapped_memory(&self) -> Option<&dyn MappedMemory> {
        None
    }
    /// Some of its work is done in a way that was chosen by time.
    fn choices(&self) -> Option<&dyn Choices> {
        None
    }
    /// It reads without waiting.
    fn read_async(&self) -> Option<&dyn ReadAsync> {
        None
    }
    /// It computes with threads of the process.
    fn threads(&self) -> Option<&dyn Threads> {
        None
    }
    /// Launches that are run together many times are prepared once.
    fn sequences(&self) -> Option<&dyn Sequences> {
        None
    }
}
