//! A product with sums of an operand's lanes: the loop that brings operands to shared memory adds up what is there ([`tma`]).
//!
//! In: a [`Summed`], a target. Out: the product, what adds up its parts, and a region that adds up the rows of sums that warps left, and does the rest.
//! Where the loop does not suit, the steps of the product, then those of the sums.
//! Always: every sum is in a fixed order: that of a thread's lines, of a warp's threads, of parts and warps.

use super::super::region::{self, of_partials};
use super::super::{Lowered, ProgramArg, Unsupported, native};
use super::problem::Problem;
use super::tma::{self, Beside};
use unigrad_ir::Target;
use unigrad_kernel::{Arg, ColumnSum, LaneSum, Summed};
use unigrad_scalar::DType;

/// Whether a target has the loop.
pub(crate) fn sums_operands(target: &Target) -> bool {
    native::tma::available(target)
}

/// The steps; see the module's text.
pub(crate) fn summed(summed: &Summed, target: &Target) -> Result<Lowered, Unsupported> {
    if let Some(lowered) = together(summed, target)? {
        return Ok(lowered);
    }
    let (product, places) = (super::lower(&summed.product, target)?, summed.places());
    Ok(product.then_at(region::region(&summed.sums.region, target)?, |arg| places[arg], summed.n_scalars_of_product()))
}

/// All by one loop, if it can be.
fn together(summed: &Summed, target: &Target) -> Result<Option<Lowered>, Unsupported> {
    let contract = &summed.product;
    let Some(LaneSum { side, at }) = summed.lane_sum() else { return Ok(None) };
    let p = Problem::new(contract, target)?;
    if p.batch == 0 || p.m == 0 || p.n == 0 {
        return Ok(None);
    }
    let Some(plan) = tma::plan(&p, super::steps(contract), target) else { return Ok(None) };
    let of_b = p.b.arg == side;
    let (Some(rows), lanes) = (plan.rows_beside(&p, of_b), if of_b { p.n } else { p.m }) else { return Ok(None) };
    let (parts, scratch) = (plan.parts.count, usize::from(plan.parts.count > 1));
    let Some(product) = tma::product(contract, &p, target, plan, Some(Beside { of_b, scratch }))? else { return Ok(None) };
    let mut lowered = super::finish(contract, &p, target, product, parts)?;
    let left = Arg { dtype: DType::F32, len: (rows * lanes) as usize, write: true };
    if left.len > i32::MAX as usize || lowered.scratch.len() != scratch {
        return Ok(None);
    }
    lowered.scratch.push(left.bytes());
    let n_args = summed.args().len();
    let columns = [(&summed.sums.region, summed.places(), 0)];
    let (rest, places) =
        of_partials(&columns, n_args, rows as usize, &[(ColumnSum { part: 0, at, value: unigrad_kernel::Value(0) }, left)]);
    let after = region::region(&rest, target)?;
    lowered = lowered.then_at(after, |arg| places[arg], summed.n_scalars_of_product());
    // Where arguments of the whole kernel end, what is left begins.
    for arg in lowered.steps.iter_mut().flat_map(|step| &mut step.args) {
        if *arg == ProgramArg::Arg(n_args) {
            *arg = ProgramArg::Scratch(scratch);
        }
    }
    Ok(Some(lowered))
}
