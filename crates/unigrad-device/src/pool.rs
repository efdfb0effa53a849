//! The pool: driver memory in size classes, kept for reuse.
//!
//! In: sizes asked for. Out: blocks at least that large, and figures about them.
//! Always: a block is in use by one owner or in the free list, never both; a block in the free list belongs to work already queued,
//! and a driver runs work in order, so the next owner may use it at once. When memory runs out, the free list goes back to the
//! driver and the request is tried once more, at its exact size.
//! Never: calls the driver while the bookkeeping is locked, moves a block, or reads its contents.

use crate::{Budget, Error, MemoryPool, RawBuffer, device::Inner, tell};
use std::{
    cell::Cell,
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// The thread that gives memory back when devices are idle; it is started when the first device is to be watched.
mod idle {
    use crate::{Device, tell};
    use std::{
        sync::{Mutex, PoisonError},
        thread::{self, Thread},
        time::Duration,
    };

    static WATCHER: Mutex<Option<Thread>> = Mutex::new(None);
    /// Between two looks, at least.
    const SHORTEST: Duration = Duration::from_millis(5);
    /// And at most.
    const LONGEST: Duration = Duration::from_secs(3600);

    /// Looks at every device from now on, at once for those that are new.
    pub(super) fn watch() {
        let mut watcher = WATCHER.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = &*watcher {
            thread.unpark();
            return;
        }
        match thread::Builder::new().name("unigrad-idle".to_owned()).spawn(run) {
            Ok(handle) => *watcher = Some(handle.thread().clone()),
            Err(error) => tell(format_args!("unigrad: memory that waits for reuse is kept, for no thread can be started: {error}")),
        }
    }

    fn run() {
        loop {
            let next = Device::opened().into_iter().filter_map(|device| device.inner().sweep_pool()).min();
            thread::park_timeout(next.unwrap_or(LONGEST).clamp(SHORTEST, LONGEST));
        }
    }
}

/// The smallest block.
const MIN_BLOCK: usize = 256;
/// From here on blocks are multiples of [`LARGE_STEP`]: the classes' rounding would cost more than it saves.
const LARGE: usize = 64 << 20;
const LARGE_STEP: usize = 2 << 20;

/// The block size that serves a request of `bytes` (> 0), or `None` if no such block can exist.
pub(crate) fn block_size(bytes: usize) -> Option<usize> {
    if bytes <= MIN_BLOCK {
        return Some(MIN_BLOCK);
    }
    if bytes > isize::MAX as usize / 2 {
        return None;
    }
    let step = if bytes > LARGE { LARGE_STEP } else { (bytes.next_power_of_two() / 8).max(64) };
    Some(bytes.next_multiple_of(step))
}

/// The tag of a thread that has not chosen one.
const NO_TAG: &str = "other";

thread_local! {
    static TAG: Cell<&'static str> = const { Cell::new(NO_TAG) };
}

/// Runs `work`; what this thread allocates meanwhile is accounted to `tag` (`"parameters"`, `"gradients"`, …).
pub fn with_tag<T>(tag: &'static str, work: impl FnOnce() -> T) -> T {
    struct Restore(&'static str);
    impl Drop for Restore {
        fn drop(&mut self) {
            TAG.set(self.0);
        }
    }
    let _restore = Restore(TAG.replace(tag));
    work()
}

/// The tag of this thread's allocations; see [`with_tag`].
pub(crate) fn current_tag() -> &'static str {
    TAG.get()
}

/// The tag that this thread has chosen by [`with_tag`], else `default`.
pub fn tag_or(default: &'static str) -> &'static str {
    match current_tag() {
        NO_TAG => default,
        chosen => chosen,
    }
}

/// Memory figures of one device, in bytes where not said otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryStats {
    /// In blocks that buffers own.
    pub allocated: u64,
    /// Got from the driver: `allocated` and what waits for reuse.
    pub reserved: u64,
    /// The most that `allocated` has been (since [`crate::Device::reset_peak`]).
    pub peak: u64,
    /// What the driver has got for itself beside `reserved`: scratch between the steps of a kernel, words that programs report by, numbers that launches
    /// bring. It counts towards the cap.
    pub own: u64,
    /// Memory the device has, or the cap if one is set.
    pub total: u64,
    /// Memory that could still be got, without what waits for reuse; 0 when unknown.
    pub free: u64,
    /// Buffers alive.
    pub n_buffers: u64,
    /// Allocations the driver has made so far.
    pub n_allocations: u64,
    /// Per tag, largest user first.
    pub tags: Vec<TagStats>,
}

/// What the buffers of one tag use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TagStats {
    /// See [`with_tag`].
    pub tag: &'static str,
    /// Bytes in use.
    pub allocated: u64,
    /// The most that was in use at once.
    pub peak: u64,
    /// Buffers alive.
    pub n_buffers: u64,
}

