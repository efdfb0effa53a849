//! Datasets: items by index.

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
}

/// An input and what a model is to answer to it, without the batch's axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Sample {
    /// The input.
    pub input: HostTensor,
    /// The answer: a class as `I64` of rank 0, or numbers.
    pub target: HostTensor,
}
