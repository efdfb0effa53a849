//! Loaders: a dataset's items into batches on a device.
//!
//! In: a dataset, which items a batch has ([`Batches`], [`Sampler`], [`BatchSampler`]), how they become one ([`Collate`]). Out: the batches of an epoch,
//! in order, made ahead on threads, each on the device before it is asked for.
//! Always: a batch depends on seed, epoch and position alone, whatever the number of threads. An item that fails or panics is an error that names it,
//! and the last thing that comes.

use crate::{
    Batches,
    batches::{batch_rng, item_rng},
    collate::{Collate, Stack, Upload},
    dataset::Dataset,
    pipeline::{Recipe, caught, ordered, staged},
    sampler::{BatchSampler, Cut, Sampler},
    source::Source,
};
use std::sync::Arc;
use unigrad_nn::{Error, Result};
use unigrad_tensor::{Device, Tensor};

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

/// Which items batches have.
#[derive(Clone)]
enum Order {
    Shuffled,
    Own,
    Sampled(Arc<dyn Sampler>),
    Batched(Arc<dyn BatchSampler>),
}

/// The batches of a dataset.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_data::{Arrays, Dataset, Loader, Sample, Source, array};
/// use unigrad_tensor::Device;
///
/// let images = array(&[0.5f32; 10 * 4], &[10, 2, 2])?;
/// let labels = array(&[1i64; 10], &[10])?;
/// let loader = Loader::new(Arrays::new(images, labels)?, 4, 42).workers(2).drop_last();
///
/// let device = Device::open("cpu")?;
/// for epoch in 0..2 {
///     for batch in loader.batches(epoch, 0, &device)? {
///         let batch = batch?;
///         assert_eq!((batch.input.shape(), batch.target.shape()), ([4, 2, 2].into(), [4].into()));
///     }
/// }
/// # Ok::<(), unigrad_nn::Error>(())
/// ```
pub struct Loader<D, C = Stack> {
    dataset: Arc<D>,
    collate: Arc<C>,
    order: Order,
    batch_size: usize,
    drop_last: bool,
    seed: u64,
    workers: usize,
    prefetch: Option<usize>,
    upload_ahead: usize,
}

impl<D: Dataset + 'static> Loader<D> {
    /// Batches of `batch_size` items of `dataset`, in an order that `seed` and the epoch give.
    pub fn new(dataset: D, batch_size: usize, seed: u64) -> Loader<D> {
        Loader {
            dataset: Arc::new(dataset),
            collate: Arc::new(Stack),
            order: Order::Shuffled,
            batch_size: batch_size.max(1),
            drop_last: false,
            seed,
            workers: 1,
            prefetch: None,
            upload_ahead: 1,
        }
    }
}

impl<D: Dataset + 'static, C> Loader<D, C> {
    /// In the items' own order.
    pub fn in_order(mut self) -> Self {
        self.order = Order::Own;
        self
    }

    /// The items that `sampler` gives, in its order.
    pub fn sampler(mut self, sampler: impl Sampler + 'static) -> Self {
        self.order = Order::Sampled(Arc::new(sampler));
        self
    }

    /// The batches that `sampler` gives; the loader's batch size and [`Loader::drop_last`] do not count then.
    pub fn batch_sampler(mut self, sampler: impl BatchSampler + 'static) -> Self {
        self.order = Order::Batched(Arc::new(sampler));
        self
    }

    /// Leaves a last batch out that would be smaller than the others, unless it is the only one.
    pub fn drop_last(mut self) -> Self {
        self.drop_last = true;
        self
    }

    /// Threads that make batches, each a part of every batch; with 0 they are made where they are asked for. Whatever their number, the batches are the same. One at first.
    pub fn workers(mut self, n: usize) -> Self {
        self.workers = n;
        self
    }

    /// Batches that are made and wait in the host's memory: at most so many, but one for each thread. Twice as many as there are threads at first.
    pub fn prefetch(mut self, n_batches: usize) -> Self {
        self.prefetch = Some(n_batches);
        self
    }

    /// Batches that are on the device before they are asked for, so that copies run beside kernels: one at first. With 0 a batch is put there when it is
    /// asked for.
    pub fn upload_ahead(mut self, n_batches: usize) -> Self {
        self.upload_ahead = n_batches;
        self
    }

    /// Makes batches by `collate` instead of [`Stack`].
    pub fn collate<C2: Collate<D::Item>>(self, collate: C2) -> Loader<D, C2> {
        let Loader { dataset, order, batch_size, drop_last, seed, workers, prefetch, upload_ahead, .. } = self;
        Loader { dataset, collate: Arc::new(collate), order, batch_size, drop_last, seed, workers, prefetch, upload_ahead }
    }

    /// The dataset.
    pub fn dataset(&self) -> &D {
        &self.dataset
    }

    fn with_batches<T>(&self, use_them: impl FnOnce(&dyn BatchSampler) -> T) -> T {
        let plain = |shuffle: bool| {
            let batches = Batches::new(self.dataset.len(), self.batch_size, self.seed);
            let batches = if shuffle { batches } else { batches.in_order() };
            if self.drop_last { batches.drop_last() } else { batches }
        };
        match &self.order {
            Order::Shuffled => use_them(&plain(true)),
            Order::Own => use_them(&plain(false)),
            Order::Sampled(sampler) => use_them(&Cut { sampler: &**sampler, batch_size: self.batch_size, drop_last: self.drop_last }),
            Order::Batched(batches) => use_them(&**batches),
        }
    }
}

