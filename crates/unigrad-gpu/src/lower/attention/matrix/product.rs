//! Products of blocks in shared memory by matrix fragments: the subgroups of a workgroup form a grid, each has a block of fragments of the sum.
//!
//! Which thread holds which element of a fragment is the target's affair, so whatever happens to single elements happens in shared memory.
//! Always: sums in `F32`, in order along the depth.

use super::panel::{PAD, PanelMemory};
use unigrad_ir::{Builder, Fragment, FragmentRole, FragmentShape, Op, Place, Stmt, Type, Value};
use unigrad_scalar::{BinaryOp, DType};

/// Steps of a product's depth that are written out.
const UNROLLED: u32 = 8;

/// The subgroups of a workgroup.
#[derive(Clone, Copy)]
pub(super) struct Grid {
    shape: FragmentShape,
    /// Subgroups along columns.
    across: u32,
    down: u32,
    /// This one's place.
    y: Value,
    x: Value,
}

impl Grid {
    /// `warp` is the subgroup's number.
    pub(super) fn new(b: &mut Builder, shape: FragmentShape, [down, across]: [u32; 2], warp: Value) -> Grid {
        let (y, x) = (b.div_const(warp, across.into()), b.rem_const(warp, across.into()));
        Grid { shape, across, down, y, x }
    }

    fn fragment(&self, role: FragmentRole) -> Type {
        Type::Fragment(Fragment { shape: self.shape, role })
    }
}

/// How the right factor lies in shared memory.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Right {
    /// A row for each step of the depth.
    ByDepth,
    /// A row for each column of the product.
    ByColumn,
}

/// Sums of a block of the workgroup, in fragments.
pub(super) struct Sums {
    grid: Grid,
    acc: Place,
    /// Rows and columns of a subgroup.
    wm: u32,
    wn: u32,
    /// Fragments of a subgroup.
    fm: u32,
    fn_: u32,
    down: u32,
}

impl Sums {
    /// `rows` and `columns` are multiples of what one fragment of each subgroup has.
    pub(super) fn new(b: &mut Builder, name: &str, grid: Grid, [rows, columns]: [u32; 2]) -> Sums {
        let (wm, wn) = (rows / grid.down, columns / grid.across);
        let (fm, fn_) = (wm / u32::from(grid.shape.m), wn / u32::from(grid.shape.n));
        let acc = b.local(name, grid.fragment(FragmentRole::C), fm * fn_);
        Sums { grid, acc, wm, wn, fm, fn_, down: grid.down }
    }

    /// All are 0.
    pub(super) fn clear(&self, b: &mut Builder) {
        let zero = b.float(DType::F32, 0.0);
        let zeros = b.inst(Op::FragmentFill(zero), self.grid.fragment(FragmentRole::C));
        for i in 0..self.fm * self.fn_ {
            let at = b.u32(i);
            b.store(self.acc, at, zeros);
        }
    }

    /// Adds the product of two blocks: `[rows][depth]` and one that lies as `order` says.
    pub(super) fn add(&self, b: &mut Builder, left: PanelMemory, (right, order): (PanelMemory, Right), depth: u32) {
        let k = u32::from(self.grid.shape.k);
        let steps = depth / k;
        let most = (1..=UNROLLED.min(steps)).rev().find(|n| steps.is_multiple_of(*n)).unwrap_or(1);
        let inner = |b: &mut Builder, first: Value| {
            for step in 0..most {
                let at = b.add_const(first, i64::from(step * k));
                self.step(b, left, (right, order), at);
            }
        };
        let (zero, end, stride) = (b.u32(0), b.u32(depth), b.u32(most * k));
        if most == steps { inner(b, zero) } else { b.repeat(zero, end, stride, inner) }
    }

    fn step(&self, b: &mut Builder, left: PanelMemory, (right, order): (PanelMemory, Right), k: Value) {
        let Grid { shape, y, x, .. } = self.grid;
        let load = |b: &mut Builder, from: PanelMemory, role, [slow, fast]: [Value; 2], transposed| {
            let index = b.mul_const(slow, from.ld.into());
            let index = b.add(index, fast);
            let stride = b.u32(from.ld);
            b.inst(Op::FragmentLoad { place: from.place, index, stride, transposed }, self.grid.fragment(role))
        };
        let (row0, column0) = (b.mul_const(y, self.wm.into()), b.mul_const(x, self.wn.into()));
        let rights: Vec<Value> = (0..self.fn_)
            .map(|j| {
                let column = b.add_const(column0, i64::from(j * u32::from(shape.n)));
                let at = if order == Right::ByDepth { [k, column] } else { [column, k] };
                load(b, right, FragmentRole::B, at, order == Right::ByColumn)
            })
            .collect();
        for i in 0..self.fm {
            let row = b.add_const(row0, i64::from(i * u32::from(shape.m)));
            let a = load(b, left, FragmentRole::A, [row, k], false);
            for (j, right) in rights.iter().enumerate() {
                let at = b.u32(i * self.fn_ + j as u32);
                let old = b.load(self.acc, at);
                let new = b.inst(Op::FragmentMma(a, *right, old), self.grid.fragment(FragmentRole::C));
                b.store(self.acc, at, new);
            }
        }
    }

