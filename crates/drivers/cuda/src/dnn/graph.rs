//! A graph of cuDNN's operations while it is written down.
//!
//! In: tensors and operations, one after the other. Out: finished operations, which [`super::plan`] finds an engine for.
//! Always: what is between operations has a number of its own from [`BETWEEN`] on; numbers below are the caller's.

use super::api::{BFLOAT16, DataType, Descriptor, FLOAT, HALF, PROPAGATE_NAN, Pointwise, RELU, Reduction, Status, attribute, kind};
use super::plan::Context;
use smallvec::SmallVec;
use unigrad_gpu::MOST_AXES;
use unigrad_scalar::DType;

/// From here on: what is between operations.
const BETWEEN: i64 = 1000;

/// What every range begins at a multiple of ([`unigrad_gpu::Range::offset`]), as far as an engine may use it.
pub(super) const ALIGNMENT: u64 = 16;

/// Numbers for the axes of a tensor.
pub(super) type Numbers = SmallVec<[i64; MOST_AXES + 2]>;

/// Sizes and strides, outermost first as the library names axes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    pub(super) sizes: Numbers,
    pub(super) strides: Numbers,
}

impl Shape {
    /// Row-major.
    pub(super) fn dense(sizes: &[i64]) -> Shape {
        let mut strides = Numbers::from_elem(1, sizes.len());
        for at in (1..sizes.len()).rev() {
            strides[at - 1] = strides[at].saturating_mul(sizes[at]);
        }
        Shape { sizes: sizes.into(), strides }
    }

    /// Whether no two elements are one.
    pub(super) fn is_apart(&self) -> bool {
        let mut moving: SmallVec<[(i64, i64); MOST_AXES + 2]> =
            self.strides.iter().copied().zip(self.sizes.iter().copied()).filter(|(_, size)| *size > 1).collect();
        moving.sort_unstable();
        let mut end = Some(1i64);
        moving.into_iter().all(|(stride, size)| {
            let right = end.is_some_and(|end| stride >= end);
            end = end.and_then(|end| (size - 1).checked_mul(stride)?.checked_add(end));
            right
        }) && end.is_some()
    }

    /// With the last two axes exchanged.
    pub(super) fn transposed(&self) -> Shape {
        let mut shape = self.clone();
        let n = shape.sizes.len();
        if n > 1 {
            shape.sizes.swap(n - 2, n - 1);
            shape.strides.swap(n - 2, n - 1);
        }
        shape
    }
}

/// What a tensor is to the library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Is {
    /// In memory.
    Stored,
    /// Between operations.
    Virtual,
    /// A number on the host.
    Number,
}

/// An operation on each element, beside its operands.
#[derive(Clone, Copy)]
pub(super) struct Each<'a> {
    pub(super) mode: Pointwise,
    pub(super) x: &'a Descriptor,
    /// The second operand.
    pub(super) b: Option<&'a Descriptor>,
    /// What chooses between the two.
    pub(super) chosen: Option<&'a Descriptor>,
    /// What it computes in.
    pub(super) compute: DataType,
    /// The axis whose index it gives.
    pub(super) axis: Option<i64>,
}

impl<'a> Each<'a> {
    /// Of one operand, in `f32`.
    pub(super) fn of(mode: Pointwise, x: &'a Descriptor) -> Each<'a> {
        Each { mode, x, b: None, chosen: None, compute: FLOAT, axis: None }
    }

    /// Of two operands, in `f32`.
    pub(super) fn both(mode: Pointwise, x: &'a Descriptor, b: &'a Descriptor) -> Each<'a> {
        Each { b: Some(b), ..Each::of(mode, x) }
    }
}

/// See the module's text.
pub(super) struct Graph<'a> {
    pub(super) context: &'a Context,
    pub(super) operations: Vec<Descriptor>,
    n_between: i64,
}

