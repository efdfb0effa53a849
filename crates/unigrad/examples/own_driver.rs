//! A driver of one's own, as a crate outside of unigrad's workspace would have it: what is required of a device, and how a program registers it.
//!
//! Its device `counting:0` is the CPU's, and counts what is asked of it. It has the required methods alone, beside two that say what the CPU's
//! devices are like; all other abilities are the trait's own. A driver for a new kind of hardware compiles a kernel (`unigrad::device::Kernel`, as
//! data) for it; a GPU's gets that from the crate `unigrad-gpu`.
//!
//! `cargo run --release --example own_driver`

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use unigrad::device::{self, Abilities, Channels, Discovery, Driver, Executable, Info, Kernel, Limits, OpenDevice, RawBuffer, Slice};
use unigrad::prelude::*;

const BACKEND: &str = "counting";

/// What was asked of the device.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) kernels: AtomicU64,
    pub(crate) launches: AtomicU64,
    pub(crate) bytes_up: AtomicU64,
    pub(crate) bytes_down: AtomicU64,
}

/// The driver. Programs keep the counts.
#[derive(Clone, Default)]
pub(crate) struct CountingDriver(pub(crate) Arc<Counts>);

struct CountingDevice {
    inner: Arc<dyn OpenDevice>,
    counts: Arc<Counts>,
}

fn info(inner: Info) -> Info {
    // Only taken when asked for by name.
    Info { backend: BACKEND, name: format!("{}, counted", inner.name), software: true, ..inner }
}

impl Driver for CountingDriver {
    fn backend(&self) -> &'static str {
        BACKEND
    }

    fn discover(&self) -> Discovery {
        let found = unigrad_cpu::CpuDriver.discover();
        Discovery { devices: found.devices.into_iter().map(info).collect(), problem: found.problem }
    }

    fn open(&self, ordinal: usize) -> Result<Arc<dyn OpenDevice>, device::Error> {
        Ok(Arc::new(CountingDevice { inner: unigrad_cpu::CpuDriver.open(ordinal)?, counts: self.0.clone() }))
    }
}

/// It has none: what only some devices can is done without.
impl Abilities for CountingDevice {}

impl OpenDevice for CountingDevice {
    fn info(&self) -> Info {
        info(self.inner.info())
    }

    fn allocate(&self, bytes: usize) -> Result<RawBuffer, device::Error> {
        self.inner.allocate(bytes)
    }

    fn free(&self, buffer: RawBuffer) {
        self.inner.free(buffer);
    }

    fn upload(&self, data: &[u8], to: Slice<'_>) -> Result<(), device::Error> {
        self.counts.bytes_up.fetch_add(data.len() as u64, Ordering::Relaxed);
        self.inner.upload(data, to)
    }

    fn download(&self, from: Slice<'_>, data: &mut [u8]) -> Result<(), device::Error> {
        self.counts.bytes_down.fetch_add(data.len() as u64, Ordering::Relaxed);
        self.inner.download(from, data)
    }

    fn copy(&self, from: Slice<'_>, to: Slice<'_>) -> Result<(), device::Error> {
        self.inner.copy(from, to)
    }

    fn compile(&self, kernel: &Kernel) -> Result<Arc<dyn Executable>, device::Error> {
        self.counts.kernels.fetch_add(1, Ordering::Relaxed);
        self.inner.compile(kernel)
    }

    fn launch(
        &self,
        program: &dyn Executable,
        args: &[Slice<'_>],
        scalars: &[u64],
        origin: Option<unigrad::tensor::Origin>,
    ) -> Result<(), device::Error> {
        self.counts.launches.fetch_add(1, Ordering::Relaxed);
        self.inner.launch(program, args, scalars, origin)
    }

    fn synchronize(&self) -> Result<(), device::Error> {
        self.inner.synchronize()
    }

    fn completes_at_once(&self) -> bool {
        self.inner.completes_at_once()
    }

    fn limits(&self) -> Limits {
        self.inner.limits()
    }

    fn recompute(&self) -> usize {
        self.inner.recompute()
    }

    fn joins(&self) -> bool {
        self.inner.joins()
    }

    fn channels(&self) -> Channels {
        self.inner.channels()
    }
}

pub(crate) fn main() -> Result<()> {
    let driver = CountingDriver::default();
    let counts = driver.0.clone();
    device::register(driver);

    let device = Device::open("counting:0")?;
    manual_seed(7);
    let x = Tensor::rand([64, 3], DType::F32, &device);
    let y = x.matmul(&Tensor::new([[1.0f32], [-2.0], [0.5]], &device)) + 0.25;
    Tensor::realize_all(&[&x, &y])?;
    let line = nn::Linear::new(3, 1, &device);
    let mut optimizer = nn::Adam::new(line.parameters(), 0.05)?;
    for _ in 0..200 {
        optimizer.minimize(&line.forward(&x).mse_loss(&y), &[])?;
    }
    println!("trained on {}: loss {:.4}", device.name(), line.forward(&x).mse_loss(&y).item::<f32>()?);
    let counted = |count: &AtomicU64| count.load(Ordering::Relaxed);
    println!("kernels were compiled: {}, launched more often: {}", counted(&counts.kernels) > 0, counted(&counts.launches) > 200);
    println!("bytes went up and down: {}", counted(&counts.bytes_up) > 0 && counted(&counts.bytes_down) > 0);
    Ok(())
}
