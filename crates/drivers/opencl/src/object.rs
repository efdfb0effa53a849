//! OpenCL objects with an owner: released when it goes.

use crate::api::{Api, Code, Handle};
use std::fmt;

type Release = unsafe extern "system" fn(Handle) -> i32;

/// An object that OpenCL counts references of; this is one of them.
pub(crate) struct Object {
    handle: Handle,
    release: Release,
}

// SAFETY: OpenCL calls may come from any thread, but for setting a kernel's arguments, which the backend does under a lock.
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

impl Object {
    fn new(handle: Handle, status: i32, release: Release) -> Result<Object, Code> {
        Code::check(status)?;
        // A driver that says success and gives nothing has run out of something.
        if handle.is_null() { Err(Code::OUT_OF_RESOURCES) } else { Ok(Object { handle, release }) }
    }

    pub(crate) fn context(api: &'static Api, create: impl FnOnce(*mut i32) -> Handle) -> Result<Object, Code> {
        Object::create(api.clReleaseContext, create)
    }

    pub(crate) fn queue(api: &'static Api, create: impl FnOnce(*mut i32) -> Handle) -> Result<Object, Code> {
        Object::create(api.clReleaseCommandQueue, create)
    }

    pub(crate) fn memory(api: &'static Api, create: impl FnOnce(*mut i32) -> Handle) -> Result<Object, Code> {
        Object::create(api.clReleaseMemObject, create)
    }

    pub(crate) fn program(api: &'static Api, create: impl FnOnce(*mut i32) -> Handle) -> Result<Object, Code> {
        Object::create(api.clReleaseProgram, create)
    }

    pub(crate) fn kernel(api: &'static Api, create: impl FnOnce(*mut i32) -> Handle) -> Result<Object, Code> {
        Object::create(api.clReleaseKernel, create)
    }

    /// An event that a call, given the place for it, makes.
    pub(crate) fn event(api: &'static Api, enqueue: impl FnOnce(*mut Handle) -> i32) -> Result<Object, Code> {
        let mut handle = std::ptr::null_mut();
        let status = enqueue(&mut handle);
        Object::new(handle, status, api.clReleaseEvent)
    }

    fn create(release: Release, create: impl FnOnce(*mut i32) -> Handle) -> Result<Object, Code> {
        let mut status = 0;
        let handle = create(&mut status);
        Object::new(handle, status, release)
    }

    pub(crate) fn handle(&self) -> Handle {
        self.handle
    }

    /// Gives up ownership: the handle must come back through [`Object::from_memory`].
    pub(crate) fn into_handle(self) -> Handle {
        let handle = self.handle;
        std::mem::forget(self);
        handle
    }

    /// Owns a buffer again.
    ///
    /// # Safety
    /// The handle came from [`Object::into_handle`] of a buffer, and comes back once.
    pub(crate) unsafe fn from_memory(api: &'static Api, handle: Handle) -> Object {
        Object { handle, release: api.clReleaseMemObject }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: this owner's reference, given back once. An error here has no one to go to: the object is gone either way.
        let _ = unsafe { (self.release)(self.handle) };
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:p}", self.handle)
    }
}
