//! Errors that a launch finds while it runs: which launch, and what depends on it.
//!
//! In: launches with the ranges they read and write, status words after a wait. Out: the error of a range, if what is in it was computed
//! from the results of a launch that failed.
//! Always: a launch that can report has a slot of its own in its queue's status buffer until it has been waited for, so no report is
//! lost.
//! Nothing is tracked while no launch is unchecked and none has failed: then every call returns at once.
//! Never: talks to a device.

use crate::{
    Range,
    taints::{LaunchId, Outcome, Source, Sources, Taints},
};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use unigrad_device::{Error, Origin};
use unigrad_kernel::Flow;

/// Launches that can be unchecked at a time.
pub(crate) const SLOTS: u32 = 1024;
/// Words of `U32` in a slot: whether it failed, the first index (2) and its axis's size (2), the checks that failed (bits), and 2 unused.
pub(crate) const SLOT_WORDS: u32 = 8;

/// The word of a slot that holds the checks that failed.
pub(crate) const CHECKS_WORD: u32 = 5;

/// One of the device's queues.
#[derive(Debug, Default)]
struct Queue {
    /// Launches so far.
    begun: u64,
    /// Launches that have not been waited for, oldest first; their slots follow each other and end before that of `begun`.
    unchecked: Vec<(LaunchId, Arc<str>)>,
}

/// What is known of launches under way.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    next: LaunchId,
    queues: Vec<Queue>,
    /// With the checks that failed.
    failed: FxHashMap<LaunchId, (Error, u32)>,
    /// Failed launches that no wait has reported.
    unreported: Vec<LaunchId>,
    taints: Taints,
}

impl Faults {
    /// A queue's number.
    pub(crate) fn add_queue(&mut self) -> usize {
        self.queues.push(Queue::default());
        self.queues.len() - 1
    }

    /// Whether the queue's next reporting launch has no slot until a wait. The slot before the oldest launch's stays free: resetting slots
    /// may touch it.
    pub(crate) fn is_full(&self, queue: usize) -> bool {
        !self.has_room(queue, 1)
    }

    /// How many reporting launches have slots at most.
    pub(crate) fn n_slots(&self) -> usize {
        SLOTS as usize - 1
    }

    /// Whether so many reporting launches have slots without a wait.
    pub(crate) fn has_room(&self, queue: usize, n: usize) -> bool {
        self.queues[queue].unchecked.len() + n < SLOTS as usize
    }

    /// How many of the queue's oldest launches have not been waited for.
    pub(crate) fn n_unchecked(&self, queue: usize) -> usize {
        self.queues[queue].unchecked.len()
    }

    /// Launches of the queue so far.
    pub(crate) fn begun(&self, queue: usize) -> u64 {
        self.queues[queue].begun
    }

    /// Per queue with unchecked launches that a range depends on, up to which of its launches all are done when what the range depends on is.
    pub(crate) fn behind(&self, range: Range) -> Vec<(usize, u64)> {
        let sources = self.sources(range);
        if sources.is_empty() {
            return Vec::new();
        }
        let until = |(queue, Queue { begun, unchecked }): (usize, &Queue)| {
            let last = unchecked.iter().rposition(|(id, _)| sources.binary_search_by_key(id, |source| source.0).is_ok())?;
            Some((queue, begun - (unchecked.len() - 1 - last) as u64))
        };
        self.queues.iter().enumerate().filter_map(until).collect()
    }

    /// Which of the queue's launches that can report is the oldest that has not been waited for.
    pub(crate) fn first_unchecked(&self, queue: usize) -> u64 {
        let Queue { begun, unchecked } = &self.queues[queue];
        begun - unchecked.len() as u64
    }

    /// The slot of the queue's oldest unchecked launch; those of the others follow, and may wrap around.
    pub(crate) fn first_slot(&self, queue: usize) -> u32 {
        (self.first_unchecked(queue) % u64::from(SLOTS)) as u32
    }

    /// A launch that can report begins; its slot.
    pub(crate) fn begin(&mut self, queue: usize, kernel: &str, origin: Option<Origin>) -> (LaunchId, u32) {
        self.begin_named(queue, Faults::name(kernel, origin))
    }

    /// What errors call a launch.
    pub(crate) fn name(kernel: &str, origin: Option<Origin>) -> Arc<str> {
        let at = origin.map(|origin| format!(" at {origin}")).unwrap_or_default();
        format!("{kernel}{at}").into()
    }

    /// As [`Faults::begin`], by its [`Faults::name`].
    pub(crate) fn begin_named(&mut self, queue: usize, name: Arc<str>) -> (LaunchId, u32) {
        let id = self.next;
        self.next += 1;
        let queue = &mut self.queues[queue];
        queue.unchecked.push((id, name));
        queue.begun += 1;
        (id, ((queue.begun - 1) % u64::from(SLOTS)) as u32)
    }

