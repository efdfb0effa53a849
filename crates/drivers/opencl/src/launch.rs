//! Launches: arguments, grid, and memory objects that stand for parts of buffers.
//!
//! Always: a kernel's arguments are set and its launch is queued under the kernel's lock, because they belong to the kernel object.

use crate::{
    api::{Code, Handle},
    backend::{OpenClBackend, Queue, READ_WRITE, buffer, lock},
    object::Object,
    program::{Convention, Module},
};
use std::ffi::c_void;
use unigrad_device::Error;
use unigrad_gpu::{Bound, Range};
use unigrad_ir::Param;
use unigrad_scalar::DType;

/// What stands for part of a buffer during a launch. OpenCL keeps it until the launch is done with it.
struct Stand {
    part: Object,
    /// Where its contents go afterwards.
    back: Option<Range>,
}

/// A scalar argument: how many bytes, and the bytes. A `Bool` is passed as one byte, integers in their width.
fn word(dtype: DType, raw: u64) -> (usize, [u8; 8]) {
    (dtype.size(), raw.to_le_bytes())
}

impl OpenClBackend {
    /// Queues a launch.
    pub(crate) fn queue_launch(&self, module: &Module, grid: [u32; 3], args: &[Bound]) -> Result<(), Error> {
        let refuse = |cause: String| Error::Launch { device: self.name(), kernel: module.name.clone(), cause };
        if let Some(obstacle) = self.grid_obstacle(module, grid) {
            return Err(refuse(obstacle));
        }
        let local = module.block.map(|n| n as usize);
        let global: [usize; 3] = std::array::from_fn(|axis| grid[axis] as usize * local[axis]);
        // Some drivers are faster with fewer axes.
        let axes = if global[2] > 1 || local[2] > 1 { 3 } else { 1 + u32::from(global[1] > 1) };
        let _arguments = lock(&module.arguments);
        let queue = lock(&self.queue);
        let queued = self.set_all(&queue, module, args).and_then(|stands| {
            // SAFETY: the kernel has all its arguments (its count was checked when it was made), buffers are alive until the
            // queue is done with them, and sizes are arrays of `axes` or more numbers.
            Code::check(unsafe {
                (self.api.clEnqueueNDRangeKernel)(
                    queue.object.handle(),
                    module.kernel.handle(),
                    axes,
                    std::ptr::null(),
                    global.as_ptr(),
                    local.as_ptr(),
                    0,
                    std::ptr::null(),
                    std::ptr::null_mut(),
                )
            })?;
            let back = |stand: Stand| match stand.back {
                Some(to) => self.queue_copy(&queue, (stand.part.handle(), 0), (to.handle as Handle, to.offset), to.len),
                None => Ok(()),
            };
            stands.into_iter().try_for_each(back)
        });
        drop(queue);
        queued.map_err(|code| {
            self.lost(code, false).unwrap_or_else(|| match code {
                Code::MEM_OBJECT_ALLOCATION_FAILURE => self.out_of_memory(0, &format!("; in kernel {}", module.name)),
                _ => refuse(code.to_string()),
            })
        })
    }

    fn set(&self, kernel: &Object, at: &mut u32, bytes: usize, value: *const c_void) -> Result<(), Code> {
        // SAFETY: `value` points to so many bytes, which OpenCL copies; the kernel's lock is held.
        Code::check(unsafe { (self.api.clSetKernelArg)(kernel.handle(), *at, bytes, value) })?;
        *at += 1;
        Ok(())
    }

