//! Rows, and sums down their columns: what a norm's gradient is made of.
//!
//! In: a region that reduces rows, and regions that reduce columns of the same elements: of what the first one reads, or of what it writes.
//! Out: what all of them store. A driver may walk through the elements once for all, and add up columns as it goes.
//! Always: as if the rows came first and then each of the columns' regions, whatever a driver does. No buffer is passed twice.
//! Never: one of the columns' regions reads what another one writes.

use crate::{Arg, Index, Inst, InstOp, Region, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use unigrad_scalar::{DType, ReduceOp};

/// See the module's text.
///
/// Arguments are those of `rows`, then of each of `columns` those that are its own; scalars are those of `rows`, then of each of `columns`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Crossed {
    /// Its last axis, or axes, are reduced.
    pub rows: Region,
    /// In no order.
    pub columns: Vec<Columns>,
}

/// A region that reduces columns.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Columns {
    /// Its parallel axis is the last one of the rows.
    pub region: Region,
    /// By argument: which one of the rows' it is, if it is not its own. It may be one that the rows write: then it is read as it is afterwards.
    pub shared: SmallVec<[Option<u32>; 8]>,
}

impl Columns {
    /// Its arguments among the kernel's, if its own begin at `first`.
    pub fn places(&self, first: usize) -> Vec<usize> {
        let mut next = first..;
        self.shared.iter().filter_map(|shared| shared.map(|arg| arg as usize).or_else(|| next.next())).collect()
    }

    /// How many arguments are its own.
    pub fn n_own(&self) -> usize {
        self.shared.iter().filter(|shared| shared.is_none()).count()
    }
}

impl Crossed {
    /// The regions in order, each with its arguments among the kernel's and the first of its scalars.
    pub fn parts(&self) -> Vec<(&Region, Vec<usize>, usize)> {
        let (mut args, mut scalars) = (self.rows.args.len(), self.rows.scalars.len());
        let mut parts = vec![(&self.rows, (0..args).collect(), 0)];
        for columns in &self.columns {
            parts.push((&columns.region, columns.places(args), scalars));
            args += columns.n_own();
            scalars += columns.region.scalars.len();
        }
        parts
    }

    /// The region that writes an argument, with where its arguments are among the kernel's, and whether it is the rows'.
    pub fn writer(&self, arg: usize) -> Option<(&Region, Vec<usize>, bool)> {
        let writes = |region: &Region, places: &[usize]| region.args.iter().zip(places).any(|(a, place)| a.write && *place == arg);
        let mut parts = self.parts().into_iter().enumerate();
        parts.find(|(_, (region, places, _))| writes(region, places)).map(|(part, (region, places, _))| (region, places, part == 0))
    }

    /// Whether one of the columns' regions reads this argument.
    pub fn is_read_by_columns(&self, arg: usize) -> bool {
        self.columns.iter().any(|columns| columns.shared.contains(&Some(arg as u32)))
            || arg >= self.rows.args.len() && self.args().get(arg).is_some_and(|arg| !arg.write)
    }

    /// All in one walk over the rows, if it can be: what the columns add up is made of what the rows read and write at the same point.
    pub fn one_walk(&self) -> Option<OneWalk> {
        let region = Region { args: self.args(), scalars: self.scalars(), ..self.rows.clone() };
        let is_pure = |inst: &Inst| !matches!(inst.op, InstOp::Store { .. });
        let made = region.insts.iter().enumerate().filter(|(_, inst)| is_pure(inst)).map(|(at, inst)| (inst.clone(), Value(at as u32)));
        let mut walk = Walk { made: made.collect(), region, rows: &self.rows };
        let mut sums = Vec::new();
        for (part, (columns, places, scalars)) in self.parts().into_iter().enumerate().skip(1) {
            let is_crosswise = columns.n_parallel == 1 && columns.axes[..] == [*self.rows.axes.get(1)?, *self.rows.axes.first()?];
            if !is_crosswise || self.rows.n_parallel != 1 || self.rows.axes.len() != 2 {
                return None;
            }
            for (at, inst) in columns.insts.iter().enumerate() {
                let InstOp::Reduce(ReduceOp::Sum, of) = inst.op else {
                    if matches!(inst.op, InstOp::ArgReduce(..) | InstOp::Reduce(..)) {
                        return None;
                    }
                    continue;
                };
                if !inst.dtype.is_float() {
                    return None;
                }
                let value = walk.value(columns, &places, scalars, of)?;
                sums.push(ColumnSum { part: part - 1, at, value });
            }
        }
        Some(OneWalk { region: walk.region, sums })
    }