impl<'a> Graph<'a> {
    pub(super) fn new(context: &'a Context) -> Graph<'a> {
        Graph { context, operations: Vec::new(), n_between: 0 }
    }

    fn tensor(&self, id: i64, shape: &Shape, dtype: DataType, alignment: u64, is: Is) -> Result<Descriptor, Status> {
        let tensor = self.context.descriptor(kind::TENSOR)?.with(attribute::TENSOR_DTYPE, &[dtype])?;
        let tensor = tensor.with(attribute::TENSOR_SIZES, &shape.sizes)?.with(attribute::TENSOR_STRIDES, &shape.strides)?;
        let tensor = tensor.with(attribute::TENSOR_ID, &[id])?.with(attribute::TENSOR_ALIGNMENT, &[alignment as i64])?;
        let tensor = tensor.with(attribute::TENSOR_VIRTUAL, &[is == Is::Virtual])?;
        tensor.with(attribute::TENSOR_BY_VALUE, &[is == Is::Number])?.finish()
    }

    /// A tensor in memory, whose first element is at a multiple of so many bytes.
    pub(super) fn stored(&self, id: i64, shape: &Shape, dtype: DataType, alignment: u64) -> Result<Descriptor, Status> {
        self.tensor(id, shape, dtype, alignment, Is::Stored)
    }

    /// A number on the host, for tensors of so many axes.
    pub(super) fn number(&self, id: i64, n_axes: usize, dtype: DataType) -> Result<Descriptor, Status> {
        let ones = Numbers::from_elem(1, n_axes);
        self.tensor(id, &Shape { sizes: ones.clone(), strides: ones }, dtype, ALIGNMENT, Is::Number)
    }

    /// What an operation gives to another.
    pub(super) fn between(&mut self, shape: &Shape, dtype: DataType) -> Result<Descriptor, Status> {
        self.n_between += 1;
        self.tensor(BETWEEN + self.n_between, shape, dtype, ALIGNMENT, Is::Virtual)
    }

    /// Adds an operation on each element.
    pub(super) fn each(&mut self, each: Each<'_>, y: &Descriptor) -> Result<(), Status> {
        let settings = self.context.descriptor(kind::POINTWISE)?.with(attribute::POINTWISE_MODE, &[each.mode])?;
        let mut settings = settings.with(attribute::POINTWISE_COMPUTE, &[each.compute])?;
        if each.mode == RELU {
            settings = settings.with(attribute::POINTWISE_NAN, &[PROPAGATE_NAN])?;
        }
        if let Some(axis) = each.axis {
            settings = settings.with(attribute::POINTWISE_AXIS, &[axis])?;
        }
        let settings = settings.finish()?;
        let operation = self.context.descriptor(kind::POINTWISE_OPERATION)?.point(attribute::POINTWISE_SETTINGS, &[&settings])?;
        let mut operation = operation.point(attribute::POINTWISE_X, &[each.x])?.point(attribute::POINTWISE_Y, &[y])?;
        for (name, operand) in [(attribute::POINTWISE_B, each.b), (attribute::POINTWISE_T, each.chosen)] {
            if let Some(operand) = operand {
                operation = operation.point(name, &[operand])?;
            }
        }
        self.operations.push(operation.finish()?);
        Ok(())
    }

    /// The same with a result between operations.
    pub(super) fn then(&mut self, each: Each<'_>, shape: &Shape, dtype: DataType) -> Result<Descriptor, Status> {
        let y = self.between(shape, dtype)?;
        self.each(each, &y)?;
        Ok(y)
    }

    /// Adds products of the matrices of two tensors, with sums in `f32`.
    pub(super) fn multiply(&mut self, a: &Descriptor, b: &Descriptor, c: &Descriptor) -> Result<(), Status> {
        let settings = self.context.descriptor(kind::MATMUL)?.with(attribute::MATMUL_COMPUTE, &[FLOAT])?.finish()?;
        let operation = self.context.descriptor(kind::MATMUL_OPERATION)?.point(attribute::MATMUL_A, &[a])?;
        let operation = operation.point(attribute::MATMUL_B, &[b])?.point(attribute::MATMUL_C, &[c])?;
        self.operations.push(operation.point(attribute::MATMUL_SETTINGS, &[&settings])?.finish()?);
        Ok(())
    }

    /// Adds a reduction, in `f32`, of the axes that have one element in the result.
    pub(super) fn reduce(&mut self, mode: Reduction, x: &Descriptor, y: &Descriptor) -> Result<(), Status> {
        let settings = self.context.descriptor(kind::REDUCTION)?.with(attribute::REDUCTION_MODE, &[mode])?;
        let settings = settings.with(attribute::REDUCTION_COMPUTE, &[FLOAT])?.finish()?;
        let operation = self.context.descriptor(kind::REDUCTION_OPERATION)?.point(attribute::REDUCTION_X, &[x])?;
        let operation = operation.point(attribute::REDUCTION_Y, &[y])?;
        self.operations.push(operation.point(attribute::REDUCTION_SETTINGS, &[&settings])?.finish()?);
        Ok(())
    }

    /// Reads a tensor as one of other sizes and strides.
    pub(super) fn seen_as(&mut self, x: &Descriptor, shape: &Shape, dtype: DataType) -> Result<Descriptor, Status> {
        let y = self.between(shape, dtype)?;
        let operation = self.context.descriptor(kind::RESHAPE)?.point(attribute::RESHAPE_X, &[x])?;
        self.operations.push(operation.point(attribute::RESHAPE_Y, &[&y])?.finish()?);
        Ok(y)
    }
}

/// What the address of an element is a multiple of, at most [`ALIGNMENT`].
pub(super) fn alignment(offset: u64, dtype: DType) -> u64 {
    let bytes = offset.wrapping_mul(dtype.size() as u64) | ALIGNMENT;
    1 << bytes.trailing_zeros()
}

/// The library's name of a dtype.
pub(super) fn kind_of(dtype: DType) -> Result<DataType, Status> {
    match dtype {
        DType::F32 => Ok(FLOAT),
        DType::F16 => Ok(HALF),
        DType::BF16 => Ok(BFLOAT16),
        // The library is asked for none of them.
        DType::Bool
        | DType::U8
        | DType::I8
        | DType::U16
        | DType::I16
        | DType::U32
        | DType::I32
        | DType::U64
        | DType::I64
        | DType::F64
        | DType::F8E4M3
        | DType::F8E5M2 => Err(Status::UNEXPECTED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_as_aligned_as_their_offsets() {
        for (offset, dtype, wanted) in
            [(0, DType::F32, 16), (1, DType::F32, 4), (4, DType::F32, 16), (8, DType::BF16, 16), (3, DType::F16, 2)]
        {
            assert_eq!(alignment(offset, dtype), wanted, "{offset} {dtype}");
        }
    }

    #[test]
    fn shapes_are_dense_and_turned() {
        let shape = Shape::dense(&[2, 3, 4, 5]);
        assert_eq!(shape.strides[..], [60, 20, 5, 1]);
        let turned = shape.transposed();
        assert_eq!((&turned.sizes[..], &turned.strides[..]), (&[2, 3, 5, 4][..], &[60, 20, 1, 5][..]));
        assert_eq!(turned.transposed(), shape);
    }
}
