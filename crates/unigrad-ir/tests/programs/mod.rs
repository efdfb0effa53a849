//! Programs that together use everything the IR has: what the renderers' tests compile, run and compare.

// Each test uses some of them.
#![allow(dead_code)]

pub(crate) mod cases;

use unigrad_ir::{AtomicOp, Builder, Fragment, FragmentRole, FragmentShape, Op, Place, Program, Stmt, SubgroupOp, Target, Type, Value};
use unigrad_scalar::{BinaryOp, DType, Literal, ReduceOp, UnaryOp};

/// Elements of the inputs of [`unary`], [`binary`] and [`cast`].
pub(crate) const N: u32 = 64;

/// Types that arithmetic happens in.
pub(crate) fn computed(target: &Target) -> Vec<DType> {
    let here = |d: &DType| (target.f64 || *d != DType::F64) && (target.i64 || !matches!(d, DType::I64 | DType::U64));
    DType::ALL.into_iter().filter(|d| !matches!(d, DType::F16 | DType::BF16)).filter(here).collect()
}

/// Types that memory holds.
pub(crate) fn held(target: &Target) -> Vec<DType> {
    let here = |d: &DType| (target.f64 || *d != DType::F64) && (target.i64 || !matches!(d, DType::I64 | DType::U64));
    DType::ALL.into_iter().filter(here).collect()
}

/// The unary operations that `dtype` has.
pub(crate) fn unary_ops(dtype: DType) -> Vec<UnaryOp> {
    let all = UnaryOp::ALL.iter().copied();
    all.filter(|op| match dtype {
        DType::Bool => *op == UnaryOp::Not,
        d if d.is_float() => !matches!(op, UnaryOp::Not | UnaryOp::BitNot),
        _ => matches!(op, UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Sign | UnaryOp::Relu | UnaryOp::BitNot),
    })
    .collect()
}

/// The binary operations that `dtype` has.
pub(crate) fn binary_ops(dtype: DType) -> Vec<BinaryOp> {
    use BinaryOp::*;
    let all = BinaryOp::ALL.iter().copied();
    all.filter(|op| match dtype {
        DType::Bool => matches!(op, And | Or | Xor | Eq | Ne),
        d if d.is_float() => !matches!(op, And | Or | Xor | Shl | Shr),
        _ => !matches!(op, Div | Atan2),
    })
    .collect()
}

fn guarded(b: &mut Builder, n: u32, body: impl FnOnce(&mut Builder, Value)) {
    let i = b.global_index();
    let n = b.u32(n);
    let inside = b.lt(i, n);
    b.when(inside, |b| body(b, i));
}

/// `y[k * N + i] = op_k(x[i])`.
pub(crate) fn unary(dtype: DType) -> Program {
    let mut b = Builder::new(format!("unary_{dtype}"), [64, 1, 1]);
    let (x, y) = (b.buffer("x", dtype), b.buffer_mut("y", dtype));
    guarded(&mut b, N, |b, i| {
        let v = b.load(x, i);
        for (k, op) in unary_ops(dtype).into_iter().enumerate() {
            let r = b.unary(op, v);
            let r = b.cast(r, dtype);
            let at = b.add_const(i, i64::from(N) * k as i64);
            b.store(y, at, r);
        }
    });
    b.finish()
}

/// `z[k * N + i] = op_k(x[i], y[i])`.
pub(crate) fn binary(dtype: DType) -> Program {
    let mut b = Builder::new(format!("binary_{dtype}"), [64, 1, 1]);
    let (x, y, z) = (b.buffer("x", dtype), b.buffer("y", dtype), b.buffer_mut("z", dtype));
    guarded(&mut b, N, |b, i| {
        let (l, r) = (b.load(x, i), b.load(y, i));
        for (k, op) in binary_ops(dtype).into_iter().enumerate() {
            let v = b.binary(op, l, r);
            let v = b.cast(v, dtype);
            let at = b.add_const(i, i64::from(N) * k as i64);
            b.store(z, at, v);
        }
    });
    b.finish()
}

