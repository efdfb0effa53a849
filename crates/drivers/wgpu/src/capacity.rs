//! How much memory an adapter has, how much of it is free, how many units compute, and how the GPU does, asked below and beside wgpu, which does not
//! tell.
//!
//! Always: figures are of the memory on the device's own side; what the system does not tell is 0. Never: changes anything.

use unigrad_device::Health;
use wgpu::Adapter;

/// Bytes of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Capacity {
    pub(crate) total: u64,
    /// For this process.
    pub(crate) free: u64,
}

impl Capacity {
    /// What is there now.
    pub(crate) fn of(adapter: &Adapter) -> Capacity {
        ask(adapter).unwrap_or_default()
    }

    /// The same, where `in_use` bytes are this process's: then no more than the rest is free, whatever the system tells.
    pub(crate) fn after(self, in_use: u64) -> Capacity {
        let rest = self.total.saturating_sub(in_use);
        Capacity { free: if self.free == 0 { rest } else { self.free.min(rest) }, ..self }
    }
}

#[cfg(not(any(target_vendor = "apple", target_arch = "wasm32")))]
fn ask(adapter: &Adapter) -> Option<Capacity> {
    vulkan::ask(adapter).or_else(|| direct3d(adapter))
}

/// How many units run workgroups, where the driver tells.
#[cfg(not(any(target_vendor = "apple", target_arch = "wasm32")))]
pub(crate) fn units(adapter: &Adapter) -> Option<u32> {
    vulkan::units(adapter).filter(|units| *units > 0)
}

#[cfg(any(target_vendor = "apple", target_arch = "wasm32"))]
pub(crate) fn units(_adapter: &Adapter) -> Option<u32> {
    None
}

#[cfg(not(any(target_vendor = "apple", target_arch = "wasm32")))]
mod vulkan {
    use super::Capacity;
    use ash::{amd::shader_core_properties2, ext::memory_budget, nv::shader_sm_builtins, vk};
    use wgpu::{
        Adapter,
        hal::{api, vulkan},
    };

    /// Whether instance and device have version 1.1, and with it the calls for properties that extensions add.
    fn has_second_properties(adapter: &vulkan::Adapter) -> bool {
        let (device, shared) = (adapter.raw_physical_device(), adapter.shared_instance());
        // SAFETY: the physical device is this instance's.
        let version = unsafe { shared.raw_instance().get_physical_device_properties(device) }.api_version;
        shared.instance_api_version().min(version) >= vk::API_VERSION_1_1
    }

    /// NVIDIA's multiprocessors, AMD's compute units: there is no word for it that all drivers know.
    pub(super) fn units(adapter: &Adapter) -> Option<u32> {
        // SAFETY: nothing is destroyed; the handles are used while the guard lives.
        let adapter = unsafe { adapter.as_hal::<api::Vulkan>() }?;
        let (device, shared) = (adapter.raw_physical_device(), adapter.shared_instance());
        let (instance, known) = (shared.raw_instance(), adapter.physical_device_capabilities());
        if !has_second_properties(&adapter) {
            return None;
        }
        let mut nvidias = vk::PhysicalDeviceShaderSMBuiltinsPropertiesNV::default();
        let mut amds = vk::PhysicalDeviceShaderCoreProperties2AMD::default();
        let mut properties = vk::PhysicalDeviceProperties2::default();
        let (is_nvidias, is_amds) =
            (known.supports_extension(shader_sm_builtins::NAME), known.supports_extension(shader_core_properties2::NAME));
        if is_nvidias {
            properties = properties.push_next(&mut nvidias);
        }
        if is_amds {
            properties = properties.push_next(&mut amds);
        }
        // SAFETY: instance and device have version 1.1, to which the function belongs, and the extensions that fill in what is asked.
        unsafe { instance.get_physical_device_properties2(device, &mut properties) };
        match (is_nvidias, is_amds) {
            (true, _) => Some(nvidias.shader_sm_count),
            (_, true) => Some(amds.active_compute_unit_count),
            (false, false) => None,
        }
    }

