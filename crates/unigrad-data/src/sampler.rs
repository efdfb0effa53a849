//! Samplers: which items an epoch has, in which order, and which of them are a batch.
//!
//! In: a seed, weights, labels or lengths, an epoch. Out: indices.
//! Always: the order depends on what the sampler was made of and on the epoch alone; every epoch has the same number of items and of batches.

use crate::batches::{Batches, ORDER};
use std::collections::BTreeMap;
use unigrad_nn::{Error, Result, random::Rng};

/// Which items an epoch has, in which order.
///
/// ```
/// use unigrad_data::Sampler;
///
/// /// Every second item.
/// struct Even(usize);
///
/// impl Sampler for Even {
///     fn len(&self) -> usize {
///         self.0.div_ceil(2)
///     }
///     fn order(&self, _epoch: u64) -> Vec<usize> {
///         (0..self.0).step_by(2).collect()
///     }
/// }
///
/// assert_eq!(Even(5).order(0), [0, 2, 4]);
/// ```
pub trait Sampler: Send + Sync {
    /// Items of an epoch.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items of an epoch, in order.
    fn order(&self, epoch: u64) -> Vec<usize>;
}

impl<S: Sampler + ?Sized> Sampler for Box<S> {
    fn len(&self) -> usize {
        (**self).len()
    }

    fn order(&self, epoch: u64) -> Vec<usize> {
        (**self).order(epoch)
    }
}

/// The items in their own order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequential(pub usize);

impl Sampler for Sequential {
    fn len(&self) -> usize {
        self.0
    }

    fn order(&self, _: u64) -> Vec<usize> {
        (0..self.0).collect()
    }
}

/// The items in random order, each once; or drawn with replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomOrder {
    n_items: usize,
    seed: u64,
    drawn: Option<usize>,
}

impl RandomOrder {
    /// Each of `n_items` once.
    pub fn new(n_items: usize, seed: u64) -> RandomOrder {
        RandomOrder { n_items, seed, drawn: None }
    }

    /// `n_samples` a time, each any of the items: some come several times, some not at all.
    pub fn with_replacement(mut self, n_samples: usize) -> RandomOrder {
        self.drawn = Some(n_samples);
        self
    }
}

impl Sampler for RandomOrder {
    fn len(&self) -> usize {
        self.drawn.map_or(self.n_items, |n| if self.n_items == 0 { 0 } else { n })
    }

    fn order(&self, epoch: u64) -> Vec<usize> {
        let mut rng = Rng::new(self.seed, ORDER | epoch);
        match self.drawn {
            None => rng.permutation(self.n_items),
            Some(_) => (0..self.len()).map(|_| rng.below(self.n_items)).collect(),
        }
    }
}

/// Some of the items, in random order: those of a part of the data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubsetOrder {
    indices: Vec<usize>,
    seed: u64,
}

impl SubsetOrder {
    /// Each of `indices` once.
    pub fn new(indices: Vec<usize>, seed: u64) -> SubsetOrder {
        SubsetOrder { indices, seed }
    }
}

impl Sampler for SubsetOrder {
    fn len(&self) -> usize {
        self.indices.len()
    }

    fn order(&self, epoch: u64) -> Vec<usize> {
        Rng::new(self.seed, ORDER | epoch).permutation(self.indices.len()).into_iter().map(|at| self.indices[at]).collect()
    }
}

/// Items drawn with a probability in proportion to their weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Weighted {
    weights: Vec<f64>,
    /// Sums of the weights up to and with each item.
    sums: Vec<f64>,
    n_samples: usize,
    replacement: bool,
    seed: u64,
}

