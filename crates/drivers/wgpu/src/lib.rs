//! The wgpu driver: Vulkan, Metal and Direct3D 12, and WebGPU in browsers.
//!
//! In: IR programs, rendered as WGSL; bytes. Out: an [`unigrad_gpu::Backend`] per adapter.
//! Always: a machine without a driver is told what is missing; a library that wgpu calls may fail, and this crate then returns an error.
//! Launches are gathered and handed over together; errors of gathered work surface at the next wait.
//! Never: does work through a backend's own API: what wgpu does not offer is only asked for there (memory figures).

#![warn(clippy::wildcard_enum_match_arm)]

mod adapters;
mod backend;
mod batch;
mod capacity;
#[cfg(all(unix, not(target_vendor = "apple")))]
mod installed;
mod marks;
mod memory;
mod overlap;
mod pipelines;
mod program;
mod read_async;
mod reports;
mod transfer;

pub use adapters::WgpuDriver;
pub use backend::{WgpuBackend, Without};
pub use marks::Mark;
pub use program::Module;

/// The backend's name.
const BACKEND: &str = "wgpu";

/// Waits for a future of wgpu's. They are ready at once everywhere but in browsers, where nothing may wait.
fn ready<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(value) => Some(value),
        std::task::Poll::Pending => None,
    }
}
