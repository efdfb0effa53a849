//! How the threads of a workgroup bring partial results together, in a tree that is fixed by the schedule.
//!
//! Always: every thread of a row ends with the row's result, bit for bit the same up to the sign of a zero.
//! Never: runs where threads of a workgroup may have gone different ways.

use super::ops::Carried;
use unigrad_ir::{Builder, Place, SubgroupOp, Target, Value};
use unigrad_scalar::DType;

/// How a workgroup's threads share rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Arrangement {
    /// Threads of a workgroup: `per_row * rows`, powers of two.
    pub(super) threads: u32,
    /// Threads along the reduce axes.
    pub(super) per_row: u32,
    /// Whether neighbouring threads have neighbouring rows, otherwise neighbouring points of a row.
    pub(super) columns: bool,
}

impl Arrangement {
    /// Rows that a workgroup does at a time (or runs of rows).
    pub(super) fn rows(self) -> u32 {
        self.threads / self.per_row
    }

    /// The thread's row among those of the workgroup, and its place in the row.
    pub(super) fn places(self, b: &mut Builder) -> (Value, Value) {
        let thread = b.thread(0);
        let by = i64::from(if self.columns { self.rows() } else { self.per_row });
        let (high, low) = (b.div_const(thread, by), b.rem_const(thread, by));
        if self.columns { (low, high) } else { (high, low) }
    }
}

/// Memory and places for bringing results together in one program.
#[derive(Debug)]
pub(super) struct Threads {
    arrangement: Arrangement,
    subgroup: Option<u32>,
    /// Thread in the workgroup, row among the workgroup's, place in the row.
    thread: Value,
    row: Value,
    place: Value,
    /// Shared arrays by element type and length, and whether they are free now or hold something that other threads may still read.
    arrays: Vec<(DType, u32, Place, bool)>,
    dirty: bool,
    /// Bytes of shared memory for one tree.
    budget: usize,
}

impl Threads {
    pub(super) fn new(b: &mut Builder, target: &Target, arrangement: Arrangement) -> Threads {
        let (row, place) = arrangement.places(b);
        let subgroup = target.subgroup.filter(|size| size.is_power_of_two() && arrangement.threads.is_multiple_of(*size));
        Threads {
            arrangement,
            subgroup,
            thread: b.thread(0),
            row,
            place,
            arrays: Vec::new(),
            dirty: false,
            budget: target.shared_bytes / 2,
        }
    }

    /// The thread's row among those of the workgroup.
    pub(super) fn row(&self) -> Value {
        self.row
    }

    /// The thread's place in its row.
    pub(super) fn place(&self) -> Value {
        self.place
    }

    /// Makes shared memory usable again: all threads have read what was in it.
    pub(super) fn settle(&mut self, b: &mut Builder) {
        if self.dirty {
            b.barrier();
            self.dirty = false;
        }
        self.arrays.iter_mut().for_each(|array| array.3 = true);
    }

    fn array(&mut self, b: &mut Builder, dtype: DType, len: u32) -> Place {
        if let Some(array) = self.arrays.iter_mut().find(|(d, l, _, free)| *d == dtype && *l == len && *free) {
            array.3 = false;
            return array.2;
        }
        let place = b.shared(&format!("partial{}", self.arrays.len()), dtype, len);
        self.arrays.push((dtype, len, place, false));
        place
    }

    /// Combines `sets` of partial results (one per reduction and lane, each of one or two parts) over the threads of a row.
    pub(super) fn combine(&mut self, b: &mut Builder, sets: Vec<(Carried, Vec<Value>)>) -> Vec<Vec<Value>> {
        if self.arrangement.per_row == 1 {
            return sets.into_iter().map(|(_, parts)| parts).collect();
        }
        let words = |carried: &Carried| carried.parts().iter().all(|dtype| dtype.size() == 4);
        match self.subgroup.filter(|_| !self.arrangement.columns && sets.iter().all(|(carried, _)| words(carried))) {
            Some(subgroup) => self.by_shuffles(b, subgroup, sets),
            None => {
                let threads = self.arrangement.threads as usize;
                let bytes = |carried: &Carried| carried.parts().iter().map(|dtype| dtype.size()).sum::<usize>() * threads;
                let mut results = Vec::with_capacity(sets.len());
                let mut sets = sets.into_iter().peekable();
                while sets.peek().is_some() {
                    let mut left = self.budget;
                    let mut batch = Vec::new();
                    while let Some(next) = sets.next_if(|(carried, _)| batch.is_empty() || bytes(carried) <= left) {
                        left = left.saturating_sub(bytes(&next.0));
                        batch.push(next);
                    }
                    results.extend(self.by_tree(b, batch));
                }
                results
            }
        }
    }

