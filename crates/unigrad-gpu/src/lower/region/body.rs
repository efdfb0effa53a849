//! A region's instructions as IR: what one thread does at one point of the domain, or at several neighbouring ones.
//!
//! In: a region, the places of its buffers and scalars, index values. Out: instructions in the builder's current block.
//! Always: what no store needs is not evaluated; nothing is read where a mask is false or a buffer is empty.
//! Never: decides which thread does which point, or makes reductions: schedules put those values in with [`Memo::put`].

use super::{
    exponential,
    lanes::{Lanes, Shape},
    map::{dense, unravel},
    ops, quotient,
    range::{Range, fits, held, ranges, within},
};
use crate::lower::{IndexError, Signature, Unsupported, philox::philox};
use smallvec::SmallVec;
use unigrad_ir::{Builder, Place, Target, Value};
use unigrad_kernel::{Arg, Index, Inst, InstOp, Level, Region, check_bit};
use unigrad_scalar::{BinaryOp, DType, Literal};

/// Elements up to which an index fits `U32`.
const NARROW: usize = 1 << 31;

/// A run-time scalar of a region.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scalar {
    /// As its dtype is held.
    Whole(Value),
    /// Its 32-bit halves, as `U32`.
    Halves([Value; 2]),
}

/// A region in a program; see the module's text.
#[derive(Debug)]
pub(crate) struct Body<'a> {
    pub(super) region: &'a Region,
    target: &'a Target,
    pub(super) levels: Vec<Level>,
    pub(super) live: Vec<bool>,
    ranges: Vec<Option<Range>>,
    /// By instruction: see [`quotient::rounded`].
    rounded: Vec<bool>,
    /// By instruction: see [`exponential::approximate`].
    approximate: Vec<bool>,
    /// By argument; none where nothing can be touched.
    places: Vec<Option<Place>>,
    scalars: Vec<Option<Scalar>>,
    error: Option<IndexError>,
    /// Values that the whole program sees.
    uniform: Memo,
}

/// Values at hand in a block, by instruction; copy it for a block inside.
#[derive(Clone, Debug, Default)]
pub(super) struct Memo {
    values: Vec<Option<Lanes>>,
    /// Address arithmetic that several instructions share: the index without its offset, whether it is 64 bits wide, and its value.
    indices: Vec<(Index, bool, Lanes)>,
    /// Philox blocks by seed, offset and index.
    random: Vec<([unigrad_kernel::Value; 3], [Lanes; 4])>,
}

impl Memo {
    pub(super) fn get(&self, at: usize) -> Option<&Lanes> {
        self.values.get(at).and_then(Option::as_ref)
    }

    /// A value that an instruction reads.
    fn need(&self, value: unigrad_kernel::Value) -> Result<&Lanes, Missing> {
        self.get(value.index()).ok_or_else(|| Missing(format!("value {}", value.index())))
    }

    pub(super) fn put(&mut self, at: usize, value: Lanes) {
        self.values[at] = Some(value);
    }

    /// Makes an address known: `strides` (over the whole domain) times the point's indices, as `value` (`U32`, or `U64` if it is wide).
    pub(super) fn put_index(&mut self, strides: &[i64], wide: bool, value: Lanes) {
        let index = Index { offset: 0, strides: SmallVec::from_slice(strides), dynamic: SmallVec::new() };
        self.indices.push((index, wide, value));
    }
}

/// What an instruction reads that is not at hand: a mistake of this crate.
#[derive(Debug)]
struct Missing(String);

/// Where in the domain a thread is.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) shape: Shape,
    /// The axis that a run goes along, if its width is above 1; its index is then a multiple of the width.
    pub(super) along: Option<usize>,
    /// One index per axis, of a run's first point. Row points have no values for reduce axes.
    pub(super) axes: Vec<Lanes>,
    /// What [`InstOp::Acc`] is.
    pub(super) acc: Option<Lanes>,
}

impl Point {
    /// A point and its neighbours; see [`Body::points`].
    fn run(axes: &[Value], width: usize, along: Option<usize>) -> Point {
        Point {
            shape: Shape { groups: 1, width },
            along: (width > 1).then(|| along.unwrap_or(axes.len().saturating_sub(1))),
            axes: axes.iter().map(|axis| Lanes::all(*axis)).collect(),
            acc: None,
        }
    }
}

/// What of a point can be loaded before the rest; see [`Body::ahead`].
#[derive(Debug)]
pub(crate) struct Ahead {
    wanted: Vec<bool>,
    /// How many loads that are.
    pub(crate) n_loads: u32,
}

/// A point of which something is loaded; see [`Body::begin`].
#[derive(Debug)]
pub(crate) struct Begun {
    point: Point,
    memo: Memo,
}

