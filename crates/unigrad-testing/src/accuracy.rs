//! How far results may be off: a table of every reduction, scan, norm and transcendental with its bound, and what holds devices to it.
//!
//! In: devices, a length. Out: one line per result beyond its bound, and how near each came.
//! Always: bounds are those of [`unigrad_tensor::accuracy`], whose text is compared with this table; references are computed in numbers of
//! 64 bits with what their sums lose, from the values that the device has; data are the worst kind for a naive sum (all alike) and a mixed one.
//! Never: a tolerance that grows with what a device gives.

use crate::{oracle::rounding_error, values::rounded};
use std::cell::OnceCell;
use unigrad_graph::{BinaryOp, DType, ScanOp, UnaryOp, bf16, f16};
use unigrad_tensor::{Device, Tensor};

/// One group of elements that a result comes from, and the rounding error of the dtype that it is computed in. What several rows ask for
/// is found once.
struct Group<'a> {
    x: &'a [f64],
    /// Of all elements: where the group begins, and how far apart its elements are.
    first: usize,
    stride: usize,
    u: f64,
    /// Results of elements are compared at every so many of them, the last one included.
    step: usize,
    mean: OnceCell<f64>,
    size: OnceCell<f64>,
    squares: OnceCell<f64>,
    own_squares: OnceCell<f64>,
    logsumexp: OnceCell<f64>,
}

/// What takes a result's position, its value and how far it may be off.
type Sink<'a> = &'a mut dyn FnMut(usize, f64, f64);

/// What a row of the table is tried on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Data {
    /// All alike, and inexact.
    Tenths,
    /// Between -1 and 1.
    Mixed,
    /// About a thousand, spread by one.
    Far,
    /// About one, so that products stay in range.
    Ones,
}

/// A row of the table: along axis 0 of a line, or of columns.
struct Row {
    name: &'static str,
    /// The bound, as the documentation has it.
    bound: &'static str,
    data: &'static [Data],
    /// Only for lines.
    lines_only: bool,
    /// Half types too.
    halves: bool,
    /// A result per element.
    each: bool,
    run: fn(&Tensor) -> Tensor,
    want: fn(&Group<'_>, Sink<'_>),
}

const PLAIN: &[Data] = &[Data::Tenths, Data::Mixed];
const SPREAD: &[Data] = &[Data::Tenths, Data::Mixed, Data::Far];
const SUMS: f64 = 128.0;
const NORMS: f64 = 256.0;
const NORMAL: f64 = 512.0;

/// A sum, as exact as two numbers hold it.
fn sum(values: impl Iterator<Item = f64>) -> f64 {
    let mut running = Running::default();
    values.for_each(|x| running.add(x));
    running.value()
}

#[derive(Clone, Copy, Default)]
struct Running {
    sum: f64,
    lost: f64,
}

impl Running {
    fn add(&mut self, x: f64) {
        let next = self.sum + x;
        let part = next - self.sum;
        self.lost += (self.sum - (next - part)) + (x - part);
        self.sum = next;
    }

    fn value(self) -> f64 {
        self.sum + self.lost
    }
}

/// A product, as exact as two numbers hold it.
#[derive(Clone, Copy)]
struct Product {
    high: f64,
    low: f64,
}

impl Product {
    const ONE: Product = Product { high: 1.0, low: 0.0 };

    fn times(self, x: f64) -> Product {
        let high = self.high * x;
        let low = self.high.mul_add(x, -high) + self.low * x;
        Product { high: high + low, low: low - ((high + low) - high) }
    }
}

impl<'a> Group<'a> {
    fn new(x: &'a [f64], first: usize, stride: usize, u: f64, step: usize) -> Group<'a> {
        let none = OnceCell::new;
        Group { x, first, stride, u, step, mean: none(), size: none(), squares: none(), own_squares: none(), logsumexp: none() }
    }

    fn iter(&self) -> impl Iterator<Item = f64> + '_ {
        self.x.iter().skip(self.first).step_by(self.stride).copied()
    }

    fn n(&self) -> f64 {
        (self.x.len() / self.stride) as f64
    }

