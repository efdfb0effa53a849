//! Panels: positions of one head with all their features, from device memory to shared memory, in two steps: `fetch` into registers, `deposit`
//! into shared memory.
//!
//! Always: what lies beyond the positions asked for, or beyond the tensor's features, is 0. Neighbouring threads read neighbours in memory,
//! with vectors where the layout is aligned.

use super::super::{run, tile::Side};
use super::runs::Threads;
use crate::lower::distribute::mul_const_add;
use unigrad_ir::{Builder, Place, Type, Value};
use unigrad_kernel::Layout4;
use unigrad_scalar::{DType, Literal};

/// Elements from row to row in shared memory are more than the row by this: aligned to fragments, and not a multiple of all banks.
pub(super) const PAD: u32 = 8;

/// A panel's place in shared memory: `[positions][features + PAD]`.
#[derive(Clone, Copy)]
pub(super) struct PanelMemory {
    pub(super) place: Place,
    /// Elements from row to row.
    pub(super) ld: u32,
}

/// What a panel is taken from.
pub(super) struct Source<'a> {
    pub(super) side: Side,
    pub(super) layout: &'a Layout4,
    /// The first feature (`U32`), if that is not 0.
    pub(super) feature: Option<Value>,
}

/// See the module's text.
pub(super) struct Panel {
    side: Side,
    feature: Option<Value>,
    shared: PanelMemory,
    positions: u32,
    width: u32,
    /// Features that are moved at once.
    v: u32,
    /// Moves of a thread; what it holds of each.
    slots: u32,
    held: Place,
    threads: u32,
    thread: Value,
}

impl Panel {
    /// A panel of `positions` times `width` features (a multiple of 8).
    pub(super) fn new(
        b: &mut Builder,
        name: &str,
        source: Source<'_>,
        [positions, width]: [u32; 2],
        shared: PanelMemory,
        Threads { thread, count: threads, target }: Threads<'_>,
    ) -> Panel {
        let Source { side, layout, feature } = source;
        let dtype = b.place_dtype(shared.place);
        let v = run(layout, side.features, dtype, target);
        let slots = (positions * width / v).div_ceil(threads);
        let ty = if v == 1 { Type::Scalar(dtype) } else { Type::Vector(dtype, v as u8) };
        let held = b.local(&format!("{name}_held"), ty, slots);
        Panel { side, feature, shared, positions, width, v, slots, held, threads, thread }
    }

    /// Calls `body` for each of the thread's moves with its number, position and first feature.
    fn each(&self, b: &mut Builder, body: impl FnOnce(&mut Builder, Value, Value, Value)) {
        let count = self.positions * self.width / self.v;
        b.unrolled(self.slots, |b, slot| {
            let step = b.mul_const(slot, self.threads.into());
            let at = b.add(self.thread, step);
            let along_features = self.side.feature.unsigned_abs() <= self.side.position.unsigned_abs() || self.side.position == 0;
            let (position, feature) = if self.v > 1 || along_features {
                let runs = i64::from(self.width / self.v);
                let feature = b.rem_const(at, runs);
                (b.div_const(at, runs), b.mul_const(feature, self.v.into()))
            } else {
                (b.rem_const(at, self.positions.into()), b.div_const(at, self.positions.into()))
            };
            if count.is_multiple_of(self.threads) {
                body(b, slot, position, feature);
            } else {
                let end = b.u32(count);
                let inside = b.lt(at, end);
                b.when(inside, |b| body(b, slot, position, feature));
            }
        });
    }

    /// Reads the positions from `first` on, of which those below `end` exist (`I32`).
    pub(super) fn fetch(&self, b: &mut Builder, first: Value, end: Value) {
        let dtype = b.place_dtype(self.side.place);
        let zero = b.constant(Literal::zero(dtype));
        let nothing = b.compose(&vec![zero; self.v as usize]);
        self.each(b, |b, slot, position, feature| {
            let position = b.cast(position, DType::I32);
            let position = b.add(first, position);
            let mut inside = b.lt(position, end);
            let feature = self.feature.map_or(feature, |first| b.add(first, feature));
            if self.feature.is_some() || self.width as usize != self.side.features {
                let features = b.u32(self.side.features as u32);
                let in_line = b.lt(feature, features);
                inside = b.and(inside, in_line);
            }
            b.store(self.held, slot, nothing);
            b.when(inside, |b| {
                let from = self.side.at(b, position, feature);
                let value = b.load_vector(self.side.place, from, self.v as u8);
                b.store(self.held, slot, value);
            });
        });
    }

    /// Writes what was read.
    pub(super) fn deposit(&self, b: &mut Builder) {
        self.each(b, |b, slot, position, feature| {
            let to = mul_const_add(b, position, self.shared.ld.into(), feature);
            let value = b.load(self.held, slot);
            b.store(self.shared.place, to, value);
        });
    }
}
