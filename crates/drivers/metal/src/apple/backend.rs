//! One open GPU: memory, a queue, launches.
//!
//! Always: launches are gathered and handed over at a flush, a wait, or when there are enough; a failure of work that ran is reported by the
//! next wait, and [`Error::DeviceLost`] by every later call.
//! Never: holds the lock while it waits for the GPU.

use super::{
    Device,
    commands::Queued,
    describe, devices,
    marks::{self, Mark},
    memory::{Block, Memory},
    mps, problem,
    program::{self, Module},
};
use crate::BACKEND;
use objc2::{
    rc::{Retained, autoreleasepool},
    runtime::ProtocolObject,
};
use objc2_metal::{
    MTLBlitCommandEncoder as _, MTLBuffer, MTLCommandQueue, MTLComputeCommandEncoder as _, MTLDevice as _, MTLResourceOptions, MTLSize,
};
use std::{
    fmt,
    ptr::NonNull,
    sync::{Mutex, MutexGuard, PoisonError},
};
use unigrad_device::{Abilities, Error, Flush, HostMemory, Info, Marks, Timeline};
use unigrad_gpu::{As, Backend, Bound, Offer, Product, Range, Taken, Work};
use unigrad_ir::{Param, Program, Source, Target, render};

/// Allocations are multiples of this many bytes.
const UNIT: usize = 256;
/// Bytes that are copied aside at a time, so that an upload need not wait for the queue, or to private memory and back.
const ASIDE: usize = 16 << 20;
/// Bytes set aside at most; an upload beyond waits.
const ASIDE_TOTAL: usize = 64 << 20;

type Buffer = Retained<ProtocolObject<dyn MTLBuffer>>;

/// One GPU that Metal drives.
pub struct MetalBackend {
    ordinal: usize,
    name: String,
    device: Device,
    queue: Retained<ProtocolObject<dyn MTLCommandQueue>>,
    target: Target,
    unified: bool,
    /// Bytes that the device can work with at a time; 0 if it does not say.
    total: u64,
    max_buffer: usize,
    /// For arguments of no elements.
    nothing: Block,
    state: Mutex<State>,
}

// SAFETY: `nothing` is the only field that is not `Sync` by itself; its buffer is bound and never read, written or changed.
unsafe impl Sync for MetalBackend {}

#[derive(Default)]
struct State {
    queued: Queued,
    memory: Memory,
}

impl fmt::Debug for MetalBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MetalBackend({})", self.name)
    }
}

/// A buffer that GPU and host share, or that is the GPU's own.
fn new_buffer(device: &Device, bytes: usize, shared: bool) -> Option<Block> {
    let mode = if shared { MTLResourceOptions::StorageModeShared } else { MTLResourceOptions::StorageModePrivate };
    let buffer = device.newBufferWithLength_options(bytes, mode)?;
    let host = shared.then(|| buffer.contents().cast::<u8>());
    Some(Block { buffer, bytes, host, used_by: 0 })
}

impl MetalBackend {
    /// Opens the device of this ordinal.
    pub fn open(ordinal: usize) -> Result<MetalBackend, Error> {
        autoreleasepool(|_| {
            let name = format!("{BACKEND}:{ordinal}");
            let refuse = |(cause, help): (String, String)| Error::NotAvailable { asked: name.clone(), cause, help };
            let found = devices();
            let Some(device) = found.get(ordinal).cloned() else {
                return Err(refuse(match found.len() {
                    0 => problem(),
                    n => (format!("there are {n} devices"), "choose another".to_owned()),
                }));
            };
            let busy = || refuse(("Metal gives no queue and no memory".to_owned(), "see whether the system is out of memory".to_owned()));
            let queue = device.newCommandQueue().ok_or_else(busy)?;
            let nothing = new_buffer(&device, UNIT, false).ok_or_else(busy)?;
            Ok(MetalBackend {
                ordinal,
                target: describe::target(&device),
                unified: device.hasUnifiedMemory(),
                total: describe::memory_total(&device),
                max_buffer: device.maxBufferLength(),
                state: Mutex::default(),
                nothing,
                name,
                queue,
                device,
            })
        })
    }

