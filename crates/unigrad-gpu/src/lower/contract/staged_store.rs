//! Sums on their way out through shared memory: a thread's registers hold scattered points, but neighbouring threads should store neighbouring
//! columns, and an epilogue should stand in the program once. Where a thread has few of them, what the epilogue reads besides is loaded before the sums are
//! made ([`Staged::begin`]): it comes from memory, and nothing else waits for it.

use super::super::region::Begun;
use super::grid::split;
use super::problem::Problem;
use super::sink::{Base, Epilogue};
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
    /// So many sums of each point are to be added, `rows * ld` elements apart.
    pub(super) parts: u32,
}

/// Numbers that a thread loads ahead at most.
const MOST_AHEAD: u32 = 32;

/// Points of a thread whose epilogue has begun: the first of their sums in shared memory, and what was loaded.
pub(super) struct Early<'s, 'a> {
    epilogue: &'s Epilogue<'a>,
    points: Vec<(Value, Begun)>,
}

impl Staged {
    /// A point's first sum, its row and its column.
    fn point(&self, b: &mut Builder, element: Value, col0: Value, row_of: &impl Fn(&mut Builder, Value) -> Value) -> [Value; 3] {
        let (staged, x) = split(b, element, (self.cols / self.v).into());
        let x = b.mul_const(x, self.v.into());
        let from = b.mul_const(staged, self.ld.into());
        let from = b.add(from, x);
        let col = b.add(col0, x);
        [from, row_of(b, staged), col]
    }

    fn sums(&self, b: &mut Builder, from: Value) -> Vec<Value> {
        let piece = self.v.min(self.load);
        let mut sums: Vec<Value> = Vec::with_capacity(self.v as usize);
        for part in 0..self.parts {
            for first in (0..self.v).step_by(piece as usize) {
                let from = b.add_const(from, (part * self.rows * self.ld + first).into());
                let vector = b.load_vector(self.shared, from, piece as u8);
                for lane in 0..piece {
                    let sum = b.extract(vector, lane as u8);
                    match sums.get_mut((first + lane) as usize) {
                        Some(before) => *before = b.add(*before, sum),
                        None => sums.push(sum),
                    }
                }
            }
        }
        sums
    }

    /// Begins the epilogue of all points, where the loads of a thread are few and no point lies beyond the output; to be called before the sums are made, in the block in
    /// which they are put ([`Staged::put`]). The sums are not looked at.
    pub(super) fn begin<'s, 'a>(
        &self,
        b: &mut Builder,
        base: &'s Base<'s, 'a>,
        mask: [bool; 2],
        col0: Value,
        row_of: impl Fn(&mut Builder, Value) -> Value,
    ) -> Option<Early<'s, 'a>> {
        let (epilogue, first) = base.epilogue()?;
        let points = self.rows * self.cols / self.v;
        let each = points / self.threads;
        let loads = epilogue.n_ahead() * self.v * each;
        if mask != [false; 2] || !points.is_multiple_of(self.threads) || loads == 0 || loads > MOST_AHEAD {
            return None;
        }
        let thread = b.thread(0);
        let points = (0..each).map(|at| {
            let element = b.add_const(thread, (at * self.threads).into());
            let [from, row, col] = self.point(b, element, col0, &row_of);
            (from, epilogue.begin(b, first, row, col, self.v))
        });
        Some(Early { epilogue, points: points.collect() })
    }

    /// Hands all points to the sink of `base`. `row_of` tells the output's row of a staged one; points beyond the output are left out where `mask` says
    /// that there can be some, in rows and in columns.
    pub(super) fn put(
        &self,
        b: &mut Builder,
        p: &Problem,
        base: &Base<'_, '_>,
        mask: [bool; 2],
        col0: Value,
        row_of: impl Fn(&mut Builder, Value) -> Value,
    ) {
        let (thread, end, step) = (b.thread(0), b.u32(self.rows * self.cols / self.v), b.u32(self.threads));
        b.repeat(thread, end, step, |b, element| {
            let [from, row, col] = self.point(b, element, col0, &row_of);
            guarded(b, p, mask, row, col, |b| {
                let sums = self.sums(b, from);
                base.put(b, row, col, &sums);
            });
        });
    }

    /// As [`Staged::put`], of points whose epilogue has begun.
    pub(super) fn end(&self, b: &mut Builder, Early { epilogue, points }: Early<'_, '_>) {
        let points = points.into_iter().map(|(from, begun)| (begun, self.sums(b, from))).collect();
        epilogue.end(b, points);
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
