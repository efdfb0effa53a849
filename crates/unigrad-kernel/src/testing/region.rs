//! What a region means, one point after the other. `f32` values are rounded after every operation.

use crate::{Index, InstOp, Level, Region, Value};
use half::{bf16, f16};
use unigrad_scalar::{ArgReduceOp, BinaryOp, DType, Literal, ReduceOp, UnaryOp};

/// A number: a float, or an integer or truth value as its bits, sign-extended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Num {
    /// A float's value.
    F(f64),
    /// See above.
    I(i64),
}

impl Num {
    /// What an element's bits stand for.
    pub fn from_raw(dtype: DType, raw: u64) -> Num {
        let literal = Literal::from_raw(dtype, raw);
        if dtype.is_float() { Num::F(literal.as_f64()) } else { Num::I(literal.as_i64()) }
    }

    /// Whether two results are equal; a NaN is like any other.
    pub fn same(self, other: Num) -> bool {
        match (self, other) {
            (Num::F(a), Num::F(b)) => a == b || a.is_nan() && b.is_nan(),
            (a, b) => a == b,
        }
    }

    fn f(self) -> f64 {
        match self {
            Num::F(x) => x,
            Num::I(x) => x as f64,
        }
    }

    fn i(self) -> i64 {
        match self {
            Num::F(x) => x as i64,
            Num::I(x) => x,
        }
    }

    fn truth(self) -> bool {
        match self {
            Num::F(x) => x != 0.0,
            Num::I(x) => x != 0,
        }
    }

    fn is_nan(self) -> bool {
        matches!(self, Num::F(x) if x.is_nan())
    }
}

/// An argument: its elements' bits.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Buffer {
    pub dtype: DType,
    pub raw: Vec<u64>,
}

/// The arguments of a launch.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Memory {
    pub bufs: Vec<Buffer>,
}

/// `x` as a value of the dtype's compute type.
fn compute(dtype: DType, x: f64) -> Num {
    match dtype {
        DType::F64 => Num::F(x),
        d if d.is_float() => Num::F(f64::from(x as f32)),
        d => Num::I(Literal::float(d, x).as_i64()),
    }
}

fn wrap(dtype: DType, x: i64) -> Num {
    Num::I(Literal::int(dtype, x).as_i64())
}

fn round(dtype: DType, x: f64) -> f64 {
    match dtype {
        DType::F16 => f16::from_f32(x as f32).to_f64(),
        DType::BF16 => bf16::from_f32(x as f32).to_f64(),
        DType::F32 => f64::from(x as f32),
        _ => x,
    }
}

fn cast(from: DType, to: DType, x: Num) -> Num {
    match (from.is_float(), to) {
        _ if from == to => x,
        (_, DType::Bool) => Num::I(x.truth().into()),
        (true, to) if to.is_float() => Num::F(round(to, x.f())),
        (false, to) if to.is_float() => {
            let x = if from == DType::U64 { x.i() as u64 as f64 } else { x.i() as f64 };
            Num::F(round(to, x))
        }
        (true, to) => Num::I(Literal::float(to, x.f()).as_i64()),
        (false, to) => wrap(to, x.i()),
    }
}

fn raw(dtype: DType, x: Num) -> u64 {
    match x {
        Num::F(x) if dtype == DType::F16 => f16::from_f32(x as f32).to_bits().into(),
        Num::F(x) if dtype == DType::BF16 => bf16::from_f32(x as f32).to_bits().into(),
        Num::F(x) => Literal::float(dtype, x).to_raw(),
        Num::I(x) => Literal::int(dtype, x).to_raw(),
    }
}

