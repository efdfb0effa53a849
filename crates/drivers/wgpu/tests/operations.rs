//! Every operation and conversion in every dtype, on random and extreme inputs, against its definition in `unigrad-scalar`.
//!
//! Floats are held to units in the last place. Devices may take numbers below the normal ones for zero, so there either is right.

#[path = "../../../unigrad-ir/tests/programs/mod.rs"]
mod programs;
mod support;

use support::{Arg, inputs, run, ulps};
use unigrad_gpu::Backend;
use unigrad_ir::{Builder, Program, Value};
use unigrad_scalar::{BinaryOp, DType, Literal, UnaryOp};
use unigrad_wgpu::WgpuBackend;

const N: usize = 4096;

/// Writes what `body` makes of element `i` of each input, one output after the other.
fn program(name: &str, ins: &[DType], outs: &[DType], body: impl FnOnce(&mut Builder, &[Value]) -> Vec<Value>) -> Program {
    let mut b = Builder::new(name, [64, 1, 1]);
    let xs: Vec<_> = ins.iter().map(|dtype| b.buffer("x", *dtype)).collect();
    let ys: Vec<_> = outs.iter().map(|dtype| b.buffer_mut("y", *dtype)).collect();
    let n = b.scalar("n", DType::U32);
    let i = b.global_index();
    let inside = b.lt(i, n);
    b.when(inside, |b| {
        let values: Vec<Value> = xs.iter().map(|x| b.load(*x, i)).collect();
        let results = body(b, &values);
        for (y, result) in ys.iter().zip(results) {
            b.store(*y, i, result);
        }
    });
    b.finish()
}

fn launch(backend: &WgpuBackend, program: &Program, ins: &[Vec<u64>], n_outs: usize) -> Vec<Vec<u64>> {
    let n = ins[0].len();
    let mut args: Vec<Arg> = ins.iter().cloned().map(Arg::Buffer).collect();
    args.extend((0..n_outs).map(|_| Arg::Buffer(vec![0; n])));
    args.push(Arg::Scalar(n as u64));
    run(backend, program, [n.div_ceil(64) as u32, 1, 1], &args).split_off(ins.len())
}

/// Units in the last place that a function of `f32` may be off.
fn unary_bound(op: UnaryOp) -> f64 {
    use UnaryOp::*;
    match op {
        Neg | Abs | Sign | Floor | Ceil | Round | Trunc | Relu | IsNan | IsFinite => 0.0,
        // WGSL allows 2.5 for a quotient.
        Recip | Sqrt => 3.0,
        Tan | Sinh | Cosh | Gelu | Expm1 | Rsqrt => 6.0,
        GeluTanh => 16.0,
        _ => 4.0,
    }
}

fn same(dtype: DType, got: u64, want: Literal, bound: f64, scale: f64) -> bool {
    if dtype == DType::F32 {
        let got = f32::from_bits(got as u32);
        return ulps(got, want.as_f64()) <= bound || (f64::from(got) - want.as_f64()).abs() <= scale.max(f32::MIN_POSITIVE.into());
    }
    if dtype == DType::F64 {
        let (got, want) = (f64::from_bits(got), want.as_f64());
        let allowed = if bound == 0.0 { 0.0 } else { 3e-13 * want.abs() + 1e-290 + scale };
        return got == want || got.is_nan() && want.is_nan() || (got - want).abs() <= allowed;
    }
    got == want.to_raw()
}