/// Divisions and shifts by constants, whose text differs from that of variables.
pub(crate) fn by_constants(dtype: DType) -> Program {
    let mut b = Builder::new(format!("by_constants_{dtype}"), [64, 1, 1]);
    let (x, z) = (b.buffer("x", dtype), b.buffer_mut("z", dtype));
    guarded(&mut b, N, |b, i| {
        let v = b.load(x, i);
        for (k, (op, c)) in constant_operations().into_iter().enumerate() {
            let c = b.int(dtype, c);
            let r = b.inst(Op::Binary(op, v, c), Type::Scalar(dtype));
            let at = b.add_const(i, i64::from(N) * k as i64);
            b.store(z, at, r);
        }
    });
    b.finish()
}

/// What [`by_constants`] does.
pub(crate) fn constant_operations() -> Vec<(BinaryOp, i64)> {
    use BinaryOp::*;
    [7, 0, 1, -3, 8, 40, 70].into_iter().flat_map(|c| [(IDiv, c), (Rem, c), (Shl, c), (Shr, c), (Pow, c)]).collect()
}

/// `y_to[i] = x[i]` for every type `to`.
pub(crate) fn cast(from: DType, target: &Target) -> Program {
    let mut b = Builder::new(format!("cast_{from}"), [64, 1, 1]);
    let x = b.buffer("x", from);
    let ys: Vec<(DType, Place)> = held(target).into_iter().map(|to| (to, b.buffer_mut(to.name(), to))).collect();
    guarded(&mut b, N, |b, i| {
        let v = b.load(x, i);
        for (to, y) in ys {
            let r = b.cast(v, to);
            b.store(y, i, r);
        }
    });
    b.finish()
}

/// Each type's bits as every other type of its size, and its least, greatest and odd constants.
pub(crate) fn constants_and_bits(dtype: DType, target: &Target) -> Program {
    let mut b = Builder::new(format!("bits_{dtype}"), [1, 1, 1]);
    let same: Vec<DType> = held(target).into_iter().filter(|d| d.size() == dtype.size() && *d != dtype && *d != DType::Bool).collect();
    let ys: Vec<(DType, Place)> = same.into_iter().map(|to| (to, b.buffer_mut(to.name(), to))).collect();
    let literals = special_literals(dtype);
    for (at, literal) in literals.into_iter().enumerate() {
        let v = b.constant(literal);
        let at = b.u32(at as u32);
        for (to, y) in &ys {
            let r = b.inst(Op::Bitcast(v), Type::Scalar(*to));
            b.store(*y, at, r);
        }
    }
    b.finish()
}

/// Constants that are easily written wrong.
pub(crate) fn special_literals(dtype: DType) -> Vec<Literal> {
    let mut literals = vec![Literal::min_value(dtype), Literal::max_value(dtype), Literal::zero(dtype), Literal::one(dtype)];
    if dtype.is_float() {
        let floats = [f64::NAN, -0.0, 0.1, -1e-7, 3.402_823_466e38, 1e-40, 65504.0, 6e-8];
        literals.extend(floats.map(|x| Literal::float(dtype, x)));
    } else {
        literals.extend([-1, 5, 0x7fff_ffff, 0x8000_0000, -0x1_0000_0001].map(|x| Literal::int(dtype, x)));
    }
    literals
}

/// Vectors: loaded, taken apart, composed in reverse, stored; through device, shared and local memory.
pub(crate) fn vectors(dtype: DType, lanes: u8) -> Program {
    let mut b = Builder::new(format!("vectors_{dtype}_{lanes}"), [16, 1, 1]);
    let (x, y) = (b.buffer("x", dtype), b.buffer_mut("y", dtype));
    let tile = b.shared("tile", dtype, 16 * u32::from(lanes));
    let kept = b.local("kept", Type::Vector(dtype, lanes), 2);
    let t = b.thread(0);
    let at = b.mul_const(t, lanes.into());
    let v = b.load_vector(x, at, lanes);
    let parts: Vec<Value> = (0..lanes).rev().map(|lane| b.extract(v, lane)).collect();
    let reversed = b.compose(&parts);
    b.store(tile, at, reversed);
    b.barrier();
    let other = b.inst(Op::Binary(BinaryOp::Xor, at, at), Type::Scalar(DType::U32));
    let other = b.add(other, at);
    let v = b.load_vector(tile, other, lanes);
    let one = b.u32(1);
    b.store(kept, one, v);
    let v = b.load(kept, one);
    b.store(y, at, v);
    b.finish()
}

