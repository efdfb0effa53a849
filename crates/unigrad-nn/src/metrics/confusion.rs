//! How good a classifier is: a confusion matrix and what follows from it.

/// Counts per label and prediction.
///
/// ```
/// let mut confusion = unigrad_nn::Confusion::new(2);
/// confusion.add_all(&[0, 1, 1], &[0, 1, 0]);
/// assert_eq!(confusion.correct(), 2);
/// assert_eq!(confusion.count(0, 1), 1); // one 0 was taken for a 1
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confusion {
    n_classes: usize,
    counts: Vec<u64>,
}

impl Confusion {
    /// No counts yet.
    pub fn new(n_classes: usize) -> Confusion {
        Confusion { n_classes, counts: vec![0; n_classes * n_classes] }
    }

    /// Counts one prediction. What is not a class is not counted.
    pub fn add(&mut self, predicted: usize, label: usize) {
        if predicted < self.n_classes && label < self.n_classes {
            self.counts[label * self.n_classes + predicted] += 1;
        }
    }

    /// Counts one prediction so many times.
    pub(super) fn add_times(&mut self, predicted: usize, label: usize, times: u64) {
        if predicted < self.n_classes && label < self.n_classes {
            self.counts[label * self.n_classes + predicted] += times;
        }
    }

    /// Counts many.
    pub fn add_all(&mut self, predicted: &[usize], labels: &[usize]) {
        for (&p, &l) in predicted.iter().zip(labels) {
            self.add(p, l);
        }
    }

    /// The number of classes.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// How often `label` was taken for `predicted`.
    pub fn count(&self, label: usize, predicted: usize) -> u64 {
        self.counts[label * self.n_classes + predicted]
    }

    /// Predictions counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Right predictions.
    pub fn correct(&self) -> u64 {
        (0..self.n_classes).map(|c| self.count(c, c)).sum()
    }

    /// The part that is right; 0 if nothing was counted.
    pub fn accuracy(&self) -> f64 {
        self.correct() as f64 / self.total().max(1) as f64
    }

    /// Of what was called `class`, the part that is; 0 if nothing was.
    pub fn precision(&self, class: usize) -> f64 {
        let called: u64 = (0..self.n_classes).map(|label| self.count(label, class)).sum();
        self.count(class, class) as f64 / called.max(1) as f64
    }

    /// Of what is `class`, the part that was found; 0 if there was none.
    pub fn recall(&self, class: usize) -> f64 {
        let there: u64 = (0..self.n_classes).map(|predicted| self.count(class, predicted)).sum();
        self.count(class, class) as f64 / there.max(1) as f64
    }
}
