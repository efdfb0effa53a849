//! How the families without regions spread their work: threads, grids of any size, index types, accumulators.

use super::{ProgramLaunch, Signature, Unsupported};
use unigrad_ir::{Builder, Place, Target, Value};
use unigrad_kernel::Arg;
use unigrad_scalar::{BinaryOp, DType, Literal};

/// Memory that a step reads or writes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Operand {
    /// The kernel's argument at this position.
    Arg(usize, Arg),
    /// Scratch buffer at this position, of a dtype.
    Scratch(usize, DType),
}

impl Operand {
    /// As stored.
    pub(crate) fn dtype(self) -> DType {
        match self {
            Operand::Arg(_, arg) => arg.dtype,
            Operand::Scratch(_, dtype) => dtype,
        }
    }

    /// The parameter for it. A buffer that a step both reads and writes has one parameter.
    pub(crate) fn open(self, sig: &mut Signature, name: &str, write: bool) -> Place {
        match self {
            Operand::Arg(at, arg) => sig.arg(name, at, &Arg { write, ..arg }),
            Operand::Scratch(at, dtype) => sig.scratch(name, at, dtype, write),
        }
    }
}

/// Bytes of the scratch buffers of a kernel under construction.
#[derive(Debug, Default)]
pub(crate) struct ScratchBuffers(pub(crate) Vec<usize>);

impl ScratchBuffers {
    /// A further buffer.
    pub(crate) fn take(&mut self, dtype: DType, len: usize) -> Operand {
        self.0.push((len * dtype.size()).max(4));
        Operand::Scratch(self.0.len() - 1, dtype)
    }
}

/// So many workgroups in a line, folded where an axis of the grid is too short for them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) grid: [u32; 3],
}

impl Line {
    pub(crate) fn new(groups: usize, target: &Target) -> Result<Line, Unsupported> {
        let [x, y, z] = target.max_grid.map(|n| n as usize);
        let too_many = || Unsupported {
            cause: format!("{groups} workgroups are more than the device starts at once"),
            help: "split the tensor".to_owned(),
        };
        if u32::try_from(groups).is_err() {
            return Err(too_many());
        }
        let (mut grid, mut left) = ([1, 1, 1], groups);
        for (extent, most) in grid.iter_mut().zip([x, y, z]) {
            // Equal layers, so that few workgroups find nothing to do.
            let layers = left.div_ceil(most.max(1)).max(1);
            *extent = left.div_ceil(layers);
            left = layers;
        }
        if left > 1 { Err(too_many()) } else { Ok(Line { grid: grid.map(|n| n as u32) }) }
    }

    /// The workgroup's place in the line (`U32`); those that folding added are at or beyond the end.
    pub(crate) fn group(self, b: &mut Builder) -> Value {
        let mut at = b.group(0);
        for axis in [1, 2] {
            if self.grid[axis] > 1 {
                let (group, size) = (b.group(axis as u8), b.group_count(0));
                let size = if axis == 2 {
                    let rows = b.group_count(1);
                    b.mul(size, rows)
                } else {
                    size
                };
                at = mul_add(b, group, size, at);
            }
        }
        at
    }
}

/// One thread per item of `0..n`: the launch's line, and how to write the program.
pub(crate) fn for_each(
    mut sig: Signature,
    target: &Target,
    n: usize,
    index: DType,
    body: impl FnOnce(&mut Builder, Value),
) -> Result<ProgramLaunch, Unsupported> {
    let threads = sig.b.program().threads();
    let line = Line::new(n.div_ceil(threads as usize), target)?;
    let count = sig.word("count", index, n as u64);
    let b = &mut sig.b;
    let group = line.group(b);
    let (group, thread) = (b.cast(group, index), b.thread(0));
    let thread = b.cast(thread, index);
    let size = b.int(index, threads.into());
    let item = mul_add(b, group, size, thread);
    let inside = b.lt(item, count);
    b.when(inside, |b| body(b, item));
    Ok(sig.finish(line.grid))
}