/// A batch's items, each with how often the epoch had it before.
type Work = Vec<(usize, u32)>;

/// The items of an epoch, or an error if one of them is not there.
fn work(batches: Vec<Vec<usize>>, n_items: usize) -> Result<Vec<Work>> {
    let mut seen = vec![0u32; n_items];
    let mut counted = |index: usize| {
        let count = seen.get_mut(index).ok_or_else(|| {
            let cause = format!("a sampler gave item {index} of a data set of {n_items}");
            Error::argument(cause, "make the sampler for this data set")
        })?;
        *count = count.wrapping_add(1);
        Ok((index, count.wrapping_sub(1)))
    };
    batches.into_iter().map(|items| items.into_iter().map(&mut counted).collect()).collect()
}

/// A part of a batch.
enum Part<I> {
    Items(Vec<I>),
    /// All items of the batch as one.
    Stacked(I),
}

/// Batches of an epoch: a part of each by every thread, and then collated; or each as a whole, where its items lie side by side.
struct Making<D, C> {
    dataset: Arc<D>,
    collate: Arc<C>,
    seed: u64,
    epoch: u64,
    work: Vec<Work>,
    n_parts: usize,
    is_stacked: bool,
}

impl<D: Dataset + 'static, C: Collate<D::Item> + 'static> Recipe for Making<D, C> {
    type Part = Part<D::Item>;
    type Whole = C::Host;

    fn n_parts(&self, position: usize) -> usize {
        self.n_parts.min(self.work.get(position).map_or(0, Vec::len)).max(1)
    }

    fn part(&self, position: usize, part: usize) -> Result<Part<D::Item>> {
        let items = self.work.get(position).map(Vec::as_slice).unwrap_or_default();
        if self.is_stacked {
            let indices: Vec<usize> = items.iter().map(|(index, _)| *index).collect();
            let stacked = caught(|| format!("batch {position}"), || self.dataset.stacked(&indices).transpose())?;
            return stacked.map(Part::Stacked).ok_or_else(|| {
                let cause = format!("a data set gave no items and not the items of batch {position} as one");
                Error::argument(cause, "let `Dataset::stacked` give any items as one, or none")
            });
        }
        let size = items.len().div_ceil(self.n_parts(position)).max(1);
        let items = items.chunks(size).nth(part).unwrap_or_default();
        let mut made = Vec::with_capacity(items.len());
        for &(index, occurrence) in items {
            let place = || format!("item {index}");
            let item = caught(place, || self.dataset.get(index, &mut item_rng(self.seed, self.epoch, index, occurrence)));
            made.push(item.map_err(|error| placed(error, &place()))?);
        }
        Ok(Part::Items(made))
    }

