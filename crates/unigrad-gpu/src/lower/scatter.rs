//! Scatter without atomics: elements that meet in one target are brought together by a stable sort of the index, and one thread combines
//! them in order.
//!
//! A *line* is what the index really has along the axis: expanded dimensions share theirs. Steps: the output becomes the base; indices
//! become targets, each checked; targets are sorted with their positions; the elements at each run of equal targets are combined.
//! Lines of few elements are not sorted: the first of equal targets is found by looking at all before it.
//! Where runs can be long, whole chunks of them are combined beforehand.

use super::{
    Lowered, ProgramLaunch, Signature, Unsupported,
    distribute::{
        Operand, ScratchBuffers, accumulator, check_dtype, for_each, identity, index_dtype, mul_const_add, on_accumulators, threads,
        too_large,
    },
    sort::{
        self, Input, Output, Rows,
        key::{Keys, Pairs},
    },
};
use smallvec::SmallVec;
use unigrad_ir::{Builder, Place, Target, Value};
use unigrad_kernel::{Arg, Scatter, ScatterBase, check_bit};
use unigrad_scalar::{BinaryOp, DType, ScatterMode};

/// Elements of a line up to which they are compared with each other instead of sorted.
const FEW: usize = 64;
/// Elements of a line from which chunks of runs are combined beforehand.
const MANY: usize = 4096;

/// One dimension of the source: its size, and its strides in the output, the source, the index and the lines.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Dim {
    size: usize,
    out: i64,
    src: i64,
    index: i64,
    line: i64,
}

pub(super) fn lower(kernel: &Scatter, target: &Target) -> Result<Lowered, Unsupported> {
    check_dtype(target, kernel.dtype)?;
    let n_out: usize = kernel.out_shape.iter().product();
    let mut lowered = Lowered::default();
    if n_out > 0 {
        lowered.steps.extend(start(kernel, target, n_out)?);
    }
    if kernel.shape.contains(&0) {
        return Ok(lowered);
    }
    let mut scratch = ScratchBuffers::default();
    let plan = ScatterWork::new(kernel, target, &mut scratch)?;
    lowered.steps.push(plan.find_targets(target)?);
    if n_out == 0 {
        // Every index is outside of an empty axis: the first step says so.
        lowered.scratch = scratch.0;
        return Ok(lowered);
    }
    if plan.len > FEW {
        let rows = Rows { outer: plan.n_lines, len: plan.len, inner: 1 };
        let bits = usize::BITS - (plan.axis_size.max(2) - 1).leading_zeros();
        let sorted = Pairs::new(&mut scratch, Keys { bits, words: 1 }, plan.n_lines * plan.len);
        let input = Input::Targets { x: plan.targets, bits };
        let output = Output::Pairs { pairs: sorted.clone(), len: plan.len };
        lowered.steps.extend(sort::sort(target, rows, input, output, plan.len, &mut scratch)?);
        let chunks = plan.op.filter(|_| plan.len >= MANY).map(|op| (op, Chunks::new(&plan, &mut scratch)));
        if let Some((op, chunks)) = &chunks {
            lowered.steps.push(plan.combine_chunks(target, &sorted, *op, chunks)?);
        }
        lowered.steps.push(plan.combine_sorted(target, &sorted, chunks.as_ref().map(|(_, chunks)| chunks))?);
    } else {
        lowered.steps.push(plan.combine_few(target)?);
    }
    lowered.scratch = scratch.0;
    Ok(lowered)
}

/// Lets the output be the base, unless it is.
fn start(kernel: &Scatter, target: &Target, n: usize) -> Result<Option<ProgramLaunch>, Unsupported> {
    let index = index_dtype(target, n)?;
    let mut sig = Signature::new("scatter_base", [threads(target, 256), 1, 1]);
    let arg = |write| Arg { dtype: kernel.dtype, len: n, write };
    let step = match kernel.base {
        ScatterBase::Out => return Ok(None),
        ScatterBase::Arg => {
            let base = Operand::Arg(0, arg(false)).open(&mut sig, "base", false);
            let out = Operand::Arg(3, arg(true)).open(&mut sig, "y", true);
            for_each(sig, target, n, index, |b, i| {
                let value = b.load(base, i);
                b.store(out, i, value);
            })
        }
        ScatterBase::Fill(value) => {
            let out = Operand::Arg(2, arg(true)).open(&mut sig, "y", true);
            for_each(sig, target, n, index, |b, i| {
                let value = b.constant(value.cast(kernel.dtype));
                b.store(out, i, value);
            })
        }
    };
    step.map(Some)
}

