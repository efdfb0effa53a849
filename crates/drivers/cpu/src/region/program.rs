//! From a region to what the executor runs: straight-line segments of kernels over numbered slots.
//!
//! In: a validated region. Out: a `BlockProgram` with a uniform segment (once per launch and thread), row segments and full
//! segments (see below), reductions, and an offset in scratch memory for every slot.
//!
//! The lanes of a block are consecutive points of the parallel axes (`Lanes::Rows`: maps, column reductions), or consecutive points of the
//! reduce axes of one row (`Lanes::Elements`: long rows), or all points of several rows (`Lanes::WholeRows`: rows of a few vectors). A row, or
//! a block of whole rows, then runs as row segment 0, full segment 0 for every block, reductions of pass 0 finish, row segment 1, full
//! segment 1 …: what depends on `d` reductions one after the other is in segments `d`. A full value that two passes need is evaluated again
//! or, where that is dear and the row is short enough, kept in scratch memory.
//!
//! In a block of whole rows a full value has a lane for each point, and a row value one for each row: a step spreads it where full values
//! take it, and a step folds full values to row values, both for all rows at once. What is the same in every row (the weights of a norm) is
//! a column: evaluated once per launch and thread, for as many rows as a block has.
//!
//! Always: stores of rows come last, stores of elements in the last pass, so that in-place updates see the old values.
//! Never: looks at pointers, thread counts or contents.

use super::affine::{Affine, affine};
use super::bound::{self, BoundPass, Moving};
use super::chain::Chain;
use super::convert::{GatherFn, LoadFn, ScatterFn, StoreFn};
use super::fused::{Fused, FusedSum};
use super::kernels::{OpFn, Ty};
use super::lanes::{self, Lanes};
use super::match_patterns::Node;
use super::reduce::{ArgFn, JoinFn};
use super::view::View;
use super::whole_rows::RowsFn;
use crate::simd::Tier;
use smallvec::SmallVec;
use unigrad_kernel::{InstOp, Level, Region, Value};
use unigrad_scalar::{BinaryOp, DType, UnaryOp};

/// Lanes of a block that many slots share.
pub(super) const BLOCK: usize = 512;

/// Lanes of a block that few slots share: of elements, and of a map's points.
pub(super) const LONG_BLOCK: usize = 2048;
pub(super) const LONG_MAP: usize = 1024;

/// Lanes of a block that needs no room (see [`bound`]): memory is read and written from end to end of so many, without a pause between blocks.
pub(super) const LONG_RUN: usize = 16 << 10;

/// Lanes of a block of a product's tile: its sums are in near memory, and what is the same in every row is there already.
pub(super) const LONG_TILE: usize = 2048;

/// Steps of a segment, loads and stores aside, up to which blocks are long.
const FEW_STEPS: usize = 3;

/// Kernels run on a multiple of this many lanes, so that their loops have no scalar tail; registers have room for it.
pub(super) const PAD: usize = 64;

/// Longest row whose intermediate values are kept.
const MAX_KEPT_ROW: usize = 32 * 1024;

/// A full value of at least this cost is kept rather than evaluated again.
const DEAR: usize = 6;

/// The same of whole rows, whose values are in near memory between passes anyway.
const DEAR_OF_WHOLE_ROWS: usize = 2;

/// A place for a value: one number, or lanes.
pub(super) type Slot = u32;

/// An element of an argument, as a function of the point.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) arg: u32,
    pub(super) offset: i64,
    /// Over the parallel axes.
    pub(super) par: View,
    /// Over the reduce axes.
    pub(super) red: View,
    /// Values that are the same at every point, times how far each goes.
    pub(super) shift: SmallVec<[(Slot, i64); 1]>,
    /// The same of values with lanes.
    pub(super) dynamic: SmallVec<[(Slot, i64); 1]>,
    /// Bytes of a stored element.
    pub(super) size: usize,
}

