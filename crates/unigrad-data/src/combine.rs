//! Datasets made of datasets: changed, in part, joined, kept in memory.
//!
//! In: datasets. Out: datasets.
//! Always: an item depends on its index and on the random numbers that it is given, nothing else.

use crate::dataset::Dataset;
use std::sync::{Arc, OnceLock};
use unigrad_nn::{Error, Result, random::Rng};

impl<D: Dataset + ?Sized> Dataset for Arc<D> {
    type Item = D::Item;

    fn len(&self) -> usize {
        (**self).len()
    }

    fn get(&self, index: usize, rng: &mut Rng) -> Result<D::Item> {
        (**self).get(index, rng)
    }

    fn stacked(&self, indices: &[usize]) -> Option<Result<D::Item>> {
        (**self).stacked(indices)
    }
}

impl<D: Dataset + ?Sized> Dataset for Box<D> {
    type Item = D::Item;

    fn len(&self) -> usize {
        (**self).len()
    }

    fn get(&self, index: usize, rng: &mut Rng) -> Result<D::Item> {
        (**self).get(index, rng)
    }

    fn stacked(&self, indices: &[usize]) -> Option<Result<D::Item>> {
        (**self).stacked(indices)
    }
}

/// Items in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct InMemory<T>(Vec<T>);

impl<T> InMemory<T> {
    /// These items.
    pub fn new(items: Vec<T>) -> InMemory<T> {
        InMemory(items)
    }
}

impl<T: Clone + Send + Sync + 'static> Dataset for InMemory<T> {
    type Item = T;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, index: usize, _: &mut Rng) -> Result<T> {
        self.0.get(index).cloned().ok_or_else(|| beyond(index, self.0.len()))
    }
}

pub(crate) fn beyond(index: usize, len: usize) -> Error {
    Error::argument(format!("item {index} of a data set of {len}"), "ask for an item that is there")
}

/// See [`Dataset::map`].
pub struct Map<D, F> {
    pub(crate) dataset: D,
    pub(crate) map: F,
}

impl<D: Dataset, U: Send + 'static, F: Fn(D::Item, &mut Rng) -> Result<U> + Send + Sync> Dataset for Map<D, F> {
    type Item = U;

    fn len(&self) -> usize {
        self.dataset.len()
    }

    fn get(&self, index: usize, rng: &mut Rng) -> Result<U> {
        (self.map)(self.dataset.get(index, rng)?, rng)
    }
}

/// See [`Dataset::subset`].
#[derive(Clone, Debug)]
pub struct Subset<D> {
    dataset: D,
    indices: Vec<usize>,
}

impl<D: Dataset> Subset<D> {
    pub(crate) fn new(dataset: D, indices: Vec<usize>) -> Result<Subset<D>> {
        let len = dataset.len();
        match indices.iter().find(|index| **index >= len) {
            Some(&index) => Err(beyond(index, len)),
            None => Ok(Subset { dataset, indices }),
        }
    }
}

impl<D: Dataset> Dataset for Subset<D> {
    type Item = D::Item;

    fn len(&self) -> usize {
        self.indices.len()
    }

    fn get(&self, index: usize, rng: &mut Rng) -> Result<D::Item> {
        let inner = self.indices.get(index).ok_or_else(|| beyond(index, self.indices.len()))?;
        self.dataset.get(*inner, rng)
    }

    fn stacked(&self, indices: &[usize]) -> Option<Result<D::Item>> {
        let inner = |index: &usize| self.indices.get(*index).copied().ok_or_else(|| beyond(*index, self.indices.len()));
        match indices.iter().map(inner).collect::<Result<Vec<usize>>>() {
            Ok(inner) => self.dataset.stacked(&inner),
            Err(error) => Some(Err(error)),
        }
    }
}

/// See [`Dataset::concat`].
#[derive(Clone, Debug)]
pub struct Concat<A, B> {
    pub(crate) first: A,
    pub(crate) second: B,
}

impl<A: Dataset, B: Dataset<Item = A::Item>> Dataset for Concat<A, B> {
    type Item = A::Item;

    fn len(&self) -> usize {
        self.first.len() + self.second.len()
    }

    fn get(&self, index: usize, rng: &mut Rng) -> Result<A::Item> {
        match index.checked_sub(self.first.len()) {
            None => self.first.get(index, rng),
            Some(index) => self.second.get(index, rng),
        }
    }
}

/// See [`Dataset::cached`].
pub struct Cached<D: Dataset> {
    dataset: D,
    items: Vec<OnceLock<D::Item>>,
}

/// Random numbers of items that are kept.
const CACHED: u64 = 1 << 57;

impl<D: Dataset> Cached<D> {
    pub(crate) fn new(dataset: D) -> Cached<D> {
        let items = (0..dataset.len()).map(|_| OnceLock::new()).collect();
        Cached { dataset, items }
    }
}

impl<D: Dataset> Dataset for Cached<D>
where
    D::Item: Clone + Sync,
{
    type Item = D::Item;

    fn len(&self) -> usize {
        self.items.len()
    }

    fn get(&self, index: usize, _: &mut Rng) -> Result<D::Item> {
        let place = self.items.get(index).ok_or_else(|| beyond(index, self.items.len()))?;
        if let Some(item) = place.get() {
            return Ok(item.clone());
        }
        // Not the caller's numbers: which epoch came first must not matter.
        let item = self.dataset.get(index, &mut Rng::new(0, CACHED | index as u64))?;
        Ok(place.get_or_init(|| item).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    #[test]
    fn combinations_have_the_items_that_they_say() -> Result<()> {
        let mut rng = Rng::new(1, 1);
        let base = Arc::new(InMemory::new(vec![10, 11, 12, 13]));
        let part = Arc::clone(&base).subset(vec![3, 1])?;
        let both = part.concat(base.clone()).map(|item, _| Ok(item * 2));
        let all: Vec<i32> = (0..both.len()).map(|i| both.get(i, &mut rng)).collect::<Result<_>>()?;
        assert_eq!(all, [26, 22, 20, 22, 24, 26]);
        assert!(both.get(6, &mut rng).is_err() && base.clone().subset(vec![4]).is_err());
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let kept = base
            .map(move |item, rng| {
                count.fetch_add(1, Relaxed);
                Ok((item, rng.next_u32()))
            })
            .cached();
        let first = kept.get(2, &mut Rng::new(1, 1))?;
        assert_eq!(kept.get(2, &mut Rng::new(2, 2))?, first);
        assert_eq!(asked.load(Relaxed), 1);
        assert!(kept.get(4, &mut rng).is_err());
        Ok(())
    }
}