    /// The command queue, for programs that call Metal themselves. What they commit there runs after what unigrad has handed over: call
    /// [`Backend::flush`] before.
    pub fn raw_queue(&self) -> &ProtocolObject<dyn MTLCommandQueue> {
        &self.queue
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reap(&self, state: &mut State) {
        state.queued.reap(&self.name, self.total, state.memory.in_use());
    }

    /// Waits for all batches up to a number. What went wrong in them is kept.
    fn settle(&self, number: u64) {
        let pending = {
            let mut state = self.lock();
            if state.queued.number() <= number {
                state.queued.submit();
            }
            state.queued.pending(number)
        };
        pending.iter().for_each(|commands| commands.wait());
        self.reap(&mut self.lock());
    }

    /// Waits for everything.
    fn settle_all(&self) {
        let last = self.lock().queued.last();
        self.settle(last);
    }

    fn copy_failed(&self, cause: impl Into<String>) -> Error {
        Error::Copy { device: self.name.clone(), cause: cause.into() }
    }

    fn refuse(&self, kernel: &str, cause: impl Into<String>) -> Error {
        Error::Launch { device: self.name.clone(), kernel: kernel.to_owned(), cause: cause.into() }
    }

    fn out_of_memory(&self, asked: usize, note: &str) -> Error {
        let in_use = self.lock().memory.in_use();
        let free = self.total.saturating_sub(self.device.currentAllocatedSize() as u64);
        Error::OutOfMemory { device: self.name.clone(), asked: asked as u64, free, total: self.total, in_use, largest: note.to_owned() }
    }

    /// Memory that the host sees, for copies.
    fn staging(&self, bytes: usize) -> Result<(Buffer, NonNull<u8>), Error> {
        let block = new_buffer(&self.device, bytes.next_multiple_of(UNIT), true).ok_or_else(|| self.out_of_memory(bytes, ""))?;
        let host = block.host.ok_or_else(|| self.copy_failed("Metal gives no memory for a copy"))?;
        Ok((block.buffer, host))
    }

    /// Queues a copy. Ranges lie in their buffers, and the bytes up to the next multiple of 4 with them: Metal copies whole words.
    fn queue_copy(
        &self,
        queued: &mut Queued,
        (from, from_at): (&ProtocolObject<dyn MTLBuffer>, usize),
        (to, to_at): (&ProtocolObject<dyn MTLBuffer>, usize),
        bytes: usize,
        aside: usize,
    ) -> Result<(), Error> {
        let encoder = queued.copy(&self.queue, aside).map_err(|cause| self.copy_failed(cause))?;
        // SAFETY: both ranges lie in their buffers; the command buffer keeps these until it is done, and Metal orders it with other uses.
        unsafe {
            encoder.copyFromBuffer_sourceOffset_toBuffer_destinationOffset_size(from, from_at, to, to_at, bytes.next_multiple_of(4));
        }
        Ok(())
    }

    /// Uploads at most [`ASIDE`] bytes by way of memory set aside.
    fn upload_aside(&self, data: &[u8], to: Range) -> Result<(), Error> {
        let too_much = {
            let mut state = self.lock();
            self.reap(&mut state);
            state.queued.aside() > ASIDE_TOTAL
        };
        if too_much {
            self.settle_all();
        }
        let (staging, host) = self.staging(data.len())?;
        // SAFETY: the new buffer has at least so many bytes, and nothing else has it.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), host.as_ptr(), data.len()) };
        let mut state = self.lock();
        let State { queued, memory } = &mut *state;
        queued.alive(&self.name)?;
        let number = queued.number();
        let block = memory.get(to).map_err(|cause| self.copy_failed(cause))?;
        self.queue_copy(queued, (&staging, 0), (&block.buffer, to.offset), data.len(), data.len())?;
        block.used_by = number;
        queued.submit_when_full();
        Ok(())
    }

    /// Writes where the host sees the memory and nothing uses it; false if something does.
    fn upload_directly(&self, data: &[u8], to: Range) -> Result<bool, Error> {
        let mut state = self.lock();
        self.reap(&mut state);
        let State { queued, memory } = &mut *state;
        queued.alive(&self.name)?;
        let block = memory.get(to).map_err(|cause| self.copy_failed(cause))?;
        let Some(host) = block.host_at(to.offset).filter(|_| block.used_by <= queued.done()) else { return Ok(false) };
        // SAFETY: the range lies in the buffer, which no queued work uses; the lock is held, so that none is queued meanwhile.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), host, data.len()) };
        Ok(true)
    }

    /// Reads at most [`ASIDE`] bytes of private memory.
    fn download_aside(&self, block: &Block, at: usize, data: &mut [u8]) -> Result<(), Error> {
        let (staging, host) = self.staging(data.len())?;
        let number = {
            let mut state = self.lock();
            self.queue_copy(&mut state.queued, (&block.buffer, at), (&staging, 0), data.len(), 0)?;
            state.queued.number()
        };
        self.settle(number);
        self.lock().queued.take_error(&self.name)?;
        // SAFETY: the staging buffer has so many bytes, and the copy into it is done.
        unsafe { std::ptr::copy_nonoverlapping(host.as_ptr(), data.as_mut_ptr(), data.len()) };
        Ok(())
    }

    fn compile(&self, source: &Source, program: &Program) -> Result<Module, Error> {
        self.lock().queued.alive(&self.name)?;
        let compiled = autoreleasepool(|_| program::compile(&self.device, &self.target, source, program));
        compiled.map_err(|cause| self.compile_error(program, cause))
    }

    fn compile_error(&self, program: &Program, cause: String) -> Error {
        Error::Compile { device: self.name.clone(), kernel: program.name.clone(), cause }
    }

    /// Why a launch with this grid cannot be.
    fn grid_obstacle(&self, grid: [u32; 3]) -> Option<String> {
        let most = self.target.max_grid;
        let axis = (0..3).find(|axis| grid[*axis] > most[*axis])?;
        Some(format!("{} workgroups along axis {axis}; the device takes {}", grid[axis], most[axis]))
    }
}

/// What a launch sets at a place.
enum Argument {
    Buffer(Buffer, usize),
    /// Bytes, and how many of them count.
    Number([u8; 8], usize),
}

fn size([x, y, z]: [u32; 3]) -> MTLSize {
    MTLSize { width: x as usize, height: y as usize, depth: z as usize }
}

impl Backend for MetalBackend {
    type Module = Module;

