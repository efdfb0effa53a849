//! Worker threads whose results come in order.
//!
//! In: a range of positions, and what makes the parts of a result and joins them ([`Recipe`]). Out: the results, in order of position, whatever threads made
//! their parts when.
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

/// How results are made: each of parts, which threads make side by side, so that the first result is there as soon as all threads together can make it.
pub(crate) trait Recipe: Send + Sync + 'static {
    type Part: Send;
    type Whole: Send;

    /// How many parts the result of a position has: at least one.
    fn n_parts(&self, position: usize) -> usize;

    fn part(&self, position: usize, part: usize) -> Result<Self::Part>;

    /// The result of all parts, in order.
    fn join(&self, position: usize, parts: Vec<Self::Part>) -> Result<Self::Whole>;
}

/// A function whose results have one part each.
pub(crate) struct Each<F>(pub(crate) F);

impl<T: Send, F: Fn(usize) -> Result<T> + Send + Sync + 'static> Recipe for Each<F> {
    type Part = T;
    type Whole = T;

    fn n_parts(&self, _: usize) -> usize {
        1
    }

    fn part(&self, position: usize, _: usize) -> Result<T> {
        (self.0)(position)
    }

    fn join(&self, _: usize, parts: Vec<T>) -> Result<T> {
        parts.into_iter().next().ok_or_else(|| Error::Internal("a result without parts".into()))
    }
}

struct State<R: Recipe> {
    /// The position and part that the next free worker takes.
    next: (usize, usize),
    /// The position that the consumer is given next.
    wanted: usize,
    /// Of positions that are begun; a part that is not there yet is `None`.
    parts: BTreeMap<usize, Vec<Option<Result<R::Part>>>>,
    made: BTreeMap<usize, Result<R::Whole>>,
    /// Workers that run.
    alive: usize,
    stopped: bool,
}

struct Monitor<R: Recipe> {
    state: Mutex<State<R>>,
    changed: Condvar,
}

impl<R: Recipe> Monitor<R> {
    fn lock(&self) -> MutexGuard<'_, State<R>> {
        // No code of a user runs under the lock, so what it guards is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<R>>) -> MutexGuard<'a, State<R>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

/// A worker's place among the living, given up however it ends.
struct Alive<R: Recipe>(Arc<Monitor<R>>);

impl<R: Recipe> Drop for Alive<R> {
    fn drop(&mut self) {
        self.0.lock().alive -= 1;
        self.0.changed.notify_all();
    }
}

/// Results in order of position.
pub(crate) struct Ordered<R: Recipe> {
    monitor: Arc<Monitor<R>>,
    recipe: Arc<R>,
    threads: bool,
    end: usize,
}

/// The results of `positions`, made by `workers` threads, at most `ahead` of them (at least one a thread) before they are taken.
pub(crate) fn ordered<R: Recipe>(positions: Range<usize>, workers: usize, ahead: usize, recipe: R) -> Ordered<R> {
    let (recipe, end) = (Arc::new(recipe), positions.end);
    let next = (positions.start, 0);
    let state = State { next, wanted: positions.start, parts: BTreeMap::new(), made: BTreeMap::new(), alive: 0, stopped: false };
    let monitor = Arc::new(Monitor { state: Mutex::new(state), changed: Condvar::new() });
    let workers = if positions.is_empty() { 0 } else { workers };
    let ahead = ahead.max(workers);
    let mut threads = false;
    for number in 0..workers {
        monitor.lock().alive += 1;
        let (alive, recipe) = (Alive(Arc::clone(&monitor)), Arc::clone(&recipe));
        let named = thread::Builder::new().name(format!("unigrad-data-{number}"));
        // What could not be started gives its place up when the closure is dropped.
        threads |= named.spawn(move || work(&alive.0, &*recipe, end, ahead)).is_ok();
    }
    Ordered { monitor, recipe, threads, end }
}

fn work<R: Recipe>(monitor: &Monitor<R>, recipe: &R, end: usize, ahead: usize) {
    loop {
        let mut state = monitor.lock();
        while !state.stopped && state.next.0 < end && state.next.0 - state.wanted >= ahead {
            state = monitor.wait(state);
        }
        if state.stopped || state.next.0 >= end {
            return;
        }
        let (position, part) = state.next;
        let n_parts = recipe.n_parts(position);
        state.parts.entry(position).or_insert_with(|| (0..n_parts).map(|_| None).collect());
        state.next = if part + 1 < n_parts { (position, part + 1) } else { (position + 1, 0) };
        drop(state);
        let made = caught(|| format!("batch {position}"), || recipe.part(position, part));
        let mut state = monitor.lock();
        if let Some(place) = state.parts.get_mut(&position).and_then(|parts| parts.get_mut(part)) {
            *place = Some(made);
        }
        let is_whole = state.parts.get(&position).is_some_and(|parts| parts.iter().all(Option::is_some));
        // The thread that makes the last part joins them.
        let Some(parts) = is_whole.then(|| state.parts.remove(&position)).flatten() else { continue };
        drop(state);
        let made = joined(recipe, position, parts.into_iter().flatten());
        monitor.lock().made.insert(position, made);
        monitor.changed.notify_all();
    }
}

/// The result of a position, or the error of its first part that failed.
fn joined<R: Recipe>(recipe: &R, position: usize, parts: impl Iterator<Item = Result<R::Part>>) -> Result<R::Whole> {
    let parts = parts.collect::<Result<Vec<R::Part>>>()?;
    caught(|| format!("batch {position}"), || recipe.join(position, parts))
}

impl<R: Recipe> Iterator for Ordered<R> {
    type Item = Result<R::Whole>;