    fn mean(&self) -> f64 {
        *self.mean.get_or_init(|| sum(self.iter()) / self.n())
    }

    /// Of the sizes.
    fn size(&self) -> f64 {
        *self.size.get_or_init(|| sum(self.iter().map(f64::abs)))
    }

    /// The sum of squares about the mean.
    fn squares(&self) -> f64 {
        let mean = self.mean();
        *self.squares.get_or_init(|| sum(self.iter().map(|x| (x - mean) * (x - mean))))
    }

    /// The sum of squares.
    fn own_squares(&self) -> f64 {
        *self.own_squares.get_or_init(|| sum(self.iter().map(|x| x * x)))
    }

    fn greatest(&self) -> f64 {
        self.iter().fold(f64::NEG_INFINITY, f64::max)
    }

    fn logsumexp(&self) -> f64 {
        *self.logsumexp.get_or_init(|| {
            let top = self.greatest();
            top + sum(self.iter().map(|x| (x - top).exp())).ln()
        })
    }

    /// Whether the result of this element is compared.
    fn counts(&self, i: usize) -> bool {
        (i + 1).is_multiple_of(self.step)
    }

    /// One result per element, from the element alone.
    fn each(&self, sink: Sink<'_>, want: impl Fn(f64) -> (f64, f64)) {
        for i in (self.step - 1..self.x.len() / self.stride).step_by(self.step) {
            let (y, bound) = want(self.x[self.first + i * self.stride]);
            sink(i, y, bound);
        }
    }

    /// About `center` and by `scale`, which is off by the errors of a mean and a root.
    fn normal(&self, sink: Sink<'_>, center: f64, scale: f64) {
        // What the variance is off by counts where it is small beside the numbers.
        let far = self.size() / self.n() * scale;
        self.each(sink, |x| {
            let y = (x - center) * scale;
            (y, NORMAL * self.u * (y.abs() * (1.0 + NORMS * self.u * far * far) + far))
        });
    }
}

/// What layer norms add to the variance.
const EPS: f64 = 1e-5;