#[test]
fn unary() {
    for (what, backend) in support::backends() {
        let mut failures = Vec::new();
        for dtype in programs::computed(&support::widened(backend.target())) {
            // What f64 has only where there are 64-bit integers.
            let here = |op: &UnaryOp| dtype != DType::F64 || backend.target().i64 || exact_f64(*op);
            let ops: Vec<UnaryOp> = programs::unary_ops(dtype).into_iter().filter(here).collect();
            let xs = inputs(dtype, N, 1);
            for ops in ops.chunks(7) {
                let result = |op: &UnaryOp| if op.gives_bool() { DType::Bool } else { dtype };
                let outs: Vec<DType> = ops.iter().map(result).collect();
                let program = program(&format!("unary_{dtype}"), &[dtype], &outs, |b, v| ops.iter().map(|op| b.unary(*op, v[0])).collect());
                let got = launch(&backend, &program, std::slice::from_ref(&xs), ops.len());
                for ((op, out), got) in ops.iter().zip(&outs).zip(got) {
                    let mut worst = 0f64;
                    let mut shown = 0;
                    for (x, got) in xs.iter().zip(got) {
                        let want = support::unary_expected(*op, dtype, *x);
                        let x64 = support::value(dtype, *x);
                        if dtype == DType::F32 && is_small(x64) {
                            continue;
                        }
                        // Where `1 + tanh` cancels, the definition itself has few digits.
                        let scale = if *op == UnaryOp::GeluTanh { 1e-7 * x64.abs() } else { 0.0 };
                        // A function that is composed of others has no more digits than those have where they cancel.
                        let scale = if op.form(true).is_none() { scale } else { 32.0 * if dtype == DType::F64 { 1e-15 } else { 1.2e-7 } };
                        // Angles of f64 are reduced with 100 bits of pi, and what cancels in the definition has no digits.
                        let circle = matches!(op, UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan) && x64.abs() > 1e5;
                        let cancels = matches!(op, UnaryOp::GeluTanh | UnaryOp::Gelu) && x64 < -3.0;
                        if dtype == DType::F64 && (circle || cancels) {
                            continue;
                        }
                        if dtype == DType::F32 && *out == dtype {
                            worst = worst.max(ulps(f32::from_bits(got as u32), want.as_f64()));
                        }
                        if !same(*out, got, want, unary_bound(*op), scale) && shown < 4 {
                            shown += 1;
                            let got = Literal::from_raw(*out, got);
                            failures.push(format!("{what}: {op} of {x64:e} ({dtype}, {x:#x}): {got:?}, want {want:?}"));
                        }
                    }
                    if dtype == DType::F32 {
                        println!("{what}: {op}: {worst:.2} ulp");
                    }
                }
            }
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }
}

fn exact_f64(op: UnaryOp) -> bool {
    use UnaryOp::*;
    matches!(op, Neg | Abs | Sign | Sqrt | Rsqrt | Recip | Floor | Ceil | Round | Trunc | Relu | IsNan | IsFinite)
}

#[test]
fn binary() {
    for (what, backend) in support::backends() {
        let mut failures = Vec::new();
        for dtype in programs::computed(&support::widened(backend.target())) {
            let supported = |op: &BinaryOp| {
                dtype != DType::F64
                    || backend.target().i64
                    || !matches!(op, BinaryOp::Rem | BinaryOp::IDiv | BinaryOp::Pow | BinaryOp::Atan2)
            };
            let ops: Vec<BinaryOp> = programs::binary_ops(dtype).into_iter().filter(supported).collect();
            let (mut xs, mut ys) = (inputs(dtype, N, 2), inputs(dtype, N, 3));
            // Every extreme meets every other.
            let special = inputs(dtype, 20, 0);
            for (k, (x, y)) in special.iter().flat_map(|x| special.iter().map(move |y| (*x, *y))).enumerate() {
                (xs[k], ys[k]) = (x, y);
            }
            for ops in ops.chunks(6) {
                let outs: Vec<DType> = ops.iter().map(|op| if op.is_comparison() { DType::Bool } else { dtype }).collect();
                let program = program(&format!("binary_{dtype}"), &[dtype, dtype], &outs, |b, v| {
                    ops.iter()
                        .map(|op| {
                            b.inst(
                                unigrad_ir::Op::Binary(*op, v[0], v[1]),
                                unigrad_ir::Type::Scalar(if op.is_comparison() { DType::Bool } else { dtype }),
                            )
                        })
                        .collect()
                });
                let got = launch(&backend, &program, &[xs.clone(), ys.clone()], ops.len());
                for ((op, out), got) in ops.iter().zip(&outs).zip(got) {
                    let mut shown = 0;
                    let mut worst = 0f64;
                    for ((x, y), got) in xs.iter().zip(&ys).zip(got) {
                        let want = support::binary_expected(*op, dtype, *x, *y);
                        let (x64, y64) = (support::value(dtype, *x), support::value(dtype, *y));
                        if dtype == DType::F32 && is_edge(*op, x64, y64) {
                            continue;
                        }
                        let bound = match op {
                            BinaryOp::Div => 2.5,
                            BinaryOp::Atan2 | BinaryOp::Pow => 4.0,
                            _ => 0.5,
                        };
                        if dtype == DType::F32 && *out == dtype {
                            worst = worst.max(ulps(f32::from_bits(got as u32), want.as_f64()));
                        }
                        if !same(*out, got, want, bound, 0.0) && shown < 4 {
                            shown += 1;
                            let got = Literal::from_raw(*out, got);
                            failures.push(format!("{what}: {x64:e} {op} {y64:e} ({dtype} {x:#x} {y:#x}): {got:?}, want {want:?}"));
                        }
                    }
                    if dtype == DType::F32 {
                        println!("{what}: {op}: {worst:.2} ulp");
                    }
                }
            }
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }
}

/// Numbers below the normal ones may be zero, and then all else follows.
fn is_small(x: f64) -> bool {
    x != 0.0 && x.abs() < f64::from(f32::MIN_POSITIVE)
}

fn is_edge(op: BinaryOp, x: f64, y: f64) -> bool {
    // A quotient that the device rounds differently may be on the other side of a whole number, or beyond what a reciprocal can be.
    let quotient = matches!(op, BinaryOp::IDiv) && ((x / y).abs() > 1e4 || ((x / y) - (x / y).round()).abs() < 1e-3);
    let rest = matches!(op, BinaryOp::Rem) && y.abs() < 1e-30;
    is_small(x) || is_small(y) || quotient || rest || matches!(op, BinaryOp::Div | BinaryOp::IDiv) && y.abs() > 2f64.powi(126)
}

#[test]
fn casts() {
    for (what, backend) in support::backends() {
        let mut failures = Vec::new();
        let target = support::widened(backend.target());
        for from in programs::held(&target) {
            let xs = if from.size() == 2 { (0..65536).collect() } else { inputs(from, 4 * N, 4) };
            let all = programs::held(&target);
            for outs in all.chunks(7) {
                let program = program(&format!("cast_{from}"), &[from], outs, |b, v| outs.iter().map(|to| b.cast(v[0], *to)).collect());
                let got = launch(&backend, &program, std::slice::from_ref(&xs), outs.len());
                for (to, got) in outs.iter().zip(got) {
                    let mut shown = 0;
                    for (x, got) in xs.iter().zip(got) {
                        if !cast_is_right(from, *to, *x, got) && shown < 4 {
                            shown += 1;
                            let (x, got) = (Literal::from_raw(from, *x), Literal::from_raw(*to, got));
                            failures.push(format!("{what}: {x:?} as {to}: {got:?}, want {:?}", x.cast(*to)));
                        }
                    }
                }
            }
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }
}

fn cast_is_right(from: DType, to: DType, x: u64, got: u64) -> bool {
    let literal = Literal::from_raw(from, x);
    let (value, want) = (literal.as_f64(), literal.cast(to));
    if from == to || got == want.to_raw() {
        return from != to || got == x || value.is_nan();
    }
    if to.is_float() && value.is_nan() {
        return Literal::from_raw(to, got).as_f64().is_nan();
    }
    if to.is_float() {
        let small =
            Literal::from_raw(to, got).as_f64().abs() <= f64::from(f32::MIN_POSITIVE) && value.abs() <= f64::from(f32::MIN_POSITIVE);
        // Half types are computed in f32: 64-bit integers are rounded to it first.
        let first = if from.is_float() { value } else { f64::from(value as f32) };
        let (distance, allowed) = ((support::value(to, got) - first).abs(), (want.as_f64() - first).abs());
        return small || to.size() == 2 && distance <= allowed;
    }
    false
}

#[test]
fn constants() {
    for (what, backend) in support::backends() {
        let target = support::widened(backend.target());
        for dtype in programs::held(&target) {
            let literals = programs::special_literals(dtype);
            let mut b = Builder::new(format!("constants_{dtype}"), [1, 1, 1]);
            let y = b.buffer_mut("y", dtype);
            for (at, literal) in literals.iter().enumerate() {
                let (at, v) = (b.u32(at as u32), b.constant(*literal));
                b.store(y, at, v);
            }
            let got = run(&backend, &b.finish(), [1, 1, 1], &[Arg::Buffer(vec![0; literals.len()])]);
            for (literal, got) in literals.iter().zip(&got[0]) {
                let nan = literal.as_f64().is_nan() && Literal::from_raw(dtype, *got).as_f64().is_nan();
                assert!(nan || *got == literal.to_raw(), "{what}: {literal:?} is {got:#x}, want {:#x}", literal.to_raw());
            }
        }
    }
}
