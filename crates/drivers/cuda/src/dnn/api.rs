//! The parts of cuDNN 9 that are called: functions, numbers of its headers, and descriptors that are destroyed with their owner.
//!
//! In: attributes of Rust's types. Out: descriptors, which are set, then finished, then only read.
//! Always: a status that is not success is a [`Status`]; an attribute has the type that the header says for it, by [`Attribute`].
//! Never: opens the library where it would end the process: it looks for cuBLASLt of its own CUDA version when it is first asked, and aborts without it.
//!
//! Numbers are those of `cudnn_graph.h`, which says for each since when it is there; none is newer than 9.0.

use crate::loaded::functions;
use std::{
    ffi::{OsStr, c_char, c_void},
    fmt,
    sync::OnceLock,
};

/// A pointer of the library's own.
pub(crate) type Pointer = *mut c_void;

functions! {
    pub(super) struct;
    cudnnGetVersion: fn() -> usize;
    cudnnGetCudartVersion: fn() -> usize;
    cudnnGetErrorString: fn(i32) -> *const c_char;
    cudnnCreate: fn(*mut Pointer) -> i32;
    cudnnSetStream: fn(Pointer, Pointer) -> i32;
    cudnnBackendCreateDescriptor: fn(i32, *mut Pointer) -> i32;
    cudnnBackendDestroyDescriptor: fn(Pointer) -> i32;
    cudnnBackendFinalize: fn(Pointer) -> i32;
    cudnnBackendSetAttribute: fn(Pointer, i32, i32, i64, *const c_void) -> i32;
    cudnnBackendGetAttribute: fn(Pointer, i32, i32, i64, *mut i64, *mut c_void) -> i32;
    cudnnBackendExecute: fn(Pointer, Pointer, Pointer) -> i32;
}

/// Kinds of descriptors (`cudnnBackendDescriptorType_t`).
pub(super) mod kind {
    pub(crate) const POINTWISE: i32 = 0;
    pub(crate) const CONVOLUTION: i32 = 1;
    pub(crate) const ENGINE: i32 = 2;
    pub(crate) const ENGINE_CONFIG: i32 = 3;
    pub(crate) const HEURISTICS: i32 = 4;
    pub(crate) const PLAN: i32 = 5;
    pub(crate) const CONVOLUTION_FORWARD: i32 = 10;
    pub(crate) const CONVOLUTION_WEIGHT: i32 = 11;
    pub(crate) const CONVOLUTION_INPUT: i32 = 12;
    pub(crate) const POINTWISE_OPERATION: i32 = 13;
    pub(crate) const GRAPH: i32 = 15;
    pub(crate) const VARIANT_PACK: i32 = 16;
    pub(crate) const TENSOR: i32 = 17;
    pub(crate) const MATMUL: i32 = 18;
    pub(crate) const MATMUL_OPERATION: i32 = 19;
    pub(crate) const REDUCTION: i32 = 21;
    pub(crate) const REDUCTION_OPERATION: i32 = 22;
    pub(crate) const RESHAPE: i32 = 31;
}

