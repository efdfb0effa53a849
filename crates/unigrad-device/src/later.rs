//! Futures of what waits: for programs that must not block a thread of theirs.
//!
//! In: work that blocks. Out: a future of its result, for any executor.
//! Always: the work begins at once, on a thread of its own, and goes on if the future is dropped.
//! Never: needs a run-time library.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker},
};

enum State<T> {
    Running(Option<Waker>),
    Done(Option<T>),
}

/// What [`later`] gives.
pub struct Later<T>(Arc<Mutex<State<T>>>);

/// Runs `work` on a thread of its own.
///
/// ```
/// # fn block_on<T>(future: impl Future<Output = T>) -> T {
/// #     struct Unpark(std::thread::Thread);
/// #     impl std::task::Wake for Unpark { fn wake(self: std::sync::Arc<Self>) { self.0.unpark() } }
/// #     let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
/// #     let (mut future, mut context) = (std::pin::pin!(future), std::task::Context::from_waker(&waker));
/// #     loop { match future.as_mut().poll(&mut context) { std::task::Poll::Ready(v) => return v, _ => std::thread::park() } }
/// # }
/// assert_eq!(block_on(unigrad_device::later(|| 6 * 7)), 42);
/// ```
pub fn later<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Later<T> {
    let state = Arc::new(Mutex::new(State::Running(None)));
    let shared = Arc::clone(&state);
    std::thread::spawn(move || {
        let result = work();
        let before = std::mem::replace(&mut *shared.lock().unwrap_or_else(PoisonError::into_inner), State::Done(Some(result)));
        if let State::Running(Some(waker)) = before {
            waker.wake();
        }
    });
    Later(state)
}

impl<T> Future for Later<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Done(result) => match result.take() {
                Some(result) => Poll::Ready(result),
                // Polled again after its end, which the contract of `Future` leaves open.
                None => Poll::Pending,
            },
            State::Running(waker) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}
