//! Bytes between host and device, and within the device.
//!
//! Large transfers go in pieces through two staging buffers that are kept: while the device moves one piece, the host copies the other.
//! Copies within a GPU are a kernel: drivers' own copies of buffers reach a fraction of what it does. On a processor it is the other way.
//! Always: nothing beyond the range's last byte changes. Never: waits for the device after an upload, but for a staging buffer.

use crate::{
    Module,
    backend::{Queued, WgpuBackend},
    memory::{Block, Memory},
    read_async::Mapping,
    reports::Scopes,
};
use std::sync::Arc;
use unigrad_device::Error;
use unigrad_gpu::{Backend, Bound, Range};
use unigrad_ir::{Builder, Place, Program, Value};
use unigrad_scalar::{BinaryOp, DType};
use wgpu::{Buffer, BufferUsages, MapMode, PollType, SubmissionIndex};

/// Bytes that a staging buffer for uploads has, and that a download moves at a time.
const PIECE: usize = 16 << 20;
/// Uploads of less leave staging to wgpu.
const LARGE: usize = 256 << 10;
/// Copies of less within a GPU, of whole words, are the driver's.
const SMALL_COPY: usize = 64 << 10;
/// What ranges of mapped memory begin at multiples of.
const APART: usize = wgpu::MAP_ALIGNMENT as usize;
/// Bytes that one launch copies at most.
const COPY_PIECE: usize = 512 << 20;
/// Threads of a workgroup that copies; each moves one vector of 16 bytes. More of them per thread were slower on an H200: 3,600 GB/s by one,
/// 3,510 by two, 2,960 by four.
const THREADS: u32 = 256;

/// Staging buffers.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    up: [Option<Up>; 2],
    /// Whose turn it is.
    turn: usize,
    /// Grow.
    down: [Option<Buffer>; 2],
    /// Memory of the device for the end of an upload that is not whole words.
    odd: Option<u64>,
}

/// A buffer that the host writes.
#[derive(Debug)]
struct Up {
    buffer: Buffer,
    /// Whether the host may write.
    mapped: Arc<Mapping>,
    /// What read it last.
    index: Option<SubmissionIndex>,
}

/// A piece on its way to the host.
pub(crate) struct Down {
    pub(crate) buffer: Buffer,
    pub(crate) mapped: Arc<Mapping>,
    index: Option<SubmissionIndex>,
}

impl Down {
    /// Takes what has come: parts that follow each other, each from a multiple of [`APART`] on.
    pub(crate) fn take<'a>(self, parts: impl IntoIterator<Item = &'a mut [u8]>) -> Result<(), String> {
        let mut at = 0;
        for data in parts {
            let view = self.buffer.get_mapped_range(at..at + data.len().next_multiple_of(4) as u64);
            view.map(|view| data.copy_from_slice(&view[..data.len()])).map_err(|error| error.to_string())?;
            at += data.len().next_multiple_of(APART) as u64;
        }
        self.buffer.unmap();
        Ok(())
    }
}

/// `to[i] = from[i]` for `vectors` of 4 words, then `words` fewer than 4, then the bytes of one more word that are set in `mask`.
fn copy_program() -> Program {
    let mut b = Builder::new("copy", [THREADS, 1, 1]);
    let (from, to) = (b.buffer("from", DType::U32), b.buffer_mut("to", DType::U32));
    let [vectors, words, mask] = ["vectors", "words", "mask"].map(|name| b.scalar(name, DType::U32));
    let (group, thread) = (b.group(0), b.thread(0));
    let start = b.mul_const(group, THREADS.into());
    let vector = b.add(start, thread);
    let inside = b.lt(vector, vectors);
    b.when(inside, |b| {
        let at = b.mul_const(vector, 4);
        let v = b.load_vector(from, at, 4);
        b.store(to, at, v);
    });
    rest(&mut b, [from, to], vector, [vectors, words, mask]);
    b.finish()
}

