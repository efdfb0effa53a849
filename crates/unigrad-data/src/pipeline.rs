//! Worker threads whose results come in order.
//!
//! In: a range of positions, and what makes the result of one. Out: the results, in order of position, whatever thread made them when.
//! Always: at most `ahead` results are made and not taken; a consumer that goes away ends the threads; a panic in what makes a result is an error.
//! Never: waits for a thread that has ended; a system that has no thread left makes the results where they are asked for.

use std::{
    any::Any,
    collections::BTreeMap,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
};
use unigrad_nn::{Error, Result};

/// What `make` gives; a panic is an error that names `place` ("item 3").
pub(crate) fn caught<T>(place: impl FnOnce() -> String, make: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(make)).unwrap_or_else(|panic| {
        let cause = format!("{} panicked: {}", place(), words(&*panic));
        Err(Error::argument(cause, "correct what makes it; its data set, transform or collation is the caller's"))
    })
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without words")
}

struct State<T> {
    /// The position that the next free worker takes.
    next: usize,
    /// The position that the consumer is given next.
    wanted: usize,
    made: BTreeMap<usize, Result<T>>,
    /// Workers that run.
    alive: usize,
    stopped: bool,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // No code of a user runs under the lock, so what it guards is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

/// A worker's place among the living, given up however it ends.
struct Alive<T>(Arc<Shared<T>>);

impl<T> Drop for Alive<T> {
    fn drop(&mut self) {
        self.0.lock().alive -= 1;
        self.0.changed.notify_all();
    }
}

type Make<T> = dyn Fn(usize) -> Result<T> + Send + Sync;

/// Results in order of position.
pub(crate) struct Ordered<T> {
    shared: Arc<Shared<T>>,
    make: Arc<Make<T>>,
    threads: bool,
    end: usize,
}

/// The results of `positions`, made by up to `workers` threads, at most `ahead` of them (at least one a thread) before they are taken.
pub(crate) fn ordered<T: Send + 'static>(
    positions: Range<usize>,
    workers: usize,
    ahead: usize,
    make: impl Fn(usize) -> Result<T> + Send + Sync + 'static,
) -> Ordered<T> {
    let (make, end) = (Arc::new(make) as Arc<Make<T>>, positions.end);
    let state = State { next: positions.start, wanted: positions.start, made: BTreeMap::new(), alive: 0, stopped: false };
    let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
    let workers = workers.min(positions.len());
    let ahead = ahead.max(workers);
    let mut threads = false;
    for number in 0..workers {
        shared.lock().alive += 1;
        let (alive, make) = (Alive(Arc::clone(&shared)), Arc::clone(&make));
        let named = thread::Builder::new().name(format!("unigrad-data-{number}"));
        // What could not be started gives its place up when the closure is dropped.
        threads |= named.spawn(move || work(&alive.0, &*make, end, ahead)).is_ok();
    }
    Ordered { shared, make, threads, end }
}

fn work<T>(shared: &Shared<T>, make: &Make<T>, end: usize, ahead: usize) {
    loop {
        let mut state = shared.lock();
        while !state.stopped && state.next < end && state.next - state.wanted >= ahead {
            state = shared.wait(state);
        }
        if state.stopped || state.next >= end {
            return;
        }
        let position = state.next;
        state.next += 1;
        drop(state);
        let made = caught(|| format!("batch {position}"), || make(position));
        shared.lock().made.insert(position, made);
        shared.changed.notify_all();
    }
}

impl<T> Iterator for Ordered<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        let mut state = self.shared.lock();
        let position = state.wanted;
        if position >= self.end || state.stopped {
            return None;
        }
        let made = if self.threads {
            loop {
                if let Some(made) = state.made.remove(&position) {
                    break made;
                }
                if state.alive == 0 {
                    break Err(Error::Internal(format!("the threads of a loader ended before batch {position}")));
                }
                state = self.shared.wait(state);
            }
        } else {
            drop(state);
            let made = caught(|| format!("batch {position}"), || (self.make)(position));
            state = self.shared.lock();
            made
        };
        state.wanted = position + 1;
        state.stopped |= made.is_err();
        drop(state);
        self.shared.changed.notify_all();
        Some(made)
    }
}