    fn info(&self) -> Info {
        autoreleasepool(|_| describe::info(&self.device, self.ordinal))
    }

    fn target(&self) -> &Target {
        &self.target
    }

    fn allocate(&self, bytes: usize) -> Result<u64, Error> {
        self.lock().queued.alive(&self.name)?;
        let rounded = bytes.max(1).checked_next_multiple_of(UNIT).filter(|rounded| *rounded <= self.max_buffer);
        let Some(rounded) = rounded else {
            return Err(self.out_of_memory(bytes, &format!("; one buffer takes {} bytes at most", self.max_buffer)));
        };
        let make = || {
            autoreleasepool(|_| {
                // Metal would grant more than the device can work with, and the work would fail.
                let needed = (self.device.currentAllocatedSize() as u64).saturating_add(rounded as u64);
                if self.total > 0 && needed > self.total { None } else { new_buffer(&self.device, rounded, self.unified) }
            })
        };
        let made = make().or_else(|| {
            // What was freed is kept until the work that uses it is done.
            self.settle_all();
            make()
        });
        let block = made.ok_or_else(|| self.out_of_memory(bytes, ""))?;
        Ok(self.lock().memory.add(block))
    }

    fn free(&self, handle: u64) {
        autoreleasepool(|_| self.lock().memory.remove(handle));
    }

    fn upload(&self, data: &[u8], to: Range) -> Result<(), Error> {
        let to = Range { len: data.len(), ..to };
        if data.is_empty() {
            return Ok(());
        }
        autoreleasepool(|_| {
            if self.unified && data.len() > ASIDE {
                // The wait costs less than another copy of that much.
                while !self.upload_directly(data, to)? {
                    let used_by = self.lock().memory.get(to).map_err(|cause| self.copy_failed(cause))?.used_by;
                    self.settle(used_by);
                }
                return Ok(());
            }
            if self.unified && self.upload_directly(data, to)? {
                return Ok(());
            }
            let chunks = data.chunks(ASIDE).enumerate();
            let place = |k: usize, chunk: &[u8]| Range { offset: to.offset + k * ASIDE, len: chunk.len(), ..to };
            chunks.into_iter().try_for_each(|(k, chunk)| self.upload_aside(chunk, place(k, chunk)))
        })
    }

