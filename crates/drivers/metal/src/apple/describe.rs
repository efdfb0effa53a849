//! What a device is, and what kernels for it may use.

use super::program;
use crate::{BACKEND, facts};
use objc2::runtime::ProtocolObject;
use objc2_foundation::NSProcessInfo;
use objc2_metal::{MTLDevice, MTLGPUFamily};
use unigrad_device::Info;
use unigrad_ir::{Dialect, FragmentShape, Target};
use unigrad_scalar::DType;

/// Places for a kernel's arguments; numbers take one each, as buffers do.
pub(super) const ARGUMENTS: usize = 31;
/// Buffers of a kernel at most: some places are left for numbers.
const BUFFERS: u32 = 28;
/// Threads of a simdgroup on Apple's own GPUs; others have several widths.
pub(super) const SIMD_WIDTH: u32 = 32;

/// Named families, newest first within a line of GPUs; a device is in all older ones of its line.
const FAMILIES: [(MTLGPUFamily, &str); 6] = [
    (MTLGPUFamily::Apple10, "Apple10"),
    (MTLGPUFamily::Apple9, "Apple9"),
    (MTLGPUFamily::Apple8, "Apple8"),
    (MTLGPUFamily::Apple7, "Apple7"),
    (MTLGPUFamily::Apple6, "Apple6"),
    (MTLGPUFamily::Mac2, "Mac2"),
];

/// Whether simdgroups have 32 threads, reductions and matrices: Apple's GPUs from A14 and M1 on.
fn has_simdgroups(device: &ProtocolObject<dyn MTLDevice>) -> bool {
    device.supportsFamily(MTLGPUFamily::Apple7)
}

/// Bytes that the device can work with at a time; 0 if it does not say.
pub(super) fn memory_total(device: &ProtocolObject<dyn MTLDevice>) -> u64 {
    device.recommendedMaxWorkingSetSize()
}

/// The device as discovery lists it. Bytes in use are this process's.
pub(super) fn info(device: &ProtocolObject<dyn MTLDevice>, ordinal: usize) -> Info {
    let name = device.name().to_string();
    let unified = device.hasUnifiedMemory();
    let system = NSProcessInfo::processInfo().operatingSystemVersion();
    let versions = [(MTLGPUFamily::Metal4, "Metal 4"), (MTLGPUFamily::Metal3, "Metal 3")];
    let metal = versions.into_iter().find(|(family, _)| device.supportsFamily(*family)).map_or("Metal 2", |(_, name)| name);
    let newest = FAMILIES.iter().find(|(family, _)| device.supportsFamily(*family)).map(|(_, name)| (*name).to_owned());
    let mut features: Vec<String> = newest.into_iter().collect();
    let others = [
        (true, "f16"),
        (true, "i64"),
        (unified, "unified memory"),
        (has_simdgroups(device), "simdgroup matrices"),
        (device.isLowPower(), "low power"),
    ];
    features.extend(others.into_iter().filter(|(has, _)| *has).map(|(_, name)| name.to_owned()));
    let total = memory_total(device);
    let threads = device.maxThreadsPerThreadgroup();
    Info {
        backend: BACKEND,
        ordinal,
        name,
        version: format!("{metal}, {} {}.{}", std::env::consts::OS, system.majorVersion, system.minorVersion),
        memory_total: total,
        memory_free: total.saturating_sub(device.currentAllocatedSize() as u64),
        // Metal does not tell.
        compute_units: 0,
        features,
        software: false,
        // Before general interfaces to the same GPU.
        rank: 100,
        limits: vec![
            ("threads per workgroup", threads.width as u64),
            ("shared memory bytes per workgroup", device.maxThreadgroupMemoryLength() as u64),
            ("arguments per kernel", ARGUMENTS as u64),
            ("bytes per buffer", device.maxBufferLength() as u64),
            ("subgroup size", if has_simdgroups(device) { SIMD_WIDTH.into() } else { 0 }),
        ],
    }
}

/// What kernels may use. Compiles a small one to see whether bfloat16 matrices are there: that is a matter of GPU, system and compiler.
pub(super) fn target(device: &ProtocolObject<dyn MTLDevice>) -> Target {
    let simdgroups = has_simdgroups(device);
    let threads = device.maxThreadsPerThreadgroup().width as u32;
    let shape = |input| FragmentShape { m: 8, n: 8, k: 8, input, sum: DType::F32 };
    let mut fragments = Vec::new();
    if simdgroups {
        fragments.extend([DType::F16, DType::F32].map(shape));
        if program::takes_bfloat(device) {
            fragments.push(shape(DType::BF16));
        }
    }
    Target {
        dialect: Dialect::Msl,
        max_threads: threads.clamp(1, 1024),
        shared_bytes: device.maxThreadgroupMemoryLength(),
        subgroup: simdgroups.then_some(SIMD_WIDTH),
        compute_units: facts::compute_units(&device.name().to_string(), device.hasUnifiedMemory()),
        max_buffers: BUFFERS,
        max_param_bytes: 4096,
        max_buffer_bytes: device.maxBufferLength() as u64,
        f64: false,
        i64: true,
        f16: true,
        // By compare and exchange.
        atomic_f32: true,
        atomic_i64: false,
        tables: false,
        vectors: true,
        fragments,
        ..Target::interpreter()
    }
}