impl Weighted {
    /// `n_samples` a time. Without replacement an item comes at most once (the weights are those of what is left: Efraimidis and Spirakis,
    /// *Weighted random sampling with a reservoir*, 2006).
    ///
    /// An error if a weight is negative or no number, if none is above 0, or if fewer have one than are to be drawn without replacement.
    ///
    /// ```
    /// use unigrad_data::{Sampler, Weighted};
    /// let draws = Weighted::new(vec![0.0, 1.0, 3.0], 1000, true, 42)?;
    /// let order = draws.order(0);
    /// let of_two = order.iter().filter(|&&i| i == 2).count();
    /// assert!(!order.contains(&0) && (700..800).contains(&of_two));
    /// assert!(Weighted::new(vec![0.0, 1.0, 3.0], 3, false, 42).is_err());
    /// # Ok::<(), unigrad_nn::Error>(())
    /// ```
    pub fn new(weights: Vec<f64>, n_samples: usize, replacement: bool, seed: u64) -> Result<Weighted> {
        if let Some(at) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
            return Err(Error::argument(format!("the weight of item {at} is {}", weights[at]), "use finite weights from 0 on"));
        }
        let mut sum = 0.0;
        let sums: Vec<f64> = weights
            .iter()
            .map(|w| {
                sum += w;
                sum
            })
            .collect();
        let n_possible = weights.iter().filter(|w| **w > 0.0).count();
        if n_possible == 0 || !sum.is_finite() {
            let cause = format!("the {} weights sum up to {sum}", weights.len());
            return Err(Error::argument(cause, "give at least one item a weight above 0, and keep the sum finite"));
        }
        if !replacement && n_samples > n_possible {
            let cause = format!("{n_samples} items are to be drawn without replacement, and {n_possible} have a weight above 0");
            return Err(Error::argument(cause, "draw fewer, or with replacement"));
        }
        Ok(Weighted { weights, sums, n_samples, replacement, seed })
    }

    /// Draws with replacement, as many as there are labels, so that each class is as likely as any other.
    pub fn balanced(labels: &[usize], seed: u64) -> Result<Weighted> {
        let mut counts = BTreeMap::new();
        labels.iter().for_each(|label| *counts.entry(label).or_insert(0usize) += 1);
        let weights = labels.iter().map(|label| 1.0 / counts[label] as f64).collect();
        Weighted::new(weights, labels.len(), true, seed)
    }
}

impl Sampler for Weighted {
    fn len(&self) -> usize {
        self.n_samples
    }

    fn order(&self, epoch: u64) -> Vec<usize> {
        let mut rng = Rng::new(self.seed, ORDER | epoch);
        if self.replacement {
            let total = self.sums.last().copied().unwrap_or_default();
            let draw = |_| {
                let at = rng.uniform() * total;
                let found = self.sums.partition_point(|sum| *sum <= at);
                // Rounding may reach the total: the last item that has a weight.
                if found < self.sums.len() { found } else { self.weights.iter().rposition(|w| *w > 0.0).unwrap_or_default() }
            };
            return (0..self.n_samples).map(draw).collect();
        }
        let mut keys: Vec<(f64, usize)> = Vec::with_capacity(self.weights.len());
        for (item, weight) in self.weights.iter().enumerate() {
            // Drawn for each item, so that the numbers of one do not depend on the others' weights.
            let key = -(1.0 - rng.uniform()).ln();
            if *weight > 0.0 {
                keys.push((key / weight, item));
            }
        }
        keys.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        keys.into_iter().take(self.n_samples).map(|(_, item)| item).collect()
    }
}

/// Each item once, in an order in which every stretch of an epoch has the classes in about the shares that the whole has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stratified {
    classes: Vec<Vec<usize>>,
    n_items: usize,
    seed: u64,
}

impl Stratified {
    /// Of items with these labels.
    pub fn new(labels: &[usize], seed: u64) -> Stratified {
        Stratified { classes: by_class(labels), n_items: labels.len(), seed }
    }
}

impl Sampler for Stratified {
    fn len(&self) -> usize {
        self.n_items
    }

    fn order(&self, epoch: u64) -> Vec<usize> {
        let mut rng = Rng::new(self.seed, ORDER | epoch);
        let mut keys: Vec<(f64, usize)> = Vec::with_capacity(self.n_items);
        for class in &self.classes {
            let order = rng.permutation(class.len());
            // A class's items are a step of 1/n apart; where its first one comes is random, so that no class always leads.
            let shift = rng.uniform();
            keys.extend(order.into_iter().enumerate().map(|(j, at)| ((j as f64 + shift) / class.len() as f64, class[at])));
        }
        keys.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        keys.into_iter().map(|(_, item)| item).collect()
    }
}

/// The items of each class, in order; classes in the order of their labels.
pub(crate) fn by_class(labels: &[usize]) -> Vec<Vec<usize>> {
    let mut classes: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    labels.iter().enumerate().for_each(|(item, label)| classes.entry(*label).or_default().push(item));
    classes.into_values().collect()
}

/// The share of one of several processes in the items of another sampler: all have equally many, as PyTorch's `DistributedSampler`.
pub struct Distributed {
    inner: Box<dyn Sampler>,
    rank: usize,
    world: usize,
    drop_last: bool,
}

impl Distributed {
    /// The share of process `rank` of `world`. Where the items do not divide by `world`, the first ones come again at the end.
    pub fn new(inner: impl Sampler + 'static, rank: usize, world: usize) -> Result<Distributed> {
        if rank >= world {
            return Err(Error::argument(format!("rank {rank} of a world of {world}"), "use a rank from 0 to the world's size less 1"));
        }
        Ok(Distributed { inner: Box::new(inner), rank, world, drop_last: false })
    }

    /// Leaves the rest out instead of repeating items.
    pub fn drop_last(mut self) -> Distributed {
        self.drop_last = true;
        self
    }
}

