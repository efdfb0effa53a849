//! Exchange of memory with other libraries of the process, without copies.
//!
//! In: another library's memory, with what keeps it alive; a buffer that another library is to read. Out: a buffer; a loan.
//! Always: adopted memory's owner is dropped once, after the last handle and after the device's work with it. What is on loan is neither written
//! nor handed out again before the loan is dropped and the borrower's queue is through with it.
//! Never: writes adopted memory: its buffer is not unique, so that no evaluation takes it over, and it refuses uploads and copies.

use crate::{Buffer, Device, Error, Exchange, RawBuffer};
use std::any::Any;

/// What keeps adopted memory alive.
pub(crate) type Owner = Box<dyn Any + Send + Sync>;

impl Device {
    /// What adopted memory's address is a multiple of on this device (1: what its elements ask for); `None` if it exchanges no memory.
    pub fn exchange_alignment(self) -> Option<usize> {
        self.driver().exchange().map(Exchange::alignment)
    }

    /// This thread's queue as other libraries know it (a CUDA stream's handle); `None` where work is done when it was given, or none is exchanged.
    pub fn exchange_queue(self) -> Option<u64> {
        self.driver().exchange()?.queue()
    }

    /// Work given to this thread's stream from now on waits for what another library's queue (a CUDA stream's handle) has.
    pub fn wait_for_queue(self, queue: u64) -> Result<(), Error> {
        self.here()?;
        self.note(self.with_exchange(|exchange| exchange.wait_for_queue(queue)))
    }

    /// A buffer of memory that another library has: `bytes` from `address`, as the platform's libraries know it. `owner` keeps it alive, and is
    /// dropped when the last handle is gone and the device is through with it. It is never written. Work on all streams comes after what this thread's
    /// stream has waited for until now ([`Device::wait_for_queue`]).
    ///
    /// An address that is not a multiple of [`Device::exchange_alignment`] makes a buffer that can be copied from and downloaded, but no argument of a launch.
    ///
    /// # Safety
    /// The memory is there, and has initialized bytes, until `owner` is dropped. What the owner writes meanwhile is seen, and is to be ordered with the device's work by the caller.
    pub unsafe fn adopt(self, address: u64, bytes: usize, owner: Box<dyn Any + Send + Sync>) -> Result<Buffer, Error> {
        self.here()?;
        if bytes == 0 {
            return Ok(Buffer::adopted(self, None, 0, owner));
        }
        let handle = self.note(self.with_exchange(|exchange| exchange.adopt(address, bytes)))?;
        // What uses it on another stream comes after what this one has waited for.
        self.inner().wrote(handle);
        Ok(Buffer::adopted(self, Some(RawBuffer { handle, bytes }), bytes, owner))
    }

    /// Gives adopted memory back to its owner once the device's work with it is done.
    pub(crate) fn return_to(self, raw: &RawBuffer, owner: Owner) {
        // In a fork the driver's threads are missing, and nothing here has used the memory.
        if self.here().is_ok() {
            if !self.completes_at_once() {
                // A device that cannot even wait is lost, and reads nothing any more.
                let _ = self.note(self.inner().each(|open| match open.fence()? {
                    Some(mark) => open.wait(&mark),
                    None => Ok(()),
                }));
            }
            self.inner().forget_uses(raw.handle);
            self.driver().forget(raw);
        }
        drop(owner);
    }

    fn with_exchange<T>(self, work: impl FnOnce(&dyn Exchange) -> Result<T, Error>) -> Result<T, Error> {
        let open = self.driver();
        let none = || Error::Copy { device: self.to_string(), cause: "its memory is not exchanged with other libraries".to_owned() };
        work(open.exchange().ok_or_else(none)?)
    }
}

/// A buffer that another library reads where it lies. Dropping it ends the loan.
#[derive(Debug)]
pub struct Loan {
    buffer: Buffer,
    address: u64,
    queue: Option<u64>,
}

impl Buffer {
    /// Lends the memory to another library: what its `queue` (a CUDA stream's handle) is given from now on comes after the work that makes the data.
    /// Without a queue nothing is ordered.
    pub fn lend(&self, queue: Option<u64>) -> Result<Loan, Error> {
        let device = self.device();
        device.here()?;
        let range = self.as_slice().into();
        let address = device.with_exchange(|exchange| Ok(if self.is_empty() { 0 } else { exchange.address(range) }))?;
        if let Some(queue) = queue.filter(|_| !self.is_empty()) {
            let uses = || vec![(self.address(), false)];
            let wait = |open: &dyn crate::OpenDevice| open.exchange().map_or(Ok(()), |exchange| exchange.queue_waits(queue));
            device.note(device.inner().ordered(uses, wait))?;
        }
        Ok(Loan { buffer: self.clone(), address, queue })
    }
}

impl Loan {
    /// Where the memory begins, as the platform's libraries know it; 0 for no bytes.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The memory.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        let Some(queue) = self.queue.filter(|_| !self.buffer.is_empty()) else { return };
        let device = self.buffer.device();
        if device.here().is_err() {
            return;
        }
        let uses = || vec![(self.buffer.address(), true)];
        let take_back = |open: &dyn crate::OpenDevice| open.exchange().map_or(Ok(()), |exchange| exchange.take_back(queue));
        // A device that cannot even wait is lost, and its memory with it.
        let _ = device.note(device.inner().ordered(uses, take_back));
    }
}
