//! Metrics of texts: sequences of tokens against references.
//!
//! In: tokens of any type on the host, where texts are: what a model wrote has been decoded before it is compared. Out: scores of all texts since the last reset.
//! Always: what is kept are counts, a few numbers however many texts there are. They are no [`Metric`](super::Metric), which takes tensors: a trainer's
//! predictions are scores of tokens, and not texts.

use crate::error::{Error, Result};
use std::{collections::HashMap, hash::Hash};

/// What becomes of lengths of n-grams of which none is found. Names and formulas are sacrebleu's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Smoothing {
    /// The score is 0.
    #[default]
    None,
    /// So many count as found; sacrebleu has 0.1.
    Floor(f64),
    /// So many more count as found and as made, of all lengths above 1 (Lin and Och, 2004).
    AddK(f64),
    /// A half counts as found of the first such length, a quarter of the second, and so on: NIST's `mteval`, and sacrebleu unless it is told otherwise.
    Exp,
}

/// BLEU of a corpus (Papineni et al., 2002), text by text: 4-grams and no smoothing at first.
///
/// ```
/// use unigrad_nn::metrics::{Bleu, Smoothing};
/// let words = |text: &'static str| text.split(' ').collect::<Vec<_>>();
/// let mut bleu = Bleu::default().smoothing(Smoothing::Exp)?;
/// bleu.update(&words("a b c d e"), &[words("a b c d f")])?;
/// bleu.update(&words("to be"), &[words("or not to be"), words("to do")])?;
/// assert!((bleu.value() - 0.691_441_569_283_882).abs() < 1e-9);
/// # Ok::<(), unigrad_nn::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Bleu {
    smoothing: Smoothing,
    effective_order: bool,
    /// Of each length of n-grams: how many are found in a reference, and how many there are.
    found: Vec<u64>,
    made: Vec<u64>,
    /// Tokens of the candidates, and of the references that are nearest in length.
    length: usize,
    wanted: usize,
    n_texts: usize,
}

impl Default for Bleu {
    fn default() -> Bleu {
        Bleu::of(ORDERS)
    }
}

/// The longest n-grams, as the paper has them.
const ORDERS: usize = 4;
/// A longer n-gram is a mistake in the setting.
const MOST_ORDERS: usize = 64;

impl Bleu {
    fn of(orders: usize) -> Bleu {
        Bleu {
            smoothing: Smoothing::None,
            effective_order: false,
            found: vec![0; orders],
            made: vec![0; orders],
            length: 0,
            wanted: 0,
            n_texts: 0,
        }
    }

    /// Of n-grams up to `n`, from 1 to 64.
    pub fn new(n: usize) -> Result<Bleu> {
        if !(1..=MOST_ORDERS).contains(&n) {
            return Err(Error::argument(format!("BLEU of n-grams up to {n}"), format!("use 1 to {MOST_ORDERS}; 4 is usual")));
        }
        Ok(Bleu::of(n))
    }

    /// What becomes of lengths of which nothing is found.
    ///
    /// # Errors
    /// The number that is added is not finite, or below 0.
    pub fn smoothing(mut self, smoothing: Smoothing) -> Result<Bleu> {
        if let Smoothing::Floor(x) | Smoothing::AddK(x) = smoothing
            && !(x.is_finite() && x >= 0.0)
        {
            return Err(Error::argument(format!("BLEU is smoothed by {x}"), "use a finite number, 0 or above; 0.1 and 1 are usual"));
        }
        self.smoothing = smoothing;
        Ok(self)
    }

    /// Leaves lengths out that no text has, so that short sentences alone have a score: sacrebleu's `effective_order`.
    pub fn effective_order(mut self, yes: bool) -> Bleu {
        self.effective_order = yes;
        self
    }

    /// Counts a text.
    ///
    /// # Errors
    /// There are no references.
    pub fn update<T: Eq + Hash>(&mut self, candidate: &[T], references: &[impl AsRef<[T]>]) -> Result<()> {
        if references.is_empty() {
            return Err(Error::argument("BLEU of a text without references", "give at least one reference for each text"));
        }
        self.count(candidate, references);
        Ok(())
    }

    fn count<T: Eq + Hash>(&mut self, candidate: &[T], references: &[impl AsRef<[T]>]) {
        self.n_texts += 1;
        self.length += candidate.len();
        // The reference of the nearest length; the shorter of two.
        let lengths = references.iter().map(|reference| reference.as_ref().len());
        self.wanted += lengths.min_by_key(|len| (len.abs_diff(candidate.len()), *len)).unwrap_or(0);
        for (n, (found, made)) in (1..).zip(self.found.iter_mut().zip(&mut self.made)) {
            let most = references.iter().map(|reference| grams(reference.as_ref(), n)).fold(HashMap::new(), |mut most, counts| {
                for (gram, count) in counts {
                    let known = most.entry(gram).or_insert(0);
                    *known = count.max(*known);
                }
                most
            });
            for (gram, count) in grams(candidate, n) {
                *found += count.min(most.get(gram).copied().unwrap_or(0));
                *made += count;
            }
        }
    }

    /// The score of all texts since the last reset, from 0 to 1; NaN without any.
    pub fn value(&self) -> f64 {
        if self.n_texts == 0 { f64::NAN } else { self.score() }
    }