impl<T> Drop for Ordered<T> {
    fn drop(&mut self) {
        self.shared.lock().stopped = true;
        self.shared.changed.notify_all();
    }
}

/// What `step` makes of `items`, on a thread of its own, `ahead` results before they are asked for; with 0, or without a thread, when they are.
pub(crate) fn staged<A: Send + 'static, B: Send + 'static>(
    items: Ordered<A>,
    ahead: usize,
    step: impl Fn(A) -> Result<B> + Send + Sync + 'static,
) -> Box<dyn Iterator<Item = Result<B>>> {
    if ahead == 0 {
        return Box::new(until_error(items.map(move |item| item.and_then(&step))));
    }
    let (send, receive) = mpsc::sync_channel(ahead - 1);
    // A thread that cannot be started takes its closure along: what is in it has to come back.
    let work = Arc::new(Mutex::new(Some((items, step, send))));
    let of_thread = Arc::clone(&work);
    let take = |work: &Mutex<Option<_>>| work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let started = thread::Builder::new().name("unigrad-upload".to_owned()).spawn(move || {
        let Some((items, step, send)) = take(&of_thread) else { return };
        for item in items {
            let made = caught(|| "an upload".to_owned(), || item.and_then(&step));
            let failed = made.is_err();
            if send.send(made).is_err() || failed {
                return;
            }
        }
    });
    match started {
        Ok(_) => Box::new(until_error(receive.into_iter())),
        Err(_) => match take(&work) {
            Some((items, step, _)) => Box::new(until_error(items.map(move |item| item.and_then(&step)))),
            None => Box::new(std::iter::once(Err(Error::Internal("a loader lost its batches".into())))),
        },
    }
}

/// Items up to and with the first error.
pub(crate) fn until_error<T>(mut items: impl Iterator<Item = Result<T>>) -> impl Iterator<Item = Result<T>> {
    let mut failed = false;
    std::iter::from_fn(move || {
        let item = if failed { None } else { items.next() };
        failed = matches!(item, Some(Err(_)));
        item
    })
    .fuse()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    #[test]
    fn results_come_in_order_and_no_more_than_asked_ahead() -> Result<()> {
        for workers in 0..5 {
            for ahead in [0, 1, 2, 7] {
                let (made, taken) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
                let (count, of_worker) = (Arc::clone(&made), Arc::clone(&taken));
                let results = ordered(3..40, workers, ahead, move |position| {
                    let made = count.fetch_add(1, SeqCst);
                    // One more may have been taken than was counted.
                    assert!(made <= of_worker.load(SeqCst) + ahead.max(workers) + 1, "{made}");
                    thread::sleep(std::time::Duration::from_micros((position * 37 % 5) as u64 * 50));
                    Ok(position)
                });
                for (at, result) in results.enumerate() {
                    assert_eq!(result?, at + 3);
                    taken.fetch_add(1, SeqCst);
                }
                assert_eq!(made.load(SeqCst), 37);
            }
        }
        Ok(())
    }

    #[test]
    fn a_panic_is_an_error_and_the_end() {
        for (workers, ahead) in [(0, 0), (0, 1), (1, 1), (3, 2)] {
            let results = ordered(0..9, workers, 2, |at| if at == 4 { panic!("bad {at}") } else { Ok(at) });
            let results: Vec<Result<usize>> = staged(results, ahead, Ok).collect();
            assert_eq!(results.len(), 5);
            let error = results.into_iter().next_back().map(|last| last.unwrap_err().to_string()).unwrap_or_default();
            assert!(error.contains("batch 4 panicked: bad 4"), "{error}");
        }
    }

    #[test]
    fn a_consumer_may_go_away() {
        let results = staged(ordered(0..1_000_000, 3, 4, Ok), 2, Ok);
        assert_eq!(results.take(2).filter_map(Result::ok).sum::<usize>(), 1);
    }
}
