//! Discovery: the adapters of all of wgpu's backends, and why there is none.
//!
//! Always: asked once per process; GPUs come first, in the system's order, then software.

use crate::{
    BACKEND,
    backend::{WgpuBackend, Without},
    capacity::Capacity,
    ready,
};
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering::Relaxed},
};
use unigrad_device::{Discovery, Driver, Error, Info, OpenDevice, Pending};
use unigrad_gpu::GpuDevice;
use unigrad_ir::FragmentShape;
use unigrad_scalar::DType;
use wgpu::{Adapter, Backends, CooperativeScalarType, DeviceType, Features};

/// `off` does without matrix instructions.
const MATRICES: &str = "UNIGRAD_WGPU_MATRICES";

/// Adapters of Vulkan, Metal and Direct3D 12.
#[derive(Debug)]
pub struct WgpuDriver;

/// What a browser's page is told that opens a device as other programs do.
pub(crate) const NO_WAITING: &str = "a browser's page cannot wait for a device to be opened";
pub(crate) const AWAIT_INSTEAD: &str = "open it with `Device::open_async`, and await that";

/// Whether a browser has answered.
static ASKED: AtomicBool = AtomicBool::new(false);

/// The adapters, once they were asked for.
static FOUND: OnceLock<Vec<Adapter>> = OnceLock::new();

fn adapters() -> &'static [Adapter] {
    if cfg!(target_arch = "wasm32") {
        FOUND.get().map_or(&[], Vec::as_slice)
    } else {
        FOUND.get_or_init(|| ready(ask()).unwrap_or_default())
    }
}

/// Asks where the system answers in its own time. One without adapters is asked again the next time.
async fn find() {
    if FOUND.get().is_none() {
        let found = ask().await;
        if !found.is_empty() {
            FOUND.get_or_init(|| found);
        }
    }
    ASKED.store(true, Relaxed);
}

async fn ask() -> Vec<Adapter> {
    if wgpu::Instance::enabled_backend_features().is_empty() {
        return Vec::new();
    }
    #[cfg(all(unix, not(target_vendor = "apple")))]
    unigrad_loader::open_apart(crate::installed::libraries);
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: Backends::VULKAN | Backends::METAL | Backends::DX12 | Backends::BROWSER_WEBGPU,
        flags: wgpu::InstanceFlags::empty(),
        // A request that would fill the device's memory to more percent than this fails, instead of everything that comes after.
        memory_budget_thresholds: wgpu::MemoryBudgetThresholds { for_resource_creation: Some(97), for_device_loss: None },
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    let mut found = instance.enumerate_adapters(Backends::all()).await;
    found.retain(|adapter| adapter.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS));
    found.sort_by_key(|adapter| match adapter.get_info().device_type {
        DeviceType::DiscreteGpu => 0,
        DeviceType::IntegratedGpu => 1,
        DeviceType::VirtualGpu | DeviceType::Other => 2,
        DeviceType::Cpu => 3,
    });
    found
}

/// Whether the loader of Vulkan drivers is missing.
#[cfg(all(unix, not(target_vendor = "apple")))]
fn loader_is_missing() -> bool {
    // SAFETY: what runs when the library is loaded is what wgpu has loaded, or tried to, a moment ago.
    unsafe { libloading::Library::new("libvulkan.so.1") }.is_err()
}

#[cfg(not(all(unix, not(target_vendor = "apple"))))]
fn loader_is_missing() -> bool {
    false
}

fn problem() -> (String, String) {
    if cfg!(target_vendor = "apple") || cfg!(windows) {
        ("the system has no GPU that takes compute shaders".to_owned(), "update the GPU's driver".to_owned())
    } else if cfg!(target_arch = "wasm32") && !ASKED.load(Relaxed) {
        (NO_WAITING.to_owned(), AWAIT_INSTEAD.to_owned())
    } else if cfg!(target_arch = "wasm32") {
        ("the browser offers no WebGPU adapter".to_owned(), "use a browser with WebGPU, on a page that was served securely".to_owned())
    } else if loader_is_missing() {
        ("libvulkan.so.1 not found".to_owned(), "install a Vulkan driver, such as the package mesa-vulkan-drivers".to_owned())
    } else {
        let help = "install the GPU vendor's Vulkan driver, or the package mesa-vulkan-drivers";
        ("the Vulkan loader finds no driver for a device".to_owned(), help.to_owned())
    }
}

/// Whether programs are compiled by NVIDIA's own Vulkan driver.
pub(crate) fn is_nvidias(adapter: &Adapter) -> bool {
    let info = adapter.get_info();
    info.backend == wgpu::Backend::Vulkan && info.driver.eq_ignore_ascii_case("nvidia")
}

