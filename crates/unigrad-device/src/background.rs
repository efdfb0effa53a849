//! Futures of what waits: for programs that must not block a thread of theirs.
//!
//! In: work that blocks, or a driver's future. Out: a future of its result, for any executor.
//! Always: the work begins at once, on a thread of its own, and goes on if the future is dropped. Where there are no threads, as in browsers,
//! it is done at once; there only a driver's own future waits without blocking. A process that ends waits for what goes on (`end.rs`).
//! Never: needs a run-time library.

use crate::end::Running;
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

/// A future of a driver's, which blocks no thread.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What [`in_background`] gives.
pub struct Background<T>(Source<T>);

enum Source<T> {
    Thread(Arc<Mutex<State<T>>>),
    Driver(Pending<'static, T>),
}

impl<T: Send + 'static> Background<T> {
    /// A future by another name.
    pub fn of(future: impl Future<Output = T> + Send + 'static) -> Background<T> {
        Background(Source::Driver(Box::pin(future)))
    }
}

/// Runs `work` on a thread of its own, where there are threads.
///
/// ```
/// # fn block_on<T>(future: impl Future<Output = T>) -> T {
/// #     struct Unpark(std::thread::Thread);
/// #     impl std::task::Wake for Unpark { fn wake(self: std::sync::Arc<Self>) { self.0.unpark() } }
/// #     let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
/// #     let (mut future, mut context) = (std::pin::pin!(future), std::task::Context::from_waker(&waker));
/// #     loop { match future.as_mut().poll(&mut context) { std::task::Poll::Ready(v) => return v, _ => std::thread::park() } }
/// # }
/// assert_eq!(block_on(unigrad_device::in_background(|| 6 * 7)), 42);
/// ```
pub fn in_background<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Background<T> {
    if cfg!(target_family = "wasm") {
        return Background::of(std::future::ready(work()));
    }
    let state = Arc::new(Mutex::new(State::Running(None)));
    let shared = Arc::clone(&state);
    let running = Running::begin();
    std::thread::spawn(move || {
        let _running = running;
        let result = work();
        let before = std::mem::replace(&mut *shared.lock().unwrap_or_else(PoisonError::into_inner), State::Done(Some(result)));
        if let State::Running(Some(waker)) = before {
            waker.wake();
        }
    });
    Background(Source::Thread(state))
}

impl<T> Future for Background<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let state = match &mut self.0 {
            Source::Driver(future) => return future.as_mut().poll(context),
            Source::Thread(state) => state,
        };
        match &mut *state.lock().unwrap_or_else(PoisonError::into_inner) {
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
