//! Shuffled batches, prepared on a background thread.
//!
//! In: how many items there are, a seed, and what makes a batch of some of them. Out: the batches of an epoch, in order.
//! Always: which items a batch has, and the random numbers it may use, depend on seed, epoch and position alone, never on threads;
//! an epoch can be entered at any batch, so that an interrupted run continues with the batch it would have had next.
//! Never: keeps more than a few batches ahead in memory; a consumer that goes away ends the thread.

use crate::sampler::n_batches;
use std::{
    sync::{Arc, mpsc},
    thread,
};
use unigrad_nn::{Error, Result, random::Rng};
use unigrad_tensor::Dim;

/// Batches prepared ahead.
const AHEAD: usize = 3;

/// Streams of random numbers: the order of an epoch, and what a batch uses, must not meet.
pub(crate) const ORDER: u64 = 1 << 62;
const BATCH: u64 = 1 << 61;
const ITEM: u64 = 1 << 60;

/// The random numbers that batch `position` of an epoch may use.
pub(crate) fn batch_rng(seed: u64, epoch: u64, position: usize) -> Rng {
    Rng::new(seed, BATCH | epoch << 32 | position as u64)
}

/// The random numbers of item `index` in an epoch; `occurrence` counts how often the epoch had it before.
pub(crate) fn item_rng(seed: u64, epoch: u64, index: usize, occurrence: u32) -> Rng {
    Rng::new(seed ^ epoch.rotate_left(40), ITEM | u64::from(occurrence & 0xf_ffff) << 40 | index as u64)
}

/// Which items the batches of an epoch have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batches {
    n_items: usize,
    batch_size: usize,
    seed: u64,
    shuffle: bool,
    drop_last: bool,
}

impl Batches {
    /// Batches of `batch_size` of `n_items` items, in an order that `seed` and the epoch give.
    pub fn new(n_items: usize, batch_size: usize, seed: u64) -> Batches {
        Batches { n_items, batch_size: batch_size.max(1), seed, shuffle: true, drop_last: false }
    }

    /// In the items' own order.
    pub fn in_order(mut self) -> Batches {
        self.shuffle = false;
        self
    }

    /// Leaves a last batch out that would be smaller than the others, unless it is the only one.
    pub fn drop_last(mut self) -> Batches {
        self.drop_last = true;
        self
    }

    /// The size of a batch as a named dimension: with it, batches of any size, the last one too, are trained by one plan for each bucket of sizes.
    ///
    /// ```
    /// use unigrad_data::Batches;
    ///
    /// let batches = Batches::new(1000, 64, 42);
    /// let batch = batches.dim()?;
    /// assert_eq!((batch.name(), batch.bounds()), ("batch", 1..=64));
    /// // In the loop: `x.with_dim(0, &batch)`.
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn dim(&self) -> Result<Dim> {
        Dim::named("batch", 1..=self.batch_size).map_err(|error| Error::Graph(Arc::new(error)))
    }

    pub(crate) fn n_items(&self) -> usize {
        self.n_items
    }

    /// Batches of an epoch.
    pub fn len(&self) -> usize {
        n_batches(self.n_items, self.batch_size, self.drop_last)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items of every batch of an epoch.
    pub fn order(&self, epoch: u64) -> Vec<Vec<usize>> {
        let order = if self.shuffle { Rng::new(self.seed, ORDER | epoch).permutation(self.n_items) } else { (0..self.n_items).collect() };
        order.chunks(self.batch_size).take(self.len()).map(<[usize]>::to_vec).collect()
    }

    /// The random numbers that batch `position` of an epoch may use.
    pub fn rng(&self, epoch: u64, position: usize) -> Rng {
        batch_rng(self.seed, epoch, position)
    }

    /// The random numbers that item `index` may use in an epoch, in whichever batch it stands.
    pub fn item_rng(&self, epoch: u64, index: usize) -> Rng {
        item_rng(self.seed, epoch, index, 0)
    }

    /// The batches of an epoch from `first` on, made by `make` on a thread of their own.
    ///
    /// ```
    /// use unigrad_data::Batches;
    /// let batches = Batches::new(10, 4, 42);
    /// let sizes: Vec<usize> = batches.prepare(0, 0, |items, _rng| items.len()).collect();
    /// assert_eq!(sizes, [4, 4, 2]);
    /// ```
    pub fn prepare<T: Send + 'static>(
        &self,
        epoch: u64,
        first: usize,
        make: impl Fn(&[usize], &mut Rng) -> T + Send + Sync + 'static,
    ) -> Prepared<T> {
        let make = Arc::new(make);
        let (of_thread, batches, work) = (Arc::clone(&make), self.clone(), self.order(epoch));
        let (send, receive) = mpsc::sync_channel(AHEAD);
        let ahead = work.clone();
        let started = thread::Builder::new().name("unigrad-data".to_owned()).spawn(move || {
            for (position, items) in ahead.iter().enumerate().skip(first) {
                let batch = of_thread(items, &mut batches.rng(epoch, position));
                if send.send(batch).is_err() {
                    return;
                }
            }
        });
        let source = match started {
            Ok(thread) => Source::Thread(receive, Some(thread)),
            // A system that has no thread left still trains, only without the overlap.
            Err(_) => Source::Here(make),
        };
        Prepared { source, batches: self.clone(), epoch, work, next: first }
    }
}