struct ScatterWork<'a> {
    kernel: &'a Scatter,
    op: Option<BinaryOp>,
    /// The source's dimensions, outermost first, neighbours merged; the axis is among them.
    dims: SmallVec<[Dim; 6]>,
    axis: usize,
    /// Elements of a line, and how many lines there are.
    len: usize,
    n_lines: usize,
    /// Size of the output's axis.
    axis_size: usize,
    /// `[line, len]`, `U32`.
    targets: Operand,
    src: Operand,
    out: Operand,
    /// Type of offsets in the output and the source.
    offset: DType,
    items: usize,
}

/// Long runs' whole chunks, combined: `[chunk of the sorted line, the source's other dimensions]`.
struct Chunks {
    each: usize,
    count: usize,
    sums: Operand,
}

impl Chunks {
    fn new(plan: &ScatterWork<'_>, scratch: &mut ScratchBuffers) -> Chunks {
        // Such that a run of everything is as many chunks as a chunk has elements.
        let each = 1 << (plan.len.ilog2() / 2).clamp(5, 10);
        let count = plan.len / each;
        let sums = scratch.take(accumulator(plan.kernel.dtype), plan.items / plan.len * count);
        Chunks { each, count, sums }
    }
}

/// Where one element of the source is, but for its place along the axis.
struct Column {
    out: Value,
    src: Value,
    /// First element of the line.
    line: Value,
    /// The coordinate along the axis.
    along: Value,
}

