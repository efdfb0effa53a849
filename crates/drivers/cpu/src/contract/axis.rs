//! Lists of strided dimensions, flattened: where the `i`-th point of a list lies.

use smallvec::SmallVec;
use unigrad_kernel::merge_dims;

/// A row-major list of dimensions with one stride each, size-1 dimensions dropped and contiguous neighbours merged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Axis {
    /// Outermost first.
    dims: SmallVec<[(usize, i64); 4]>,
}

impl Axis {
    pub(crate) fn new(dims: impl IntoIterator<Item = (usize, i64)>) -> Axis {
        Axis { dims: merge_dims(dims) }
    }

    /// The one stride between neighbours, if there is one; 0 for a single point.
    pub(crate) fn uniform(&self) -> Option<i64> {
        match self.dims.as_slice() {
            [] => Some(0),
            [(_, stride)] => Some(*stride),
            _ => None,
        }
    }

    /// Whether every point is at offset 0.
    pub(crate) fn is_zero(&self) -> bool {
        self.dims.iter().all(|(_, stride)| *stride == 0)
    }

    /// Points in the longest contiguous runs (1 if neighbours are never contiguous).
    pub(crate) fn run(&self) -> usize {
        self.dims.last().map_or(1, |(size, stride)| if *stride == 1 { *size } else { 1 })
    }

    /// Where point `i` lies.
    pub(crate) fn offset(&self, mut i: usize) -> i64 {
        if let [(_, stride)] = self.dims.as_slice() {
            return i as i64 * stride;
        }
        let mut offset = 0;
        for (size, stride) in self.dims.iter().rev() {
            offset += (i % size) as i64 * stride;
            i /= size;
        }
        offset
    }

    /// Where points `first..first + n` lie.
    pub(crate) fn fill(&self, first: usize, n: usize, out: &mut Vec<i64>) {
        out.clear();
        let Some(&(size, stride)) = self.dims.last() else {
            out.resize(n, 0);
            return;
        };
        let mut i = first;
        while i < first + n {
            let base = self.offset(i);
            let len = (size - i % size).min(first + n - i);
            out.extend((0..len as i64).map(|j| base + j * stride));
            i += len;
        }
    }
}
