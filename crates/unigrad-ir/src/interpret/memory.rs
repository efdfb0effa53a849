//! Loads, stores and atomics: bounds, definedness and races checked element by element.

use std::sync::{Mutex, MutexGuard, PoisonError};
use unigrad_scalar::{BinaryOp, DType};

use super::{
    Argument, FaultKind, Span,
    exec::{Executed, Machine, Trouble, column, meaningless},
    lanes::{self, Active, each},
    race::{Access, Cell, Me, touch, written_by},
};
use crate::{
    ir::{Array, AtomicOp, Param, Place, Program, Type, Value},
    text,
};

/// A buffer that a launch passed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binding {
    span: Span,
    dtype: DType,
    /// Loads count as atomic.
    atomic: bool,
    /// Where races on it are looked for, and its first byte there.
    region: Option<(usize, usize)>,
}

/// Memory that buffers of a launch share, with which thread touched what; ranges that overlap are one region.
#[derive(Debug)]
pub(super) struct Region {
    /// Bytes of a cell: of the smallest element that any of its buffers has.
    grain: usize,
    /// Runs of [`STRIPE`] cells, empty until one is touched; a worker holds one at a time.
    stripes: Vec<Mutex<Vec<Cell>>>,
}

/// Cells that one lock guards.
const STRIPE: usize = 1024;

/// The stripe that a worker touches now: threads of a group mostly touch neighbours.
#[derive(Default)]
struct Held<'r>(Option<(Which, MutexGuard<'r, Vec<Cell>>)>);

/// A region and a stripe of it.
type Which = (usize, usize);

impl<'r> Held<'r> {
    /// Notes an access to the element of `size` bytes at a byte of a region.
    #[inline(always)]
    fn touch(
        &mut self,
        regions: &'r [Region],
        region: usize,
        (at, size): (usize, usize),
        me: Me,
        access: Access,
    ) -> Result<(), super::race::Other> {
        let grain = regions[region].grain;
        let (first, end) = if size == grain { (at / size, at / size + 1) } else { (at / grain, (at + size).div_ceil(grain)) };
        (first..end).try_for_each(|cell| touch(&mut self.stripe(regions, (region, cell / STRIPE))[cell % STRIPE], me, access))
    }

    #[inline(always)]
    fn stripe(&mut self, regions: &'r [Region], wanted: Which) -> &mut [Cell] {
        if self.0.as_ref().is_none_or(|(which, _)| *which != wanted) {
            // Given back first: a worker that waits for one while it holds another could wait for ever.
            self.0 = None;
            let mut cells = regions[wanted.0].stripes[wanted.1].lock().unwrap_or_else(PoisonError::into_inner);
            if cells.is_empty() {
                cells.resize(STRIPE, [0; 2]);
            }
            self.0 = Some((wanted, cells));
        }
        self.0.as_mut().map_or(&mut [], |(_, cells)| cells)
    }
}

/// An array of a thread, for all threads.
#[derive(Debug)]
pub(super) struct Local {
    data: Vec<u64>,
    /// Per element and thread: the serial number of the group that wrote it.
    written: Vec<u32>,
    /// Lanes of one element.
    lanes: usize,
}

impl Local {
    pub(super) fn new(array: &Array, threads: usize, lanes: usize) -> Local {
        let len = array.len as usize;
        Local { data: vec![0; lanes * len], written: vec![0; threads * len], lanes }
    }
}

/// An array of a workgroup.
#[derive(Debug)]
pub(super) struct WorkgroupArray {
    data: Vec<u64>,
    cells: Vec<Cell>,
}

impl WorkgroupArray {
    pub(super) fn new(array: &Array) -> WorkgroupArray {
        let len = array.len as usize;
        WorkgroupArray { data: vec![0; len], cells: vec![[0; 2]; len] }
    }
}

