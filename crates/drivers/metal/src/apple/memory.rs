//! Buffers by handle.

use objc2::{rc::Retained, runtime::ProtocolObject};
use objc2_metal::MTLBuffer;
use std::{collections::HashMap, ptr::NonNull};
use unigrad_gpu::Range;

/// A buffer of the device.
#[derive(Clone)]
pub(super) struct Block {
    pub(super) buffer: Retained<ProtocolObject<dyn MTLBuffer>>,
    pub(super) bytes: usize,
    /// Where the host sees it, with unified memory.
    pub(super) host: Option<NonNull<u8>>,
    /// The last batch of commands that uses it; 0 for none.
    pub(super) used_by: u64,
}

// SAFETY: buffers may be used and released by any thread (Metal's resources are thread-safe objects); the pointer is to the buffer's memory,
// which is there as long as the buffer, and is read and written under the rules of `Memory`.
unsafe impl Send for Block {}

impl Block {
    /// The host's address of a range, if the host sees the buffer. The range was checked by [`Memory::get`].
    pub(super) fn host_at(&self, offset: usize) -> Option<*mut u8> {
        // `wrapping_add`: an offset beyond the end was refused before.
        self.host.map(|first| first.as_ptr().wrapping_add(offset))
    }
}

/// The buffers. Access from the host waits until the batch that last uses a block is done, as `Block::used_by` says.
#[derive(Default)]
pub(super) struct Memory {
    blocks: HashMap<u64, Block>,
    last: u64,
    in_use: u64,
}

impl Memory {
    pub(super) fn in_use(&self) -> u64 {
        self.in_use
    }

    pub(super) fn add(&mut self, block: Block) -> u64 {
        self.last += 1;
        self.in_use += block.bytes as u64;
        self.blocks.insert(self.last, block);
        self.last
    }

    /// Lets go of a buffer. Command buffers keep theirs until they are done.
    pub(super) fn remove(&mut self, handle: u64) {
        if let Some(block) = self.blocks.remove(&handle) {
            self.in_use -= block.bytes as u64;
        }
    }

    /// The block of a range, which must lie in it.
    pub(super) fn get(&mut self, range: Range) -> Result<&mut Block, String> {
        let block = self.blocks.get_mut(&range.handle).ok_or("no such memory")?;
        match range.offset.checked_add(range.len) {
            Some(end) if end <= block.bytes => Ok(block),
            _ => Err(format!("{} bytes at {} of {}", range.len, range.offset, block.bytes)),
        }
    }
}
