//! Index expressions: how a view's coordinates follow from the axes of a kernel's domain.
//!
//! In: coordinates as sums of `coefficient * axis` (and computed values). Out: the same for the other side of a view.
//! Always: exact; where an affine form needs an axis in two parts the caller is asked to split it ([`Unflatten::Split`]).
//! Never: guesses bounds of computed values.

use smallvec::SmallVec;
use unigrad_kernel::Value;

/// `offset + Σ coefficient * axis + Σ coefficient * value`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Idx {
    pub(crate) offset: i64,
    /// Sorted by axis, without zeros.
    pub(crate) terms: SmallVec<[(u32, i64); 3]>,
    pub(crate) dynamic: SmallVec<[(Value, i64); 1]>,
}

/// Coordinates, one per axis of a shape.
pub(crate) type Coords = SmallVec<[Idx; 4]>;

impl Idx {
    pub(crate) fn constant(offset: i64) -> Idx {
        Idx { offset, ..Idx::default() }
    }

    pub(crate) fn axis(axis: usize) -> Idx {
        Idx { terms: SmallVec::from_slice(&[(axis as u32, 1)]), ..Idx::default() }
    }

    pub(crate) fn value(value: Value) -> Idx {
        Idx { dynamic: SmallVec::from_slice(&[(value, 1)]), ..Idx::default() }
    }

    pub(crate) fn is_affine(&self) -> bool {
        self.dynamic.is_empty()
    }

    pub(crate) fn plus_const(mut self, offset: i64) -> Idx {
        self.offset += offset;
        self
    }

    pub(crate) fn times(mut self, factor: i64) -> Idx {
        if factor == 0 {
            return Idx::default();
        }
        self.offset *= factor;
        self.terms.iter_mut().for_each(|(_, c)| *c *= factor);
        self.dynamic.iter_mut().for_each(|(_, c)| *c *= factor);
        self
    }

    pub(crate) fn plus(mut self, other: &Idx) -> Idx {
        self.offset += other.offset;
        for (axis, coefficient) in &other.terms {
            match self.terms.binary_search_by_key(axis, |(a, _)| *a) {
                Ok(i) => {
                    self.terms[i].1 += coefficient;
                    if self.terms[i].1 == 0 {
                        self.terms.remove(i);
                    }
                }
                Err(i) => self.terms.insert(i, (*axis, *coefficient)),
            }
        }
        for (value, coefficient) in &other.dynamic {
            match self.dynamic.iter_mut().find(|(v, _)| v == value) {
                Some(term) => term.1 += coefficient,
                None => self.dynamic.push((*value, *coefficient)),
            }
        }
        self.dynamic.retain(|(_, c)| *c != 0);
        self
    }

    /// Least and greatest value over the domain; `None` with computed parts or an empty domain.
    pub(crate) fn range(&self, sizes: &[usize]) -> Option<(i64, i64)> {
        if !self.is_affine() {
            return None;
        }
        let mut range = (self.offset, self.offset);
        for (axis, coefficient) in &self.terms {
            let last = sizes[*axis as usize].checked_sub(1)? as i64 * coefficient;
            if last < 0 { range.0 += last } else { range.1 += last }
        }
        Some(range)
    }
}

/// The linear row-major index of coordinates in a shape.
pub(crate) fn flatten(coords: &[Idx], shape: &[usize]) -> Idx {
    let mut linear = Idx::default();
    let mut stride = 1i64;
    for (coord, size) in coords.iter().zip(shape).rev() {
        linear = linear.plus(&coord.clone().times(stride));
        stride *= *size as i64;
    }
    linear
}

/// What [`unflatten`] found.
#[allow(clippy::large_enum_variant)] // lives on the stack for a moment; a box would cost an allocation per view
pub(crate) enum Unflatten {
    /// The coordinates.
    Coords(Coords),
    /// Domain axis `axis` has to become two, the inner one of size `inner`.
    Split { axis: usize, inner: usize },
    /// No affine form: divide the linear index at run time.
    Divide,
}