/// Where the arguments of a launch lie, and where races are possible.
pub(super) fn bind(program: &Program, arguments: &[Argument], races: bool) -> (Vec<Vec<Binding>>, Vec<Region>) {
    let mut written = Vec::new();
    let mut bindings: Vec<Vec<Binding>> = Vec::with_capacity(arguments.len());
    for (param, argument) in program.params.iter().zip(arguments) {
        let (dtype, write, atomic) = match param {
            Param::Buffer { dtype, write, atomic, .. } => (*dtype, *write, *atomic),
            Param::Table { dtype, write, .. } => (*dtype, *write, false),
            Param::Scalar { dtype, .. } | Param::ScalarTable { dtype, .. } => (*dtype, false, false),
        };
        let spans: &[Span] = match argument {
            Argument::Buffer(span) => std::slice::from_ref(span),
            Argument::Table(spans) => spans,
            Argument::Scalar(_) | Argument::ScalarTable(_) => &[],
        };
        bindings.push(spans.iter().map(|span| Binding { span: *span, dtype, atomic, region: None }).collect());
        written.push(write);
    }
    let mut regions = Vec::new();
    if !races {
        return (bindings, regions);
    }
    // Spans in order of their place, joined while they overlap.
    let mut order: Vec<(usize, usize)> = bindings.iter().enumerate().flat_map(|(p, all)| (0..all.len()).map(move |b| (p, b))).collect();
    order.retain(|(p, b)| bindings[*p][*b].span.len > 0);
    order.sort_by_key(|(p, b)| (bindings[*p][*b].span.allocation, bindings[*p][*b].span.offset));
    let mut at = 0;
    while at < order.len() {
        let first = bindings[order[at].0][order[at].1].span;
        let (mut end, mut next) = (first.offset, at);
        while let Some((p, b)) = order.get(next) {
            let span = bindings[*p][*b].span;
            if span.allocation != first.allocation || (span.offset >= end && next > at) {
                break;
            }
            end = end.max(span.offset + span.len);
            next += 1;
        }
        let members = &order[at..next];
        if members.iter().any(|(p, _)| written[*p]) {
            let grain = members.iter().map(|(p, b)| bindings[*p][*b].dtype.size()).min().unwrap_or(1);
            for (p, b) in members {
                let offset = bindings[*p][*b].span.offset - first.offset;
                bindings[*p][*b].region = Some((regions.len(), offset));
            }
            let cells = (end - first.offset).div_ceil(grain);
            regions.push(Region { grain, stripes: (0..cells.div_ceil(STRIPE)).map(|_| Mutex::default()).collect() });
        }
        at = next;
    }
    (bindings, regions)
}

/// Notes an access to an element of a shared array; tells whether it was written before.
#[inline(always)]
fn touch_shared(cell: &mut Cell, me: Me, access: Access) -> Result<bool, super::race::Other> {
    let defined = written_by(cell, me);
    if !defined {
        // What another group left.
        if !super::race::read_by(cell, me) {
            cell[1] = 0;
        }
        cell[0] = 0;
    }
    touch(cell, me, access)?;
    Ok(defined)
}

/// A lane of an index as a number, for messages.
fn number(dtype: DType, lane: u64) -> i128 {
    if dtype.is_signed_int() { (lane as i64).into() } else { lane.into() }
}

