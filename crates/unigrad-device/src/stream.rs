//! Streams: further queues of a device, and the order between them.
//!
//! In: work given to a device, each piece in the stream that is current on the thread. Out: the same work on the driver's queues, after the
//! waits that its buffers ask for.
//! Always: what reads a buffer runs after its last writer, what writes it after all its readers, on whatever queues they are. Memory that
//! the pool hands out again is a buffer like any other here, so reuse is safe across streams too. Big copies between host and device take
//! a queue of their own, so that they run beside kernels.
//! Never: costs more than one relaxed load while a device has one queue.

use crate::{Device, Error, Event, Mark, OpenDevice, RawBuffer, device::Inner};
use std::{
    cell::RefCell,
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// Copies from this many bytes on take the queue for copies.
pub(crate) const BIG_COPY: usize = 1 << 20;
/// Marks of a queue that are remembered: work older than all of them is waited for by the oldest.
const MARKS: usize = 64;
/// A device's first queue.
pub(crate) const MAIN: u32 = 0;

thread_local! {
    /// Per device the stream of this thread, where it is not the main one.
    static CURRENT: RefCell<Vec<(u32, u32)>> = const { RefCell::new(Vec::new()) };
}

/// How far a queue is: pieces of work given to it.
type Clock = u64;

/// Where a buffer was used last.
#[derive(Debug, Default)]
struct Uses {
    write: Option<(u32, Clock)>,
    /// Since that write, at most one entry a queue.
    reads: Vec<(u32, Clock)>,
}

struct Queue {
    open: Arc<dyn OpenDevice>,
    clock: Clock,
    /// Marks after the work of these clocks, oldest first.
    marks: VecDeque<(Clock, Mark)>,
    /// Per queue, up to where this one has waited for it.
    known: HashMap<u32, Clock>,
}

#[derive(Default)]
struct State {
    queues: Vec<Queue>,
    /// Queues whose stream is gone.
    idle: Vec<u32>,
    /// The queue of big copies, or that there is none.
    copies: Option<Option<u32>>,
    uses: HashMap<u64, Uses>,
}

/// The queues of a device.
#[derive(Default)]
pub(crate) struct Queues {
    /// Whether there is more than one.
    several: AtomicBool,
    state: Mutex<State>,
}

/// What a piece of work does with a buffer: its handle, and whether it writes.
pub(crate) type Use = (u64, bool);

impl State {
    /// Lets `queue` wait for what the buffers' last users have queued.
    fn order(&mut self, queue: u32, uses: &[Use]) -> Result<(), Error> {
        let mut needed: Vec<(u32, Clock)> = Vec::new();
        if uses.iter().any(|(handle, _)| !self.uses.contains_key(handle)) {
            // Used before an account was kept, on the main queue: written at the latest by what that one has now.
            self.queues[MAIN as usize].clock += 1;
        }
        for (handle, writes) in uses {
            let before = self.queues[MAIN as usize].clock;
            let known = self.uses.entry(*handle).or_insert_with(|| Uses { write: Some((MAIN, before)), reads: Vec::new() });
            let readers = if *writes { known.reads.as_slice() } else { &[] };
            for (other, clock) in known.write.iter().chain(readers) {
                if *other != queue && self.queues[queue as usize].known.get(other).is_none_or(|seen| seen < clock) {
                    match needed.iter_mut().find(|(have, _)| have == other) {
                        Some((_, have)) => *have = (*have).max(*clock),
                        None => needed.push((*other, *clock)),
                    }
                }
            }
        }
        needed.into_iter().try_for_each(|(other, clock)| self.wait(queue, other, clock))
    }

    fn wait(&mut self, queue: u32, other: u32, clock: Clock) -> Result<(), Error> {
        if self.queues[other as usize].marks.iter().all(|(at, _)| *at < clock) {
            self.mark(other)?;
        }
        let reached = match self.queues[other as usize].marks.iter().find(|(at, _)| *at >= clock) {
            Some((at, mark)) => {
                if !self.queues[queue as usize].open.wait_for_peer(mark)? {
                    self.queues[other as usize].open.wait(mark)?;
                }
                *at
            }
            // Work there is done when it was given.
            None => self.queues[other as usize].clock,
        };
        self.queues[queue as usize].known.insert(other, reached);
        Ok(())
    }

    /// A mark after all work that the queue has.
    fn mark(&mut self, queue: u32) -> Result<(), Error> {
        let queue = &mut self.queues[queue as usize];
        if queue.marks.back().is_some_and(|(at, _)| *at == queue.clock) {
            return Ok(());
        }
        if let Some(mark) = queue.open.fence()? {
            if queue.marks.len() >= MARKS {
                queue.marks.pop_front();
            }
            queue.marks.push_back((queue.clock, mark));
        }
        Ok(())
    }

    fn note(&mut self, queue: u32, uses: &[Use]) {
        let at = &mut self.queues[queue as usize].clock;
        *at += 1;
        let now = (queue, *at);
        for (handle, writes) in uses {
            let known = self.uses.entry(*handle).or_default();
            if *writes {
                known.write = Some(now);
                known.reads.clear();
            } else {
                known.reads.retain(|(other, _)| *other != queue);
                known.reads.push(now);
            }
        }
    }

    /// An unused queue, or a new one; `None` if the backend has one only.
    fn queue(&mut self, main: &Arc<dyn OpenDevice>) -> Result<Option<u32>, Error> {
        if let Some(queue) = self.idle.pop() {
            return Ok(Some(queue));
        }
        let Some(open) = main.fork()? else { return Ok(None) };
        let queue = |open| Queue { open, clock: 0, marks: VecDeque::new(), known: HashMap::new() };
        if self.queues.is_empty() {
            self.queues.push(queue(Arc::clone(main)));
        }
        let number = self.queues.len() as u32;
        self.queues.push(queue(open));
        Ok(Some(number))
    }
}

impl Queues {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn several(&self) -> bool {
        self.several.load(Relaxed)
    }
}

impl Inner {
    /// The stream that this thread uses.
    pub(crate) fn current(&self) -> u32 {
        if !self.queues.several() {
            return MAIN;
        }
        CURRENT.with_borrow(|current| current.iter().rev().find(|(device, _)| *device == self.id).map_or(MAIN, |(_, queue)| *queue))
    }

    /// The driver's side of a queue.
    pub(crate) fn queue(&self, number: u32) -> Arc<dyn OpenDevice> {
        if number == MAIN {
            return Arc::clone(&self.open);
        }
        self.queues.lock().queues.get(number as usize).map_or_else(|| Arc::clone(&self.open), |queue| Arc::clone(&queue.open))
    }

    /// Does work with buffers on the thread's queue, after what it depends on.
    pub(crate) fn ordered<T>(
        &self,
        uses: impl FnOnce() -> Vec<Use>,
        work: impl FnOnce(&dyn OpenDevice) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if !self.queues.several() {
            return work(&*self.open);
        }
        self.ordered_on(self.current(), &uses(), work)
    }

    fn ordered_on<T>(&self, queue: u32, uses: &[Use], work: impl FnOnce(&dyn OpenDevice) -> Result<T, Error>) -> Result<T, Error> {
        let open = {
            let mut state = self.queues.lock();
            state.order(queue, uses)?;
            Arc::clone(&state.queues[queue as usize].open)
        };
        // Not under the lock, for it may wait. Another thread that uses the buffers meanwhile races anyway.
        let result = work(&*open);
        self.queues.lock().note(queue, uses);
        result
    }

    /// A copy between host and device: a big one takes the queue for copies, if the backend has further queues.
    pub(crate) fn moved<T>(&self, bytes: usize, used: Use, work: impl FnOnce(&dyn OpenDevice) -> Result<T, Error>) -> Result<T, Error> {
        if bytes < BIG_COPY || self.current() != MAIN {
            return self.ordered(|| vec![used], work);
        }
        let Some(queue) = self.queue_of_copies()? else { return self.ordered(|| vec![used], work) };
        let result = self.ordered_on(queue, &[used], work);
        // So that a reader waits for this copy, not for the one behind it.
        self.queues.lock().mark(queue)?;
        result
    }

    /// The queue of big copies, made when the first one comes.
    fn queue_of_copies(&self) -> Result<Option<u32>, Error> {
        let mut state = self.queues.lock();
        if let Some(known) = state.copies {
            return Ok(known);
        }
        let queue = self.further(&mut state)?;
        state.copies = Some(queue);
        Ok(queue)
    }

    /// A queue besides those in use; from the first one on, account is kept.
    fn further(&self, state: &mut State) -> Result<Option<u32>, Error> {
        let queue = state.queue(&self.open)?;
        self.queues.several.store(!state.queues.is_empty(), Relaxed);
        Ok(queue)
    }

    /// All work so far on the thread's queue can be waited for without what comes later.
    pub(crate) fn checkpoint(&self) -> Result<(), Error> {
        if self.queues.several() { self.queues.lock().mark(self.current()) } else { Ok(()) }
    }

    /// Every queue.
    pub(crate) fn each(&self, mut work: impl FnMut(&dyn OpenDevice) -> Result<(), Error>) -> Result<(), Error> {
        if !self.queues.several() {
            return work(&*self.open);
        }
        let all: Vec<_> = self.queues.lock().queues.iter().map(|queue| Arc::clone(&queue.open)).collect();
        // The first error is told, and the others are still waited for.
        all.iter().map(|open| work(&**open)).fold(Ok(()), Result::and)
    }

    /// Memory from the driver.
    pub(crate) fn take(&self, bytes: usize) -> Result<RawBuffer, Error> {
        if !self.queues.several() {
            return self.open.allocate(bytes);
        }
        let queue = self.current();
        let buffer = self.queue(queue).allocate(bytes)?;
        // It is there once the queue comes to it.
        self.queues.lock().note(queue, &[(buffer.handle, true)]);
        Ok(buffer)
    }

    /// Memory with this handle is there once the thread's queue comes to here.
    pub(crate) fn wrote(&self, handle: u64) {
        if self.queues.several() {
            self.queues.lock().note(self.current(), &[(handle, true)]);
        }
    }

    /// Memory with this handle is not the device's any more.
    pub(crate) fn forget_uses(&self, handle: u64) {
        if self.queues.several() {
            self.queues.lock().uses.remove(&handle);
        }
    }

    /// Memory back to the driver.
    pub(crate) fn give(&self, buffer: RawBuffer) {
        if self.queues.several() {
            let mut state = self.queues.lock();
            // A device that cannot even wait is lost, and its memory with it.
            let _ = state.order(MAIN, &[(buffer.handle, true)]);
            state.uses.remove(&buffer.handle);
        }
        self.open.free(buffer);
    }
}

/// A further queue of a device, whose work runs beside that of the others.
///
/// What is evaluated in [`Stream::run`] goes to this queue. Buffers carry the order: work waits for the writer of what it reads, on whatever
/// stream, so events are needed only to order what no tensor connects. A backend with one queue gives that one
/// ([`Stream::is_separate`] tells); programs need not know.
///
/// ```no_run
/// # fn main() -> Result<(), unigrad_device::Error> {
/// # let device = unigrad_device::Device::open("cpu:0")?;
/// let side = device.stream()?;
/// let buffer = side.run(|| device.allocate_with(&[0; 1024]))?; // copied beside what the device computes
/// let done = side.record()?;
/// device.wait_for(&done)?; // not needed by work that uses `buffer`
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Stream {
    device: Device,
    queue: u32,
}

impl Device {
    /// A further queue.
    pub fn stream(self) -> Result<Stream, Error> {
        let inner = self.inner();
        let queue = self.note(inner.further(&mut inner.queues.lock()))?;
        Ok(Stream { device: self, queue: queue.unwrap_or(MAIN) })
    }
}

impl Stream {
    /// Its device.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Whether it is a queue of its own; otherwise it is the device's only one.
    pub fn is_separate(&self) -> bool {
        self.queue != MAIN
    }

    /// Runs `work`; what this thread gives to the device meanwhile goes to this stream. Streams nest.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        struct Restore;
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.with_borrow_mut(|current| current.pop());
            }
        }
        CURRENT.with_borrow_mut(|current| current.push((self.device.id(), self.queue)));
        let _restore = Restore;
        work()
    }

    /// A point after the work given to this stream so far.
    pub fn record(&self) -> Result<Event, Error> {
        self.run(|| self.device.record())
    }

    /// Work given to this stream from now on waits for the event; see [`Device::wait_for`].
    pub fn wait_for(&self, event: &Event) -> Result<(), Error> {
        self.run(|| self.device.wait_for(event))
    }

    /// Waits for this stream's work, and reports its errors.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.device.note(self.device.inner().queue(self.queue).synchronize())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.queue != MAIN {
            self.device.inner().queues.lock().idle.push(self.queue);
        }
    }
}
