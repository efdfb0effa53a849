//! Tiles of an operand from device memory to shared memory, in two steps: `fetch` into registers, `deposit` into the tile.
//!
//! In: `lanes x bk` elements from a lane and a `k` on; what lies beyond the operand's extents is 0.
//! Always: neighbouring threads read along the direction that memory runs in, with vectors where runs are aligned. Offsets of lanes are decoded
//! once per tile of the output; offsets of `k` once per thread and tile, or once per workgroup and tile through a table in shared memory.
//! [`pipeline`] puts the steps and their barriers in order.

use super::problem::{Along, Operand, plus};
use super::source::Source;
use unigrad_ir::{Builder, Place, Target, Type, Value};
use unigrad_scalar::{BinaryOp, DType, Literal};

/// How a tile lies in shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Layout {
    /// Element `(lane, k)` at `k * ld + lane`.
    KMajor,
    /// Element `(lane, k)` at `lane * ld + k`.
    LaneMajor,
}

/// What a tile is.
#[derive(Clone, Debug)]
pub(super) struct Tile<'a> {
    pub(super) operand: &'a Operand,
    pub(super) lanes: u32,
    pub(super) bk: u32,
    pub(super) threads: u32,
    /// Extents of the operand.
    pub(super) n_lanes: u64,
    pub(super) n_k: u64,
    /// Whether a tile can reach beyond `n_k`.
    pub(super) mask_k: bool,
    pub(super) layout: Layout,
    pub(super) ld: u32,
    /// Element type in shared memory.
    pub(super) stored: DType,
    /// First element in the shared array.
    pub(super) at: u32,
    /// Elements from one buffer of the tile to the next.
    pub(super) stage: u32,
}

/// A [`Tile`] in a program.
pub(super) struct Loader<'a> {
    tile: Tile<'a>,
    source: &'a Source<'a>,
    shared: Place,
    along: Along,
    /// Elements per load.
    v: u32,
    /// Loads per thread.
    slots: u32,
    /// Slow positions from one slot to the next.
    step: u32,
    held: Place,
    table: Option<Place>,
    /// Along lanes: the offset of the thread's lanes. Along k: that of the tile's first lane, if all lanes have one stride.
    base: Value,
    /// Along k: where the lanes of the slots are.
    lanes: LaneOffsets,
    /// First lane of the tile.
    first: Value,
    thread: Value,
    fast: Value,
    slow: Value,
}

/// Where lanes are, by the slots that load them.
enum LaneOffsets {
    /// One stride describes them.
    Stride(i64),
    /// Of several dimensions: an offset for each slot.
    BySlot(Place),
}

