//! Steps of a GPT that are measured within limits of memory: one at a time, for tests of one file share the process's arenas.

use unigrad_nn::{
    Module,
    models::{Gpt, GptConfig},
};
use unigrad_tensor::{DType, Device, Result, Tensor, autocast, grad};

pub(crate) fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

pub(crate) fn cpu() -> Device {
    unigrad_device::register(unigrad_cpu::CpuDriver);
    Device::open("cpu").unwrap()
}

/// A GPT, and the sequences of its batch.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) config: GptConfig,
    pub(crate) batch: usize,
}

impl Case {
    fn tokens(&self, shift: usize, device: &Device) -> Tensor {
        let n = self.batch * self.config.ctx;
        let ids: Vec<i64> = (0..n).map(|i| ((i * 31 + i * i % 17 + shift) % self.config.vocab) as i64).collect();
        Tensor::from_slice(&ids, [self.batch, self.config.ctx], device)
    }

    pub(crate) fn model(&self, device: &Device) -> Gpt {
        let model = Gpt::new(self.config, device).unwrap();
        model.parameters().iter().for_each(|parameter| drop(parameter.realize().unwrap()));
        model
    }

    pub(crate) fn loss(&self, model: &Gpt, device: &Device, half: bool) -> Tensor {
        let loss = || model.loss(&self.tokens(0, device), &self.tokens(7, device));
        if half { autocast(DType::BF16, loss) } else { loss() }
    }

    /// All gradients and the loss, recorded.
    pub(crate) fn recorded(&self, model: &Gpt, device: &Device, half: bool) -> Result<Vec<Tensor>> {
        let loss = self.loss(model, device, half);
        let parameters = model.parameters();
        let mut all = grad(&loss, &parameters.iter().collect::<Vec<_>>())?;
        all.push(loss);
        Ok(all)
    }
}

/// Most bytes of arenas at once since the last call.
pub(crate) fn arena_peak(device: &Device) -> u64 {
    let stats = device.memory_stats();
    device.reset_peak();
    stats.tags.iter().find(|tag| tag.tag == "arena").map_or(0, |tag| tag.peak)
}
