//! The library's calls: how a product is described to it, and queued.
//!
//! In: a [`Product`], then its memory. Out: a description that is made once, with the algorithms that the heuristic puts first, and the call.
//! Always: what is queued is the choice of before, if there is one. Where a product may be timed ([`CublasLt::may_time`]), its first call runs the candidates
//! on the product's own memory, which all leave with the same product but for its last bits, and then the one that was chosen.
//! Never: times while a graph is captured, or a product whose residual is its result, which a second run would add to.

use super::choice::{self, Choices};
use crate::{
    backend::Failure,
    loaded::{Answer, functions},
};
use std::{
    collections::BTreeMap,
    ffi::{OsStr, c_void},
    sync::{Arc, Mutex, OnceLock, PoisonError, RwLock},
};
use unigrad_device::Config;
use unigrad_gpu::{Activation, Inside, Matrix, Operands, Product, Range};
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
const EPILOGUE_DGELU: u32 = 64 | EPILOGUE_AUX;

/// `cublasLtMatmulAlgo_t`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Algorithm(pub(super) [u64; 8]);

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
    cublasLtGetVersion: fn() -> usize;
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

/// Whether the library is there. To look opens it, and makes nothing.
pub(super) fn is_there() -> bool {
    functions().is_some()
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
        // SAFETY: made once, destroyed once. An error has nowhere to go.
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
    /// The first is the heuristic's choice; one at least.
    candidates: Vec<Candidate>,
    /// Which of them does the product; `None`: the first, until it is chosen by time.
    chosen: Option<usize>,
    may_time: bool,
    /// See [`Choices::name`].
    name: String,
}

/// An algorithm, and the bytes of workspace that it needs.
#[derive(Clone, Copy)]
struct Candidate {
    algorithm: Algorithm,
    workspace: usize,
}

impl Call {
    /// Bytes that whichever algorithm is chosen needs.
    fn workspace(&self) -> usize {
        self.candidates.iter().map(|candidate| candidate.workspace).max().unwrap_or(0)
    }
}

// SAFETY: descriptions are plain memory of the library; a call is behind a lock, as its pointers are set anew for each launch.
unsafe impl Send for Call {}

/// cuBLASLt in one context.
pub(crate) struct CublasLt {
    functions: &'static Functions,
    /// Lives as long as the process, as the context does.
    handle: Handle,
    calls: RwLock<Vec<Arc<Mutex<Call>>>>,
    /// The device's name, as choices are kept under it.
    device: String,
    version: usize,
    choices: Choices,
}

// SAFETY: any threads may use a handle, at the same time.
unsafe impl Send for CublasLt {}
// SAFETY: as above.
unsafe impl Sync for CublasLt {}

impl CublasLt {
    /// In the context that is current, of a device of this name; `None` if the library is not there or cannot work.
    pub(crate) fn new(device: String) -> Option<CublasLt> {
        let functions = functions()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: pointer to a local.
        let made = unsafe { (functions.cublasLtCreate)(&mut handle) } == 0 && !handle.is_null();
        // SAFETY: takes nothing.
        let version = unsafe { (functions.cublasLtGetVersion)() };
        made.then(|| CublasLt { functions, handle, calls: RwLock::default(), device, version, choices: Choices::default() })
    }

    /// Decides how a product is done: its number, and the bytes of workspace. `None` if the library cannot.
    pub(crate) fn prepare(&self, p: &Product) -> Option<(u64, usize)> {
        let mut call = self.call(p)?;
        if Config::current_or_default().reproducible {
            call.candidates.truncate(1);
        }
        if call.candidates.len() == 1 {
            call.chosen = Some(0);
        } else if let Some(kept) = self.choices.find(&call.name) {
            call.chosen = call.candidates.iter().position(|candidate| candidate.algorithm == kept);
            if call.chosen.is_none() {
                self.choices.forget(&call.name);
            }
        }
        let workspace = call.workspace();
        let mut calls = self.calls.write().unwrap_or_else(PoisonError::into_inner);
        calls.push(Arc::new(Mutex::new(call)));
        Some((calls.len() as u64 - 1, workspace))
    }

    /// Of these parts of a plan, by number and nanoseconds and each as often as it is launched, the heaviest may be timed when they run first.
    pub(crate) fn may_time(&self, parts: impl Iterator<Item = (u64, f64)>) {
        let mut weights: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
        for (id, nanoseconds) in parts {
            weights.entry(id).or_insert((0.0, nanoseconds)).0 += nanoseconds;
        }
        let mut heaviest: Vec<(u64, (f64, f64))> = weights.into_iter().collect();
        heaviest.sort_by(|x, y| y.1.0.total_cmp(&x.1.0));
        let mut spent = 0.0;
        for (id, (_, nanoseconds)) in heaviest {
            let Some(call) = self.find(id) else { continue };
            let mut call = call.lock().unwrap_or_else(PoisonError::into_inner);
            let cost = choice::cost(nanoseconds);
            if call.chosen.is_none() && !call.may_time && spent + cost <= choice::MOST_IN_A_PLAN {
                (call.may_time, spent) = (true, spent + cost);
            }
        }
    }

