//! The driver's own compiled form of pipelines, kept on disk between processes where the driver offers it.
//!
//! Always: written at a wait, some time after something was compiled; a file that the driver does not know any more is ignored by it.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use unigrad_device::Timestamp;
use unigrad_gpu::{KernelCache, Key};
use wgpu::{Adapter, Device, Features, PipelineCache};

/// How long after the device was opened the file may be written; then each time twice as long after the last time, up to `LONGEST`: a short
/// process leaves what it compiled, and a long one does not write all the time.
const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Pipelines {
    cache: Option<(PipelineCache, Key)>,
    grown: AtomicBool,
    /// When it was written, and the pause from then.
    written: Mutex<(Timestamp, Duration)>,
}

impl Pipelines {
    pub(crate) fn new(device: &Device, adapter: &Adapter) -> Pipelines {
        let info = adapter.get_info();
        let key = wgpu::util::pipeline_cache_key(&info)
            .filter(|_| device.features().contains(Features::PIPELINE_CACHE))
            .map(|name| Key::of(&[b"wgpu pipelines", name.as_bytes(), info.driver_info.as_bytes()]));
        let cache = key.map(|key| {
            let data = KernelCache::shared().get(key);
            let descriptor = wgpu::PipelineCacheDescriptor { label: None, data: data.as_deref(), fallback: true };
            // SAFETY: the bytes are what `get_data` gave on an adapter of this key; the kernel cache returns them whole or not at all.
            (unsafe { device.create_pipeline_cache(&descriptor) }, key)
        });
        Pipelines { cache, grown: AtomicBool::new(false), written: Mutex::new((Timestamp::now(), FIRST)) }
    }

    pub(crate) fn cache(&self) -> Option<&PipelineCache> {
        self.cache.as_ref().map(|(cache, _)| cache)
    }

    /// Something was compiled.
    pub(crate) fn grown(&self) {
        self.grown.store(true, Relaxed);
    }

    /// Writes the file, if it is due.
    pub(crate) fn save(&self) {
        let Some((cache, key)) = &self.cache else { return };
        if !self.grown.load(Relaxed) {
            return;
        }
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, pause) = *written;
        if last.elapsed() < pause {
            return;
        }
        *written = (Timestamp::now(), (2 * pause).min(LONGEST));
        self.grown.store(false, Relaxed);
        if let Some(data) = cache.get_data() {
            KernelCache::shared().put(*key, &data);
        }
    }
}