/// What [`copy_program`] does after the vectors; `index` counts its threads through, from 0.
fn rest(b: &mut Builder, [from, to]: [Place; 2], index: Value, [vectors, words, mask]: [Value; 3]) {
    let begin = b.mul_const(vectors, 4);
    let at = b.add(begin, index);
    let is_word = b.lt(index, words);
    b.when(is_word, |b| {
        let v = b.load(from, at);
        b.store(to, at, v);
    });
    let zero = b.u32(0);
    let is_last = b.binary(BinaryOp::Eq, index, words);
    let is_part = b.binary(BinaryOp::Ne, mask, zero);
    let is_part = b.and(is_last, is_part);
    b.when(is_part, |b| {
        let (new, old) = (b.load(from, at), b.load(to, at));
        let differing = b.binary(BinaryOp::Xor, new, old);
        let differing = b.binary(BinaryOp::And, differing, mask);
        let merged = b.binary(BinaryOp::Xor, old, differing);
        b.store(to, at, merged);
    });
}

impl WgpuBackend {
    /// The buffer of a range, which must be in it, and the bytes up to the next multiple of 4 with it.
    pub(crate) fn block(&self, queued: &Queued, range: Range) -> Result<Block, Error> {
        let block = queued.memory.get(range.handle).ok_or_else(|| self.copy_failed("no such memory"))?;
        match range.offset.checked_add(range.len.next_multiple_of(4)) {
            Some(end) if end as u64 <= block.bytes => Ok(block.clone()),
            _ => Err(self.copy_failed(format!("{} bytes at {} of {}", range.len, range.offset, block.bytes))),
        }
    }