    fn join(&self, position: usize, parts: Vec<Part<D::Item>>) -> Result<C::Host> {
        let indices: Vec<usize> = self.work.get(position).into_iter().flatten().map(|(index, _)| *index).collect();
        let mut items = Vec::new();
        for part in parts {
            match (part, self.collate.of_stacked()) {
                (Part::Stacked(stacked), Some(of_stacked)) => return of_stacked(stacked, &indices),
                (Part::Stacked(_), None) => return Err(Error::Internal("a batch as one where its items are wanted".into())),
                (Part::Items(more), _) if items.is_empty() => items = more,
                (Part::Items(more), _) => items.extend(more),
            }
        }
        self.collate.collate(items, &indices, &mut batch_rng(self.seed, self.epoch, position))
    }
}

impl<D, C> Source for Loader<D, C>
where
    D: Dataset + 'static,
    C: Collate<D::Item> + 'static,
{
    type Batch = <C::Host as Upload>::Batch;

    fn n_items(&self) -> usize {
        self.with_batches(|batches| batches.n_items())
    }

    fn n_batches(&self) -> usize {
        self.with_batches(|batches| batches.len())
    }

    fn batches(&self, epoch: u64, first: usize, device: &Device) -> Result<Box<dyn Iterator<Item = Result<Self::Batch>> + '_>> {
        let (dataset, collate, seed) = (Arc::clone(&self.dataset), Arc::clone(&self.collate), self.seed);
        let work = work(self.with_batches(|batches| batches.batches(epoch)), dataset.len())?;
        if first > work.len() {
            let cause = format!("epoch {epoch} has {} batches, and batch {first} is asked for", work.len());
            return Err(Error::argument(cause, "continue with the data set, batch size and sampler that the position was saved with"));
        }
        let n = work.len();
        let is_stacked = collate.of_stacked().is_some() && dataset.stacked(&[]).is_some();
        let n_parts = if is_stacked { 1 } else { self.workers.max(1) };
        let recipe = Making { dataset, collate, seed, epoch, work, n_parts, is_stacked };
        let batches = ordered(first..n, self.workers, self.prefetch.unwrap_or(2 * self.workers), recipe);
        let device = *device;
        let upload_ahead = if self.workers == 0 { 0 } else { self.upload_ahead };
        Ok(staged(batches, upload_ahead, move |host: C::Host| host.upload(&device)))
    }
}

