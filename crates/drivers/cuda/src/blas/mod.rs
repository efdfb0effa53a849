//! Matrix products by cuBLASLt, found at run time.
//!
//! In: [`Product`]s on offer, later their memory. Out: `cublasLtMatmul` on the device's stream, with bias, residual and activation inside.
//! Always: sums in the product's compute dtype; parts of a sum are added in that dtype and in a fixed order, so that reruns have the same bits; the
//! algorithm is chosen once, for the alignment that the product's memory is sure to have: by the library's heuristic, and by time among those that it
//! puts first ([`choice`]).
//! Never: TF32 without leave; a product that [`wins`] turns down, unless `UNIGRAD_PRODUCTS=library` says so; a panic because of a library.

mod call;
mod choice;

pub(crate) use call::CublasLt;

use unigrad_gpu::{Activation, Inside, Library, Matrix, Product, Rates, Words};
use unigrad_scalar::DType;

/// Whether cuBLASLt can do it on an architecture, as far as its documentation says. Of 8-bit floats (from `sm_89` on): rows of both operands run along
/// `k`, all sizes and places are multiples of 16, one of the two is `e4m3`, sums need not have all bits of `f32`, and a bias is a half.
pub(crate) fn can(p: &Product, arch: &str) -> bool {
    // It reads and writes the argument of an activation by lines of 16 bytes, whatever the rest is.
    if !p.inside.before.is_none_or(|before| aligned(&before)) {
        return false;
    }
    // The slope of GELU of halves, by which the sum alone is multiplied.
    let Inside { scaled, residual, bias, activation, .. } = p.inside;
    if activation == Activation::GeluTanhSlope {
        return p.a.dtype.size() == 2 && p.c.dtype == p.a.dtype && p.batch == 1 && !scaled && residual.is_none() && bias.is_none();
    }
    if p.a.dtype.size() > 1 {
        return true;
    }
    let capability: u32 = arch.trim_start_matches("sm_").trim_end_matches(char::is_alphabetic).parse().unwrap_or(0);
    let layout = !p.a.transposed && p.b.transposed && [p.m, p.n, p.k].iter().all(|size| size.is_multiple_of(16));
    let dtypes = p.a.dtype == DType::F8E4M3 || p.b.dtype == DType::F8E4M3;
    let inside = p.inside.before.is_none() && (p.inside.bias.is_none() || p.c.dtype.size() == 2);
    let places = [Some(p.a), Some(p.b), Some(p.c), p.inside.residual].iter().flatten().all(aligned);
    capability >= 89 && layout && dtypes && inside && places && p.tf32
}

/// Whether rows and items begin at multiples of 16 bytes.
fn aligned(matrix: &Matrix) -> bool {
    [matrix.offset, matrix.ld.into(), matrix.batch_stride].iter().all(|n| (n * matrix.dtype.size() as u64).is_multiple_of(16))
}

/// Whether cuBLASLt is expected to be faster than the driver's own kernel. The limits are where it won on an H200 (`examples/matmul.rs` of
/// `unigrad-testing`, CUDA 13): `f32` 512 cubed 0.85 of the driver's own speed, 1024 cubed 1.17, 4096 cubed 1.30; halves 1024 cubed 0.94 to 1.22, 4096
/// cubed 1.2 to 1.3, with an epilogue of its own 1.12 to 1.17 where sums are long and 0.86 where they have 768 products; halves whose rows do not
/// begin at multiples of 16 bytes 0.88 to 1.3; `f64` 3.2; TF32 2.4 of 4096 cubed.
pub(crate) fn wins(p: &Product) -> bool {
    let (least, least_k) = match (p.compute, p.a.dtype) {
        (DType::F64, _) => (1 << 24, 0),
        (_, DType::F32) if p.tf32 => (LEAST_TF32, 128),
        (_, DType::F32) => (1 << 29, 512),
        _ => (1 << 29, 2048),
    };
    let even = p.a.dtype.size() > 2 || [p.a, p.b, p.c].iter().all(aligned);
    // The driver's own loops for halves make operands in memory as well. What it reads on the way otherwise, the library has to win back: it is
    // faster by a seventh for `f32`, by more than half for the others.
    let gain = match (p.compute, p.a.dtype) {
        (_, DType::F16 | DType::BF16 | DType::F8E4M3 | DType::F8E5M2) => f64::INFINITY,
        (DType::F32, DType::F32) if !p.tf32 => 0.15,
        _ => 0.5,
    };
    let made = p.made == 0 || p.made as f64 / COPIED <= gain * p.work() / rate(p);
    // Of shorter ones the driver's kernels for few rows read the matrix once, which nothing beats; of TF32 it has none for more than 8.
    let shortest = if p.compute == DType::F32 && p.tf32 && p.a.dtype == DType::F32 { SHORTEST_TF32 } else { SHORTEST };
    p.work() >= f64::from(least) && p.shortest() >= shortest && even && made && (!p.after || p.k >= least_k)
}