type Make<T> = dyn Fn(&[usize], &mut Rng) -> T + Send + Sync;

enum Source<T> {
    /// With the thread, until it has ended.
    Thread(mpsc::Receiver<T>, Option<thread::JoinHandle<()>>),
    Here(Arc<Make<T>>),
}

/// The batches of an epoch, as they come.
pub struct Prepared<T> {
    source: Source<T>,
    batches: Batches,
    epoch: u64,
    work: Vec<Vec<usize>>,
    next: usize,
}

impl<T> Iterator for Prepared<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let position = self.next;
        let items = self.work.get(position)?;
        self.next += 1;
        match &mut self.source {
            Source::Thread(batches, thread) => match batches.recv() {
                Ok(batch) => Some(batch),
                // A panic in `make` is the consumer's, as without a thread: an epoch that ends early would look like one that is done.
                Err(_) => match thread.take().map(thread::JoinHandle::join) {
                    Some(Err(panic)) => std::panic::resume_unwind(panic),
                    _ => None,
                },
            },
            Source::Here(make) => Some(make(items, &mut self.batches.rng(self.epoch, position))),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.work.len().saturating_sub(self.next);
        (left, Some(left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_has_every_item_once_and_the_next_another_order() {
        let batches = Batches::new(23, 5, 7);
        let mut first: Vec<usize> = batches.prepare(0, 0, |items, _| items.to_vec()).flatten().collect();
        let second: Vec<usize> = batches.prepare(1, 0, |items, _| items.to_vec()).flatten().collect();
        assert_ne!(first, second);
        first.sort_unstable();
        assert_eq!(first, (0..23).collect::<Vec<_>>());
        assert_eq!(batches.len(), 5);
        assert_eq!(batches.clone().drop_last().len(), 4);
        assert_eq!(Batches::new(3, 5, 0).drop_last().len(), 1);
        assert_eq!(Batches::new(0, 5, 0).len(), 0);
        assert_eq!(Batches::new(6, 4, 0).in_order().order(9), [vec![0, 1, 2, 3], vec![4, 5]]);
    }

    #[test]
    fn an_interrupted_epoch_continues_with_the_same_batches() {
        let batches = Batches::new(40, 4, 1);
        let make = |items: &[usize], rng: &mut Rng| (items.to_vec(), rng.next_u64());
        let whole: Vec<_> = batches.prepare(3, 0, make).collect();
        let rest: Vec<_> = batches.prepare(3, 6, make).collect();
        assert_eq!(whole[6..], rest[..]);
    }

    #[test]
    fn a_panic_is_not_the_end_of_the_epoch() {
        let batches = Batches::new(9, 3, 1).in_order();
        let make = |items: &[usize], _: &mut Rng| if items[0] < 6 { items.len() } else { panic!("bad item") };
        let mut prepared = batches.prepare(0, 0, make);
        assert_eq!((prepared.next(), prepared.next()), (Some(3), Some(3)));
        let third = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| prepared.next()));
        assert_eq!(third.unwrap_err().downcast_ref::<&str>(), Some(&"bad item"));
    }

    #[test]
    fn a_consumer_may_go_away() {
        let batches = Batches::new(1000, 1, 1);
        assert_eq!(batches.prepare(0, 0, |items, _| items.len()).take(2).sum::<usize>(), 2);
    }
}