impl<'a> Loader<'a> {
    /// `base`: where the batch item begins; `first`: the tile's first lane.
    pub(super) fn new(
        b: &mut Builder,
        name: &str,
        tile: Tile<'a>,
        target: &Target,
        (source, shared): (&'a Source<'a>, Place),
        [thread, base, first]: [Value; 3],
    ) -> Loader<'a> {
        let operand = tile.operand;
        let along = operand.along();
        let (fast_extent, slow_extent) = match along {
            Along::Lanes => (tile.lanes, tile.bk),
            Along::K => (tile.bk, tile.lanes),
        };
        let mut v = operand.vector(target, along).min(fast_extent);
        // Every thread has something to load, if that is possible.
        while v > 1 && fast_extent * slow_extent / v < tile.threads {
            v /= 2;
        }
        let across = fast_extent / v;
        let step = (tile.threads / across).max(1);
        let slots = slow_extent.div_ceil(step);
        let fast = b.rem_const(thread, across.into());
        let fast = b.mul_const(fast, v.into());
        let slow = b.div_const(thread, across.into());
        let ty = if v == 1 { Type::Scalar(operand.dtype) } else { Type::Vector(operand.dtype, v as u8) };
        let held = b.local(&format!("{name}_held"), ty, slots);
        let mut loader = Loader {
            source,
            shared,
            along,
            v,
            slots,
            step,
            held,
            table: None,
            base,
            lanes: LaneOffsets::Stride(0),
            first,
            thread,
            fast,
            slow,
            tile,
        };
        match along {
            Along::Lanes => {
                let lane = b.add(first, fast);
                let at = operand.lanes.offset(b, lane, operand.index);
                loader.base = plus(b, base, at);
                if operand.k.0.len() > 1 && slots > 1 && loader.tile.bk <= loader.tile.threads {
                    loader.table = Some(b.shared(&format!("{name}_offsets"), operand.index, 2 * loader.tile.bk));
                }
            }
            Along::K => {
                let lane = b.add(first, slow);
                match operand.lanes.single() {
                    Some(stride) => {
                        let at = operand.lanes.offset(b, lane, operand.index);
                        loader.base = plus(b, base, at);
                        loader.lanes = LaneOffsets::Stride(stride);
                    }
                    None => {
                        let offsets = b.local(&format!("{name}_lanes"), Type::Scalar(operand.index), slots);
                        repeat(b, slots, |b, slot| {
                            let step = b.mul_const(slot, step.into());
                            let lane = b.add(lane, step);
                            let at = operand.lanes.offset(b, lane, operand.index);
                            let at = plus(b, base, at);
                            b.store(offsets, slot, at);
                        });
                        loader.lanes = LaneOffsets::BySlot(offsets);
                    }
                }
            }
        }
        loader
    }

    /// Offsets of the `k` of the tile that begins at `k0`, for buffer `parity` (0 or 1) of the table.
    fn fill_table(&self, b: &mut Builder, k0: Value, parity: Value) {
        let Some(table) = self.table else { return };
        let bk = b.u32(self.tile.bk);
        let mine = b.lt(self.thread, bk);
        b.when(mine, |b| {
            let k = b.add(k0, self.thread);
            let at = self.k_offset(b, k);
            let slot = b.mul_const(parity, self.tile.bk.into());
            let slot = b.add(slot, self.thread);
            b.store(table, slot, at);
        });
    }

    fn k_offset(&self, b: &mut Builder, k: Value) -> Value {
        let operand = self.tile.operand;
        let zero = b.int(operand.index, 0);
        let at = operand.k.offset(b, k, operand.index);
        plus(b, zero, at)
    }

    /// Reads the tile that begins at `k0` into registers; `parity`: the table's buffer.
    fn fetch(&self, b: &mut Builder, k0: Value, parity: Value) {
        let Tile { operand, lanes, bk, n_lanes, n_k, mask_k, .. } = self.tile;
        let zero = b.constant(Literal::zero(operand.dtype));
        let nothing = b.compose(&vec![zero; self.v as usize]);
        let (lanes_end, k_end) = (n_lanes as u32, n_k as u32);
        let mask_lanes = !n_lanes.is_multiple_of(lanes.into());
        // Along k, all of the thread's elements have one k.
        let fast_k = (self.along == Along::K).then(|| {
            let k = b.add(k0, self.fast);
            (k, self.k_offset(b, k))
        });
        repeat(b, self.slots, |b, slot| {
            let step = b.mul_const(slot, self.step.into());
            let slow = b.add(self.slow, step);
            let mut mask: Option<Value> = None;
            let mut also = |b: &mut Builder, value: Value, end: u32| {
                let end = b.u32(end);
                let inside = b.lt(value, end);
                mask = Some(mask.map_or(inside, |mask| b.and(mask, inside)));
            };
            let at = match fast_k {
                None => {
                    if self.partial() {
                        also(b, slow, bk);
                    }
                    let k = b.add(k0, slow);
                    if mask_k {
                        also(b, k, k_end);
                    }
                    if mask_lanes {
                        let lane = b.add(self.first, self.fast);
                        also(b, lane, lanes_end);
                    }
                    let at = match self.table {
                        // Beyond the tile there is no entry.
                        Some(table) => {
                            let half = b.mul_const(parity, bk.into());
                            let slow = if self.partial() {
                                let last = b.u32(bk - 1);
                                b.binary(BinaryOp::Min, slow, last)
                            } else {
                                slow
                            };
                            let entry = b.add(half, slow);
                            b.load(table, entry)
                        }
                        None => self.k_offset(b, k),
                    };
                    b.add(self.base, at)
                }
                Some((k, at)) => {
                    if self.partial() {
                        also(b, slow, lanes);
                    }
                    if mask_lanes {
                        let lane = b.add(self.first, slow);
                        also(b, lane, lanes_end);
                    }
                    if mask_k {
                        also(b, k, k_end);
                    }
                    match self.lanes {
                        LaneOffsets::BySlot(offsets) => {
                            let lane = b.load(offsets, slot);
                            b.add(lane, at)
                        }
                        LaneOffsets::Stride(stride) => {
                            let step = b.cast(step, operand.index);
                            let step = b.mul_const(step, stride);
                            let lane = b.add(self.base, step);
                            b.add(lane, at)
                        }
                    }
                }
            };
            match mask {
                None => {
                    let value = self.source.load(b, at, self.v as u8);
                    b.store(self.held, slot, value);
                }
                Some(mask) => {
                    b.store(self.held, slot, nothing);
                    b.when(mask, |b| {
                        let value = self.source.load(b, at, self.v as u8);
                        b.store(self.held, slot, value);
                    });
                }
            }
        });
    }

    /// Whether some threads have nothing to do in the last slot.
    fn partial(&self) -> bool {
        let slow_extent = if self.along == Along::Lanes { self.tile.bk } else { self.tile.lanes };
        !slow_extent.is_multiple_of(self.step)
    }

    /// Writes what was fetched to buffer `buffer` (0 or 1) of the tile.
    fn deposit(&self, b: &mut Builder, buffer: Value) {
        let Tile { lanes, bk, layout, ld, stored, at, stage, .. } = self.tile;
        let base = b.mul_const(buffer, stage.into());
        let base = b.add_const(base, at.into());
        let contiguous = (layout == Layout::KMajor) == (self.along == Along::Lanes);
        repeat(b, self.slots, |b, slot| {
            let step = b.mul_const(slot, self.step.into());
            let slow = b.add(self.slow, step);
            let write = |b: &mut Builder| {
                let held = b.load(self.held, slot);
                let values: Vec<Value> = (0..self.v)
                    .map(|lane| {
                        let value = b.extract(held, lane as u8);
                        b.cast(value, stored)
                    })
                    .collect();
                if contiguous {
                    let row = b.mul_const(slow, ld.into());
                    let row = b.add(base, row);
                    let first = b.add(row, self.fast);
                    if self.v > 1 && b.dtype(held) == stored {
                        b.store(self.shared, first, held);
                        return;
                    }
                    let width = self.v.min(16 / stored.size() as u32);
                    for (part, values) in values.chunks(width as usize).enumerate() {
                        let to = b.add_const(first, i64::from(part as u32 * width));
                        let value = b.compose(values);
                        b.store(self.shared, to, value);
                    }
                } else {
                    for (lane, value) in values.into_iter().enumerate() {
                        let fast = b.add_const(self.fast, lane as i64);
                        let row = b.mul_const(fast, ld.into());
                        let row = b.add(base, row);
                        let to = b.add(row, slow);
                        b.store(self.shared, to, value);
                    }
                }
            };
            if self.partial() {
                let end = b.u32(if self.along == Along::Lanes { bk } else { lanes });
                let inside = b.lt(slow, end);
                b.when(inside, write);
            } else {
                write(b);
            }
        });
    }
}

