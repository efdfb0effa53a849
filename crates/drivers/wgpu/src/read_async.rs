//! What a browser does in its own time: buffers that are mapped, and reads for callers that must not wait.
//!
//! Always: a read is handed over before its future is given. Where the device goes on by itself the future is woken; elsewhere it asks the
//! device whenever it is polled.

use crate::{WgpuBackend, memory::Memory, transfer::Down};
use std::{
    sync::{Arc, Mutex, PoisonError},
    task::{Poll, Waker},
};
use unigrad_device::{Error, Pending};
use unigrad_gpu::Range;
use wgpu::{Buffer, BufferUsages, MapMode, PollType};

/// A buffer that will be mapped, or was.
#[derive(Debug, Default)]
pub(crate) struct Mapping(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Whether it succeeded, once that is known.
    is_there: Option<bool>,
    waker: Option<Waker>,
}

impl Mapping {
    /// Of a buffer that was made mapped.
    pub(crate) fn there() -> Arc<Mapping> {
        Arc::new(Mapping(Mutex::new(State { is_there: Some(true), waker: None })))
    }

    /// Asks for a buffer's first bytes.
    pub(crate) fn begin(buffer: &Buffer, mode: MapMode, size: u64) -> Arc<Mapping> {
        let mapping = Arc::new(Mapping::default());
        let told = Arc::clone(&mapping);
        buffer.map_async(mode, 0..size, move |result| {
            let waker = {
                let mut state = told.0.lock().unwrap_or_else(PoisonError::into_inner);
                state.is_there = Some(result.is_ok());
                state.waker.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        mapping
    }

    pub(crate) fn is_there(&self) -> bool {
        self.known(None) == Some(true)
    }

    /// Whether it succeeded; while that is not known, `waker` is the one to wake.
    fn known(&self, waker: Option<&Waker>) -> Option<bool> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_there.is_none() && waker.is_some() {
            state.waker = waker.cloned();
        }
        state.is_there
    }
}

impl WgpuBackend {
    /// Whether anything may wait here: if not, why, and what to do instead.
    pub(crate) fn may_wait(&self) -> Result<(), Error> {
        match self.waits {
            true => Ok(()),
            false => {
                let help = "read it with `to_vec_async`, `item_async` or `Buffer::to_vec_async`, and await that";
                Err(self.copy_failed(format!("a browser's page cannot wait for its device\n help: {help}")))
            }
        }
    }

    fn begin_read(&self, from: Range) -> Result<Down, Error> {
        self.reports.alive(&self.name)?;
        let mut queued = self.queued();
        let block = self.block(&queued, from)?;
        let size = from.len.next_multiple_of(4) as u64;
        let memory: &Memory = &queued.memory;
        let staging = self.new_buffer(size, BufferUsages::MAP_READ | BufferUsages::COPY_DST, false, memory)?;
        self.begin_down(&mut queued, staging, &block.buffer, from.offset as u64, size)
    }

    /// Begins to read a range.
    pub(crate) fn read_async(&self, from: Range) -> Pending<'_, Result<Vec<u8>, Error>> {
        if from.len == 0 {
            return Box::pin(std::future::ready(Ok(Vec::new())));
        }
        let begun = self.begin_read(from);
        Box::pin(async move {
            let down = begun?;
            let mut data = Vec::new();
            data.try_reserve_exact(from.len).map_err(|_| self.copy_failed(format!("{} bytes do not fit into host memory", from.len)))?;
            data.resize(from.len, 0);
            let is_there = std::future::poll_fn(|context| {
                self.poll(PollType::Poll)?;
                match down.mapped.known(Some(context.waker())) {
                    Some(is_there) => Poll::Ready(Ok::<bool, Error>(is_there)),
                    None => {
                        if !cfg!(target_arch = "wasm32") {
                            context.waker().wake_by_ref();
                        }
                        Poll::Pending
                    }
                }
            });
            let is_there = is_there.await?;
            self.reports.take(&self.name)?;
            if !is_there {
                return Err(self.copy_failed("the memory cannot be read"));
            }
            down.take([&mut data[..]]).map_err(|cause| self.copy_failed(cause))?;
            Ok(data)
        })
    }
}