/// Sums of rows: shared memory, a tree, barriers, a loop, a scalar parameter.
pub(crate) fn row_sum() -> Program {
    let mut b = Builder::new("row_sum", [32, 1, 1]);
    let (x, y, n) = (b.buffer("x", DType::F32), b.buffer_mut("y", DType::F32), b.scalar("n", DType::U32));
    let tile = b.shared("tile", DType::F32, 32);
    let (t, row) = (b.thread(0), b.group(0));
    let zero = b.float(DType::F32, 0.0);
    let sum = b.variable("sum", zero);
    let base = b.mul(row, n);
    let step = b.u32(32);
    b.repeat(t, n, step, |b, i| {
        let at = b.add(base, i);
        let (v, s) = (b.load(x, at), b.get(sum));
        let s = b.add(s, v);
        b.set(sum, s);
    });
    let s = b.get(sum);
    b.store(tile, t, s);
    let mut width = 16;
    while width > 0 {
        b.barrier();
        let bound = b.u32(width);
        let inside = b.lt(t, bound);
        b.when(inside, |b| {
            let other = b.add(t, bound);
            let (l, r) = (b.load(tile, t), b.load(tile, other));
            let s = b.add(l, r);
            b.store(tile, t, s);
        });
        width /= 2;
    }
    let first = b.u32(0);
    let is_first = b.binary(BinaryOp::Eq, t, first);
    b.when(is_first, |b| {
        let s = b.load(tile, first);
        b.store(y, row, s);
    });
    b.finish()
}

/// Collatz steps: a while loop, both arms of an if, 64-bit counters where there are any.
pub(crate) fn collatz() -> Program {
    let mut b = Builder::new("collatz", [8, 1, 1]);
    let (x, y) = (b.buffer("x", DType::U32), b.buffer_mut("y", DType::I32));
    let i = b.global_index();
    let start = b.load(x, i);
    let v = b.variable("v", start);
    let zero = b.int(DType::I32, 0);
    let steps = b.variable("steps", zero);
    let one = b.u32(1);
    b.repeat_while(
        |b| {
            let now = b.get(v);
            b.binary(BinaryOp::Gt, now, one)
        },
        |b| {
            let now = b.get(v);
            let low = b.and(now, one);
            let odd = b.binary(BinaryOp::Eq, low, one);
            b.when_else(
                odd,
                |b| {
                    let next = b.mul_const(now, 3);
                    let next = b.add_const(next, 1);
                    b.set(v, next);
                },
                |b| {
                    let next = b.div_const(now, 2);
                    b.set(v, next);
                },
            );
            let s = b.get(steps);
            let s = b.add_const(s, 1);
            b.set(steps, s);
        },
    );
    let s = b.get(steps);
    b.store(y, i, s);
    b.finish()
}

/// A product of 8x8 tiles kept in registers: nested unrolled loops over local arrays, fma, a counter of 64 bits if `wide`.
pub(crate) fn small_product(wide: bool) -> Program {
    let counter = if wide { DType::I64 } else { DType::I32 };
    let mut b = Builder::new("small_product", [8, 1, 1]);
    let (x, y, z) = (b.buffer("x", DType::F32), b.buffer("y", DType::F32), b.buffer_mut("z", DType::F32));
    let sums = b.local("sums", Type::Scalar(DType::F32), 8);
    let row = b.thread(0);
    b.unrolled(8, |b, j| {
        let zero = b.float(DType::F32, 0.0);
        b.store(sums, j, zero);
    });
    let (start, end, step) = (b.int(counter, 0), b.int(counter, 8), b.int(counter, 1));
    b.repeat(start, end, step, |b, k| {
        let k = b.cast(k, DType::U32);
        let at = b.mul_const(row, 8);
        let at = b.add(at, k);
        let a = b.load(x, at);
        b.unrolled(8, |b, j| {
            let at = b.mul_const(k, 8);
            let at = b.add(at, j);
            let (c, s) = (b.load(y, at), b.load(sums, j));
            let s = b.fma(a, c, s);
            b.store(sums, j, s);
        });
    });
    b.unrolled(8, |b, j| {
        let at = b.mul_const(row, 8);
        let at = b.add(at, j);
        let s = b.load(sums, j);
        b.store(z, at, s);
    });
    b.finish()
}