    /// See [`unigrad_device::Choices`].
    pub(crate) fn choices(&self) -> &Choices {
        &self.choices
    }

    fn find(&self, id: u64) -> Option<Arc<Mutex<Call>>> {
        let calls = self.calls.read().unwrap_or_else(PoisonError::into_inner);
        usize::try_from(id).ok().and_then(|id| calls.get(id).cloned())
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
            Activation::GeluTanhSlope => EPILOGUE_DGELU,
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
        let none = Found { algorithm: Algorithm([0; 8]), workspace: 0, status: 0, waves: 0.0, reserved: [0; 4] };
        let mut found = [none; choice::CANDIDATES];
        let mut count = 0;
        // SAFETY: live descriptions, room for the answers that are asked for, pointers to locals.
        let status = unsafe {
            (self.functions.cublasLtMatmulAlgoGetHeuristic)(
                self.handle,
                description.handle,
                b.handle,
                a.handle,
                residual.as_ref().unwrap_or(&c).handle,
                c.handle,
                preference.handle,
                choice::CANDIDATES as i32,
                found.as_mut_ptr(),
                &mut count,
            )
        };
        let answers = found.iter().take(usize::try_from(count).unwrap_or(0)).filter(|_| status == 0);
        let usable = answers.filter(|found| found.status == 0 && found.workspace as u64 <= MOST_WORKSPACE);
        let candidates: Vec<Candidate> = usable.map(|found| Candidate { algorithm: found.algorithm, workspace: found.workspace }).collect();
        let name = Choices::name(&self.device, self.version, p);
        (!candidates.is_empty()).then_some(Call { description, a, b, residual, c, candidates, chosen: None, may_time: false, name })
    }

    /// Queues a product that was prepared; its ranges hold its matrices (the caller's promise).
    /// `is_captured`: the stream collects a graph.
    pub(crate) fn multiply(
        &self,
        id: u64,
        (p, at): (&Product, &Operands),
        workspace: Range,
        (stream, is_captured): (Handle, bool),
    ) -> Result<Answer, Failure> {
        let Some(call) = self.find(id) else { return Ok(Answer::Failed("cuBLASLt: the product was not prepared".to_owned())) };
        let mut call = call.lock().unwrap_or_else(PoisonError::into_inner);
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
                return Ok(Answer::Refused);
            }
        }
        let c = first(at.c, &p.c);
        let residual = whole(p.inside.residual, at.residual);
        // Read on the host before the call returns, as numbers of the compute dtype.
        let beta = if residual.is_some() { 1.0 } else { 0.0 };
        let (wide, narrow) = ([at.scale, beta], [at.scale as f32, beta as f32]);
        let [alpha, beta]: [*const c_void; 2] = if p.compute == DType::F64 {
            [(&raw const wide[0]).cast(), (&raw const wide[1]).cast()]
        } else {
            [(&raw const narrow[0]).cast(), (&raw const narrow[1]).cast()]
        };
        let run = |call: &Call, candidate: usize| {
            let Some(Candidate { algorithm, workspace: needs }) = call.candidates.get(candidate) else { return NOT_SUPPORTED };
            // SAFETY: descriptions made together for this algorithm; the matrices lie in their ranges, the result apart from all but a residual that is
            // it; the workspace has what any of the candidates asks for.
            unsafe {
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
                    algorithm,
                    address(workspace),
                    *needs,
                    stream,
                )
            }
        };
        if call.chosen.is_none() && call.may_time && !is_captured && residual != Some(c) {
            let fastest = choice::fastest(call.candidates.len(), stream.cast(), |candidate| run(&call, candidate) == 0)?;
            // Where none has run, the call below says why.
            call.chosen = Some(fastest.unwrap_or(0));
            if let Some(candidate) = fastest {
                self.choices.keep(&call.name, call.candidates[candidate].algorithm);
            }
        }
        let mut status = run(&call, call.chosen.unwrap_or(0));
        if is_refusal(status) && call.chosen.is_some_and(|chosen| chosen != 0) {
            self.choices.forget(&call.name);
            call.chosen = Some(0);
            status = run(&call, 0);
        }
        Ok(match status {
            0 => Answer::Queued,
            status if is_refusal(status) => Answer::Refused,
            1 => Answer::Failed("cuBLASLt: not initialized (1)".to_owned()),
            11 => Answer::Failed("cuBLASLt: mapping error (11)".to_owned()),
            13 => Answer::Failed("cuBLASLt: execution failed (13)".to_owned()),
            other => Answer::Failed(format!("cuBLASLt: status {other}")),
        })
    }
}

/// `CUBLAS_STATUS_NOT_SUPPORTED`.
const NOT_SUPPORTED: i32 = 15;

/// Nothing is queued: no memory, values that it does not take, not for this architecture, not supported.
fn is_refusal(status: i32) -> bool {
    matches!(status, 3 | 7 | 8 | NOT_SUPPORTED)
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
        // The library multiplies none of them.
        DType::Bool | DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::U32 | DType::I32 | DType::U64 | DType::I64 => None,
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
    fn the_answer_is_as_large_as_the_library_writes_it() {
        assert_eq!((size_of::<Algorithm>(), size_of::<Found>()), (64, 96));
    }
}