#[derive(Debug)]
pub(super) struct Load {
    pub(super) d: Slot,
    pub(super) at: Access,
    pub(super) mask: Option<Slot>,
    pub(super) load: LoadFn,
    pub(super) gather: GatherFn,
    /// Bytes of a lane.
    pub(super) lane: usize,
    /// A contiguous block may be used where it lies.
    pub(super) in_place: bool,
    /// In a tile whose rows are all the same here, the first block's lanes serve all others.
    pub(super) stays: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Store {
    pub(super) s: Slot,
    pub(super) at: Access,
    pub(super) store: StoreFn,
    pub(super) scatter: ScatterFn,
    pub(super) lane: usize,
    /// A contiguous block may be computed where it will lie.
    pub(super) direct: bool,
    /// Lane and element are the same 4 or 8 bytes.
    pub(super) same_bytes: bool,
    /// A step may have put the value where it belongs, over what it loaded there.
    pub(super) update: bool,
    /// The launch does not read the argument: caches have no use for it.
    pub(super) fresh: bool,
}

impl Access {
    /// Whether both name the same element at every point.
    pub(super) fn same_place(&self, other: &Access) -> bool {
        let fixed = [self, other].iter().all(|access| access.dynamic.is_empty() && access.shift.is_empty());
        fixed && (self.arg, self.offset, &self.par, &self.red) == (other.arg, other.offset, &other.par, &other.red)
    }
}

#[derive(Debug)]
pub(super) enum MicroOp {
    Op {
        f: OpFn,
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    /// Several operations at once: a pattern.
    Fused(Box<Fused>),
    /// Several operations at once, whatever they are.
    Chain(Box<Chain>),
    /// A number to every lane of a block, from a segment that has one point.
    Splat {
        f: OpFn,
        d: Slot,
        a: Slot,
    },
    /// Each row's number to all lanes of the row, from a segment that has a lane for each row.
    Spread {
        f: RowsFn,
        d: Slot,
        a: Slot,
    },
    /// All lanes of each row to one number; `init` is the accumulator that it begins with, twice.
    FoldRows {
        f: RowsFn,
        d: Slot,
        a: Slot,
        init: [u64; 2],
    },
    Const {
        d: Slot,
        bits: u64,
    },
    Scalar {
        d: Slot,
        index: u32,
        dtype: DType,
    },
    /// A number and indices along axes, times numbers, as views with the sum as the offset.
    Index {
        d: Slot,
        offset: i64,
        par: View,
        red: View,
        /// As of a load.
        stays: bool,
    },
    Acc {
        d: Slot,
        size: usize,
    },
    Load(Box<Load>),
    /// Points a store's value at its destination, where that is possible.
    Direct(Box<Store>),
    Store(Box<Store>),
    Bounded {
        d: Slot,
        index: Slot,
        size: i64,
        from_end: bool,
    },
    Philox {
        d: Slot,
        seed: Slot,
        offset: Slot,
        index: Slot,
        word: u8,
    },
}

/// How a reduction accumulates.
#[derive(Debug)]
pub(super) enum Accumulator {
    /// Lanes are elements: into one number of type `ty`, with what it lost if it is a sum of `f64`; cast to the value's type at the end.
    Fold { f: OpFn, combine: OpFn, ty: Ty, finish: Option<OpFn> },
    /// Lanes are rows: into the result's lanes, and from there now and then outward, so that errors of long sums stay small.
    Lanes { f: OpFn, ty: Ty, outer: Option<Outer> },
    /// First extreme element: the best value is in `best`.
    Arg { f: ArgFn, join: JoinFn, ty: Ty, best: Slot },
}

/// Where the sums of a lane accumulator go: as many lanes again for what they lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outer {
    pub(super) slot: Slot,
    pub(super) carry: OpFn,
    pub(super) settle: OpFn,
}

#[derive(Debug)]
pub(super) struct Reduction {
    pub(super) arg: Slot,
    /// Where the accumulator is: the result itself, but for a fold.
    pub(super) acc: Slot,
    pub(super) out: Slot,
    /// The identity, in the accumulator's type.
    pub(super) init: u64,
    pub(super) how: Accumulator,
    /// A fold that is a sum of `f32`.
    pub(super) sums_f32: bool,
    /// What is summed, if no step evaluates it.
    pub(super) sum: Option<Summand>,
}

/// What a sum takes, where no step evaluates it.
#[derive(Debug)]
pub(super) enum Summand {
    Pattern(FusedSum),
    Chain(Box<Chain>),
}

impl Reduction {
    /// The slots it reads or, for a sum that stores its values, writes.
    pub(super) fn operands(&self) -> Vec<Slot> {
        let mut slots = vec![self.arg];
        match &self.sum {
            Some(Summand::Pattern(sum)) => slots.extend(sum.operands.lanes.iter().chain(&sum.operands.scalars)),
            Some(Summand::Chain(chain)) => slots.extend(chain.slots()),
            None => {}
        }
        slots
    }