#[derive(Debug, Default)]
struct State {
    /// Free blocks by size; the last one freed is the first one reused, for it is likely still in a cache. Lists that ran empty stay.
    free: BTreeMap<usize, Vec<RawBuffer>>,
    allocated: u64,
    reserved: u64,
    peak: u64,
    n_buffers: u64,
    cap: Option<u64>,
    policy: MemoryPool,
    /// Bytes in `free`.
    waiting: u64,
    /// Whether the user was told that the device is nearly full.
    warned: bool,
    /// Reserved bytes from which on it is worth asking whether it is.
    look_at: u64,
    /// When memory was last asked for or given back, where the policy wants to know.
    touched: Option<Instant>,
    tags: Vec<TagStats>,
}

#[derive(Debug, Default)]
pub(crate) struct Pool {
    state: Mutex<State>,
    n_allocations: AtomicU64,
    budget: Arc<Budget>,
}

impl State {
    fn tag(&mut self, tag: &'static str) -> &mut TagStats {
        let at = self.tags.iter().position(|t| t.tag == tag).unwrap_or_else(|| {
            self.tags.push(TagStats { tag, ..TagStats::default() });
            self.tags.len() - 1
        });
        &mut self.tags[at]
    }

    fn acquire(&mut self, bytes: usize, tag: &'static str) {
        self.allocated += bytes as u64;
        self.peak = self.peak.max(self.allocated);
        self.n_buffers += 1;
        let tag = self.tag(tag);
        tag.allocated += bytes as u64;
        tag.peak = tag.peak.max(tag.allocated);
        tag.n_buffers += 1;
    }

    /// A free block of `size`, or one so little larger that it would not be missed.
    fn take(&mut self, size: usize) -> Option<RawBuffer> {
        // Below the cap, which may have been set after the block was got.
        let room = self.cap.map_or(u64::MAX, |cap| cap.saturating_sub(self.allocated));
        let most = usize::try_from(room).unwrap_or(usize::MAX).min(size + size / 4);
        if most < size {
            return None;
        }
        let block = self.free.range_mut(size..=most).find_map(|(_, blocks)| blocks.pop())?;
        self.waiting -= block.bytes as u64;
        Some(block)
    }

