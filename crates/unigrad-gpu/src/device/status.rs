//! Status words: where programs report an index out of range, and how the host comes to know of it.
//!
//! In: launches that can report, each with a slot of words in its queue's memory (`faults.rs`). Out: what is known of them after a wait.
//! Always: the words lie in memory of the host where the backend maps it (`MappedMemory`), so that a look at them costs nothing but the wait that
//! was made anyway; elsewhere in a buffer that is read with what is waited for, or after the wait where it is another queue's. A look covers launches
//! that were queued before the wait began, and no others: the words of one that is still under way say nothing.
//! A slot is set back to 0 before it is used again.

use super::{GpuDevice, lock};
use crate::{
    Backend, Range,
    faults::{Faults, SLOT_WORDS, SLOTS},
};
use std::sync::Arc;
use unigrad_device::{Error, MappedWords};

/// Bytes of a launch's words, and of all of a queue's; see [`crate::ProgramArg::Status`].
const SLOT_BYTES: usize = 4 * SLOT_WORDS as usize;
pub(super) const STATUS_BYTES: usize = SLOTS as usize * SLOT_BYTES;

/// Where every backend can begin: multiples of so many bytes.
const BEGINS: usize = 64;

/// Where a launch's words are, in bytes.
fn slot_of(launch: u64) -> usize {
    (launch % u64::from(SLOTS)) as usize * SLOT_BYTES
}

/// Launches of a queue, from `first` on and before `until`, which is more, whose words are in this memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reports {
    queue: usize,
    first: u64,
    until: u64,
    handle: u64,
}

impl Reports {
    /// What holds their words: all of the queue's where they go on at its begin.
    pub(crate) fn range(&self) -> Range {
        let (first, last) = (slot_of(self.first), slot_of(self.until - 1));
        if last < first {
            return Range { handle: self.handle, offset: 0, len: STATUS_BYTES };
        }
        let offset = first - first % BEGINS;
        Range { handle: self.handle, offset, len: last + SLOT_BYTES - offset }
    }
}

/// The memory of a queue's status words.
#[derive(Clone, Debug)]
pub(crate) enum Status {
    /// The host's, which programs reach.
    Mapped(Arc<dyn MappedWords>),
    /// The device's, by handle.
    Buffer(u64),
}

impl Status {
    /// What programs are given.
    pub(crate) fn range(&self) -> Range {
        match self {
            Status::Mapped(words) => words.range(),
            Status::Buffer(handle) => Range { handle: *handle, offset: 0, len: STATUS_BYTES },
        }
    }
}

/// Per queue, up to which launch its reports are there after a wait.
pub(crate) type Awaited = Vec<(usize, u64)>;

impl<B: Backend> GpuDevice<B> {
    /// The memory of this queue's status words.
    pub(super) fn status(&self) -> Result<Range, Error> {
        if let Some(status) = &lock(&self.shared.statuses)[self.queue] {
            return Ok(status.range());
        }
        // Where no memory of the host can be had, the device's own does it.
        let mapped = self.backend.mapped_memory().and_then(|host| host.map(STATUS_BYTES / 4).ok());
        let status = match mapped {
            Some(words) => Status::Mapped(words),
            None => {
                let handle = self.allocate_own(STATUS_BYTES)?;
                if let Err(error) = self.backend.upload(&[0; STATUS_BYTES], Range { handle, offset: 0, len: STATUS_BYTES }) {
                    self.free_own(handle, STATUS_BYTES);
                    return Err(error);
                }
                Status::Buffer(handle)
            }
        };
        Ok(lock(&self.shared.statuses)[self.queue].insert(status).range())
    }

    /// Gives the memory of this queue's status words back.
    pub(super) fn drop_status(&self) {
        match lock(&self.shared.statuses)[self.queue].take() {
            Some(Status::Buffer(handle)) => self.free_own(handle, STATUS_BYTES),
            Some(Status::Mapped(words)) => {
                // An error has nowhere to go; a device that is lost writes nothing any more.
                let _ = self.backend.synchronize();
                drop(words);
            }
            None => {}
        }
    }

    /// Which launches a wait that begins now covers: all of this queue's, and those of other queues that a range depends on.
    pub(crate) fn before_wait(&self, range: Option<Range>) -> Awaited {
        // In the order of `launch`: a launch that has begun is queued.
        let _scratch = lock(&self.scratch);
        let faults = lock(&self.shared.faults);
        let mut awaited = range.map_or_else(Vec::new, |range| faults.behind(range));
        awaited.retain(|(queue, _)| *queue != self.queue);
        if faults.n_unchecked(self.queue) > 0 {
            awaited.push((self.queue, faults.begun(self.queue)));
        }
        awaited
    }

    /// Looks at the status words of launches that a wait has covered.
    pub(crate) fn after_wait(&self, awaited: &Awaited) -> Result<(), Error> {
        if awaited.is_empty() {
            return Ok(());
        }
        // In the order of `launch`, and with no launch in between.
        let _scratch = lock(&self.scratch);
        let mut faults = lock(&self.shared.faults);
        awaited.iter().try_for_each(|(queue, until)| self.look(&mut faults, *queue, *until))
    }

