//! Objects that threads of Python share, and that one thread at a time works with.
//!
//! Always: a thread that waits for its turn lets go of the interpreter meanwhile: the one whose turn it is may need it (to hear signals, to call a function
//! of the program's), and so does Python where it has no lock, when it stops all threads to collect garbage.
//! What is asked for from within its own work (a closure, a signal's handler) is an error, for it would wait for itself.

use crate::{error::OrRaise, exit::Release};
use pyo3::prelude::*;
use std::{
    ops::{Deref, DerefMut},
    sync::{Mutex, MutexGuard, PoisonError, TryLockError},
    thread::{self, ThreadId},
};
use unigrad::Error;

/// A value that one thread at a time works with.
pub(crate) struct Alone<T> {
    value: Mutex<T>,
    /// The thread whose turn it is.
    holder: Mutex<Option<ThreadId>>,
    /// The error's cause where that thread asks again.
    again: &'static str,
}

/// A thread's turn, until it drops.
pub(crate) struct Turn<'a, T> {
    guard: MutexGuard<'a, T>,
    holder: &'a Mutex<Option<ThreadId>>,
}

fn set(holder: &Mutex<Option<ThreadId>>, thread: Option<ThreadId>) {
    *holder.lock().unwrap_or_else(PoisonError::into_inner) = thread;
}

impl<T: Send> Alone<T> {
    /// `again`: "a network was asked for something while it is at work".
    pub(crate) fn new(value: T, again: &'static str) -> Alone<T> {
        Alone { value: Mutex::new(value), holder: Mutex::new(None), again }
    }

    fn check(&self) -> Result<(), Error> {
        // Only this thread sets itself, so what others do meanwhile changes nothing.
        match *self.holder.lock().unwrap_or_else(PoisonError::into_inner) == Some(thread::current().id()) {
            true => Err(Error::argument(self.again, "do not call it from within what it calls")),
            false => Ok(()),
        }
    }

    fn turn<'a>(&'a self, guard: MutexGuard<'a, T>) -> Turn<'a, T> {
        set(&self.holder, Some(thread::current().id()));
        Turn { guard, holder: &self.holder }
    }

    /// For a thread without the interpreter.
    pub(crate) fn lock(&self) -> Result<Turn<'_, T>, Error> {
        self.check()?;
        Ok(self.turn(self.value.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// For a thread with the interpreter.
    pub(crate) fn attached(&self, py: Python<'_>) -> PyResult<Turn<'_, T>> {
        self.check().or_raise(py)?;
        Ok(self.turn(locked(py, &self.value)))
    }
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        // Before the lock is free.
        set(self.holder, None);
    }
}

impl<T> Deref for Turn<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for Turn<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

/// A lock that others may hold for long, for a thread with the interpreter.
pub(crate) fn locked<'a, T: Send>(py: Python<'_>, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
    loop {
        match mutex.try_lock() {
            Ok(guard) => return guard,
            Err(TryLockError::Poisoned(guard)) => return guard.into_inner(),
            Err(TryLockError::WouldBlock) => py.released(|| drop(mutex.lock())),
        }
    }
}