    /// Whether it needs the slot's lanes.
    pub(super) fn reads(&self, slot: Slot) -> bool {
        match &self.sum {
            Some(Summand::Pattern(sum)) => sum.operands.lanes.contains(&slot),
            Some(Summand::Chain(chain)) => chain.has_lanes(slot),
            None => self.arg == slot,
        }
    }
}

/// Full values of one pass over a row, and the reductions they feed.
#[derive(Debug, Default)]
pub(super) struct Pass {
    pub(super) steps: Vec<MicroOp>,
    pub(super) reductions: Vec<Reduction>,
}

/// The owner of a slot's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Home {
    Uniform,
    Row,
    Full,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct SlotInfo {
    pub(super) home: Home,
    /// Bytes of a lane.
    pub(super) size: usize,
    /// One number or lanes.
    pub(super) lanes: bool,
    /// Where its memory is, from the start of scratch.
    pub(super) offset: usize,
    /// Kept for a whole row: lanes at `offset + k * size`.
    pub(super) kept: bool,
}

/// A region, ready to run.
#[derive(Debug)]
pub(super) struct BlockProgram {
    pub(super) lanes: Lanes,
    pub(super) rows: usize,
    pub(super) row_len: usize,
    pub(super) uniform: Vec<MicroOp>,
    /// Full values of whole rows that are the same in every row: run once, after the uniform ones, on the rows of one block.
    pub(super) columns: Vec<MicroOp>,
    /// Lanes of a block.
    pub(super) block: usize,
    /// Rows that run at once.
    pub(super) rows_at_once: usize,
    /// One more than passes.
    pub(super) row: Vec<Vec<MicroOp>>,
    pub(super) passes: Vec<Pass>,
    pub(super) slots: Vec<SlotInfo>,
    /// Slots kept for a whole row: slot, offset, bytes of a lane.
    pub(super) kept: Vec<(Slot, usize, usize)>,
    pub(super) tier: Tier,
    /// Bytes of an element of `Acc`.
    pub(super) acc_size: usize,
    /// Bytes of scratch memory for all slots.
    pub(super) scratch: usize,
    /// Rough cost of a point, in simple operations.
    pub(super) weight: usize,
    /// Whether a block needs no room of its own: points are moved, or computed at once, from where they lie to where they go.
    pub(super) roomless: bool,
    /// By pass, of lanes that are elements: what lies in the launch's memory, where that is known but for the row.
    pub(super) bound: Vec<BoundPass>,
    /// What is brought near while the rows before it are computed.
    pub(super) ahead: Vec<Moving>,
}

pub(super) struct Compiler<'a> {
    pub(super) region: &'a Region,
    pub(super) tier: Tier,
    pub(super) lanes: Lanes,
    pub(super) levels: Vec<Level>,
    /// How many reductions, one after the other, a value depends on.
    pub(super) depth: Vec<usize>,
    /// Full values that are the same in every row, where lanes are whole rows.
    pub(super) columns: Vec<bool>,
    /// Where uniform and row values and columns are.
    pub(super) base: Vec<Option<Slot>>,
    /// Where full values are in the current pass.
    pub(super) here: Vec<Option<Slot>>,
    /// By slot: the slot with its number in every lane.
    pub(super) splats: Vec<Option<Slot>>,
    /// By slot with a lane for each row: the slot with each row's number in all lanes of that row.
    pub(super) spreads: Vec<Option<Slot>>,
    /// By slot: the operation of `f32` that makes it.
    pub(super) nodes: Vec<Option<Node>>,
    /// By instruction: the raw result of a reduction.
    pub(super) results: Vec<Option<Slot>>,
    /// By instruction: the last instruction that may read the memory a load refers to.
    pub(super) last_use: Vec<usize>,
    /// By instruction: the sum of axes that it is.
    pub(super) affine: Vec<Option<Affine>>,
    pub(super) out: BlockProgram,
}

