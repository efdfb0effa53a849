//! What a device is: its facts for people ([`Info`]), for lowering ([`Target`]), and what keeps it from being used.
//!
//! Never: opens it.

use crate::{
    BACKEND,
    query::{Device, Platform, name, sizes},
    vendor::Vendor,
};
use std::ffi::CString;
use unigrad_device::{Health, Info};
use unigrad_ir::{Dialect, Target};

const TYPE_CPU: u64 = 1 << 1;
const FP_DENORM: u64 = 1 << 0;
const FP_INF_NAN: u64 = 1 << 1;
const FP_CORRECTLY_ROUNDED_DIVIDE_SQRT: u64 = 1 << 7;

/// A device with its platform and the vendor's row.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(crate) platform: Platform,
    pub(crate) device: Device,
    pub(crate) vendor: &'static Vendor,
}

impl Found {
    pub(crate) fn new(platform: Platform, device: Device) -> Found {
        let vendor = Vendor::of(&platform.text(name::PLATFORM_NAME), &device.text(name::DEVICE_VENDOR));
        Found { platform, device, vendor }
    }

    /// Why the device cannot be used.
    pub(crate) fn obstacle(self) -> Option<String> {
        let version = self.device.text(name::DEVICE_VERSION);
        let why = if !self.device.flag(name::DEVICE_AVAILABLE) {
            "it is not available".to_owned()
        } else if !self.device.flag(name::DEVICE_COMPILER_AVAILABLE) {
            "it has no compiler".to_owned()
        } else if !self.device.flag(name::DEVICE_ENDIAN_LITTLE) {
            "it is big-endian".to_owned()
        } else if !is_new_enough(&version) {
            format!("its version is `{version}`, not 1.2 or newer")
        } else if self.device.number(name::DEVICE_SINGLE_FP_CONFIG).is_none_or(|config| config & FP_INF_NAN == 0) {
            "it has no infinities and NaNs".to_owned()
        } else {
            return None;
        };
        Some(format!("{}: {why}", self.device.text(name::DEVICE_NAME)))
    }

    pub(crate) fn info(self, ordinal: usize) -> Info {
        let total = self.device.number(name::DEVICE_GLOBAL_MEM_SIZE).unwrap_or(0);
        let software = self.device.number(name::DEVICE_TYPE).is_some_and(|kind| kind & TYPE_CPU != 0);
        Info {
            backend: BACKEND,
            ordinal,
            name: self.vendor.device_name(self.device),
            version: format!(
                "{}, {} driver {}",
                self.device.text(name::DEVICE_VERSION),
                self.vendor.name,
                self.device.text(name::DRIVER_VERSION)
            ),
            memory_total: total,
            memory_free: self.free_memory().unwrap_or(0).min(total),
            compute_units: self.device.number(name::DEVICE_MAX_COMPUTE_UNITS).unwrap_or(0) as usize,
            features: self.features(),
            software,
            // After hardware WebGPU, before the CPU.
            rank: 500,
            limits: self.limits(),
        }
    }

    fn limits(self) -> Vec<(&'static str, u64)> {
        let asked = [
            ("threads per group", name::DEVICE_MAX_WORK_GROUP_SIZE),
            ("shared memory bytes", name::DEVICE_LOCAL_MEM_SIZE),
            ("buffer bytes", name::DEVICE_MAX_MEM_ALLOC_SIZE),
            ("parameter bytes", name::DEVICE_MAX_PARAMETER_SIZE),
        ];
        asked.iter().filter_map(|(limit, what)| Some((*limit, self.device.number(*what)?))).collect()
    }

    fn has(self, extension: &str) -> bool {
        self.device.has(extension)
    }

    /// The device's PCI address as NVML takes it, if NVML knows the vendor's devices.
    fn nvml_address(self) -> Option<CString> {
        let [domain, bus, device, function] = self.device.pci_address().filter(|_| self.vendor.has_nvml)?;
        Some(unigrad_nvml::address(domain, bus, device, function))
    }

    /// Bytes free on the device, where a library tells.
    pub(crate) fn free_memory(self) -> Option<u64> {
        let told = || self.nvml_address().and_then(|at| unigrad_nvml::memory(&at)).map(|memory| memory.free);
        self.vendor.free_memory(self.device).or_else(told)
    }

    /// How the device does, where a library tells.
    pub(crate) fn health(self) -> Option<Health> {
        self.nvml_address().and_then(|at| unigrad_nvml::health(&at))
    }

    fn has_f64(self) -> bool {
        self.has("cl_khr_fp64") || self.device.flag(name::DEVICE_DOUBLE_FP_CONFIG)
    }

    fn has_atomic_i64(self) -> bool {
        self.has("cl_khr_int64_base_atomics") && self.has("cl_khr_int64_extended_atomics")
    }

    fn single_config(self, bit: u64) -> bool {
        self.device.number(name::DEVICE_SINGLE_FP_CONFIG).is_some_and(|config| config & bit != 0)
    }

