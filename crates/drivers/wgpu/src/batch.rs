//! Launches and copies gathered in one command buffer, until there are enough, or a caller waits.
//!
//! Always: the numbers of all gathered launches are in one uniform buffer, written when the commands are handed over; marks that lie in a batch
//! learn where it was handed over, and when it is done.

use crate::{
    Module,
    reports::{self, Scopes},
};
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering::Relaxed},
};
use wgpu::{BindGroup, CommandEncoder, ComputePass, Device, Queue, SubmissionIndex};

/// Launches that are gathered at most.
const LAUNCHES: usize = 64;
/// Launches that are gathered while the device has nothing to do; twice as many each time after that.
const FIRST: usize = 8;
/// Names that an error of gathered launches lists.
const NAMES: usize = 4;

/// What became of a batch.
#[derive(Debug, Default)]
pub(crate) struct Passage {
    handed: OnceLock<SubmissionIndex>,
    done: AtomicBool,
}

impl Passage {
    /// Where the queue was when it was handed over.
    pub(crate) fn handed(&self) -> Option<&SubmissionIndex> {
        self.handed.get()
    }

    pub(crate) fn is_done(&self) -> bool {
        self.done.load(Relaxed)
    }
}

#[derive(Default)]
pub(crate) struct Batch {
    /// Before `encoder`, so that it ends first.
    pass: Option<ComputePass<'static>>,
    encoder: Option<CommandEncoder>,
    /// What the uniform buffer will hold.
    words: Vec<u8>,
    launches: usize,
    names: Vec<String>,
    copies: usize,
    /// How often the number of launches that are gathered has doubled.
    doubled: u32,
    /// Of what is gathered; shared with the marks in it.
    passage: Arc<Passage>,
    /// Of what was handed over last.
    last: Option<Arc<Passage>>,
}

impl Batch {
    /// Of all work so far: the batch it is in that will be done last. `None` if there was no work yet.
    pub(crate) fn passage(&self) -> Option<Arc<Passage>> {
        if self.is_empty() { self.last.clone() } else { Some(Arc::clone(&self.passage)) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.encoder.is_none()
    }

    /// Whether it is time to hand over.
    pub(crate) fn is_full(&self) -> bool {
        self.launches + self.copies >= (FIRST << self.doubled).min(LAUNCHES)
    }

    /// The device has been waited for: what comes next is to reach it soon.
    pub(crate) fn hurry(&mut self) {
        self.doubled = 0;
    }

    /// Room for `words` in the uniform buffer, of which `capacity` bytes are there: an offset, or `None` if it is full.
    pub(crate) fn reserve(&mut self, words: &[u32], align: usize, capacity: usize) -> Option<u32> {
        let at = self.words.len().next_multiple_of(align);
        if at + words.len() * 4 > capacity {
            return None;
        }
        self.words.resize(at, 0);
        words.iter().for_each(|word| self.words.extend(word.to_le_bytes()));
        u32::try_from(at).ok()
    }

    /// The encoder, outside of any pass.
    pub(crate) fn encoder(&mut self, device: &Device) -> &mut CommandEncoder {
        self.pass = None;
        self.copies += 1;
        self.encoder.get_or_insert_with(|| device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default()))
    }

    pub(crate) fn dispatch(&mut self, device: &Device, module: &Module, group: &BindGroup, words_at: Option<u32>, grid: [u32; 3]) {
        let encoder = self.encoder.get_or_insert_with(|| device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default()));
        let pass = self.pass.get_or_insert_with(|| encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default()).forget_lifetime());
        pass.set_pipeline(&module.pipeline);
        pass.set_bind_group(0, group, words_at.as_slice());
        pass.dispatch_workgroups(grid[0], grid[1], grid[2]);
        self.launches += 1;
        if self.names.len() < NAMES && !self.names.contains(&module.name) {
            self.names.push(module.name.clone());
        }
    }

    /// Hands everything over. The error is what wgpu thinks of the commands.
    pub(crate) fn submit(
        &mut self,
        device: &Device,
        queue: &Queue,
        uniform: &wgpu::Buffer,
        name: &str,
    ) -> Result<Option<SubmissionIndex>, unigrad_device::Error> {
        self.pass = None;
        let Some(encoder) = self.encoder.take() else { return Ok(None) };
        if FIRST << self.doubled < LAUNCHES {
            self.doubled += 1;
        }
        let scopes = Scopes::open(device);
        if !self.words.is_empty() {
            queue.write_buffer(uniform, 0, &self.words);
        }
        let index = queue.submit([encoder.finish()]);
        let error = scopes.close();
        let passage = std::mem::take(&mut self.passage);
        let _ = passage.handed.set(index.clone());
        let reached = Arc::clone(&passage);
        queue.on_submitted_work_done(move || reached.done.store(true, Relaxed));
        self.last = Some(passage);
        let kernels = match (self.names.len(), self.launches) {
            (0, _) => "a copy".to_owned(),
            (1, _) => self.names[0].clone(),
            (_, n) => format!("one of {n}: {}", self.names.join(", ")),
        };
        self.words.clear();
        self.names.clear();
        self.launches = 0;
        self.copies = 0;
        match error {
            Some(error) => Err(reports::translate(&error, name, &kernels)),
            None => Ok(Some(index)),
        }
    }
}