/// Every atomic operation on `dtype`: all threads of 4 workgroups on one counter each, in device and shared memory.
pub(crate) fn atomics(dtype: DType) -> Program {
    let mut b = Builder::new(format!("atomics_{dtype}"), [16, 1, 1]);
    let counters = b.buffer_atomic("counters", dtype);
    let shared = b.shared("shared_counter", dtype, 1);
    let (t, i) = (b.thread(0), b.global_index());
    let first = b.u32(0);
    let is_first = b.binary(BinaryOp::Eq, t, first);
    let nothing = b.int(dtype, 0);
    b.when(is_first, |b| b.store(shared, first, nothing));
    b.barrier();
    let amount = b.add_const(i, 1);
    let amount = b.cast(amount, dtype);
    b.atomic(AtomicOp::Add, shared, first, amount);
    b.atomic(AtomicOp::Add, counters, first, amount);
    if dtype.is_int() {
        for (at, op) in [AtomicOp::Max, AtomicOp::Min, AtomicOp::And, AtomicOp::Or, AtomicOp::Xor].into_iter().enumerate() {
            let at = b.u32(at as u32 + 1);
            b.atomic(op, counters, at, amount);
        }
        // Each thread adds by compare and exchange, until no other came between.
        let at = b.u32(6);
        let going = b.constant(Literal::one(DType::Bool));
        let going = b.variable("going", going);
        b.repeat_while(
            |b| b.get(going),
            |b| {
                let seen = b.load(counters, at);
                let next = b.add(seen, amount);
                let old = b.compare_exchange(counters, at, seen, next);
                let failed = b.binary(BinaryOp::Ne, old, seen);
                b.set(going, failed);
            },
        );
    }
    b.barrier();
    let at = b.u32(8);
    b.when(is_first, |b| {
        let total = b.load(shared, first);
        let group = b.group(0);
        let at = b.add(at, group);
        // Floats are only added.
        let op = if dtype.is_int() { AtomicOp::Exchange } else { AtomicOp::Add };
        b.atomic(op, counters, at, total);
    });
    b.finish()
}

/// Every subgroup operation on `dtype`: `y[k * 32 + lane]`.
pub(crate) fn subgroups(dtype: DType) -> Program {
    let mut b = Builder::new(format!("subgroups_{dtype}"), [64, 1, 1]);
    let (x, y) = (b.buffer("x", dtype), b.buffer_mut("y", dtype));
    let lanes = b.buffer_mut("lanes", DType::U32);
    let t = b.thread(0);
    let lane = b.lane();
    b.store(lanes, t, lane);
    let v = b.load(x, t);
    let mut ops = vec![SubgroupOp::ShuffleXor(1), SubgroupOp::ShuffleDown(3), SubgroupOp::ShuffleUp(2), SubgroupOp::Broadcast(5)];
    if !matches!(dtype, DType::F16 | DType::BF16) {
        ops.extend([SubgroupOp::Reduce(ReduceOp::Max), SubgroupOp::Reduce(ReduceOp::Min)]);
    }
    if !matches!(dtype, DType::F16 | DType::BF16 | DType::Bool) {
        ops.extend([SubgroupOp::Reduce(ReduceOp::Sum), SubgroupOp::Reduce(ReduceOp::Prod)]);
    }
    for (k, op) in ops.into_iter().enumerate() {
        let r = b.subgroup(op, v);
        let at = b.add_const(t, 64 * k as i64);
        b.store(y, at, r);
    }
    b.finish()
}

/// Tables of buffers and of scalars: group `g` scales buffer `g`.
pub(crate) fn tables(dtype: DType) -> Program {
    let mut b = Builder::new("tables", [32, 1, 1]);
    let xs = b.table("xs", dtype, 3, false);
    let ys = b.table("ys", dtype, 3, true);
    let factors = b.scalar_table("factors", DType::F32, 3);
    let counts = b.scalar_table("counts", DType::U32, 3);
    let (g, t) = (b.group(1), b.thread(0));
    let n = b.table_scalar(counts, g);
    let inside = b.lt(t, n);
    b.when(inside, |b| {
        let f = b.table_scalar(factors, g);
        let v = b.load(Place::Table(xs, g), t);
        let v = b.cast(v, DType::F32);
        let v = b.mul(v, f);
        let v = b.cast(v, dtype);
        b.store(Place::Table(ys, g), t, v);
    });
    b.finish()
}