/// Names of attributes (`cudnnBackendAttributeName_t`).
pub(super) mod attribute {
    pub(crate) const POINTWISE_MODE: i32 = 0;
    pub(crate) const POINTWISE_COMPUTE: i32 = 1;
    pub(crate) const POINTWISE_NAN: i32 = 2;
    pub(crate) const POINTWISE_AXIS: i32 = 9;
    pub(crate) const CONVOLUTION_COMPUTE: i32 = 100;
    pub(crate) const CONVOLUTION_MODE: i32 = 101;
    pub(crate) const CONVOLUTION_DILATIONS: i32 = 102;
    pub(crate) const CONVOLUTION_STRIDES: i32 = 103;
    pub(crate) const CONVOLUTION_PADDING_AFTER: i32 = 104;
    pub(crate) const CONVOLUTION_PADDING_BEFORE: i32 = 105;
    pub(crate) const CONVOLUTION_AXES: i32 = 106;
    pub(crate) const HEURISTICS_MODE: i32 = 200;
    pub(crate) const HEURISTICS_GRAPH: i32 = 201;
    pub(crate) const HEURISTICS_RESULTS: i32 = 202;
    pub(crate) const CONFIG_ENGINE: i32 = 300;
    pub(crate) const PLAN_HANDLE: i32 = 400;
    pub(crate) const PLAN_CONFIG: i32 = 401;
    pub(crate) const PLAN_WORKSPACE: i32 = 402;
    /// Of the operations of a convolution and its gradients the first; the others follow, in the same order for all three.
    pub(crate) const FORWARD: i32 = 700;
    pub(crate) const INPUT: i32 = 706;
    pub(crate) const WEIGHT: i32 = 712;
    pub(crate) const ALPHA: i32 = 0;
    pub(crate) const BETA: i32 = 1;
    pub(crate) const SETTINGS: i32 = 2;
    pub(crate) const W: i32 = 3;
    pub(crate) const X: i32 = 4;
    pub(crate) const Y: i32 = 5;
    pub(crate) const POINTWISE_SETTINGS: i32 = 750;
    pub(crate) const POINTWISE_X: i32 = 751;
    pub(crate) const POINTWISE_B: i32 = 752;
    pub(crate) const POINTWISE_Y: i32 = 753;
    /// What chooses between the two operands.
    pub(crate) const POINTWISE_T: i32 = 758;
    pub(crate) const GRAPH_HANDLE: i32 = 800;
    pub(crate) const GRAPH_OPERATIONS: i32 = 801;
    pub(crate) const TENSOR_ALIGNMENT: i32 = 900;
    pub(crate) const TENSOR_DTYPE: i32 = 901;
    pub(crate) const TENSOR_SIZES: i32 = 902;
    pub(crate) const TENSOR_STRIDES: i32 = 903;
    pub(crate) const TENSOR_ID: i32 = 906;
    pub(crate) const TENSOR_VIRTUAL: i32 = 907;
    pub(crate) const TENSOR_BY_VALUE: i32 = 908;
    pub(crate) const PACK_IDS: i32 = 1000;
    pub(crate) const PACK_POINTERS: i32 = 1001;
    pub(crate) const PACK_WORKSPACE: i32 = 1003;
    pub(crate) const ENGINE_NOTES: i32 = 1303;
    pub(crate) const MATMUL_COMPUTE: i32 = 1500;
    pub(crate) const MATMUL_A: i32 = 1520;
    pub(crate) const MATMUL_B: i32 = 1521;
    pub(crate) const MATMUL_C: i32 = 1522;
    pub(crate) const MATMUL_SETTINGS: i32 = 1523;
    pub(crate) const REDUCTION_MODE: i32 = 1600;
    pub(crate) const REDUCTION_COMPUTE: i32 = 1601;
    pub(crate) const REDUCTION_X: i32 = 1610;
    pub(crate) const REDUCTION_Y: i32 = 1611;
    pub(crate) const REDUCTION_SETTINGS: i32 = 1612;
    pub(crate) const RESHAPE_X: i32 = 2200;
    pub(crate) const RESHAPE_Y: i32 = 2201;
}

/// A value of an enumeration, with the number of its type (`cudnnBackendAttributeType_t`).
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Choice<const TYPE: i32>(pub(super) i32);

/// `cudnnDataType_t`.
pub(super) type DataType = Choice<1>;
pub(super) const FLOAT: DataType = Choice(0);
pub(super) const HALF: DataType = Choice(2);
pub(super) const INT32: DataType = Choice(4);
pub(super) const BFLOAT16: DataType = Choice(9);
pub(super) const BOOLEAN: DataType = Choice(11);

/// `cudnnConvolutionMode_t`: taps are not reversed.
pub(super) const CROSS_CORRELATION: Choice<7> = Choice(1);

/// `cudnnBackendHeurMode_t`.
pub(super) type Mode = Choice<8>;
/// By a table, which the documentation prefers to others.
pub(super) const TABLE: Mode = Choice(3);
/// What works, however slowly.
pub(super) const FALLBACK: Mode = Choice(2);

