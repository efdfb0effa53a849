//! Command buffers: one that gathers launches and copies, and those that were handed over.
//!
//! Always: numbered in their order; an encoder is ended before its command buffer is handed over or dropped, as Metal demands. Commands of
//! one encoder run in order, and Metal orders encoders that use the same buffers (it tracks them).

use crate::facts::{self, Failure};
use objc2::{rc::Retained, runtime::ProtocolObject};
use objc2_metal::{
    MTLBlitCommandEncoder, MTLCommandBuffer, MTLCommandBufferStatus, MTLCommandEncoder as _, MTLCommandQueue, MTLComputeCommandEncoder,
};
use std::{collections::VecDeque, sync::Arc};
use unigrad_device::Error;

/// Commands that are gathered.
const FULL: usize = 64;
/// Commands that are gathered while the device has nothing to do.
const FIRST: usize = 8;
/// Names that an error of gathered launches lists.
const NAMES: usize = 4;

/// A command buffer that was handed over: it is only waited for and asked now.
pub(super) struct Commands(Retained<ProtocolObject<dyn MTLCommandBuffer>>);

// SAFETY: `waitUntilCompleted`, `status`, `error` and the times may be called from any thread once the buffer is committed, and nothing
// else is called here; counting references is atomic.
unsafe impl Send for Commands {}
// SAFETY: as above.
unsafe impl Sync for Commands {}

impl Commands {
    pub(super) fn is_done(&self) -> bool {
        matches!(self.0.status(), MTLCommandBufferStatus::Completed | MTLCommandBufferStatus::Error)
    }

    pub(super) fn wait(&self) {
        objc2::rc::autoreleasepool(|_| self.0.waitUntilCompleted());
    }

    /// When the GPU ended its work, in seconds of the system's uptime; 0 if it never began.
    pub(super) fn ended(&self) -> f64 {
        self.0.GPUEndTime()
    }

    /// What failed, and Metal's words.
    fn failure(&self) -> Option<(Failure, String)> {
        if self.0.status() != MTLCommandBufferStatus::Error {
            return None;
        }
        let Some(error) = self.0.error() else { return Some((Failure::Work("the GPU failed"), String::new())) };
        let code = if error.domain().to_string() == "MTLCommandBufferErrorDomain" { error.code() } else { 0 };
        Some((facts::failure(code), error.localizedDescription().to_string()))
    }
}

enum Encoder {
    None,
    Compute(Retained<ProtocolObject<dyn MTLComputeCommandEncoder>>),
    Copy(Retained<ProtocolObject<dyn MTLBlitCommandEncoder>>),
}

/// The command buffer that gathers.
struct Batch {
    commands: Retained<ProtocolObject<dyn MTLCommandBuffer>>,
    encoder: Encoder,
    count: usize,
    names: Vec<String>,
    launches: usize,
    /// Bytes of the host's that were copied aside for it.
    aside: usize,
}

// SAFETY: command buffers and encoders belong to no thread; one thread at a time encodes, under the lock around `Queued`.
unsafe impl Send for Batch {}

impl Batch {
    fn end(&mut self) {
        match std::mem::replace(&mut self.encoder, Encoder::None) {
            Encoder::None => {}
            Encoder::Compute(encoder) => encoder.endEncoding(),
            Encoder::Copy(encoder) => encoder.endEncoding(),
        }
    }

    /// Notes a launch.
    fn count(&mut self, name: &str) {
        self.count += 1;
        self.launches += 1;
        if self.names.len() < NAMES && self.names.iter().all(|known| known != name) {
            self.names.push(name.to_owned());
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.end();
    }
}

struct Sent {
    number: u64,
    commands: Arc<Commands>,
    kernels: String,
    aside: usize,
}

/// What is on its way.
pub(super) struct Queued {
    batch: Option<Batch>,
    sent: VecDeque<Sent>,
    /// The number of the batch that gathers, or the next one.
    number: u64,
    /// The number up to which all is done.
    done: u64,
    /// When all of that had ended, in seconds of the system's uptime.
    ended: f64,
    /// The first error since the last wait.
    error: Option<Error>,
    lost: Option<String>,
}

impl Default for Queued {
    fn default() -> Queued {
        Queued { batch: None, sent: VecDeque::new(), number: 1, done: 0, ended: 0.0, error: None, lost: None }
    }
}

impl Queued {
    fn batch(&mut self, queue: &ProtocolObject<dyn MTLCommandQueue>) -> Result<&mut Batch, String> {
        match &mut self.batch {
            Some(batch) => Ok(batch),
            none => {
                let commands = queue.commandBuffer().ok_or("Metal gives no command buffer")?;
                let batch = Batch { commands, encoder: Encoder::None, count: 0, names: Vec::new(), launches: 0, aside: 0 };
                Ok(none.insert(batch))
            }
        }
    }