    fn download(&self, from: Range, data: &mut [u8]) -> Result<(), Error> {
        let from = Range { len: data.len(), ..from };
        if data.is_empty() {
            return self.synchronize();
        }
        autoreleasepool(|_| {
            self.lock().queued.alive(&self.name)?;
            let block = self.lock().memory.get(from).map_err(|cause| self.copy_failed(cause))?.clone();
            if let Some(host) = block.host_at(from.offset) {
                self.synchronize()?;
                // SAFETY: the range lies in the buffer, which `block` keeps, and the work that was queued is done.
                unsafe { std::ptr::copy_nonoverlapping(host, data.as_mut_ptr(), data.len()) };
                return Ok(());
            }
            let mut chunks = data.chunks_mut(ASIDE).enumerate();
            chunks.try_for_each(|(k, chunk)| self.download_aside(&block, from.offset + k * ASIDE, chunk))
        })
    }

    fn copy(&self, from: Range, to: Range) -> Result<(), Error> {
        if from.len == 0 {
            return Ok(());
        }
        autoreleasepool(|_| {
            let mut state = self.lock();
            let State { queued, memory } = &mut *state;
            queued.alive(&self.name)?;
            let number = queued.number();
            let mut use_now = |range: Range| -> Result<Buffer, Error> {
                let block = memory.get(range).map_err(|cause| self.copy_failed(cause))?;
                block.used_by = number;
                Ok(block.buffer.clone())
            };
            let (source, target) = (use_now(from)?, use_now(Range { len: from.len, ..to })?);
            self.queue_copy(queued, (&source, from.offset), (&target, to.offset), from.len, 0)?;
            queued.submit_when_full();
            Ok(())
        })
    }

    fn load(&self, program: &Program) -> Result<Module, Error> {
        let source = render(program, &self.target).map_err(|error| self.compile_error(program, error.to_string()))?;
        self.compile(&source, program)
    }

    fn load_source(&self, source: &Source, signature: &Program) -> Result<Module, Error> {
        self.compile(source, signature)
    }

    fn launch(&self, module: &Module, grid: [u32; 3], args: &[Bound]) -> Result<(), Error> {
        let refuse = |cause: String| self.refuse(&module.name, cause);
        if let Some(obstacle) = self.grid_obstacle(grid) {
            return Err(refuse(obstacle));
        }
        if args.len() != module.params.len() {
            return Err(refuse(format!("{} arguments, the kernel has {}", args.len(), module.params.len())));
        }
        autoreleasepool(|_| {
            let mut state = self.lock();
            let State { queued, memory } = &mut *state;
            queued.alive(&self.name)?;
            let number = queued.number();
            // All arguments before anything is encoded: a launch happens whole or not at all.
            let each = module.params.iter().zip(args).map(|(param, arg)| match (param, arg) {
                (Param::Buffer { .. }, Bound::Buffer(range)) if range.len == 0 => Ok(Argument::Buffer(self.nothing.buffer.clone(), 0)),
                (Param::Buffer { .. }, Bound::Buffer(range)) => {
                    let block = memory.get(*range).map_err(&refuse)?;
                    block.used_by = number;
                    Ok(Argument::Buffer(block.buffer.clone(), range.offset))
                }
                (Param::Scalar { dtype, .. }, Bound::Scalar(_, raw)) => Ok(Argument::Number(raw.to_le_bytes(), dtype.size())),
                _ => Err(refuse("an argument is not what the parameter takes".to_owned())),
            });
            let arguments = each.collect::<Result<Vec<_>, _>>()?;
            let encoder = queued.launch(&self.queue, &module.name).map_err(refuse)?;
            encoder.setComputePipelineState(&module.pipeline);
            for (place, argument) in arguments.iter().enumerate() {
                match argument {
                    // SAFETY: the offset lies in the buffer, and there are at most as many places as Metal has (`program::compile`).
                    Argument::Buffer(buffer, offset) => unsafe { encoder.setBuffer_offset_atIndex(Some(buffer), *offset, place) },
                    // SAFETY: Metal copies so many of the eight bytes.
                    Argument::Number(bytes, count) => unsafe {
                        encoder.setBytes_length_atIndex(NonNull::from(bytes).cast(), *count, place);
                    },
                }
            }
            if module.dynamic_shared > 0 {
                // SAFETY: with what the text declares it fits the device (`program::compile`); lengths are multiples of 16.
                unsafe { encoder.setThreadgroupMemoryLength_atIndex(module.dynamic_shared.next_multiple_of(16), 0) };
            }
            encoder.dispatchThreadgroups_threadsPerThreadgroup(size(grid), size(module.block));
            queued.submit_when_full();
            Ok(())
        })
    }