/// Threads of a workgroup: at most so many, a power of two.
pub(crate) fn threads(target: &Target, most: u32) -> u32 {
    let n = most.min(target.max_threads).max(1);
    if n.is_power_of_two() { n } else { n.next_power_of_two() / 2 }
}

/// The type that indexes into all of these many elements; products of sizes below it do not wrap.
pub(crate) fn index_dtype(target: &Target, elements: usize) -> Result<DType, Unsupported> {
    match elements {
        _ if elements < 1 << 31 => Ok(DType::U32),
        _ if target.i64 => Ok(DType::U64),
        _ => Err(too_large(elements)),
    }
}

/// The refusal of more elements than 32 bits count.
pub(crate) fn too_large(elements: usize) -> Unsupported {
    Unsupported { cause: format!("{elements} elements are more than 32-bit indices reach"), help: "split the tensor".to_owned() }
}

/// Refuses dtypes that the target cannot compute with.
pub(crate) fn check_dtype(target: &Target, dtype: DType) -> Result<(), Unsupported> {
    if dtype == DType::F64 && !target.f64 {
        let help = "convert to f32, or run it on the CPU".to_owned();
        return Err(Unsupported { cause: "the device has no 64-bit floats".to_owned(), help });
    }
    Ok(())
}

/// What running results of a dtype are kept in: narrow integers wrap when stored, and 32-bit arithmetic wraps alike.
#[allow(clippy::wildcard_enum_match_arm, reason = "dtypes come in families")]
pub(crate) fn accumulator(dtype: DType) -> DType {
    match dtype {
        DType::Bool | DType::U8 | DType::U16 => DType::U32,
        DType::I8 | DType::I16 => DType::I32,
        other => other.compute(),
    }
}

/// The operation on [`accumulator`]s: sums of `Bool` are *any*, products *all*.
#[allow(clippy::wildcard_enum_match_arm, reason = "an operation without a rule here is like any other")]
pub(crate) fn on_accumulators(op: BinaryOp, dtype: DType) -> BinaryOp {
    match op {
        BinaryOp::Add if dtype == DType::Bool => BinaryOp::Max,
        BinaryOp::Mul if dtype == DType::Bool => BinaryOp::Min,
        other => other,
    }
}

/// What changes nothing under an operation on accumulators. `-0 + x` is `x` even for `x = -0`.
#[allow(clippy::wildcard_enum_match_arm, reason = "an operation without a rule here is like any other")]
pub(crate) fn identity(op: BinaryOp, accumulator: DType) -> Literal {
    match op {
        BinaryOp::Add if accumulator.is_float() => Literal::float(accumulator, -0.0),
        BinaryOp::Mul => Literal::int(accumulator, 1),
        BinaryOp::Max => Literal::min_value(accumulator),
        BinaryOp::Min => Literal::max_value(accumulator),
        _ => Literal::int(accumulator, 0),
    }
}

/// `a * by + c`.
pub(crate) fn mul_add(b: &mut Builder, a: Value, by: Value, c: Value) -> Value {
    let product = b.mul(a, by);
    b.add(product, c)
}

/// `a * by + c` with a constant.
pub(crate) fn mul_const_add(b: &mut Builder, a: Value, by: i64, c: Value) -> Value {
    let by = b.int(b.dtype(a), by);
    mul_add(b, a, by, c)
}

/// Quotient and remainder.
pub(crate) fn div_rem(b: &mut Builder, a: Value, by: Value) -> (Value, Value) {
    (b.binary(BinaryOp::IDiv, a, by), b.binary(BinaryOp::Rem, a, by))
}

/// The sum of what `parts` shares of threads have left at `at` and as far apart each, in order.
pub(crate) fn sum_of_parts(b: &mut Builder, place: Place, at: Value, (parts, apart): (u32, u32)) -> Value {
    let mut sum = b.load(place, at);
    for part in 1..parts {
        let from = b.add_const(at, i64::from(part * apart));
        let other = b.load(place, from);
        sum = b.add(sum, other);
    }
    sum
}