/// Where a step goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Segment {
    Uniform,
    Columns,
    Row(usize),
    Full(usize),
}

impl BlockProgram {
    pub(super) fn new(region: &Region, tier: Tier, keep: bool) -> Result<BlockProgram, String> {
        BlockProgram::with(region, tier, keep, true)
    }

    /// With or without fused steps.
    pub(super) fn with(region: &Region, tier: Tier, keep: bool, fuse: bool) -> Result<BlockProgram, String> {
        BlockProgram::of(region, tier, Lanes::of(region), keep, fuse)
    }

    /// With lanes of this kind, which need not be the one that the region gets.
    pub(super) fn of(region: &Region, tier: Tier, lanes: Lanes, keep: bool, fuse: bool) -> Result<BlockProgram, String> {
        Compiler::new(region, tier, lanes)?.compile(keep, fuse)
    }
}

pub(super) fn weight(op: &InstOp) -> usize {
    match op {
        InstOp::Load { index, mask, .. } if mask.is_some() || !index.dynamic.is_empty() => 8,
        InstOp::Load { .. } => 1,
        InstOp::Store { .. } => 1,
        InstOp::Unary(UnaryOp::Sqrt | UnaryOp::Rsqrt | UnaryOp::Recip | UnaryOp::Sign, _) => 4,
        InstOp::Unary(op, _) => op.cost().min(10),
        InstOp::Binary(BinaryOp::Div, ..) => 4,
        InstOp::Binary(BinaryOp::IDiv | BinaryOp::Rem | BinaryOp::Pow | BinaryOp::Atan2, ..) => 20,
        InstOp::Binary(..) => 1,
        InstOp::Philox { .. } => 20,
        InstOp::ArgReduce(..) => 4,
        InstOp::Const(_)
        | InstOp::Scalar(_)
        | InstOp::AxisIndex(_)
        | InstOp::Acc
        | InstOp::Where(..)
        | InstOp::Cast(_)
        | InstOp::Bitcast(_)
        | InstOp::Bounded { .. }
        | InstOp::Reduce(..) => 1,
    }
}

