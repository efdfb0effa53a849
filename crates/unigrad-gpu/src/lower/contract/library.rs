//! A contraction as a library's product: the plain strided matrices among them, and the step that finishes those with an epilogue.
//!
//! Always: an operand that overlaps itself, runs backwards or needs several strides for one side is none.

use super::super::{Lowered, StepArg};
use super::problem::{Dims, Problem};
use super::sums;
use crate::{Matrix, Product};
use unigrad_ir::Target;
use unigrad_kernel::Contract;
use unigrad_scalar::DType;

/// A contraction that a library can do.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Library {
    pub(crate) product: Product,
    /// Where the matrices are.
    pub(crate) places: [StepArg; 3],
    /// What comes after the product.
    pub(crate) after: Lowered,
}

/// The contraction as a product, if it is one.
pub(crate) fn library(contract: &Contract, target: &Target) -> Option<Library> {
    let p = Problem::new(contract, target).ok()?;
    // The roles are chosen for the driver's own stores; where these have gaps, the other ones may do.
    find(contract, &p, target).or_else(|| find(contract, &p.swapped(), target))
}

fn find(contract: &Contract, p: &Problem, target: &Target) -> Option<Library> {
    let size = |size: u64| u32::try_from(size).ok().filter(|size| (1..1 << 31).contains(size));
    let (batch, m, n, k) = (size(p.batch)?, size(p.m)?, size(p.n)?, size(p.k)?);
    let compute = if p.a.dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let known = matches!(p.a.dtype, DType::F32 | DType::F64 | DType::F16 | DType::BF16);
    if !known || p.a.dtype != p.b.dtype || p.compute != compute {
        return None;
    }
    let a = matrix(p.a.dtype, p.a.offset, [(m, &p.a.lanes), (k, &p.a.k)], (batch, &p.a.batch))?;
    let b = matrix(p.b.dtype, p.b.offset, [(k, &p.b.k), (n, &p.b.lanes)], (batch, &p.b.batch))?;
    let epilogue = contract.epilogue.is_some();
    let c = if epilogue {
        Matrix { dtype: compute, offset: 0, ld: n, transposed: false, batch_stride: u64::from(m) * u64::from(n) }
    } else {
        let rows = Dims::new(contract.m.iter().map(|d| (d.size, d.c)));
        let cols = Dims::new(contract.n.iter().map(|d| (d.size, d.c)));
        let (rows, cols) = if p.swap { (cols, rows) } else { (rows, cols) };
        let dims = Dims::new(contract.batch.iter().map(|d| (d.size, d.c)));
        let c = matrix(contract.c.dtype, 0, [(m, &rows), (n, &cols)], (batch, &dims))?;
        if c.transposed || ![p.a.dtype, compute].contains(&c.dtype) || (batch > 1 && c.batch_stride == 0) {
            return None;
        }
        c
    };
    let sides = [p.a.arg, p.b.arg].map(StepArg::Arg);
    let [first, second] = sides;
    let (out, after) = if epilogue {
        let bytes = (p.batch * p.m * p.n) as usize * compute.size();
        (StepArg::Scratch(0), Lowered { steps: vec![sums::finish(contract, p, target, 1).ok()?], scratch: vec![bytes] })
    } else {
        (StepArg::Arg(2), Lowered::default())
    };
    Some(Library { product: Product { batch, m, n, k, a, b, c, compute, epilogue }, places: [first, second, out], after })
}

/// A matrix of these rows and columns, if one stride each describes them, and one of the two runs by ones.
fn matrix(dtype: DType, offset: i64, [rows, cols]: [(u32, &Dims); 2], batch: (u32, &Dims)) -> Option<Matrix> {
    let ((n_rows, rows), (n_cols, cols)) = ((rows.0, rows.1.single()?), (cols.0, cols.1.single()?));
    // The stored rows' length, and what separates them: any number is right where there is but one.
    let stored = |run: u32, step: i64, count: u32, next: i64| {
        let next = if count == 1 { i64::from(run) } else { next };
        let ld = u32::try_from(next).ok().filter(|ld| (run..1 << 31).contains(ld))?;
        (run == 1 || step == 1).then_some(ld)
    };
    let plain = stored(n_cols, cols, n_rows, rows).map(|ld| (ld, false));
    let (ld, transposed) = plain.or_else(|| stored(n_rows, rows, n_cols, cols).map(|ld| (ld, true)))?;
    let batch_stride = if batch.0 == 1 { 0 } else { u64::try_from(batch.1.single()?).ok()? };
    Some(Matrix { dtype, offset: u64::try_from(offset).ok()?, ld, transposed, batch_stride })
}
