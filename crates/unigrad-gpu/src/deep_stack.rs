//! Room for a vendor's compiler: it may go deeper than the stack of the user's thread that asks.
//!
//! In: work. Out: its result. Always: done when this returns; a panic goes on in the thread that asked.
//! Never: keeps a thread.

use std::{panic::resume_unwind, thread};

/// Bytes: what a program's main thread has on most systems, and so what compilers are tried with.
const STACK: usize = 8 << 20;

/// Does the work on a thread with a large stack; where there are no threads, here.
pub(crate) fn with_room<T: Send>(work: impl Fn() -> T + Sync) -> T {
    thread::scope(|scope| {
        let roomy = thread::Builder::new().name("unigrad-compile".to_owned()).stack_size(STACK);
        match roomy.spawn_scoped(scope, &work).map(thread::ScopedJoinHandle::join) {
            Ok(Ok(made)) => made,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => work(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_thread_has_room() {
        #[inline(never)]
        fn deep(left: usize) -> usize {
            let frame = std::hint::black_box([left; 512]);
            if left == 0 { 0 } else { frame[left % 512] + deep(left - 1) - left + 1 }
        }
        let small = thread::Builder::new().stack_size(64 << 10).spawn(|| with_room(|| deep(1000))).unwrap();
        assert_eq!(small.join().unwrap(), 1000);
    }
}
