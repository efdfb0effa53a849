//! The thread pool: `threads()` workers, the caller included, and a fixed partition.

/// How many threads a launch is split over.
pub(crate) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// Runs `task(0) … task(n - 1)`, spread over the pool, and returns when all are done. Task `t` always does the same work; which
/// thread runs it does not matter to the result. Calls from inside a task run in place.
pub(crate) fn parallel(n: usize, task: &(dyn Fn(usize) + Sync)) {
    if n <= 1 {
        (0..n).for_each(task);
        return;
    }
    std::thread::scope(|scope| {
        (1..n).for_each(|t| {
            scope.spawn(move || task(t));
        });
        task(0);
    });
}
