//! Splits: which items train and which judge.
//!
//! In: how many items there are, or their labels, and a seed. Out: disjoint lists of indices that have every item.
//! Always: the same arguments give the same split.

use crate::sampler::by_class;
use std::collections::BTreeMap;
use unigrad_nn::{Error, Result, random::Rng};

/// The items of one fold of a cross-validation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    /// To learn from.
    pub train: Vec<usize>,
    /// To be judged by.
    pub validation: Vec<usize>,
}

/// Random numbers of splits: apart from those of epochs.
const SPLIT: u64 = 1 << 59;

/// The last `fraction` of `n` items validates, unshuffled, as Keras's `validation_split` has it: the first `floor(n * (1 - fraction))` train.
///
/// An error if one of the parts would be empty.
///
/// ```
/// let (train, validation) = unigrad_data::validation_split(10_000, 0.2)?;
/// assert_eq!((train, validation), (0..8000, 8000..10_000));
/// # Ok::<(), unigrad_nn::Error>(())
/// ```
pub fn validation_split(n: usize, fraction: f64) -> Result<(std::ops::Range<usize>, std::ops::Range<usize>)> {
    if !(0.0..=1.0).contains(&fraction) {
        return Err(Error::argument(format!("a validation split of {fraction}"), "use a fraction between 0 and 1"));
    }
    let at = (n as f64 * (1.0 - fraction)).floor() as usize;
    if at == 0 || at >= n {
        let cause = format!("a validation split of {fraction} leaves {at} of {n} items to train with, {} to validate", n - at.min(n));
        return Err(Error::argument(cause, "use a fraction that leaves items in both parts"));
    }
    Ok((0..at, at..n))
}

/// Parts of `n` items in random order, in these fractions, which sum up to 1. What rounding leaves goes to the first parts, one each, as in PyTorch's `random_split`.
pub fn random_split(n: usize, fractions: &[f64], seed: u64) -> Result<Vec<Vec<usize>>> {
    let sum: f64 = fractions.iter().sum();
    if fractions.iter().any(|f| !(0.0..=1.0).contains(f)) || (sum - 1.0).abs() > 1e-6 {
        return Err(Error::argument(format!("fractions {fractions:?} sum up to {sum}"), "use fractions between 0 and 1 that sum up to 1"));
    }
    let mut sizes: Vec<usize> = fractions.iter().map(|f| (n as f64 * f).floor() as usize).collect();
    let rest = n - sizes.iter().sum::<usize>().min(n);
    let n_parts = sizes.len();
    (0..rest).for_each(|at| sizes[at % n_parts] += 1);
    let mut order = Rng::new(seed, SPLIT).permutation(n).into_iter();
    Ok(sizes.into_iter().map(|size| order.by_ref().take(size).collect()).collect())
}

/// A random part of about `fraction` of the items validates, in which each class has its share; both parts are in the items' own order.
///
/// The validation part has `ceil(n * fraction)` items; classes get their exact shares rounded down, and those with the largest remainders one more.
/// An error if a class has one item only, or a part would have fewer items than there are classes (as scikit-learn's `stratify`).
pub fn stratified_split(labels: &[usize], fraction: f64, seed: u64) -> Result<(Vec<usize>, Vec<usize>)> {
    let n = labels.len();
    let classes = by_class(labels);
    if !(0.0..1.0).contains(&fraction) {
        return Err(Error::argument(format!("a stratified split of {fraction}"), "use a fraction between 0 and 1"));
    }
    if let Some(lone) = classes.iter().find(|class| class.len() < 2) {
        let cause = format!("class {} has one item (item {}): it cannot be in both parts", labels[lone[0]], lone[0]);
        return Err(Error::argument(cause, "leave the class out, or split without strata"));
    }
    let wanted = (n as f64 * fraction).ceil() as usize;
    if wanted < classes.len() || n - wanted < classes.len() {
        let cause = format!("parts of {} and {wanted} items for {} classes", n - wanted, classes.len());
        return Err(Error::argument(cause, "use a fraction that leaves each part at least one item of each class"));
    }
    let share = |class: &Vec<usize>| class.len() as f64 * wanted as f64 / n as f64;
    let mut sizes: Vec<usize> = classes.iter().map(|class| share(class).floor() as usize).collect();
    let mut by_remainder: Vec<usize> = (0..classes.len()).collect();
    by_remainder.sort_by(|&a, &b| share(&classes[b]).fract().total_cmp(&share(&classes[a]).fract()).then(a.cmp(&b)));
    let rest = wanted - sizes.iter().sum::<usize>();
    by_remainder.iter().take(rest).for_each(|&class| sizes[class] += 1);
    let mut rng = Rng::new(seed, SPLIT);
    let (mut train, mut validation) = (Vec::new(), Vec::new());
    for (class, size) in classes.iter().zip(sizes) {
        for (at, place) in rng.permutation(class.len()).into_iter().enumerate() {
            if at < size { validation.push(class[place]) } else { train.push(class[place]) }
        }
    }
    train.sort_unstable();
    validation.sort_unstable();
    Ok((train, validation))
}

fn check_folds(n: usize, k: usize) -> Result<()> {
    if k < 2 || k > n {
        return Err(Error::argument(format!("{k} folds of {n} items"), "use at least 2 folds, and at most as many as there are items"));
    }
    Ok(())
}

fn folds(fold_of: &[usize], k: usize) -> Vec<Fold> {
    let of = |fold: usize| {
        let (validation, train) = (0..fold_of.len()).partition(|&item| fold_of[item] == fold);
        Fold { train, validation }
    };
    (0..k).map(of).collect()
}