    fn features(self) -> Vec<String> {
        let mut features = Vec::new();
        let mut add = |is_there: bool, name: &str| {
            if is_there {
                features.push(name.to_owned());
            }
        };
        add(self.has_f64(), "f64");
        add(self.has("cl_khr_fp16"), "f16");
        add(self.has_atomic_i64(), "int64 atomics");
        add(self.has("cl_khr_subgroups") || self.has("cl_intel_subgroups"), "subgroups");
        add(self.device.flag(name::DEVICE_HOST_UNIFIED_MEMORY), "unified memory");
        add(self.single_config(FP_DENORM), "denormals");
        if let Some(wave) = self.vendor.wave(self.device) {
            features.push(format!("wave {wave}"));
        } else if let Some(widths) = self.device.bytes(name::DEVICE_SUB_GROUP_SIZES_INTEL).map(|b| sizes(&b)).filter(|w| !w.is_empty()) {
            features.push(format!("wave {}", widths.iter().map(u64::to_string).collect::<Vec<_>>().join("/")));
        }
        features
    }

    /// What the compiler must be told for numbers to be right, where the device can.
    pub(crate) fn options(self) -> &'static [&'static str] {
        if self.single_config(FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) { &["-cl-fp32-correctly-rounded-divide-sqrt"] } else { &[] }
    }

    pub(crate) fn target(self) -> Target {
        let number = |what, or: u64| self.device.number(what).unwrap_or(or);
        let narrow = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        // The specification grants 1024 bytes. Some count what they pass themselves; no kernel needs more than this.
        let param_bytes = narrow(number(name::DEVICE_MAX_PARAMETER_SIZE, 1024)).min(4096);
        let item_sizes = self.device.bytes(name::DEVICE_MAX_WORK_ITEM_SIZES).map(|b| sizes(&b)).unwrap_or_default();
        let threads = number(name::DEVICE_MAX_WORK_GROUP_SIZE, 1).min(item_sizes.first().copied().unwrap_or(1));
        let max_alloc = number(name::DEVICE_MAX_MEM_ALLOC_SIZE, 128 << 20);
        let total = number(name::DEVICE_GLOBAL_MEM_SIZE, max_alloc);
        Target {
            dialect: Dialect::OpenCl,
            arch: self.architecture(),
            // Compilers give a kernel as many registers as it wants, and some then refuse larger workgroups than this.
            max_threads: narrow(threads).min(256),
            max_grid: self.vendor.max_grid,
            shared_bytes: number(name::DEVICE_LOCAL_MEM_SIZE, 16 << 10) as usize,
            // OpenCL C has shuffles as extensions that hardly a driver offers: programs go through shared memory, but see `with_ptx`.
            subgroup: None,
            compute_units: narrow(number(name::DEVICE_MAX_COMPUTE_UNITS, 1)).max(1),
            max_buffers: (param_bytes / 16).min(256),
            max_param_bytes: param_bytes,
            max_buffer_bytes: if self.vendor.large_buffers { total } else { max_alloc },
            f64: self.has_f64(),
            i64: true,
            // `vload_half` and `vstore_half` need no extension.
            f16: true,
            atomic_f32: true,
            atomic_i64: self.has_atomic_i64(),
            tables: true,
            overlapping: true,
            vectors: true,
            scalars_in_block: false,
            own_words: true,
            workgroup: None,
            fragments: Vec::new(),
        }
    }

    fn architecture(self) -> String {
        let capability = |what| self.device.number(what);
        match (capability(name::DEVICE_COMPUTE_CAPABILITY_MAJOR_NV), capability(name::DEVICE_COMPUTE_CAPABILITY_MINOR_NV)) {
            (Some(major), Some(minor)) => format!("sm_{major}{minor}"),
            _ => Some(self.device.text(name::DEVICE_NAME)).filter(|name| name.starts_with("gfx")).unwrap_or_default(),
        }
    }

    /// Everything that a compiled program depends on, besides its source.
    pub(crate) fn identity(self) -> String {
        let platform = [name::PLATFORM_NAME, name::PLATFORM_VERSION].map(|what| self.platform.text(what));
        let device =
            [name::DEVICE_NAME, name::DEVICE_VENDOR, name::DEVICE_VERSION, name::DRIVER_VERSION].map(|what| self.device.text(what));
        [&platform[..], &device[..]].concat().join("\n")
    }
}

/// `OpenCL 1.2 …` or more.
fn is_new_enough(version: &str) -> bool {
    let mut parts = version.split_whitespace().nth(1).unwrap_or("").split('.');
    let mut number = || parts.next().and_then(|n| n.parse::<u32>().ok());
    match (number(), number()) {
        (Some(major), Some(minor)) => (major, minor) >= (1, 2),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_new_enough;

    #[test]
    fn versions() {
        for new in ["OpenCL 1.2", "OpenCL 1.2 CUDA", "OpenCL 3.0 PoCL HSTR: pthread", "OpenCL 2.0 ", "OpenCL 10.0 x"] {
            assert!(is_new_enough(new), "{new}");
        }
        for old in ["OpenCL 1.1 Mesa", "OpenCL 1.0", "", "OpenCL", "OpenCL x.y"] {
            assert!(!is_new_enough(old), "{old}");
        }
    }
}
