//! Affine views of a linear domain: where point `i` of some row-major axes lies in a buffer.

use smallvec::SmallVec;

/// Neighbours that are the same element, up to which they are loaded together with others: more are a run that is worth a call.
pub(super) const REPEATS: usize = 32;

/// Extents and strides, innermost last. Axes of extent 1 are dropped, and neighbours that one stride describes are merged, so a
/// contiguous tensor has one axis and a broadcast scalar none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct View {
    axes: SmallVec<[(usize, i64); 4]>,
}

impl View {
    pub(super) fn new(extents: &[usize], strides: &[i64]) -> View {
        let mut axes: SmallVec<[(usize, i64); 4]> = SmallVec::new();
        for (&extent, &stride) in extents.iter().zip(strides) {
            if extent == 1 {
                continue;
            }
            match axes.last_mut() {
                Some((outer, outer_stride)) if i64::try_from(extent).is_ok_and(|e| *outer_stride == stride.wrapping_mul(e)) => {
                    (*outer, *outer_stride) = (*outer * extent, stride);
                }
                _ => axes.push((extent, stride)),
            }
        }
        if axes.iter().all(|(_, stride)| *stride == 0) {
            axes.clear();
        }
        View { axes }
    }

    /// The stride between neighbours of the linear domain, where they are on one innermost axis.
    pub(super) fn inner_stride(&self) -> i64 {
        self.axes.last().map_or(0, |axis| axis.1)
    }

    /// Extents and strides, innermost last, none of them 1.
    pub(super) fn axes(&self) -> &[(usize, i64)] {
        &self.axes
    }

    /// Where point `linear` lies.
    #[inline]
    pub(super) fn at(&self, linear: usize) -> i64 {
        View::at_axes(&self.axes, linear)
    }

    /// Where point `linear` of such axes lies.
    #[inline]
    pub(super) fn at_axes(axes: &[(usize, i64)], mut linear: usize) -> i64 {
        match axes {
            [] => 0,
            [(_, stride)] => linear as i64 * stride,
            [outer, inner @ ..] => {
                let mut offset = 0;
                for (extent, stride) in inner.iter().rev() {
                    offset += (linear % extent) as i64 * stride;
                    linear /= extent;
                }
                offset + linear as i64 * outer.1
            }
        }
    }

    /// Calls `f(lane, len, offset, stride)` for each run of the `n` points from `start`: `len` points from `lane` on (counted
    /// from `start`) lie at `offset`, `offset + stride`, …
    #[inline]
    pub(super) fn runs(&self, start: usize, n: usize, f: impl FnMut(usize, usize, i64, i64)) {
        View::runs_of_axes(&self.axes, start, n, f);
    }

    /// If each of few neighbours is the same element, again and again: how many, and the axes of the elements.
    pub(super) fn repeats(&self) -> Option<(usize, &[(usize, i64)])> {
        match self.axes.as_slice() {
            [elements @ .., (extent, 0)] if !elements.is_empty() && *extent <= REPEATS => Some((*extent, elements)),
            _ => None,
        }
    }

    /// As [`View::runs`], of such axes.
    #[inline]
    pub(super) fn runs_of_axes(axes: &[(usize, i64)], start: usize, n: usize, mut f: impl FnMut(usize, usize, i64, i64)) {
        let [outer @ .., (extent, stride)] = axes else {
            return f(0, n, 0, 0);
        };
        if outer.is_empty() {
            return f(0, n, start as i64 * stride, *stride);
        }
        let mut index: SmallVec<[usize; 8]> = SmallVec::from_elem(0, outer.len());
        let mut rest = start / extent;
        let mut base = 0i64;
        for (axis, (extent, stride)) in outer.iter().enumerate().rev() {
            // The outermost axis takes what is left: no division there.
            let i = if axis == 0 { rest } else { rest % extent };
            index[axis] = i;
            base += i as i64 * stride;
            rest /= extent;
        }
        let mut inner = start % extent;
        let mut lane = 0;
        loop {
            let len = (extent - inner).min(n - lane);
            f(lane, len, base + inner as i64 * stride, *stride);
            lane += len;
            if lane == n {
                return;
            }
            inner = 0;
            for (axis, (extent, stride)) in outer.iter().enumerate().rev() {
                index[axis] += 1;
                base += stride;
                if axis == 0 || index[axis] < *extent {
                    break;
                }
                base -= *extent as i64 * stride;
                index[axis] = 0;
            }
        }
    }

    /// If the `n` points from `start` are one run: its offset and stride.
    #[inline]
    pub(super) fn one_run(&self, start: usize, n: usize) -> Option<(i64, i64)> {
        match self.axes.as_slice() {
            [] => Some((0, 0)),
            [(_, stride)] => Some((start as i64 * stride, *stride)),
            [.., (extent, stride)] => (start % extent + n <= *extent).then(|| (self.at(start), *stride)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_agree_with_points() {
        let cases: [(&[usize], &[i64]); 6] = [
            (&[], &[]),
            (&[7], &[-2]),
            (&[3, 4], &[4, 1]),
            (&[3, 1, 4, 5], &[0, 9, 5, 1]),
            (&[2, 3, 4], &[1, 0, -7]),
            (&[2, 3, 4, 2], &[100, -3, 0, 11]),
        ];
        for (extents, strides) in cases {
            let view = View::new(extents, strides);
            let total: usize = extents.iter().product();
            let want: Vec<i64> = (0..total)
                .map(|mut i| {
                    extents.iter().zip(strides).rev().fold(0, |at, (extent, stride)| {
                        let here = (i % extent) as i64 * stride;
                        i /= extent;
                        at + here
                    })
                })
                .collect();
            for start in 0..total {
                assert_eq!(view.at(start), want[start]);
                for n in 1..=total - start {
                    let mut got = vec![i64::MIN; n];
                    view.runs(start, n, |lane, len, offset, stride| {
                        (0..len).for_each(|i| got[lane + i] = offset + i as i64 * stride);
                    });
                    assert_eq!(got, want[start..start + n]);
                    if let Some((offset, stride)) = view.one_run(start, n) {
                        assert!((0..n).all(|i| got[i] == offset + i as i64 * stride));
                    }
                }
            }
        }
    }
}
