//! The thread pool: `threads()` workers, the caller included, and a fixed partition.
//!
//! In: a number of tasks and a function of the task's number. Out: every task ran exactly once, on some thread.
//! Always: the caller works too, so tasks finish even if no worker could be started; a launch costs a few microseconds, as
//! idle workers spin for a moment before they sleep; a panic in a task reaches the caller after all other tasks are done.
//! Never: what a task computes depends on the thread that runs it; a call waits for another caller's work (it runs in place).
//! Runs beside other programs: its tests wait for what happens, not for how long.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};
use unigrad_device::{Config, MAX_THREADS};

/// How long an idle worker, or a caller with nothing left to do, looks at memory before it sleeps.
const SPIN: Duration = Duration::from_micros(30);

/// 0 until the first use.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// How many threads a launch is split over: what [`set_threads`] said, or `UNIGRAD_THREADS`, or the machine's parallelism.
pub fn threads() -> usize {
    match THREADS.load(Ordering::Relaxed) {
        0 => {
            let named = Config::current_or_default().threads;
            let n = named.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get())).clamp(1, MAX_THREADS);
            // A concurrent `set_threads` wins.
            match THREADS.compare_exchange(0, n, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => n,
                Err(set) => set,
            }
        }
        n => n,
    }
}

/// Splits later launches over `n` threads (at least 1, at most [`MAX_THREADS`]). Results do not depend on it.
pub fn set_threads(n: usize) {
    THREADS.store(n.clamp(1, MAX_THREADS), Ordering::Relaxed);
}

/// A task function whose borrow is erased; it lives until the job is done, for which `parallel` waits.
type Task = *const (dyn Fn(usize) + Sync);

/// One job at a time, and the threads that wait for it.
struct Pool {
    /// Held by the caller whose job runs; inside: how many workers were started.
    owner: Mutex<usize>,
    /// Job number in the high half, tasks not yet claimed in the low half. A claim succeeds only while the job is unfinished,
    /// therefore a thread that succeeds has read `task` and `n` of this very job.
    state: AtomicU64,
    /// Points to the caller's `Task`, a fat pointer.
    task: AtomicPtr<Task>,
    n: AtomicUsize,
    /// Tasks done.
    done: AtomicUsize,
    sleepers: AtomicUsize,
    caller_sleeps: AtomicBool,
    lock: Mutex<()>,
    work: Condvar,
    finished: Condvar,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

static POOL: Pool = Pool {
    owner: Mutex::new(0),
    state: AtomicU64::new(0),
    task: AtomicPtr::new(std::ptr::null_mut()),
    n: AtomicUsize::new(0),
    done: AtomicUsize::new(0),
    sleepers: AtomicUsize::new(0),
    caller_sleeps: AtomicBool::new(false),
    lock: Mutex::new(()),
    work: Condvar::new(),
    finished: Condvar::new(),
    panic: Mutex::new(None),
};

thread_local! {
    /// Whether this thread is inside a task.
    static IN_TASK: Cell<bool> = const { Cell::new(false) };
}

const UNCLAIMED: u64 = 0xffff_ffff;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `task(0) … task(n - 1)`, spread over the pool, and returns when all are done. Task `t` always does the same work; which
/// thread runs it does not matter to the result. Calls from inside a task run in place.
pub(crate) fn parallel(n: usize, task: &(dyn Fn(usize) + Sync)) {
    let n_threads = threads();
    if n <= 1 || n_threads <= 1 || n as u64 > UNCLAIMED || IN_TASK.get() {
        (0..n).for_each(task);
        return;
    }
    let mut n_workers = match POOL.owner.try_lock() {
        Ok(guard) => guard,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => {
            (0..n).for_each(task);
            return;
        }
    };
    while *n_workers + 1 < n_threads {
        let index = *n_workers;
        if std::thread::Builder::new().name(format!("unigrad-cpu-{index}")).spawn(move || POOL.serve(index)).is_err() {
            break; // fewer threads: slower, but right
        }
        *n_workers += 1;
    }
    // SAFETY: only the lifetime changes; `run` returns after the last use.
    let erased: Task = unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), Task>(task) };
    POOL.run(n, &erased);
    let panic = lock(&POOL.panic).take();
    drop(n_workers);
    if let Some(payload) = panic {
        resume_unwind(payload);
    }
}