    fn score(&self) -> f64 {
        if self.found.iter().all(|n| *n == 0) {
            return 0.0;
        }
        let (mut sum, mut n_missing, mut orders) = (0.0, 0, self.found.len());
        for (order, (found, made)) in self.found.iter().zip(&self.made).enumerate() {
            let more = match self.smoothing {
                Smoothing::AddK(k) if order > 0 => k,
                _ => 0.0,
            };
            let (found, made) = (*found as f64 + more, *made as f64 + more);
            // No text is as long as that.
            if made == 0.0 {
                match self.effective_order {
                    true => orders = order,
                    false => return 0.0,
                }
                break;
            }
            let found = match self.smoothing {
                Smoothing::Floor(value) if found == 0.0 => value,
                Smoothing::Exp if found == 0.0 => {
                    n_missing += 1;
                    0.5f64.powi(n_missing)
                }
                _ => found,
            };
            sum += (found / made).ln();
        }
        let brevity = if self.length >= self.wanted { 0.0 } else { 1.0 - self.wanted as f64 / self.length as f64 };
        (brevity + sum / orders as f64).exp()
    }

    /// Forgets all texts.
    pub fn reset(&mut self) {
        *self = Bleu { smoothing: self.smoothing, effective_order: self.effective_order, ..Bleu::of(self.found.len()) };
    }
}

/// BLEU of a corpus (Papineni et al., 2002), up to 4-grams, without smoothing: for each candidate, its references. 0 where no 4-gram is found. [`Bleu`] has settings,
/// and takes one text after the other.
///
/// ```
/// use unigrad_nn::metrics::bleu;
/// let (candidate, reference): (Vec<&str>, Vec<&str>) = ("a b c d e".split(' ').collect(), "a b c d f".split(' ').collect());
/// let score = bleu(&[(candidate, vec![reference])]);
/// assert!((score - 0.668_740_304_976_422).abs() < 1e-12);
/// ```
pub fn bleu<T: Eq + Hash>(corpus: &[(Vec<T>, Vec<Vec<T>>)]) -> f64 {
    let mut bleu = Bleu::default();
    corpus.iter().for_each(|(candidate, references)| bleu.count(candidate, references));
    bleu.score()
}

/// How often each run of `n` tokens is there.
fn grams<T: Eq + Hash>(tokens: &[T], n: usize) -> HashMap<&[T], u64> {
    tokens.windows(n).fold(HashMap::new(), |mut counts, gram| {
        *counts.entry(gram).or_insert(0) += 1;
        counts
    })
}

/// ROUGE-L (Lin, 2004) over texts: the mean F1 of the longest common subsequences, of each text with the reference that is nearest to it.
///
/// ```
/// use unigrad_nn::metrics::RougeL;
/// let mut rouge = RougeL::default();
/// rouge.update(&["a", "c", "d"], &[["a", "b", "c", "d"]])?; // precision 3/3, recall 3/4
/// rouge.update(&["x"], &[["y"], ["x"]])?; // the second reference is the text
/// assert!((rouge.value() - (6.0 / 7.0 + 1.0) / 2.0).abs() < 1e-12);
/// assert!((rouge.recall() - (0.75 + 1.0) / 2.0).abs() < 1e-12);
/// # Ok::<(), unigrad_nn::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RougeL {
    /// Sums of F1, precision and recall.
    sums: [f64; 3],
    n_texts: usize,
}

impl RougeL {
    /// Counts a text. 0 if it or the reference is empty.
    ///
    /// # Errors
    /// There are no references.
    pub fn update<T: Eq>(&mut self, candidate: &[T], references: &[impl AsRef<[T]>]) -> Result<()> {
        let scores = references.iter().map(|reference| {
            let reference = reference.as_ref();
            let common = common(candidate, reference) as f64;
            [f1(common, candidate.len(), reference.len()), part(common, candidate.len()), part(common, reference.len())]
        });
        // Of equal ones the first.
        let best = scores.reduce(|best, other| if other[0] > best[0] { other } else { best });
        let best =
            best.ok_or_else(|| Error::argument("ROUGE-L of a text without references", "give at least one reference for each text"))?;
        self.sums.iter_mut().zip(best).for_each(|(sum, score)| *sum += score);
        self.n_texts += 1;
        Ok(())
    }

    /// The mean F1 of all texts since the last reset; NaN without any.
    pub fn value(&self) -> f64 {
        self.sums[0] / self.n_texts as f64
    }

    /// The mean precision: of a text, the part that is common.
    pub fn precision(&self) -> f64 {
        self.sums[1] / self.n_texts as f64
    }

    /// The mean recall: of the reference, the part that is common.
    pub fn recall(&self) -> f64 {
        self.sums[2] / self.n_texts as f64
    }

    /// Forgets all texts.
    pub fn reset(&mut self) {
        *self = RougeL::default();
    }
}

/// ROUGE-L (Lin, 2004): the F1 of the longest common subsequence. 0 if either is empty. [`RougeL`] is its mean over texts.
///
/// ```
/// use unigrad_nn::metrics::rouge_l;
/// // "a c d" is common: precision 3/3, recall 3/4.
/// assert!((rouge_l(&["a", "c", "d"], &["a", "b", "c", "d"]) - 6.0 / 7.0).abs() < 1e-12);
/// ```
pub fn rouge_l<T: Eq>(candidate: &[T], reference: &[T]) -> f64 {
    f1(common(candidate, reference) as f64, candidate.len(), reference.len())
}

/// The length of the longest common subsequence.
fn common<T: Eq>(candidate: &[T], reference: &[T]) -> usize {
    let mut row = vec![0usize; reference.len() + 1];
    for token in candidate {
        let mut diagonal = 0;
        for (j, other) in reference.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = if token == other { diagonal + 1 } else { above.max(row[j]) };
            diagonal = above;
        }
    }
    row.last().copied().unwrap_or(0)
}

fn part(common: f64, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { common / whole as f64 }
}

fn f1(common: f64, candidate: usize, reference: usize) -> f64 {
    if common == 0.0 { 0.0 } else { 2.0 * common / (candidate + reference) as f64 }
}
