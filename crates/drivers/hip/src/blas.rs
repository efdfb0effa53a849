//! Matrix products by rocBLAS.
//!
//! In: a [`Product`], memory. Out: `rocblas_gemm_strided_batched_ex` on the device's stream.
//! Always: sums in the product's compute dtype, without atomics, so that reruns have the same bits; a product that rocBLAS refuses is the
//! driver's own.
//! Never: asks for a product that [`wins`] turns down, unless the setting `UNIGRAD_PRODUCTS=library` says so.

use crate::{
    api::{Blas, Handle},
    backend::address,
};
use std::{
    ffi::c_void,
    sync::{Mutex, PoisonError},
};
use unigrad_gpu::{Matrix, Operands, Product, Range};
use unigrad_scalar::DType;

// Numbers of `rocblas-types.h`.
const PLAIN: i32 = 111;
const TRANSPOSED: i32 = 112;
const NO_ATOMICS: i32 = 0;
const STANDARD_ALGORITHM: i32 = 0;

/// Multiplications from which on the library is asked: a cube of 256.
const LARGE: f64 = (1 << 24) as f64;
/// Rows, columns and sums at least: below this the kernels for few rows read the matrix once, which nothing beats.
const SHORTEST: u32 = 32;
/// Uses of each element at least where another pass over a matrix is necessary: for an epilogue, or because an operand is made first.
const LEAST_USES: u32 = 512;

/// Whether rocBLAS is expected to be faster than the driver's own kernel. The limits are estimates: no AMD GPU has measured them.
pub(crate) fn wins(product: &Product) -> bool {
    // Another pass over the result is one in `k` of the work; one over an operand that is made first, in the other side's length.
    let long = |is_made: bool, length: u32| !is_made || length >= LEAST_USES;
    let deep = long(product.after, product.k) && long(product.made > 0, product.m.min(product.n));
    product.work() >= LARGE && product.shortest() >= SHORTEST && deep
}

/// What a product is expected to cost: an estimate by the peak of an MI250's matrix units, which no measurement has confirmed.
pub(crate) fn nanoseconds(product: &Product) -> f64 {
    let per_nanosecond = if product.a.dtype.size() == 2 { 1.0e5 } else { 2.0e4 };
    product.work() / per_nanosecond
}

/// What became of a product.
pub(crate) enum Answer {
    Queued,
    /// Nothing is queued: rocBLAS has no kernel for it, or no memory.
    Refused,
    Failed(String),
}

/// rocBLAS on one stream.
pub(crate) struct RocBlas {
    blas: Blas,
    /// One thread at a time may use a handle.
    handle: Mutex<Handle>,
}