/// `cudnnNanPropagation_t`.
pub(super) const PROPAGATE_NAN: Choice<10> = Choice(1);

/// `cudnnBackendNumericalNote_t`: what an engine says of its results.
pub(super) type Note = Choice<11>;
pub(super) const TENSOR_CORE: Note = Choice(0);
/// NaN stays NaN, which every engine is asked for by the settings of its operations.
pub(super) const STRICT_NAN: Note = Choice(9);
/// How many there may be; newer versions may have more.
pub(super) const MOST_NOTES: usize = 32;

/// `cudnnPointwiseMode_t`.
pub(super) type Pointwise = Choice<14>;
pub(super) const ADD: Pointwise = Choice(0);
pub(super) const MUL: Pointwise = Choice(1);
pub(super) const DIV: Pointwise = Choice(6);
pub(super) const SUB: Pointwise = Choice(9);
pub(super) const EXP: Pointwise = Choice(13);
pub(super) const LOG: Pointwise = Choice(15);
pub(super) const IDENTITY: Pointwise = Choice(21);
pub(super) const RELU: Pointwise = Choice(100);
pub(super) const GELU_TANH: Pointwise = Choice(107);
pub(super) const AT_LEAST: Pointwise = Choice(303);
/// The index along an axis.
pub(super) const INDEX: Pointwise = Choice(501);
/// The first operand where a third one is true, else the second.
pub(super) const SELECT: Pointwise = Choice(601);

/// `cudnnReduceTensorOp_t`.
pub(super) type Reduction = Choice<18>;
pub(super) const SUM: Reduction = Choice(0);
pub(super) const MAX: Reduction = Choice(3);

/// The type of an attribute's elements. A descriptor is none: it is set by [`Descriptor::point`].
///
/// # Safety
/// A value has the size and form that the library reads for the type of this number.
pub(super) unsafe trait Attribute: Copy {
    const TYPE: i32;
}

// SAFETY: an enumeration of C's, which is an `int`.
unsafe impl<const TYPE: i32> Attribute for Choice<TYPE> {
    const TYPE: i32 = TYPE;
}
/// The library's handle, which has a type of its own.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(super) struct Handle(pub(super) Pointer);
// SAFETY: `cudnnHandle_t` is a pointer.
unsafe impl Attribute for Handle {
    const TYPE: i32 = 0;
}
// SAFETY: C's `bool`.
unsafe impl Attribute for bool {
    const TYPE: i32 = 2;
}
// SAFETY: `int64_t`.
unsafe impl Attribute for i64 {
    const TYPE: i32 = 3;
}
// SAFETY: C's `float`.
unsafe impl Attribute for f32 {
    const TYPE: i32 = 4;
}
// SAFETY: `void *`.
unsafe impl Attribute for Pointer {
    const TYPE: i32 = 6;
}
/// The type of descriptors.
const DESCRIPTOR: i32 = 15;

/// Why a call did nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Status(i32);

impl Status {
    /// What is there is not what the library promised.
    pub(super) const UNEXPECTED: Status = Status(4002);

    /// Success as nothing.
    pub(super) fn check(status: i32) -> Result<(), Status> {
        if status == 0 { Ok(()) } else { Err(Status(status)) }
    }

    /// Whether the library only says that it does not do this, or that it lacks memory: parameters (from 2000 on), what is not supported (from 3000
    /// on), programs that do not compile, memory of the host or of the device.
    pub(super) fn is_refusal(self) -> bool {
        matches!(self.0, 2000..=3999 | 4001 | 4003 | 4004)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = functions().and_then(|functions| {
            // SAFETY: takes any number and gives a static string or null.
            let text = unsafe { (functions.cudnnGetErrorString)(self.0) };
            // SAFETY: a static, terminated string.
            (!text.is_null()).then(|| unsafe { std::ffi::CStr::from_ptr(text) }.to_string_lossy())
        });
        write!(f, "cuDNN: {} ({})", words.as_deref().unwrap_or("failed"), self.0)
    }
}

