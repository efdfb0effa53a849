//! Marks: points in the queue, with the device's time where it tells.
//!
//! Always: a mark stays where it was placed among the gathered launches, and is handed over with them: with a full batch, a flush, or when
//! a caller asks for it. So the device passes from a mark to the work behind it without waiting for the host, and times between marks are of
//! that work alone.

use crate::{backend::WgpuBackend, batch::Passage};
use std::sync::Arc;
use unigrad_device::Error;
use wgpu::{Buffer, BufferUsages, Features, PollType, QuerySet};

/// Times in one set.
const SET: u32 = 64;
/// Bytes from one resolved time to the next, as wgpu demands.
const STRIDE: u64 = wgpu::QUERY_RESOLVE_BUFFER_ALIGNMENT;

/// A point in the queue.
#[derive(Debug)]
pub struct Mark {
    /// Of the batch it is in; `None` before all work.
    passage: Option<Arc<Passage>>,
    /// Where its time is written.
    time: Option<(Arc<Times>, u32)>,
}

impl Mark {
    fn is_done(&self) -> bool {
        self.passage.as_ref().is_none_or(|passage| passage.is_done())
    }
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
        self.reports.alive(&self.name)?;
        let mut queued = self.queued();
        let time = self.time(&mut queued.clock);
        if let Some((times, at)) = &time {
            queued.batch.encoder(&self.device).write_timestamp(&times.set, *at);
        }
        let mark = Mark { passage: queued.batch.passage(), time };
        if queued.batch.is_full() {
            self.submit(&mut queued)?;
        }
        Ok(mark)
    }

    /// Hands over the batch that a mark is in, if that is still gathered.
    fn hand_over(&self, mark: &Mark) -> Result<(), Error> {
        let mut queued = self.queued();
        match &mark.passage {
            Some(passage) if passage.handed().is_none() => self.submit(&mut queued).map(|_| ()),
            _ => Ok(()),
        }
    }

    pub(crate) fn reached(&self, mark: &Mark) -> Result<bool, Error> {
        if !mark.is_done() {
            self.reports.alive(&self.name)?;
            self.hand_over(mark)?;
            self.poll(PollType::Poll)?;
        }
        Ok(mark.is_done())
    }

    pub(crate) fn await_mark(&self, mark: &Mark) -> Result<(), Error> {
        if !mark.is_done() {
            self.may_wait()?;
            self.hand_over(mark)?;
            let index = mark.passage.as_ref().and_then(|passage| passage.handed().cloned());
            self.poll(PollType::Wait { submission_index: index, timeout: None })?;
            self.queued().batch.hurry();
        }
        self.reports.take(&self.name)
    }

    /// Nanoseconds between two marks.
    pub(crate) fn between(&self, from: &Mark, to: &Mark) -> Result<f64, Error> {
        let (Some(from), Some(to)) = (&from.time, &to.time) else { return Ok(0.0) };
        let mut ticks = [0u64; 2];
        for (tick, (times, at)) in ticks.iter_mut().zip([from, to]) {
            // Goes behind the mark, in its batch or a later one.
            let offset = u64::from(*at) * STRIDE;
            self.queued().batch.encoder(&self.device).resolve_query_set(&times.set, *at..*at + 1, &times.resolved, offset);
            let mut bytes = [0; 8];
            self.read_back(&times.resolved, offset, &mut bytes)?;
            *tick = u64::from_le_bytes(bytes);
        }
        // Marks may be given in the other order.
        Ok(ticks[1].wrapping_sub(ticks[0]) as i64 as f64 * f64::from(self.queue.get_timestamp_period()))
    }
}