impl Machine<'_> {
    #[cold]
    fn out_of_bounds(&self, thread: usize, place: Place, index: Value, lane: u64, len: usize) -> Box<Trouble> {
        let index = number(self.dtype(index), lane);
        Trouble::new(thread, FaultKind::OutOfBounds { place: text::place_name(self.program, place), index, len })
    }

    #[cold]
    fn race(&self, thread: usize, place: Place, at: usize, other: super::race::Other) -> Box<Trouble> {
        Trouble::new(thread, FaultKind::race(text::place_name(self.program, place), at as i128, other))
    }

    #[cold]
    fn undefined(&self, thread: usize, place: Place, at: usize) -> Box<Trouble> {
        Trouble::new(thread, FaultKind::Undefined { place: text::place_name(self.program, place), index: at as i128 })
    }

    #[cold]
    fn misaligned(&self, thread: usize, place: Place, index: Value, lane: u64, of: usize) -> Box<Trouble> {
        let index = number(self.dtype(index), lane);
        Trouble::new(thread, FaultKind::Misaligned { place: text::place_name(self.program, place), index, of })
    }

    /// The buffer that a place is for one thread.
    fn binding(&self, place: Place, thread: usize) -> Result<Binding, Box<Trouble>> {
        let (param, which) = match place {
            Place::Table(param, which) => (param, self.col(which).at(thread)),
            Place::Param(param) => (param, 0),
            Place::Shared(_) | Place::Local(_) => return Err(meaningless(Active::Some(&[thread as u32]), "not a buffer")),
        };
        let table = self.bindings.get(param as usize).map_or(&[][..], Vec::as_slice);
        match table.get(which as usize) {
            Some(binding) => Ok(*binding),
            None => {
                let place = text::place_name(self.program, Place::Param(param));
                Err(Trouble::new(thread, FaultKind::OutOfBounds { place, index: which.into(), len: table.len() }))
            }
        }
    }

    /// The element at a lane's index, `lanes` of them being in bounds; gives its position.
    #[inline(always)]
    fn checked(&self, thread: usize, place: Place, index: Value, lane: u64, lanes: usize, len: usize) -> Result<usize, Box<Trouble>> {
        let limit = (len + 1).saturating_sub(lanes);
        if lane >= limit as u64 {
            return Err(self.out_of_bounds(thread, place, index, lane, len));
        }
        if lanes > 1 && !lane.is_multiple_of(lanes as u64) {
            return Err(self.misaligned(thread, place, index, lane, lanes));
        }
        Ok(lane as usize)
    }

    pub(super) fn load(&mut self, place: Place, index: Value, ty: Type, active: Active<'_>, out: &mut [u64]) -> Executed {
        match place {
            Place::Local(at) => self.load_local(at as usize, index, ty, active, out),
            Place::Shared(_) => {
                let (threads, n) = (self.threads, ty.lanes().max(1));
                each!(active, i => {
                    let at = self.col(index).at(i);
                    for lane in 0..n {
                        out[lane * threads + i] = self.get(place, i, index, at, n, lane)?;
                    }
                });
                Ok(())
            }
            Place::Param(_) | Place::Table(..) => self.load_buffer(place, index, ty, active, out),
        }
    }

    fn load_buffer(&mut self, place: Place, index: Value, ty: Type, active: Active<'_>, out: &mut [u64]) -> Executed {
        let (threads, n, me) = (self.threads, ty.lanes().max(1), self.me());
        let mut binding = self.binding(place, active.first())?;
        let varying = matches!(place, Place::Table(_, which) if !self.uniform[which.index()]);
        let (dtype, size) = (binding.dtype, binding.dtype.size());
        let access = if binding.atomic { Access::AtomicRead } else { Access::Read };
        let mut held = Held::default();
        each!(active, i => {
            if varying {
                binding = self.binding(place, i)?;
            }
            let lane = self.col(index).at(i);
            let at = self.checked(i, place, index, lane, n, binding.span.len / size)?;
            if let Some((region, offset)) = binding.region {
                let touched = held.touch(self.regions, region, (offset + at * size, n * size), me.thread(i), access);
                touched.map_err(|other| self.race(i, place, at, other))?;
            }
            let bytes = self.memory[binding.span.allocation];
            for lane in 0..n {
                out[lane * threads + i] = lanes::read(dtype, bytes, binding.span.offset + (at + lane) * size);
            }
        });
        Ok(())
    }

    fn load_local(&mut self, at: usize, index: Value, ty: Type, active: Active<'_>, out: &mut [u64]) -> Executed {
        let (threads, place, index_col) = (self.threads, Place::Local(at as u32), self.col(index));
        let array = &self.program.locals[at];
        let local = &self.locals[at];
        if let Type::Fragment(_) = array.ty {
            let element = self.checked(active.first(), place, index, index_col.at(active.first()), 1, array.len as usize)?;
            each!(active, i => if local.written[element * threads + i] != self.serial {
                return Err(self.undefined(i, place, element));
            });
            out.copy_from_slice(&local.data[element * local.lanes..(element + 1) * local.lanes]);
            return Ok(());
        }
        // A vector out of an array of scalars takes as many elements as it has lanes.
        let (n, count) = (array.ty.lanes(), ty.lanes() / array.ty.lanes().max(1));
        each!(active, i => {
            let first = self.checked(i, place, index, index_col.at(i), count, array.len as usize)?;
            for lane in 0..count * n {
                let element = first + lane / n;
                if local.written[element * threads + i] != self.serial {
                    return Err(self.undefined(i, place, element));
                }
                out[lane * threads + i] = local.data[(element * n + lane % n) * threads + i];
            }
        });
        Ok(())
    }

    pub(super) fn store(&mut self, place: Place, index: Value, value: Value, active: Active<'_>) -> Executed {
        match place {
            Place::Local(at) => self.store_local(at as usize, index, value, active),
            Place::Shared(_) => {
                let (threads, n) = (self.threads, self.program.ty(value).lanes().max(1));
                each!(active, i => {
                    let at = self.col(index).at(i);
                    for lane in 0..n {
                        let lane_value = self.lane_of(value, n, lane * threads, i);
                        self.put(place, i, index, at, n, lane, lane_value)?;
                    }
                });
                Ok(())
            }
            Place::Param(_) | Place::Table(..) => self.store_buffer(place, index, value, active),
        }
    }

    /// A lane of a scalar or vector value.
    #[inline(always)]
    fn lane_of(&self, value: Value, lanes: usize, at: usize, thread: usize) -> u64 {
        if lanes == 1 { self.col(value).at(thread) } else { self.values[value.index()][at + thread] }
    }

    fn store_buffer(&mut self, place: Place, index: Value, value: Value, active: Active<'_>) -> Executed {
        let (threads, n, me) = (self.threads, self.program.ty(value).lanes().max(1), self.me());
        let mut binding = self.binding(place, active.first())?;
        let varying = matches!(place, Place::Table(_, which) if !self.uniform[which.index()]);
        let (dtype, size) = (binding.dtype, binding.dtype.size());
        let mut held = Held::default();
        each!(active, i => {
            if varying {
                binding = self.binding(place, i)?;
            }
            let lane = self.col(index).at(i);
            let at = self.checked(i, place, index, lane, n, binding.span.len / size)?;
            if let Some((region, offset)) = binding.region {
                let touched = held.touch(self.regions, region, (offset + at * size, n * size), me.thread(i), Access::Write);
                touched.map_err(|other| self.race(i, place, at, other))?;
            }
            for lane in 0..n {
                let word = self.lane_of(value, n, lane * threads, i);
                lanes::write(dtype, self.memory[binding.span.allocation], binding.span.offset + (at + lane) * size, word);
            }
        });
        Ok(())
    }

    fn store_local(&mut self, at: usize, index: Value, value: Value, active: Active<'_>) -> Executed {
        let (threads, place) = (self.threads, Place::Local(at as u32));
        let array = &self.program.locals[at];
        if let Type::Fragment(_) = array.ty {
            let index_lane = self.col(index).at(active.first());
            let element = self.checked(active.first(), place, index, index_lane, 1, array.len as usize)?;
            let subgroups = self.whole_subgroups(active)?;
            let local = &mut self.locals[at];
            let size = local.lanes / (threads / self.subgroup);
            for first in subgroups {
                let from = first / self.subgroup * size;
                local.data[element * local.lanes + from..][..size].copy_from_slice(&self.values[value.index()][from..from + size]);
            }
            each!(active, i => local.written[element * threads + i] = self.serial);
            return Ok(());
        }
        let (n, serial, ty) = (array.ty.lanes(), self.serial, self.program.ty(value));
        let count = ty.lanes() / n.max(1);
        each!(active, i => {
            self.checked(i, place, index, self.col(index).at(i), count, array.len as usize)?;
        });
        let (index_col, value_col) = (column(&self.values, self.uniform, index), column(&self.values, self.uniform, value));
        let local = &mut self.locals[at];
        each!(active, i => {
            let first = index_col.at(i) as usize;
            for lane in 0..count * n {
                let element = first + lane / n;
                local.written[element * threads + i] = serial;
                let word = if ty.lanes() == 1 { value_col.at(i) } else { value_col.data[lane * threads + i] };
                local.data[(element * n + lane % n) * threads + i] = word;
            }
        });
        Ok(())
    }

    /// Notes an access of a thread to element `index + lane` of a vector of `lanes`; gives where it is.
    fn reach(
        &mut self,
        place: Place,
        thread: usize,
        index: Value,
        at: u64,
        lanes: (usize, usize),
        access: Access,
    ) -> Result<Reached, Box<Trouble>> {
        let (n, lane) = lanes;
        let me = self.me().thread(thread);
        match place {
            Place::Shared(array) => {
                let len = self.shared[array as usize].data.len();
                let at = self.checked(thread, place, index, at, n, len)? + lane;
                if self.options.races {
                    let touched = touch_shared(&mut self.shared[array as usize].cells[at], me, access);
                    let defined = touched.map_err(|other| self.race(thread, place, at, other))?;
                    if !defined && access != Access::Write {
                        return Err(self.undefined(thread, place, at));
                    }
                }
                Ok(Reached::Shared(array as usize, at))
            }
            Place::Param(_) | Place::Table(..) => {
                let binding = self.binding(place, thread)?;
                let size = binding.dtype.size();
                let at = self.checked(thread, place, index, at, n, binding.span.len / size)? + lane;
                if let Some((region, offset)) = binding.region {
                    let access = if binding.atomic && access == Access::Read { Access::AtomicRead } else { access };
                    let touched = Held::default().touch(self.regions, region, (offset + at * size, size), me, access);
                    touched.map_err(|other| self.race(thread, place, at, other))?;
                }
                Ok(Reached::Bytes(binding.dtype, binding.span.allocation, binding.span.offset + at * size))
            }
            Place::Local(_) => Err(meaningless(Active::Some(&[thread as u32]), "atomics and fragments cannot be in arrays of the thread")),
        }
    }

    fn read(&self, at: &Reached) -> u64 {
        match *at {
            Reached::Shared(array, at) => self.shared[array].data[at],
            Reached::Bytes(dtype, allocation, at) => lanes::read(dtype, self.memory[allocation], at),
        }
    }

    fn write(&mut self, at: &Reached, value: u64) {
        match *at {
            Reached::Shared(array, at) => self.shared[array].data[at] = value,
            Reached::Bytes(dtype, allocation, at) => lanes::write(dtype, self.memory[allocation], at, value),
        }
    }

    /// Element `lane` of a vector of `lanes` at an index, for one thread.
    pub(super) fn get(
        &mut self,
        place: Place,
        thread: usize,
        index: Value,
        at: u64,
        lanes: usize,
        lane: usize,
    ) -> Result<u64, Box<Trouble>> {
        let reached = self.reach(place, thread, index, at, (lanes, lane), Access::Read)?;
        Ok(self.read(&reached))
    }

    /// Writes element `lane` of a vector of `lanes` at an index, for one thread.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn put(&mut self, place: Place, thread: usize, index: Value, at: u64, lanes: usize, lane: usize, value: u64) -> Executed {
        let reached = self.reach(place, thread, index, at, (lanes, lane), Access::Write)?;
        self.write(&reached, value);
        Ok(())
    }

    pub(super) fn atomic(
        &mut self,
        op: AtomicOp,
        place: Place,
        index: Value,
        value: Value,
        active: Active<'_>,
        out: &mut [u64],
    ) -> Executed {
        let dtype = self.dtype(value);
        let combine = |old: u64, new: u64| {
            let op = match op {
                AtomicOp::Add => BinaryOp::Add,
                AtomicOp::Max => BinaryOp::Max,
                AtomicOp::Min => BinaryOp::Min,
                AtomicOp::And => BinaryOp::And,
                AtomicOp::Or => BinaryOp::Or,
                AtomicOp::Xor => BinaryOp::Xor,
                AtomicOp::Exchange => return new,
            };
            lanes::binary_lane(op, dtype, old, new)
        };
        each!(active, i => {
            let (at, new) = (self.col(index).at(i), self.col(value).at(i));
            let reached = self.reach(place, i, index, at, (1, 0), Access::AtomicUpdate)?;
            let old = self.read(&reached);
            self.write(&reached, combine(old, new));
            out[i] = old;
        });
        Ok(())
    }

    pub(super) fn compare_exchange(
        &mut self,
        place: Place,
        index: Value,
        values: [Value; 2],
        active: Active<'_>,
        out: &mut [u64],
    ) -> Executed {
        each!(active, i => {
            let at = self.col(index).at(i);
            let [expected, new] = values.map(|v| self.col(v).at(i));
            let reached = self.reach(place, i, index, at, (1, 0), Access::AtomicUpdate)?;
            let old = self.read(&reached);
            if old == expected {
                self.write(&reached, new);
            }
            out[i] = old;
        });
        Ok(())
    }
}

/// An element, found.
enum Reached {
    Shared(usize, usize),
    Bytes(DType, usize, usize),
}