/// The library, opened once; `None` where it is not there, or where it would not find what it needs.
pub(super) fn functions() -> Option<&'static Functions> {
    static FUNCTIONS: OnceLock<Option<Functions>> = OnceLock::new();
    let names: &[&str] = if cfg!(windows) { &["cudnn64_9.dll"] } else { &["libcudnn.so.9"] };
    let open = |name: &&str| {
        // SAFETY: NVIDIA's library, whose initialisers do nothing to this process.
        Functions::of(unsafe { libloading::Library::new(OsStr::new(name)) }.ok()?)
    };
    let usable = |functions: &Functions| {
        // SAFETY: takes nothing, gives a number as 13000.
        let major = unsafe { (functions.cudnnGetCudartVersion)() } / 1000;
        static LINEAR: OnceLock<Option<libloading::Library>> = OnceLock::new();
        let name = if cfg!(windows) { format!("cublasLt64_{major}.dll") } else { format!("libcublasLt.so.{major}") };
        // SAFETY: NVIDIA's library, as above; it stays open.
        LINEAR.get_or_init(|| unsafe { libloading::Library::new(OsStr::new(&name)) }.ok()).is_some()
    };
    FUNCTIONS.get_or_init(|| names.iter().find_map(open).filter(usable)).as_ref()
}

/// One of the library's descriptors, destroyed with its owner.
pub(super) struct Descriptor {
    pointer: Pointer,
    functions: &'static Functions,
}

// SAFETY: memory of the library that any thread may use; it is only read once it is finished, and shared only then.
unsafe impl Send for Descriptor {}
// SAFETY: as above.
unsafe impl Sync for Descriptor {}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: made once, destroyed once. An error has nowhere to go.
        let _ = unsafe { (self.functions.cudnnBackendDestroyDescriptor)(self.pointer) };
    }
}

impl Descriptor {
    /// An empty one.
    pub(super) fn new(functions: &'static Functions, kind: i32) -> Result<Descriptor, Status> {
        let mut pointer = std::ptr::null_mut();
        // SAFETY: pointer to a local.
        Status::check(unsafe { (functions.cudnnBackendCreateDescriptor)(kind, &mut pointer) })?;
        if pointer.is_null() {
            return Err(Status::UNEXPECTED);
        }
        Ok(Descriptor { pointer, functions })
    }

    fn set_raw(self, attribute: i32, of: i32, count: usize, values: *const c_void) -> Result<Descriptor, Status> {
        let count = i64::try_from(count).map_err(|_| Status::UNEXPECTED)?;
        // SAFETY: a live descriptor, and as many values of the type as said, which are copied.
        Status::check(unsafe { (self.functions.cudnnBackendSetAttribute)(self.pointer, attribute, of, count, values) })?;
        Ok(self)
    }

    /// With the attribute's values.
    pub(super) fn with<T: Attribute>(self, attribute: i32, values: &[T]) -> Result<Descriptor, Status> {
        self.set_raw(attribute, T::TYPE, values.len(), values.as_ptr().cast())
    }

    /// With other descriptors, which are finished, as the attribute's values.
    pub(super) fn point(self, attribute: i32, others: &[&Descriptor]) -> Result<Descriptor, Status> {
        let pointers: Vec<Pointer> = others.iter().map(|other| other.pointer).collect();
        self.set_raw(attribute, DESCRIPTOR, pointers.len(), pointers.as_ptr().cast())
    }

    /// Checked by the library as a whole.
    pub(super) fn finish(self) -> Result<Descriptor, Status> {
        // SAFETY: a live descriptor.
        Status::check(unsafe { (self.functions.cudnnBackendFinalize)(self.pointer) }).map(|()| self)
    }

