//! Sources: where a training loop takes its batches from, and where in them it is.
//!
//! In: an epoch and a batch's number. Out: the batches from there on.
//! Always: a position that was saved is entered again exactly.

use crate::pipeline::until_error;
use std::{fmt, str::FromStr};
use unigrad_nn::{Error, Result, random::Rng};
use unigrad_tensor::Device;

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

    /// Batches without end, epoch after epoch, from a position on, which can be saved at any time.
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_data::{InMemory, Loader, Position, Source};
    /// use unigrad_tensor::Device;
    ///
    /// let device = Device::open("cpu")?;
    /// let loader = Loader::new(InMemory::new(vec![1.0f32, 2.0, 3.0]), 2, 42);
    /// let mut steps = loader.steps(Position::default(), &device);
    /// for _ in 0..3 {
    ///     steps.next().unwrap()?;
    /// }
    /// let saved = steps.position().to_string();
    /// assert_eq!(saved, "epoch 1 batch 1");
    /// let again = loader.steps(saved.parse()?, &device).next().unwrap()?;
    /// assert_eq!(again.to_vec::<f32>()?, steps.next().unwrap()?.to_vec::<f32>()?);
    /// # Ok::<(), unigrad_nn::Error>(())
    /// ```
    fn steps(&self, position: Position, device: &Device) -> Steps<'_, Self>
    where
        Self: Sized,
    {
        Steps { source: self, device: *device, position, epoch: None, ended: false }
    }

    /// Changes every batch on the device, with random numbers that `seed`, epoch and the batch's number give: flips, crops, mixup as tensor ops.
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_data::{InMemory, Loader, Source};
    /// use unigrad_tensor::Device;
    ///
    /// let device = Device::open("cpu")?;
    /// let loader = Loader::new(InMemory::new(vec![1.0f32, 2.0]), 2, 42).in_order();
    /// let doubled = loader.map_batches(7, |batch, _rng| Ok(batch * 2.0));
    /// let batch = doubled.batches(0, 0, &device)?.next().unwrap()?;
    /// assert_eq!(batch.to_vec::<f32>()?, [2.0, 4.0]);
    /// # Ok::<(), unigrad_nn::Error>(())
    /// ```
    fn map_batches<B: 'static, F: Fn(Self::Batch, &mut Rng) -> Result<B>>(self, seed: u64, map: F) -> MapBatches<Self, F>
    where
        Self: Sized,
    {
        MapBatches { source: self, seed, map }
    }
}

/// A place in training: what a checkpoint keeps of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The epoch, from 0.
    pub epoch: u64,
    /// The batch of it that comes next.
    pub batch: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "epoch {} batch {}", self.epoch, self.batch)
    }
}

impl FromStr for Position {
    type Err = Error;

    fn from_str(text: &str) -> Result<Position> {
        let words: Vec<&str> = text.split(' ').collect();
        if let ["epoch", epoch, "batch", batch] = words[..]
            && let (Ok(epoch), Ok(batch)) = (epoch.parse(), batch.parse())
        {
            return Ok(Position { epoch, batch });
        }
        Err(Error::argument(format!("{text:?} is no position in a data set"), "give it as it was saved, as in \"epoch 3 batch 17\""))
    }
}

/// Batches without end; see [`Source::steps`].
pub struct Steps<'a, S: Source> {
    source: &'a S,
    device: Device,
    position: Position,
    epoch: Option<Box<dyn Iterator<Item = Result<S::Batch>> + 'a>>,
    ended: bool,
}

