//! What the lanes of a block are, and which of the three kinds a region gets.
//!
//! In: a region. Out: the kind, and how many rows a block of whole rows has.
//! Always: a function of the region alone: its sizes and its strides.
//! Never: looks at thread counts or contents.

use super::program::PAD;
use super::view::View;
use unigrad_kernel::{InstOp, Level, Region};

/// Lanes of a block of whole rows, about: enough that a step's fixed cost is small beside its lanes, few enough that near caches hold what
/// is between the steps.
const WHOLE: usize = 2048;

/// Longer rows run one by one: their lanes are many beside the steps' fixed costs, and sums of expressions then need no step of their own.
const LONGEST_WHOLE: usize = 256;

/// Rows below this length run with one lane per row, where no load says otherwise.
const SHORT_ROW: usize = 64;

/// Rows below this length, one register of the widest tier, run with one lane per row.
const SHORTEST_WHOLE: usize = 16;

/// What the lanes of a block are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lanes {
    /// Points of the parallel axes.
    Rows,
    /// Points of the reduce axes, of one row.
    Elements,
    /// All points of several rows, one row after the other.
    WholeRows,
}

impl Lanes {
    /// Elements where rows are long and the loads follow them, whole rows where they are short, otherwise rows.
    pub(super) fn of(region: &Region) -> Lanes {
        let (par, red) = region.axes.split_at(region.n_parallel);
        let (rows, row_len) = (region.rows(), region.row_len());
        if red.is_empty() || row_len < 2 {
            return Lanes::Rows;
        }
        let (mut along_rows, mut along_elements) = (0, 0);
        for (inst, level) in region.insts.iter().zip(&region.levels()) {
            let (InstOp::Load { index, .. } | InstOp::Store { index, .. }) = &inst.op else { continue };
            if *level != Level::Full || index.strides.len() != region.axes.len() {
                continue;
            }
            let (p, r) = index.strides.split_at(region.n_parallel);
            let (p, r) = (View::new(par, p).inner_stride().unsigned_abs(), View::new(red, r).inner_stride().unsigned_abs());
            along_rows += i32::from(p == 1 && r != 1);
            along_elements += i32::from(r == 1 && p != 1);
        }
        let short = row_len < SHORTEST_WHOLE || along_rows >= along_elements && row_len < SHORT_ROW;
        if along_rows > along_elements && rows >= 16 || short && rows >= 8 {
            Lanes::Rows
        } else if rows > 1 && row_len <= LONGEST_WHOLE {
            Lanes::WholeRows
        } else {
            Lanes::Elements
        }
    }
}

/// Rows of a block of whole rows.
pub(super) fn whole_rows(rows: usize, row_len: usize) -> usize {
    let row_len = row_len.max(1);
    let most = (WHOLE / row_len).max(2);
    // Blocks of whole vectors need no padding, so the launch's memory may be used where it lies.
    let exact = (1..=PAD).find(|rows| (rows * row_len).is_multiple_of(PAD)).unwrap_or(PAD);
    let best = if exact <= most {
        most / exact * exact
    } else if exact * row_len <= 2 * WHOLE {
        exact
    } else {
        most
    };
    best.min(rows).max(1)
}

/// Lanes that slots have room for, where a block is so many whole rows.
pub(super) fn room(rows: usize, row_len: usize) -> usize {
    (rows * row_len).next_multiple_of(PAD)
}