    pub(crate) fn n_args(&self) -> usize {
        self.rows.args.len() + self.columns.iter().map(Columns::n_own).sum::<usize>()
    }

    /// The buffers a launch passes, in order.
    pub fn args(&self) -> Vec<Arg> {
        let own = |columns: &Columns| -> Vec<Arg> {
            columns.region.args.iter().zip(&columns.shared).filter(|(_, shared)| shared.is_none()).map(|(arg, _)| *arg).collect()
        };
        self.rows.args.iter().copied().chain(self.columns.iter().flat_map(own)).collect()
    }

    pub(crate) fn scalars(&self) -> Vec<DType> {
        let of = self.columns.iter().flat_map(|columns| columns.region.scalars.iter().copied());
        self.rows.scalars.iter().copied().chain(of).collect()
    }
}

/// The rows with what the columns add up; see [`Crossed::one_walk`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OneWalk {
    /// The rows, with the arguments and scalars of the whole kernel.
    pub region: Region,
    /// All sums of the columns.
    pub sums: Vec<ColumnSum>,
}

/// A sum down the columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColumnSum {
    /// Whose of [`Crossed::columns`].
    pub part: usize,
    /// Its instruction there.
    pub at: usize,
    /// What is added up, among the instructions of [`OneWalk::region`].
    pub value: Value,
}

/// A walk under construction.
struct Walk<'a> {
    region: Region,
    rows: &'a Region,
    /// What each instruction that is there makes.
    made: FxHashMap<Inst, Value>,
}

