//! Sums on their way out through shared memory: a thread's registers hold scattered points, but neighbouring threads should store neighbouring
//! columns, and an epilogue should stand in the program once.

use super::grid::split;
use super::problem::Problem;
use super::sink::{Base, Sink};
use unigrad_ir::{Builder, Place, Value};

/// Sums in shared memory: `rows x cols`, `ld` elements from row to row (a multiple of the vectors').
pub(super) struct Staged {
    pub(super) shared: Place,
    pub(super) rows: u32,
    pub(super) cols: u32,
    pub(super) ld: u32,
    /// Neighbouring columns taken at once; see [`Sink::vector`].
    pub(super) v: u32,
    pub(super) threads: u32,
    /// Elements that one load from shared memory can have.
    pub(super) load: u32,
}

impl Staged {
    /// Hands all points to the sink. `row_of` tells the output's row of a staged one; points beyond the output are left out where `mask` says
    /// that there can be some, in rows and in columns.
    pub(super) fn put(
        &self,
        b: &mut Builder,
        p: &Problem,
        (sink, base): (&Sink<'_>, &Base),
        mask: [bool; 2],
        col0: Value,
        row_of: impl Fn(&mut Builder, Value) -> Value,
    ) {
        let v = self.v;
        let (thread, end, step) = (b.thread(0), b.u32(self.rows * self.cols / v), b.u32(self.threads));
        b.repeat(thread, end, step, |b, element| {
            let (staged, x) = split(b, element, (self.cols / v).into());
            let x = b.mul_const(x, v.into());
            let from = b.mul_const(staged, self.ld.into());
            let from = b.add(from, x);
            let col = b.add(col0, x);
            let row = row_of(b, staged);
            guarded(b, p, mask, row, col, |b| {
                let piece = v.min(self.load);
                let mut sums = Vec::with_capacity(v as usize);
                for first in (0..v).step_by(piece as usize) {
                    let from = b.add_const(from, first.into());
                    let vector = b.load_vector(self.shared, from, piece as u8);
                    sums.extend((0..piece).map(|lane| b.extract(vector, lane as u8)));
                }
                sink.put(b, base, row, col, &sums);
            });
        });
    }
}

/// Runs `body` if the point is within the output; `mask`: whether its row, its column can be beyond.
pub(super) fn guarded(b: &mut Builder, p: &Problem, mask: [bool; 2], row: Value, col: Value, body: impl FnOnce(&mut Builder)) {
    let mut inside: Option<Value> = None;
    for (value, extent, mask) in [(row, p.m, mask[0]), (col, p.n, mask[1])] {
        if mask {
            let end = b.u32(extent as u32);
            let below = b.lt(value, end);
            inside = Some(inside.map_or(below, |inside| b.and(inside, below)));
        }
    }
    match inside {
        Some(inside) => b.when(inside, body),
        None => body(b),
    }
}

/// Whether tiles of these sizes reach beyond the output, in rows and in columns.
pub(super) fn masks(p: &Problem, bm: u32, bn: u32) -> [bool; 2] {
    [!p.m.is_multiple_of(bm.into()), !p.n.is_multiple_of(bn.into())]
}
