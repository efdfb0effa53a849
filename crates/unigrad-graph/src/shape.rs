//! Shapes, and the arithmetic on them: strides, broadcasting, axes.

use smallvec::SmallVec;

/// Sizes per axis, outermost first.
pub type Shape = SmallVec<[usize; 6]>;

/// The most axes a tensor has.
pub const MAX_RANK: usize = 32;

/// A size for each of so many axes. Those of few axes are written where they stay: a list that grows costs more than what is in it.
#[inline]
pub(crate) fn shape_of(rank: usize, size: impl Fn(usize) -> usize) -> Shape {
    let mut few = [0; 6];
    match few.get_mut(..rank) {
        Some(sizes) => {
            sizes.iter_mut().enumerate().for_each(|(axis, to)| *to = size(axis));
            Shape::from_buf_and_len(few, rank)
        }
        None => (0..rank).map(size).collect(),
    }
}

/// Number of elements: 1 for rank 0, the greatest number where there are more than can be counted.
pub fn numel(shape: &[usize]) -> usize {
    // A size of 0 counts after any others: the greatest number times 0 is 0.
    shape.iter().fold(1, |product: usize, size| product.saturating_mul(*size))
}

/// Whether memory could hold a tensor of this shape whose sizes of 0 were 1: then every product of some of its sizes, and every distance of
/// two elements in bytes, can be counted.
pub fn is_countable(shape: &[usize], element_bytes: usize) -> bool {
    let product = |product: usize, size: &usize| product.checked_mul((*size).max(1));
    shape.iter().try_fold(element_bytes, product).is_some_and(|bytes| bytes <= isize::MAX as usize)
}

/// Row-major strides in elements.
///
/// ```
/// assert_eq!(unigrad_graph::contiguous_strides(&[2, 3, 4]).as_slice(), [12, 4, 1]);
/// ```
pub fn contiguous_strides(shape: &[usize]) -> SmallVec<[i64; 6]> {
    let mut strides: SmallVec<[i64; 6]> = SmallVec::from_elem(1, shape.len());
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(shape[axis] as i64);
    }
    strides
}

/// The shape both broadcast to by NumPy's rule, or `None`.
///
/// ```
/// assert_eq!(unigrad_graph::broadcast_shapes(&[4, 1], &[3]).unwrap().as_slice(), [4, 3]);
/// assert!(unigrad_graph::broadcast_shapes(&[4], &[3]).is_none());
/// ```
pub fn broadcast_shapes(a: &[usize], b: &[usize]) -> Option<Shape> {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let mut shape = Shape::from_slice(long);
    for (size, other) in shape[long.len() - short.len()..].iter_mut().zip(short) {
        match (*size, *other) {
            (x, y) if x == y => {}
            (_, 1) => {}
            (1, y) => *size = y,
            _ => return None,
        }
    }
    Some(shape)
}