    fn shuffle(b: &mut Builder, carried: &Carried, mut parts: Vec<Value>, width: u32) -> Vec<Value> {
        let mut step = width / 2;
        while step > 0 {
            let others: Vec<Value> = parts.iter().map(|part| b.subgroup(SubgroupOp::ShuffleXor(step), *part)).collect();
            parts = carried.combine(b, &parts, &others);
            step /= 2;
        }
        parts
    }

    fn by_shuffles(&mut self, b: &mut Builder, subgroup: u32, sets: Vec<(Carried, Vec<Value>)>) -> Vec<Vec<Value>> {
        let per_row = self.arrangement.per_row;
        let width = per_row.min(subgroup);
        let sets: Vec<(Carried, Vec<Value>)> =
            sets.into_iter().map(|(carried, parts)| (carried, Threads::shuffle(b, &carried, parts, width))).collect();
        let n_subgroups = per_row / width;
        if n_subgroups == 1 {
            return sets.into_iter().map(|(_, parts)| parts).collect();
        }
        let (lane, which) = (b.rem_const(self.thread, subgroup.into()), b.div_const(self.thread, subgroup.into()));
        let len = self.arrangement.threads / subgroup;
        let arrays: Vec<Vec<Place>> =
            sets.iter().map(|(carried, _)| carried.parts().into_iter().map(|dtype| self.array(b, dtype, len)).collect()).collect();
        let zero = b.u32(0);
        let first = b.binary(unigrad_scalar::BinaryOp::Eq, lane, zero);
        b.when(first, |b| {
            for ((_, parts), arrays) in sets.iter().zip(&arrays) {
                parts.iter().zip(arrays).for_each(|(part, array)| b.store(*array, which, *part));
            }
        });
        b.barrier();
        self.dirty = true;
        let base = b.mul_const(self.row, n_subgroups.into());
        sets.iter()
            .zip(&arrays)
            .map(|((carried, _), arrays)| {
                if n_subgroups <= subgroup {
                    let at = b.rem_const(lane, n_subgroups.into());
                    let at = b.add(base, at);
                    let parts = arrays.iter().map(|array| b.load(*array, at)).collect();
                    return Threads::shuffle(b, carried, parts, n_subgroups);
                }
                let all: Vec<Vec<Value>> = (0..n_subgroups)
                    .map(|i| {
                        let at = b.add_const(base, i.into());
                        arrays.iter().map(|array| b.load(*array, at)).collect()
                    })
                    .collect();
                let combined = all.into_iter().reduce(|x, y| carried.combine(b, &x, &y));
                known(b, combined)
            })
            .collect()
    }

    fn by_tree(&mut self, b: &mut Builder, sets: Vec<(Carried, Vec<Value>)>) -> Vec<Vec<Value>> {
        let Arrangement { threads, per_row, columns } = self.arrangement;
        self.settle(b);
        let arrays: Vec<Vec<Place>> =
            sets.iter().map(|(carried, _)| carried.parts().into_iter().map(|dtype| self.array(b, dtype, threads)).collect()).collect();
        for ((_, parts), arrays) in sets.iter().zip(&arrays) {
            parts.iter().zip(arrays).for_each(|(part, array)| b.store(*array, self.thread, *part));
        }
        let apart = if columns { self.arrangement.rows() } else { 1 };
        let mut step = per_row / 2;
        while step > 0 {
            b.barrier();
            let limit = b.u32(step);
            let takes = b.lt(self.place, limit);
            let other = b.add_const(self.thread, (step * apart).into());
            b.when(takes, |b| {
                for ((carried, _), arrays) in sets.iter().zip(&arrays) {
                    let [mine, theirs] =
                        [self.thread, other].map(|at| arrays.iter().map(|array| b.load(*array, at)).collect::<Vec<Value>>());
                    let parts = carried.combine(b, &mine, &theirs);
                    parts.iter().zip(arrays).for_each(|(part, array)| b.store(*array, self.thread, *part));
                }
            });
            step /= 2;
        }
        b.barrier();
        self.dirty = true;
        let first = if columns { self.row } else { b.mul_const(self.row, per_row.into()) };
        arrays.iter().map(|arrays| arrays.iter().map(|array| b.load(*array, first)).collect()).collect()
    }
}

/// Combines partial results of one thread, which are in the order of their elements, pairwise.
pub(super) fn tree(b: &mut Builder, carried: &Carried, mut parts: Vec<Vec<Value>>) -> Vec<Value> {
    while parts.len() > 1 {
        parts = parts.chunks(2).map(|pair| if let [x, y] = pair { carried.combine_in_order(b, x, y) } else { pair[0].clone() }).collect();
    }
    known(b, parts.pop())
}

/// A result, of which there is one.
fn known(b: &mut Builder, combined: Option<Vec<Value>>) -> Vec<Value> {
    combined.unwrap_or_else(|| {
        b.mistake("nothing is combined to a result");
        Vec::new()
    })
}
