//! The points that a segment runs on, and where they lie in an argument.
//!
//! In: part of the domain. Out: how many lanes it has, and runs of neighbours within a view.

use super::program::PAD;
use super::view::View;

/// Which lanes a segment runs on: `rows` times `cols` points from `row + r * pitch`, at reduce point `k`; or, if the lanes are
/// elements, `cols` reduce points from `k` in each of `rows` rows from `row`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) row: usize,
    pub(super) k: usize,
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) pitch: usize,
    /// Lanes up to which there is no padding.
    few: usize,
    along: Along,
}

/// Lanes that are elements, each `times` times: points from `first` on of what lies at `base`.
#[derive(Clone, Copy)]
pub(super) struct Repeats<'v> {
    pub(super) times: usize,
    pub(super) axes: &'v [(usize, i64)],
    pub(super) first: usize,
    pub(super) base: i64,
}

/// So many lanes are fewer than a vector.
const FEW: usize = 8;

/// Lanes of a vector, at most.
const VECTOR: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Along {
    /// One point.
    Point,
    Par,
    Red,
    /// Reduce points within a row, then rows.
    Both,
}

impl Block {
    pub(super) fn rows(row: usize, k: usize, n: usize) -> Block {
        Block { row, k, rows: 1, cols: n, pitch: 0, few: FEW, along: Along::Par }
    }

    /// A lane for each row of a block of whole rows. Always padded: its steps are few, and whole vectors are the shorter way through a chain.
    pub(super) fn heads(row: usize, n: usize) -> Block {
        Block { few: 0, ..Block::rows(row, 0, n) }
    }

    pub(super) fn tile(row: usize, rows: usize, cols: usize, pitch: usize) -> Block {
        Block { row, k: 0, rows, cols, pitch, few: FEW, along: Along::Par }
    }

    pub(super) fn elements(row: usize, k: usize, n: usize) -> Block {
        Block { row, k, rows: 1, cols: n, pitch: 0, few: FEW, along: Along::Red }
    }

    pub(super) fn whole_rows(row: usize, rows: usize, row_len: usize) -> Block {
        Block { row, k: 0, rows, cols: row_len, pitch: 1, few: FEW, along: Along::Both }
    }

    pub(super) fn point(row: usize) -> Block {
        Block { row, k: 0, rows: 1, cols: 1, pitch: 0, few: FEW, along: Along::Point }
    }

    pub(super) fn n(&self) -> usize {
        self.rows * self.cols
    }

    /// Lanes the kernels run on: whole vectors, unless that would be most of the work.
    pub(super) fn padded(&self) -> usize {
        let n = self.n();
        if n <= self.few { n } else { n.next_multiple_of(PAD) }
    }

    /// Lanes that an operation runs on, which may cost much for each: whole vectors at least, but where they are few.
    pub(super) fn of_operation(&self) -> usize {
        let n = self.n();
        if n <= FEW { n } else { n.next_multiple_of(if self.few == 0 { VECTOR } else { PAD }) }
    }

    /// Whether the lanes are part of one row.
    pub(super) fn is_of_one_row(&self) -> bool {
        self.along == Along::Red
    }

    /// Whether lanes that follow each other are points that do.
    pub(super) fn is_in_order(&self) -> bool {
        self.rows == 1 || self.along == Along::Both
    }

    /// Offset of the fixed part, and the view along the lanes with the lanes' start.
    #[inline]
    fn along<'v>(&self, par: &'v View, red: &'v View) -> (i64, &'v View, usize) {
        match self.along {
            Along::Par => (red.at(self.k), par, self.row),
            Along::Point | Along::Red | Along::Both => (par.at(self.row), red, self.k),
        }
    }

    /// Runs of the lanes: see [`View::runs`].
    #[inline]
    pub(super) fn runs(&self, par: &View, red: &View, mut f: impl FnMut(usize, usize, i64, i64)) {
        if self.along == Along::Both {
            return self.runs_of_rows(par, red, f);
        }
        let (base, view, start) = self.along(par, red);
        for r in 0..self.rows {
            view.runs(start + r * self.pitch, self.cols, |lane, len, offset, stride| {
                f(r * self.cols + lane, len, base + offset, stride);
            });
        }
    }

    fn runs_of_rows(&self, par: &View, red: &View, mut f: impl FnMut(usize, usize, i64, i64)) {
        let cols = self.cols;
        let within = red.one_run(0, cols);
        par.runs(self.row, self.rows, |row, rows, base, step| match within {
            // Where rows follow each other as their elements do, they are one run.
            Some((offset, stride)) if rows == 1 || step == stride * cols as i64 => f(row * cols, rows * cols, base + offset, stride),
            _ => (0..rows).for_each(|r| {
                let (lane, base) = ((row + r) * cols, base + r as i64 * step);
                red.runs(0, cols, |k, len, offset, stride| f(lane + k, len, base + offset, stride));
            }),
        });
    }

    /// If the lanes of a row of points are elements that each come several times: how often, the elements' axes, the first lane among them, and
    /// the offset that all have.
    #[inline]
    pub(super) fn repeats<'v>(&self, par: &'v View, red: &'v View) -> Option<Repeats<'v>> {
        if self.along == Along::Both || self.rows > 1 {
            return None;
        }
        let (base, view, start) = self.along(par, red);
        let (times, axes) = view.repeats()?;
        Some(Repeats { times, axes, first: start, base })
    }

    /// If all lanes are one run: its offset and stride.
    #[inline]
    pub(super) fn one_run(&self, par: &View, red: &View) -> Option<(i64, i64)> {
        if self.along == Along::Both {
            let ((base, step), (offset, stride)) = (par.one_run(self.row, self.rows)?, red.one_run(0, self.cols)?);
            return (self.rows == 1 || step == stride * self.cols as i64).then_some((base + offset, stride));
        }
        let (base, view, start) = self.along(par, red);
        let (offset, stride) = view.one_run(start, self.cols)?;
        (self.rows == 1).then_some((base + offset, stride))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole rows against their points, one by one, for views that are contiguous, broadcast, transposed and turned around.
    #[test]
    fn runs_of_whole_rows_agree_with_points() {
        let extents: [&[usize]; 2] = [&[5, 3], &[2, 4]];
        let strides: [[&[i64]; 2]; 7] = [
            [&[24, 8], &[4, 1]],
            [&[0, 0], &[4, 1]],
            [&[24, 8], &[0, 0]],
            [&[3, 1], &[60, 15]],
            [&[-24, -8], &[-4, -1]],
            [&[100, 8], &[4, 1]],
            [&[48, 16], &[8, 2]],
        ];
        for [p, r] in strides {
            let (par, red) = (View::new(extents[0], p), View::new(extents[1], r));
            for row in 0..15 {
                for rows in 1..=15 - row {
                    let block = Block::whole_rows(row, rows, 8);
                    let want: Vec<i64> = (0..rows * 8).map(|i| par.at(row + i / 8) + red.at(i % 8)).collect();
                    let mut got = vec![i64::MIN; rows * 8];
                    block.runs(&par, &red, |lane, len, offset, stride| {
                        (0..len).for_each(|i| got[lane + i] = offset + i as i64 * stride);
                    });
                    assert_eq!(got, want, "{p:?} {r:?} rows {row} + {rows}");
                    if let Some((offset, stride)) = block.one_run(&par, &red) {
                        assert!((0..rows * 8).all(|i| want[i] == offset + i as i64 * stride), "{p:?} {r:?} rows {row} + {rows}");
                    }
                }
            }
        }
    }
}
