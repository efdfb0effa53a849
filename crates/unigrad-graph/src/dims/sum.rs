//! Sizes that follow from named ones: `time - 1`, `time + 3`, `queries + keys`, half of `time`.
//!
//! In: axes, and what an op does to their sizes. Out: a size as a [`Sum`], which is known wherever the sizes of its dimensions are; an axis of that
//! size.
//! Always: a size has one form, so that `x[:, 1:]` and `x[:, :-1]` share a name, and a token before `x[:, :-1]` is as long as `x`. In memory
//! dimensions are as long as their buckets, so a sum has as many buckets as they have, and holds what counts first.
//! Never: is there for a size below 1: such an axis has no name.

use super::{AxisNames, Dim, Factor, is_plain};
use smallvec::{SmallVec, smallvec};

/// A dimension, its current size, and how many times it counts.
type Term = (Dim, usize, usize);

/// A size: of each dimension some number of times, an offset, and all that divided by a number, rounded down.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sum {
    terms: SmallVec<[Term; 1]>,
    offset: i64,
    over: usize,
}

impl Sum {
    /// A number.
    pub fn number(size: usize) -> Sum {
        Sum { terms: SmallVec::new(), offset: size as i64, over: 1 }
    }

    /// The size of an axis; `None` where what counts does not come first in memory.
    pub fn of(size: usize, axis: &[Factor]) -> Option<Sum> {
        let Some((first, rest)) = axis.split_first() else { return Some(Sum::number(size)) };
        if !is_plain(axis) {
            return None;
        }
        let times = rest.iter().map(Factor::size).product();
        match first {
            Factor::Fixed(_) => None,
            Factor::Named(dim, size) => Sum { terms: smallvec![(dim.clone(), *size, 1)], offset: 0, over: 1 }.times(times),
            Factor::Sum(sum) => sum.times(times),
        }
    }

    /// So many times the size. `None` for what is rounded.
    pub fn times(&self, times: usize) -> Option<Sum> {
        if times == 1 {
            return Some(self.clone());
        }
        let terms = self.terms.iter().map(|(dim, size, own)| (dim.clone(), *size, own.saturating_mul(times))).collect();
        let offset = self.offset.saturating_mul(i64::try_from(times).unwrap_or(i64::MAX)); // DEFAULT: a size that no memory has is refused
        (self.over == 1 && times > 0).then_some(Sum { terms, offset, over: 1 })
    }

    /// With so many elements more, or less.
    pub fn plus(&self, elements: i64) -> Sum {
        let over = i64::try_from(self.over).unwrap_or(i64::MAX); // DEFAULT: as above
        Sum { offset: self.offset.saturating_add(elements.saturating_mul(over)), ..self.clone() }
    }

    /// Both. `None` where both have names and one is rounded.
    pub fn and(&self, other: &Sum) -> Option<Sum> {
        match (self.terms.is_empty(), other.terms.is_empty()) {
            (_, true) => Some(self.plus(other.offset)),
            (true, _) => Some(other.plus(self.offset)),
            (false, false) if self.over == 1 && other.over == 1 => {
                let mut terms = self.terms.clone();
                for (dim, size, times) in &other.terms {
                    match terms.iter_mut().find(|(own, at, _)| at == size && own == dim) {
                        Some((_, _, own)) => *own = own.saturating_add(*times),
                        None => terms.push((dim.clone(), *size, *times)),
                    }
                }
                terms.sort_by(|a, b| (a.0.name(), a.1).cmp(&(b.0.name(), b.1)));
                Some(Sum { terms, offset: self.offset.saturating_add(other.offset), over: 1 })
            }
            (false, false) => None,
        }
    }

    /// Divided by a number that is not 0, rounded down.
    pub fn over(&self, number: usize) -> Sum {
        let over = self.over.saturating_mul(number.max(1));
        let divides = over > 1 && self.terms.iter().all(|(.., times)| times.is_multiple_of(over));
        match i64::try_from(over) {
            Ok(whole) if divides => {
                let terms = self.terms.iter().map(|(dim, size, times)| (dim.clone(), *size, times / over)).collect();
                Sum { terms, offset: self.offset.div_euclid(whole), over: 1 }
            }
            _ => Sum { over, ..self.clone() },
        }
    }