    /// Waits for this queue, and looks at its status words.
    pub(super) fn wait(&self, range: Option<Range>) -> Result<(), Error> {
        self.wait_for(None, &self.before_wait(range))
    }

    /// Waits for this queue, or until bytes of it have come, and looks at the status words that [`GpuDevice::before_wait`] told of. Those of this queue
    /// that lie in the device's memory come in the same wait: another one costs a small step as much as its launches.
    pub(super) fn wait_for(&self, data: Option<(Range, &mut [u8])>, awaited: &Awaited) -> Result<(), Error> {
        let own = awaited.iter().find(|(queue, _)| *queue == self.queue);
        let Some(reports) = own.and_then(|(_, until)| self.reports(*until)) else {
            match data {
                Some((from, bytes)) => self.backend.download(from, bytes)?,
                None => self.backend.synchronize()?,
            }
            return self.after_wait(awaited);
        };
        let range = reports.range();
        let mut words = vec![0; range.len];
        match data {
            Some(data) => self.backend.download_all(&mut [data, (range, &mut words)])?,
            None => self.backend.download(range, &mut words)?,
        }
        let _scratch = lock(&self.scratch);
        let mut faults = lock(&self.shared.faults);
        self.take_reports(&mut faults, &reports, &words)?;
        awaited.iter().filter(|(queue, _)| *queue != self.queue).try_for_each(|(queue, until)| self.look(&mut faults, *queue, *until))
    }

    /// The unchecked launches of this queue before `until`, if they report to memory of the device.
    pub(crate) fn reports(&self, until: u64) -> Option<Reports> {
        let first = lock(&self.shared.faults).first_unchecked(self.queue);
        match lock(&self.shared.statuses)[self.queue] {
            Some(Status::Buffer(handle)) if until > first => Some(Reports { queue: self.queue, first, until, handle }),
            Some(Status::Buffer(_) | Status::Mapped(_)) | None => None,
        }
    }

    /// Takes what has come of reports: `words` are their [`Reports::range`].
    pub(crate) fn take_reports(&self, faults: &mut Faults, reports: &Reports, words: &[u8]) -> Result<(), Error> {
        let begins = reports.range().offset;
        let (mut taken, mut is_reset) = (Vec::new(), false);
        // Another thread may have looked at some since.
        for launch in faults.first_unchecked(reports.queue)..reports.until {
            let at = slot_of(launch);
            let Some(slot) = at.checked_sub(begins).and_then(|at| words.get(at..at + SLOT_BYTES)) else {
                return Err(self.refuse("status words", "fewer have come than were asked for"));
            };
            taken.extend(slot.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])));
            if slot.iter().any(|byte| *byte != 0) {
                // Begun where every backend can begin; a slot is 32 bytes, and the one before is not in use.
                let lead = at % BEGINS;
                let whole = Range { handle: reports.handle, offset: at - lead, len: SLOT_BYTES + lead };
                self.backend.upload(&vec![0; whole.len], whole)?;
                is_reset = true;
            }
        }
        if is_reset && reports.queue != self.queue {
            // This queue's upload is in no order with that one's launches.
            self.backend.synchronize()?;
        }
        faults.resolve(reports.queue, &taken);
        Ok(())
    }

    /// Looks at the status words of a queue's launches before `until`, which are done.
    fn look(&self, faults: &mut Faults, queue: usize, until: u64) -> Result<(), Error> {
        // Another thread may have looked at some since.
        let first = faults.first_unchecked(queue);
        let Some(status) = lock(&self.shared.statuses)[queue].clone().filter(|_| until > first) else { return Ok(()) };
        let mapped = match status {
            Status::Mapped(mapped) => mapped,
            Status::Buffer(handle) => {
                let reports = Reports { queue, first, until, handle };
                let mut words = vec![0; reports.range().len];
                self.backend.download(reports.range(), &mut words)?;
                return self.take_reports(faults, &reports, &words);
            }
        };
        let (first, slot, count) = (faults.first_slot(queue) as usize, SLOT_WORDS as usize, (until - first) as usize);
        let before_wrap = count.min(SLOTS as usize - first);
        let mut words = vec![0; count * slot];
        let (low, high) = words.split_at_mut(before_wrap * slot);
        for (first, words) in [(first, low), (0, high)].into_iter().filter(|(_, words)| !words.is_empty()) {
            self.take_mapped(&*mapped, first * slot, words)?;
        }
        faults.resolve(queue, &words);
        Ok(())
    }

    /// Copies words and sets them back.
    fn take_mapped(&self, mapped: &dyn MappedWords, first: usize, words: &mut [u32]) -> Result<(), Error> {
        let mut fits = mapped.read(first, words);
        for (at, slot) in words.chunks_exact(SLOT_WORDS as usize).enumerate() {
            if slot.iter().any(|word| *word != 0) {
                fits &= mapped.write(first + at * slot.len(), &[0; SLOT_WORDS as usize]);
            }
        }
        if fits { Ok(()) } else { Err(self.refuse("status words", "they are shorter than the slots of their queue")) }
    }
}