impl Pool {
    /// Publishes a job, takes part in it and waits for its end. The caller holds `owner`.
    fn run(&self, n: usize, task: &Task) {
        self.done.store(0, Ordering::Relaxed);
        self.n.store(n, Ordering::Relaxed);
        self.task.store(std::ptr::from_ref(task).cast_mut(), Ordering::Relaxed);
        let job = (self.state.load(Ordering::Relaxed) >> 32).wrapping_add(1);
        // `SeqCst`, here and where a worker goes to sleep: either it sees the job, or we see the sleeper.
        self.state.store((job << 32) | n as u64, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            let _guard = lock(&self.lock);
            self.work.notify_all();
        }
        self.help();
        let start = Instant::now();
        while self.done.load(Ordering::Acquire) < n {
            if start.elapsed() < SPIN {
                std::hint::spin_loop();
                continue;
            }
            let mut guard = lock(&self.lock);
            self.caller_sleeps.store(true, Ordering::SeqCst);
            while self.done.load(Ordering::SeqCst) < n {
                guard = self.finished.wait(guard).unwrap_or_else(PoisonError::into_inner);
            }
            self.caller_sleeps.store(false, Ordering::Relaxed);
        }
    }

    /// Claims and runs tasks of the current job until none is left to claim.
    fn help(&self) {
        let mut state = self.state.load(Ordering::Acquire);
        while state & UNCLAIMED != 0 {
            let task = self.task.load(Ordering::Relaxed);
            let n = self.n.load(Ordering::Relaxed);
            match self.state.compare_exchange_weak(state, state - 1, Ordering::AcqRel, Ordering::Acquire) {
                Err(now) => state = now,
                Ok(_) => {
                    let index = n - (state & UNCLAIMED) as usize;
                    let outcome = catch_unwind(AssertUnwindSafe(|| {
                        IN_TASK.set(true);
                        // SAFETY: the claim succeeded, so the job is unfinished and its caller still waits: the pointers are
                        // this job's, and alive.
                        unsafe { (**task)(index) }
                    }));
                    IN_TASK.set(false);
                    if let Err(payload) = outcome {
                        lock(&self.panic).get_or_insert(payload);
                    }
                    let done = self.done.fetch_add(1, Ordering::SeqCst) + 1;
                    if done == n && self.caller_sleeps.load(Ordering::SeqCst) {
                        let _guard = lock(&self.lock);
                        self.finished.notify_all();
                    }
                    state = self.state.load(Ordering::Acquire);
                }
            }
        }
    }

    /// A worker's life.
    fn serve(&self, index: usize) {
        loop {
            let wanted = || index + 1 < threads() && self.state.load(Ordering::SeqCst) & UNCLAIMED != 0;
            let start = Instant::now();
            let mut spins = 0u32;
            while !wanted() && (spins & 63 != 63 || start.elapsed() < SPIN) {
                std::hint::spin_loop();
                spins = spins.wrapping_add(1);
            }
            if !wanted() {
                let mut guard = lock(&self.lock);
                self.sleepers.fetch_add(1, Ordering::SeqCst);
                while !wanted() {
                    guard = self.work.wait(guard).unwrap_or_else(PoisonError::into_inner);
                }
                self.sleepers.fetch_sub(1, Ordering::Relaxed);
            }
            self.help();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_runs_once() {
        for n in [0, 1, 2, 3, 7, 100] {
            for _ in 0..200 {
                let counts: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
                parallel(n, &|t| {
                    counts[t].fetch_add(1, Ordering::Relaxed);
                });
                assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) == 1));
            }
        }
    }

    #[test]
    fn nested_and_concurrent_calls_finish() {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let sum = AtomicUsize::new(0);
                        parallel(5, &|t| {
                            parallel(3, &|u| {
                                sum.fetch_add(t * 3 + u, Ordering::Relaxed);
                            })
                        });
                        assert_eq!(sum.into_inner(), (0..15).sum::<usize>());
                    }
                });
            }
        });
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_lives_on() {
        for victim in 0..4 {
            let ran = AtomicUsize::new(0);
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                parallel(4, &|t| {
                    ran.fetch_add(1, Ordering::Relaxed);
                    assert!(t != victim, "boom");
                })
            }));
            assert!(outcome.is_err() || ran.load(Ordering::Relaxed) < 4);
        }
        every_task_runs_once();
    }

    #[test]
    fn sleeping_workers_wake() {
        for _ in 0..5 {
            std::thread::sleep(Duration::from_millis(2));
            let sum = AtomicUsize::new(0);
            parallel(8, &|t| {
                sum.fetch_add(t, Ordering::Relaxed);
            });
            assert_eq!(sum.into_inner(), 28);
        }
    }
}