    /// How many elements every `step`th one is, from the first one on.
    pub fn every(&self, step: usize) -> Sum {
        self.plus(step as i64 - 1).over(step)
    }

    /// An axis of this size; of no name for a number, and for no elements.
    pub fn axis(self) -> AxisNames {
        match (self.terms.as_slice(), self.offset, self.over) {
            _ if self.size() == 0 => AxisNames::new(),
            ([], ..) => AxisNames::new(),
            ([(dim, size, times)], 0, 1) => super::merged([Factor::Named(dim.clone(), *size), Factor::Fixed(*times)]),
            _ => AxisNames::from_elem(Factor::Sum(Box::new(self)), 1),
        }
    }

    fn total(&self, size: impl Fn(&Dim, usize) -> usize) -> usize {
        let add = |sum: i64, (dim, own, times): &Term| {
            sum.saturating_add(i64::try_from(size(dim, *own).saturating_mul(*times)).unwrap_or(i64::MAX)) // DEFAULT: as above
        };
        let sum = self.terms.iter().fold(self.offset, add);
        usize::try_from(sum).unwrap_or(0) / self.over // DEFAULT: fewer than no elements are none
    }

    /// The current size.
    pub fn size(&self) -> usize {
        self.total(|_, size| size)
    }

    /// The size in memory.
    pub fn memory_size(&self) -> usize {
        self.total(Dim::bucket)
    }

    /// Whether it has no padding.
    pub fn is_exact(&self) -> bool {
        self.terms.iter().all(|(dim, size, _)| dim.is_exact(dim.bucket(*size)))
    }

    /// Each dimension with its current size and how many times it counts.
    pub fn terms(&self) -> &[(Dim, usize, usize)] {
        &self.terms
    }

    /// What is added to the dimensions, and what all is divided by.
    pub fn rest(&self) -> (i64, usize) {
        (self.offset, self.over)
    }

    /// The same, with every dimension at its bucket's size.
    pub(super) fn general(&self) -> Sum {
        let terms = self.terms.iter().map(|(dim, size, times)| (dim.clone(), dim.bucket(*size), *times)).collect();
        Sum { terms, ..*self }
    }

    /// In words.
    pub(super) fn described(&self) -> String {
        let term = |(dim, _, times): &Term| match times {
            1 => format!("`{}`", dim.name()),
            times => format!("{times} `{}`", dim.name()),
        };
        let mut all = self.terms.iter().map(term).collect::<Vec<_>>().join(" + ");
        if self.offset != 0 {
            all = format!("{all} {} {}", if self.offset < 0 { "-" } else { "+" }, self.offset.unsigned_abs());
        }
        if self.over > 1 {
            all = format!("({all}) / {}", self.over);
        }
        format!("{all} ({} now)", self.size())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_one_form() {
        let time = Dim::named("time", 1..=100).unwrap();
        let named = |size: usize| AxisNames::from_elem(Factor::Named(time.clone(), size), 1);
        let of = |size: usize| Sum::of(size, &named(size)).unwrap();
        assert_eq!(of(6).plus(-1).plus(1).axis(), named(6));
        assert_eq!(of(6).plus(-2).memory_size(), 6);
        assert_eq!((of(7).every(2).size(), of(7).every(2).memory_size()), (4, 4));
        // Half of half, rounded as steps are.
        for size in 1..=100 {
            let quarter = of(size).every(2).every(2);
            assert_eq!((quarter.size(), quarter), (size.div_ceil(2).div_ceil(2), of(size).every(4)));
            assert!(of(size).plus(-5).memory_size() >= size.saturating_sub(5));
        }
        let twice = of(6).and(&of(6)).unwrap();
        assert_eq!(twice.clone().axis(), super::super::merged([Factor::Named(time.clone(), 6), Factor::Fixed(2)]));
        assert_eq!(twice.over(2).axis(), named(6));
        assert_eq!(of(6).and(&of(9)), of(9).and(&of(6)));
        assert!(of(6).every(2).and(&of(6)).is_none());
        assert!(of(3).plus(-3).axis().is_empty());
        assert_eq!(of(5).plus(-1).described(), "`time` - 1 (4 now)");
    }
}