    fn next(&mut self) -> Option<Result<R::Whole>> {
        let mut state = self.monitor.lock();
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
                state = self.monitor.wait(state);
            }
        } else {
            drop(state);
            let recipe = &*self.recipe;
            let part = |part| caught(|| format!("batch {position}"), || recipe.part(position, part));
            let made = joined(recipe, position, (0..recipe.n_parts(position)).map(part));
            state = self.monitor.lock();
            made
        };
        state.wanted = position + 1;
        state.stopped |= made.is_err();
        drop(state);
        self.monitor.changed.notify_all();
        Some(made)
    }
}

impl<R: Recipe> Drop for Ordered<R> {
    fn drop(&mut self) {
        self.monitor.lock().stopped = true;
        self.monitor.changed.notify_all();
    }
}

/// What `step` makes of `items`, on a thread of its own, `ahead` results before they are asked for; with 0, or without a thread, when they are.
pub(crate) fn staged<R: Recipe, B: Send + 'static>(
    items: Ordered<R>,
    ahead: usize,
    step: impl Fn(R::Whole) -> Result<B> + Send + Sync + 'static,
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

    /// A function of positions, with so many parts each.
    struct Plain<F>(usize, F);

    impl<T: Send + 'static, F: Fn(usize) -> Result<T> + Send + Sync + 'static> Recipe for Plain<F> {
        type Part = (usize, Option<T>);
        type Whole = T;

        fn n_parts(&self, position: usize) -> usize {
            // One more or less, so that they are not all alike.
            (self.0 + position % 2 - usize::from(self.0 > 1)).max(1)
        }

        fn part(&self, position: usize, part: usize) -> Result<(usize, Option<T>)> {
            // The value is in the last part.
            let last = part + 1 == self.n_parts(position);
            Ok((part, if last { Some((self.1)(position)?) } else { None }))
        }

        fn join(&self, position: usize, parts: Vec<(usize, Option<T>)>) -> Result<T> {
            assert_eq!(parts.len(), self.n_parts(position));
            assert!(parts.iter().enumerate().all(|(at, (part, _))| at == *part));
            parts.into_iter().find_map(|(_, value)| value).ok_or_else(|| Error::Internal("no value".into()))
        }
    }

    #[test]
    fn results_come_in_order_and_no_more_than_asked_ahead() -> Result<()> {
        for (workers, n_parts) in (0..5).flat_map(|workers| [0, 1, 2, 5].map(|n_parts| (workers, n_parts))) {
            for ahead in [0, 1, 2, 7] {
                let (made, taken) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
                let (count, of_worker) = (Arc::clone(&made), Arc::clone(&taken));
                let results = ordered(
                    3..40,
                    workers,
                    ahead,
                    Plain(n_parts, move |position: usize| {
                        let made = count.fetch_add(1, SeqCst);
                        // One more may have been taken than was counted.
                        assert!(made <= of_worker.load(SeqCst) + ahead.max(workers) + 1, "{made}");
                        thread::sleep(std::time::Duration::from_micros((position * 37 % 5) as u64 * 50));
                        Ok(position)
                    }),
                );
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
            let results = ordered(0..9, workers, 2, Plain(workers, |at: usize| if at == 4 { panic!("bad {at}") } else { Ok(at) }));
            let results: Vec<Result<usize>> = staged(results, ahead, Ok).collect();
            assert_eq!(results.len(), 5);
            let error = results.into_iter().next_back().map(|last| last.unwrap_err().to_string()).unwrap_or_default();
            assert!(error.contains("batch 4 panicked: bad 4"), "{error}");
        }
    }

    #[test]
    fn a_consumer_may_go_away() {
        let results = staged(ordered(0..1_000_000, 3, 4, Plain(3, Ok)), 2, Ok);
        assert_eq!(results.take(2).filter_map(Result::ok).sum::<usize>(), 1);
    }
}