const ROWS: &[Row] = &[
    Row {
        name: "sum",
        bound: "128 u · Σ\\|x\\|",
        data: PLAIN,
        lines_only: false,
        halves: true,
        each: false,
        run: |x| x.sum([0]),
        want: |g, sink| sink(0, sum(g.iter()), SUMS * g.u * g.size()),
    },
    Row {
        name: "mean",
        bound: "130 u · mean \\|x\\|",
        data: PLAIN,
        lines_only: false,
        halves: true,
        each: false,
        run: |x| x.mean([0]),
        want: |g, sink| sink(0, g.mean(), (SUMS + 2.0) * g.u * g.size() / g.n()),
    },
    Row {
        name: "prod",
        bound: "n u · \\|y\\|",
        data: &[Data::Ones],
        lines_only: false,
        halves: false,
        each: false,
        run: |x| x.prod([0]),
        want: |g, sink| {
            let y = g.iter().fold(Product::ONE, Product::times).high;
            sink(0, y, g.n() * g.u * y.abs());
        },
    },
    Row {
        name: "var",
        bound: "256 u · y + (256 u · mean \\|x\\|)²",
        data: SPREAD,
        lines_only: false,
        halves: false,
        each: false,
        run: |x| x.var([0], 1),
        want: |g, sink| {
            let var = g.squares() / (g.n() - 1.0);
            let of_mean = NORMS * g.u * g.size() / g.n();
            sink(0, var, NORMS * g.u * var + of_mean * of_mean);
        },
    },
    Row {
        name: "std",
        bound: "256 u · (y + mean \\|x\\|)",
        data: SPREAD,
        lines_only: false,
        halves: false,
        each: false,
        run: |x| x.std([0], 1),
        want: |g, sink| {
            let std = (g.squares() / (g.n() - 1.0)).sqrt();
            sink(0, std, NORMS * g.u * (std + g.size() / g.n()));
        },
    },
    Row {
        name: "norm",
        bound: "256 u · y",
        data: PLAIN,
        lines_only: false,
        halves: false,
        each: false,
        run: |x| x.norm(1.0, [0]),
        want: |g, sink| sink(0, g.size(), NORMS * g.u * g.size()),
    },
    Row {
        name: "norm",
        bound: "256 u · y",
        data: PLAIN,
        lines_only: false,
        halves: true,
        each: false,
        run: |x| x.norm(2.0, [0]),
        want: |g, sink| sink(0, g.own_squares().sqrt(), NORMS * g.u * g.own_squares().sqrt()),
    },
    Row {
        name: "norm",
        bound: "256 u · y",
        data: &[Data::Mixed],
        lines_only: true,
        halves: false,
        each: false,
        run: |x| x.norm(3.0, [0]),
        want: |g, sink| {
            let y = sum(g.iter().map(|x| (x * x * x).abs())).cbrt();
            sink(0, y, NORMS * g.u * y);
        },
    },
    Row {
        name: "nrm2",
        bound: "4 n u · y",
        data: &[Data::Mixed],
        lines_only: true,
        halves: true,
        each: false,
        run: |x| x.nrm2([0]),
        want: |g, sink| sink(0, g.own_squares().sqrt(), 4.0 * g.n() * g.u * g.own_squares().sqrt()),
    },
    Row {
        name: "logsumexp",
        bound: "256 u · max(1, \\|y\\|)",
        data: PLAIN,
        lines_only: false,
        halves: true,
        each: false,
        run: |x| x.logsumexp([0]),
        want: |g, sink| sink(0, g.logsumexp(), NORMS * g.u * g.logsumexp().abs().max(1.0)),
    },
    Row {
        name: "max",
        bound: "0",
        data: &[Data::Mixed],
        lines_only: false,
        halves: true,
        each: false,
        run: |x| x.max([0]),
        want: |g, sink| sink(0, g.greatest(), 0.0),
    },
    Row {
        name: "min",
        bound: "0",
        data: &[Data::Mixed],
        lines_only: false,
        halves: true,
        each: false,
        run: |x| x.min([0]),
        want: |g, sink| sink(0, g.iter().fold(f64::INFINITY, f64::min), 0.0),
    },
    Row {
        name: "cumsum",
        bound: "128 u · Σ\\|x\\| so far",
        data: PLAIN,
        lines_only: false,
        halves: true,
        each: true,
        run: |x| x.cumsum(0),
        want: |g, sink| {
            let (mut running, mut size) = (Running::default(), 0.0);
            for (i, x) in g.iter().enumerate() {
                running.add(x);
                size += x.abs();
                if g.counts(i) {
                    sink(i, running.value(), SUMS * g.u * size);
                }
            }
        },
    },
    Row {
        name: "cumprod",
        bound: "i u · \\|yᵢ\\|",
        data: &[Data::Ones],
        lines_only: false,
        halves: false,
        each: true,
        run: |x| x.cumprod(0),
        want: |g, sink| {
            let mut product = Product::ONE;
            for (i, x) in g.iter().enumerate() {
                product = product.times(x);
                if g.counts(i) {
                    sink(i, product.high, (i as f64 + 1.0) * g.u * product.high.abs());
                }
            }
        },
    },
    Row {
        name: "logcumsumexp",
        bound: "4 i u · max(1, \\|yᵢ\\|)",
        data: &[Data::Mixed],
        lines_only: false,
        halves: false,
        each: true,
        run: |x| x.logcumsumexp(0),
        want: |g, sink| {
            let mut running = f64::NEG_INFINITY;
            for (i, x) in g.iter().enumerate() {
                running = ScanOp::LogSumExp.eval(running, x);
                if g.counts(i) {
                    sink(i, running, 4.0 * (i as f64 + 1.0) * g.u * running.abs().max(1.0));
                }
            }
        },
    },
    Row {
        name: "cummax",
        bound: "0",
        data: &[Data::Mixed],
        lines_only: false,
        halves: true,
        each: true,
        run: |x| x.cummax(0),
        want: |g, sink| {
            let mut top = f64::NEG_INFINITY;
            for (i, x) in g.iter().enumerate() {
                top = top.max(x);
                if g.counts(i) {
                    sink(i, top, 0.0);
                }
            }
        },
    },
    Row {
        name: "softmax",
        bound: "256 u · y",
        data: PLAIN,
        lines_only: false,
        halves: true,
        each: true,
        run: |x| x.softmax(0),
        want: |g, sink| {
            let all = g.logsumexp();
            g.each(sink, |x| ((x - all).exp(), NORMS * g.u * (x - all).exp()));
        },
    },
    Row {
        name: "log_softmax",
        bound: "256 u · max(1, \\|y\\|)",
        data: PLAIN,
        lines_only: false,
        halves: true,
        each: true,
        run: |x| x.log_softmax(0),
        want: |g, sink| {
            let all = g.logsumexp();
            g.each(sink, |x| (x - all, NORMS * g.u * (x - all).abs().max(1.0)));
        },
    },
    Row {
        name: "layer_norm",
        bound: "512 u · (\\|y\\| + mean \\|x\\| / √(var + eps))",
        data: PLAIN,
        lines_only: true,
        halves: false,
        each: true,
        run: |x| x.layer_norm(None, None, EPS),
        want: |g, sink| g.normal(sink, g.mean(), (g.squares() / g.n() + EPS).powf(-0.5)),
    },
    Row {
        name: "group_norm",
        bound: "512 u · (\\|y\\| + mean \\|x\\| / √(var + eps))",
        data: &[Data::Mixed],
        lines_only: true,
        halves: false,
        each: true,
        run: |x| x.reshape([1, 2, x.numel() / 2]).group_norm(1, None, None, EPS).reshape([x.numel()]),
        want: |g, sink| g.normal(sink, g.mean(), (g.squares() / g.n() + EPS).powf(-0.5)),
    },
    Row {
        name: "batch_norm_train",
        bound: "512 u · (\\|y\\| + mean \\|x\\| / √(var + eps))",
        data: PLAIN,
        lines_only: false,
        halves: false,
        each: true,
        run: |x| x.reshape([x.shape()[0], x.numel() / x.shape()[0]]).batch_norm_train(None, None, EPS).0.reshape(x.shape()),
        want: |g, sink| g.normal(sink, g.mean(), (g.squares() / g.n() + EPS).powf(-0.5)),
    },
    Row {
        name: "rms_norm",
        bound: "512 u · \\|y\\|",
        data: PLAIN,
        lines_only: true,
        halves: false,
        each: true,
        run: |x| x.rms_norm(None, EPS),
        want: |g, sink| {
            let scale = (g.own_squares() / g.n() + EPS).powf(-0.5);
            g.each(sink, |x| (x * scale, NORMAL * g.u * (x * scale).abs()));
        },
    },
    Row {
        name: "normalize",
        bound: "512 u · \\|y\\|",
        data: PLAIN,
        lines_only: false,
        halves: false,
        each: true,
        run: |x| x.normalize(2.0, 0, 1e-12),
        want: |g, sink| {
            let norm = g.own_squares().sqrt();
            g.each(sink, |x| (x / norm, NORMAL * g.u * (x / norm).abs()));
        },
    },
];

