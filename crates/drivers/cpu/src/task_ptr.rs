//! A raw pointer that tasks of one launch share.
//!
//! In: a pointer to memory that outlives the launch. Out: the same pointer, in every task.
//! Always: tasks write disjoint parts; that they do is argued where the pointer is dereferenced.

/// A pointer that tasks share; each writes its own part, or all only read.
pub(crate) struct TaskPtr<T>(*mut T);

impl<T> TaskPtr<T> {
    pub(crate) fn new(ptr: *mut T) -> TaskPtr<T> {
        TaskPtr(ptr)
    }

    /// The pointer; a method, so that closures capture the whole.
    #[inline(always)]
    pub(crate) fn get(&self) -> *mut T {
        self.0
    }
}

impl<T> Clone for TaskPtr<T> {
    fn clone(&self) -> TaskPtr<T> {
        *self
    }
}

impl<T> Copy for TaskPtr<T> {}

// SAFETY: code that dereferences the pointer promises that tasks do not overlap.
unsafe impl<T> Send for TaskPtr<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for TaskPtr<T> {}
