//! Matrix products by cuBLASLt, found at run time.
//!
//! In: [`Product`]s on offer, later their memory. Out: `cublasLtMatmul` on the device's stream, with bias, residual and activation inside.
//! Always: sums in the product's compute dtype; parts of a sum are added in that dtype and in a fixed order, so that reruns have the same bits; the
//! algorithm is chosen once, by the library's heuristic, for the alignment that the product's memory is sure to have.
//! Never: TF32 without leave; a product that [`wins`] turns down, unless `UNIGRAD_PRODUCTS=library` says so; a panic because of a library.

use crate::loaded::{Answer, functions};
use std::{
    ffi::{OsStr, c_void},
    sync::{Arc, Mutex, OnceLock, PoisonError, RwLock},
};
use unigrad_gpu::{Activation, Inside, Library, Matrix, Operands, Product, Range, Rates, Words};
use unigrad_scalar::DType;

type Handle = *mut c_void;

/// Memory that an algorithm may ask for: what PyTorch gives it on Hopper.
const MOST_WORKSPACE: u64 = 32 << 20;
/// What every range begins at a multiple of ([`Range::offset`]).
const ALIGNMENT: u64 = 64;

// Numbers of `cublasLt.h`, `cublas_api.h` and `library_types.h`, the same since version 11.
const COMPUTE_32F: i32 = 68;
const COMPUTE_32F_FAST_TF32: i32 = 77;
const COMPUTE_64F: i32 = 70;
const DESC_TRANS_A: i32 = 3;
const DESC_TRANS_B: i32 = 4;
const DESC_EPILOGUE: i32 = 7;
const DESC_BIAS_POINTER: i32 = 8;
const DESC_AUX_POINTER: i32 = 11;
const DESC_AUX_LD: i32 = 12;
const DESC_AUX_BATCH_STRIDE: i32 = 13;
const DESC_A_SCALE_POINTER: i32 = 17;
const DESC_B_SCALE_POINTER: i32 = 18;
/// Of products of 8-bit floats: 0, which is the default, adds partial sums in the compute type more often.
const DESC_FAST_ACCUMULATION: i32 = 25;
const DESC_BIAS_DATA_TYPE: i32 = 26;
const LAYOUT_BATCH_COUNT: i32 = 5;
const LAYOUT_BATCH_OFFSET: i32 = 6;
const PREFERENCE_WORKSPACE: i32 = 1;
const PREFERENCE_REDUCTIONS: i32 = 3;
const PREFERENCE_ALIGNMENTS: [i32; 4] = [5, 6, 7, 8];
/// Where the factors of our `a` and `b` go: it is asked for the transposed product, of `b` and `a`.
const SCALES: [i32; 2] = [DESC_B_SCALE_POINTER, DESC_A_SCALE_POINTER];
/// Partial sums are kept and added in the compute type.
const REDUCTION_COMPUTE_TYPE: u32 = 2;
const EPILOGUE_NONE: u32 = 1;
const EPILOGUE_RELU: u32 = 2;
const EPILOGUE_BIAS: u32 = 4;
const EPILOGUE_GELU: u32 = 32;
const EPILOGUE_AUX: u32 = 128;

#[repr(C)]
#[derive(Clone, Copy)]
struct Algorithm([u64; 8]);

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Found {
    algorithm: Algorithm,
    workspace: usize,
    status: i32,
    waves: f32,
    reserved: [i32; 4],
}

functions! {
    struct;
    cublasLtCreate: fn(*mut Handle) -> i32;
    cublasLtMatmulDescCreate: fn(*mut Handle, i32, i32) -> i32;
    cublasLtMatmulDescSetAttribute: fn(Handle, i32, *const c_void, usize) -> i32;
    cublasLtMatmulDescDestroy: fn(Handle) -> i32;
    cublasLtMatrixLayoutCreate: fn(*mut Handle, i32, u64, u64, i64) -> i32;
    cublasLtMatrixLayoutSetAttribute: fn(Handle, i32, *const c_void, usize) -> i32;
    cublasLtMatrixLayoutDestroy: fn(Handle) -> i32;
    cublasLtMatmulPreferenceCreate: fn(*mut Handle) -> i32;
    cublasLtMatmulPreferenceSetAttribute: fn(Handle, i32, *const c_void, usize) -> i32;
    cublasLtMatmulPreferenceDestroy: fn(Handle) -> i32;
    cublasLtMatmulAlgoGetHeuristic: fn(Handle, Handle, Handle, Handle, Handle, Handle, Handle, i32, *mut Found, *mut i32) -> i32;
    cublasLtMatmul: fn(
        Handle, Handle, *const c_void, *const c_void, Handle, *const c_void, Handle, *const c_void, *const c_void, Handle, *mut c_void, Handle,
        *const Algorithm, *mut c_void, usize, Handle
    ) -> i32;
}