/// A function of numbers: its domain here, and the bound in units of the last place.
struct Function {
    name: &'static str,
    ulps: f64,
    domain: (f64, f64),
    run: fn(&Tensor) -> Tensor,
    want: fn(f64) -> f64,
}

macro_rules! functions {
    ($($name:ident $ulps:literal in $low:literal .. $high:literal = $want:expr;)*) => {
        &[$(Function { name: stringify!($name), ulps: $ulps, domain: ($low, $high), run: |x| x.$name(), want: $want }),*]
    };
}

const FUNCTIONS: &[Function] = functions! {
    exp 4.0 in -87.0..88.0 = f64::exp;
    exp2 4.0 in -125.0..127.0 = f64::exp2;
    expm1 8.0 in -30.0..88.0 = f64::exp_m1;
    log 4.0 in 1e-30..1e30 = f64::ln;
    log2 4.0 in 1e-30..1e30 = f64::log2;
    log10 6.0 in 1e-30..1e30 = f64::log10;
    log1p 8.0 in -0.999..1e30 = f64::ln_1p;
    sin 4.0 in -1e4..1e4 = f64::sin;
    cos 4.0 in -1e4..1e4 = f64::cos;
    tan 8.0 in -1e4..1e4 = f64::tan;
    asin 8.0 in -1.0..1.0 = f64::asin;
    acos 8.0 in -1.0..1.0 = f64::acos;
    atan 8.0 in -1e30..1e30 = f64::atan;
    sinh 8.0 in -88.0..88.0 = f64::sinh;
    cosh 8.0 in -88.0..88.0 = f64::cosh;
    tanh 8.0 in -30.0..30.0 = f64::tanh;
    atanh 16.0 in -0.999..0.999 = |x| (0.5 * (2.0 * x.abs() / (1.0 - x.abs())).ln_1p()).copysign(x);
    sqrt 4.0 in 1e-30..1e30 = f64::sqrt;
    rsqrt 4.0 in 1e-30..1e30 = |x| 1.0 / x.sqrt();
    recip 4.0 in 1e-30..1e30 = |x| 1.0 / x;
    erf 8.0 in -6.0..6.0 = |x| UnaryOp::Erf.eval(x);
    erfinv 16.0 in -0.999..0.999 = |x| UnaryOp::ErfInv.eval(x);
    lgamma 16.0 in 3.0..1e30 = |x| UnaryOp::LGamma.eval(x);
    digamma 16.0 in 2.0..1e30 = |x| UnaryOp::Digamma.eval(x);
    trigamma 16.0 in 0.01..1e10 = |x| UnaryOp::Trigamma.eval(x);
    sigmoid 8.0 in -87.0..87.0 = |x| UnaryOp::Sigmoid.eval(x);
    silu 8.0 in -87.0..87.0 = |x| UnaryOp::Silu.eval(x);
    gelu 16.0 in -9.0..9.0 = |x| UnaryOp::Gelu.eval(x);
    softplus 8.0 in -87.0..87.0 = |x| UnaryOp::Softplus.eval(x);
};