/// Rows, columns and sums from which on the library is asked.
const SHORTEST: u32 = 64;
/// The same of TF32, and multiplications. On an H200 steps of 784-512-256-10 took 0.040 and 0.057 milliseconds for 64 and 512 samples by the library, 0.033 and 0.050 by
/// the driver's own loop; for 8,192 samples 0.178 and 0.243, and those of a character GPT 1.86 and 2.74.
const SHORTEST_TF32: u32 = 32;
const LEAST_TF32: u32 = 1 << 28;

/// Bytes that a kernel reads and writes in a nanosecond, as measured on an H200.
const COPIED: f64 = 4000.0;

/// Bytes of sums that a launch after the library's finds in the cache: half of what these GPUs have (50 MB). 3072 x 768 sums of 32,768 terms and an
/// AdamW update of them took 240 microseconds so, and 226 and 17 with the halves in memory between the two.
const NEAR: usize = 24 << 20;

/// Multiplications in a nanosecond, as measured on an H200.
fn rate(p: &Product) -> f64 {
    match (p.a.dtype.size(), p.tf32) {
        // Twice that of halves, as the units have it; not measured.
        (1, _) => 760e3,
        (2, _) => 380e3,
        (4, true) => 190e3,
        _ => 25e3,
    }
}

/// What a product is expected to cost on so many compute units, in nanoseconds, with the steps before it.
pub(crate) fn nanoseconds(p: &Product, units: u32) -> f64 {
    let units = f64::from(units.max(1)) / 132.0;
    let sizes = [(p.a, [p.m, p.k]), (p.b, [p.k, p.n]), (p.c, [p.m, p.n])];
    let bytes: u64 = sizes.iter().map(|(matrix, size)| matrix.bytes(*size, p.batch)).fold(0, u64::saturating_add);
    2000.0 + (p.work() / (rate(p) * units)).max(bytes as f64 / COPIED) + p.made as f64 / COPIED
}