    fn is_idle(&self) -> bool {
        self.failed.is_empty() && self.queues.iter().all(|queue| queue.unchecked.is_empty())
    }

    pub(crate) fn sources(&self, range: Range) -> Sources {
        self.taints.sources(range)
    }

    /// What is in a range depends on a launch.
    #[cfg(test)]
    pub(crate) fn taint(&mut self, range: Range, id: LaunchId) {
        self.taints.overwrite(range, &[(id, u32::MAX)].into());
    }

    fn overwrite(&mut self, range: Range, sources: &Sources) {
        self.taints.overwrite(range, sources);
    }

    /// A launch on `ranges`, whose results depend on them as `flows` say; `reporting` if it can fail itself. It may write a part of a range, so
    /// what was there before counts, unless it was given up ([`Faults::upload`]).
    #[must_use]
    pub(crate) fn launch(&mut self, ranges: &[Range], flows: &[Flow], reporting: Option<LaunchId>) -> Option<()> {
        if self.is_idle() { Some(()) } else { self.taints.launch(ranges, flows, reporting) }
    }

    /// All launches of a sequence were queued, on a table of these ranges; `begun` are those that can report, in order.
    #[must_use]
    pub(crate) fn sequence(&mut self, outcome: &Outcome, table: &[Range], begun: &[LaunchId]) -> Option<()> {
        if self.is_idle() { Some(()) } else { self.taints.sequence(outcome, table, begun) }
    }

    /// A copy within the device.
    pub(crate) fn copy(&mut self, from: Range, to: Range) {
        if !self.is_idle() {
            let sources = self.sources(from);
            self.overwrite(to, &sources);
        }
    }

    /// The host writes a range, or gives up what is in it.
    pub(crate) fn upload(&mut self, to: Range) {
        if !self.is_idle() {
            self.overwrite(to, &Sources::default());
        }
    }

    /// A buffer is gone.
    pub(crate) fn free(&mut self, handle: u64) {
        self.taints.free(handle);
    }

    /// After a wait: the status words of the queue's oldest unchecked launches, in their order.
    pub(crate) fn resolve(&mut self, queue: usize, words: &[u32]) {
        let words = words.chunks_exact(SLOT_WORDS as usize);
        // In their order, which is that of their numbers, with the checks that failed.
        let mut checked = Vec::with_capacity(words.len());
        for ((id, kernel), words) in self.queues[queue].unchecked.drain(..words.len()).zip(words) {
            if words[0] == 0 {
                checked.push((id, 0));
                continue;
            }
            let checks = words[CHECKS_WORD as usize];
            checked.push((id, checks));
            let wide = |at: usize| (u64::from(words[at]) | u64::from(words[at + 1]) << 32) as i64;
            let kernel = kernel.to_string();
            self.failed.insert(id, (Error::IndexOutOfRange { index: wide(1), size: wide(3), kernel }, checks));
            self.unreported.push(id);
        }
        self.taints.retain(|(id, checks)| match checked.binary_search_by_key(id, |checked| checked.0) {
            Ok(at) => checked[at].1 & checks != 0,
            Err(_) => true,
        });
    }

    /// Whether nothing in a range depends on a launch that failed or may still fail.
    pub(crate) fn is_clean(&self, range: Range) -> bool {
        self.sources(range).is_empty()
    }

    /// The error that a range's contents depend on.
    pub(crate) fn of(&mut self, range: Range) -> Option<Error> {
        let has_failed = |(id, checks): &Source| self.failed.get(id).is_some_and(|(_, failed)| failed & checks != 0);
        let (id, _) = self.sources(range).iter().copied().find(has_failed)?;
        self.unreported.retain(|unreported| *unreported != id);
        self.failed.get(&id).map(|(error, _)| error.clone())
    }

