//! Where finished sums go: to memory, to the partial sums of a second step, or through an epilogue.
//!
//! In: a point as numbers of batch item, row and column (of the possibly swapped problem), and its sum in the compute dtype.
//! Always: an epilogue sees its own axes, whatever was swapped or joined.

use super::super::{
    Signature, Unsupported,
    region::{Ahead, Begun, Body, Ending},
};
use super::problem::{Dims, Problem, index_dtype, plus};
use smallvec::SmallVec;
use unigrad_ir::{Builder, Place, Target, Value};
use unigrad_kernel::Contract;
use unigrad_scalar::DType;

/// See the module's text.
pub(super) enum Sink<'a> {
    Memory(Memory),
    Epilogue(Epilogue<'a>),
}

/// Strided memory.
pub(super) struct Memory {
    place: Place,
    dtype: DType,
    index: DType,
    batch: Dims,
    rows: Dims,
    cols: Dims,
}

/// A map over the output's points.
pub(super) struct Epilogue<'a> {
    contract: &'a Contract,
    swap: bool,
    acc: DType,
    body: Body<'a>,
    /// What it reads and does not write can be loaded before sums are there.
    ahead: Ahead,
}

/// A sink, with what a workgroup knows about its points before it visits them.
#[derive(Clone)]
pub(super) enum Base<'s, 'a> {
    Offset(&'s Memory, Value),
    Axes(&'s Epilogue<'a>, SmallVec<[Value; 6]>),
}

impl<'a> Sink<'a> {
    /// The contraction's own output.
    pub(super) fn declare(
        s: &mut Signature,
        contract: &'a Contract,
        problem: &Problem,
        target: &'a Target,
    ) -> Result<Sink<'a>, Unsupported> {
        if let Some(region) = &contract.epilogue {
            let body = Body::declare(s, target, region, 2, 0)?;
            let still: Vec<bool> = region.args.iter().map(|arg| !arg.write).collect();
            let ahead = body.ahead(&still);
            return Ok(Sink::Epilogue(Epilogue { contract, swap: problem.swap, acc: contract.c.dtype, body, ahead }));
        }
        let place = s.arg("c", 2, &contract.c);
        let rows = Dims::new(contract.m.iter().map(|d| (d.size, d.c)));
        let cols = Dims::new(contract.n.iter().map(|d| (d.size, d.c)));
        let (rows, cols) = if problem.swap { (cols, rows) } else { (rows, cols) };
        Ok(Sink::Memory(Memory {
            place,
            dtype: contract.c.dtype,
            index: index_dtype(contract.c.len),
            batch: Dims::new(contract.batch.iter().map(|d| (d.size, d.c))),
            rows,
            cols,
        }))
    }

    /// Partial sums in scratch memory, `[parts * batch, m, n]`; the batch's number counts parts as well.
    pub(super) fn partial(s: &mut Signature, problem: &Problem, parts: u64) -> Sink<'a> {
        let place = s.scratch("partial", 0, problem.compute, true);
        let (m, n) = (problem.m as usize, problem.n as usize);
        let items = parts as usize * problem.batch as usize;
        Sink::Memory(Memory {
            place,
            dtype: problem.compute,
            index: index_dtype(items * m * n),
            batch: Dims::new([(items, (m * n) as i64)]),
            rows: Dims::new([(m, n as i64)]),
            cols: Dims::new([(n, 1)]),
        })
    }

    /// How many neighbouring columns, from a multiple on, can be taken at once: at most `most`, a power of two.
    pub(super) fn vector(&self, target: &Target, most: u32) -> u32 {
        match self {
            Sink::Memory(c) => {
                let wide = matches!(c.dtype, DType::F16 | DType::BF16 | DType::F32 | DType::I32 | DType::U32)
                    || c.dtype == DType::F64 && target.f64;
                if !target.vectors || !wide {
                    return 1;
                }
                let mut lanes = u64::from(most.min(8)).min(16 / c.dtype.size() as u64);
                while lanes > 1 && !(c.batch.multiple_of(lanes) && c.rows.multiple_of(lanes) && c.cols.runs_of(lanes)) {
                    lanes /= 2;
                }
                lanes as u32
            }
            Sink::Epilogue(e) => {
                let run = e.along().map_or(1, |(_, size)| size);
                if target.vectors { most.min(8).min(1 << run.trailing_zeros().min(3)) } else { 1 }
            }
        }
    }

    /// What sums are stored as, where nothing else is done with them.
    pub(super) fn stored(&self) -> Option<DType> {
        match self {
            Sink::Memory(c) => Some(c.dtype),
            Sink::Epilogue(_) => None,
        }
    }

    /// Whether what happens to a sum is more than a store.
    pub(super) fn is_epilogue(&self) -> bool {
        matches!(self, Sink::Epilogue(_))
    }

    /// For the points of a batch item.
    pub(super) fn base(&self, b: &mut Builder, batch: Value) -> Base<'_, 'a> {
        match self {
            Sink::Memory(c) => {
                let zero = b.int(c.index, 0);
                let at = c.batch.offset(b, batch, c.index);
                Base::Offset(c, plus(b, zero, at))
            }
            Sink::Epilogue(e) => Base::Axes(e, axes(b, batch, e.contract.batch.iter().map(|d| d.size))),
        }
    }
}

