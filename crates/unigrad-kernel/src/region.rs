//! The region: what fusion makes, and what every driver runs most.
//!
//! A region is a domain `axes[0] × … × axes[r-1]` in row-major order, the first `n_parallel` of them parallel and the rest
//! reduce axes, with a scalar SSA program. Each instruction has a level (see [`Region::levels`]):
//!
//! - `Uniform`: the same at every point (constants, run-time scalars);
//! - `Row`: one value per point of the parallel axes; evaluated once per row;
//! - `Full`: one value per point of the whole domain.
//!
//! `Reduce` turns a full value into a row value, over all reduce axes. Row values may be used in full instructions again, so
//! softmax is: load, reduce max, subtract, exp, reduce sum, divide, store. Instructions run in order, *stage by stage*: a
//! reduction is complete before anything that uses it is evaluated. A map has no reduce axes.
//!
//! Always: stores are disjoint (no two points of the domain write one element), and no buffer is read where the same launch
//! wrote it, but for an argument that is read and written with the same index by the same point (in-place update).
//! Reductions have a fixed order for a given region, so reruns are bit-equal.

use smallvec::SmallVec;
use unigrad_scalar::{ArgReduceOp, BinaryOp, DType, Definition, Format, Literal, ReduceOp, UnaryOp};

/// An SSA value: the instruction that makes it, by position.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Value(pub u32);

impl Value {
    /// Its position in [`Region::insts`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A buffer argument.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Arg {
    /// Element type as stored.
    pub dtype: DType,
    /// Elements the launch may touch: indices are below it.
    pub len: usize,
    /// Whether the launch writes it. A written argument may also be read, at the index that is written.
    pub write: bool,
}

impl Arg {
    /// Bytes that the launch may touch; of more than can be counted, as many as can be: no memory has them.
    pub fn bytes(&self) -> usize {
        Format::Plain(self.dtype).bytes_for(&[self.len]).unwrap_or(usize::MAX)
    }
}

/// Where in a buffer a load or store goes: `offset + Σ strides[a] * index_of_axis(a) + Σ value * stride`, in elements.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Index {
    /// Constant part.
    pub offset: i64,
    /// One stride per axis of the domain; 0 where the axis does not matter, negative for flips.
    pub strides: SmallVec<[i64; 6]>,
    /// Computed parts (`I64` values): gathers, and views that no affine map can express.
    pub dynamic: SmallVec<[(Value, i64); 1]>,
}

/// One instruction: its operation and the dtype of its value.
///
/// Values of half dtypes are computed in `f32` and only rounded by a store or an explicit `Cast` to the half type.
/// Narrow integers wrap after every operation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Inst {
    /// What it does.
    pub op: InstOp,
    /// The dtype of its value; for a store, of the stored value.
    pub dtype: DType,
}

/// What an instruction does.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum InstOp {
    /// A constant.
    Const(Literal),
    /// The run-time scalar in this slot.
    Scalar(u32),
    /// The index along an axis, `I64`.
    AxisIndex(u32),
    /// The value that the enclosing kernel delivers at this point: a contraction's accumulator. Only in an epilogue.
    Acc,
    /// An element of a buffer. Where the mask (`Bool`) is false nothing is read and the value is zero.
    Load {
        /// Which buffer.
        arg: u32,
        /// Which element.
        index: Index,
        /// Where to read at all.
        mask: Option<Value>,
    },
    /// One argument; the argument's dtype is its instruction's.
    Unary(UnaryOp, Value),
    /// Two arguments of one dtype. For comparisons `dtype` is `Bool`.
    Binary(BinaryOp, Value, Value),
    /// `if 0 { 1 } else { 2 }`.
    Where(Value, Value, Value),
    /// Conversion to the instruction's dtype. Float to integer truncates and saturates at the integer's range, NaN gives 0;
    /// anything to `Bool` is `!= 0`.
    Cast(Value),
    /// The same bits, read as the instruction's dtype (same size).
    Bitcast(Value),
    /// An index (`I64`) that must be in `-size..size`, negative ones counted from the end, or in `0..size`. Outside, the launch fails with
    /// an index error that tells the index and the size, and nothing out of bounds is touched.
    Bounded {
        /// The index as the user gave it.
        index: Value,
        /// Elements along the axis.
        size: i64,
        /// Whether negative ones count from the end.
        from_end: bool,
        /// Its number among the region's checks, modulo 32: a launch reports which of them failed.
        check: u8,
    },
    /// Word `word` of Philox4x32-10 with counter `(lo(index), hi(index), lo(offset), hi(offset))` and key `(lo(seed), hi(seed))`; `U32`.
    Philox {
        /// `U64` value, uniform.
        seed: Value,
        /// `U64` value, uniform.
        offset: Value,
        /// `I64` value: the element's index in the random tensor.
        index: Value,
        /// 0 to 3.
        word: u8,
    },
    /// Full to row, over all reduce axes. Over an empty domain: the identity.
    Reduce(ReduceOp, Value),
    /// Full to row: the index (`I64`, row-major over the reduce axes) of the first extreme element.
    ArgReduce(ArgReduceOp, Value),
    /// Writes `value`, converted to the argument's dtype. A row value is written once per row (its index must not use reduce axes).
    Store {
        /// Which buffer.
        arg: u32,
        /// Which element.
        index: Index,
        /// What.
        value: Value,
    },
}