/// What is left of a point; see [`Body::end`].
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) begun: Begun,
    /// What [`InstOp::Acc`] is at each of the neighbours.
    pub(crate) acc: SmallVec<[Value; 8]>,
    /// Whether it is there (`None`: it is).
    pub(crate) inside: Option<Value>,
}

/// Instructions that some store needs.
pub(super) fn live(region: &Region) -> Vec<bool> {
    let mut live = vec![false; region.insts.len()];
    for at in (0..region.insts.len()).rev() {
        live[at] |= matches!(region.insts[at].op, InstOp::Store { .. });
        if live[at] {
            region.insts[at].op.visit_values(|value| live[value.index()] = true);
        }
    }
    live
}

/// Which scalars are used for nothing but seeds and offsets of random numbers.
fn only_random(region: &Region, live: &[bool]) -> Vec<bool> {
    let mut only = vec![true; region.scalars.len()];
    let slot = |value: &unigrad_kernel::Value| match region.insts[value.index()].op {
        InstOp::Scalar(slot) => Some(slot as usize),
        InstOp::Const(_)
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
        | InstOp::Reduce(..)
        | InstOp::ArgReduce(..)
        | InstOp::Store { .. } => None,
    };
    for (inst, _) in region.insts.iter().zip(live).filter(|(_, live)| **live) {
        let mut also = |value: unigrad_kernel::Value| {
            if let Some(slot) = slot(&value) {
                only[slot] = false;
            }
        };
        match &inst.op {
            InstOp::Philox { index, .. } => also(*index),
            op @ (InstOp::Const(_)
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
            | InstOp::Reduce(..)
            | InstOp::ArgReduce(..)
            | InstOp::Store { .. }) => op.visit_values(also),
        }
    }
    only
}

fn unsupported(region: &Region, cause: &str, help: &str) -> Unsupported {
    Unsupported { cause: format!("region {}: {cause}", region.name), help: help.to_owned() }
}

/// Why a region cannot run on a target at all.
pub(super) fn check(region: &Region, target: &Target) -> Result<(), Unsupported> {
    let live = live(region);
    let mut dtypes =
        region.insts.iter().zip(&live).filter(|(_, live)| **live).map(|(inst, _)| inst.dtype).chain(region.args.iter().map(|a| a.dtype));
    if !target.f64 && dtypes.any(|d| d == DType::F64) {
        return Err(unsupported(region, "the device has no 64-bit floats", "compute in f32, or run this part on the CPU"));
    }
    if let Some(arg) = region.args.iter().find(|arg| (arg.len * arg.dtype.size()) as u64 > target.max_buffer_bytes) {
        let cause = format!(
            "a buffer of {} bytes; the device's kernels reach {} bytes of one",
            arg.len * arg.dtype.size(),
            target.max_buffer_bytes
        );
        return Err(unsupported(region, &cause, "split the tensor"));
    }
    if !target.i64 && (region.args.iter().any(|arg| arg.len > NARROW) || region.rows().max(region.row_len()) > NARROW) {
        return Err(unsupported(region, "more than 2^31 elements, and the device has no 64-bit integers", "split the tensor"));
    }
    Ok(())
}