/// Tables by every kind of index: a group's, across a barrier; a constant, a scalar, a counter, with another table of more entries.
pub(crate) fn table_indices(dtype: DType) -> Program {
    let mut b = Builder::new("table_indices", [32, 1, 1]);
    let (xs, ys) = (b.table("xs", dtype, 3, false), b.table("ys", dtype, 3, true));
    let slots = b.scalar_table("slots", DType::U32, 4);
    let (z, chosen) = (b.buffer_mut("z", dtype), b.scalar("chosen", DType::U32));
    let tile = b.shared("tile", dtype, 32);
    let (g, t) = (b.group(0), b.thread(0));
    let x = b.load(Place::Table(xs, g), t);
    b.store(tile, t, x);
    b.barrier();
    let last = b.u32(31);
    let back = b.sub(last, t);
    let x = b.load(tile, back);
    b.store(Place::Table(ys, g), t, x);
    let mine = b.mul_const(g, 5 * 32);
    let mine = b.add(mine, t);
    let (zero, one, three) = (b.u32(0), b.u32(1), b.u32(3));
    let x = b.load(Place::Table(xs, one), t);
    b.store(z, mine, x);
    let x = b.load(Place::Table(xs, chosen), t);
    let at = b.add_const(mine, 32);
    b.store(z, at, x);
    b.repeat(zero, three, one, |b, i| {
        let x = b.load(Place::Table(xs, i), t);
        let slot = b.table_scalar(slots, i);
        let at = b.mul_const(slot, 32);
        let at = b.add(mine, at);
        b.store(z, at, x);
    });
    b.finish()
}

/// One product of matrix fragments, `z = x y + z`, from device memory and through shared memory and a local array.
pub(crate) fn fragments(shape: FragmentShape, transposed: bool, target: &Target) -> Program {
    let threads = target.subgroup.unwrap_or(32);
    let mut b = Builder::new(format!("fragments_{}x{}x{}_{}", shape.m, shape.n, shape.k, shape.input), [threads, 1, 1]);
    let (x, y, z) = (b.buffer("x", shape.input), b.buffer("y", shape.input), b.buffer_mut("z", shape.sum));
    // Rows begin at multiples of 8 elements.
    let row = shape.k.next_multiple_of(8);
    let tile = b.shared("tile", shape.input, u32::from(shape.m) * u32::from(row));
    let fragment = |role| Type::Fragment(Fragment { shape, role });
    let sums = b.local("sums", fragment(FragmentRole::C), 2);
    let left = b.local("left", fragment(FragmentRole::A), 1);
    let zero = b.u32(0);
    let one = b.u32(1);
    let (m, n, k) = (b.u32(shape.m.into()), b.u32(shape.n.into()), b.u32(row.into()));
    let nothing = b.constant(Literal::zero(shape.sum));
    let cleared = b.inst(Op::FragmentFill(nothing), fragment(FragmentRole::C));
    b.store(sums, zero, cleared);
    let loaded = b.inst(Op::FragmentLoad { place: z, index: zero, stride: n, transposed: false }, fragment(FragmentRole::C));
    b.store(sums, one, loaded);
    let t = b.thread(0);
    let (end, step) = (b.u32(u32::from(shape.m) * u32::from(row)), b.u32(threads));
    b.repeat(t, end, step, |b, i| {
        let v = b.load(x, i);
        b.store(tile, i, v);
    });
    b.barrier();
    let (x_stride, y_stride) = if transposed { (m, k) } else { (k, n) };
    let a = b.inst(Op::FragmentLoad { place: tile, index: zero, stride: x_stride, transposed }, fragment(FragmentRole::A));
    b.store(left, zero, a);
    let a = b.load(left, zero);
    let c = b.inst(Op::FragmentLoad { place: y, index: zero, stride: y_stride, transposed }, fragment(FragmentRole::B));
    let sum = b.load(sums, one);
    let sum = b.inst(Op::FragmentMma(a, c, sum), fragment(FragmentRole::C));
    b.store(sums, one, sum);
    let sum = b.load(sums, one);
    b.stmt(Stmt::FragmentStore { place: z, index: zero, stride: n, value: sum });
    b.finish()
}

