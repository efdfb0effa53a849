//! Metrics of texts: sequences of tokens against references.

use std::{collections::HashMap, hash::Hash};

/// BLEU of a corpus (Papineni et al., 2002), up to 4-grams, without smoothing: for each candidate, its references. 0 where no 4-gram is found.
///
/// ```
/// use unigrad_nn::metrics::bleu;
/// let (candidate, reference): (Vec<&str>, Vec<&str>) = ("a b c d e".split(' ').collect(), "a b c d f".split(' ').collect());
/// let score = bleu(&[(candidate, vec![reference])]);
/// assert!((score - 0.668_740_304_976_422).abs() < 1e-12);
/// ```
pub fn bleu<T: Eq + Hash>(corpus: &[(Vec<T>, Vec<Vec<T>>)]) -> f64 {
    const ORDERS: usize = 4;
    let (mut found, mut made, mut length, mut wanted) = ([0u64; ORDERS], [0u64; ORDERS], 0, 0);
    for (candidate, references) in corpus {
        length += candidate.len();
        // The reference of the nearest length; the shorter of two.
        let nearest = references.iter().map(Vec::len).min_by_key(|len| (len.abs_diff(candidate.len()), *len));
        wanted += nearest.unwrap_or(0);
        for n in 1..=ORDERS {
            let most = references.iter().map(|reference| grams(reference, n)).fold(HashMap::new(), |mut most, counts| {
                for (gram, count) in counts {
                    let known = most.entry(gram).or_insert(0);
                    *known = count.max(*known);
                }
                most
            });
            for (gram, count) in grams(candidate, n) {
                found[n - 1] += count.min(most.get(gram).copied().unwrap_or(0));
                made[n - 1] += count;
            }
        }
    }
    if found.contains(&0) {
        return 0.0;
    }
    let mean = found.iter().zip(made).map(|(found, made)| (*found as f64 / made as f64).ln()).sum::<f64>() / ORDERS as f64;
    let brevity = if length > wanted { 0.0 } else { 1.0 - wanted as f64 / length as f64 };
    (brevity + mean).exp()
}

/// How often each run of `n` tokens is there.
fn grams<T: Eq + Hash>(tokens: &[T], n: usize) -> HashMap<&[T], u64> {
    tokens.windows(n).fold(HashMap::new(), |mut counts, gram| {
        *counts.entry(gram).or_insert(0) += 1;
        counts
    })
}

/// ROUGE-L (Lin, 2004): the F1 of the longest common subsequence. 0 if either is empty.
///
/// ```
/// use unigrad_nn::metrics::rouge_l;
/// // "a c d" is common: precision 3/3, recall 3/4.
/// assert!((rouge_l(&["a", "c", "d"], &["a", "b", "c", "d"]) - 6.0 / 7.0).abs() < 1e-12);
/// ```
pub fn rouge_l<T: Eq>(candidate: &[T], reference: &[T]) -> f64 {
    let mut row = vec![0usize; reference.len() + 1];
    for token in candidate {
        let mut diagonal = 0;
        for (j, other) in reference.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = if token == other { diagonal + 1 } else { above.max(row[j]) };
            diagonal = above;
        }
    }
    let common = row.last().copied().unwrap_or(0);
    if common == 0 { 0.0 } else { 2.0 * common as f64 / (candidate.len() + reference.len()) as f64 }
}
