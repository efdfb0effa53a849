//! Regions and groups of them: what fusion makes, and what runs most.
//!
//! In: a [`Region`], a target. Out: steps.
//! Always: reductions go through fixed trees, chosen from sizes and target alone; 64-bit arithmetic only where a range needs it.
//! Never: looks at a backend's name.
//!
//! Read `body` first (what a point does), then `schedule` (which thread does which points).

mod body;
mod crossed;
mod divide;
mod exponential;
mod grouped;
mod grouped_rows;
mod kept;
mod lanes;
mod map;
mod ops;
mod passes;
mod picks;
mod quotient;
mod range;
mod row;
mod row_plan;
mod schedule;
mod simplify;
mod threads;
mod tile;

pub(crate) use body::{Ahead, Begun, Body, Ending};
pub(super) use crossed::of_partials;
pub(super) use map::unravel;
pub(super) use schedule::workgroup;

use super::{Lowered, ProgramArg, Unsupported};
use unigrad_ir::Target;
use unigrad_kernel::{Crossed, Grouped, Region};

/// A region's name as an identifier.
fn identifier(name: &str) -> String {
    let mut text: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(48).collect();
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        text.insert_str(0, "region_");
    }
    text
}

/// Lowers a region.
pub(super) fn region(region: &Region, target: &Target) -> Result<Lowered, Unsupported> {
    let limit = target.max_buffers as usize;
    if divide::fits(region, limit) || region.rows() == 0 {
        return one(region, target);
    }
    let divided = divide::divide(region, limit)?;
    let mut lowered = Lowered { steps: Vec::new(), scratch: divided.scratch };
    for part in &divided.regions {
        lowered = lowered.then(one(part, target)?, 0, 0);
    }
    // Arguments beyond the kernel's are the scratch buffers that parts pass on.
    for arg in lowered.steps.iter_mut().flat_map(|step| &mut step.args) {
        if let ProgramArg::Arg(at) = *arg
            && at >= region.args.len()
        {
            *arg = ProgramArg::Scratch(at - region.args.len());
        }
    }
    Ok(lowered)
}

/// Lowers a region whose buffers a launch can pass.
fn one(region: &Region, target: &Target) -> Result<Lowered, Unsupported> {
    body::check(region, target)?;
    let region = simplify::simplify(region);
    if region.rows() == 0 {
        return Ok(Lowered::default());
    }
    if region.n_parallel < region.axes.len() {
        return row::lower(&region, target);
    }
    let step = match schedule::Tiling::new(&region, target) {
        Some(tiling) => tile::lower(&region, target, tiling)?,
        None => map::lower(&region, target)?,
    };
    Ok(Lowered { steps: vec![step], scratch: Vec::new() })
}

/// Lowers rows and sums down their columns.
pub(super) fn crossed(kernel: &Crossed, target: &Target) -> Result<Lowered, Unsupported> {
    crossed::lower(kernel, target)
}

/// Lowers a group of maps, or of reductions.
pub(super) fn grouped(grouped: &Grouped, target: &Target) -> Result<Lowered, Unsupported> {
    grouped::lower(grouped, target)
}

#[cfg(test)]
mod tests;
