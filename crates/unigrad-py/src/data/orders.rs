//! Which items come in which order, and splits.
//!
//! In: labels, weights or lengths, a seed, an epoch. Out: numbers of items.

use crate::error::{OrRaise, argument};
use pyo3::prelude::*;
use unigrad::data::{self, BatchSampler, Buckets, Distributed, Fold, RandomOrder, Sampler, Sequential, Stratified, Weighted};

/// Each item once; every stretch of an epoch has the classes in about the shares of the whole.
#[pyfunction]
pub(crate) fn stratified(labels: Vec<usize>, seed: u64, epoch: u64) -> Vec<usize> {
    Stratified::new(&labels, seed).order(epoch)
}

/// Items by weights.
#[pyfunction]
pub(crate) fn weighted(py: Python<'_>, weights: Vec<f64>, n: usize, replacement: bool, seed: u64, epoch: u64) -> PyResult<Vec<usize>> {
    Ok(Weighted::new(weights, n, replacement, seed).or_raise(py)?.order(epoch))
}

/// As many items as there are labels, such that each class is as likely as any other.
#[pyfunction]
pub(crate) fn balanced(py: Python<'_>, labels: Vec<usize>, seed: u64, epoch: u64) -> PyResult<Vec<usize>> {
    Ok(Weighted::balanced(&labels, seed).or_raise(py)?.order(epoch))
}

/// Batches of items of about equal length.
#[pyfunction]
pub(crate) fn buckets(lengths: Vec<usize>, batch_size: usize, drop_last: bool, seed: u64, epoch: u64) -> Vec<Vec<usize>> {
    let buckets = Buckets::new(&lengths, batch_size, seed);
    if drop_last { buckets.drop_last() } else { buckets }.batches(epoch)
}

/// The share of one process in `n` items, in order or (with a seed) at random.
#[pyfunction]
pub(crate) fn distributed(
    py: Python<'_>,
    n: usize,
    rank: usize,
    world: usize,
    drop_last: bool,
    seed: Option<u64>,
    epoch: u64,
) -> PyResult<Vec<usize>> {
    let share = match seed {
        Some(seed) => Distributed::new(RandomOrder::new(n, seed), rank, world),
        None => Distributed::new(Sequential(n), rank, world),
    };
    let share = share.or_raise(py)?;
    Ok(if drop_last { share.drop_last() } else { share }.order(epoch))
}

/// Items to learn from, and items to be judged by.
type Split = (Vec<usize>, Vec<usize>);

fn of_folds(folds: Vec<Fold>) -> Vec<Split> {
    folds.into_iter().map(|fold| (fold.train, fold.validation)).collect()
}

/// The folds of a cross-validation; shuffled by a seed.
#[pyfunction]
pub(crate) fn k_fold(py: Python<'_>, n: usize, k: usize, seed: Option<u64>) -> PyResult<Vec<Split>> {
    data::k_fold(n, k, seed).map(of_folds).or_raise(py)
}

/// As `k_fold`, with each class in every fold by its share.
#[pyfunction]
pub(crate) fn stratified_k_fold(py: Python<'_>, labels: Vec<usize>, k: usize, seed: Option<u64>) -> PyResult<Vec<Split>> {
    data::stratified_k_fold(&labels, k, seed).map(of_folds).or_raise(py)
}

/// A random part of about `fraction` validates, in which each class has its share.
#[pyfunction]
pub(crate) fn stratified_split(py: Python<'_>, labels: Vec<usize>, fraction: f64, seed: u64) -> PyResult<Split> {
    data::stratified_split(&labels, fraction, seed).or_raise(py)
}

/// The last `fraction` of the items validates, as Keras has it: how many train.
#[pyfunction]
pub(crate) fn validation_split(py: Python<'_>, n: usize, fraction: f64) -> PyResult<usize> {
    if n == 0 {
        return Err(argument(py, "a validation split of no items", "give at least two"));
    }
    data::validation_split(n, fraction).map(|(train, _)| train.end).or_raise(py)
}
