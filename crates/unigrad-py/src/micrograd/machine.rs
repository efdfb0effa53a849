//! What computes values on devices: a program in kernel IR that interprets a tape, one launch for each tape.
//!
//! Always: `f64` where the device has it, else `f32`. Few entries a level go to one thread, more to a workgroup.

use std::sync::{Mutex, PoisonError};
use unigrad::{
    device::Device,
    tensor::{CustomKernel, DType, Literal, Tensor},
};
use unigrad_micrograd::{Accelerator, Failure, Machine, Tape, kernel, kernel_name};

struct Launcher {
    device: Device,
    /// Whether it computes `f64`.
    is_wide: bool,
}

/// Threads of a workgroup.
const THREADS: u32 = 64;

/// The place of a device; none for the CPU.
pub(crate) fn place_of(device: Device) -> Option<&'static Accelerator> {
    static PLACES: Mutex<Vec<&'static Accelerator>> = Mutex::new(Vec::new());
    if device.backend() == "cpu" {
        return None;
    }
    let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(place) = places.iter().find(|place| place.number() == device.id()) {
        return Some(place);
    }
    let is_wide = device.info().features.iter().any(|feature| feature == "f64");
    let place = Accelerator::new(device.id(), Box::new(Launcher { device, is_wide }));
    places.push(place);
    Some(place)
}

impl Machine for Launcher {
    fn run(&self, tape: &Tape) -> Result<Vec<f64>, Failure> {
        let done = self.launch(tape).map_err(|error| Failure::Other(error.to_string()))?;
        done.ok_or(Failure::TooLong)
    }
}

impl Launcher {
    /// The results; none where the launch was ended before it was done.
    fn launch(&self, tape: &Tape) -> Result<Option<Vec<f64>>, unigrad::tensor::Error> {
        let n = tape.len();
        if n == 0 {
            return Ok(Some(Vec::new()));
        }
        let back = tape.has_way_back();
        let threads = if n / tape.n_levels().max(1) < 4 { 1 } else { THREADS };
        let (dtype, float) = if self.is_wide { (DType::F64, "f64") } else { (DType::F32, "f32") };
        let program = CustomKernel::new(&kernel_name(threads, back), [threads, 1, 1]).source("ir", kernel(float, threads, back));
        let words = Tensor::from_slice(tape.words(), [tape.words().len()], &self.device);
        let numbers = tape.numbers();
        let numbers = if self.is_wide {
            Tensor::from_slice(numbers, [numbers.len()], &self.device)
        } else {
            let narrow: Vec<f32> = numbers.iter().map(|number| *number as f32).collect();
            Tensor::from_slice(&narrow, [narrow.len()], &self.device)
        };
        let count = |count: usize| Literal::int(DType::U32, count as i64);
        let sections = if back { 3 } else { 2 };
        let scalars = [count(n), count(tape.n_levels())];
        let out = program.apply(&[&words, &numbers], &scalars, [sections * n + threads as usize], dtype, [1, 1, 1]);
        let all: Vec<f64> = if self.is_wide { out.to_vec::<f64>()? } else { out.to_vec::<f32>()?.into_iter().map(f64::from).collect() };
        let steps: f64 = all.iter().skip(sections * n).sum();
        if steps != tape.n_steps() as f64 {
            return Ok(None);
        }
        // Values, slopes, gradients: slopes are the program's own.
        let values = all.iter().take(n);
        Ok(Some(if back { values.chain(all.iter().skip(2 * n).take(n)).copied().collect() } else { values.copied().collect() }))
    }
}
