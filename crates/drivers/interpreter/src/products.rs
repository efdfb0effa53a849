//! A library of matrix products for the interpreter: loops that do what the text of a [`Product`] says, and nothing else.
//!
//! In: products on offer, later their memory. Out: their results, computed in f64 and rounded once.
//! Always: only with `UNIGRAD_PRODUCTS=library`, so that the hook for libraries is tested where there is no GPU; every word for an epilogue. It takes on
//! sums of [`REFUSED`] products, and then refuses them at their launch, as a library may.

use crate::attention;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use unigrad_gpu::{Activation, As, ByDtype, Library, Matrix, Offer, Operands, Product, Range, Rates, Taken, Words};
use unigrad_kernel::Kernel;
use unigrad_scalar::{DType, Literal, UnaryOp};

/// The length of sums that are refused when they are launched.
pub const REFUSED: u32 = 13;

/// It has a word for everything, and wins nothing: it is taken only where it is asked for.
pub(crate) const LIBRARY: Library = Library {
    words: Words { scale: true, bias: true, residual: true, relu: true, gelu_tanh: true, before: true, gelu_tanh_slope: true },
    half: NEVER,
    single: NEVER,
    tf32: NEVER,
    double: NEVER,
    convolution: Some(ByDtype { half: NEVER, single: NEVER, tf32: NEVER, double: NEVER }),
    copied: 1,
    launch: 0,
    near: 0,
};
const NEVER: Rates = Rates { own: 0, library: 0, least: 0, shortest: 0, around: [0, 0] };

static DONE: AtomicUsize = AtomicUsize::new(0);
static REFUSALS: AtomicUsize = AtomicUsize::new(0);
static CODED: AtomicUsize = AtomicUsize::new(0);
static KEPT: AtomicUsize = AtomicUsize::new(0);
static SLOPED: AtomicUsize = AtomicUsize::new(0);

/// How many products the library has done, and how many it has refused, in this process.
pub fn products() -> (usize, usize) {
    (DONE.load(Relaxed), REFUSALS.load(Relaxed))
}

/// How many of the products that the library has done were of 8-bit floats.
pub fn products_of_codes() -> usize {
    CODED.load(Relaxed)
}

/// How many of the products that the library has done kept the argument of an activation, and how many were multiplied by a slope at one.
pub fn products_with_arguments() -> (usize, usize) {
    (KEPT.load(Relaxed), SLOPED.load(Relaxed))
}

pub(crate) fn take(offer: &Offer<'_>) -> Option<Taken> {
    let words = (offer.products.first(), offer.convolutions.first(), offer.norm);
    let (what, nanoseconds) = match (offer.kernel, words) {
        (Kernel::Attention(kernel), _) if attention::can(kernel) => (As::Kernel, offer.kernel.flops()),
        (Kernel::AttentionGrad(kernel), _) if attention::can(&kernel.forward) => (As::Kernel, offer.kernel.flops()),
        (_, (Some(product), _, _)) => (As::Product(0), product.work()),
        (_, (_, Some(convolution), _)) => (As::Convolution(0), convolution.work()),
        (_, (_, _, Some(norm))) => (As::Norm, norm.elements()),
        (_, (None, None, None)) => return None,
    };
    offer.always.then_some(Taken { what, workspace: 64, nanoseconds, id: 0 })
}

/// Memory by range, as bytes.
pub(crate) trait Bytes {
    fn bytes(&mut self, range: Range) -> Option<&mut [u8]>;
}