impl Walk<'_> {
    fn push(&mut self, inst: Inst) -> Value {
        let Walk { region, made, .. } = self;
        *made.entry(inst).or_insert_with_key(|inst| {
            region.insts.push(inst.clone());
            Value(region.insts.len() as u32 - 1)
        })
    }

    /// A value of the columns at a point of the rows; its arguments are at `places`, its scalars from `scalars` on.
    fn value(&mut self, columns: &Region, places: &[usize], scalars: usize, of: Value) -> Option<Value> {
        let mut needed = vec![false; of.index() + 1];
        needed[of.index()] = true;
        for at in (0..needed.len()).rev() {
            if needed[at] {
                columns.insts[at].op.visit_values(|value| needed[value.index()] = true);
            }
        }
        // What each of its instructions is here: those that it needs come before those that need them.
        let mut here: Vec<Value> = (0..needed.len() as u32).map(Value).collect();
        for at in (0..needed.len()).filter(|at| needed[*at]) {
            let inst = &columns.insts[at];
            let mut op = inst.op.clone();
            match &mut op {
                InstOp::Scalar(slot) => *slot += scalars as u32,
                InstOp::Load { arg, index, mask: None } if index.dynamic.is_empty() => {
                    let [along, down] = index.strides[..] else { return None };
                    index.strides = SmallVec::from_slice(&[down, along]);
                    let place = places[*arg as usize];
                    if self.rows.args.get(place).is_some_and(|arg| arg.write) {
                        here[at] = self.stored(place, index)?;
                        continue;
                    }
                    *arg = place as u32;
                }
                InstOp::Const(_) | InstOp::Unary(..) | InstOp::Binary(..) | InstOp::Where(..) | InstOp::Cast(_) | InstOp::Bitcast(_) => {}
                InstOp::AxisIndex(_) | InstOp::Acc | InstOp::Load { .. } | InstOp::Bounded { .. } | InstOp::Philox { .. } => return None,
                InstOp::Reduce(..) | InstOp::ArgReduce(..) | InstOp::Store { .. } => return None,
            }
            op.map_values(|value| here[value.index()]);
            here[at] = self.push(Inst { op, dtype: inst.dtype });
        }
        Some(here[of.index()])
    }

    /// What the rows leave in an argument at this index, as it is read back: rounded to what is stored.
    fn stored(&self, arg: usize, at: &Index) -> Option<Value> {
        let dtype = self.rows.args[arg].dtype;
        let mut stores = self.rows.insts.iter().filter_map(|inst| match &inst.op {
            InstOp::Store { arg: to, index, value } if *to as usize == arg => Some((index, *value)),
            InstOp::Store { .. } | InstOp::Const(_) | InstOp::Scalar(_) | InstOp::AxisIndex(_) | InstOp::Acc => None,
            InstOp::Load { .. } | InstOp::Unary(..) | InstOp::Binary(..) | InstOp::Where(..) | InstOp::Cast(_) => None,
            InstOp::Bitcast(_) | InstOp::Bounded { .. } | InstOp::Philox { .. } | InstOp::Reduce(..) | InstOp::ArgReduce(..) => None,
        });
        let (index, value) = stores.next()?;
        let made = &self.rows.insts[value.index()];
        let is_exact = made.dtype == dtype && (dtype.compute() == dtype || matches!(made.op, InstOp::Cast(_)));
        (stores.next().is_none() && index == at && is_exact).then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Index, Inst, InstOp, Kernel, Value};
    use smallvec::smallvec;
    use unigrad_scalar::{BinaryOp, ReduceOp};

    fn arg(len: usize, write: bool) -> Arg {
        Arg { dtype: DType::F32, len, write }
    }

    fn at(strides: &[i64]) -> Index {
        Index { strides: SmallVec::from_slice(strides), ..Index::default() }
    }

    fn inst(op: InstOp) -> Inst {
        Inst { op, dtype: DType::F32 }
    }

    #[test]
    fn arguments_that_the_rows_have_are_passed_once() {
        let load = |arg, strides: &[i64]| inst(InstOp::Load { arg, index: at(strides), mask: None });
        let store = |arg, strides: &[i64], value| inst(InstOp::Store { arg, index: at(strides), value: Value(value) });
        let rows = Region {
            name: "rows".into(),
            axes: smallvec![4, 3],
            n_parallel: 1,
            args: vec![arg(12, false), arg(12, true)],
            scalars: vec![DType::F32],
            insts: vec![
                load(0, &[3, 1]),
                inst(InstOp::Reduce(ReduceOp::Sum, Value(0))),
                inst(InstOp::Binary(BinaryOp::Sub, Value(0), Value(1))),
                store(1, &[3, 1], 2),
            ],
        };
        let columns = Region {
            name: "columns".into(),
            axes: smallvec![3, 4],
            n_parallel: 1,
            args: vec![arg(3, false), arg(12, false), arg(3, true)],
            scalars: vec![DType::F64],
            insts: vec![
                load(1, &[1, 3]),
                inst(InstOp::Reduce(ReduceOp::Sum, Value(0))),
                load(0, &[1, 0]),
                inst(InstOp::Binary(BinaryOp::Add, Value(1), Value(2))),
                store(2, &[1, 0], 3),
            ],
        };
        let crossed = Crossed { rows, columns: vec![Columns { region: columns, shared: smallvec![None, Some(1), None] }] };
        assert_eq!(crossed.columns[0].places(2), [2, 1, 3]);
        assert!(crossed.is_read_by_columns(1) && crossed.is_read_by_columns(2) && !crossed.is_read_by_columns(0));
        assert!(crossed.writer(1).is_some_and(|(_, _, rows)| rows) && crossed.writer(3).is_some_and(|(_, _, rows)| !rows));
        let kernel = Kernel::Crossed(crossed);
        assert_eq!(kernel.args(), [arg(12, false), arg(12, true), arg(3, false), arg(3, true)]);
        assert_eq!((kernel.n_args(), kernel.scalars()), (4, vec![DType::F32, DType::F64]));
        // What the columns' sums are made of is what the rows are made of.
        let flows: Vec<(usize, Vec<usize>)> = kernel.flows().into_iter().map(|flow| (flow.write, flow.reads)).collect();
        assert_eq!(flows, [(1, vec![0]), (3, vec![0, 2])]);
    }
}
