//! Marks: points in the queue, with the device's time where it tells.
//!
//! Always: a mark hands over what was gathered, so that it is reached without further calls.

use crate::backend::WgpuBackend;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};
use unigrad_device::Error;
use wgpu::{Buffer, BufferUsages, Features, PollType, QuerySet, SubmissionIndex};

/// Times in one set.
const SET: u32 = 64;
/// Bytes from one resolved time to the next, as wgpu demands.
const STRIDE: u64 = wgpu::QUERY_RESOLVE_BUFFER_ALIGNMENT;

/// A point in the queue.
#[derive(Debug)]
pub struct Mark {
    done: Arc<AtomicBool>,
    index: Option<SubmissionIndex>,
    /// Where its time is written.
    time: Option<(Arc<Times>, u32)>,
}

/// Times of several marks.
#[derive(Debug)]
pub(crate) struct Times {
    set: QuerySet,
    resolved: Buffer,
}

/// The set that the next mark takes a place of.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    times: Option<Arc<Times>>,
    next: u32,
}

impl WgpuBackend {
    fn time(&self, clock: &mut Clock) -> Option<(Arc<Times>, u32)> {
        if !self.device.features().contains(Features::TIMESTAMP_QUERY | Features::TIMESTAMP_QUERY_INSIDE_ENCODERS) {
            return None;
        }
        if clock.next == SET || clock.times.is_none() {
            let set = self.device.create_query_set(&wgpu::QuerySetDescriptor { label: None, ty: wgpu::QueryType::Timestamp, count: SET });
            let resolved = self.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: u64::from(SET) * STRIDE,
                usage: BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            });
            *clock = Clock { times: Some(Arc::new(Times { set, resolved })), next: 0 };
        }
        let at = clock.next;
        clock.next += 1;
        clock.times.clone().map(|times| (times, at))
    }

    pub(crate) fn place_mark(&self) -> Result<Mark, Error> {
        let mut queued = self.queued();
        let time = self.time(&mut queued.clock);
        if let Some((times, at)) = &time {
            let encoder = queued.batch.encoder(&self.device);
            encoder.write_timestamp(&times.set, *at);
            encoder.resolve_query_set(&times.set, *at..*at + 1, &times.resolved, u64::from(*at) * STRIDE);
        }
        let index = self.submit(&mut queued)?;
        let done = Arc::new(AtomicBool::new(false));
        let reached = Arc::clone(&done);
        self.queue.on_submitted_work_done(move || reached.store(true, Relaxed));
        Ok(Mark { done, index, time })
    }

    pub(crate) fn reached(&self, mark: &Mark) -> Result<bool, Error> {
        if !mark.done.load(Relaxed) {
            self.reports.alive(&self.name)?;
            self.poll(PollType::Poll)?;
        }
        Ok(mark.done.load(Relaxed))
    }

    pub(crate) fn await_mark(&self, mark: &Mark) -> Result<(), Error> {
        if !mark.done.load(Relaxed) {
            self.may_wait()?;
            self.poll(PollType::Wait { submission_index: mark.index.clone(), timeout: None })?;
        }
        self.reports.take(&self.name)
    }

    /// Nanoseconds between two marks.
    pub(crate) fn between(&self, from: &Mark, to: &Mark) -> Result<f64, Error> {
        let (Some(from), Some(to)) = (&from.time, &to.time) else { return Ok(0.0) };
        let mut ticks = [0u64; 2];
        for (tick, (times, at)) in ticks.iter_mut().zip([from, to]) {
            let mut bytes = [0; 8];
            self.read_back(&times.resolved, u64::from(*at) * STRIDE, &mut bytes)?;
            *tick = u64::from_le_bytes(bytes);
        }
        Ok(ticks[1].wrapping_sub(ticks[0]) as f64 * f64::from(self.queue.get_timestamp_period()))
    }
}