/// Computes a product; `Ok(false)` if it is refused, `None` if its memory is not there.
pub(crate) fn multiply(memory: &mut impl Bytes, p: &Product, at: &Operands, workspace: Range) -> Option<bool> {
    if p.k == REFUSED {
        REFUSALS.fetch_add(1, Relaxed);
        return Some(false);
    }
    // Its contents are undefined, and it is there.
    memory.bytes(workspace)?.fill(0xa5);
    let (a, b) = (read(memory, at.a, p.a.dtype)?, read(memory, at.b, p.b.dtype)?);
    let residual = match (at.residual, p.inside.residual) {
        (Some(range), Some(matrix)) => Some((read(memory, range, matrix.dtype)?, matrix)),
        _ => None,
    };
    let bias = match (at.bias, p.inside.bias) {
        (Some(range), Some(offset)) => Some((read(memory, range, p.c.dtype)?, offset as usize)),
        _ => None,
    };
    let argument = match (p.inside.activation, at.before, p.inside.before) {
        (Activation::GeluTanhSlope, Some(range), Some(matrix)) => Some((read(memory, range, matrix.dtype)?, matrix)),
        (Activation::GeluTanhSlope, ..) => return None,
        (Activation::None | Activation::Relu | Activation::GeluTanh, ..) => None,
    };
    let slope = UnaryOp::GeluTanh.slope(true)?;
    let mut scale = at.scale;
    for (range, element) in at.scales.into_iter().zip(p.inside.scales) {
        if let (Some(range), Some(element)) = (range, element) {
            scale *= read(memory, range, DType::F32)?.get(element as usize)?;
        }
    }
    for item in 0..p.batch {
        for row in 0..p.m {
            for col in 0..p.n {
                let mut sum = 0.0;
                for k in 0..p.k {
                    sum += a.get(place(&p.a, item, row, k))? * b.get(place(&p.b, item, k, col))?;
                }
                sum *= scale;
                if let Some((values, matrix)) = &residual {
                    sum += values.get(place(matrix, item, row, col))?;
                }
                if let Some((values, offset)) = &bias {
                    sum += values.get(offset + col as usize)?;
                }
                let value = match (&argument, at.before, p.inside.before) {
                    (Some((values, matrix)), ..) => slope.eval(&[*values.get(place(matrix, item, row, col))?, f64::NAN, sum]),
                    (None, Some(range), Some(matrix)) => {
                        write(memory, range, matrix.dtype, place(&matrix, item, row, col), sum)?;
                        apply(p.inside.activation, sum)?
                    }
                    (None, ..) => apply(p.inside.activation, sum)?,
                };
                write(memory, at.c, p.c.dtype, place(&p.c, item, row, col), value)?;
            }
        }
    }
    DONE.fetch_add(1, Relaxed);
    CODED.fetch_add(usize::from(p.a.dtype.only_stores()), Relaxed);
    SLOPED.fetch_add(usize::from(argument.is_some()), Relaxed);
    KEPT.fetch_add(usize::from(argument.is_none() && p.inside.before.is_some()), Relaxed);
    Some(true)
}

/// An activation of one number; `None` of one that has another argument.
pub(crate) fn apply(activation: Activation, x: f64) -> Option<f64> {
    Some(match activation {
        Activation::None => x,
        Activation::Relu if x.is_nan() => x,
        Activation::Relu => x.max(0.0),
        Activation::GeluTanhSlope => return None,
        Activation::GeluTanh => 0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x)).tanh()),
    })
}

fn place(matrix: &Matrix, item: u32, row: u32, col: u32) -> usize {
    let (outer, inner) = if matrix.transposed { (col, row) } else { (row, col) };
    (matrix.offset + u64::from(item) * matrix.batch_stride + u64::from(outer) * u64::from(matrix.ld) + u64::from(inner)) as usize
}

pub(crate) fn read(memory: &mut impl Bytes, range: Range, dtype: DType) -> Option<Vec<f64>> {
    let value = |bytes: &[u8]| {
        let mut raw = [0; 8];
        raw[..bytes.len()].copy_from_slice(bytes);
        Literal::from_raw(dtype, u64::from_le_bytes(raw)).as_f64()
    };
    Some(memory.bytes(range)?.chunks_exact(dtype.size()).map(value).collect())
}

pub(crate) fn write(memory: &mut impl Bytes, range: Range, dtype: DType, at: usize, value: f64) -> Option<()> {
    let size = dtype.size();
    let bytes = memory.bytes(range)?.get_mut(at * size..(at + 1) * size)?;
    bytes.copy_from_slice(&Literal::float(dtype, value).to_raw().to_le_bytes()[..size]);
    Some(())
}
