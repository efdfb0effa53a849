//! Scratch memory of kernels: per thread, 64-byte aligned, grown and then kept, so that a repeated launch allocates nothing.

use crate::memory;
use std::alloc::{Layout, handle_alloc_error};
use std::cell::RefCell;
use std::ptr::NonNull;

const ALIGN: usize = 64;

/// An aligned block of bytes.
#[derive(Debug)]
pub(crate) struct Block {
    ptr: Option<NonNull<u8>>,
    len: usize,
}

// SAFETY: the block owns its memory.
unsafe impl Send for Block {}

impl Block {
    pub(crate) const fn empty() -> Block {
        Block { ptr: None, len: 0 }
    }

    /// At least `len` elements of `T`, with any contents.
    pub(crate) fn reserve<T>(&mut self, len: usize) -> *mut T {
        let bytes = (len * size_of::<T>()).next_multiple_of(ALIGN).max(ALIGN);
        if bytes > self.len {
            // Larger steps than asked for, so that slowly growing requests do not allocate each time.
            let grown = bytes.next_multiple_of(4096);
            self.release();
            // Large blocks in huge pages: panels are walked in many orders.
            self.ptr = memory::allocate(grown);
            if self.ptr.is_none() {
                handle_alloc_error(Layout::array::<u8>(grown).unwrap_or(Layout::new::<u8>()));
            }
            self.len = grown;
        }
        self.ptr.map_or(std::ptr::null_mut(), NonNull::as_ptr).cast()
    }

    fn release(&mut self) {
        if let Some(ptr) = self.ptr.take() {
            // SAFETY: allocated with this length, and unused now.
            unsafe { memory::free(ptr, self.len) }
            self.len = 0;
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.release();
    }
}

/// What a thread keeps between launches. A block serves one purpose, so that no two users overlap.
#[derive(Debug)]
pub(crate) struct PackBuffers {
    blocks: [Block; Purpose::COUNT],
    /// Offset lists of the panel being packed.
    pub(crate) lanes: Vec<i64>,
    pub(crate) steps: Vec<i64>,
    pub(crate) runs: Vec<usize>,
    /// The same of a panel's elements that a prologue has made, and the runs of what they are made from.
    pub(crate) made_lanes: Vec<i64>,
    pub(crate) made_steps: Vec<i64>,
    pub(crate) made_runs: [Vec<usize>; 2],
    /// Where rows begin that lie in pages.
    pub(crate) paged: Vec<i64>,
}

/// What a block of scratch is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// Panels of `a` and `b` that one task packs for itself.
    LocalA,
    LocalB,
    /// Panels that all tasks of a launch share.
    SharedA,
    SharedB,
    /// A block of sums before they are stored, and its conversion to the stored type.
    Sums,
    Converted,
    /// Partial sums of a split `k`.
    Partials,
    /// Elements that a prologue makes.
    Made,
    /// Everything of an attention task.
    Attention,
}

impl Purpose {
    const COUNT: usize = Purpose::Attention as usize + 1;
}

impl PackBuffers {
    const fn new() -> PackBuffers {
        PackBuffers {
            blocks: [const { Block::empty() }; Purpose::COUNT],
            lanes: Vec::new(),
            steps: Vec::new(),
            runs: Vec::new(),
            made_lanes: Vec::new(),
            made_steps: Vec::new(),
            made_runs: [Vec::new(), Vec::new()],
            paged: Vec::new(),
        }
    }

    /// At least `len` elements of `T`, aligned to 64 bytes, with any contents, valid until the next call for the same purpose.
    pub(crate) fn get<T>(&mut self, purpose: Purpose, len: usize) -> *mut T {
        self.blocks[purpose as usize].reserve(len)
    }
}

thread_local! {
    /// One set per depth of nesting: a launch's own, and that of the task it runs on the same thread.
    static SCRATCH: [RefCell<PackBuffers>; 2] = const { [const { RefCell::new(PackBuffers::new()) }; 2] };
}

/// Lends the thread's scratch; a use inside a use gets the second set, and deeper ones a temporary set.
pub(crate) fn with_scratch<R>(f: impl FnOnce(&mut PackBuffers) -> R) -> R {
    SCRATCH.with(|sets| {
        for set in sets {
            if let Ok(mut set) = set.try_borrow_mut() {
                return f(&mut set);
            }
        }
        f(&mut PackBuffers::new())
    })
}