/// `k` folds: each item validates once. The first `n % k` folds have one item more. Without a seed folds are runs of the items' own order, as
/// scikit-learn's `KFold`.
///
/// ```
/// let folds = unigrad_data::k_fold(5, 2, None)?;
/// assert_eq!((&folds[0].validation[..], &folds[1].validation[..]), (&[0, 1, 2][..], &[3, 4][..]));
/// # Ok::<(), unigrad_nn::Error>(())
/// ```
pub fn k_fold(n: usize, k: usize, seed: Option<u64>) -> Result<Vec<Fold>> {
    check_folds(n, k)?;
    let order = seed.map_or_else(|| (0..n).collect(), |seed| Rng::new(seed, SPLIT).permutation(n));
    let mut fold_of = vec![0; n];
    let mut next = order.into_iter();
    for fold in 0..k {
        let size = n / k + usize::from(fold < n % k);
        next.by_ref().take(size).for_each(|item| fold_of[item] = fold);
    }
    Ok(folds(&fold_of, k))
}

/// `k` folds in which each class has its share, as scikit-learn's `StratifiedKFold`. An error if no class has `k` items.
pub fn stratified_k_fold(labels: &[usize], k: usize, seed: Option<u64>) -> Result<Vec<Fold>> {
    check_folds(labels.len(), k)?;
    // Classes in the order in which they come up.
    let mut names = BTreeMap::new();
    let mut classes: Vec<Vec<usize>> = Vec::new();
    for (item, label) in labels.iter().enumerate() {
        let class = *names.entry(label).or_insert(classes.len());
        if class == classes.len() {
            classes.push(Vec::new());
        }
        classes[class].push(item);
    }
    if classes.iter().all(|class| class.len() < k) {
        let most = classes.iter().map(Vec::len).max().unwrap_or_default();
        let cause = format!("{k} folds, and no class has more than {most} items");
        return Err(Error::argument(cause, "use fewer folds, or `k_fold`"));
    }
    let mut rng = seed.map(|seed| Rng::new(seed, SPLIT));
    let mut fold_of = vec![0; labels.len()];
    // The classes one after the other: every k-th item goes to the same fold, which so has each class's share and as many items as the others.
    let mut position = 0;
    for class in &classes {
        let mut sizes = vec![0; k];
        class.iter().for_each(|_| {
            sizes[position % k] += 1;
            position += 1;
        });
        let mut of_class: Vec<usize> = sizes.iter().enumerate().flat_map(|(fold, &size)| std::iter::repeat_n(fold, size)).collect();
        if let Some(rng) = &mut rng {
            of_class = rng.permutation(of_class.len()).into_iter().map(|at| of_class[at]).collect();
        }
        class.iter().zip(of_class).for_each(|(&item, fold)| fold_of[item] = fold);
    }
    Ok(folds(&fold_of, k))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(parts: &[&[usize]], n: usize) {
        let mut all = parts.concat();
        all.sort_unstable();
        assert_eq!(all, (0..n).collect::<Vec<_>>());
    }

    #[test]
    fn parts_are_disjoint_and_whole() -> Result<()> {
        for n in [1, 2, 3, 10, 11] {
            let parts = random_split(n, &[0.5, 0.3, 0.2], 4)?;
            whole(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>(), n);
        }
        assert_eq!(random_split(11, &[0.5, 0.5], 1)?.iter().map(Vec::len).collect::<Vec<_>>(), [6, 5]);
        assert!(random_split(3, &[0.5, 0.4], 1).is_err() && random_split(3, &[], 1).is_err() && random_split(3, &[1.5, -0.5], 1).is_err());
        for (n, fraction) in [(10, 0.0), (10, 1.0), (0, 0.5), (10, f64::NAN), (10, 0.01)] {
            let split = validation_split(n, fraction);
            assert_eq!(split.is_ok(), n == 10 && fraction == 0.01, "{n} {fraction} {split:?}");
        }
        Ok(())
    }

    #[test]
    fn strata_keep_their_shares() -> Result<()> {
        let labels: Vec<usize> = (0..100).map(|i| if i % 10 < 7 { 4 } else { 9 }).collect();
        let (train, validation) = stratified_split(&labels, 0.2, 1)?;
        whole(&[&train, &validation], 100);
        assert_eq!((validation.len(), validation.iter().filter(|&&i| labels[i] == 4).count()), (20, 14));
        assert!(stratified_split(&[0, 0, 1], 0.5, 1).is_err() && stratified_split(&labels, 0.0, 1).is_err());
        for fold in stratified_k_fold(&labels, 5, Some(3))? {
            whole(&[&fold.train, &fold.validation], 100);
            assert_eq!(fold.validation.iter().filter(|&&i| labels[i] == 4).count(), 14);
        }
        for fold in k_fold(11, 3, Some(5))? {
            whole(&[&fold.train, &fold.validation], 11);
        }
        assert!(k_fold(3, 4, None).is_err() && k_fold(3, 1, None).is_err() && stratified_k_fold(&[0, 1, 2], 2, None).is_err());
        Ok(())
    }

    /// `StratifiedKFold(3).split(...)` of scikit-learn.
    #[test]
    fn strata_of_folds_are_those_of_scikit_learn() -> Result<()> {
        let labels = [1, 1, 0, 1, 0, 0, 2, 2, 1, 2, 0, 2, 1, 2];
        let folds = stratified_k_fold(&labels, 3, None)?;
        let validation: Vec<Vec<usize>> = folds.into_iter().map(|fold| fold.validation).collect();
        assert_eq!(validation, [vec![0, 1, 2, 6, 7], vec![3, 4, 8, 9, 11], vec![5, 10, 12, 13]]);
        Ok(())
    }
}