fn unary(op: UnaryOp, dtype: DType, x: Num) -> Num {
    match x {
        Num::F(x) if op.gives_bool() => Num::I(op.eval(x) as i64),
        Num::F(x) => compute(dtype, op.eval(x)),
        Num::I(x) if op.gives_bool() => Num::I(op.eval_int(x)),
        Num::I(x) if dtype == DType::Bool && op == UnaryOp::BitNot => Num::I((x == 0).into()),
        Num::I(x) if dtype == DType::U64 => match op {
            UnaryOp::Abs | UnaryOp::Relu => Num::I(x),
            UnaryOp::Sign => Num::I((x != 0).into()),
            _ => wrap(dtype, op.eval_int(x)),
        },
        Num::I(x) => wrap(dtype, op.eval_int(x)),
    }
}

fn binary(op: BinaryOp, dtype: DType, a: Num, b: Num) -> Num {
    match (a, b) {
        (Num::F(a), Num::F(b)) if op.is_comparison() => Num::I(op.eval(a, b) as i64),
        (Num::F(a), Num::F(b)) => compute(dtype, op.eval(a, b)),
        (a, b) => {
            let result = op.eval_int(a.i(), b.i(), 8 * dtype.size() as u32, !dtype.is_unsigned_int());
            if op.is_comparison() { Num::I(result) } else { wrap(dtype, result) }
        }
    }
}

fn reduce(op: ReduceOp, dtype: DType, values: &[Num]) -> Num {
    let (f, identity) = match op {
        ReduceOp::Sum => (BinaryOp::Add, Literal::zero(dtype)),
        ReduceOp::Prod => (BinaryOp::Mul, Literal::one(dtype)),
        ReduceOp::Max => (BinaryOp::Max, Literal::min_value(dtype)),
        ReduceOp::Min => (BinaryOp::Min, Literal::max_value(dtype)),
    };
    let identity = if dtype.is_float() { Num::F(identity.as_f64()) } else { Num::I(identity.as_i64()) };
    values.iter().fold(identity, |a, b| binary(f, dtype, a, *b))
}

fn arg_reduce(op: ArgReduceOp, dtype: DType, values: &[Num]) -> Num {
    let less = |a: Num, b: Num| binary(BinaryOp::Lt, dtype, a, b).truth();
    let better = |a: Num, b: Num| {
        let extreme = if op == ArgReduceOp::ArgMax { less(b, a) } else { less(a, b) };
        extreme || a.is_nan() && !b.is_nan()
    };
    let best = (1..values.len()).fold(0, |best, i| if better(values[i], values[best]) { i } else { best });
    Num::I(best as i64)
}