impl Sampler for Distributed {
    fn len(&self) -> usize {
        let n = self.inner.len();
        if self.drop_last { n / self.world } else { n.div_ceil(self.world) }
    }

    fn order(&self, epoch: u64) -> Vec<usize> {
        let all = self.inner.order(epoch);
        (0..self.len()).filter_map(|at| all.get((at * self.world + self.rank) % all.len().max(1)).copied()).collect()
    }
}

/// Which items are a batch.
pub trait BatchSampler: Send + Sync {
    /// Batches of an epoch.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Items of an epoch.
    fn n_items(&self) -> usize;

    /// The items of every batch of an epoch.
    fn batches(&self, epoch: u64) -> Vec<Vec<usize>>;
}

impl BatchSampler for Batches {
    fn len(&self) -> usize {
        Batches::len(self)
    }

    fn n_items(&self) -> usize {
        Batches::n_items(self)
    }

    fn batches(&self, epoch: u64) -> Vec<Vec<usize>> {
        self.order(epoch)
    }
}

/// A sampler's items, cut into batches.
pub(crate) struct Cut<'a> {
    pub(crate) sampler: &'a dyn Sampler,
    pub(crate) batch_size: usize,
    pub(crate) drop_last: bool,
}

impl BatchSampler for Cut<'_> {
    fn len(&self) -> usize {
        n_batches(self.sampler.len(), self.batch_size, self.drop_last)
    }

    fn n_items(&self) -> usize {
        self.sampler.len()
    }

    fn batches(&self, epoch: u64) -> Vec<Vec<usize>> {
        self.sampler.order(epoch).chunks(self.batch_size).take(self.len()).map(<[usize]>::to_vec).collect()
    }
}

/// How many batches `n` items are; with `drop_last`, without a smaller last one, unless it is the only one.
pub(crate) fn n_batches(n: usize, batch_size: usize, drop_last: bool) -> usize {
    let whole = n / batch_size;
    whole + usize::from(!n.is_multiple_of(batch_size) && !(drop_last && whole > 0))
}

/// Batches of items of about equal length, in random order: little padding. What a length is, the caller says.
///
/// ```
/// use unigrad_data::{BatchSampler, Buckets};
/// let lengths = [3, 90, 4, 88, 5, 91];
/// for batch in Buckets::new(&lengths, 3, 42).batches(0) {
///     let of = |pick: fn(usize, usize) -> usize| batch.iter().map(|&i| lengths[i]).reduce(pick).unwrap();
///     assert!(of(usize::max) - of(usize::min) <= 3);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buckets {
    lengths: Vec<usize>,
    batch_size: usize,
    seed: u64,
    drop_last: bool,
}

impl Buckets {
    /// Batches of `batch_size` items.
    pub fn new(lengths: &[usize], batch_size: usize, seed: u64) -> Buckets {
        Buckets { lengths: lengths.to_vec(), batch_size: batch_size.max(1), seed, drop_last: false }
    }

    /// Leaves the batch out that is smaller than the others.
    pub fn drop_last(mut self) -> Buckets {
        self.drop_last = true;
        self
    }
}

impl BatchSampler for Buckets {
    fn len(&self) -> usize {
        n_batches(self.lengths.len(), self.batch_size, self.drop_last)
    }

    fn n_items(&self) -> usize {
        self.lengths.len()
    }