impl<S: Source> Steps<'_, S> {
    /// The batch that comes next.
    pub fn position(&self) -> Position {
        self.position
    }

    fn step(&mut self) -> Result<S::Batch> {
        let n_batches = self.source.n_batches();
        if n_batches == 0 {
            return Err(Error::argument("the data set has no batch", "use one with at least one item"));
        }
        loop {
            if self.epoch.is_none() {
                self.epoch = Some(self.source.batches(self.position.epoch, self.position.batch, &self.device)?);
            }
            if let Some(batch) = self.epoch.as_mut().and_then(Iterator::next) {
                let batch = batch?;
                self.position.batch += 1;
                if self.position.batch >= n_batches {
                    self.next_epoch();
                }
                return Ok(batch);
            }
            if self.position.batch < n_batches {
                let cause = format!("epoch {} ended after {} of {n_batches} batches", self.position.epoch, self.position.batch);
                return Err(Error::argument(cause, "have the source give as many batches as it says"));
            }
            self.next_epoch();
        }
    }

    fn next_epoch(&mut self) {
        self.epoch = None;
        self.position = Position { epoch: self.position.epoch + 1, batch: 0 };
    }
}

impl<S: Source> Iterator for Steps<'_, S> {
    type Item = Result<S::Batch>;

    fn next(&mut self) -> Option<Result<S::Batch>> {
        if self.ended {
            return None;
        }
        let step = self.step();
        self.ended = step.is_err();
        Some(step)
    }
}

/// A source whose batches are changed on the device; see [`Source::map_batches`].
pub struct MapBatches<S, F> {
    source: S,
    seed: u64,
    map: F,
}

/// Random numbers of changed batches: apart from those of the loader.
const MAPPED: u64 = 1 << 58;

impl<S: Source, B: 'static, F: Fn(S::Batch, &mut Rng) -> Result<B>> Source for MapBatches<S, F> {
    type Batch = B;

    fn n_items(&self) -> usize {
        self.source.n_items()
    }

    fn n_batches(&self) -> usize {
        self.source.n_batches()
    }

    fn batches(&self, epoch: u64, first: usize, device: &Device) -> Result<Box<dyn Iterator<Item = Result<B>> + '_>> {
        let batches = self.source.batches(epoch, first, device)?.enumerate().map(move |(at, batch)| {
            let mut rng = Rng::new(self.seed ^ epoch.rotate_left(40), MAPPED | (first + at) as u64);
            (self.map)(batch?, &mut rng)
        });
        Ok(Box::new(until_error(batches)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{InMemory, Loader};

    #[test]
    fn positions_are_read_as_they_are_written() -> Result<()> {
        for position in [Position::default(), Position { epoch: u64::MAX, batch: usize::MAX }] {
            assert_eq!(position.to_string().parse::<Position>()?, position);
        }
        for text in ["", "epoch 1", "epoch 1 batch -1", "epoch 1 batch 2 ", "batch 1 epoch 2"] {
            assert!(text.parse::<Position>().is_err(), "{text:?}");
        }
        Ok(())
    }

    #[test]
    fn steps_go_on_from_every_position() -> Result<()> {
        unigrad_device::register(unigrad_cpu::CpuDriver);
        let device = Device::open("cpu")?;
        let mixed = |items: usize| {
            let loader = Loader::new(InMemory::new((0..items as i64).collect()), 2, 4);
            loader.map_batches(3, |batch, rng| Ok((batch.to_vec::<i64>()?, rng.next_u32())))
        };
        let source = mixed(5);
        let whole: Vec<_> = source.steps(Position::default(), &device).take(10).collect::<Result<_>>()?;
        let mut steps = source.steps(Position::default(), &device);
        for done in 0..10 {
            let saved = steps.position();
            assert_eq!((saved.epoch, saved.batch), (done as u64 / 3, done % 3));
            let rest: Vec<_> = source.steps(saved, &device).take(10 - done).collect::<Result<_>>()?;
            assert_eq!(rest, whole[done..]);
            steps.next().transpose()?;
        }
        // The end of an epoch, as a program that counts batches saves it.
        assert_eq!(source.steps(Position { epoch: 0, batch: 3 }, &device).next().transpose()?, Some(whole[3].clone()));
        let mut wrong = source.steps(Position { epoch: 0, batch: 4 }, &device);
        assert!(wrong.next().is_some_and(|step| step.is_err()) && wrong.next().is_none());
        assert!(mixed(0).steps(Position::default(), &device).next().is_some_and(|step| step.is_err()));
        Ok(())
    }
}