impl<'a> ScatterWork<'a> {
    fn new(kernel: &'a Scatter, target: &Target, scratch: &mut ScratchBuffers) -> Result<ScatterWork<'a>, Unsupported> {
        let rank = kernel.shape.len();
        let (len, axis_size) = (kernel.shape[kernel.axis], kernel.out_shape[kernel.axis]);
        let mut strides: SmallVec<[i64; 6]> = SmallVec::from_elem(1, rank);
        for d in (1..rank).rev() {
            strides[d - 1] = strides[d] * kernel.out_shape[d] as i64;
        }
        let mut dims: SmallVec<[Dim; 6]> = SmallVec::new();
        let mut axis = 0;
        let mut n_lines = 1;
        // Innermost first.
        for d in (0..rank).rev() {
            let (size, index) = (kernel.shape[d], kernel.index_strides[d]);
            let mut dim = Dim { size, out: strides[d], src: kernel.src_strides[d], index, line: 0 };
            if d == kernel.axis {
                // The line's stride is within it: see `ScatterWork::column`.
                axis = dims.len();
                dims.push(dim);
                continue;
            }
            if size == 1 {
                continue;
            }
            if index != 0 {
                dim.line = (n_lines * len) as i64;
                n_lines *= size;
            }
            let at_axis = dims.len() == axis + 1 && d < kernel.axis;
            match dims.last_mut() {
                Some(inner) if !at_axis && inner.merges(&dim) => inner.size *= size,
                _ => dims.push(dim),
            }
        }
        dims.reverse();
        let axis = dims.len() - 1 - axis;
        let items: usize = kernel.shape.iter().product();
        let n_out: usize = kernel.out_shape.iter().product();
        if n_lines * len >= 1 << 31 || axis_size >= 1 << 31 {
            return Err(too_large(n_lines * len));
        }
        // Unsigned, so that divisions are cheap; negative strides wrap to where they should.
        let offset = index_dtype(target, items.max(n_out).max(kernel.src.len).max(kernel.index.len))?;
        let op = match kernel.mode {
            ScatterMode::Set => None,
            ScatterMode::Add => Some(BinaryOp::Add),
            ScatterMode::Mul => Some(BinaryOp::Mul),
            ScatterMode::Max => Some(BinaryOp::Max),
            ScatterMode::Min => Some(BinaryOp::Min),
        };
        let first = usize::from(kernel.base == ScatterBase::Arg);
        Ok(ScatterWork {
            kernel,
            op: op.map(|op| on_accumulators(op, kernel.dtype)),
            dims,
            axis,
            len,
            n_lines,
            axis_size,
            targets: scratch.take(DType::U32, n_lines * len),
            src: Operand::Arg(first + 1, Arg { write: false, ..kernel.src }),
            out: Operand::Arg(first + 2, Arg { dtype: kernel.dtype, len: n_out, write: true }),
            offset,
            items,
        })
    }

    fn index(&self) -> Operand {
        Operand::Arg(usize::from(self.kernel.base == ScatterBase::Arg), Arg { write: false, ..self.kernel.index })
    }

    /// Checks each index and writes what it counts from the start.
    fn find_targets(&self, target: &Target) -> Result<ProgramLaunch, Unsupported> {
        let mut sig = Signature::new("scatter_targets", [threads(target, 128), 1, 1]);
        sig.made_for(target);
        let index = self.index().open(&mut sig, "index", false);
        let targets = self.targets.open(&mut sig, "targets", true);
        let error = sig.index_error();
        // Lines in the order of their numbers: the dimensions that have them, outermost first, then the axis.
        let dims: SmallVec<[Dim; 6]> =
            self.dims.iter().enumerate().filter(|(d, dim)| *d != self.axis && dim.line != 0).map(|(_, d)| *d).collect();
        let axis = self.dims[self.axis];
        let dtype = self.kernel.index.dtype;
        // Narrow and signed types are `I32`; unsigned ones that may not fit are told apart by the wider type, or by their sign bit.
        let wide = if dtype.size() == 8 || dtype == DType::U32 { DType::I64 } else { DType::I32 };
        for_each(sig, target, self.n_lines * self.len, self.offset, |b, item| {
            let along = b.rem_const(item, self.len as i64);
            let mut line = b.div_const(item, self.len as i64);
            let mut at = b.int(self.offset, self.kernel.index_offset);
            at = mul_const_add(b, along, axis.index, at);
            for dim in dims.iter().rev() {
                let i = b.rem_const(line, dim.size as i64);
                line = b.div_const(line, dim.size as i64);
                at = mul_const_add(b, i, dim.index, at);
            }
            let mut value = b.load(index, at);
            if dtype == DType::U64 {
                // What is beyond the greatest signed number is outside of every axis.
                let most = b.int(DType::U64, i64::MAX);
                value = b.binary(BinaryOp::Min, value, most);
            }
            let value = b.cast(value, wide);
            let found = error.bounded(b, value, self.axis_size as i64, true, check_bit(0));
            let found = b.cast(found, DType::U32);
            b.store(targets, item, found);
        })
    }

    /// Takes an item's coordinates apart (row-major over the source's shape, `along` many along the axis).
    fn column(&self, b: &mut Builder, item: Value, along: usize) -> Column {
        let mut rest = item;
        let mut at = b.int(self.offset, 0);
        let mut column = Column { out: at, src: b.int(self.offset, self.kernel.src_offset), line: at, along: at };
        for (d, dim) in self.dims.iter().enumerate().rev() {
            let size = if d == self.axis { along } else { dim.size } as i64;
            at = if d == 0 { rest } else { b.rem_const(rest, size) };
            rest = if d == 0 { rest } else { b.div_const(rest, size) };
            if d == self.axis {
                column.along = at;
                continue;
            }
            column.out = mul_const_add(b, at, dim.out, column.out);
            column.src = mul_const_add(b, at, dim.src, column.src);
            column.line = mul_const_add(b, at, dim.line, column.line);
        }
        column
    }

    fn load_target(&self, b: &mut Builder, targets: Place, column: &Column, along: Value) -> Value {
        let at = b.add(column.line, along);
        b.load(targets, at)
    }

    /// The source's element at a position (`U32`) along the axis.
    fn load_src(&self, b: &mut Builder, src: Place, column: &Column, position: Value) -> Value {
        let position = b.cast(position, self.offset);
        let at = mul_const_add(b, position, self.dims[self.axis].src, column.src);
        b.load(src, at)
    }

    /// Where a target is in the output.
    fn out_at(&self, b: &mut Builder, column: &Column, target: Value) -> Value {
        let target = b.cast(target, self.offset);
        mul_const_add(b, target, self.dims[self.axis].out, column.out)
    }

    fn take_in(&self, b: &mut Builder, op: BinaryOp, sum: Place, value: Value) {
        let value = b.cast(value, accumulator(self.kernel.dtype));
        let old = b.get(sum);
        let new = b.binary(op, old, value);
        b.set(sum, new);
    }

    /// Lets `all` take in what else meets in the target, beginning with the output's own element.
    fn update(&self, b: &mut Builder, out: Place, at: Value, all: impl FnOnce(&mut Builder, Place)) {
        let first = b.load(out, at);
        let first = b.cast(first, accumulator(self.kernel.dtype));
        let sum = b.variable("sum", first);
        all(b, sum);
        let sum = b.get(sum);
        let sum = b.cast(sum, self.kernel.dtype);
        b.store(out, at, sum);
    }

    /// Short lines: an element that has no equal before (to set: after) it combines all that come after.
    fn combine_few(&self, target: &Target) -> Result<ProgramLaunch, Unsupported> {
        let mut sig = Signature::new("scatter_few", [threads(target, 128), 1, 1]);
        let src = self.src.open(&mut sig, "src", false);
        let out = self.out.open(&mut sig, "y", true);
        let targets = self.targets.open(&mut sig, "targets", false);
        for_each(sig, target, self.items, self.offset, |b, item| {
            let column = self.column(b, item, self.len);
            let own = self.load_target(b, targets, &column, column.along);
            let [zero, one, len] = [0, 1, self.len as i64].map(|n| b.int(self.offset, n));
            let next = b.add(column.along, one);
            let none = b.u32(0);
            let met = b.variable("met", none);
            let (from, to) = if self.op.is_none() { (next, len) } else { (zero, column.along) };
            b.repeat(from, to, one, |b, other| {
                let equal = self.load_target(b, targets, &column, other);
                let equal = b.binary(BinaryOp::Eq, equal, own);
                b.when(equal, |b| {
                    let yes = b.u32(1);
                    b.set(met, yes);
                });
            });
            let met = b.get(met);
            let leads = b.binary(BinaryOp::Eq, met, none);
            b.when(leads, |b| {
                let at = self.out_at(b, &column, own);
                let Some(op) = self.op else {
                    let value = self.load_src(b, src, &column, column.along);
                    return b.store(out, at, value);
                };
                self.update(b, out, at, |b, sum| {
                    b.repeat(column.along, len, one, |b, other| {
                        let equal = self.load_target(b, targets, &column, other);
                        let equal = b.binary(BinaryOp::Eq, equal, own);
                        b.when(equal, |b| {
                            let value = self.load_src(b, src, &column, other);
                            self.take_in(b, op, sum, value);
                        });
                    });
                });
            });
        })
    }

    /// Sorted lines: the first (to set: the last) of each run combines it.
    fn combine_sorted(&self, target: &Target, sorted: &Pairs, chunks: Option<&Chunks>) -> Result<ProgramLaunch, Unsupported> {
        let mut sig = Signature::new("scatter_runs", [threads(target, 128), 1, 1]);
        let src = self.src.open(&mut sig, "src", false);
        let out = self.out.open(&mut sig, "y", true);
        let targets = sorted.words[0].open(&mut sig, "targets", false);
        let positions = sorted.index.open(&mut sig, "positions", false);
        let sums = chunks.map(|chunks| chunks.sums.open(&mut sig, "sums", false));
        for_each(sig, target, self.items, self.offset, |b, item| {
            let column = self.column(b, item, self.len);
            let own = self.load_target(b, targets, &column, column.along);
            let [zero, one, len] = [0, 1, self.len as i64].map(|n| b.int(self.offset, n));
            // The neighbour that tells whether the run begins (ends) here.
            let (edge, other) = if self.op.is_none() {
                let next = b.add(column.along, one);
                (b.binary(BinaryOp::Ge, next, len), next)
            } else {
                (b.binary(BinaryOp::Eq, column.along, zero), b.sub(column.along, one))
            };
            let other = b.select(edge, column.along, other);
            let neighbour = self.load_target(b, targets, &column, other);
            let differs = b.binary(BinaryOp::Ne, neighbour, own);
            let leads = b.binary(BinaryOp::Or, edge, differs);
            b.when(leads, |b| {
                let at = self.out_at(b, &column, own);
                let Some(op) = self.op else {
                    let position = self.load_target(b, positions, &column, column.along);
                    let value = self.load_src(b, src, &column, position);
                    return b.store(out, at, value);
                };
                self.update(b, out, at, |b, sum| {
                    let next = b.variable("next", column.along);
                    let more = |b: &mut Builder, at: Value| {
                        // Past the end there is none of this run.
                        let inside = b.lt(at, len);
                        let at = b.select(inside, at, column.along);
                        let equal = self.load_target(b, targets, &column, at);
                        let equal = b.binary(BinaryOp::Eq, equal, own);
                        b.and(inside, equal)
                    };
                    let one_by_one = |b: &mut Builder| {
                        let at = b.get(next);
                        let position = self.load_target(b, positions, &column, at);
                        let value = self.load_src(b, src, &column, position);
                        self.take_in(b, op, sum, value);
                        let after = b.add(at, one);
                        b.set(next, after);
                    };
                    b.repeat_while(
                        |b| {
                            let at = b.get(next);
                            more(b, at)
                        },
                        |b| {
                            let (Some(chunks), Some(sums)) = (chunks, sums) else { return one_by_one(b) };
                            let at = b.get(next);
                            let within = b.rem_const(at, chunks.each as i64);
                            let aligned = b.binary(BinaryOp::Eq, within, zero);
                            let last = b.add_const(at, chunks.each as i64 - 1);
                            let whole = more(b, last);
                            let whole = b.and(aligned, whole);
                            b.when_else(
                                whole,
                                |b| {
                                    let chunk = b.div_const(at, chunks.each as i64);
                                    let place = self.chunk_at(b, item, chunk, chunks);
                                    let value = b.load(sums, place);
                                    self.take_in(b, op, sum, value);
                                    let after = b.add_const(at, chunks.each as i64);
                                    b.set(next, after);
                                },
                                one_by_one,
                            );
                        },
                    );
                });
            });
        })
    }

    /// Where the chunk of an item's column is among the sums: its coordinates, with the chunk's along the axis.
    fn chunk_at(&self, b: &mut Builder, item: Value, chunk: Value, chunks: &Chunks) -> Value {
        let inner: usize = self.dims[self.axis + 1..].iter().map(|dim| dim.size).product();
        let within = b.rem_const(item, inner as i64);
        let outer = b.div_const(item, (inner * self.len) as i64);
        let line = mul_const_add(b, outer, chunks.count as i64, chunk);
        mul_const_add(b, line, inner as i64, within)
    }

    /// Combines each chunk of a sorted line that lies in one run as a whole.
    fn combine_chunks(&self, target: &Target, sorted: &Pairs, op: BinaryOp, chunks: &Chunks) -> Result<ProgramLaunch, Unsupported> {
        let mut sig = Signature::new("scatter_chunks", [threads(target, 128), 1, 1]);
        let src = self.src.open(&mut sig, "src", false);
        let targets = sorted.words[0].open(&mut sig, "targets", false);
        let positions = sorted.index.open(&mut sig, "positions", false);
        let sums = chunks.sums.open(&mut sig, "sums", true);
        for_each(sig, target, self.items / self.len * chunks.count, self.offset, |b, item| {
            let column = self.column(b, item, chunks.count);
            let first = b.mul_const(column.along, chunks.each as i64);
            let last = b.add_const(first, chunks.each as i64 - 1);
            let (x, y) = (self.load_target(b, targets, &column, first), self.load_target(b, targets, &column, last));
            let whole = b.binary(BinaryOp::Eq, x, y);
            b.when(whole, |b| {
                let none = b.constant(identity(op, accumulator(self.kernel.dtype)));
                let sum = b.variable("sum", none);
                let (end, one) = (b.add_const(last, 1), b.int(self.offset, 1));
                b.repeat(first, end, one, |b, at| {
                    let position = self.load_target(b, positions, &column, at);
                    let value = self.load_src(b, src, &column, position);
                    self.take_in(b, op, sum, value);
                });
                let sum = b.get(sum);
                b.store(sums, item, sum);
            });
        })
    }
}

impl Dim {
    /// Whether a dimension just outside of this one goes on where this one ends.
    fn merges(&self, outer: &Dim) -> bool {
        let size = self.size as i64;
        outer.out == self.out * size && outer.src == self.src * size && outer.index == self.index * size && outer.line == self.line * size
    }
}