/// Powers of a tensor by a number, and quotients that round down, whose second operand is fixed here.
const POWERS: &[(f64, f64)] = &[(0.5, 8.0), (-1.5, 8.0), (3.0, 8.0), (7.25, 16.0)];

/// 0 to 1, by position.
fn noise(i: usize) -> f64 {
    let mut z = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z >> 11) as f64 / (1u64 << 53) as f64
}

fn fill(data: Data, dtype: DType, n: usize) -> Vec<f64> {
    let value = |i: usize| match data {
        Data::Tenths => 0.1,
        Data::Mixed => 2.0 * noise(i) - 1.0,
        Data::Far => 1000.0 + noise(i),
        Data::Ones => 1.0 + (noise(i) - 0.5) / 2048.0,
    };
    if data == Data::Tenths { vec![rounded(dtype, 0.1); n] } else { (0..n).map(|i| near(dtype, value(i))).collect() }
}

/// As the dtype holds it; what is done for millions of numbers goes past literals.
fn near(dtype: DType, value: f64) -> f64 {
    match dtype {
        DType::F64 => value,
        DType::F32 => f64::from(value as f32),
        _ => rounded(dtype, value),
    }
}

fn tensor(x: &[f64], shape: &[usize], dtype: DType, device: &Device) -> Tensor {
    match dtype {
        DType::F64 => Tensor::from_slice(x, shape, device),
        DType::F32 => Tensor::from_vec(x.iter().map(|x| *x as f32).collect(), shape, device),
        DType::F16 => Tensor::from_vec(x.iter().map(|x| f16::from_f64(*x)).collect(), shape, device),
        _ => Tensor::from_vec(x.iter().map(|x| bf16::from_f64(*x)).collect(), shape, device),
    }
}

fn values(tensor: &Tensor) -> Result<Vec<f64>, String> {
    let told = |error: unigrad_tensor::Error| error.to_string();
    Ok(match tensor.dtype() {
        DType::F64 => tensor.to_vec::<f64>().map_err(told)?,
        DType::F32 => tensor.to_vec::<f32>().map_err(told)?.into_iter().map(f64::from).collect(),
        DType::F16 => tensor.to_vec::<f16>().map_err(told)?.into_iter().map(f64::from).collect(),
        DType::BF16 => tensor.to_vec::<bf16>().map_err(told)?.into_iter().map(f64::from).collect(),
        other => return Err(format!("a result of {other}")),
    })
}

