//! Where the points of a tile lie: a first element, the way from a row to the next, and from a column to the next.
//!
//! In: a view and a tile of its linear domain. Out: two strides, if two are enough. A tile's blocks then find their elements without
//! dividing an index into axes.
//! Always: agrees with [`View::at`] at every point.

use super::Tile;
use super::block::Block;
use super::program::{BlockProgram, MicroOp};
use super::view::View;

/// Point `(r, c)` lies at `base + r * row + c * col`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Walk {
    pub(super) base: i64,
    pub(super) row: i64,
    pub(super) col: i64,
}

impl Walk {
    /// Of the points `start + r * pitch + c`, `r < rows`, `c < cols`.
    pub(super) fn new(view: &View, start: usize, pitch: usize, rows: usize, cols: usize) -> Option<Walk> {
        Walk::of_axes(view.axes(), start, pitch, rows, cols)
    }

    fn of_axes(axes: &[(usize, i64)], start: usize, pitch: usize, rows: usize, cols: usize) -> Option<Walk> {
        let (outer, extent, stride) = match axes {
            [] => return Some(Walk { base: 0, row: 0, col: 0 }),
            [(_, stride)] => return Some(Walk { base: start as i64 * stride, row: pitch as i64 * stride, col: *stride }),
            [outer @ .., (extent, stride)] => (outer, *extent, *stride),
        };
        let first = start % extent;
        if rows > 1 && !pitch.is_multiple_of(extent) {
            // All rows are on one stretch of the innermost axis, or there is no way to say.
            let inside = (rows - 1).checked_mul(pitch)?.checked_add(first + cols)? <= extent;
            let whole = || Walk { base: View::at_axes(axes, start), row: pitch as i64 * stride, col: stride };
            return inside.then(whole);
        }
        if first + cols > extent {
            // Several stretches of the innermost axis: one row, or rows of one column, may still be a walk, but not for all their points.
            return None;
        }
        // Columns are on one stretch, rows are points of the outer axes.
        let rows_of = Walk::of_axes(outer, start / extent, pitch / extent, rows, 1)?;
        Some(Walk { base: rows_of.base + first as i64 * stride, row: rows_of.row, col: stride })
    }

    /// From row `r` on.
    pub(super) fn from(self, r: usize) -> Walk {
        Walk { base: self.base + r as i64 * self.row, ..self }
    }

    /// As [`View::runs`], for the lanes of some rows.
    #[inline]
    fn runs(self, rows: usize, cols: usize, mut f: impl FnMut(usize, usize, i64, i64)) {
        if self.is_one_run(rows, cols) {
            return f(0, rows * cols, self.base, self.col);
        }
        for r in 0..rows {
            f(r * cols, cols, self.base + r as i64 * self.row, self.col);
        }
    }

    fn is_one_run(self, rows: usize, cols: usize) -> bool {
        rows == 1 || self.row == self.col * cols as i64
    }
}

impl MicroOp {
    /// Where a map's step finds its points, if the step asks.
    pub(super) fn points(&self) -> Option<&View> {
        match self {
            MicroOp::Load(load) => Some(&load.at.par),
            MicroOp::Store(store) | MicroOp::Direct(store) => Some(&store.at.par),
            MicroOp::Index { par, .. } => Some(par),
            MicroOp::Op { .. }
            | MicroOp::Fused(_)
            | MicroOp::Chain(_)
            | MicroOp::Splat { .. }
            | MicroOp::Spread { .. }
            | MicroOp::FoldRows { .. }
            | MicroOp::Const { .. }
            | MicroOp::Scalar { .. }
            | MicroOp::Acc { .. }
            | MicroOp::Bounded { .. }
            | MicroOp::Philox { .. } => None,
        }
    }
}

impl BlockProgram {
    /// Whether each step of a map finds the tile's points, row after row, at one distance from each other.
    pub(super) fn is_one_run(&self, Tile { start, pitch, rows, cols }: Tile) -> bool {
        let is_one = |view| Walk::new(view, start, pitch, rows, cols).is_some_and(|walk| walk.is_one_run(rows, cols));
        self.row.first().is_some_and(|steps| steps.iter().filter_map(MicroOp::points).all(is_one))
    }
}

/// As [`Block::runs`], by the walk if there is one.
#[inline]
pub(super) fn runs(walk: Option<Walk>, block: Block, par: &View, red: &View, f: impl FnMut(usize, usize, i64, i64)) {
    match walk {
        Some(walk) => walk.runs(block.rows, block.cols, f),
        None => block.runs(par, red, f),
    }
}

/// As [`Block::one_run`], by the walk if there is one.
#[inline]
pub(super) fn one_run(walk: Option<Walk>, block: Block, par: &View, red: &View) -> Option<(i64, i64)> {
    match walk {
        Some(walk) => walk.is_one_run(block.rows, block.cols).then_some((walk.base, walk.col)),
        None => block.one_run(par, red),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every tile of small domains: a walk is right at each point; and there is one wherever strides are those of rows and columns.
    #[test]
    fn walks_agree_with_points() {
        let cases: [(&[usize], &[i64]); 9] = [
            (&[], &[]),
            (&[12], &[-2]),
            (&[3, 4], &[4, 1]),
            (&[3, 4], &[0, 1]),
            (&[3, 4], &[1, 0]),
            (&[3, 4], &[1, 3]),
            (&[2, 3, 4], &[100, 0, 1]),
            (&[2, 3, 2, 2], &[1, -7, 3, 50]),
            (&[2, 2, 3], &[3, 0, 11]),
        ];
        for (extents, strides) in cases {
            let view = View::new(extents, strides);
            let total: usize = extents.iter().product();
            for pitch in 0..=total {
                for start in 0..total {
                    for rows in 1..=4 {
                        for cols in 1..=total {
                            if pitch == 0 && rows > 1 || start + (rows - 1) * pitch + cols > total {
                                continue;
                            }
                            let Some(walk) = Walk::new(&view, start, pitch, rows, cols) else { continue };
                            for r in 0..rows {
                                for c in 0..cols {
                                    let at = walk.from(r).base + c as i64 * walk.col;
                                    assert_eq!(
                                        at,
                                        view.at(start + r * pitch + c),
                                        "{extents:?} {strides:?} {start} {pitch} {rows} x {cols}"
                                    );
                                }
                            }
                            let mut got = vec![i64::MIN; rows * cols];
                            walk.runs(rows, cols, |lane, n, offset, stride| {
                                (0..n).for_each(|i| got[lane + i] = offset + i as i64 * stride);
                            });
                            assert!((0..rows * cols).all(|i| got[i] == view.at(start + i / cols * pitch + i % cols)));
                        }
                    }
                }
            }
        }
        // What products have: rows and columns of a matrix, whatever their strides.
        for strides in [[0, 1], [1, 0], [5, 1], [1, 3], [10, 2], [-5, -1], [0, 0]] {
            let view = View::new(&[3, 5], &strides);
            for (row, col, rows, cols) in [(0, 0, 3, 5), (1, 2, 2, 3), (2, 0, 1, 5), (0, 4, 3, 1)] {
                let walk = Walk::new(&view, row * 5 + col, 5, rows, cols).unwrap();
                assert_eq!(walk.base, row as i64 * strides[0] + col as i64 * strides[1]);
                assert!(rows == 1 || walk.row == strides[0]);
                assert!(cols == 1 || walk.col == strides[1]);
            }
        }
    }
}
