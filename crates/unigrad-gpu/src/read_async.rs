//! Reads for where nothing may wait, as in browsers: the data and the launches' reports are copied in the queue's order, and looked at when
//! both have come.
//!
//! Always: what has come is checked against the launches that were unchecked when the read began, even if some have been checked since.

use crate::{
    Backend, Range,
    device::{GpuDevice, SLOT_BYTES, STATUS_BYTES, Status, lock},
    faults::{Faults, SLOTS},
};
use unigrad_device::{Error, Pending};

/// Launches whose reports are on their way.
struct Awaited<'a> {
    /// Which of the queue's is the first, and how many.
    first: u64,
    count: u64,
    handle: u64,
    words: Pending<'a, Result<Vec<u8>, Error>>,
}

impl<B: Backend> GpuDevice<B> {
    /// Begins to read a range. The device has one queue, or the other ones have nothing to do with the range.
    pub(crate) fn read_range(&self, from: Range) -> Option<Pending<'_, Result<Vec<u8>, Error>>> {
        // Reports in memory of the host are there when the data are.
        let is_mapped = matches!(lock(&self.shared.statuses)[self.queue], Some(Status::Mapped(_)));
        let mapped = if is_mapped { self.before_wait(Some(from)) } else { Vec::new() };
        let reading = self.backend.read_async()?.download_async(from)?;
        let awaited = self.await_reports();
        Some(Box::pin(async move {
            let data = reading.await?;
            self.after_wait(&mapped)?;
            if let Some(Awaited { first, count, handle, words }) = awaited {
                let words = words.await?;
                self.take_reports(&mut lock(&self.shared.faults), first, count, handle, &words)?;
            }
            lock(&self.shared.faults).of(from).map_or(Ok(data), Err)
        }))
    }

    /// Begins to read the reports of all launches so far.
    fn await_reports(&self) -> Option<Awaited<'_>> {
        // A launch that has begun is queued before the reports are read.
        let _scratch = lock(&self.scratch);
        let (first, count) = {
            let faults = lock(&self.shared.faults);
            (faults.first_unchecked(self.queue), faults.n_unchecked(self.queue) as u64)
        };
        let handle = match lock(&self.shared.statuses)[self.queue] {
            Some(Status::Buffer(handle)) if count > 0 => handle,
            Some(Status::Buffer(_) | Status::Mapped(_)) | None => return None,
        };
        let words = self.backend.read_async()?.download_async(Range { handle, offset: 0, len: STATUS_BYTES })?;
        Some(Awaited { first, count, handle, words })
    }

    /// Takes what has come of the reports of `count` launches from the queue's `first` on.
    fn take_reports(&self, faults: &mut Faults, first: u64, count: u64, handle: u64, words: &[u8]) -> Result<(), Error> {
        let next = faults.first_unchecked(self.queue);
        let mut reports = Vec::new();
        for launch in next..first + count {
            let at = (launch % u64::from(SLOTS)) as usize * SLOT_BYTES;
            let Some(slot) = words.get(at..at + SLOT_BYTES) else { break };
            reports.extend(slot.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])));
            if slot.iter().any(|byte| *byte != 0) {
                // Begun where every backend can begin; a slot is 32 bytes, and the one before is not in use.
                let lead = at % 64;
                self.backend.upload(&vec![0; SLOT_BYTES + lead], Range { handle, offset: at - lead, len: SLOT_BYTES + lead })?;
            }
        }
        faults.resolve(self.queue, &reports);
        Ok(())
    }
}