fn functions() -> Option<&'static Functions> {
    static FUNCTIONS: OnceLock<Option<Functions>> = OnceLock::new();
    let names: &[&str] = if cfg!(windows) {
        &["cublasLt64_13.dll", "cublasLt64_12.dll"]
    } else {
        &["libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"]
    };
    let open = |name: &&str| {
        // SAFETY: NVIDIA's library, whose initialisers do nothing to this process.
        Functions::of(unsafe { libloading::Library::new(OsStr::new(name)) }.ok()?)
    };
    FUNCTIONS.get_or_init(|| names.iter().find_map(open)).as_ref()
}

/// One of the library's descriptions, destroyed with it.
struct Description {
    handle: Handle,
    set: unsafe extern "C" fn(Handle, i32, *const c_void, usize) -> i32,
    destroy: unsafe extern "C" fn(Handle) -> i32,
}

impl Description {
    /// Sets an attribute of the value's type.
    fn set<T: Copy>(&self, attribute: i32, value: T) -> Option<()> {
        // SAFETY: a live description, and a value of the attribute's type, whose bytes are copied.
        (unsafe { (self.set)(self.handle, attribute, (&raw const value).cast(), size_of::<T>()) } == 0).then_some(())
    }
}

impl Drop for Description {
    fn drop(&mut self) {
        // SAFETY: made once, destroyed once. An error has nobody to go to.
        let _ = unsafe { (self.destroy)(self.handle) };
    }
}

/// A product with all that is decided about it.
struct Call {
    description: Description,
    a: Description,
    b: Description,
    residual: Option<Description>,
    c: Description,
    algorithm: Algorithm,
    workspace: usize,
}

// SAFETY: descriptions are plain memory of the library; a call is behind a lock, as its pointers are set anew for each launch.
unsafe impl Send for Call {}

/// cuBLASLt in one context.
pub(crate) struct CublasLt {
    functions: &'static Functions,
    /// Lives as long as the process, as the context does.
    handle: Handle,
    calls: RwLock<Vec<Arc<Mutex<Call>>>>,
}

// SAFETY: any threads may use a handle, at the same time.
unsafe impl Send for CublasLt {}
// SAFETY: as above.
unsafe impl Sync for CublasLt {}