/// Multiplies `len` elements of `k` from `k0` on, tile by tile: while `multiply` uses one buffer of both tiles, the next is on its way.
pub(super) fn pipeline(b: &mut Builder, tiles: [&Loader<'_>; 2], k0: Value, len: u64, mut multiply: impl FnMut(&mut Builder, Value)) {
    let bk = tiles[0].tile.bk;
    let (zero, one) = (b.u32(0), b.u32(1));
    let has_table = tiles.iter().any(|t| t.table.is_some());
    let first_k = |b: &mut Builder, tile: Value| {
        let k = b.mul_const(tile, bk.into());
        b.add(k0, k)
    };
    let tables = |b: &mut Builder, tile: Value, parity: Value| {
        let k = first_k(b, tile);
        tiles.iter().for_each(|t| t.fill_table(b, k, parity));
    };
    if has_table {
        tables(b, zero, zero);
        tables(b, one, one);
        b.barrier();
    }
    tiles.iter().for_each(|t| t.fetch(b, k0, zero));
    tiles.iter().for_each(|t| t.deposit(b, zero));
    b.barrier();
    let n_tiles = len.div_ceil(bk.into()) as u32;
    if n_tiles == 1 {
        return multiply(b, zero);
    }
    let end = b.u32(n_tiles);
    b.repeat(zero, end, one, |b, tile| {
        let parity = b.rem_const(tile, 2);
        let next = b.add_const(tile, 1);
        let other = b.rem_const(next, 2);
        let more = b.lt(next, end);
        b.when(more, |b| {
            let k = first_k(b, next);
            tiles.iter().for_each(|t| t.fetch(b, k, other));
        });
        multiply(b, parity);
        b.when(more, |b| tiles.iter().for_each(|t| t.deposit(b, other)));
        if has_table {
            // This half of the tables was read last for this tile, before the barrier that ended the previous round.
            let after = b.add_const(tile, 2);
            tables(b, after, parity);
        }
        b.barrier();
    });
}

/// Bytes of the table of `k` offsets, at most.
pub(super) fn table_bytes(operand: &Operand, bk: u32) -> usize {
    if operand.along() == Along::Lanes && operand.k.0.len() > 1 { 2 * bk as usize * operand.index.size() } else { 0 }
}

/// `for i in 0..n`, unrolled; once, no loop.
pub(super) fn repeat(b: &mut Builder, n: u32, body: impl FnOnce(&mut Builder, Value)) {
    if n == 1 {
        let zero = b.u32(0);
        body(b, zero);
    } else {
        b.unrolled(n, body);
    }
}