    /// Values of an attribute of a finished descriptor, as many as there are and fit.
    pub(super) fn get<T: Attribute>(&self, attribute: i32, into: &mut [T]) -> Result<usize, Status> {
        let room = i64::try_from(into.len()).map_err(|_| Status::UNEXPECTED)?;
        let mut count = 0;
        // SAFETY: a live descriptor, room for as many values of the type as said, pointer to a local.
        let got = unsafe {
            (self.functions.cudnnBackendGetAttribute)(self.pointer, attribute, T::TYPE, room, &mut count, into.as_mut_ptr().cast())
        };
        Status::check(got)?;
        Ok(usize::try_from(count).unwrap_or(0).min(into.len()))
    }

    /// How many descriptors an attribute has.
    pub(super) fn count(&self, attribute: i32) -> Result<usize, Status> {
        let mut count = 0;
        // SAFETY: as above, with no room at all.
        let got =
            unsafe { (self.functions.cudnnBackendGetAttribute)(self.pointer, attribute, DESCRIPTOR, 0, &mut count, std::ptr::null_mut()) };
        Status::check(got).map(|()| usize::try_from(count).unwrap_or(0))
    }

    /// Fills empty descriptors with those of an attribute: how many it has filled.
    pub(super) fn fill(&self, attribute: i32, empty: &[Descriptor]) -> Result<usize, Status> {
        let mut pointers: Vec<Pointer> = empty.iter().map(|empty| empty.pointer).collect();
        let room = i64::try_from(pointers.len()).map_err(|_| Status::UNEXPECTED)?;
        let mut count = 0;
        // SAFETY: live descriptors of the kind that the attribute has, as many as said; pointer to a local.
        let got = unsafe {
            (self.functions.cudnnBackendGetAttribute)(self.pointer, attribute, DESCRIPTOR, room, &mut count, pointers.as_mut_ptr().cast())
        };
        Status::check(got).map(|()| usize::try_from(count).unwrap_or(0).min(empty.len()))
    }

    /// The library's pointer, for a call that takes one.
    pub(super) fn pointer(&self) -> Pointer {
        self.pointer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_have_the_sizes_of_the_header() {
        assert_eq!((size_of::<DataType>(), size_of::<Note>(), size_of::<bool>()), (4, 4, 1));
        assert_eq!((size_of::<Handle>(), size_of::<Pointer>()), (size_of::<usize>(), size_of::<usize>()));
        assert_eq!((DataType::TYPE, Mode::TYPE, Note::TYPE, Pointwise::TYPE, <Pointer as Attribute>::TYPE), (1, 8, 11, 14, 6));
    }

    #[test]
    fn a_refusal_is_no_failure() {
        for (status, wanted) in [(2000, true), (2003, true), (3000, true), (3014, true), (4001, true), (4003, true), (4004, true)] {
            assert_eq!(Status(status).is_refusal(), wanted, "{status}");
        }
        for status in [1001, 1008, 4000, 4002, 5000, 5003] {
            assert!(!Status(status).is_refusal(), "{status}");
        }
        assert_eq!(Status::check(0), Ok(()));
        assert_eq!(Status::check(3000), Err(Status(3000)));
    }

    #[test]
    fn the_library_makes_descriptors_where_it_is_there() {
        let Some(functions) = functions() else {
            println!("SKIPPED: no cuDNN 9 on this machine");
            return;
        };
        let tensor = |sizes: &[i64], strides: &[i64]| {
            let empty = Descriptor::new(functions, kind::TENSOR)?;
            let with = empty.with(attribute::TENSOR_DTYPE, &[BFLOAT16])?.with(attribute::TENSOR_SIZES, sizes)?;
            let with = with.with(attribute::TENSOR_STRIDES, strides)?.with(attribute::TENSOR_ALIGNMENT, &[16i64])?;
            with.with(attribute::TENSOR_ID, &[1i64])?.finish()
        };
        let made = tensor(&[2, 3, 4, 5], &[60, 1, 15, 3]).unwrap();
        let mut sizes = [0i64; 8];
        assert_eq!((made.get(attribute::TENSOR_SIZES, &mut sizes), &sizes[..4]), (Ok(4), &[2, 3, 4, 5][..]));
        let status = tensor(&[2, 3, 4, 5], &[60, 1]).err();
        assert!(status.is_some_and(Status::is_refusal), "{status:?}");
    }
}