impl<'a> Body<'a> {
    /// A region whose buffers and scalars are at hand, by position.
    pub(super) fn new(
        region: &'a Region,
        target: &'a Target,
        places: Vec<Option<Place>>,
        scalars: Vec<Option<Scalar>>,
        error: Option<IndexError>,
    ) -> Body<'a> {
        let uniform = Memo { values: vec![None; region.insts.len()], ..Memo::default() };
        let (levels, live, ranges, rounded) = (region.levels(), live(region), ranges(region), quotient::rounded(region));
        let approximate = if target.approximates() { exponential::approximate(region) } else { vec![false; region.insts.len()] };
        Body { region, target, levels, live, ranges, rounded, approximate, places, scalars, error, uniform }
    }

    /// Declares the region's buffers and scalars as parameters, which are the kernel's `first_arg ..` and `first_scalar ..`, and makes its
    /// uniform values. To be called while the program's outermost block is the current one.
    pub(crate) fn declare(
        sig: &mut Signature,
        target: &'a Target,
        region: &'a Region,
        first_arg: usize,
        first_scalar: usize,
    ) -> Result<Body<'a>, Unsupported> {
        check(region, target)?;
        sig.made_for(target);
        let live = live(region);
        let used = |arg: usize| {
            region.insts.iter().zip(&live).any(|(inst, live)| {
                *live && matches!(inst.op, InstOp::Load { arg: a, .. } | InstOp::Store { arg: a, .. } if a as usize == arg)
            })
        };
        let places = region.args.iter().enumerate().map(|(at, arg)| {
            (arg.len > 0 && used(at)).then(|| sig.arg(&format!("{}{at}", if arg.write { "out" } else { "in" }), first_arg + at, arg))
        });
        let places = places.collect();
        let only_random = only_random(region, &live);
        let is_read = |slot: usize| region.insts.iter().zip(&live).any(|(inst, live)| *live && inst.op == InstOp::Scalar(slot as u32));
        let scalars = region.scalars.iter().enumerate().map(|(slot, dtype)| {
            is_read(slot).then(|| {
                let (name, at) = (format!("s{slot}"), first_scalar + slot);
                scalar(sig, target, &name, at, *dtype, only_random[slot])
            })
        });
        let scalars = scalars.collect();
        let bounded = region.insts.iter().zip(&live).any(|(inst, live)| *live && matches!(inst.op, InstOp::Bounded { .. }));
        let error = bounded.then(|| sig.index_error());
        let mut body = Body::new(region, target, places, scalars, error);
        body.make_uniform(&mut sig.b);
        Ok(body)
    }

    /// A prologue of a contraction: a map whose last argument stands for the operand `name`, and which reads the kernel's arguments `args`. To be
    /// called as [`Body::declare`].
    pub(crate) fn of_operand(
        sig: &mut Signature,
        target: &'a Target,
        region: &'a Region,
        name: &str,
        args: &[usize],
    ) -> Result<Body<'a>, Unsupported> {
        check(region, target)?;
        let is_map = region.n_parallel == region.axes.len() && region.scalars.is_empty() && region.only_stored().is_some();
        let plain = |inst: &Inst| !matches!(inst.op, InstOp::Acc | InstOp::Scalar(_) | InstOp::Bounded { .. });
        let reads = region.args.split_last().map(|(_, reads)| reads).filter(|reads| reads.len() == args.len());
        let Some(reads) = reads.filter(|_| is_map && region.insts.iter().all(plain)) else {
            return Err(unsupported(
                region,
                "it is no map from buffers to one operand",
                "this is a mistake of the compiler; please report it",
            ));
        };
        let declared = reads.iter().zip(args).enumerate().map(|(at, (arg, position))| {
            let is_used = arg.len > 0;
            is_used.then(|| sig.arg(&format!("{name}_in{at}"), *position, arg))
        });
        let places = declared.chain([None]).collect();
        let mut body = Body::new(region, target, places, Vec::new(), None);
        body.make_uniform(&mut sig.b);
        Ok(body)
    }

    /// `v` neighbouring elements of an operand ([`Body::of_operand`]) from a row-major position (`U32`, or 64 bits wide) on, as a vector (a number for one). More
    /// than one lie along the region's last axis that is longer than 1, and the position is a multiple of `v`.
    pub(crate) fn elements(&self, b: &mut Builder, linear: Value, v: u8) -> Value {
        let linear = if b.dtype(linear).size() == 8 { b.cast(linear, DType::U64) } else { linear };
        let axes = unravel(b, linear, &self.region.axes);
        let mut memo = self.memo();
        let along = self.region.axes.iter().rposition(|size| *size > 1);
        if self.region.axes.len() > 1 {
            memo.put_index(&dense(&self.region.axes), b.dtype(linear) == DType::U64, Lanes::all(linear));
        }
        let point = Point::run(&axes, v.into(), along);
        self.evaluate(b, &point, &mut memo, |body, at| body.live[at] && !matches!(body.region.insts[at].op, InstOp::Store { .. }));
        let stored = self.region.args.last().zip(self.region.only_stored());
        let Some((to, value, held)) = stored.and_then(|(arg, value)| Some((arg.dtype, value, memo.get(value.index())?))) else {
            b.mistake(format!("region {}: the operand that it makes is not there", self.region.name));
            return linear;
        };
        let from = self.region.insts[value.index()].dtype;
        let all: SmallVec<[Value; 8]> = (0..v.into()).map(|lane| ops::stored(b, held.at(0, lane), from, to)).collect();
        b.compose(&all)
    }

    /// Makes the uniform values, which every block from here on sees. Loads of what the launch writes wait: threads that are not the one that
    /// stores would read beside it.
    pub(super) fn make_uniform(&mut self, b: &mut Builder) {
        let point = Point { shape: Shape::ONE, along: None, axes: Vec::new(), acc: None };
        let mut memo = self.uniform.clone();
        let mut waits = vec![false; self.region.insts.len()];
        for at in 0..waits.len() {
            let inst = &self.region.insts[at];
            waits[at] = matches!(&inst.op, InstOp::Load { arg, index, .. } if self.is_written(*arg, index));
            inst.op.visit_values(|value| waits[at] |= waits[value.index()]);
        }
        self.evaluate(b, &point, &mut memo, |body, at| {
            let is_store = matches!(body.region.insts[at].op, InstOp::Store { .. } | InstOp::Reduce(..) | InstOp::ArgReduce(..));
            body.levels[at] == Level::Uniform && body.live[at] && !is_store && !waits[at]
        });
        self.uniform = memo;
    }

    /// Whether the launch may write what is loaded: an argument that it writes, or one whose memory an output of another dtype takes over, which
    /// is stored at the index that is loaded.
    pub(super) fn is_written(&self, arg: u32, index: &Index) -> bool {
        let args = &self.region.args;
        let read = &args[arg as usize];
        let takes_over = |inst: &Inst| match &inst.op {
            InstOp::Store { arg, index: written, .. } => {
                let write = &args[*arg as usize];
                (written == index || read.len == 1)
                    && write.len == read.len
                    && write.dtype.size() == read.dtype.size()
                    && write.dtype != read.dtype
            }
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
            | InstOp::Reduce(..)
            | InstOp::ArgReduce(..) => false,
        };
        read.write || self.region.insts.iter().any(takes_over)
    }

    /// Everything that a map does at a point and its neighbours along `along` (the last axis for `None`): as many as there are accumulators,
    /// or the point alone. `axes` are the first one's indices (`U32`, or `U64`), `acc` what [`InstOp::Acc`] stands for at each. The number of
    /// points is a power of two, at most 8, that divides the index along that axis.
    pub(crate) fn points(&self, b: &mut Builder, axes: &[Value], acc: &[Value], along: Option<usize>) {
        let mut point = Point::run(axes, acc.len().max(1), along);
        point.acc = (!acc.is_empty()).then(|| Lanes::run(acc.iter().copied()));
        self.evaluate(b, &point, &mut self.memo(), |body, at| body.live[at]);
    }

    /// Loads that can be done before the rest of a point: of arguments that are `still`, with masks that need no others; with what their masks need.
    pub(crate) fn ahead(&self, still: &[bool]) -> Ahead {
        let insts = &self.region.insts;
        let mut early = vec![false; insts.len()];
        for at in 0..insts.len() {
            let mut known = true;
            insts[at].op.visit_values(|value| known &= early[value.index()]);
            early[at] = known
                && match &insts[at].op {
                    InstOp::Load { arg, .. } => still.get(*arg as usize).copied().unwrap_or(false),
                    InstOp::Const(_)
                    | InstOp::Scalar(_)
                    | InstOp::AxisIndex(_)
                    | InstOp::Unary(..)
                    | InstOp::Binary(..)
                    | InstOp::Where(..)
                    | InstOp::Cast(_)
                    | InstOp::Bitcast(_) => true,
                    InstOp::Acc
                    | InstOp::Bounded { .. }
                    | InstOp::Philox { .. }
                    | InstOp::Reduce(..)
                    | InstOp::ArgReduce(..)
                    | InstOp::Store { .. } => false,
                };
        }
        let mut wanted = vec![false; insts.len()];
        let mut n_loads = 0;
        for at in (0..insts.len()).rev() {
            let is_load = early[at] && self.live[at] && matches!(insts[at].op, InstOp::Load { .. });
            n_loads += u32::from(is_load);
            wanted[at] |= is_load;
            if wanted[at] {
                insts[at].op.visit_values(|value| wanted[value.index()] = true);
            }
        }
        Ahead { wanted, n_loads }
    }

    /// How many loads a point has.
    pub(crate) fn n_loads(&self) -> u32 {
        let loads = self.region.insts.iter().zip(&self.live).filter(|(inst, live)| **live && matches!(inst.op, InstOp::Load { .. }));
        loads.count() as u32
    }

    /// Begins `width` neighbouring points of a map ([`Body::points`]): what can be loaded ahead is. To be ended by [`Body::end`] where the same values are visible.
    pub(crate) fn begin(&self, b: &mut Builder, axes: &[Value], (width, along): (usize, Option<usize>), ahead: &Ahead) -> Begun {
        let (point, mut memo) = (Point::run(axes, width, along), self.memo());
        self.evaluate(b, &point, &mut memo, |_, at| ahead.wanted[at]);
        Begun { point, memo }
    }

    /// Does the rest of what a map does at points. Everything of all of them is read before anything is written: where arguments may be of one memory, a compiler keeps
    /// loads behind the stores that stand before them, and each of them is waited for. What is not there is read, and not written.
    pub(crate) fn end(&self, b: &mut Builder, points: Vec<Ending>) {
        let is_store = |body: &Body<'_>, at: usize| matches!(body.region.insts[at].op, InstOp::Store { .. });
        let mut all = Vec::with_capacity(points.len());
        for Ending { begun: Begun { mut point, mut memo }, acc, inside } in points {
            point.acc = (!acc.is_empty()).then(|| Lanes::run(acc));
            self.evaluate(b, &point, &mut memo, |body, at| body.live[at] && !is_store(body, at));
            all.push((point, memo, inside));
        }
        for (point, mut memo, inside) in all {
            let mut store = |b: &mut Builder| self.evaluate(b, &point, &mut memo, |body, at| body.live[at] && is_store(body, at));
            match inside {
                Some(inside) => b.when(inside, store),
                None => store(b),
            }
        }
    }

    /// A fresh set of values: the uniform ones.
    pub(super) fn memo(&self) -> Memo {
        self.uniform.clone()
    }

    /// Where an argument is.
    pub(super) fn place(&self, arg: usize) -> Option<Place> {
        self.places.get(arg).copied().flatten()
    }

    /// The dtype in which a value is held.
    pub(super) fn held(&self, at: usize) -> DType {
        held(self.region.insts[at].dtype, self.ranges[at])
    }

    /// Whether a value is known to be an integer within a range.
    pub(super) fn is_within(&self, at: usize, range: Range) -> bool {
        self.ranges[at].is_some_and(|inner| within(inner, range))
    }

    /// Evaluates the chosen instructions, in order, as far as they are not in `memo`.
    pub(super) fn evaluate(&self, b: &mut Builder, point: &Point, memo: &mut Memo, chosen: impl Fn(&Body<'_>, usize) -> bool) {
        for at in 0..self.region.insts.len() {
            if memo.values[at].is_none() && chosen(self, at) {
                match self.instruction(b, point, memo, at) {
                    Ok(value) => memo.values[at] = value,
                    Err(missing) => self.report(b, at, missing),
                }
            }
        }
    }

    fn report(&self, b: &mut Builder, at: usize, Missing(what): Missing) {
        b.mistake(format!("region {}: instruction {at} reads {what}, which is not there", self.region.name));
    }

    /// What an instruction makes; nothing of stores, of what schedules make, and of scalars of which only halves are known.
    fn instruction(&self, b: &mut Builder, point: &Point, memo: &mut Memo, at: usize) -> Result<Option<Lanes>, Missing> {
        let inst = &self.region.insts[at];
        let shape = point.shape;
        let dtype_of = |value: &unigrad_kernel::Value| self.region.insts[value.index()].dtype;
        let range_of = |value: &unigrad_kernel::Value| self.ranges[value.index()];
        let to = self.held(at);
        let value = match &inst.op {
            InstOp::Const(literal) if literal.dtype().is_float() => Lanes::all(b.float(to, literal.as_f64())),
            InstOp::Const(literal) => Lanes::all(b.constant(literal.cast(to))),
            InstOp::Scalar(slot) => match self.scalars[*slot as usize] {
                Some(Scalar::Whole(value)) => Lanes::all(value),
                // Made from its halves where it is used: see `halves`.
                Some(Scalar::Halves(_)) => return Ok(None),
                None => return Err(Missing(format!("scalar {slot}"))),
            },
            InstOp::AxisIndex(axis) => {
                let axis = *axis as usize;
                let base = &point.axes[axis];
                Lanes::make(shape, base.by_group(), point.along == Some(axis), |g, l| {
                    let index = b.add_const(base.at(g, 0), if point.along == Some(axis) { l as i64 } else { 0 });
                    b.cast(index, to)
                })
            }
            InstOp::Acc => match &point.acc {
                Some(acc) => Lanes::map(b, shape, &[acc], |b, v| b.cast(v[0], to)),
                None => return Err(Missing("the sum of a contraction".to_owned())),
            },
            InstOp::Load { arg, index, mask } => {
                let mask = mask.map(|mask| memo.need(mask).cloned()).transpose()?;
                self.load(b, point, memo, *arg as usize, index, mask, to)?
            }
            InstOp::Unary(_, a) if self.approximate[at] => {
                let x = memo.need(*a)?;
                let log2_e = b.float(DType::F32, std::f64::consts::LOG2_E);
                Lanes::map(b, shape, &[x], |b, v| {
                    let exponent = b.mul(v[0], log2_e);
                    b.approx_exp2(exponent)
                })
            }
            InstOp::Unary(op, a) => {
                let x = memo.need(*a)?;
                Lanes::map(b, shape, &[x], |b, v| ops::unary(b, *op, dtype_of(a), v[0], range_of(a), self.ranges[at]))
            }
            InstOp::Binary(op, x, y) => {
                let (vx, vy) = (memo.need(*x)?, memo.need(*y)?);
                let by_one = *op == BinaryOp::Div && to == DType::F32 && !vy.by_group() && !vy.by_lane();
                if by_one && (vx.by_group() || vx.by_lane()) {
                    return Ok(Some(quotient::by_one(b, shape, vx, vy.at(0, 0), !self.rounded[at])));
                }
                Lanes::map(b, shape, &[vx, vy], |b, v| {
                    ops::binary(b, *op, dtype_of(x), [v[0], v[1]], [range_of(x), range_of(y)], self.ranges[at])
                })
            }
            InstOp::Where(c, x, y) => {
                let (c, x, y) = (memo.need(*c)?, memo.need(*x)?, memo.need(*y)?);
                Lanes::map(b, shape, &[c, x, y], |b, v| {
                    let (x, y) = (b.cast(v[1], to), b.cast(v[2], to));
                    b.select(v[0], x, y)
                })
            }
            InstOp::Cast(a) => {
                let x = memo.need(*a)?;
                Lanes::map(b, shape, &[x], |b, v| ops::cast(b, v[0], dtype_of(a), inst.dtype, to))
            }
            InstOp::Bitcast(a) => {
                let x = memo.need(*a)?;
                // A Bool is 0 or 1 in a byte.
                let stored = if dtype_of(a) == DType::Bool { DType::U8 } else { dtype_of(a) };
                Lanes::map(b, shape, &[x], |b, v| {
                    let bits = b.cast(v[0], stored);
                    let bits = b.bitcast(bits, inst.dtype);
                    b.cast(bits, to)
                })
            }
            InstOp::Bounded { index, size, from_end, check } => {
                let (x, error) = (memo.need(*index)?, self.error.ok_or_else(|| Missing("the place for errors".to_owned()))?);
                Lanes::map(b, shape, &[x], |b, v| {
                    // The check compares with negative sizes, so it is signed.
                    let narrow = *size <= i64::from(i32::MAX) && range_of(index).is_some_and(|range| fits(range, DType::I32));
                    let index = b.cast(v[0], if narrow { DType::I32 } else { DType::I64 });
                    let index = error.bounded(b, index, *size, *from_end, check_bit(*check));
                    b.cast(index, to)
                })
            }
            InstOp::Philox { seed, offset, index, word } => self.random(b, point, memo, [*seed, *offset, *index], *word)?,
            // Without reduce axes: over one point.
            InstOp::ArgReduce(..) if self.region.n_parallel == self.region.axes.len() => Lanes::all(b.int(to, 0)),
            InstOp::Reduce(..) | InstOp::ArgReduce(..) => return Ok(None),
            InstOp::Store { arg, index, value } => {
                self.store(b, point, memo, *arg as usize, index, *value)?;
                return Ok(None);
            }
        };
        Ok(Some(value))
    }

    /// A 64-bit value's lower and upper word.
    #[allow(clippy::wildcard_enum_match_arm, reason = "dtypes come in families")]
    fn halves(&self, b: &mut Builder, shape: Shape, memo: &Memo, value: unigrad_kernel::Value) -> Result<[Lanes; 2], Missing> {
        if let InstOp::Scalar(slot) = self.region.insts[value.index()].op
            && let Some(Scalar::Halves([low, high])) = self.scalars[slot as usize]
        {
            return Ok([Lanes::all(low), Lanes::all(high)]);
        }
        let value = memo.need(value)?;
        let low = Lanes::map(b, shape, &[value], |b, v| b.cast(v[0], DType::U32));
        let high = Lanes::map(b, shape, &[value], |b, v| match b.dtype(v[0]) {
            DType::I32 => {
                let (zero, ones, none) = (b.int(DType::I32, 0), b.u32(u32::MAX), b.u32(0));
                let negative = b.lt(v[0], zero);
                b.select(negative, ones, none)
            }
            dtype if dtype.size() == 8 => {
                let shift = b.int(dtype, 32);
                let high = b.binary(BinaryOp::Shr, v[0], shift);
                b.cast(high, DType::U32)
            }
            _ => b.u32(0),
        });
        Ok([low, high])
    }

    fn random(&self, b: &mut Builder, point: &Point, memo: &mut Memo, of: [unigrad_kernel::Value; 3], word: u8) -> Result<Lanes, Missing> {
        // A block gives four words; every random tensor of a region draws from it.
        if let Some((_, words)) = memo.random.iter().find(|(key, _)| *key == of) {
            return Ok(words[usize::from(word & 3)].clone());
        }
        let shape = point.shape;
        let [seed, offset, index] = of;
        let (seed, offset, index) =
            (self.halves(b, shape, memo, seed)?, self.halves(b, shape, memo, offset)?, self.halves(b, shape, memo, index)?);
        let words = [&index[0], &index[1], &offset[0], &offset[1], &seed[0], &seed[1]];
        let (by_group, by_lane) = (words.iter().any(|w| w.by_group()), words.iter().any(|w| w.by_lane()));
        let mut blocks: Vec<[Value; 4]> = Vec::new();
        let first = Lanes::make(shape, by_group, by_lane, |g, l| {
            let [i0, i1, o0, o1, s0, s1] = words.map(|word| word.at(g, l));
            let block = philox(b, [i0, i1, o0, o1], [s0, s1]);
            blocks.push(block);
            block[0]
        });
        let words = [0, 1, 2, 3].map(|word| first.zip_with(blocks.iter().map(|block| block[word])));
        let found = words[usize::from(word & 3)].clone();
        memo.random.push((of, words));
        Ok(found)
    }

    // --- memory

    /// The address of an access, its offset left out, at the first point of every run.
    fn address(&self, b: &mut Builder, point: &Point, memo: &mut Memo, index: &Index, wide: bool) -> Result<Lanes, Missing> {
        let key = Index { offset: 0, strides: self.strides(index), dynamic: index.dynamic.clone() };
        if let Some((_, _, address)) = memo.indices.iter().find(|(known, is_wide, _)| *known == key && *is_wide == wide) {
            return Ok(address.clone());
        }
        let dtype = if wide { DType::U64 } else { DType::U32 };
        let shape = point.shape;
        let n = self.region.n_parallel;
        let moves = |range: std::ops::Range<usize>| key.strides[range].iter().any(|stride| *stride != 0);
        if moves(0..n) && (moves(n..key.strides.len()) || !key.dynamic.is_empty()) {
            // The row's part is the same for a whole walk.
            let row = self.address(b, point, memo, &self.row_part(&key), wide)?;
            let mut rest = key.clone();
            rest.strides[..n].fill(0);
            let rest = self.address(b, point, memo, &rest, wide)?;
            let address = Lanes::map(b, shape, &[&row, &rest], |b, v| b.add(v[0], v[1]));
            memo.indices.push((key, wide, address.clone()));
            return Ok(address);
        }
        let mut sum: Option<Lanes> = None;
        let mut add = |b: &mut Builder, term: Lanes| {
            sum = Some(match &sum {
                Some(sum) => Lanes::map(b, shape, &[sum, &term], |b, v| b.add(v[0], v[1])),
                None => term,
            });
        };
        for (axis, stride) in key.strides.iter().enumerate().filter(|(_, stride)| **stride != 0) {
            let term = Lanes::map(b, shape, &[&point.axes[axis]], |b, v| {
                let index = b.cast(v[0], dtype);
                b.mul_const(index, *stride)
            });
            add(b, term);
        }
        for (value, stride) in &key.dynamic {
            let value = memo.need(*value)?;
            let term = Lanes::map(b, shape, &[value], |b, v| {
                let index = b.cast(v[0], dtype);
                b.mul_const(index, *stride)
            });
            add(b, term);
        }
        let address = sum.unwrap_or_else(|| Lanes::all(b.int(dtype, 0)));
        memo.indices.push((key, wide, address.clone()));
        Ok(address)
    }

    fn row_part(&self, index: &Index) -> Index {
        let mut strides = self.strides(index);
        strides[self.region.n_parallel..].fill(0);
        Index { offset: 0, strides, dynamic: SmallVec::new() }
    }

    /// Makes the row's part of an access's address, for all blocks that see `memo`.
    pub(super) fn row_address(&self, b: &mut Builder, point: &Point, memo: &mut Memo, at: usize) {
        if let InstOp::Load { arg, index, .. } | InstOp::Store { arg, index, .. } = &self.region.insts[at].op {
            let wide = self.region.args[*arg as usize].len > NARROW;
            if let Err(missing) = self.address(b, point, memo, &self.row_part(index), wide) {
                self.report(b, at, missing);
            }
        }
    }

    /// An index's strides, 0 for axes of one point.
    fn strides(&self, index: &Index) -> SmallVec<[i64; 6]> {
        let axes = self.region.axes.iter().enumerate();
        axes.map(|(axis, size)| if *size == 1 { 0 } else { index.strides.get(axis).copied().unwrap_or(0) }).collect()
    }

    /// How many points of a run one access can move as a vector.
    fn piece(&self, point: &Point, index: &Index, address: &Lanes, dtype: DType) -> usize {
        match point.along {
            Some(along) if !address.by_lane() => {
                let strides = self.strides(index);
                vector_piece(self.target, &strides, index, along, dtype, point.shape.width)
            }
            _ => 1,
        }
    }

    #[allow(clippy::too_many_arguments)] // the parts of a load
    fn load(
        &self,
        b: &mut Builder,
        point: &Point,
        memo: &mut Memo,
        arg: usize,
        index: &Index,
        mask: Option<Lanes>,
        to: DType,
    ) -> Result<Lanes, Missing> {
        let Arg { dtype, len, .. } = self.region.args[arg];
        if len == 0 {
            // Of an empty buffer nothing is read: every mask is false.
            return Ok(Lanes::all(b.constant(Literal::zero(to))));
        }
        let place = self.places[arg].ok_or_else(|| Missing(format!("buffer {arg}")))?;
        let wide = len > NARROW;
        let address = self.address(b, point, memo, index, wide)?;
        let stride = point.along.map_or(0, |along| self.strides(index)[along]);
        let mut piece = self.piece(point, index, &address, dtype);
        if mask.as_ref().is_some_and(Lanes::by_lane) {
            piece = 1;
        }
        let by_group = address.by_group() || mask.as_ref().is_some_and(Lanes::by_group);
        let by_lane = address.by_lane() || stride != 0 || mask.as_ref().is_some_and(Lanes::by_lane);
        // Where the same index of an equal length is stored, it is in bounds with and without the mask. If the load read the first element
        // instead, and an output takes the memory over, it would read beside the thread that stores there.
        let is_stored = |inst: &Inst| match &inst.op {
            InstOp::Store { arg, index: written, .. } => written == index && self.region.args[*arg as usize].len == len,
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
            | InstOp::Reduce(..)
            | InstOp::ArgReduce(..) => false,
        };
        let in_bounds = self.region.insts.iter().any(is_stored);
        let vector = |b: &mut Builder, g: usize, l: usize| {
            let mut at = b.add_const(address.at(g, l), index.offset + stride * l as i64);
            if let Some(mask) = mask.as_ref().filter(|_| !in_bounds) {
                let zero = b.int(b.dtype(at), 0);
                at = b.select(mask.at(g, l), at, zero);
            }
            b.load_vector(place, at, piece as u8)
        };
        Ok(Lanes::by_pieces(b, (point.shape, by_group, by_lane), piece, vector, |b, loaded, g, l| {
            let value = b.extract(loaded, (l % piece) as u8);
            let value = b.cast(value, to);
            match &mask {
                Some(mask) => {
                    let zero = b.constant(Literal::zero(to));
                    b.select(mask.at(g, l), value, zero)
                }
                None => value,
            }
        }))
    }

    fn store(
        &self,
        b: &mut Builder,
        point: &Point,
        memo: &mut Memo,
        arg: usize,
        index: &Index,
        value: unigrad_kernel::Value,
    ) -> Result<(), Missing> {
        let Arg { dtype, len, .. } = self.region.args[arg];
        if len == 0 {
            return Ok(());
        }
        let (place, held) = (self.places[arg].ok_or_else(|| Missing(format!("buffer {arg}")))?, memo.need(value)?.clone());
        let address = self.address(b, point, memo, index, len > NARROW)?;
        let stride = point.along.map_or(0, |along| self.strides(index)[along]);
        let piece = self.piece(point, index, &address, dtype);
        let from = self.region.insts[value.index()].dtype;
        let values = Lanes::map(b, point.shape, &[&held], |b, v| ops::stored(b, v[0], from, dtype));
        let groups = if address.by_group() || values.by_group() { point.shape.groups } else { 1 };
        let by_lane = address.by_lane() || stride != 0 || values.by_lane();
        for g in 0..groups {
            for l in (0..if by_lane { point.shape.width } else { 1 }).step_by(piece) {
                let at = b.add_const(address.at(g, l), index.offset + stride * l as i64);
                let lanes: SmallVec<[Value; 8]> = (l..l + piece).map(|l| values.at(g, l)).collect();
                let vector = b.compose(&lanes);
                b.store(place, at, vector);
            }
        }
        Ok(())
    }
}