/// How often a value is evaluated; see the module's text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Level {
    Uniform,
    Row,
    Full,
}

/// A fused kernel; see the module's text.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Region {
    /// What it computes, for plans and messages: `gelu`, `layer_norm`, …
    pub name: String,
    /// Extents; parallel axes first. May be empty (a rank-0 domain has one point) and may hold zeros (then nothing runs,
    /// but with an empty reduce domain and a non-empty parallel one the reductions still give their identities).
    pub axes: SmallVec<[usize; 6]>,
    /// How many of the axes are parallel.
    pub n_parallel: usize,
    /// Buffers.
    pub args: Vec<Arg>,
    /// Run-time scalars.
    pub scalars: Vec<DType>,
    /// The program, in SSA order.
    pub insts: Vec<Inst>,
}

impl Region {
    /// Whether it reduces: no epilogue and no prologue does.
    pub fn has_reductions(&self) -> bool {
        self.insts.iter().any(|inst| matches!(inst.op, InstOp::Reduce(..) | InstOp::ArgReduce(..)))
    }

    /// What a value is made from, for [`unigrad_scalar::Formula::arguments`]: a half made wider is the same value.
    #[allow(clippy::wildcard_enum_match_arm, reason = "what is no step of a formula is none")]
    pub fn definition(&self, value: Value) -> Definition<Value> {
        let Some(inst) = self.insts.get(value.index()) else { return Definition::Other };
        match &inst.op {
            InstOp::Const(literal) => Definition::Constant(*literal),
            InstOp::Unary(op, a) => Definition::Unary(*op, *a),
            InstOp::Binary(op, a, b) => Definition::Binary(*op, *a, *b),
            InstOp::Where(a, b, c) => Definition::Select(*a, *b, *c),
            InstOp::Cast(a) if self.insts[a.index()].dtype.compute() == inst.dtype => Definition::Same(*a),
            _ => Definition::Other,
        }
    }

    /// Points of the parallel axes.
    pub fn rows(&self) -> usize {
        self.axes[..self.n_parallel].iter().product()
    }

    /// Points of the reduce axes (1 for a map).
    pub fn row_len(&self) -> usize {
        self.axes[self.n_parallel..].iter().product()
    }

    /// Elements of a buffer that are touched, at most: a view or an update may leave most of it alone.
    pub fn touched(&self, arg: usize) -> usize {
        let levels = self.levels();
        let points = |index: &Index| {
            let level = index.dynamic.iter().map(|(value, _)| levels[value.index()]).max().unwrap_or(Level::Uniform);
            let counts = |axis: usize| {
                let moved = index.strides.get(axis).is_some_and(|stride| *stride != 0);
                moved || level == Level::Full || (level == Level::Row && axis < self.n_parallel)
            };
            self.axes.iter().enumerate().filter(|(axis, _)| counts(*axis)).fold(1usize, |all, (_, size)| all.saturating_mul(*size))
        };
        let accesses = self.insts.iter().filter_map(|inst| inst.op.access());
        let accesses = accesses.filter(|(at, _)| *at as usize == arg).map(|(_, index)| points(index));
        accesses.fold(0usize, usize::saturating_add).min(self.args[arg].len)
    }

    /// Bytes of [`Region::touched`].
    pub fn touched_bytes(&self, arg: usize) -> usize {
        Arg { len: self.touched(arg), ..self.args[arg] }.bytes()
    }

