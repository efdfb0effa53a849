//! What the trainer's tests share: small data, small models, a folder of their own.

#![allow(dead_code)] // Each test program uses a part.

pub(crate) mod reach;

use std::{
    cell::Cell,
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};
use unigrad_data::{Arrays, Batch, Loader, Source};
use unigrad_nn::{HostTensor, Linear, Module, Relu, Sequential, random::Rng};
use unigrad_tensor::{DType, Device, Tensor, manual_seed};
use unigrad_train::{Callback, Context, Result};

/// Until it drops, no other test runs that asks: what is random is drawn from numbers that the process's threads share.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The CPU.
pub(crate) fn device() -> Device {
    unigrad_device::register(unigrad_cpu::CpuDriver);
    Device::open("cpu").unwrap()
}

/// The CPU, for one test at a time.
pub(crate) fn cpu() -> (Device, MutexGuard<'static, ()>) {
    (device(), alone())
}

/// A folder of its own, removed at the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("unigrad-train-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn floats(shape: &[usize], values: &[f32]) -> HostTensor {
    HostTensor { dtype: DType::F32, shape: shape.to_vec(), bytes: values.iter().flat_map(|x| x.to_le_bytes()).collect() }
}

pub(crate) fn labels(values: &[i64]) -> HostTensor {
    HostTensor { dtype: DType::I64, shape: vec![values.len()], bytes: values.iter().flat_map(|x| x.to_le_bytes()).collect() }
}

/// `n` points in three dimensions of three classes: which coordinate is the greatest.
pub(crate) fn points(n: usize, seed: u64) -> (Vec<f32>, Vec<i64>) {
    let mut rng = Rng::new(seed, 1);
    let points: Vec<f32> = (0..3 * n).map(|_| rng.normal() as f32).collect();
    let greatest = |p: &[f32]| (0..3).fold(0, |best, i| if p[i] > p[best] { i } else { best }) as i64;
    let classes = points.chunks(3).map(greatest).collect();
    (points, classes)
}

pub(crate) fn data(n: usize, seed: u64) -> Arrays {
    let (points, classes) = points(n, seed);
    Arrays::new(floats(&[n, 3], &points), labels(&classes)).unwrap()
}

pub(crate) fn loader(n: usize, batch: usize) -> Loader<Arrays> {
    Loader::new(data(n, 5), batch, 7)
}

/// Linear layers with everything between them that draws random numbers or has statistics.
pub(crate) fn net(device: &Device) -> Sequential {
    manual_seed(3);
    Sequential::new()
        .add(Linear::new(3, 8, device))
        .add(unigrad_nn::BatchNorm::new(8, device))
        .add(Relu)
        .add(unigrad_nn::Dropout::new(0.25))
        .add(Linear::new(8, 3, device))
}

/// All parameters and buffers, as bits.
pub(crate) fn bits<M: Module>(model: &M) -> Vec<(String, Vec<u8>)> {
    model.state_dict().into_iter().map(|(name, tensor)| (name, tensor.to_bytes().unwrap())).collect()
}

/// Ends a run after each of these steps.
pub(crate) struct StopAt(pub(crate) u64);

impl Callback for StopAt {
    fn on_step_end(&mut self, run: &mut Context<'_>) -> Result<()> {
        if run.step == self.0 {
            run.stop("the test says so");
        }
        Ok(())
    }
}

/// One that gives a batch of something else at a place.
pub(crate) struct With<'a> {
    pub(crate) inner: &'a dyn Source<Batch = Batch>,
    pub(crate) at: (u64, usize),
    pub(crate) change: fn(Batch) -> Batch,
    pub(crate) given: Cell<usize>,
}

impl Source for With<'_> {
    type Batch = Batch;

    fn n_items(&self) -> usize {
        self.inner.n_items()
    }

    fn n_batches(&self) -> usize {
        self.inner.n_batches()
    }

    fn batches(&self, epoch: u64, first: usize, device: &Device) -> Result<Box<dyn Iterator<Item = Result<Batch>> + '_>> {
        let batches = self.inner.batches(epoch, first, device)?;
        let change = move |(at, batch): (usize, Result<Batch>)| {
            if (epoch, first + at) == self.at {
                self.given.set(self.given.get() + 1);
                batch.map(self.change)
            } else {
                batch
            }
        };
        Ok(Box::new(batches.enumerate().map(change)))
    }
}

pub(crate) fn fill(tensor: &Tensor, value: f64) -> Tensor {
    tensor.full_like(value)
}

pub(crate) fn exists(folder: &Path, name: &str) -> bool {
    folder.join(name).exists()
}