impl RocBlas {
    /// For the device that is current and its stream; `None` if rocBLAS cannot work there.
    pub(crate) fn new(blas: Blas, stream: Handle) -> Option<RocBlas> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: pointer to a local.
        if unsafe { (blas.rocblas_create_handle)(&mut handle) } != 0 || handle.is_null() {
            return None;
        }
        let made = RocBlas { blas, handle: Mutex::new(handle) };
        // SAFETY: a new handle, and a stream of the device that it is for.
        let set = unsafe { (blas.rocblas_set_stream)(handle, stream) == 0 && (blas.rocblas_set_atomics_mode)(handle, NO_ATOMICS) == 0 };
        set.then_some(made)
    }

    /// Queues a product; its ranges hold its matrices (the caller's promise).
    pub(crate) fn multiply(&self, p: &Product, operands: &Operands) -> Answer {
        let Some([m, n, k, batch]) = int([p.m, p.n, p.k, p.batch]) else { return Answer::Refused };
        let (Some([lda, ldb, ldc]), Some([a_type, b_type, c_type, compute])) =
            (int([p.a.ld, p.b.ld, p.c.ld]), types([p.a.dtype, p.b.dtype, p.c.dtype, p.compute]))
        else {
            return Answer::Refused;
        };
        let strides = [p.a, p.b, p.c].map(|matrix| i64::try_from(matrix.batch_stride));
        let [Ok(stride_a), Ok(stride_b), Ok(stride_c)] = strides else { return Answer::Refused };
        let (a, b, c) = (first(operands.a, &p.a), first(operands.b, &p.b), first(operands.c, &p.c));
        // Read on the host, as numbers of the compute dtype.
        let (one, zero): (*const c_void, *const c_void) = if p.compute == DType::F64 {
            ((&raw const ONE_64).cast(), (&raw const ZERO_64).cast())
        } else {
            ((&raw const ONE_32).cast(), (&raw const ZERO_32).cast())
        };
        let operation = |matrix: &Matrix| if matrix.transposed { TRANSPOSED } else { PLAIN };
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        // rocBLAS counts by columns: it is asked for the transposed product, of `b` and `a`.
        // SAFETY: a handle of this device; the matrices lie in their ranges, and `c` apart from the others.
        let status = unsafe {
            (self.blas.rocblas_gemm_strided_batched_ex)(
                *handle,
                operation(&p.b),
                operation(&p.a),
                n,
                m,
                k,
                one,
                b,
                b_type,
                ldb,
                stride_b,
                a,
                a_type,
                lda,
                stride_a,
                zero,
                c,
                c_type,
                ldc,
                stride_c,
                c,
                c_type,
                ldc,
                stride_c,
                batch,
                compute,
                STANDARD_ALGORITHM,
                0,
                0,
            )
        };
        match status {
            // 7: done, with less memory than would have been good.
            0 | 7 => Answer::Queued,
            // Not implemented, sizes or values that it does not take, no memory, not in this build, not for this architecture.
            2 | 4 | 5 | 11 | 14 | 15 => Answer::Refused,
            other => Answer::Failed(format!("rocBLAS: {} ({other})", words(other))),
        }
    }
}

impl Drop for RocBlas {
    fn drop(&mut self) {
        let handle = self.handle.get_mut().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: made by rocblas_create_handle, destroyed once. An error has nowhere to go.
        let _ = unsafe { (self.blas.rocblas_destroy_handle)(*handle) };
    }
}

// SAFETY: a handle may be used by any thread, by one at a time: it is behind a lock.
unsafe impl Send for RocBlas {}
// SAFETY: as above.
unsafe impl Sync for RocBlas {}

static ONE_32: f32 = 1.0;
static ZERO_32: f32 = 0.0;
static ONE_64: f64 = 1.0;
static ZERO_64: f64 = 0.0;

fn int<const N: usize>(sizes: [u32; N]) -> Option<[i32; N]> {
    sizes.iter().all(|size| i32::try_from(*size).is_ok()).then(|| sizes.map(|size| size as i32))
}

/// Numbers of `rocblas_datatype`.
fn types(dtypes: [DType; 4]) -> Option<[i32; 4]> {
    let number = |dtype| match dtype {
        DType::F16 => 150,
        DType::F32 => 151,
        DType::F64 => 152,
        DType::BF16 => 168,
        // None that the library is asked for.
        DType::Bool
        | DType::U8
        | DType::I8
        | DType::U16
        | DType::I16
        | DType::U32
        | DType::I32
        | DType::U64
        | DType::I64
        | DType::F8E4M3
        | DType::F8E5M2 => 0,
    };
    let numbers = dtypes.map(number);
    numbers.iter().all(|number| *number > 0).then_some(numbers)
}

/// A matrix's first element.
fn first(range: Range, matrix: &Matrix) -> *mut c_void {
    address(range).wrapping_byte_add(matrix.offset as usize * matrix.dtype.size())
}

fn words(status: i32) -> &'static str {
    match status {
        1 => "invalid handle",
        3 => "invalid pointer",
        6 => "internal error",
        _ => "unknown error",
    }
}