/// The error with the place where it came up, kind and file kept.
pub(crate) fn placed(error: Error, place: &str) -> Error {
    match error {
        Error::Format { path, cause, help } => Error::Format { path, cause: format!("{place}: {cause}"), help },
        Error::Argument { cause, help } if cause.starts_with(place) => Error::Argument { cause, help },
        Error::Argument { cause, help } => Error::Argument { cause: format!("{place}: {cause}"), help },
        Error::Read { path, source, help } => Error::Read { path, source, help: format!("{help} ({place} of the data set)") },
        Error::Internal(cause) => Error::Internal(format!("{place}: {cause}")),
        // They name a line of a program, or a device.
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrays, Buckets, InMemory, RandomOrder, SubsetOrder, dataset::Sample};
    use unigrad_nn::{HostTensor, random::Rng};
    use unigrad_tensor::DType;

    fn cpu() -> Result<Device> {
        unigrad_device::register(unigrad_cpu::CpuDriver);
        Device::open("cpu").map_err(Error::from)
    }

    fn rows(n: usize) -> HostTensor {
        let bytes = (0..2 * n).flat_map(|x| (x as f32).to_le_bytes()).collect();
        HostTensor { dtype: DType::F32, shape: vec![n, 2], bytes }
    }

    /// Items with random numbers: index, and what the generator gives.
    struct Noisy(usize);

    impl Dataset for Noisy {
        type Item = (i64, i64);

        fn len(&self) -> usize {
            self.0
        }

        fn get(&self, index: usize, rng: &mut Rng) -> Result<(i64, i64)> {
            Ok((index as i64, i64::from(rng.next_u32())))
        }
    }

    fn numbers<C: Collate<(i64, i64)> + 'static>(loader: &Loader<Noisy, C>, epoch: u64, first: usize) -> Result<Vec<(Vec<i64>, Vec<i64>)>>
    where
        C::Host: Upload<Batch = (Tensor, Tensor)>,
    {
        loader
            .batches(epoch, first, &cpu()?)?
            .map(|batch| {
                let (index, drawn) = batch?;
                Ok((index.to_vec()?, drawn.to_vec()?))
            })
            .collect()
    }

    #[test]
    fn batches_hold_the_items_that_they_name() -> Result<()> {
        let device = cpu()?;
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

    #[test]
    fn threads_change_nothing_and_an_epoch_is_entered_anywhere() -> Result<()> {
        type Setting = fn(Loader<Noisy>) -> Loader<Noisy>;
        let settings: [Setting; 6] = [
            |loader| loader,
            Loader::in_order,
            Loader::drop_last,
            |loader| loader.sampler(RandomOrder::new(23, 9).with_replacement(50)),
            |loader| loader.sampler(SubsetOrder::new(vec![3, 1, 4, 15], 9)).drop_last(),
            |loader| loader.batch_sampler(Buckets::new(&[5; 23], 4, 9)),
        ];
        for (at, set) in settings.into_iter().enumerate() {
            let base = numbers(&set(Loader::new(Noisy(23), 5, 7).workers(0)), 3, 0)?;
            let loader = set(Loader::new(Noisy(23), 5, 7));
            assert_eq!(base.len(), loader.n_batches(), "setting {at}");
            assert_ne!(base, numbers(&loader, 4, 0)?, "setting {at}");
            for (workers, ahead, uploaded) in [(1, 1, 0), (2, 0, 1), (3, 9, 2), (8, 1, 3)] {
                let loader = set(Loader::new(Noisy(23), 5, 7)).workers(workers).prefetch(ahead).upload_ahead(uploaded);
                for first in [0, 1, base.len() - 1, base.len()] {
                    assert_eq!(numbers(&loader, 3, first)?, base[first..], "setting {at} with {workers} threads");
                }
                assert!(loader.batches(3, base.len() + 1, &cpu()?).is_err());
            }
        }
        // An item that comes again has other random numbers.
        let again = numbers(&Loader::new(Noisy(1), 4, 7).sampler(RandomOrder::new(1, 9).with_replacement(4)), 0, 0)?;
        let mut drawn = again[0].1.clone();
        drawn.dedup();
        assert_eq!(drawn.len(), 4);
        Ok(())
    }

    #[test]
    fn an_item_that_fails_is_named_and_the_last() -> Result<()> {
        let device = cpu()?;
        let fails = |how: fn(usize) -> Result<i64>| {
            InMemory::new((0..9usize).collect()).map(move |item, _| if item < 7 { Ok(0) } else { how(item) })
        };
        let wrong = |_: usize| Err(Error::format(std::path::Path::new("a.csv"), "wrong", "do"));
        let panics = |_: usize| panic!("no such thing");
        for workers in [0, 1, 3] {
            for (how, wanted) in [(wrong as fn(usize) -> Result<i64>, "a.csv: item 7: wrong"), (panics, "item 7 panicked: no such thing")] {
                let loader = Loader::new(fails(how), 2, 0).in_order().workers(workers);
                let all: Vec<Result<Tensor>> = loader.batches(0, 0, &device)?.collect();
                assert_eq!(all.len(), 4, "{workers} threads");
                let error = all.into_iter().next_back().and_then(Result::err).map(|e| e.to_string()).unwrap_or_default();
                assert!(error.contains(wanted), "{error}");
            }
        }
        let unequal = InMemory::new(vec![1usize, 1, 2]).map(|n, _| Ok(Sample { input: rows(n), target: rows(1) }));
        let error = Loader::new(unequal, 3, 0).in_order().batches(0, 0, &device)?.next().and_then(Result::err).map(|e| e.to_string());
        let error = error.unwrap_or_default();
        assert!(error.contains("inputs of the batch of items 0, 1, 2: its first item is f32 [1, 2], item 2 of it f32 [2, 2]"), "{error}");
        let beyond = Loader::new(Noisy(3), 2, 0).sampler(SubsetOrder::new(vec![3], 0));
        assert!(beyond.batches(0, 0, &device).err().is_some_and(|error| error.to_string().contains("item 3 of a data set of 3")));
        Ok(())
    }
}
