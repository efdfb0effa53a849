//! Reads for where nothing may wait, as in browsers: the data and the launches' reports are copied in the queue's order, and looked at when
//! both have come.
//!
//! Always: what has come is checked against the launches that were unchecked when the read began, even if some have been checked since.

use crate::{
    Backend, Range,
    device::{GpuDevice, Reports, Status, lock},
};
use unigrad_device::{Error, Pending};

/// Launches whose reports are on their way.
struct Awaited<'a> {
    reports: Reports,
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
            if let Some(Awaited { reports, words }) = awaited {
                let words = words.await?;
                self.take_reports(&mut lock(&self.shared.faults), &reports, &words)?;
            }
            lock(&self.shared.faults).of(from).map_or(Ok(data), Err)
        }))
    }

    /// Begins to read the reports of all launches so far.
    fn await_reports(&self) -> Option<Awaited<'_>> {
        // A launch that has begun is queued before the reports are read.
        let _scratch = lock(&self.scratch);
        let until = lock(&self.shared.faults).begun(self.queue);
        let reports = self.reports(until)?;
        let words = self.backend.read_async()?.download_async(reports.range())?;
        Some(Awaited { reports, words })
    }
}
