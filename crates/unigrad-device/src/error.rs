//! What can go wrong with a device: each error names the device, the cause and, where there is one, the remedy.

use thiserror::Error;

/// What can go wrong with a device. Every variant names the cause; `help` names the remedy where there is one.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Error {
    /// Memory that cannot be had, after caches were released and the request tried again.
    #[error(
        "{device}: out of memory: {asked} bytes asked, {free} free of {total}; {in_use} in use{largest}\n help: use a smaller batch, or free tensors"
    )]
    OutOfMemory {
        /// Which device.
        device: String,
        /// Bytes asked for.
        asked: u64,
        /// Bytes free.
        free: u64,
        /// Bytes the device has.
        total: u64,
        /// Bytes this process has in use.
        in_use: u64,
        /// The largest users, as text; may be empty.
        largest: String,
    },
    /// No such device.
    #[error("{asked}: {cause}\n help: {help}")]
    NotAvailable {
        /// What was asked for.
        asked: String,
        /// Why it is not there.
        cause: String,
        /// What would help.
        help: String,
    },
    /// A kernel could not be compiled or does not fit the device.
    #[error("{device}: kernel {kernel} cannot be compiled: {cause}")]
    Compile {
        /// Which device.
        device: String,
        /// The kernel's name.
        kernel: String,
        /// The compiler's words.
        cause: String,
    },
    /// A launch failed.
    #[error("{device}: kernel {kernel} failed: {cause}")]
    Launch {
        /// Which device.
        device: String,
        /// The kernel's name.
        kernel: String,
        /// The driver's words.
        cause: String,
    },
    /// A launch of several steps failed after the first: what it writes is undefined, and to launch it again may not give what it should.
    #[error("{device}: kernel {kernel} was interrupted between its steps: {cause}")]
    Interrupted {
        /// Which device.
        device: String,
        /// The kernel's name.
        kernel: String,
        /// The driver's words.
        cause: String,
    },
    /// The work was asked to end; see [`crate::cancel_by`]. What it was to compute may be asked for again.
    #[error("{device}: the work was asked to end")]
    Cancelled {
        /// Which device.
        device: String,
    },
    /// An index in a tensor was outside the axis it indexes.
    #[error("index {index} is out of range for an axis of {size} elements (in {kernel})\n help: {}", indices(*size))]
    IndexOutOfRange {
        /// The index.
        index: i64,
        /// The axis's length.
        size: i64,
        /// The kernel's name.
        kernel: String,
    },
    /// A copy failed.
    #[error("{device}: copy failed: {cause}")]
    Copy {
        /// Which device.
        device: String,
        /// Why.
        cause: String,
    },
    /// A process made by `fork` has its parent's devices in memory, but not the threads and the driver's state that belong to them.
    #[error(
        "{device}: opened by process {opened_by}, of which this process ({process}) is a fork\n help: open devices after the fork, or start the process as a new program (Python: the start method `spawn`)"
    )]
    OtherProcess {
        /// Which device.
        device: String,
        /// The process that opened it.
        opened_by: u32,
        /// This process.
        process: u32,
    },
    /// The device is gone.
    #[error("{device}: device lost: {cause}\n help: other devices still work; open the device again")]
    DeviceLost {
        /// Which device.
        device: String,
        /// Why.
        cause: String,
    },
}

/// What an axis can be indexed with.
fn indices(size: i64) -> String {
    match size {
        ..=0 => "an axis without elements has no index".to_owned(),
        size => format!("indices go from -{size} to {}", size - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_tells_which_indices_there_are() {
        let error = |size| Error::IndexOutOfRange { index: 7, size, kernel: "gather".to_owned() }.to_string();
        assert!(error(5).ends_with("help: indices go from -5 to 4"), "{}", error(5));
        assert!(error(0).ends_with("help: an axis without elements has no index"), "{}", error(0));
    }
}