    pub(crate) fn new_buffer(&self, size: u64, usage: BufferUsages, mapped: bool, memory: &Memory) -> Result<Buffer, Error> {
        let scopes = Scopes::open(&self.device);
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: mapped });
        let error = scopes.close();
        self.reports.alive(&self.name)?;
        if error.is_none() { Ok(buffer) } else { Err(self.out_of_memory(size, memory.in_use(), "")) }
    }

    /// A staging buffer that the host may write.
    fn take_up(&self, queued: &mut Queued, turn: usize) -> Result<Up, Error> {
        if let Some(up) = queued.staging.up[turn].take() {
            if !up.mapped.is_there() {
                self.poll(PollType::Wait { submission_index: up.index.clone(), timeout: None })?;
            }
            if up.mapped.is_there() {
                return Ok(up);
            }
            // Mapping failed: a new one, whose failure would say why.
            self.reports.alive(&self.name)?;
        }
        let buffer = self.new_buffer(PIECE as u64, BufferUsages::MAP_WRITE | BufferUsages::COPY_SRC, true, &queued.memory)?;
        Ok(Up { buffer, mapped: Mapping::there(), index: None })
    }

    /// Host to device; whole words, which one piece holds.
    fn upload_piece(&self, queued: &mut Queued, data: &[u8], to: &Buffer, at: u64) -> Result<(), Error> {
        let turn = queued.staging.turn;
        let mut up = self.take_up(queued, turn)?;
        let size = data.len() as u64;
        up.buffer.get_mapped_range_mut(0..size).map_err(|error| self.copy_failed(error.to_string()))?.copy_from_slice(data);
        up.buffer.unmap();
        queued.batch.encoder(&self.device).copy_buffer_to_buffer(&up.buffer, 0, to, at, size);
        up.index = self.submit(queued)?;
        up.mapped = Mapping::begin(&up.buffer, MapMode::Write, PIECE as u64);
        queued.staging.turn = (turn + 1) % queued.staging.up.len();
        queued.staging.up[turn] = Some(up);
        Ok(())
    }

    pub(crate) fn write(&self, data: &[u8], to: Range) -> Result<(), Error> {
        if data.is_empty() {
            return Ok(());
        }
        self.reports.alive(&self.name)?;
        let mut queued = self.queued();
        let block = self.block(&queued, to)?;
        // A part of a word, from where a kernel's argument may begin: the word's other bytes may be in use.
        let (words, rest) = data.split_at(if data.len().is_multiple_of(4) { data.len() } else { data.len() / 64 * 64 });
        // A browser has its own way with large writes.
        if words.len() >= LARGE && self.waits {
            for (k, piece) in words.chunks(PIECE).enumerate() {
                self.upload_piece(&mut queued, piece, &block.buffer, (to.offset + k * PIECE) as u64)?;
            }
        } else if !words.is_empty() {
            self.write_now(&mut queued, words, &block.buffer, to.offset as u64)?;
        }
        if rest.is_empty() {
            return Ok(());
        }
        let mut block = [0; 64];
        block[..rest.len()].copy_from_slice(rest);
        let odd = match queued.staging.odd {
            Some(odd) => odd,
            None => {
                let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
                let buffer = self.new_buffer(256, usage, false, &queued.memory)?;
                let odd = queued.memory.add(Block { buffer, bytes: 256 });
                *queued.staging.odd.insert(odd)
            }
        };
        let from = Range { handle: odd, offset: 0, len: rest.len() };
        let buffer = self.block(&queued, from)?.buffer;
        self.write_now(&mut queued, &block, &buffer, 0)?;
        drop(queued);
        self.copy_by_kernel(from, Range { offset: to.offset + words.len(), len: rest.len(), ..to })
    }

    /// Host to device through wgpu's own staging.
    fn write_now(&self, queued: &mut Queued, data: &[u8], to: &Buffer, at: u64) -> Result<(), Error> {
        // Goes before all that is handed over later: what was gathered must not be later.
        if !queued.batch.is_empty() {
            self.submit(queued)?;
        }
        self.queue.write_buffer(to, at, data);
        Ok(())
    }

    /// Copies from a buffer to the host; waits. `at` is a multiple of 4, and so is the buffer's size.
    pub(crate) fn read_back(&self, buffer: &Buffer, at: u64, data: &mut [u8]) -> Result<(), Error> {
        self.may_wait()?;
        let mut queued = self.queued();
        let all = data.len();
        let n_pieces = all.div_ceil(PIECE);
        let start = |queued: &mut Queued, k: usize| {
            let len = (all - k * PIECE).min(PIECE).next_multiple_of(4);
            self.start_down(queued, k % 2, buffer, at + (k * PIECE) as u64, len as u64)
        };
        let mut next = start(&mut queued, 0).map(Some);
        for (k, piece) in data.chunks_mut(PIECE).enumerate() {
            let moved = next.and_then(|begun| {
                // Under way while the host copies this one.
                let after = if k + 1 < n_pieces { Some(start(&mut queued, k + 1)?) } else { None };
                begun.map_or(Ok(()), |down| self.finish_down(down, [piece]))?;
                Ok(after)
            });
            if let Err(error) = moved {
                // The state of these is unknown.
                queued.staging.down = [None, None];
                self.reports.take(&self.name)?;
                return Err(error);
            }
            next = moved;
        }
        queued.batch.hurry();
        drop(queued);
        self.pipelines.save();
        self.reports.take(&self.name)
    }

    /// [`WgpuBackend::read_back`] of several ranges, by one wait if a piece holds them all; `false` if it does not.
    pub(crate) fn read_back_all(&self, parts: &mut [(Range, &mut [u8])]) -> Result<bool, Error> {
        let size: usize = parts.iter().map(|(_, data)| data.len().next_multiple_of(APART)).sum();
        if size == 0 || size > PIECE {
            return Ok(false);
        }
        self.may_wait()?;
        let mut queued = self.queued();
        let moved = self.staging_down(&mut queued, 0, size as u64).and_then(|buffer| {
            let mut at = 0;
            for (from, data) in parts.iter().filter(|(_, data)| !data.is_empty()) {
                let (block, len) = (self.block(&queued, *from)?, data.len().next_multiple_of(4) as u64);
                queued.batch.encoder(&self.device).copy_buffer_to_buffer(&block.buffer, from.offset as u64, &buffer, at, len);
                at += data.len().next_multiple_of(APART) as u64;
            }
            let index = self.submit(&mut queued)?;
            let mapped = Mapping::begin(&buffer, MapMode::Read, size as u64);
            self.finish_down(Down { buffer, mapped, index }, parts.iter_mut().map(|(_, data)| &mut **data).filter(|data| !data.is_empty()))
        });
        if moved.is_err() {
            // The state of it is unknown.
            queued.staging.down = [None, None];
        }
        queued.batch.hurry();
        drop(queued);
        self.pipelines.save();
        self.reports.take(&self.name).and(moved).map(|()| true)
    }

    /// A staging buffer of so many bytes or more, to be read.
    fn staging_down(&self, queued: &mut Queued, which: usize, size: u64) -> Result<Buffer, Error> {
        if queued.staging.down[which].as_ref().is_none_or(|buffer| buffer.size() < size) {
            let room = size.next_power_of_two().max(64 << 10);
            let buffer = self.new_buffer(room, BufferUsages::MAP_READ | BufferUsages::COPY_DST, false, &queued.memory)?;
            queued.staging.down[which] = Some(buffer);
        }
        queued.staging.down[which].clone().ok_or_else(|| self.copy_failed("no staging memory"))
    }

    /// Begins to move a piece to the host.
    fn start_down(&self, queued: &mut Queued, which: usize, from: &Buffer, at: u64, size: u64) -> Result<Down, Error> {
        let buffer = self.staging_down(queued, which, size)?;
        self.begin_down(queued, buffer, from, at, size)
    }

    /// Begins to move bytes to a staging buffer.
    pub(crate) fn begin_down(&self, queued: &mut Queued, buffer: Buffer, from: &Buffer, at: u64, size: u64) -> Result<Down, Error> {
        queued.batch.encoder(&self.device).copy_buffer_to_buffer(from, at, &buffer, 0, size);
        let index = self.submit(queued)?;
        let mapped = Mapping::begin(&buffer, MapMode::Read, size);
        Ok(Down { buffer, mapped, index })
    }

    fn finish_down<'a>(&self, down: Down, parts: impl IntoIterator<Item = &'a mut [u8]>) -> Result<(), Error> {
        self.poll(PollType::Wait { submission_index: down.index.clone(), timeout: None })?;
        if !down.mapped.is_there() {
            return Err(self.copy_failed("the memory cannot be read"));
        }
        down.take(parts).map_err(|cause| self.copy_failed(cause))
    }

    pub(crate) fn copy_within(&self, from: Range, to: Range) -> Result<(), Error> {
        if from.len == 0 {
            return Ok(());
        }
        if (self.copies_by_kernel && from.len >= SMALL_COPY) || !from.len.is_multiple_of(4) {
            return self.copy_by_kernel(from, to);
        }
        let mut queued = self.queued();
        let (source, target) = (self.block(&queued, from)?, self.block(&queued, to)?);
        let size = from.len as u64;
        let (from_at, to_at) = (from.offset as u64, to.offset as u64);
        if from.handle == to.handle {
            // wgpu does not copy within a buffer.
            let between = self.new_buffer(size, BufferUsages::COPY_SRC | BufferUsages::COPY_DST, false, &queued.memory)?;
            queued.batch.encoder(&self.device).copy_buffer_to_buffer(&source.buffer, from_at, &between, 0, size);
            queued.batch.encoder(&self.device).copy_buffer_to_buffer(&between, 0, &target.buffer, to_at, size);
        } else {
            queued.batch.encoder(&self.device).copy_buffer_to_buffer(&source.buffer, from_at, &target.buffer, to_at, size);
        }
        if queued.batch.is_full() {
            self.submit(&mut queued)?;
        }
        Ok(())
    }

    fn copy_by_kernel(&self, from: Range, to: Range) -> Result<(), Error> {
        {
            let queued = self.queued();
            self.block(&queued, from)?;
            self.block(&queued, to)?;
        }
        let module = self.copier()?;
        // What is before the first multiple that the device binds at is bound with it.
        let most = (self.target.max_buffer_bytes.saturating_sub(1024) as usize).min(COPY_PIECE) / 1024 * 1024;
        for begin in (0..from.len).step_by(most.max(1024)) {
            let len = (from.len - begin).min(most.max(1024));
            let (from, to) = (Range { offset: from.offset + begin, len, ..from }, Range { offset: to.offset + begin, len, ..to });
            let numbers = [len / 16, len % 16 / 4, (1 << (len % 4 * 8)) - 1].map(|n| Bound::Scalar(DType::U32, n as u64));
            let groups = (len / 16).div_ceil(THREADS as usize).max(1) as u32;
            let buffers = [Bound::Buffer(from), Bound::Buffer(to)];
            self.launch(module, [groups, 1, 1], &[&buffers[..], &numbers[..]].concat())?;
        }
        Ok(())
    }

    /// The kernel that copies, compiled when it is first needed.
    fn copier(&self) -> Result<&Module, Error> {
        if let Some(module) = self.copier.get() {
            return Ok(module);
        }
        let module = self.compile(&copy_program())?;
        Ok(self.copier.get_or_init(|| module))
    }
}