    /// How many columns of fragments of each subgroup a row of so many elements has room for: a divisor of all.
    fn columns_at_once(&self, room: u32) -> u32 {
        let each = self.grid.across * u32::from(self.grid.shape.n);
        (1..=self.fn_).rev().find(|n| self.fn_.is_multiple_of(*n) && n * each <= room).unwrap_or(1)
    }

    /// Elements of a row that [`Sums::each_part`] needs at least.
    pub(super) fn least_room(shape: FragmentShape, across: u32) -> u32 {
        across * u32::from(shape.n)
    }

    /// The sums in `to`, as many columns at once as there is room for; `body` gets the [`Part`] that is in memory now. If `again`, they are
    /// loaded again after it. Begins with a barrier, and ends without.
    pub(super) fn each_part(&self, b: &mut Builder, to: PanelMemory, again: bool, mut body: impl FnMut(&mut Builder, &Part)) {
        let per = self.columns_at_once(to.ld - PAD);
        let rounds = self.fn_ / per;
        let n = u32::from(self.grid.shape.n);
        let mut turn = |b: &mut Builder, round: Value| {
            b.barrier();
            self.chosen(b, round, rounds, |b, first| self.store(b, to, first, per));
            b.barrier();
            let part = Part { round, columns: self.grid.across * per * n, per: per * n, wn: self.wn, rows: self.down * self.wm };
            body(b, &part);
            if again {
                b.barrier();
                self.chosen(b, round, rounds, |b, first| self.load(b, to, first, per));
            }
        };
        let (zero, one, end) = (b.u32(0), b.u32(1), b.u32(rounds));
        if again || rounds == 1 {
            // Written out: WGSL's front end sees no subgroup agree about a branch by a loop's counter, and takes no load of a fragment there.
            for round in 0..rounds {
                let round = b.u32(round);
                turn(b, round);
            }
        } else {
            b.repeat(zero, end, one, turn);
        }
    }

    /// All sums to memory that has room for them, `[rows][columns]`.
    pub(super) fn store_all(&self, b: &mut Builder, to: PanelMemory) {
        self.store(b, to, 0, self.fn_);
    }

    /// `body` with the first column of fragments of a round: fragments are chosen by constants.
    fn chosen(&self, b: &mut Builder, round: Value, rounds: u32, body: impl Fn(&mut Builder, u32)) {
        let per = self.fn_ / rounds;
        if let Some(round) = b.as_constant(round) {
            return body(b, round.as_i64() as u32 * per);
        }
        for r in 0..rounds {
            let this = b.u32(r);
            let now = b.binary(BinaryOp::Eq, round, this);
            b.when(now, |b| body(b, r * per));
        }
    }

    /// Calls `body` with the number and the place in memory of each fragment in columns `first..first + count`.
    fn each(&self, b: &mut Builder, to: PanelMemory, first: u32, count: u32, mut body: impl FnMut(&mut Builder, Value, Value)) {
        let Grid { shape, y, x, .. } = self.grid;
        let row0 = b.mul_const(y, self.wm.into());
        let column0 = b.mul_const(x, (count * u32::from(shape.n)).into());
        for i in 0..self.fm {
            let row = b.add_const(row0, i64::from(i * u32::from(shape.m)));
            let line = b.mul_const(row, to.ld.into());
            let line = b.add(line, column0);
            for j in 0..count {
                let index = b.add_const(line, i64::from(j * u32::from(shape.n)));
                let at = b.u32(i * self.fn_ + first + j);
                body(b, at, index);
            }
        }
    }

    fn store(&self, b: &mut Builder, to: PanelMemory, first: u32, count: u32) {
        let stride = b.u32(to.ld);
        self.each(b, to, first, count, |b, at, index| {
            let value = b.load(self.acc, at);
            b.stmt(Stmt::FragmentStore { place: to.place, index, stride, value });
        });
    }

    fn load(&self, b: &mut Builder, from: PanelMemory, first: u32, count: u32) {
        let stride = b.u32(from.ld);
        self.each(b, from, first, count, |b, at, index| {
            let load = Op::FragmentLoad { place: from.place, index, stride, transposed: false };
            let value = b.inst(load, self.grid.fragment(FragmentRole::C));
            b.store(self.acc, at, value);
        });
    }
}

/// Columns of sums that are in shared memory at once.
pub(super) struct Part {
    round: Value,
    /// Columns there are, and of each subgroup.
    pub(super) columns: u32,
    per: u32,
    wn: u32,
    pub(super) rows: u32,
}

impl Part {
    /// Which column of all a column in memory is.
    pub(super) fn column(&self, b: &mut Builder, staged: Value) -> Value {
        let (x, within) = (b.div_const(staged, self.per.into()), b.rem_const(staged, self.per.into()));
        let column = b.mul_const(x, self.wn.into());
        let before = b.mul_const(self.round, self.per.into());
        let column = b.add(column, before);
        b.add(column, within)
    }
}