    /// Where a launch is encoded.
    pub(super) fn launch(
        &mut self,
        queue: &ProtocolObject<dyn MTLCommandQueue>,
        name: &str,
    ) -> Result<Retained<ProtocolObject<dyn MTLComputeCommandEncoder>>, String> {
        let batch = self.batch(queue)?;
        if !matches!(batch.encoder, Encoder::Compute(_)) {
            batch.end();
            batch.encoder = Encoder::Compute(batch.commands.computeCommandEncoder().ok_or("Metal gives no compute encoder")?);
        }
        let Encoder::Compute(encoder) = &batch.encoder else { return Err("no compute encoder".to_owned()) };
        let encoder = encoder.clone();
        batch.count(name);
        Ok(encoder)
    }

    /// Where a library encodes work of its own: no encoder is open.
    pub(super) fn library(
        &mut self,
        queue: &ProtocolObject<dyn MTLCommandQueue>,
        name: &str,
    ) -> Result<Retained<ProtocolObject<dyn MTLCommandBuffer>>, String> {
        let batch = self.batch(queue)?;
        batch.end();
        batch.count(name);
        Ok(batch.commands.clone())
    }

    /// Where a copy is encoded; `aside` bytes of the host's were copied aside for it.
    pub(super) fn copy(
        &mut self,
        queue: &ProtocolObject<dyn MTLCommandQueue>,
        aside: usize,
    ) -> Result<Retained<ProtocolObject<dyn MTLBlitCommandEncoder>>, String> {
        let batch = self.batch(queue)?;
        if !matches!(batch.encoder, Encoder::Copy(_)) {
            batch.end();
            batch.encoder = Encoder::Copy(batch.commands.blitCommandEncoder().ok_or("Metal gives no copy encoder")?);
        }
        let Encoder::Copy(encoder) = &batch.encoder else { return Err("no copy encoder".to_owned()) };
        batch.count += 1;
        batch.aside += aside;
        Ok(encoder.clone())
    }

    /// Bytes that were copied aside and may still be read.
    pub(super) fn aside(&self) -> usize {
        self.sent.iter().map(|sent| sent.aside).chain(self.batch.iter().map(|batch| batch.aside)).sum()
    }

    /// The number of the batch that gathers, or of the next.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The number of the last batch that was handed over or gathers.
    pub(super) fn last(&self) -> u64 {
        if self.batch.is_some() { self.number } else { self.number - 1 }
    }

    pub(super) fn done(&self) -> u64 {
        self.done
    }

    pub(super) fn ended(&self) -> f64 {
        self.ended
    }

    /// Hands over what was gathered if it is time to.
    pub(super) fn submit_when_full(&mut self) {
        let count = self.batch.as_ref().map_or(0, |batch| batch.count);
        let idle = self.sent.back().is_none_or(|sent| sent.commands.is_done());
        if count >= FULL || (count >= FIRST && idle) {
            self.submit();
        }
    }

    /// Hands over what was gathered.
    pub(super) fn submit(&mut self) {
        let Some(mut batch) = self.batch.take() else { return };
        batch.end();
        batch.commands.commit();
        let kernels = match (batch.names.len(), batch.launches) {
            (0, _) => "a copy".to_owned(),
            (1, _) => batch.names[0].clone(),
            (_, n) => format!("one of {n}: {}", batch.names.join(", ")),
        };
        let commands = Arc::new(Commands(batch.commands.clone()));
        self.sent.push_back(Sent { number: self.number, commands, kernels, aside: batch.aside });
        self.number += 1;
    }

    /// What was handed over up to a number and may not be done.
    pub(super) fn pending(&self, number: u64) -> Vec<Arc<Commands>> {
        self.sent.iter().take_while(|sent| sent.number <= number).map(|sent| Arc::clone(&sent.commands)).collect()
    }

    /// Looks what is done, and keeps what went wrong for the next wait.
    pub(super) fn reap(&mut self, device: &str, total: u64, in_use: u64) {
        while let Some(sent) = self.sent.pop_front_if(|sent| sent.commands.is_done()) {
            self.done = sent.number;
            self.ended = self.ended.max(sent.commands.ended());
            let Some((failure, words)) = sent.commands.failure() else { continue };
            let device = device.to_owned();
            let error = match failure {
                Failure::OutOfMemory => {
                    let largest = format!("; when this ran: {}", sent.kernels);
                    Error::OutOfMemory { device, asked: 0, free: total.saturating_sub(in_use), total, in_use, largest }
                }
                Failure::Lost(why) => {
                    let cause = format!("{why} ({words})");
                    self.lost.get_or_insert(cause.clone());
                    Error::DeviceLost { device, cause }
                }
                Failure::Work(why) => Error::Launch { device, kernel: sent.kernels, cause: format!("{why} ({words})") },
            };
            self.error.get_or_insert(error);
        }
    }

    /// Whether the device is still there.
    pub(super) fn alive(&self, device: &str) -> Result<(), Error> {
        match &self.lost {
            Some(cause) => Err(Error::DeviceLost { device: device.to_owned(), cause: cause.clone() }),
            None => Ok(()),
        }
    }

    /// What went wrong since this was last asked.
    pub(super) fn take_error(&mut self, device: &str) -> Result<(), Error> {
        self.alive(device)?;
        self.error.take().map_or(Ok(()), Err)
    }
}
