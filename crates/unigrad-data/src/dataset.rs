//! Datasets: items by index.

use crate::combine::{Cached, Concat, Map, Subset};
use unigrad_nn::{HostTensor, Result, random::Rng};

/// Items by index, on the host.
///
/// ```
/// use unigrad_data::Dataset;
/// use unigrad_nn::{Result, random::Rng};
///
/// /// The squares.
/// struct Squares(usize);
///
/// impl Dataset for Squares {
///     type Item = (f32, f32);
///     fn len(&self) -> usize {
///         self.0
///     }
///     fn get(&self, index: usize, _: &mut Rng) -> Result<(f32, f32)> {
///         let x = index as f32;
///         Ok((x, x * x))
///     }
/// }
///
/// assert_eq!(Squares(10).get(3, &mut Rng::new(0, 0))?, (3.0, 9.0));
/// # Ok::<(), unigrad_nn::Error>(())
/// ```
pub trait Dataset: Send + Sync {
    /// What one index gives.
    type Item: Send + 'static;

    /// How many items there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Item `index`, which is below [`Dataset::len`]. What is random takes its numbers from `rng`, which depends on seed, epoch and index alone.
    fn get(&self, index: usize, rng: &mut Rng) -> Result<Self::Item>;

    /// Items `indices` as one that has them along an axis more in front, where that takes less than an item each: they lie side by side in memory, say.
    /// What [`Stack`](crate::Stack) would make of the items one by one. `None`, as here, of a data set whose items are asked for one by one; a loader finds out
    /// which it is by asking for no items.
    fn stacked(&self, _indices: &[usize]) -> Option<Result<Self::Item>> {
        None
    }

    /// Items that `map` makes of these, anew each time: where transforms go. Its random numbers are the item's.
    ///
    /// ```
    /// use unigrad_data::{Dataset, InMemory};
    /// use unigrad_nn::random::Rng;
    /// let noisy = InMemory::new(vec![1.0, 2.0]).map(|x, rng| Ok(x + 0.1 * rng.normal()));
    /// assert_ne!(noisy.get(0, &mut Rng::new(1, 0))?, noisy.get(0, &mut Rng::new(1, 1))?);
    /// # Ok::<(), unigrad_nn::Error>(())
    /// ```
    fn map<U: Send + 'static, F: Fn(Self::Item, &mut Rng) -> Result<U> + Send + Sync>(self, map: F) -> Map<Self, F>
    where
        Self: Sized,
    {
        Map { dataset: self, map }
    }

    /// The items `indices`, in this order. An error if one of them is not there. Several parts of one dataset share it by an `Arc`.
    fn subset(self, indices: Vec<usize>) -> Result<Subset<Self>>
    where
        Self: Sized,
    {
        Subset::new(self, indices)
    }

    /// These items and, after them, those of `other`.
    fn concat<D: Dataset<Item = Self::Item>>(self, other: D) -> Concat<Self, D>
    where
        Self: Sized,
    {
        Concat { first: self, second: other }
    }

    /// Keeps every item in memory once it was asked for. What is random in it is drawn once, by its index alone: put random transforms after it.
    fn cached(self) -> Cached<Self>
    where
        Self: Sized,
        Self::Item: Clone + Sync,
    {
        Cached::new(self)
    }
}

/// An input and what a model is to answer to it, without the batch's axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Sample {
    /// The input.
    pub input: HostTensor,
    /// The answer: a class as `I64` of rank 0, or numbers.
    pub target: HostTensor,
}