    /// By argument: its elements for each point of the first axis; none for one that this axis does not move through.
    pub fn args_per_point(&self) -> Vec<Option<usize>> {
        let mut per_point = vec![None; self.args.len()];
        for (arg, index) in self.insts.iter().filter_map(|inst| inst.op.access()) {
            let stride = index.strides.first().copied().unwrap_or(0);
            if stride != 0 {
                per_point[arg as usize] = Some(stride.unsigned_abs() as usize);
            }
        }
        per_point
    }

    /// The value that a map of one store writes.
    pub fn only_stored(&self) -> Option<Value> {
        let mut stored = self.insts.iter().filter_map(|inst| match &inst.op {
            InstOp::Store { value, .. } => Some(*value),
            InstOp::Const(_) | InstOp::Scalar(_) | InstOp::AxisIndex(_) | InstOp::Acc | InstOp::Load { .. } => None,
            InstOp::Unary(..) | InstOp::Binary(..) | InstOp::Where(..) | InstOp::Cast(_) | InstOp::Bitcast(_) => None,
            InstOp::Bounded { .. } | InstOp::Philox { .. } | InstOp::Reduce(..) | InstOp::ArgReduce(..) => None,
        });
        stored.next().filter(|_| stored.next().is_none())
    }

    /// The level of every instruction.
    pub fn levels(&self) -> Vec<Level> {
        let mut levels: Vec<Level> = Vec::with_capacity(self.insts.len());
        let of_axis = |axis: usize| if axis >= self.n_parallel { Level::Full } else { Level::Row };
        let of_index = |index: &Index, levels: &[Level]| {
            let axes = index.strides.iter().enumerate().filter(|(axis, stride)| **stride != 0 && self.axes[*axis] != 1);
            let axes = axes.map(|(axis, _)| of_axis(axis));
            axes.chain(index.dynamic.iter().map(|(value, _)| levels[value.index()])).max().unwrap_or(Level::Uniform)
        };
        for inst in &self.insts {
            let level = match &inst.op {
                InstOp::Const(_) | InstOp::Scalar(_) => Level::Uniform,
                InstOp::AxisIndex(axis) => of_axis(*axis as usize),
                // An epilogue has no reduce axes: its rows are the points of the output.
                InstOp::Acc => Level::Row,
                InstOp::Load { index, mask, .. } => of_index(index, &levels).max(mask.map_or(Level::Uniform, |mask| levels[mask.index()])),
                InstOp::Reduce(..) | InstOp::ArgReduce(..) => Level::Row,
                InstOp::Store { index, value, .. } => of_index(index, &levels).max(levels[value.index()]),
                InstOp::Unary(..)
                | InstOp::Binary(..)
                | InstOp::Where(..)
                | InstOp::Cast(_)
                | InstOp::Bitcast(_)
                | InstOp::Bounded { .. }
                | InstOp::Philox { .. } => {
                    let mut level = Level::Uniform;
                    inst.op.visit_values(|value| level = level.max(levels[value.index()]));
                    level
                }
            };
            levels.push(level);
        }
        levels
    }
}

impl InstOp {
    /// The buffer that a load or store goes to, and where in it.
    pub fn access(&self) -> Option<(u32, &Index)> {
        match self {
            InstOp::Load { arg, index, .. } | InstOp::Store { arg, index, .. } => Some((*arg, index)),
            InstOp::Const(_) | InstOp::Scalar(_) | InstOp::AxisIndex(_) | InstOp::Acc => None,
            InstOp::Unary(..) | InstOp::Binary(..) | InstOp::Where(..) | InstOp::Cast(_) | InstOp::Bitcast(_) => None,
            InstOp::Bounded { .. } | InstOp::Philox { .. } | InstOp::Reduce(..) | InstOp::ArgReduce(..) => None,
        }
    }

    /// As [`InstOp::access`], to be changed.
    pub fn access_mut(&mut self) -> Option<(&mut u32, &mut Index)> {
        match self {
            InstOp::Load { arg, index, .. } | InstOp::Store { arg, index, .. } => Some((arg, index)),
            InstOp::Const(_) | InstOp::Scalar(_) | InstOp::AxisIndex(_) | InstOp::Acc => None,
            InstOp::Unary(..) | InstOp::Binary(..) | InstOp::Where(..) | InstOp::Cast(_) | InstOp::Bitcast(_) => None,
            InstOp::Bounded { .. } | InstOp::Philox { .. } | InstOp::Reduce(..) | InstOp::ArgReduce(..) => None,
        }
    }

