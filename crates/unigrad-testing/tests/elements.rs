//! Functions of one and two numbers over the whole range of their dtype, against `f64`; conversions at the edges of each integer. On every device.

use unigrad_scalar::{BinaryOp, Literal};
use unigrad_tensor::{DType, Device, Tensor};
use unigrad_testing::{Values, fast_devices, on_slow_devices, run::values_of, selection::Share, without_f64};

/// A function: its name, itself, the truth, and how many units in the last place of `f32` it may be off, and of `f64`.
type Row = (&'static str, fn(&Tensor) -> Tensor, fn(f64) -> f64, f64, f64);

fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 { 1.0 / (1.0 + (-x).exp()) } else { x.exp() / (1.0 + x.exp()) }
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// `asinh` and `acosh` of large numbers: `x * x` would overflow.
fn asinh(x: f64) -> f64 {
    if x.abs() > 1e9 { (x.abs().ln() + std::f64::consts::LN_2).copysign(x) } else { libm::asinh(x) }
}

fn acosh(x: f64) -> f64 {
    match x {
        x if x < 1.0 => f64::NAN,
        x if x > 1e9 => x.ln() + std::f64::consts::LN_2,
        x => libm::acosh(x),
    }
}

fn atanh(x: f64) -> f64 {
    let a = x.abs();
    (0.5 * (2.0 * a / (1.0 - a)).ln_1p()).copysign(x)
}

/// What is within so many units is what the documentation of `Tensor`'s functions promises.
const FUNCTIONS: &[Row] = &[
    ("exp", Tensor::exp, f64::exp, 4.0, 4.0),
    ("exp2", Tensor::exp2, f64::exp2, 4.0, 4.0),
    ("expm1", Tensor::expm1, f64::exp_m1, 4.0, 8.0),
    ("log", Tensor::log, f64::ln, 4.0, 4.0),
    ("log2", Tensor::log2, f64::log2, 4.0, 4.0),
    ("log10", Tensor::log10, f64::log10, 8.0, 8.0),
    ("log1p", Tensor::log1p, f64::ln_1p, 4.0, 8.0),
    ("sin", Tensor::sin, f64::sin, 4.0, 8.0),
    ("cos", Tensor::cos, f64::cos, 4.0, 8.0),
    ("tan", Tensor::tan, f64::tan, 6.0, 16.0),
    ("asin", Tensor::asin, f64::asin, 6.0, 8.0),
    ("acos", Tensor::acos, f64::acos, 6.0, 8.0),
    ("atan", Tensor::atan, f64::atan, 6.0, 8.0),
    ("sinh", Tensor::sinh, f64::sinh, 7.0, 8.0),
    ("cosh", Tensor::cosh, f64::cosh, 7.0, 8.0),
    ("tanh", Tensor::tanh, f64::tanh, 6.0, 8.0),
    ("asinh", Tensor::asinh, asinh, 8.0, 8.0),
    ("acosh", Tensor::acosh, acosh, 8.0, 8.0),
    ("atanh", Tensor::atanh, atanh, 8.0, 8.0),
    ("sqrt", Tensor::sqrt, f64::sqrt, 3.0, 1.0),
    ("rsqrt", Tensor::rsqrt, |x| 1.0 / x.sqrt(), 4.0, 2.0),
    ("recip", Tensor::recip, |x| 1.0 / x, 3.0, 1.0),
    ("erf", Tensor::erf, libm::erf, 4.0, 8.0),
    ("erfc", Tensor::erfc, libm::erfc, 8.0, 64.0),
    ("sigmoid", Tensor::sigmoid, sigmoid, 6.0, 8.0),
    ("log_sigmoid", Tensor::log_sigmoid, |x| -softplus(-x), 6.0, 8.0),
    ("softplus", Tensor::softplus, softplus, 6.0, 8.0),
];

/// Every binary order of magnitude, from below the normal numbers on, with a few numbers in each; what is near 0, 1 and where functions saturate.
fn samples(dtype: DType) -> Vec<f64> {
    let (lowest, highest) = if dtype == DType::F64 { (-1074, 1023) } else { (-149, 127) };
    let mut all = vec![0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    for exponent in lowest..=highest {
        for mantissa in [1.0, 1.1, 1.37, 1.62, 1.96] {
            let x = mantissa * f64::from(exponent).exp2();
            all.extend([x, -x]);
        }
    }
    for i in -2000..=2000 {
        all.push(f64::from(i) * 0.0517);
        all.push(1.0 + f64::from(i) * 1e-4);
        all.push(-1.0 + f64::from(i) * 1e-4);
    }
    for bits in 0..24 {
        let step = f64::from(-bits).exp2();
        all.extend([1.0 + step, 1.0 - step, -1.0 + step, -1.0 - step]);
    }
    all.iter().map(|x| Literal::float(dtype, *x).as_f64()).collect()
}

/// Distance in units in the last place of `want`; infinite where one is not a number, or infinite, and the other not.
fn ulps(dtype: DType, got: f64, want: f64) -> f64 {
    let nearest = Literal::float(dtype, want).as_f64();
    if got == nearest || got.is_nan() && nearest.is_nan() {
        return 0.0;
    }
    let (digits, least) = if dtype == DType::F64 { (52, f64::MIN_POSITIVE) } else { (23, f64::from(f32::MIN_POSITIVE)) };
    if !got.is_finite() || !nearest.is_finite() {
        // A neighbour of infinity is one unit off.
        let greatest = if dtype == DType::F64 { f64::MAX } else { f64::from(f32::MAX) };
        let near = |x: f64| if x.is_infinite() { greatest.copysign(x) } else { x };
        return if got.is_nan() || nearest.is_nan() || near(got) / near(nearest) < 0.999_999 { f64::INFINITY } else { 1.0 };
    }
    let exponent = nearest.abs().max(least).log2().floor() as i32;
    (got - want).abs() / f64::from(exponent - digits).exp2()
}

fn leaf(values: &[f64], dtype: DType, device: &Device) -> Tensor {
    Tensor::from_bytes(&Values::from_f64(dtype, &[values.len()], values).to_bytes(), [values.len()], dtype, device)
}

/// Whether all functions are within their bounds; prints the worst of each.
fn functions_on(device: &Device) -> bool {
    // What is below the normal numbers may be 0 on devices other than the CPU.
    let tiny = if device.name().starts_with("cpu") { 0.0 } else { f64::from(f32::MIN_POSITIVE) };
    let mut right = true;
    for dtype in [DType::F32, DType::F64] {
        if dtype == DType::F64
            && let Some(why) = without_f64(device)
        {
            println!("SKIPPED: functions of f64 on {}: {why}", device.name());
            continue;
        }
        let x = samples(dtype);
        let leaf = leaf(&x, dtype, device);
        // Every fourth where each function costs a compiler a second; others for the other dtype.
        let (step, first) = if Share::of(device) == Share::All { (1, 0) } else { (4, dtype.size() / 4) };
        let functions = || FUNCTIONS.iter().skip(first).step_by(step);
        let results: Vec<Tensor> = functions().map(|(_, function, ..)| function(&leaf)).collect();
        if let Err(error) = Tensor::realize_all(&results.iter().collect::<Vec<_>>()) {
            println!("FAIL functions of {dtype} on {}: {error}", device.name());
            right = false;
            continue;
        }
        for ((name, _, truth, single, double), result) in functions().zip(&results) {
            let bound = if dtype == DType::F64 { *double } else { *single };
            let got = values_of(result).unwrap();
            let (mut worst, mut at) = (0.0, 0);
            for (i, x) in x.iter().enumerate() {
                let want = truth(*x);
                let flushed = x.abs() < tiny && x.abs() > 0.0 && ulps(dtype, got.as_f64(i), truth(0f64.copysign(*x))) == 0.0;
                if flushed || (got.as_f64(i) - want).abs() <= tiny {
                    continue;
                }
                let off = ulps(dtype, got.as_f64(i), want);
                if off > worst {
                    (worst, at) = (off, i);
                }
            }
            let line = format!(
                "{name} of {dtype} on {}: {worst:.2} units off at {:e}, {:e} instead of {:e}",
                device.name(),
                x[at],
                got.as_f64(at),
                truth(x[at])
            );
            if worst > bound {
                println!("FAIL {line}, allowed {bound}");
                right = false;
            } else {
                println!("{line}");
            }
        }
    }
    right
}

#[test]
fn functions_are_accurate_everywhere() {
    let here = fast_devices().iter().fold(true, |all, device| functions_on(device) & all);
    let apart = on_slow_devices("functions_are_accurate_everywhere");
    assert!(here && apart, "see the FAIL lines above");
}

/// Quotients rounded down, and what is left: of numbers of all magnitudes, and of multiples that a division gets wrong.
fn divisions_on(device: &Device) -> bool {
    let mut right = true;
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        if dtype == DType::F64 && without_f64(device).is_some() {
            continue;
        }
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let special = [0.0, -0.0, 1.0, -1.0, 0.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 3.0, -7.0, 1e-3, 60_000.0];
        for x in special {
            for y in special {
                a.push(x);
                b.push(y);
            }
        }
        for i in 1..400 {
            let i = f64::from(i);
            for step in [0.1, 0.3, 1.0 / 3.0, 0.7, 1.1] {
                a.extend([i * step, -i * step, i, (i - 200.0) * 0.37]);
                b.extend([step, step, step, -step]);
            }
        }
        let round = |all: Vec<f64>| -> Vec<f64> { all.into_iter().map(|x| Literal::float(dtype, x).as_f64()).collect() };
        let (a, b) = (round(a), round(b));
        let (x, y) = (leaf(&a, dtype, device), leaf(&b, dtype, device));
        for (op, result) in [(BinaryOp::IDiv, x.floor_div(&y)), (BinaryOp::Rem, x.rem(&y))] {
            let got = values_of(&result).unwrap();
            let mut wrong = (0..a.len()).filter(|i| {
                let want = Literal::float(dtype, op.eval(a[*i], b[*i])).as_f64();
                let got = got.as_f64(*i);
                // A remainder and a divisor of opposite signs are added, which rounds.
                let near =
                    op == BinaryOp::Rem && (got - want).abs() <= 1e-3 * b[*i].abs() * if dtype.compute() == dtype { 1e-3 } else { 10.0 };
                !(got == want || got.is_nan() && want.is_nan() || near)
            });
            if let Some(i) = wrong.next() {
                let (want, n) = (op.eval(a[i], b[i]), wrong.count() + 1);
                println!(
                    "FAIL {op} of {dtype} on {}: {n} wrong, {} by {} is {}, expected {want}",
                    device.name(),
                    a[i],
                    b[i],
                    got.as_f64(i)
                );
                right = false;
            }
        }
    }
    right
}

#[test]
fn divisions_round_down() {
    let here = fast_devices().iter().fold(true, |all, device| divisions_on(device) & all);
    let apart = on_slow_devices("divisions_round_down");
    assert!(here && apart, "see the FAIL lines above");
}

/// A float as an integer: as Rust converts.
fn converted(to: DType, x: f64) -> i64 {
    match to {
        DType::Bool => i64::from(x != 0.0),
        DType::U8 => (x as u8).into(),
        DType::I8 => (x as i8).into(),
        DType::U16 => (x as u16).into(),
        DType::I16 => (x as i16).into(),
        DType::U32 => (x as u32).into(),
        DType::I32 => (x as i32).into(),
        DType::U64 => (x as u64) as i64,
        DType::I64 => x as i64,
        _ => unreachable!("not an integer"),
    }
}

fn casts_on(device: &Device) -> bool {
    let mut right = true;
    let targets: Vec<DType> = DType::ALL.into_iter().filter(|dtype| !dtype.is_float()).collect();
    for from in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        if from == DType::F64 && without_f64(device).is_some() {
            continue;
        }
        let mut x = vec![
            0.0,
            -0.0,
            0.5,
            -0.5,
            0.999,
            -0.999,
            1.5,
            -1.5,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            1e30,
            -1e30,
            1e300,
            -1e300,
            1e-40,
        ];
        for bits in [7, 8, 15, 16, 31, 32, 53, 63, 64] {
            let edge = f64::from(bits).exp2();
            x.extend([
                edge,
                edge - 1.0,
                edge + 1.0,
                edge * 0.999,
                edge * 1.001,
                edge - 0.5,
                -edge,
                -edge - 1.0,
                -edge + 1.0,
                -edge * 1.001,
                -edge * 0.999,
            ]);
        }
        let x: Vec<f64> = x.into_iter().map(|x| Literal::float(from, x).as_f64()).collect();
        let leaf = leaf(&x, from, device);
        // From memory, and from a value on its way.
        for (input, source) in [(leaf.clone(), "stored"), (leaf.neg(), "computed")] {
            let results: Vec<Tensor> = targets.iter().map(|to| input.cast(*to)).collect();
            Tensor::realize_all(&results.iter().collect::<Vec<_>>()).unwrap();
            for (to, result) in targets.iter().zip(&results) {
                let got = values_of(result).unwrap();
                for (i, x) in x.iter().enumerate() {
                    let x = if source == "stored" { *x } else { -*x };
                    let want = converted(*to, x);
                    assert_eq!(Literal::float(*to, x).as_i64(), want, "a constant {x:e} as {to}");
                    // Numbers below the normal ones may be 0.
                    if got.as_i64(i) != want && !(x.abs() < f64::from(f32::MIN_POSITIVE) && got.as_i64(i) == 0) {
                        println!("FAIL {source} {from} {x:e} as {to} on {}: {}, expected {want}", device.name(), got.as_i64(i));
                        right = false;
                    }
                }
            }
        }
    }
    right
}

#[test]
fn floats_saturate_as_integers() {
    let here = fast_devices().iter().fold(true, |all, device| casts_on(device) & all);
    let apart = on_slow_devices("floats_saturate_as_integers");
    assert!(here && apart, "see the FAIL lines above");
}

/// A `Bool` is true if its byte is not 0, and from then on 1, however it came in.
#[test]
fn bools_are_zero_or_one() {
    for device in unigrad_testing::devices() {
        let bytes: Vec<u8> = (0..=255).collect();
        let x = Tensor::from_bytes(&bytes, [256], DType::Bool, &device);
        let count = |x: Tensor| x.cast(DType::I64).sum(()).item::<i64>().unwrap();
        assert_eq!(x.to_bytes().unwrap().iter().map(|byte| i64::from(*byte)).sum::<i64>(), 255);
        assert_eq!(count(x.clone()), 255);
        assert_eq!(count(x.logical_not()), 1);
        assert_eq!(count(x.eq(true)), 255);
        assert_eq!(count(x.bitcast(DType::U8)), 255);
        assert_eq!(count(x.bitwise_xor(x.cast(DType::U8).cast(DType::Bool))), 0);
    }
}