/// The matrix operations of an adapter that naga can express: square ones of 8 or 16 rows, of `f16` or `f32` with sums in `f32`. Only on
/// Vulkan: naga's other languages lack what the renderer writes. None if the environment says so, for all this is experimental in wgpu.
pub(crate) fn fragments(adapter: &Adapter) -> Vec<FragmentShape> {
    let needed = Features::EXPERIMENTAL_COOPERATIVE_MATRIX | Features::SHADER_F16;
    let off = std::env::var(MATRICES).is_ok_and(|value| value == "off");
    if off || adapter.get_info().backend != wgpu::Backend::Vulkan || !adapter.features().contains(needed) {
        return Vec::new();
    }
    let mut shapes: Vec<FragmentShape> = Vec::new();
    for offered in adapter.cooperative_matrix_properties() {
        let input = match offered.ab_type {
            CooperativeScalarType::F16 => DType::F16,
            CooperativeScalarType::F32 => DType::F32,
            CooperativeScalarType::I32 | CooperativeScalarType::U32 => continue,
        };
        let size = [offered.m_size, offered.n_size, offered.k_size];
        if offered.cr_type != CooperativeScalarType::F32 || offered.saturating_accumulation || ![[8; 3], [16; 3]].contains(&size) {
            continue;
        }
        let side = size[0] as u8;
        let shape = FragmentShape { m: side, n: side, k: side, input, sum: DType::F32 };
        if !shapes.contains(&shape) {
            shapes.push(shape);
        }
    }
    shapes
}

/// What a device must be asked for so that it has these matrix operations.
pub(crate) fn features_of(fragments: &[FragmentShape]) -> Features {
    if fragments.is_empty() { Features::empty() } else { Features::EXPERIMENTAL_COOPERATIVE_MATRIX | Features::SHADER_F16 }
}

/// Leave to ask for experimental features, if there are any among these.
pub(crate) fn leave_for(features: Features) -> wgpu::ExperimentalFeatures {
    if features.contains(Features::EXPERIMENTAL_COOPERATIVE_MATRIX) {
        // SAFETY: what may be undefined is what wgpu does with matrices wrongly. The only programs that have any are those that the lowering
        // makes for the shapes the adapter lists, with whole subgroups and rows of memory that are there.
        unsafe { wgpu::ExperimentalFeatures::enabled() }
    } else {
        wgpu::ExperimentalFeatures::disabled()
    }
}

/// What an adapter is, with memory figures as of now.
pub(crate) fn describe(adapter: &Adapter, ordinal: usize) -> Info {
    let (info, limits, features) = (adapter.get_info(), adapter.limits(), adapter.features());
    let names = [
        (Features::SHADER_F64, "f64"),
        (Features::SHADER_INT64, "i64"),
        (Features::SHADER_I16, "i16"),
        (Features::SUBGROUP, "subgroups"),
        (Features::TIMESTAMP_QUERY, "timestamps"),
        (Features::PIPELINE_CACHE, "pipeline cache"),
        (features_of(&fragments(adapter)), "matrices"),
    ];
    let driver = [info.driver.trim(), info.driver_info.trim()].into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(" ");
    let software = info.device_type == DeviceType::Cpu;
    let memory = Capacity::of(adapter);
    Info {
        backend: BACKEND,
        ordinal,
        name: info.name.clone(),
        version: format!("{} {driver}", info.backend).trim().to_owned(),
        memory_total: memory.total,
        memory_free: memory.free,
        compute_units: if software { std::thread::available_parallelism().map_or(1, usize::from) } else { 0 },
        features: names
            .into_iter()
            .filter(|(feature, _)| !feature.is_empty() && features.contains(*feature))
            .map(|(_, name)| name)
            .chain((info.device_type == DeviceType::IntegratedGpu).then_some("unified memory"))
            .map(str::to_owned)
            .collect(),
        software,
        rank: 400,
        limits: vec![
            ("threads per group", limits.max_compute_invocations_per_workgroup.into()),
            ("shared memory bytes", limits.max_compute_workgroup_storage_size.into()),
            ("buffers per kernel", limits.max_storage_buffers_per_shader_stage.into()),
            ("bytes per buffer argument", limits.max_storage_buffer_binding_size),
            ("bytes per buffer", limits.max_buffer_size),
        ],
    }
}

/// The adapter of this ordinal.
pub(crate) fn adapter(ordinal: usize) -> Result<&'static Adapter, Error> {
    let found = adapters();
    found.get(ordinal).ok_or_else(|| {
        let (cause, help) = match found.len() {
            0 => problem(),
            n => (format!("there are {n} adapters"), "choose another".to_owned()),
        };
        Error::NotAvailable { asked: format!("{BACKEND}:{ordinal}"), cause, help }
    })
}

impl Driver for WgpuDriver {
    fn backend(&self) -> &'static str {
        BACKEND
    }

    fn discover(&self) -> Discovery {
        let devices: Vec<Info> = adapters().iter().enumerate().map(|(ordinal, adapter)| describe(adapter, ordinal)).collect();
        let problem = devices.is_empty().then(problem);
        Discovery { devices, problem }
    }

    fn open(&self, ordinal: usize) -> Result<Arc<dyn OpenDevice>, Error> {
        Ok(Arc::new(GpuDevice::new(WgpuBackend::open(ordinal)?)))
    }

    fn open_async(&self, ordinal: usize) -> Option<Pending<'static, Result<Arc<dyn OpenDevice>, Error>>> {
        if !cfg!(target_arch = "wasm32") {
            return None;
        }
        Some(Box::pin(async move {
            find().await;
            let backend = WgpuBackend::open_async(ordinal, Without::default()).await?;
            Ok(Arc::new(GpuDevice::new(backend)) as Arc<dyn OpenDevice>)
        }))
    }
}