/// What was found: how near each result came to its bound, and what is beyond.
#[derive(Debug, Default)]
pub struct Findings {
    /// One line per result and kind of data.
    pub lines: Vec<String>,
    /// Those beyond their bounds.
    pub failures: Vec<String>,
}

impl Findings {
    /// `error / bound`, and where.
    fn note(&mut self, what: &str, worst: (f64, usize), unit: &str, most: f64) {
        let line = format!("{what}: {:.3} {unit} at {}", worst.0, worst.1);
        if worst.0 > most || worst.0.is_nan() {
            self.failures.push(format!("FAIL {line}, allowed {most}"));
        }
        self.lines.push(line);
    }
}

/// The greatest number of a dtype.
fn most(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::MAX,
        DType::F16 => 65504.0,
        _ => f64::from(f32::MAX),
    }
}

/// Below this a dtype has fewer digits, or a device none.
fn least(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::MIN_POSITIVE,
        DType::F16 => 2f64.powi(-14),
        _ => f64::from(f32::MIN_POSITIVE),
    }
}

/// Holds a device to the bounds of reductions, scans and norms, over `len` elements in each of so many columns. Where a row has a result per
/// element, every `step`-th is compared, which divides the length; with a step, one kind of data is enough for a row, and two columns.
pub fn reductions(device: &Device, dtype: DType, (len, columns): (usize, usize), step: usize, findings: &mut Findings) {
    let u = rounding_error(dtype.compute());
    let half = dtype != dtype.compute();
    for data in [Data::Tenths, Data::Mixed, Data::Far, Data::Ones] {
        let rows = ROWS.iter().filter(|row| {
            let one = step == 1 || row.data.last() == Some(&data) || row.data == PLAIN && data == Data::Tenths && !row.each;
            let scan = step > 1 && row.data == PLAIN && row.name == "cumsum";
            row.data.contains(&data) && (one || scan) && (columns == 1 || !row.lines_only) && (!half || row.halves)
        });
        let rows: Vec<&Row> = rows.collect();
        if rows.is_empty() {
            continue;
        }
        let all = fill(data, dtype, len * columns);
        let shape: &[usize] = if columns == 1 { &[len] } else { &[len, columns] };
        let x = tensor(&all, shape, dtype, device);
        // Columns of equal numbers are equal.
        let checked: Vec<usize> = match (data, step) {
            (Data::Tenths, _) => vec![0],
            (_, 1) => (0..columns).collect(),
            _ => vec![columns - 1],
        };
        let groups: Vec<Group<'_>> = checked.iter().map(|c| Group::new(&all, *c, columns, u, step)).collect();
        for row in rows {
            let what = format!("{} {dtype} {shape:?} {data:?} on {}", row.name, device.name());
            let mut result = (row.run)(&x);
            if row.each && step > 1 {
                result = result.reshape([len / step, step, columns]).narrow(1, step - 1, 1);
            }
            let got = match values(&result) {
                Ok(got) => got,
                Err(error) => {
                    findings.failures.push(format!("FAIL {what}: {}", error.replace('\n', " | ")));
                    continue;
                }
            };
            let mut worst = (0.0f64, 0);
            for (group, column) in groups.iter().zip(&checked) {
                (row.want)(group, &mut |i, want, bound| {
                    if want.abs() >= most(dtype) {
                        return;
                    }
                    let stored = if half { 2.0 * rounding_error(dtype) * want.abs() } else { u * want.abs() };
                    // A result is stored as the nearest number; exact ones are that number.
                    let bound = if bound == 0.0 { 0.0 } else { bound + stored + least(dtype) };
                    let off = (got[i / step * columns + column] - want).abs();
                    let ratio = if off == 0.0 { 0.0 } else { off / bound };
                    if ratio > worst.0 || ratio.is_nan() {
                        worst = (ratio, i);
                    }
                });
            }
            findings.note(&what, worst, "of its bound", 1.0);
        }
    }
}

