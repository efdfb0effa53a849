//! What a GPU is: its name, limits, neighbours, and what programs for it may use.
//!
//! In: a device's number. Out: what the driver API says of it, without opening it.
//! Always: a query that fails is an error with the driver's words. Never: makes a context.

use crate::{BACKEND, api, compile};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use std::ffi::{CStr, CString};
use unigrad_device::{Info, Link};
use unigrad_ir::{Dialect, FragmentShape, Target};
use unigrad_scalar::DType;

pub(crate) fn attribute(device: sys::CUdevice, attribute: Attribute) -> Result<i32, String> {
    let mut value = 0;
    // SAFETY: pointer to a local.
    api::check(unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, device) })?;
    Ok(value)
}

/// `90` for compute capability 9.0.
pub(crate) fn capability(device: sys::CUdevice) -> Result<i32, String> {
    let major = attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    Ok(10 * major + attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?)
}

pub(crate) fn handle(ordinal: usize) -> Result<sys::CUdevice, String> {
    let mut device = 0;
    let ordinal = i32::try_from(ordinal).map_err(|_| "no such device".to_owned())?;
    // SAFETY: pointer to a local.
    api::check(unsafe { sys::cuDeviceGet(&mut device, ordinal) })?;
    Ok(device)
}

/// The PCI address of a device, by which NVML knows it too.
pub(crate) fn bus_id(ordinal: usize) -> Result<CString, String> {
    let mut text = [0; 32];
    // SAFETY: a buffer of the length said.
    api::check(unsafe { sys::cuDeviceGetPCIBusId(text.as_mut_ptr(), text.len() as i32, handle(ordinal)?) })?;
    // SAFETY: the driver terminates the text within the buffer.
    Ok(unsafe { CStr::from_ptr(text.as_ptr()) }.to_owned())
}

/// How the devices are connected.
pub(crate) fn links() -> Vec<Link> {
    let count = api::devices().unwrap_or(0);
    let pairs = (0..count).flat_map(|from| (0..count).filter(move |to| *to != from).map(move |to| (from, to)));
    let link = |(from, to)| {
        let mut access = 0;
        // SAFETY: pointer to a local.
        api::check(unsafe { sys::cuDeviceCanAccessPeer(&mut access, handle(from)?, handle(to)?) })?;
        let kind = unigrad_nvml::connection(&bus_id(from)?, &bus_id(to)?).unwrap_or_default();
        Ok::<_, String>(Link { from, to, peer_access: access != 0, kind })
    };
    pairs.filter_map(|pair| link(pair).ok()).collect()
}

/// What a device is, without opening it. Free memory is unknown then.
pub(crate) fn describe(ordinal: usize) -> Result<Info, String> {
    let device = handle(ordinal)?;
    let mut name = [0; 256];
    let mut total = 0;
    // SAFETY: buffers of the lengths said.
    unsafe {
        api::check(sys::cuDeviceGetName(name.as_mut_ptr(), name.len() as i32, device))?;
        api::check(sys::cuDeviceTotalMem_v2(&mut total, device))?;
    }
    // SAFETY: the driver terminates the name within the buffer.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
    let capability = capability(device)?;
    let cuda = api::version();
    let mut features = vec![format!("sm_{capability}"), "f16".to_owned(), "f64".to_owned()];
    if capability >= 80 {
        features.push("bf16".to_owned());
        features.push("tensor cores".to_owned());
    }
    if attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_INTEGRATED)? != 0 {
        features.push("unified memory".to_owned());
    }
    Ok(Info {
        backend: BACKEND,
        ordinal,
        name,
        version: match unigrad_nvml::driver_version() {
            Some(driver) => format!("driver {driver}, CUDA {}.{}", cuda / 1000, cuda % 1000 / 10),
            None => format!("CUDA {}.{}", cuda / 1000, cuda % 1000 / 10),
        },
        memory_total: total as u64,
        memory_free: 0,
        compute_units: usize::try_from(attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?).unwrap_or(0),
        features,
        software: false,
        rank: 0,
        limits: limits(device)?,
    })
}

fn limits(device: sys::CUdevice) -> Result<Vec<(&'static str, u64)>, String> {
    let named = [
        ("threads per workgroup", Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        ("shared memory bytes per workgroup", Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        ("registers per multiprocessor", Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
        ("subgroup size", Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE),
        ("L2 cache bytes", Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE),
        ("memory bus bits", Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
    ];
    let mut limits: Vec<(&'static str, u64)> = named
        .into_iter()
        .map(|(name, which)| Ok((name, u64::try_from(attribute(device, which)?).unwrap_or(0))))
        .collect::<Result<_, String>>()?;
    // The memory's rate as the data sheet has it: both edges of its clock, in kHz. Newer drivers may not tell the clock any more.
    let stated = |which| attribute(device, which).ok().and_then(|value| u64::try_from(value).ok()).filter(|value| *value > 0);
    if let (Some(khz), Some(bits)) =
        (stated(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE), stated(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH))
    {
        limits.push((unigrad_device::STATED_BANDWIDTH, 2 * khz * 1000 * bits / 8));
    }
    Ok(limits)
}

pub(crate) fn target(device: sys::CUdevice) -> Result<Target, String> {
    let get = |which| attribute(device, which).map(|value| u32::try_from(value).unwrap_or(0));
    let capability = capability(device)?;
    // Since CUDA 12.1 a launch passes more: an update of hundreds of tensors is one launch.
    let much = capability >= 70 && api::version() >= 12_010 && compile::version().is_ok_and(|version| version >= (12, 1));
    let shape = |m, n, k, input| FragmentShape { m, n, k, input, sum: DType::F32 };
    let mut fragments = Vec::new();
    if capability >= 70 {
        fragments.push(shape(16, 16, 16, DType::F16));
    }
    if capability >= 80 {
        fragments.extend([shape(16, 16, 16, DType::BF16), shape(16, 16, 8, DType::F32)]);
    }
    Ok(Target {
        dialect: Dialect::Cuda,
        arch: format!("sm_{capability}"),
        max_threads: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        max_grid: [
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
        ],
        shared_bytes: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)? as usize,
        subgroup: Some(get(Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?),
        compute_units: get(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        max_buffers: if much { 2048 } else { 256 },
        max_param_bytes: if much { 32_764 } else { 4096 },
        max_buffer_bytes: u64::MAX >> 1,
        f64: true,
        i64: true,
        f16: true,
        atomic_f32: true,
        atomic_i64: true,
        tables: true,
        overlapping: true,
        vectors: true,
        scalars_in_block: false,
        own_words: true,
        workgroup: None,
        fragments,
    })
}