impl<'a> Base<'_, 'a> {
    /// The epilogue, with what is known of its points.
    pub(super) fn epilogue(&self) -> Option<(&Epilogue<'a>, &[Value])> {
        match self {
            Base::Axes(e, first) => Some((e, first)),
            Base::Offset(..) => None,
        }
    }

    /// Takes the sums of neighbouring columns, at most as many as [`Sink::vector`] allows, from a multiple of them on.
    pub(super) fn put(&self, b: &mut Builder, row: Value, col: Value, sums: &[Value]) {
        match self {
            Base::Offset(c, base) => {
                let at = c.rows.offset(b, row, c.index);
                let at = plus(b, *base, at);
                let along = c.cols.offset(b, col, c.index);
                let at = plus(b, at, along);
                let values: SmallVec<[Value; 8]> = sums.iter().map(|sum| b.cast(*sum, c.dtype)).collect();
                let value = b.compose(&values);
                b.store(c.place, at, value);
            }
            Base::Axes(e, first) => {
                let all = e.axes(b, first, row, col);
                let accs: SmallVec<[Value; 8]> = sums.iter().map(|sum| b.cast(*sum, e.acc)).collect();
                e.body.points(b, &all, &accs, e.along().map(|(axis, _)| axis));
            }
        }
    }
}

impl Epilogue<'_> {
    /// The indices of a point.
    fn axes(&self, b: &mut Builder, first: &[Value], row: Value, col: Value) -> SmallVec<[Value; 6]> {
        let (m, n) = if self.swap { (col, row) } else { (row, col) };
        let mut all: SmallVec<[Value; 6]> = SmallVec::from_slice(first);
        all.extend(axes(b, m, self.contract.m.iter().map(|d| d.size)));
        all.extend(axes(b, n, self.contract.n.iter().map(|d| d.size)));
        all
    }

    /// Numbers of a point that can be loaded before its sum is there.
    pub(super) fn n_ahead(&self) -> u32 {
        self.ahead.n_loads
    }

    /// Loads those of `v` neighbouring columns, as [`Base::put`] takes them.
    pub(super) fn begin(&self, b: &mut Builder, first: &[Value], row: Value, col: Value, v: u32) -> Begun {
        let all = self.axes(b, first, row, col);
        self.body.begin(b, &all, (v as usize, self.along().map(|(axis, _)| axis)), &self.ahead)
    }

    /// Does the rest, with the sums of each.
    pub(super) fn end(&self, b: &mut Builder, points: Vec<(Begun, Vec<Value>)>) {
        let ending = |(begun, sums): (Begun, Vec<Value>)| {
            let acc = sums.into_iter().map(|sum| b.cast(sum, self.acc)).collect();
            Ending { begun, acc, inside: None }
        };
        let points = points.into_iter().map(ending).collect();
        self.body.end(b, points);
    }

    /// The axis that neighbouring columns go along, and its size.
    fn along(&self) -> Option<(usize, usize)> {
        let c = self.contract;
        let (first, sizes): (usize, SmallVec<[usize; 4]>) = if self.swap {
            (c.batch.len(), c.m.iter().map(|d| d.size).collect())
        } else {
            (c.batch.len() + c.m.len(), c.n.iter().map(|d| d.size).collect())
        };
        sizes.iter().rposition(|size| *size > 1).map(|at| (first + at, sizes[at]))
    }
}

/// A linear index (`U32`) as one per dimension.
pub(in crate::lower) fn axes(b: &mut Builder, linear: Value, sizes: impl DoubleEndedIterator<Item = usize>) -> SmallVec<[Value; 6]> {
    let mut rest = linear;
    let sizes: SmallVec<[usize; 6]> = sizes.collect();
    let outermost = sizes.iter().position(|size| *size > 1);
    let mut list: SmallVec<[Value; 6]> = SmallVec::new();
    for (at, size) in sizes.iter().enumerate().rev() {
        if *size <= 1 {
            list.push(b.u32(0));
        } else if Some(at) == outermost {
            list.push(rest);
        } else {
            list.push(b.rem_const(rest, *size as i64));
            rest = b.div_const(rest, *size as i64);
        }
    }
    list.reverse();
    list
}