/// How many neighbours along an axis one access can move at once, if an index along that axis is a multiple of `width`.
pub(super) fn vector_piece(target: &Target, strides: &[i64], index: &Index, along: usize, dtype: DType, width: usize) -> usize {
    let bytes = if target.vectors { 16 } else { 4 };
    let mut piece = width.min(bytes / dtype.size()).clamp(1, 8);
    if strides[along] != 1 {
        return 1;
    }
    let aligned = |piece: usize| {
        let n = piece as i64;
        let others = strides.iter().enumerate().filter(|(axis, _)| *axis != along).all(|(_, stride)| stride % n == 0);
        others && index.offset % n == 0 && index.dynamic.iter().all(|(_, stride)| stride % n == 0)
    };
    while piece > 1 && !aligned(piece) {
        piece /= 2;
    }
    piece
}

/// Declares a run-time scalar, as it is held.
#[allow(clippy::wildcard_enum_match_arm, reason = "dtypes come in families")]
fn scalar(sig: &mut Signature, target: &Target, name: &str, at: usize, dtype: DType, only_random: bool) -> Scalar {
    match dtype {
        DType::U64 | DType::I64 if only_random => Scalar::Halves(sig.scalar_halves(name, at)),
        DType::U64 | DType::I64 if !target.i64 => {
            let [low, high] = sig.scalar_halves(name, at);
            let b = &mut sig.b;
            let (low, high) = (b.cast(low, DType::U64), b.cast(high, DType::U64));
            let shift = b.int(DType::U64, 32);
            let high = b.binary(BinaryOp::Shl, high, shift);
            let whole = b.binary(BinaryOp::Or, low, high);
            Scalar::Whole(b.cast(whole, dtype))
        }
        DType::F16 | DType::BF16 => {
            let raw = sig.scalar_low(name, at);
            let bits = sig.b.cast(raw, DType::U16);
            let value = sig.b.bitcast(bits, dtype);
            Scalar::Whole(sig.b.cast(value, DType::F32))
        }
        _ if dtype.size() < 4 => {
            let raw = sig.scalar_low(name, at);
            Scalar::Whole(sig.b.cast(raw, dtype))
        }
        _ => Scalar::Whole(sig.scalar(name, at, dtype)),
    }
}