    fn batches(&self, epoch: u64) -> Vec<Vec<usize>> {
        let mut rng = Rng::new(self.seed, ORDER | epoch);
        // Equal lengths stand in random order, so that the items of a batch differ from epoch to epoch.
        let mut items = rng.permutation(self.lengths.len());
        items.sort_by_key(|&item| self.lengths[item]);
        // Which items the smaller batch has is random too: it stands anywhere in the order of lengths.
        let rest = items.len() % self.batch_size;
        let whole = items.len() / self.batch_size;
        let before = if rest > 0 { rng.below(whole + 1) * self.batch_size } else { items.len() };
        let (head, tail) = items.split_at(before.min(items.len()));
        let (small, tail) = tail.split_at(rest.min(tail.len()));
        let mut batches: Vec<Vec<usize>> =
            head.chunks(self.batch_size).chain(tail.chunks(self.batch_size)).map(<[usize]>::to_vec).collect();
        if !small.is_empty() && !(self.drop_last && whole > 0) {
            batches.push(small.to_vec());
        }
        let order = rng.permutation(batches.len());
        order.into_iter().map(|at| std::mem::take(&mut batches[at])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(mut items: Vec<usize>) -> Vec<usize> {
        items.sort_unstable();
        items
    }

    #[test]
    fn each_sampler_has_as_many_items_as_it_says_and_the_same_ones_again() -> Result<()> {
        let labels: Vec<usize> = (0..23).map(|i| i % 3).collect();
        let samplers: Vec<Box<dyn Sampler>> = vec![
            Box::new(Sequential(23)),
            Box::new(RandomOrder::new(23, 5)),
            Box::new(RandomOrder::new(23, 5).with_replacement(40)),
            Box::new(RandomOrder::new(0, 5).with_replacement(40)),
            Box::new(SubsetOrder::new(vec![4, 9, 2], 5)),
            Box::new(Weighted::new(vec![1.0; 23], 7, false, 5)?),
            Box::new(Weighted::balanced(&labels, 5)?),
            Box::new(Stratified::new(&labels, 5)),
            Box::new(Distributed::new(RandomOrder::new(23, 5), 1, 4)?),
            Box::new(Distributed::new(RandomOrder::new(23, 5), 3, 4)?.drop_last()),
            Box::new(Distributed::new(Sequential(1), 3, 4)?),
            Box::new(Distributed::new(Sequential(0), 3, 4)?),
        ];
        for (at, sampler) in samplers.iter().enumerate() {
            for epoch in 0..3 {
                let order = sampler.order(epoch);
                assert_eq!(order.len(), sampler.len(), "sampler {at}");
                assert_eq!(order, sampler.order(epoch), "sampler {at}");
                assert!(order.iter().all(|&i| i < 23), "sampler {at}");
            }
            if sampler.len() > 4 && at > 0 {
                assert_ne!(sampler.order(0), sampler.order(1), "sampler {at}");
            }
        }
        Ok(())
    }

    #[test]
    fn processes_share_the_items() -> Result<()> {
        for (n, world) in [(8, 4), (9, 4), (7, 4), (3, 4), (1, 1)] {
            let parts: Vec<Vec<usize>> =
                (0..world).map(|rank| Ok(Distributed::new(RandomOrder::new(n, 1), rank, world)?.order(2))).collect::<Result<_>>()?;
            assert!(parts.iter().all(|part| part.len() == n.div_ceil(world)));
            let mut all = sorted(parts.concat());
            all.dedup();
            assert_eq!(all, (0..n).collect::<Vec<_>>(), "{n} items for {world}");
            let dropped: Vec<usize> = (0..world)
                .map(|rank| Ok(Distributed::new(RandomOrder::new(n, 1), rank, world)?.drop_last().order(2)))
                .collect::<Result<Vec<_>>>()?
                .concat();
            let mut once = sorted(dropped.clone());
            once.dedup();
            assert_eq!((once.len(), dropped.len()), (n / world * world, n / world * world), "none twice");
        }
        assert!(Distributed::new(Sequential(4), 4, 4).is_err());
        Ok(())
    }

    #[test]
    fn stretches_have_the_classes_in_their_shares() {
        let labels: Vec<usize> = (0..1000).map(|i| usize::from(i >= 900)).collect();
        let order = Stratified::new(&labels, 3).order(0);
        assert_eq!(sorted(order.clone()), (0..1000).collect::<Vec<_>>());
        for stretch in order.chunks(100) {
            let rare = stretch.iter().filter(|&&i| labels[i] == 1).count();
            assert!((9..=11).contains(&rare), "{rare} of 100");
        }
    }

    #[test]
    fn weights_are_probabilities() -> Result<()> {
        // Without replacement: the first draw is in proportion to the weights.
        let n = 4000;
        let first = (0..n).filter(|&epoch| Weighted::new(vec![1.0, 3.0, 0.0], 2, false, 9).is_ok_and(|w| w.order(epoch)[0] == 1)).count();
        assert!((first as f64 / n as f64 - 0.75).abs() < 0.03, "{first}");
        let balanced = Weighted::balanced(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 1)?;
        let ones: usize = (0..400).map(|epoch| balanced.order(epoch).iter().filter(|&&i| i == 9).count()).sum();
        assert!((ones as f64 / 4000.0 - 0.5).abs() < 0.03, "{ones}");
        for bad in [vec![], vec![0.0, 0.0], vec![1.0, -1.0], vec![f64::NAN], vec![f64::MAX, f64::MAX]] {
            assert!(Weighted::new(bad, 1, true, 0).is_err());
        }
        Ok(())
    }

    #[test]
    fn buckets_have_every_item_once() {
        for n in [0, 1, 6, 7, 8, 20, 21] {
            let lengths: Vec<usize> = (0..n).map(|i| i * 7 % 5).collect();
            for epoch in 0..5 {
                let buckets = Buckets::new(&lengths, 7, 3);
                let batches = buckets.batches(epoch);
                assert_eq!(batches.len(), buckets.len());
                assert_eq!(sorted(batches.concat()), (0..n).collect::<Vec<_>>());
                let dropped = buckets.drop_last();
                assert_eq!(dropped.batches(epoch).len(), dropped.len());
            }
        }
    }
}