    pub(super) fn ask(adapter: &Adapter) -> Option<Capacity> {
        // SAFETY: nothing is destroyed; the handles are used while the guard lives.
        let adapter = unsafe { adapter.as_hal::<api::Vulkan>() }?;
        let (device, shared) = (adapter.raw_physical_device(), adapter.shared_instance());
        let instance = shared.raw_instance();
        // SAFETY: the physical device is this instance's.
        let memory = unsafe { instance.get_physical_device_memory_properties(device) };
        let local = |at: &usize| memory.memory_heaps[*at].flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL);
        // The largest: others are windows of it that the host sees.
        let heap = (0..(memory.memory_heap_count as usize).min(vk::MAX_MEMORY_HEAPS))
            .filter(local)
            .max_by_key(|at| memory.memory_heaps[*at].size)?;
        let total = memory.memory_heaps[heap].size;
        if !has_second_properties(&adapter) || !adapter.physical_device_capabilities().supports_extension(memory_budget::NAME) {
            return Some(Capacity { total, free: 0 });
        }
        let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
        let mut properties = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
        // SAFETY: instance and device have version 1.1, to which the function belongs, and the extension that fills in `budget`.
        unsafe { instance.get_physical_device_memory_properties2(device, &mut properties) };
        Some(Capacity { total, free: budget.heap_budget[heap].saturating_sub(budget.heap_usage[heap]).min(total) })
    }
}

#[cfg(windows)]
fn direct3d(adapter: &Adapter) -> Option<Capacity> {
    use windows::Win32::Graphics::Dxgi::{DXGI_MEMORY_SEGMENT_GROUP_LOCAL, DXGI_QUERY_VIDEO_MEMORY_INFO};
    // SAFETY: nothing is destroyed; the interface is used while the guard lives.
    let adapter = unsafe { adapter.as_hal::<wgpu::hal::api::Dx12>() }?;
    let mut now = DXGI_QUERY_VIDEO_MEMORY_INFO::default();
    // SAFETY: the interface is alive, and the second call writes to a local.
    let total = unsafe {
        let described = adapter.as_raw().GetDesc().ok()?;
        adapter.as_raw().QueryVideoMemoryInfo(0, DXGI_MEMORY_SEGMENT_GROUP_LOCAL, &mut now).ok()?;
        described.DedicatedVideoMemory as u64
    };
    // A GPU without memory of its own works in the system's, as much as the budget says.
    let total = total.max(now.Budget);
    Some(Capacity { total, free: now.Budget.saturating_sub(now.CurrentUsage) })
}

#[cfg(not(any(windows, target_vendor = "apple", target_arch = "wasm32")))]
fn direct3d(_adapter: &Adapter) -> Option<Capacity> {
    None
}

#[cfg(target_vendor = "apple")]
fn ask(adapter: &Adapter) -> Option<Capacity> {
    use objc2_metal::MTLDevice;
    // SAFETY: nothing is destroyed; the device is used while the guard lives.
    let adapter = unsafe { adapter.as_hal::<wgpu::hal::api::Metal>() }?;
    let device = adapter.raw_device();
    let total = device.recommendedMaxWorkingSetSize();
    Some(Capacity { total, free: total.saturating_sub(device.currentAllocatedSize() as u64) })
}

/// A page learns nothing of the memory.
#[cfg(target_arch = "wasm32")]
fn ask(_adapter: &Adapter) -> Option<Capacity> {
    None
}

/// How the GPU does, where a management library knows it by its PCI address.
#[cfg(not(any(target_vendor = "apple", target_arch = "wasm32")))]
pub(crate) fn health(adapter: &Adapter) -> Option<Health> {
    let info = adapter.get_info();
    if info.vendor != unigrad_nvml::PCI_VENDOR || info.device_pci_bus_id.is_empty() {
        return None;
    }
    unigrad_nvml::health(&std::ffi::CString::new(info.device_pci_bus_id).ok()?)
}

/// No such library is there.
#[cfg(any(target_vendor = "apple", target_arch = "wasm32"))]
pub(crate) fn health(_adapter: &Adapter) -> Option<Health> {
    None
}

#[cfg(test)]
mod tests {
    use super::Capacity;

    #[test]
    fn what_is_in_use_is_not_free() {
        let known = Capacity { total: 100, free: 60 };
        assert_eq!(known.after(10), known);
        assert_eq!(known.after(50), Capacity { total: 100, free: 50 });
        assert_eq!(Capacity { total: 100, free: 0 }.after(30), Capacity { total: 100, free: 70 });
        assert_eq!(Capacity { total: 100, free: 60 }.after(130).free, 0);
        assert_eq!(Capacity::default().after(30), Capacity::default());
    }
}