    /// Replaces every value an instruction uses.
    pub fn map_values(&mut self, f: impl Fn(Value) -> Value) {
        let index = |index: &mut Index| index.dynamic.iter_mut().for_each(|(value, _)| *value = f(*value));
        match self {
            InstOp::Const(_) | InstOp::Scalar(_) | InstOp::AxisIndex(_) | InstOp::Acc => {}
            InstOp::Load { index: at, mask, .. } => {
                index(at);
                mask.iter_mut().for_each(|mask| *mask = f(*mask));
            }
            InstOp::Unary(_, a) | InstOp::Cast(a) | InstOp::Bitcast(a) | InstOp::Reduce(_, a) | InstOp::ArgReduce(_, a) => *a = f(*a),
            InstOp::Bounded { index, .. } => *index = f(*index),
            InstOp::Binary(_, a, b) => (*a, *b) = (f(*a), f(*b)),
            InstOp::Where(a, b, c) => (*a, *b, *c) = (f(*a), f(*b), f(*c)),
            InstOp::Philox { seed, offset, index, .. } => (*seed, *offset, *index) = (f(*seed), f(*offset), f(*index)),
            InstOp::Store { index: at, value, .. } => {
                index(at);
                *value = f(*value);
            }
        }
    }

    /// Calls `f` with every value the instruction uses.
    pub fn visit_values(&self, mut f: impl FnMut(Value)) {
        match self {
            InstOp::Const(_) | InstOp::Scalar(_) | InstOp::AxisIndex(_) | InstOp::Acc => {}
            InstOp::Load { index, mask, .. } => {
                index.dynamic.iter().for_each(|(value, _)| f(*value));
                mask.iter().for_each(|value| f(*value));
            }
            InstOp::Unary(_, a) | InstOp::Cast(a) | InstOp::Bitcast(a) | InstOp::Reduce(_, a) | InstOp::ArgReduce(_, a) => f(*a),
            InstOp::Bounded { index, .. } => f(*index),
            InstOp::Binary(_, a, b) => {
                f(*a);
                f(*b);
            }
            InstOp::Where(a, b, c) => {
                f(*a);
                f(*b);
                f(*c);
            }
            InstOp::Philox { seed, offset, index, .. } => {
                f(*seed);
                f(*offset);
                f(*index);
            }
            InstOp::Store { index, value, .. } => {
                index.dynamic.iter().for_each(|(value, _)| f(*value));
                f(*value);
            }
        }
    }
}

/// One region over many tensors of different sizes: an optimizer's update of all parameters in one launch, the norms of all gradients in one.
///
/// The first axis of `region` is as long as the instance. It is the only axis of a map; or the only axis, and reduced: then each instance brings whole
/// tensors down to single values, and may go on to use these at every point; or it is parallel and the others are reduced (rows of one length).
/// Arguments are walked through from their first element to their last, unless all instances are of one length: then the region may be any.
/// Instance `i` runs it with the first axis of extent `lens[i]`, the arguments `i * n_args ..` and the scalars `i * n_scalars ..` of the launch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Grouped {
    /// The shared body; its first axis and its arguments' lengths are those of the first instance.
    pub region: Region,
    /// The first axis of each instance.
    pub lens: Vec<usize>,
}

impl Grouped {
    /// Whether instances are maps, which reduce nothing.
    pub fn is_map(&self) -> bool {
        self.region.n_parallel == self.region.axes.len()
    }

    /// The region of an instance of this length.
    pub fn with_len(&self, len: usize) -> Region {
        let mut region = self.region.clone();
        if self.region.axes.first() == Some(&len) {
            return region;
        }
        region.axes.iter_mut().take(1).for_each(|axis| *axis = len);
        region.args.iter_mut().zip(self.region.args_per_point()).for_each(|(arg, each)| arg.len = each.map_or(arg.len, |each| each * len));
        region
    }

    pub(crate) fn args(&self) -> Vec<Arg> {
        let per_point = self.region.args_per_point();
        let first = self.region.axes.first();
        let of = |len: usize| {
            let is_first = first == Some(&len);
            let scaled = move |(arg, each): (&Arg, &Option<usize>)| match each {
                Some(each) if !is_first => Arg { len: each * len, ..*arg },
                _ => *arg,
            };
            self.region.args.iter().zip(&per_point).map(scaled)
        };
        self.lens.iter().flat_map(|len| of(*len)).collect()
    }

    pub(crate) fn scalars(&self) -> Vec<DType> {
        self.lens.iter().flat_map(|_| self.region.scalars.iter().copied()).collect()
    }
}