/// Arguments of a function: half of them evenly spread, half by their sizes.
fn arguments((low, high): (f64, f64), dtype: DType, n: usize) -> Vec<f64> {
    let size = |bound: f64| bound.abs().max(1e-30);
    let value = |i: usize| {
        let part = noise(i);
        if i.is_multiple_of(2) && high < 1e20 {
            return low + (high - low) * part;
        }
        // From 1e-20, or the bound, to the greatest.
        let negative = low < 0.0 && (high <= 0.0 || i % 4 == 1);
        let top = if negative { size(low) } else { size(high) };
        let bottom = if low > 0.0 { low } else { 1e-20f64.min(top) };
        let x = (bottom.ln() + (top.ln() - bottom.ln()) * part).exp();
        (if negative { -x } else { x }).clamp(low, high)
    };
    (0..n).map(|i| near(dtype, value(i))).collect()
}

/// Holds a device to the bounds of transcendental functions at `n` arguments, `repeated` so many times: then every repetition must give what
/// the first one gives.
pub fn functions(device: &Device, dtype: DType, n: usize, repeated: usize, findings: &mut Findings) {
    let powers = POWERS.iter().map(|(power, ulps)| (format!("pow {power}"), *ulps, (1e-3, 1e3), Kind::Power(*power)));
    let all = FUNCTIONS.iter().map(|f| (f.name.to_owned(), f.ulps, f.domain, Kind::Function(f))).chain(powers);
    for (name, ulps, domain, kind) in all {
        let x = arguments(domain, dtype, n);
        let line = tensor(&x, &[n], dtype, device);
        let argument = if repeated > 1 { line.expand([repeated, n]).contiguous() } else { line };
        let result = match kind {
            Kind::Function(f) => (f.run)(&argument),
            Kind::Power(power) => argument.pow(power),
        };
        let what = format!("{name} {dtype} of {n} x {repeated} on {}", device.name());
        let both = if repeated > 1 {
            values(&result.max([0])).and_then(|max| Ok((max, values(&result.min([0]))?)))
        } else {
            values(&result).map(|got| (got, Vec::new()))
        };
        let (got, least_got) = match both {
            Ok(both) => both,
            Err(error) => {
                findings.failures.push(format!("FAIL {what}: {}", error.replace('\n', " | ")));
                continue;
            }
        };
        if let Some(i) = (0..least_got.len()).find(|i| least_got[*i] != got[*i]) {
            findings.failures.push(format!("FAIL {what}: {} and {} of {:e}", got[i], least_got[i], x[i]));
        }
        let mut worst = (0.0f64, 0);
        for i in 0..n {
            let want = match kind {
                Kind::Function(f) => (f.want)(x[i]),
                Kind::Power(power) => BinaryOp::Pow.eval(x[i], power),
            };
            if want.abs() >= most(dtype) || want.abs() < least(dtype) && got[i].abs() <= least(dtype) {
                continue;
            }
            let ulp = 2.0 * rounding_error(dtype) * 2f64.powi(want.abs().max(least(dtype)).log2().floor() as i32);
            let off = (got[i] - want).abs() / ulp;
            if off > worst.0 || off.is_nan() {
                worst = (off, i);
            }
        }
        let at = x.get(worst.1).copied().unwrap_or_default();
        findings.note(&format!("{what} (x = {at:e})"), worst, "ulp", ulps);
    }
}

enum Kind {
    Function(&'static Function),
    Power(f64),
}

/// The rows of the documentation's tables: a method and its bound, in the order of this one.
pub fn documented() -> Vec<(String, String)> {
    let rows = ROWS.iter().map(|row| (row.name.to_owned(), row.bound.to_owned()));
    let functions = FUNCTIONS.iter().map(|f| (f.name.to_owned(), format!("{} ulp", f.ulps)));
    let powers = POWERS.iter().map(|(_, ulps)| *ulps).fold(0.0, f64::max);
    let mut all: Vec<(String, String)> = rows.chain(functions).chain([("pow".to_owned(), format!("{powers} ulp"))]).collect();
    all.dedup();
    all
}