    /// Sets the arguments; gives what must be done after the launch.
    fn set_all(&self, queue: &Queue, module: &Module, args: &[Bound]) -> Result<Vec<Stand>, Code> {
        const INVALID_ARGS: Code = Code(-52);
        if args.len() != module.params.len() {
            return Err(INVALID_ARGS);
        }
        let mut stands = Vec::new();
        let mut at = 0;
        for (param, arg) in module.params.iter().zip(args) {
            match (param, arg) {
                (Param::Buffer { dtype, write, .. }, Bound::Buffer(range)) => {
                    stands.extend(self.set_buffer(queue, module, &mut at, (*dtype, *write), *range)?);
                }
                (Param::Table { dtype, count, write, .. }, Bound::Table(ranges)) if ranges.len() == *count as usize => {
                    for range in ranges {
                        stands.extend(self.set_buffer(queue, module, &mut at, (*dtype, *write), *range)?);
                    }
                }
                (Param::Scalar { dtype, .. }, Bound::Scalar(_, raw)) => self.set_number(module, &mut at, *dtype, *raw)?,
                (Param::ScalarTable { dtype, count, .. }, Bound::ScalarTable(_, raw)) if raw.len() == *count as usize => {
                    raw.iter().try_for_each(|raw| self.set_number(module, &mut at, *dtype, *raw))?;
                }
                _ => return Err(INVALID_ARGS),
            }
        }
        Ok(stands)
    }

    fn set_number(&self, module: &Module, at: &mut u32, dtype: DType, raw: u64) -> Result<(), Code> {
        let (bytes, raw) = word(dtype, raw);
        self.set(&module.kernel, at, bytes, raw.as_ptr().cast())
    }

    /// Sets the arguments that a buffer is.
    fn set_buffer(
        &self,
        queue: &Queue,
        module: &Module,
        at: &mut u32,
        (dtype, write): (DType, bool),
        range: Range,
    ) -> Result<Option<Stand>, Code> {
        let (memory, first, stand) = match (range.len, module.convention) {
            (0, _) => (self.shared.nothing.handle(), 0, None),
            (_, Convention::Offsets) => (range.handle as Handle, (range.offset / dtype.size()) as u64, None),
            (_, Convention::Plain) => {
                let (memory, stand) = self.part(queue, range, write)?;
                (memory, 0, stand)
            }
        };
        self.set(&module.kernel, at, size_of::<Handle>(), (&raw const memory).cast())?;
        if module.convention == Convention::Offsets {
            self.set(&module.kernel, at, size_of::<u64>(), (&raw const first).cast())?;
        }
        Ok(stand)
    }

    /// Part of a buffer as a memory object of its own: a sub-buffer where one may begin there, else a copy.
    fn part(&self, queue: &Queue, range: Range, write: bool) -> Result<(Handle, Option<Stand>), Code> {
        let whole = range.handle as Handle;
        if range.offset == 0 {
            return Ok((whole, None));
        }
        if (range.offset as u64).is_multiple_of(self.alignment) {
            const REGION: u32 = 0x1220;
            let region = [range.offset, range.len];
            let part = Object::memory(self.api, |status| {
                // SAFETY: the range lies in the buffer (the caller's promise), and begins where sub-buffers may.
                unsafe { (self.api.clCreateSubBuffer)(whole, READ_WRITE, REGION, region.as_ptr().cast(), status) }
            })?;
            return Ok((part.handle(), Some(Stand { part, back: None })));
        }
        let part = buffer(self.api, &self.shared.context, range.len)?;
        self.queue_copy(queue, (whole, range.offset), (part.handle(), 0), range.len)?;
        Ok((part.handle(), Some(Stand { part, back: write.then_some(range) })))
    }

    /// Why a launch with this grid cannot be.
    fn grid_obstacle(&self, module: &Module, grid: [u32; 3]) -> Option<String> {
        let most = self.target.max_grid;
        let size = |axis: usize| u64::from(grid[axis]) * u64::from(module.block[axis]);
        (0..3).find_map(|axis| {
            if grid[axis] > most[axis] {
                Some(format!("{} workgroups along axis {axis}; the device takes {}", grid[axis], most[axis]))
            } else if usize::try_from(size(axis)).is_err() {
                Some(format!("{} threads along axis {axis} are more than this machine counts", size(axis)))
            } else {
                None
            }
        })
    }
}
