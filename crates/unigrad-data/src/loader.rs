//! Loaders: a dataset's items into batches on a device.
//!
//! In: a dataset, which items a batch has ([`Batches`]). Out: the batches of an epoch, in order, made ahead on a thread.
//! Always: a batch depends on seed, epoch and position alone.

use crate::{
    Batches,
    dataset::{Dataset, Sample},
};
use std::sync::Arc;
use unigrad_nn::{Error, HostTensor, Result, random::Rng};
use unigrad_tensor::{Device, Tensor};

/// Where a training loop takes its batches from.
pub trait Source {
    /// What a step is given.
    type Batch;

    /// Items of an epoch.
    fn n_items(&self) -> usize;

    /// Batches of an epoch.
    fn n_batches(&self) -> usize;

    /// The batches of an epoch from `first` on, on `device`. After the first error there are no more.
    fn batches(&self, epoch: u64, first: usize, device: &Device) -> Result<Box<dyn Iterator<Item = Result<Self::Batch>> + '_>>;
}

/// A batch for a model with one input and one answer.
#[derive(Clone, Debug)]
pub struct Batch {
    /// `[batch, ...]`.
    pub input: Tensor,
    /// `[batch, ...]`.
    pub target: Tensor,
    /// Which items they are.
    pub indices: Vec<usize>,
}

/// The batches of a dataset.
pub struct Loader<D> {
    dataset: Arc<D>,
    batches: Batches,
}

impl<D: Dataset<Item = Sample> + 'static> Loader<D> {
    /// Batches of `batch_size` items of `dataset`, in an order that `seed` and the epoch give.
    pub fn new(dataset: D, batch_size: usize, seed: u64) -> Loader<D> {
        let batches = Batches::new(dataset.len(), batch_size, seed);
        Loader { dataset: Arc::new(dataset), batches }
    }

    /// In the items' own order.
    pub fn in_order(mut self) -> Self {
        self.batches = self.batches.in_order();
        self
    }

    /// Leaves a last batch out that would be smaller than the others, unless it is the only one.
    pub fn drop_last(mut self) -> Self {
        self.batches = self.batches.drop_last();
        self
    }
}

impl<D: Dataset<Item = Sample> + 'static> Source for Loader<D> {
    type Batch = Batch;

    fn n_items(&self) -> usize {
        self.dataset.len()
    }

    fn n_batches(&self) -> usize {
        self.batches.len()
    }

    fn batches(&self, epoch: u64, first: usize, device: &Device) -> Result<Box<dyn Iterator<Item = Result<Batch>> + '_>> {
        let dataset = Arc::clone(&self.dataset);
        let batches = self.batches.clone();
        let make = move |items: &[usize], _: &mut Rng| -> Result<(HostTensor, HostTensor, Vec<usize>)> {
            let (mut inputs, mut targets) = (Vec::with_capacity(items.len()), Vec::with_capacity(items.len()));
            for &index in items {
                let sample = dataset.get(index, &mut batches.item_rng(epoch, index))?;
                inputs.push(sample.input);
                targets.push(sample.target);
            }
            Ok((stack(&inputs)?, stack(&targets)?, items.to_vec()))
        };
        let device = *device;
        let upload = move |host: &HostTensor| Tensor::from_bytes(&host.bytes, host.shape.as_slice(), host.dtype, &device).check();
        let made = self.batches.prepare(epoch, first, make);
        Ok(Box::new(made.map(move |made| {
            let (input, target, indices) = made?;
            Ok(Batch { input: upload(&input)?, target: upload(&target)?, indices })
        })))
    }
}

/// Items of one shape and dtype, one after the other along a new first axis.
fn stack(items: &[HostTensor]) -> Result<HostTensor> {
    let Some(first) = items.first() else {
        return Err(Error::argument("a batch of no items", "make batches of at least one"));
    };
    let mut bytes = Vec::with_capacity(first.bytes.len() * items.len());
    for item in items {
        if (item.dtype, &item.shape) != (first.dtype, &first.shape) {
            let cause = format!("a batch has items {} {:?} and {} {:?}", first.dtype, first.shape, item.dtype, item.shape);
            return Err(Error::argument(cause, "make items equal in shape and type, or pad them"));
        }
        bytes.extend_from_slice(&item.bytes);
    }
    Ok(HostTensor { dtype: first.dtype, shape: std::iter::once(items.len()).chain(first.shape.iter().copied()).collect(), bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arrays;
    use unigrad_tensor::DType;

    fn rows(n: usize) -> HostTensor {
        let bytes = (0..2 * n).flat_map(|x| (x as f32).to_le_bytes()).collect();
        HostTensor { dtype: DType::F32, shape: vec![n, 2], bytes }
    }

    #[test]
    fn batches_hold_the_items_that_they_name() -> Result<()> {
        unigrad_device::register(unigrad_cpu::CpuDriver);
        let device = Device::open("cpu")?;
        let loader = Loader::new(Arrays::new(rows(7), rows(7))?, 3, 1);
        let all: Vec<Batch> = loader.batches(2, 0, &device)?.collect::<Result<_>>()?;
        assert_eq!((all.len(), loader.n_batches(), loader.n_items()), (3, 3, 7));
        for batch in &all {
            let wanted: Vec<f32> = batch.indices.iter().flat_map(|&i| [2.0 * i as f32, 2.0 * i as f32 + 1.0]).collect();
            assert_eq!(batch.input.to_vec::<f32>()?, wanted);
            assert_eq!(batch.target.to_vec::<f32>()?, wanted);
        }
        let rest: Vec<Batch> = loader.batches(2, 2, &device)?.collect::<Result<_>>()?;
        assert_eq!(rest[0].indices, all[2].indices);
        assert!(Arrays::new(rows(3), rows(4)).is_err());
        Ok(())
    }
}
