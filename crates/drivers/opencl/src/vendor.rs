//! What vendors' OpenCL implementations do differently, as one table.
//!
//! In: the names of a platform and its device. Out: a row.
//! Always: whatever no row matches gets [`OTHER`], which relies on nothing but the specification.

use crate::query::{Device, name};

/// How many threads go in step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Wave {
    /// The device says so, when asked for this.
    Asked(u32),
    /// Chosen per kernel by the compiler, or unknown.
    Varies,
}

/// One implementation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vendor {
    /// For people.
    pub(crate) name: &'static str,
    /// Found in the platform's name or the device's vendor, in lower case.
    words: &'static [&'static str],
    /// Threads that go in step.
    pub(crate) wave: Wave,
    /// Workgroups per axis; OpenCL has no question for it, and hardware limits show as a failed launch.
    pub(crate) max_grid: [u32; 3],
    /// Whether saved program binaries spare work. PoCL's hold the whole program once more for every workgroup size and it has a cache of its own.
    pub(crate) saves_binaries: bool,
    /// Whether buffers may be larger than `CL_DEVICE_MAX_MEM_ALLOC_SIZE`, which says a quarter of the memory to satisfy the specification.
    pub(crate) large_buffers: bool,
    /// Whether compilers may take words of PTX: it is tried when a device is opened.
    pub(crate) takes_ptx: bool,
    /// Asks for free memory: a question, and the unit of its first number.
    free_memory: Option<(u32, u64)>,
    /// Whether the devices are those that NVML knows, by their PCI addresses.
    pub(crate) has_nvml: bool,
    /// Asks for a better name than `CL_DEVICE_NAME`.
    board_name: Option<u32>,
}

/// The largest grid of hardware that has such limits.
const GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];

const OTHER: Vendor = Vendor {
    name: "OpenCL",
    words: &[],
    wave: Wave::Varies,
    max_grid: GRID,
    saves_binaries: true,
    large_buffers: false,
    takes_ptx: false,
    free_memory: None,
    has_nvml: false,
    board_name: None,
};

/// The first row with a matching word is taken; platforms that run on other vendors' hardware come first.
const VENDORS: &[Vendor] = &[
    Vendor { name: "PoCL", words: &["portable computing language", "pocl"], saves_binaries: false, ..OTHER },
    Vendor { name: "Mesa", words: &["rusticl", "clover", "mesa"], ..OTHER },
    Vendor {
        name: "NVIDIA",
        words: &["nvidia"],
        wave: Wave::Asked(name::DEVICE_WARP_SIZE_NV),
        large_buffers: true,
        takes_ptx: true,
        has_nvml: true,
        ..OTHER
    },
    Vendor {
        name: "AMD",
        words: &["advanced micro devices", "amd accelerated"],
        wave: Wave::Asked(name::DEVICE_WAVEFRONT_WIDTH_AMD),
        free_memory: Some((name::DEVICE_GLOBAL_FREE_MEMORY_AMD, 1024)),
        board_name: Some(name::DEVICE_BOARD_NAME_AMD),
        ..OTHER
    },
    Vendor { name: "Intel", words: &["intel"], ..OTHER },
    Vendor { name: "Arm", words: &["arm platform", "mali"], ..OTHER },
    Vendor { name: "Qualcomm", words: &["qualcomm", "adreno"], ..OTHER },
    Vendor { name: "Apple", words: &["apple"], ..OTHER },
];

impl Vendor {
    /// The row for a platform and a device.
    pub(crate) fn of(platform: &str, device_vendor: &str) -> &'static Vendor {
        let find = |text: &str| {
            let text = text.to_lowercase();
            VENDORS.iter().find(|vendor| vendor.words.iter().any(|word| text.contains(word)))
        };
        find(platform).or_else(|| find(device_vendor)).unwrap_or(&OTHER)
    }

    /// Threads that go in step on a device, where that is known.
    pub(crate) fn wave(&self, device: Device) -> Option<u32> {
        match self.wave {
            Wave::Asked(what) => device.number(what).and_then(|n| u32::try_from(n).ok()).filter(|n| n.is_power_of_two()),
            Wave::Varies => None,
        }
    }

    /// Bytes free on a device, where it says so itself.
    pub(crate) fn free_memory(&self, device: Device) -> Option<u64> {
        let (what, unit) = self.free_memory?;
        crate::query::sizes(&device.bytes(what)?).first().map(|n| n.saturating_mul(unit))
    }

    /// The hardware's name.
    pub(crate) fn device_name(&self, device: Device) -> String {
        let board = self.board_name.map(|what| device.text(what)).filter(|text| !text.is_empty());
        board.unwrap_or_else(|| device.text(name::DEVICE_NAME))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_platform_first() {
        let found = [
            ("Portable Computing Language", "AuthenticAMD"),
            ("NVIDIA CUDA", "NVIDIA Corporation"),
            ("AMD Accelerated Parallel Processing", "Advanced Micro Devices, Inc."),
            ("Intel(R) OpenCL Graphics", "Intel(R) Corporation"),
            ("rusticl", "AMD"),
            ("ARM Platform", "ARM"),
            ("Something", "QUALCOMM"),
            ("Something", "Another"),
        ]
        .map(|(platform, vendor)| Vendor::of(platform, vendor).name);
        assert_eq!(found, ["PoCL", "NVIDIA", "AMD", "Intel", "Mesa", "Arm", "Qualcomm", "OpenCL"]);
    }
}