/// What the planner should know of the library on so many compute units, if it is there: the rates of [`wins`]. To look opens it, and makes nothing.
pub(crate) fn library(units: u32) -> Option<Library> {
    if !call::is_there() {
        return None;
    }
    let scaled = |rate: u32| (f64::from(rate) * f64::from(units.max(1)) / 132.0) as u32;
    let slower = |time: u32| (f64::from(time) * 132.0 / f64::from(units.max(1))) as u32;
    let rates = |own, library, least| Rates { own: scaled(own), library: scaled(library), least, shortest: SHORTEST, around: [0, 0] };
    // 32768 x 3072 of 768 terms each took 295 microseconds, with bias and GELU 510; 32768 x 768 of 3,072 terms 250, with a residual 331.
    let half = Rates { around: [slower(460), slower(2700)], ..rates(310_000, 380_000, 1 << 29) };
    Some(Library {
        // With GELU inside and its argument kept 32768 x 3072 of 768 terms take 285 microseconds, of 221 without; with its slope inside 283, of 218.
        words: Words { scale: true, bias: true, residual: true, relu: true, gelu_tanh: true, before: true, gelu_tanh_slope: true },
        half,
        single: rates(20_500, 25_000, 1 << 29),
        tf32: Rates { shortest: SHORTEST_TF32, ..rates(30_000, 190_000, LEAST_TF32.into()) },
        double: rates(7_800, 25_000, 1 << 24),
        convolution: None,
        copied: COPIED as u32,
        launch: 2000,
        near: NEAR,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_asked_where_it_won() {
        let matrix = |dtype, ld: u32| Matrix { dtype, offset: 0, ld, transposed: false, batch_stride: 0 };
        let product = |dtype: DType, [m, n, k]: [u32; 3], tf32, after| {
            let (a, b, c) = (matrix(dtype, k), matrix(dtype, n), matrix(dtype, n));
            Product { batch: 1, m, n, k, a, b, c, compute: dtype.compute(), tf32, inside: Inside::default(), made: 0, after }
        };
        for (dtype, sizes, tf32, after, wanted) in [
            (DType::F32, [512; 3], false, false, false),
            (DType::F32, [1024; 3], false, false, true),
            (DType::F32, [512; 3], true, false, false),
            (DType::F32, [1024; 3], true, false, true),
            (DType::F32, [32, 16384, 1024], true, false, true),
            (DType::F32, [16, 2048, 512], true, false, false),
            (DType::BF16, [32, 16384, 16384], false, false, false),
            (DType::BF16, [2048; 3], false, false, true),
            (DType::BF16, [4095, 4097, 4099], false, false, false),
            (DType::BF16, [8192, 3072, 768], false, true, false),
            (DType::BF16, [4096; 3], false, true, true),
            (DType::F16, [1, 16384, 16384], false, false, false),
            (DType::F64, [1024; 3], false, true, true),
        ] {
            assert_eq!(wins(&product(dtype, sizes, tf32, after)), wanted, "{dtype} {sizes:?} {tf32} {after}");
        }
        // An operand that is made first: 32 MiB cost 8.4 microseconds. The driver's own loops for halves make it too.
        for (dtype, size, wanted) in [(DType::F32, 1024, false), (DType::F32, 4096, true), (DType::BF16, 1024, true)] {
            let made = Product { made: 32 << 20, ..product(dtype, [size; 3], false, false) };
            assert_eq!(wins(&made), wanted, "{dtype} {size}");
        }
    }

    #[test]
    fn products_of_8_bit_floats_are_those_of_the_documentation() {
        let matrix = |dtype, ld: u32, transposed| Matrix { dtype, offset: 0, ld, transposed, batch_stride: 0 };
        let product = |a: DType, b: DType, [m, n, k]: [u32; 3]| Product {
            batch: 1,
            m,
            n,
            k,
            a: matrix(a, k, false),
            b: matrix(b, k, true),
            c: matrix(DType::BF16, n, false),
            compute: DType::F32,
            tf32: true,
            inside: Inside::default(),
            made: 0,
            after: false,
        };
        let (narrow, wide) = (DType::F8E4M3, DType::F8E5M2);
        let large = product(narrow, narrow, [2048; 3]);
        assert!(can(&large, "sm_90") && can(&large, "sm_90a") && can(&large, "sm_89") && can(&large, "sm_100") && wins(&large));
        assert!(!can(&large, "sm_80") && !can(&large, "sm_86") && !can(&large, ""));
        for (a, b, wanted) in [(narrow, wide, true), (wide, narrow, true), (wide, wide, false)] {
            assert_eq!(can(&product(a, b, [2048; 3]), "sm_90"), wanted, "{a} {b}");
        }
        for sizes in [[2040, 2048, 2048], [2048, 2040, 2048], [2048, 2048, 2040]] {
            assert!(!can(&product(narrow, narrow, sizes), "sm_90"), "{sizes:?}");
        }
        let cannot = [
            Product { a: matrix(narrow, 2048, true), ..large },
            Product { b: matrix(narrow, 2048, false), ..large },
            Product { a: Matrix { offset: 8, ..large.a }, ..large },
            Product { tf32: false, ..large },
            Product { inside: Inside { before: Some(large.c), ..Inside::default() }, ..large },
            Product { c: matrix(DType::F32, 2048, false), inside: Inside { bias: Some(0), ..Inside::default() }, ..large },
        ];
        for product in cannot {
            assert!(!can(&product, "sm_90"), "{product:?}");
        }
        // What is not of 8 bits is the library's heuristic's to refuse.
        assert!(can(&Product { a: matrix(DType::F16, 7, true), b: matrix(DType::F16, 7, false), tf32: false, ..large }, "sm_70"));
    }
}