    /// The oldest error that no wait has reported.
    pub(crate) fn report(&mut self) -> Option<Error> {
        let id = if self.unreported.is_empty() { None } else { Some(self.unreported.remove(0)) };
        let error = id.and_then(|id| self.failed.get(&id).map(|(error, _)| error.clone()));
        // What nothing depends on any more need not be kept.
        let needed: Vec<LaunchId> = self.taints.launches().collect();
        self.failed.retain(|id, _| needed.contains(id) || self.unreported.contains(id));
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(handle: u64, offset: usize, len: usize) -> Range {
        Range { handle, offset, len }
    }

    /// A launch that makes the last of its ranges from the others.
    fn launch(faults: &mut Faults, ranges: &[Range], reporting: Option<LaunchId>) {
        let write = ranges.len() - 1;
        faults.launch(ranges, &[Flow { write, reads: (0..write).collect(), checks: u32::MAX }], reporting).unwrap();
    }

    fn failed() -> Vec<u32> {
        vec![1, 7, 0, 5, 0, 1, 0, 0]
    }

    #[test]
    fn an_error_reaches_what_depends_on_it_and_nothing_else() {
        let mut faults = Faults::default();
        let queue = faults.add_queue();
        let (good, _) = faults.begin(queue, "good", None);
        launch(&mut faults, &[range(1, 0, 64), range(2, 0, 64)], Some(good));
        let (bad, slot) = faults.begin(queue, "bad", None);
        assert_eq!(slot, 1);
        launch(&mut faults, &[range(1, 0, 64), range(3, 0, 64)], Some(bad));
        // Reads both, writes the second half of buffer 4.
        launch(&mut faults, &[range(2, 0, 64), range(3, 32, 8), range(4, 64, 64)], None);
        faults.resolve(queue, &[vec![0; 8], failed()].concat());
        assert_eq!(faults.of(range(2, 0, 64)), None);
        assert_eq!(faults.of(range(4, 0, 64)), None);
        let error = Some(Error::IndexOutOfRange { index: 7, size: 5, kernel: "bad".to_owned() });
        assert_eq!(faults.of(range(4, 64, 64)), error);
        assert_eq!(faults.of(range(3, 0, 4)), error);
        faults.copy(range(3, 0, 32), range(5, 0, 32));
        assert_eq!(faults.of(range(5, 0, 32)), error);
        faults.upload(range(5, 0, 16));
        assert_eq!(faults.of(range(5, 0, 16)), None);
        assert_eq!(faults.of(range(5, 16, 16)), error);
        assert_eq!(faults.report(), None, "a read has reported it");
    }

    #[test]
    fn of_two_checks_in_a_launch_the_one_that_failed_counts() {
        let mut faults = Faults::default();
        let queue = faults.add_queue();
        let (id, _) = faults.begin(queue, "two gathers", None);
        let flow = |write, checks| Flow { write, reads: vec![0], checks };
        let ranges = [range(1, 0, 64), range(2, 0, 64), range(3, 0, 64), range(4, 0, 64)];
        faults.launch(&ranges, &[flow(1, 1), flow(2, 2), flow(3, 3)], Some(id)).unwrap();
        let flow = Flow { write: 1, reads: vec![0], checks: 0 };
        faults.launch(&[range(2, 0, 64), range(5, 0, 64)], std::slice::from_ref(&flow), None).unwrap();
        assert_eq!(faults.launch(&[range(5, 0, 64)], &[flow], None), None, "it writes what the launch has not");
        faults.resolve(queue, &[1, 7, 0, 5, 0, 2, 0, 0]);
        assert_eq!([2, 3, 4, 5].map(|handle| faults.of(range(handle, 0, 64)).is_some()), [false, true, true, false]);
    }

    #[test]
    fn queues_have_slots_of_their_own_and_share_what_depends_on_what() {
        let mut faults = Faults::default();
        let queues = [faults.add_queue(), faults.add_queue()];
        let (good, _) = faults.begin(queues[0], "good", None);
        launch(&mut faults, &[range(1, 0, 64)], Some(good));
        let (bad, slot) = faults.begin(queues[1], "bad", None);
        assert_eq!(slot, 0);
        launch(&mut faults, &[range(1, 0, 64), range(2, 0, 64)], Some(bad));
        let (later, _) = faults.begin(queues[1], "later", None);
        launch(&mut faults, &[range(3, 0, 64)], Some(later));
        assert_eq!(faults.behind(range(2, 0, 64)), [(0, 1), (1, 1)]);
        faults.resolve(queues[1], &failed());
        assert_eq!((faults.n_unchecked(queues[0]), faults.n_unchecked(queues[1])), (1, 1));
        assert_eq!(faults.first_slot(queues[1]), 1);
        assert!(faults.of(range(2, 0, 64)).is_some());
        assert!(faults.of(range(3, 0, 64)).is_none());
    }

    #[test]
    fn a_wait_reports_an_error_once() {
        let mut faults = Faults::default();
        let queue = faults.add_queue();
        let (id, _) = faults.begin(queue, "bad", None);
        launch(&mut faults, &[range(1, 0, 64)], Some(id));
        faults.resolve(queue, &failed());
        assert!(faults.report().is_some());
        assert!(faults.report().is_none());
        assert!(faults.of(range(1, 0, 64)).is_some(), "the result stays poisoned");
        faults.free(1);
        assert!(faults.report().is_none());
        assert!(faults.is_idle(), "{faults:?}");
    }
}