/// Coordinates in `shape` of a linear row-major index, over a domain of these axis `sizes`.
pub(crate) fn unflatten(linear: &Idx, shape: &[usize], sizes: &[usize]) -> Unflatten {
    let mut coords: Coords = SmallVec::from_elem(Idx::default(), shape.len());
    let mut rest = linear.clone();
    for (d, &size) in shape.iter().enumerate().rev() {
        if shape[..d].iter().all(|s| *s == 1) {
            coords[d] = std::mem::take(&mut rest);
            break;
        }
        if size == 1 {
            continue;
        }
        if size == 0 {
            return Unflatten::Coords(SmallVec::from_elem(Idx::default(), shape.len()));
        }
        let s = size as i64;
        let (mut high, mut low) = (Idx::constant(rest.offset.div_euclid(s)), Idx::constant(rest.offset.rem_euclid(s)));
        for &(axis, c) in &rest.terms {
            let extent = sizes[axis as usize] as i64;
            if c % s == 0 {
                high = high.plus(&Idx::axis(axis as usize).times(c / s));
            } else if c.abs() * (extent - 1) < s {
                low = low.plus(&Idx::axis(axis as usize).times(c));
            } else if s % c == 0 && extent % (s / c.abs()) == 0 {
                return Unflatten::Split { axis: axis as usize, inner: (s / c.abs()) as usize };
            } else {
                return Unflatten::Divide;
            }
        }
        for &(value, c) in &rest.dynamic {
            if c % s != 0 {
                return Unflatten::Divide;
            }
            high = high.plus(&Idx::value(value).times(c / s));
        }
        match low.range(sizes) {
            Some((min, max)) if min >= 0 && max < s => {}
            // An empty domain: any coordinates do.
            None => {}
            Some((min, max)) if min >= -s && max < 0 => {
                low.offset += s;
                high.offset -= 1;
            }
            _ => return Unflatten::Divide,
        }
        coords[d] = low;
        rest = high;
    }
    Unflatten::Coords(coords)
}

/// A coordinate among parts of these sizes, one after the other, as two: which part, and where in it. Only where parts are of one size and that is
/// affine: what is below them is affine then too, where a coordinate that is in range for one part alone is divided again at each view.
pub(crate) fn part_and_place(coord: &Idx, mut parts: impl ExactSizeIterator<Item = usize>, sizes: &[usize]) -> Option<(Idx, Idx)> {
    let (n, size) = (parts.len(), parts.next()?);
    if size == 0 || parts.any(|other| other != size) {
        return None;
    }
    match unflatten(coord, &[n, size], sizes) {
        Unflatten::Coords(mut pair) => Some((std::mem::take(&mut pair[0]), std::mem::take(&mut pair[1]))),
        Unflatten::Split { .. } | Unflatten::Divide => None,
    }
}

/// A coordinate of an axis of one element, which is read only where the coordinate is in range, needs no value.
pub(crate) fn only_one(coord: &mut Idx, size: usize) {
    if size == 1 {
        *coord = Idx::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coords(linear: &Idx, shape: &[usize], sizes: &[usize]) -> Option<Coords> {
        match unflatten(linear, shape, sizes) {
            Unflatten::Coords(coords) => Some(coords),
            Unflatten::Split { .. } | Unflatten::Divide => None,
        }
    }

    #[test]
    fn flatten_then_unflatten_is_the_identity() {
        let sizes = [4, 3, 5];
        let all = [Idx::axis(0), Idx::axis(1), Idx::axis(2)];
        assert_eq!(coords(&flatten(&all, &sizes), &sizes, &sizes).map(|c| c.to_vec()), Some(all.to_vec()));
    }

    #[test]
    fn a_flip_unflattens() {
        let sizes = [2, 6];
        let linear = flatten(&[Idx::axis(0), Idx::axis(1).times(-1).plus_const(5)], &sizes);
        assert_eq!(coords(&linear, &[2, 6], &sizes).map(|c| c[1].clone()), Some(Idx::axis(1).times(-1).plus_const(5)));
    }

    #[test]
    fn one_axis_asks_to_be_split() {
        assert!(matches!(unflatten(&Idx::axis(0), &[4, 6], &[24]), Unflatten::Split { axis: 0, inner: 6 }));
        assert!(matches!(unflatten(&Idx::axis(0).plus_const(1), &[4, 6], &[20]), Unflatten::Divide));
    }

    #[test]
    fn parts_of_one_size_are_told_apart() {
        let sizes = [2, 4, 3];
        let pair = Idx::axis(0).times(4).plus(&Idx::axis(1));
        assert_eq!(part_and_place(&pair, [4, 4].into_iter(), &sizes), Some((Idx::axis(0), Idx::axis(1))));
        // A stack: the coordinate is the part.
        assert_eq!(part_and_place(&Idx::axis(2), [1, 1, 1].into_iter(), &sizes), Some((Idx::axis(2), Idx::default())));
        // One part of all.
        assert_eq!(part_and_place(&Idx::axis(1), [4].into_iter(), &sizes), Some((Idx::default(), Idx::axis(1))));
        for parts in [&[4, 3][..], &[0, 0], &[3, 3], &[]] {
            assert_eq!(part_and_place(&pair, parts.iter().copied(), &sizes), None, "{parts:?}");
        }
    }
}