    fn touch(&mut self) {
        if matches!(self.policy, MemoryPool::Idle(_)) {
            self.touched = Some(Instant::now());
        }
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A block of at least `bytes` (> 0).
    pub(crate) fn allocate(&self, device: &Inner, name: &str, bytes: usize, tag: &'static str) -> Result<RawBuffer, Error> {
        let Some(size) = block_size(bytes) else {
            return Err(self.out_of_memory(device, name, bytes));
        };
        {
            let mut state = self.lock();
            state.touch();
            if let Some(block) = state.take(size) {
                state.acquire(block.bytes, tag);
                return Ok(block);
            }
        }
        match self.grow(device, size, tag) {
            Ok(Some(block)) => return Ok(block),
            Ok(None) | Err(Error::OutOfMemory { .. }) => {}
            Err(other) => return Err(other),
        }
        self.clear(device);
        match self.grow(device, bytes.next_multiple_of(MIN_BLOCK), tag) {
            Ok(Some(block)) => Ok(block),
            Ok(None) | Err(Error::OutOfMemory { .. }) => Err(self.out_of_memory(device, name, bytes)),
            Err(other) => Err(other),
        }
    }

    /// A new block; `None` if the cap forbids it.
    fn grow(&self, device: &Inner, size: usize, tag: &'static str) -> Result<Option<RawBuffer>, Error> {
        // Counted before it is there, so that two threads cannot pass the cap together.
        if !self.budget.take(size as u64) {
            return Ok(None);
        }
        self.lock().reserved += size as u64;
        let result = device.take(size);
        let mut state = self.lock();
        match result {
            Ok(block) => {
                self.n_allocations.fetch_add(1, Ordering::Relaxed);
                state.reserved = state.reserved - size as u64 + block.bytes as u64;
                self.budget.correct(size as u64, block.bytes as u64);
                state.acquire(block.bytes, tag);
                let look = !state.warned && state.reserved >= state.look_at;
                drop(state);
                if look {
                    self.warn_if_full(device);
                }
                Ok(Some(block))
            }
            Err(error) => {
                state.reserved -= size as u64;
                self.budget.give(size as u64);
                Err(error)
            }
        }
    }

    /// Says once on standard error that more than 90 % of the memory is in use. Asking the driver or the system takes longer than most
    /// allocations do: it is asked again when a 64th of the memory has been taken since.
    fn warn_if_full(&self, device: &Inner) {
        let stats = self.stats(device);
        let used = stats.total.saturating_sub(stats.free);
        // A device that does not tell has total 0.
        let is_full = stats.total > 0 && stats.reserved * 2 >= stats.total && used * 10 > stats.total * 9;
        let mut state = self.lock();
        if state.warned || !is_full {
            let next = (stats.total / 2).max(stats.reserved.saturating_add(stats.total / 64));
            state.look_at = if stats.total == 0 { u64::MAX } else { next };
            return;
        }
        state.warned = true;
        drop(state);
        let name = device.open.info().device();
        let (total, ours) = (stats.total, stats.allocated);
        tell(format_args!(
            "unigrad: warning: {name}: {:.0} % of its memory is in use, {used} of {total} bytes ({ours} by tensors of this process)\n help: use a smaller batch, or free tensors",
            100.0 * used as f64 / total as f64
        ));
    }

    /// Takes a block back, or hands it to the driver if the policy says so.
    pub(crate) fn release(&self, device: &Inner, block: RawBuffer, tag: &'static str) {
        let mut state = self.lock();
        state.touch();
        let bytes = block.bytes as u64;
        state.allocated -= bytes;
        state.n_buffers -= 1;
        let entry = state.tag(tag);
        entry.allocated -= bytes;
        entry.n_buffers -= 1;
        let keep = match state.policy {
            MemoryPool::On | MemoryPool::Idle(_) => true,
            MemoryPool::Off => false,
            MemoryPool::Limit(limit) => state.waiting + bytes <= limit,
        };
        if keep {
            state.waiting += bytes;
            state.free.entry(block.bytes).or_default().push(block);
        } else {
            state.reserved -= bytes;
            drop(state);
            device.give(block);
            self.budget.give(bytes);
        }
    }

    /// Gives what waits for reuse back to the driver; returns how many bytes that was.
    pub(crate) fn clear(&self, device: &Inner) -> u64 {
        let blocks = {
            let mut state = self.lock();
            state.waiting = 0;
            std::mem::take(&mut state.free)
        };
        let mut bytes = 0;
        for block in blocks.into_values().flatten() {
            bytes += block.bytes as u64;
            device.give(block);
        }
        self.lock().reserved -= bytes;
        self.budget.give(bytes);
        bytes
    }

    pub(crate) fn set_policy(&self, policy: MemoryPool) {
        {
            let mut state = self.lock();
            state.policy = policy;
            state.touch();
        }
        if matches!(policy, MemoryPool::Idle(_)) {
            idle::watch();
        }
    }

    /// Gives memory back that has waited long enough. In how long to look again, if the policy is one of time.
    pub(crate) fn sweep(&self, device: &Inner) -> Option<Duration> {
        let (time, idle) = {
            let state = self.lock();
            let MemoryPool::Idle(time) = state.policy else { return None };
            let idle = state.touched.map_or(Duration::ZERO, |touched| touched.elapsed());
            if state.waiting == 0 || idle < time {
                return Some(if state.waiting == 0 { time } else { time - idle });
            }
            (time, idle)
        };
        if idle >= time {
            self.clear(device);
        }
        Some(time)
    }

    pub(crate) fn set_cap(&self, cap: Option<u64>) {
        let mut state = self.lock();
        (state.cap, state.look_at) = (cap, 0);
        self.budget.set_cap(cap);
    }

    pub(crate) fn reset_peak(&self) {
        let mut state = self.lock();
        state.peak = state.allocated;
        state.tags.iter_mut().for_each(|t| t.peak = t.allocated);
    }

    /// The count that the driver shares.
    pub(crate) fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    pub(crate) fn allocated(&self) -> u64 {
        self.lock().allocated
    }

    pub(crate) fn n_allocations(&self) -> u64 {
        self.n_allocations.load(Ordering::Relaxed)
    }

    pub(crate) fn stats(&self, device: &Inner) -> MemoryStats {
        let info = device.open.info();
        let state = self.lock();
        let mut stats = MemoryStats {
            allocated: state.allocated,
            reserved: state.reserved,
            peak: state.peak,
            own: self.budget.own(),
            total: info.memory_total,
            free: info.memory_free,
            n_buffers: state.n_buffers,
            n_allocations: self.n_allocations(),
            tags: state.tags.clone(),
        };
        if let Some(cap) = state.cap {
            let left = self.budget.left();
            stats.free = if info.memory_total == 0 { left } else { stats.free.min(left) };
            stats.total = if info.memory_total == 0 { cap } else { stats.total.min(cap) };
        }
        stats.tags.sort_by_key(|t| std::cmp::Reverse(t.allocated));
        stats
    }

    fn out_of_memory(&self, device: &Inner, name: &str, bytes: usize) -> Error {
        let stats = self.stats(device);
        let users: Vec<String> = stats
            .tags
            .iter()
            .filter(|t| t.allocated > 0)
            .take(4)
            .map(|t| format!("{} {} in {}", t.tag, t.allocated, t.n_buffers))
            .collect();
        let own = (stats.own > 0).then(|| format!("the driver's own {}", stats.own));
        let users: Vec<String> = users.into_iter().chain(own).collect();
        let mut largest = if users.is_empty() { String::new() } else { format!(" (largest: {})", users.join(", ")) };
        if let Some(cap) = self.lock().cap.filter(|cap| *cap <= stats.total) {
            largest += &format!("; this process may take {cap} bytes (UNIGRAD_MEMORY_CAP, `set_memory_cap`)");
        }
        Error::OutOfMemory {
            device: name.to_owned(),
            asked: bytes as u64,
            free: stats.free,
            total: stats.total,
            in_use: stats.allocated,
            largest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_waste_little() {
        for bytes in (1..5000usize).chain((1..200).map(|i| i * 1_234_567)) {
            let size = block_size(bytes).unwrap();
            assert!(size >= bytes && size.is_multiple_of(64), "{bytes} {size}");
            assert!(size <= MIN_BLOCK || size - bytes < bytes / 4 + 64, "{bytes} {size}");
            assert_eq!(block_size(size), Some(size), "a class is its own class");
        }
        assert_eq!(block_size(usize::MAX), None);
    }

    #[test]
    fn tags_nest() {
        assert_eq!(current_tag(), "other");
        with_tag("a", || {
            with_tag("b", || assert_eq!(current_tag(), "b"));
            assert_eq!(current_tag(), "a");
        });
        assert_eq!(current_tag(), "other");
    }
}