/// Threads and workgroups on three axes, awkward names, scalars of every type.
pub(crate) fn places_and_names(target: &Target) -> Program {
    let mut b = Builder::new("kernel", [4, 2, 2]);
    let out = b.buffer_mut("float", DType::U32);
    let mut sum = b.u32(0);
    for dtype in computed(target) {
        let s = b.scalar(&format!("if_{dtype}"), dtype);
        let s = b.cast(s, DType::U32);
        sum = b.add(sum, s);
    }
    let mut at = b.u32(0);
    for axis in [2, 1, 0] {
        let size = b.program().block[usize::from(axis)];
        let (t, g, n) = (b.thread(axis), b.group(axis), b.group_count(axis));
        let all = b.mul_const(n, size.into());
        at = b.mul(at, all);
        let here = b.mul_const(g, size.into());
        let here = b.add(here, t);
        at = b.add(at, here);
    }
    let a = b.u32(0xffff_fff0);
    let high = b.mul_hi(at, a);
    let sum = b.add(sum, high);
    let even = b.rem_const(at, 2);
    let zero = b.u32(0);
    let even = b.binary(BinaryOp::Eq, even, zero);
    let sum = b.select(even, sum, at);
    b.store(out, at, sum);
    b.finish()
}

/// More shared memory than 48 KiB.
pub(crate) fn much_shared(bytes: u32) -> Program {
    let mut b = Builder::new("much_shared", [32, 1, 1]);
    let y = b.buffer_mut("y", DType::F32);
    let (small, large) = (b.shared("small", DType::U8, 3), b.shared("large", DType::F32, bytes / 4));
    let t = b.thread(0);
    let last = b.add_const(t, i64::from(bytes / 4) - 32);
    let v = b.cast(t, DType::F32);
    b.store(large, last, v);
    let three = b.u32(3);
    let inside = b.lt(t, three);
    b.when(inside, |b| {
        let byte = b.cast(t, DType::U8);
        b.store(small, t, byte);
    });
    b.barrier();
    let v = b.load(large, last);
    b.store(y, t, v);
    b.finish()
}

/// Everything for a target, fragments and tables where it has them.
pub(crate) fn all(target: &Target) -> Vec<Program> {
    let mut programs = vec![row_sum(), collatz(), small_product(false), places_and_names(target)];
    if target.i64 {
        programs.push(small_product(true));
    }
    for dtype in computed(target) {
        programs.extend([unary(dtype), binary(dtype)]);
        if dtype.is_int() {
            programs.push(by_constants(dtype));
        }
    }
    for dtype in held(target) {
        programs.push(cast(dtype, target));
        if dtype != DType::Bool {
            programs.push(constants_and_bits(dtype, target));
        }
        programs.extend([2u8, 4, 8].into_iter().filter(|lanes| usize::from(*lanes) * dtype.size() <= 16).map(|l| vectors(dtype, l)));
        if target.subgroup.is_some() {
            programs.push(subgroups(dtype));
        }
    }
    programs.extend([DType::U32, DType::I32].map(atomics));
    if target.atomic_f32 {
        programs.push(atomics(DType::F32));
    }
    if target.atomic_i64 {
        programs.extend([DType::U64, DType::I64].map(atomics));
    }
    if target.tables {
        programs.extend([DType::F32, DType::F16].map(tables));
        programs.extend([DType::F32, DType::U8].map(table_indices));
    }
    for shape in &target.fragments {
        programs.extend([false, true].map(|transposed| fragments(*shape, transposed, target)));
    }
    programs
}

/// [`row_sum`] of 64 rows of 256, which asks for the beginning of each ahead.
pub(crate) fn sum_of_rows_ahead() -> Program {
    let mut program = row_sum();
    "sum_of_rows_ahead".clone_into(&mut program.name);
    program.at_once = Some(8);
    program.prefetch = Some(unigrad_ir::Prefetch { param: 0, rows: 1, count: 64, width: 256, pitch: 1024 });
    program
}