/// Philox 4x32-10 of a counter and a key.
pub fn philox(index: u64, offset: u64, seed: u64) -> [u32; 4] {
    let mut c = [index as u32, (index >> 32) as u32, offset as u32, (offset >> 32) as u32];
    let mut key = [seed as u32, (seed >> 32) as u32];
    for _ in 0..10 {
        let (p0, p1) = (u64::from(c[0]) * 0xD251_1F53, u64::from(c[2]) * 0xCD9E_8D57);
        c = [(p1 >> 32) as u32 ^ c[1] ^ key[0], p1 as u32, (p0 >> 32) as u32 ^ c[3] ^ key[1], p0 as u32];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    c
}

/// The memory after a launch, or that an index was out of range.
#[allow(clippy::result_unit_err)]
pub fn run(region: &Region, memory: &Memory, scalars: &[u64]) -> Result<Memory, ()> {
    let mut out = memory.clone();
    let levels = region.levels();
    let n_elements = region.row_len();
    // What no store needs is not evaluated: a bad index there is no fault.
    let mut live = vec![false; region.insts.len()];
    for at in (0..region.insts.len()).rev() {
        live[at] |= matches!(region.insts[at].op, InstOp::Store { .. });
        if live[at] {
            region.insts[at].op.visit_values(|value| live[value.index()] = true);
        }
    }
    for row in 0..region.rows() {
        let mut point = vec![0usize; region.axes.len()];
        unravel(row, &region.axes[..region.n_parallel], &mut point[..region.n_parallel]);
        // By instruction: one number, or one per element.
        let mut values: Vec<Vec<Num>> = Vec::new();
        for (at, inst) in region.insts.iter().enumerate() {
            let full = levels[at] == Level::Full;
            if !live[at] {
                values.push(Vec::new());
                continue;
            }
            let mut lane = Vec::new();
            if let InstOp::Reduce(op, v) = inst.op {
                let every: Vec<Num> = (0..n_elements).map(|k| get(&values, v, k)).collect();
                values.push(vec![reduce(op, inst.dtype, &every)]);
                continue;
            }
            if let InstOp::ArgReduce(op, v) = inst.op {
                let every: Vec<Num> = (0..n_elements).map(|k| get(&values, v, k)).collect();
                values.push(vec![arg_reduce(op, region.insts[v.index()].dtype, &every)]);
                continue;
            }
            for k in 0..if full { n_elements } else { 1 } {
                unravel(k, &region.axes[region.n_parallel..], &mut point[region.n_parallel..]);
                let v = |value: Value| get(&values, value, k);
                let dtype_of = |value: Value| region.insts[value.index()].dtype;
                let place = |index: &Index| {
                    let fixed: i64 = index.strides.iter().zip(&point).map(|(s, i)| s * *i as i64).sum();
                    let dynamic: i64 = index.dynamic.iter().map(|(value, s)| v(*value).i() * s).sum();
                    (index.offset + fixed + dynamic) as usize
                };
                lane.push(match &inst.op {
                    InstOp::Const(literal) => Num::from_raw(inst.dtype, literal.to_raw()),
                    InstOp::Scalar(slot) => Num::from_raw(inst.dtype, scalars[*slot as usize]),
                    InstOp::AxisIndex(axis) => Num::I(point[*axis as usize] as i64),
                    InstOp::Acc => Num::F(0.0),
                    InstOp::Load { arg, index, mask } => {
                        let buf = &memory.bufs[*arg as usize];
                        match mask {
                            Some(mask) if !v(*mask).truth() => Num::from_raw(buf.dtype, 0),
                            _ => Num::from_raw(buf.dtype, buf.raw[place(index)]),
                        }
                    }
                    InstOp::Unary(op, a) => unary(*op, dtype_of(*a), v(*a)),
                    InstOp::Binary(op, a, b) => binary(*op, dtype_of(*a), v(*a), v(*b)),
                    InstOp::Where(c, a, b) => {
                        if v(*c).truth() {
                            v(*a)
                        } else {
                            v(*b)
                        }
                    }
                    InstOp::Cast(a) => cast(dtype_of(*a), inst.dtype, v(*a)),
                    InstOp::Bitcast(a) => Num::from_raw(inst.dtype, raw(dtype_of(*a), v(*a))),
                    InstOp::Bounded { index, size, from_end, .. } => {
                        let i = v(*index).i();
                        if i < if *from_end { -size } else { 0 } || i >= *size {
                            return Err(());
                        }
                        Num::I(if i < 0 { i + size } else { i })
                    }
                    InstOp::Philox { seed, offset, index, word } => {
                        Num::I(philox(v(*index).i() as u64, v(*offset).i() as u64, v(*seed).i() as u64)[*word as usize].into())
                    }
                    InstOp::Reduce(..) | InstOp::ArgReduce(..) => continue,
                    InstOp::Store { arg, index, value } => {
                        let to = region.args[*arg as usize].dtype;
                        let at = place(index);
                        let x = cast(dtype_of(*value), to, v(*value));
                        out.bufs[*arg as usize].raw[at] = raw(to, x);
                        Num::I(0)
                    }
                });
            }
            values.push(lane);
        }
    }
    Ok(out)
}

fn get(values: &[Vec<Num>], value: Value, k: usize) -> Num {
    let lane = &values[value.index()];
    if lane.len() == 1 { lane[0] } else { lane[k] }
}

fn unravel(mut linear: usize, axes: &[usize], point: &mut [usize]) {
    for (i, extent) in axes.iter().enumerate().rev() {
        point[i] = linear % extent.max(&1);
        linear /= extent.max(&1);
    }
}