impl<'a> Compiler<'a> {
    fn new(region: &'a Region, tier: Tier, lanes: Lanes) -> Result<Compiler<'a>, String> {
        let n = region.insts.len();
        for (at, inst) in region.insts.iter().enumerate() {
            let mut ordered = true;
            inst.op.visit_values(|value| ordered &= value.index() < at);
            if !ordered {
                return Err(format!("region {}: instruction {at} uses a value that is not made yet", region.name));
            }
            let (InstOp::Load { index, arg, .. } | InstOp::Store { index, arg, .. }) = &inst.op else { continue };
            if index.strides.len() != region.axes.len() && !index.strides.is_empty() || *arg as usize >= region.args.len() {
                return Err(format!("region {}: instruction {at} has a malformed index", region.name));
            }
        }
        let levels = region.levels();
        let mut depth = vec![0; n];
        for (at, inst) in region.insts.iter().enumerate() {
            let mut d = 0;
            inst.op.visit_values(|value| d = d.max(depth[value.index()]));
            depth[at] = d + usize::from(matches!(inst.op, InstOp::Reduce(..) | InstOp::ArgReduce(..)));
        }
        let out = BlockProgram {
            lanes,
            rows: region.rows(),
            row_len: region.row_len(),
            uniform: Vec::new(),
            columns: Vec::new(),
            block: BLOCK,
            rows_at_once: 1,
            row: Vec::new(),
            passes: Vec::new(),
            slots: Vec::new(),
            kept: Vec::new(),
            tier,
            acc_size: 0,
            scratch: 0,
            weight: region.insts.iter().map(|inst| weight(&inst.op)).sum::<usize>().max(1),
            roomless: false,
            bound: Vec::new(),
            ahead: Vec::new(),
        };
        let mut last_use = vec![0; n];
        for at in (0..n).rev() {
            let through = match region.insts[at].op {
                // These may leave the value where it is.
                InstOp::Unary(..) | InstOp::Cast(_) | InstOp::Bitcast(_) => last_use[at].max(at),
                // Reductions take their blocks after the stores.
                InstOp::Reduce(..) | InstOp::ArgReduce(..) => n,
                // These read it, and give a value of their own; what a load gives is the load's.
                InstOp::Const(_)
                | InstOp::Scalar(_)
                | InstOp::AxisIndex(_)
                | InstOp::Acc
                | InstOp::Load { .. }
                | InstOp::Binary(..)
                | InstOp::Where(..)
                | InstOp::Bounded { .. }
                | InstOp::Philox { .. }
                | InstOp::Store { .. } => at,
            };
            region.insts[at].op.visit_values(|value| last_use[value.index()] = last_use[value.index()].max(through));
        }
        let columns = if lanes == Lanes::WholeRows { columns(region, &levels) } else { vec![false; n] };
        Ok(Compiler {
            region,
            tier,
            lanes,
            levels,
            depth,
            columns,
            base: vec![None; n],
            here: vec![None; n],
            splats: Vec::new(),
            spreads: Vec::new(),
            nodes: Vec::new(),
            results: vec![None; n],
            last_use,
            affine: affine(region),
            out,
        })
    }

    /// The sum of axes that an instruction is, in place of its operands.
    pub(super) fn index(&self, at: usize) -> Option<&Affine> {
        let is_index = matches!(self.region.insts[at].op, InstOp::Binary(..)) && self.level(at) > Level::Uniform;
        self.affine[at].as_ref().filter(|_| is_index)
    }

    /// The values that the steps of an instruction take.
    fn visit_operands(&self, at: usize, f: impl FnMut(Value)) {
        if self.index(at).is_none() {
            self.region.insts[at].op.visit_values(f);
        }
    }

    /// The level a value is evaluated at: stores happen at least once per row.
    pub(super) fn level(&self, at: usize) -> Level {
        let is_store = matches!(self.region.insts[at].op, InstOp::Store { .. });
        if is_store { self.levels[at].max(Level::Row) } else { self.levels[at] }
    }

    pub(super) fn has_lanes(&self, level: Level) -> bool {
        match level {
            Level::Uniform => false,
            Level::Row => self.lanes != Lanes::Elements,
            Level::Full => true,
        }
    }

    pub(super) fn slot(&mut self, segment: Segment, size: usize, lanes: bool) -> Slot {
        let home = match segment {
            Segment::Uniform | Segment::Columns => Home::Uniform,
            Segment::Row(_) => Home::Row,
            Segment::Full(_) => Home::Full,
        };
        self.out.slots.push(SlotInfo { home, size, lanes, offset: 0, kept: false });
        self.splats.push(None);
        self.spreads.push(None);
        self.nodes.push(None);
        self.out.slots.len() as Slot - 1
    }

    pub(super) fn push(&mut self, segment: Segment, step: MicroOp) {
        match segment {
            Segment::Uniform => self.out.uniform.push(step),
            Segment::Columns => self.out.columns.push(step),
            Segment::Row(d) => self.out.row[d].push(step),
            Segment::Full(p) => self.out.passes[p].steps.push(step),
        }
    }

    fn compile(mut self, keep: bool, fuse: bool) -> Result<BlockProgram, String> {
        let region = self.region;
        let n = region.insts.len();
        // Slot 0 stands in for operands that a kernel does not have.
        self.slot(Segment::Uniform, 8, false);
        let mut live = vec![false; n];
        for at in (0..n).rev() {
            live[at] |= matches!(region.insts[at].op, InstOp::Store { .. });
            if live[at] {
                self.visit_operands(at, |value| live[value.index()] = true);
            }
        }
        let n_passes = (0..n)
            .filter(|&at| live[at])
            .filter_map(|at| match region.insts[at].op {
                InstOp::Reduce(..) | InstOp::ArgReduce(..) => Some(self.depth[at]),
                InstOp::Store { .. } if self.level(at) == Level::Full => Some(self.depth[at] + 1),
                InstOp::Const(_)
                | InstOp::Scalar(_)
                | InstOp::AxisIndex(_)
                | InstOp::Acc
                | InstOp::Load { .. }
                | InstOp::Unary(..)
                | InstOp::Binary(..)
                | InstOp::Where(..)
                | InstOp::Cast(_)
                | InstOp::Bitcast(_)
                | InstOp::Bounded { .. }
                | InstOp::Philox { .. }
                | InstOp::Store { .. } => None,
            })
            .max()
            .unwrap_or(0);
        self.out.row.resize_with(n_passes + 1, Vec::new);
        self.out.passes.resize_with(n_passes, Pass::default);
        // Uniform and row values, but for the stores, which come last where there are reductions.
        for at in (0..n).filter(|&at| live[at]) {
            let is_store = matches!(region.insts[at].op, InstOp::Store { .. });
            let is_reduce = matches!(region.insts[at].op, InstOp::Reduce(..) | InstOp::ArgReduce(..));
            let segment = match self.level(at) {
                Level::Uniform => Segment::Uniform,
                Level::Row if is_store => Segment::Row(n_passes),
                Level::Row => Segment::Row(self.depth[at]),
                Level::Full => continue,
            };
            if is_store && n_passes > 0 {
                continue;
            }
            if is_reduce {
                self.reduce_result(at);
            } else {
                let slot = self.emit(at, segment)?;
                self.base[at] = slot;
            }
        }
        for at in (0..n).filter(|&at| live[at]) {
            if self.columns[at] {
                self.base[at] = self.emit(at, Segment::Columns)?;
            }
        }
        let keep = keep && self.lanes != Lanes::Rows && region.row_len() <= MAX_KEPT_ROW;
        let cost = self.costs();
        let dear = if self.lanes == Lanes::WholeRows { DEAR_OF_WHOLE_ROWS } else { DEAR };
        // By instruction: the slot of the first pass that made the value.
        let mut made: Vec<Option<Slot>> = vec![None; n];
        for pass in 0..n_passes {
            self.here.fill(None);
            let mut needed: Vec<bool> = (0..n)
                .map(|at| {
                    live[at]
                        && match region.insts[at].op {
                            InstOp::Reduce(..) | InstOp::ArgReduce(..) => self.depth[at] == pass + 1,
                            InstOp::Store { .. } => self.level(at) == Level::Full && pass + 1 == n_passes,
                            InstOp::Const(_)
                            | InstOp::Scalar(_)
                            | InstOp::AxisIndex(_)
                            | InstOp::Acc
                            | InstOp::Load { .. }
                            | InstOp::Unary(..)
                            | InstOp::Binary(..)
                            | InstOp::Where(..)
                            | InstOp::Cast(_)
                            | InstOp::Bitcast(_)
                            | InstOp::Bounded { .. }
                            | InstOp::Philox { .. } => false,
                        }
                })
                .collect();
            for at in (0..n).rev() {
                if !needed[at] {
                    continue;
                }
                match made[at] {
                    Some(slot) if keep && cost[at] >= dear => {
                        self.out.slots[slot as usize].kept = true;
                        self.here[at] = Some(slot);
                    }
                    _ => self.visit_operands(at, |value| needed[value.index()] |= self.is_per_pass(value)),
                }
            }
            let mut folds = Vec::new();
            for at in (0..n).filter(|&at| needed[at]) {
                if self.here[at].is_some() {
                    continue;
                }
                if let InstOp::Reduce(..) | InstOp::ArgReduce(..) = region.insts[at].op {
                    folds.extend(self.reduce(at, pass)?);
                } else {
                    self.here[at] = self.emit(at, Segment::Full(pass))?;
                    made[at] = made[at].or(self.here[at]);
                }
            }
            // Behind all that they take, so that they do not part what can be one chain.
            self.out.passes[pass].steps.append(&mut folds);
        }
        if n_passes > 0 {
            for at in (0..n).filter(|&at| live[at]) {
                if matches!(region.insts[at].op, InstOp::Store { .. }) && self.level(at) == Level::Row {
                    self.emit(at, Segment::Row(n_passes))?;
                }
            }
        }
        if fuse {
            self.fuse();
        }
        (self.out.rows_at_once, self.out.block) = self.block();
        self.allocate();
        self.out.roomless = bound::is_roomless(&self.out);
        self.out.bound = bound::bind(&self.out);
        self.out.ahead = bound::ahead(&self.out);
        Ok(self.out)
    }

    /// Whether a value is evaluated in the passes that need it.
    pub(super) fn is_per_pass(&self, value: Value) -> bool {
        self.levels[value.index()] == Level::Full && !self.columns[value.index()]
    }

    /// Rows that run at once, and lanes of a block. Long blocks cost less per lane, as long as the caches hold what is between the steps.
    fn block(&self) -> (usize, usize) {
        let is_work = |step: &&MicroOp| !matches!(step, MicroOp::Load(_) | MicroOp::Store(_) | MicroOp::Direct(_));
        let few = |steps: &[MicroOp]| steps.iter().filter(is_work).count() <= FEW_STEPS;
        match self.lanes {
            Lanes::Elements if self.out.passes.iter().all(|pass| few(&pass.steps)) => (1, LONG_BLOCK),
            Lanes::Elements => (1, BLOCK),
            Lanes::Rows if self.out.acc_size > 0 => {
                let block = if self.out.row.iter().all(|steps| few(steps)) { LONG_TILE } else { LONG_MAP };
                (block, block)
            }
            Lanes::Rows if self.out.passes.is_empty() && self.out.row.iter().all(|steps| few(steps)) => (LONG_MAP, LONG_MAP),
            Lanes::Rows => (BLOCK, BLOCK),
            Lanes::WholeRows => {
                let rows = lanes::whole_rows(self.out.rows, self.out.row_len);
                (rows, lanes::room(rows, self.out.row_len))
            }
        }
    }
}

/// The full values that are the same in every row: of what is loaded without regard to the row, and can neither fail nor change.
fn columns(region: &Region, levels: &[Level]) -> Vec<bool> {
    let mut columns: Vec<bool> = Vec::with_capacity(region.insts.len());
    for (inst, level) in region.insts.iter().zip(levels) {
        let mut of_columns = true;
        inst.op.visit_values(|value| of_columns &= columns[value.index()] || levels[value.index()] == Level::Uniform);
        let may = match &inst.op {
            InstOp::Load { arg, index, .. } => {
                let axes = index.strides.iter().zip(&region.axes).take(region.n_parallel);
                !region.args[*arg as usize].write && axes.into_iter().all(|(stride, extent)| *stride == 0 || *extent == 1)
            }
            InstOp::AxisIndex(_)
            | InstOp::Unary(..)
            | InstOp::Binary(..)
            | InstOp::Where(..)
            | InstOp::Cast(_)
            | InstOp::Bitcast(_)
            | InstOp::Philox { .. } => true,
            InstOp::Const(_) | InstOp::Scalar(_) | InstOp::Acc => false,
            InstOp::Bounded { .. } | InstOp::Reduce(..) | InstOp::ArgReduce(..) | InstOp::Store { .. } => false,
        };
        columns.push(may && of_columns && *level == Level::Full);
    }
    columns
}