    fn take(&self, offer: &Offer<'_>) -> Option<Taken> {
        // Only when asked for: where the class wins, and what it costs, has not been measured. It has no words for epilogues.
        let product = offer.products.iter().position(Product::is_plain)?;
        let can = offer.always && autoreleasepool(|_| mps::can(&self.device, &offer.products[product]));
        can.then_some(Taken { what: As::Product(product), workspace: 0, nanoseconds: f64::INFINITY, id: 0 })
    }

    fn perform(&self, _: &Taken, work: &Work<'_>, _: Range) -> Result<bool, Error> {
        let Work::Product(product, operands) = work else { return Ok(false) };
        let name = "MPSMatrixMultiplication";
        autoreleasepool(|_| {
            let mut state = self.lock();
            let State { queued, memory } = &mut *state;
            queued.alive(&self.name)?;
            let number = queued.number();
            let mut use_now = |range: Range| -> Result<Buffer, Error> {
                let block = memory.get(range).map_err(|cause| self.refuse(name, cause))?;
                block.used_by = number;
                Ok(block.buffer.clone())
            };
            let (a, b, c) = (use_now(operands.a)?, use_now(operands.b)?, use_now(operands.c)?);
            let places = [(&*a, operands.a.offset), (&*b, operands.b.offset), (&*c, operands.c.offset)];
            let commands = queued.library(&self.queue, name).map_err(|cause| self.refuse(name, cause))?;
            mps::encode(&self.device, &commands, product, places).map_err(|cause| self.refuse(name, cause))?;
            queued.submit_when_full();
            Ok(true)
        })
    }

    fn synchronize(&self) -> Result<(), Error> {
        autoreleasepool(|_| {
            self.settle_all();
            self.lock().queued.take_error(&self.name)
        })
    }
}

impl Abilities for MetalBackend {
    fn marks(&self) -> Option<&dyn Marks> {
        Some(self)
    }

    fn flush(&self) -> Option<&dyn Flush> {
        Some(self)
    }

    fn host_memory(&self) -> Option<&dyn HostMemory> {
        Some(self)
    }
}

impl Timeline for MetalBackend {
    type Mark = Mark;

    fn mark(&self) -> Result<Option<Mark>, Error> {
        autoreleasepool(|_| {
            let mut state = self.lock();
            state.queued.submit();
            self.reap(&mut state);
            state.queued.alive(&self.name)?;
            let since = state.queued.ended().max(marks::now());
            Ok(Some(Mark { since, pending: state.queued.pending(u64::MAX) }))
        })
    }

    fn is_done(&self, mark: &Mark) -> Result<bool, Error> {
        self.lock().queued.alive(&self.name)?;
        Ok(mark.is_done())
    }

    fn wait(&self, mark: &Mark) -> Result<(), Error> {
        mark.wait();
        let mut state = self.lock();
        self.reap(&mut state);
        state.queued.take_error(&self.name)
    }

    fn elapsed(&self, from: &Mark, to: &Mark) -> Result<f64, Error> {
        Timeline::wait(self, from)?;
        Timeline::wait(self, to)?;
        Ok((to.reached() - from.reached()).max(0.0) * 1e9)
    }
}

impl Flush for MetalBackend {
    fn flush(&self) -> Result<(), Error> {
        autoreleasepool(|_| {
            let mut state = self.lock();
            state.queued.submit();
            state.queued.alive(&self.name)
        })
    }
}

impl HostMemory for MetalBackend {
    fn host_bytes(&self, range: Range) -> Option<*const u8> {
        let block = self.lock().memory.get(range).ok()?.clone();
        let host = block.host_at(range.offset)?;
        self.settle(block.used_by);
        Some(host)
    }
}

impl Drop for MetalBackend {
    fn drop(&mut self) {
        // What was queued is done, as if the device had been waited for.
        self.settle_all();
    }
}
