//! DLPack's structures, as version 1.1 of its header has them.
//!
//! In: nothing. Out: the layout of what capsules point to; dtypes and devices by its codes.

use std::ffi::c_void;
use unigrad::tensor::DType;

/// The version that is spoken here.
pub(super) const VERSION: (u32, u32) = (1, 1);
/// Capsules of version 1 and newer, before and after they are taken.
pub(super) const VERSIONED: (&std::ffi::CStr, &std::ffi::CStr) = (c"dltensor_versioned", c"used_dltensor_versioned");
/// Capsules of older versions.
pub(super) const UNVERSIONED: (&std::ffi::CStr, &std::ffi::CStr) = (c"dltensor", c"used_dltensor");

pub(super) const READ_ONLY: u64 = 1;
pub(super) const IS_COPIED: u64 = 2;

pub(super) const CPU: i32 = 1;
pub(super) const CUDA: i32 = 2;
pub(super) const CUDA_HOST: i32 = 3;

/// The devices that DLPack knows, for messages.
pub(super) fn device_name(kind: i32) -> &'static str {
    match kind {
        CPU => "CPU",
        CUDA => "CUDA",
        CUDA_HOST => "page-locked host memory",
        4 => "OpenCL",
        7 => "Vulkan",
        8 => "Metal",
        10 => "ROCm",
        11 => "page-locked host memory of ROCm",
        13 => "managed memory of CUDA",
        14 => "oneAPI",
        15 => "WebGPU",
        _ => "another kind of device",
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Device {
    pub(super) kind: i32,
    pub(super) id: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) code: u8,
    pub(super) bits: u8,
    pub(super) lanes: u16,
}

#[repr(C)]
pub(super) struct DlTensor {
    pub(super) data: *mut c_void,
    pub(super) device: Device,
    pub(super) ndim: i32,
    pub(super) dtype: Element,
    pub(super) shape: *mut i64,
    /// In elements; null for row-major.
    pub(super) strides: *mut i64,
    pub(super) byte_offset: u64,
}

#[repr(C)]
pub(super) struct Version {
    pub(super) major: u32,
    pub(super) minor: u32,
}

#[repr(C)]
pub(super) struct Managed {
    pub(super) tensor: DlTensor,
    pub(super) context: *mut c_void,
    pub(super) deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
pub(super) struct ManagedVersioned {
    pub(super) version: Version,
    pub(super) context: *mut c_void,
    pub(super) deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    pub(super) flags: u64,
    pub(super) tensor: DlTensor,
}

const INT: u8 = 0;
const UINT: u8 = 1;
const FLOAT: u8 = 2;
const BFLOAT: u8 = 4;
const COMPLEX: u8 = 5;
const BOOL: u8 = 6;
const FLOAT8_E4M3FN: u8 = 10;
const FLOAT8_E5M2: u8 = 12;

const DTYPES: &[(DType, u8, u8)] = &[
    (DType::Bool, BOOL, 8),
    (DType::U8, UINT, 8),
    (DType::I8, INT, 8),
    (DType::U16, UINT, 16),
    (DType::I16, INT, 16),
    (DType::U32, UINT, 32),
    (DType::I32, INT, 32),
    (DType::U64, UINT, 64),
    (DType::I64, INT, 64),
    (DType::F16, FLOAT, 16),
    (DType::BF16, BFLOAT, 16),
    (DType::F32, FLOAT, 32),
    (DType::F64, FLOAT, 64),
    (DType::F8E4M3, FLOAT8_E4M3FN, 8),
    (DType::F8E5M2, FLOAT8_E5M2, 8),
];

/// A dtype's codes.
pub(super) fn element(dtype: DType) -> Option<Element> {
    DTYPES.iter().find(|(known, ..)| *known == dtype).map(|(_, code, bits)| Element { code: *code, bits: *bits, lanes: 1 })
}

/// The dtype of codes, or what they are.
pub(super) fn dtype(element: Element) -> Result<DType, String> {
    let known = DTYPES.iter().find(|(_, code, bits)| (*code, *bits, 1) == (element.code, element.bits, element.lanes));
    known.map(|(dtype, ..)| *dtype).ok_or_else(|| match element {
        Element { code: COMPLEX, bits, lanes: 1 } => format!("complex{bits}"),
        Element { code, bits, lanes } => format!("elements of DLPack's code {code} with {bits} bits and {lanes} lanes"),
    })
}
