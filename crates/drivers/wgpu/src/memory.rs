//! Buffers by handle, and bind groups that are made once for the same arguments.

use crate::Module;
use rustc_hash::FxHashMap;
use wgpu::{BindGroup, Buffer};

/// Bind groups that are kept.
const KEPT: usize = 4096;

/// A buffer of the device.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) buffer: Buffer,
    /// What the buffer has; at least what was asked for.
    pub(crate) bytes: u64,
}

/// Part of a buffer as a bind group takes it; handle 0 stands for nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Binding {
    pub(crate) handle: u64,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Memory {
    blocks: FxHashMap<u64, Block>,
    last: u64,
    in_use: u64,
    groups: FxHashMap<(u64, Vec<Binding>), BindGroup>,
}

impl Memory {
    pub(crate) fn in_use(&self) -> u64 {
        self.in_use
    }

    pub(crate) fn add(&mut self, block: Block) -> u64 {
        self.last += 1;
        self.in_use += block.bytes;
        self.blocks.insert(self.last, block);
        self.last
    }

    pub(crate) fn get(&self, handle: u64) -> Option<&Block> {
        self.blocks.get(&handle)
    }

    /// Lets go of a buffer. wgpu keeps it until the work that was handed over is done with it.
    pub(crate) fn remove(&mut self, handle: u64) {
        if let Some(block) = self.blocks.remove(&handle) {
            self.in_use -= block.bytes;
            // Bind groups would keep it for good.
            self.groups.retain(|(_, bindings), _| bindings.iter().all(|b| b.handle != handle));
        }
    }

    /// The bind group of a module's arguments.
    pub(crate) fn group(
        &mut self,
        module: &Module,
        bindings: Vec<Binding>,
        make: impl FnOnce(&Memory) -> Option<BindGroup>,
    ) -> Option<BindGroup> {
        let key = (module.id, bindings);
        if let Some(group) = self.groups.get(&key) {
            return Some(group.clone());
        }
        if self.groups.len() >= KEPT {
            self.groups.clear();
        }
        let group = make(self)?;
        self.groups.insert(key, group.clone());
        Some(group)
    }
}