/// Whether cuBLASLt can do it on an architecture, as far as its documentation says. Of 8-bit floats (from `sm_89` on): rows of both operands run along
/// `k`, all sizes and places are multiples of 16, one of the two is `e4m3`, sums need not have all bits of `f32`, and a bias is a half.
pub(crate) fn can(p: &Product, arch: &str) -> bool {
    // It reads and writes the argument of an activation by lines of 16 bytes, whatever the rest is.
    if !p.inside.before.is_none_or(|before| aligned(&before)) {
        return false;
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
/// begin at multiples of 16 bytes 0.88 to 1.3; `f64` 3.2; TF32 4 to 10.
pub(crate) fn wins(p: &Product) -> bool {
    let (least, least_k) = match (p.compute, p.a.dtype) {
        (DType::F64, _) => (1 << 24, 0),
        (_, DType::F32) if p.tf32 => (1 << 24, 128),
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
    // Below 64 the driver's kernels for few rows read the matrix once, which nothing beats.
    p.work() >= f64::from(least) && p.shortest() >= 64 && even && made && (!p.after || p.k >= least_k)
}

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
    functions()?;
    let scaled = |rate: u32| (f64::from(rate) * f64::from(units.max(1)) / 132.0) as u32;
    let slower = |time: u32| (f64::from(time) * 132.0 / f64::from(units.max(1))) as u32;
    let rates = |own, library, least| Rates { own: scaled(own), library: scaled(library), least, around: [0, 0] };
    // 32768 x 3072 of 768 terms each took 295 microseconds, with bias and GELU 510; 32768 x 768 of 3,072 terms 250, with a residual 331.
    let half = Rates { around: [slower(460), slower(2700)], ..rates(310_000, 380_000, 1 << 29) };
    Some(Library {
        // With GELU inside and its argument kept 32768 x 3072 of 768 terms took 487 microseconds in GPT-2's step, whichever did them (cuBLASLt alone takes 294
        // to 328); with a launch for GELU 407.
        words: Words { scale: true, bias: true, residual: true, relu: true, gelu_tanh: true, before: false, gelu_tanh_slope: false },
        half,
        single: rates(20_500, 25_000, 1 << 29),
        tf32: rates(30_000, 190_000, 1 << 24),
        double: rates(7_800, 25_000, 1 << 24),
        convolution: None,
        shortest: 64,
        copied: COPIED as u32,
        launch: 2000,
        near: NEAR,
    })
}

impl CublasLt {
    /// In the context that is current; `None` if the library is not there or cannot work.
    pub(crate) fn new() -> Option<CublasLt> {
        let functions = functions()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: pointer to a local.
        let made = unsafe { (functions.cublasLtCreate)(&mut handle) } == 0 && !handle.is_null();
        made.then(|| CublasLt { functions, handle, calls: RwLock::default() })
    }

    /// Decides how a product is done: its number, and the bytes of workspace. `None` if the library cannot.
    pub(crate) fn prepare(&self, p: &Product) -> Option<(u64, usize)> {
        let call = self.call(p)?;
        let workspace = call.workspace;
        let mut calls = self.calls.write().unwrap_or_else(PoisonError::into_inner);
        calls.push(Arc::new(Mutex::new(call)));
        Some((calls.len() as u64 - 1, workspace))
    }

    fn layout(&self, matrix: &Matrix, [rows, cols]: [u32; 2], batch: u32) -> Option<Description> {
        // The library counts by columns: it sees each stored row as a column.
        let (run, count) = if matrix.transposed { (rows, cols) } else { (cols, rows) };
        let mut handle = std::ptr::null_mut();
        // SAFETY: pointer to a local.
        let made = unsafe {
            (self.functions.cublasLtMatrixLayoutCreate)(&mut handle, kind(matrix.dtype)?, run.into(), count.into(), matrix.ld.into())
        };
        let layout = Description {
            handle: (made == 0 && !handle.is_null()).then_some(handle)?,
            set: self.functions.cublasLtMatrixLayoutSetAttribute,
            destroy: self.functions.cublasLtMatrixLayoutDestroy,
        };
        if batch > 1 {
            layout.set(LAYOUT_BATCH_COUNT, i32::try_from(batch).ok()?)?;
            layout.set(LAYOUT_BATCH_OFFSET, i64::try_from(matrix.batch_stride).ok()?)?;
        }
        Some(layout)
    }

    fn description(&self, p: &Product) -> Option<Description> {
        let (compute, scale) = match (p.compute, p.tf32) {
            (DType::F64, _) => (COMPUTE_64F, kind(DType::F64)?),
            (DType::F32, true) => (COMPUTE_32F_FAST_TF32, kind(DType::F32)?),
            (DType::F32, false) => (COMPUTE_32F, kind(DType::F32)?),
            _ => return None,
        };
        let mut handle = std::ptr::null_mut();
        // SAFETY: pointer to a local.
        let made = unsafe { (self.functions.cublasLtMatmulDescCreate)(&mut handle, compute, scale) };
        let description = Description {
            handle: (made == 0 && !handle.is_null()).then_some(handle)?,
            set: self.functions.cublasLtMatmulDescSetAttribute,
            destroy: self.functions.cublasLtMatmulDescDestroy,
        };
        // It is asked for the transposed product, of `b` and `a`.
        description.set(DESC_TRANS_A, i32::from(p.b.transposed))?;
        description.set(DESC_TRANS_B, i32::from(p.a.transposed))?;
        let Inside { bias, activation, before, .. } = p.inside;
        let mut epilogue = match activation {
            Activation::None => EPILOGUE_NONE,
            Activation::Relu => EPILOGUE_RELU,
            Activation::GeluTanh => EPILOGUE_GELU,
            // cuBLASLt has a word for it (DGELU), which failed the test of it on an H200, why is not known, and no step was seen to gain by it.
            Activation::GeluTanhSlope => return None,
        };
        if let Some(before) = before {
            epilogue |= EPILOGUE_AUX;
            description.set(DESC_AUX_POINTER, ALIGNMENT)?;
            description.set(DESC_AUX_LD, i64::from(before.ld))?;
            description.set(DESC_AUX_BATCH_STRIDE, i64::try_from(before.batch_stride).ok()?)?;
        }
        if bias.is_some() {
            epilogue = (epilogue & !EPILOGUE_NONE) | EPILOGUE_BIAS;
            description.set(DESC_BIAS_POINTER, ALIGNMENT)?;
            description.set(DESC_BIAS_DATA_TYPE, kind(p.c.dtype)?)?;
        }
        if p.a.dtype.size() == 1 {
            description.set(DESC_FAST_ACCUMULATION, 0i8)?;
        }
        for (attribute, scale) in SCALES.into_iter().zip(p.inside.scales) {
            if scale.is_some() {
                description.set(attribute, ALIGNMENT)?;
            }
        }
        description.set(DESC_EPILOGUE, epilogue)?;
        Some(description)
    }

    fn call(&self, p: &Product) -> Option<Call> {
        let description = self.description(p)?;
        let (a, b) = (self.layout(&p.a, [p.m, p.k], p.batch)?, self.layout(&p.b, [p.k, p.n], p.batch)?);
        let c = self.layout(&p.c, [p.m, p.n], p.batch)?;
        let residual = match &p.inside.residual {
            Some(matrix) => Some(self.layout(matrix, [p.m, p.n], p.batch)?),
            None => None,
        };
        let mut handle = std::ptr::null_mut();
        // SAFETY: pointer to a local.
        let made = unsafe { (self.functions.cublasLtMatmulPreferenceCreate)(&mut handle) };
        let preference = Description {
            handle: (made == 0 && !handle.is_null()).then_some(handle)?,
            set: self.functions.cublasLtMatmulPreferenceSetAttribute,
            destroy: self.functions.cublasLtMatmulPreferenceDestroy,
        };
        preference.set(PREFERENCE_WORKSPACE, MOST_WORKSPACE)?;
        preference.set(PREFERENCE_REDUCTIONS, REDUCTION_COMPUTE_TYPE)?;
        let added = p.inside.residual.unwrap_or(p.c);
        for (attribute, matrix) in PREFERENCE_ALIGNMENTS.into_iter().zip([p.b, p.a, added, p.c]) {
            preference.set(attribute, alignment(matrix.offset, matrix.dtype))?;
        }
        let mut found = Found { algorithm: Algorithm([0; 8]), workspace: 0, status: 0, waves: 0.0, reserved: [0; 4] };
        let mut count = 0;
        // SAFETY: live descriptions, room for the one answer that is asked for, pointers to locals.
        let status = unsafe {
            (self.functions.cublasLtMatmulAlgoGetHeuristic)(
                self.handle,
                description.handle,
                b.handle,
                a.handle,
                residual.as_ref().unwrap_or(&c).handle,
                c.handle,
                preference.handle,
                1,
                &mut found,
                &mut count,
            )
        };
        let usable = status == 0 && count == 1 && found.status == 0 && found.workspace as u64 <= MOST_WORKSPACE;
        usable.then_some(Call { description, a, b, residual, c, algorithm: found.algorithm, workspace: found.workspace })
    }

    /// Queues a product that was prepared; its ranges hold its matrices (the caller's promise).
    pub(crate) fn multiply(&self, id: u64, p: &Product, at: &Operands, workspace: Range, stream: Handle) -> Answer {
        let call = {
            let calls = self.calls.read().unwrap_or_else(PoisonError::into_inner);
            usize::try_from(id).ok().and_then(|id| calls.get(id).cloned())
        };
        let Some(call) = call else { return Answer::Failed("cuBLASLt: the product was not prepared".to_owned()) };
        let call = call.lock().unwrap_or_else(PoisonError::into_inner);
        let scale = |side: usize| Some(address(at.scales[side]?).wrapping_byte_add(p.inside.scales[side]? as usize * DType::F32.size()));
        let pointers = [
            (DESC_BIAS_POINTER, bias(p, at)),
            (DESC_AUX_POINTER, whole(p.inside.before, at.before)),
            (SCALES[0], scale(0)),
            (SCALES[1], scale(1)),
        ];
        for (attribute, pointer) in pointers {
            if let Some(pointer) = pointer
                && call.description.set(attribute, pointer).is_none()
            {
                return Answer::Refused;
            }
        }
        let c = first(at.c, &p.c);
        let residual = whole(p.inside.residual, at.residual);
        // Read on the host before the call returns, as numbers of the compute dtype.
        let beta = if residual.is_some() { 1.0 } else { 0.0 };
        let (wide, narrow) = ([at.scale, beta], [at.scale as f32, beta as f32]);
        let [alpha, beta]: [*const c_void; 2] = match p.compute {
            DType::F64 => [(&raw const wide[0]).cast(), (&raw const wide[1]).cast()],
            _ => [(&raw const narrow[0]).cast(), (&raw const narrow[1]).cast()],
        };
        // SAFETY: descriptions made together for this algorithm; the matrices lie in their ranges, the result apart from all but a residual that is it.
        let status = unsafe {
            (self.functions.cublasLtMatmul)(
                self.handle,
                call.description.handle,
                alpha,
                first(at.b, &p.b),
                call.b.handle,
                first(at.a, &p.a),
                call.a.handle,
                beta,
                residual.unwrap_or(c),
                call.residual.as_ref().unwrap_or(&call.c).handle,
                c,
                call.c.handle,
                &call.algorithm,
                address(workspace),
                call.workspace,
                stream,
            )
        };
        match status {
            0 => Answer::Queued,
            // No memory, values that it does not take, not for this architecture, not supported.
            3 | 7 | 8 | 15 => Answer::Refused,
            1 => Answer::Failed("cuBLASLt: not initialized (1)".to_owned()),
            11 => Answer::Failed("cuBLASLt: mapping error (11)".to_owned()),
            13 => Answer::Failed("cuBLASLt: execution failed (13)".to_owned()),
            other => Answer::Failed(format!("cuBLASLt: status {other}")),
        }
    }
}

fn address(range: Range) -> *mut c_void {
    // The device's address as a pointer that is never followed here.
    std::ptr::without_provenance_mut(range.handle as usize + range.offset)
}

/// A matrix's first element.
fn first(range: Range, matrix: &Matrix) -> *mut c_void {
    address(range).wrapping_byte_add(matrix.offset as usize * matrix.dtype.size())
}

fn whole(matrix: Option<Matrix>, range: Option<Range>) -> Option<*mut c_void> {
    Some(first(range?, &matrix?))
}

fn bias(p: &Product, at: &Operands) -> Option<*mut c_void> {
    Some(address(at.bias?).wrapping_byte_add(p.inside.bias? as usize * p.c.dtype.size()))
}

/// What the address of the first element is a multiple of, at most [`ALIGNMENT`].
fn alignment(offset: u64, dtype: DType) -> u32 {
    let bytes = offset.wrapping_mul(dtype.size() as u64) | ALIGNMENT;
    1 << bytes.trailing_zeros()
}

/// The number of `cudaDataType`.
fn kind(dtype: DType) -> Option<i32> {
    match dtype {
        DType::F32 => Some(0),
        DType::F64 => Some(1),
        DType::F16 => Some(2),
        DType::BF16 => Some(14),
        DType::F8E4M3 => Some(28),
        DType::F8E5M2 => Some(29),
        _ => None, // DEFAULT: the library multiplies no other dtype
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_as_aligned_as_their_offsets() {
        for (offset, dtype, wanted) in
            [(0, DType::F32, 64), (1, DType::F32, 4), (4, DType::F32, 16), (8, DType::BF16, 16), (3, DType::F16, 2)]
        {
            assert_eq!(alignment(offset, dtype), wanted, "{offset} {dtype}");
        }
        assert_eq!(alignment(1 << 40, DType::F64), 64);
    }

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
            (DType::F32, [512; 3], true, false, true),
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

    #[test]
    fn the_answer_is_as_large_as_the_library_writes_it() {
        assert_eq!((size_of::<Algorithm>(), size_of::<Found>()), (64, 96));
    }
}
