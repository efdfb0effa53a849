//! What threads do with scores and sums in shared memory: each takes runs of neighbouring columns.

use super::panel::PanelMemory;
use super::product::Part;
use crate::lower::distribute::mul_const_add;
use unigrad_ir::{Builder, Place, Target, Value};
use unigrad_scalar::DType;

/// Neighbouring columns of a thread.
pub(super) const RUN: u32 = 4;

/// The threads of a workgroup.
#[derive(Clone, Copy)]
pub(super) struct Threads<'a> {
    /// This one's number, and how many there are.
    pub(super) thread: Value,
    pub(super) count: u32,
    pub(super) target: &'a Target,
}

impl Threads<'_> {
    /// Calls `body` for every run of `v` neighbours of what is in memory: the row within the block, the column in memory, where it is.
    pub(super) fn each_run(
        &self,
        b: &mut Builder,
        part: &Part,
        memory: PanelMemory,
        v: u32,
        body: impl FnOnce(&mut Builder, Value, Value, Value),
    ) {
        let runs = part.columns / v;
        let (end, threads) = (b.u32(part.rows * runs), b.u32(self.count));
        b.repeat(self.thread, end, threads, |b, at| {
            let (row, column) = (b.div_const(at, runs.into()), b.rem_const(at, runs.into()));
            let column = b.mul_const(column, v.into());
            let at = mul_const_add(b, row, memory.ld.into(), column);
            body(b, row, column, at);
        });
    }

    /// Neighbours from an index on that is a multiple of their number: as a vector where that pays.
    pub(super) fn load_run(&self, b: &mut Builder, place: Place, at: Value, n: u32) -> Vec<Value> {
        if self.target.vectors {
            let vector = b.load_vector(place, at, n as u8);
            return (0..n as u8).map(|lane| b.extract(vector, lane)).collect();
        }
        (0..n)
            .map(|lane| {
                let at = b.add_const(at, lane.into());
                b.load(place, at)
            })
            .collect()
    }

    /// Neighbours as [`Threads::load_run`] gives them, each times a factor and as another dtype.
    pub(super) fn load_scaled_run(&self, b: &mut Builder, place: Place, at: Value, n: u32, (factor, dtype): (Value, DType)) -> Vec<Value> {
        let sums = self.load_run(b, place, at, n);
        let scaled = |sum| {
            let value = b.mul(sum, factor);
            b.cast(value, dtype)
        };
        sums.into_iter().map(scaled).collect()
    }

    pub(super) fn store_run(&self, b: &mut Builder, place: Place, at: Value, values: &[Value]) {
        if self.target.vectors {
            let vector = b.compose(values);
            return b.store(place, at, vector);
        }
        for (lane, value) in values.iter().enumerate() {
            let at = b.add_const(at, lane as i64);
            b.store(place, at, *value);
        }
    }
}
