//! Regions and grouped maps: what fusion makes, and what runs most.
//!
//! In: a [`Region`], a target. Out: steps.
//! Always: reductions go through fixed trees, chosen from sizes and target alone; 64-bit arithmetic only where a range needs it.
//! Never: looks at a backend's name.
//!
//! Read `body` first (what a point does), then `schedule` (who does which points).

mod body;
mod lanes;
mod map;
mod ops;
mod range;
mod schedule;
mod simplify;

pub(crate) use body::Body;

use super::{Lowered, Unsupported};
use unigrad_ir::Target;
use unigrad_kernel::Region;

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
    body::check(region, target)?;
    let mut lowered = Lowered::default();
    let region = simplify::simplify(region);
    if region.rows() == 0 {
        return Ok(lowered);
    }
    if region.n_parallel == region.axes.len() {
        lowered.steps.push(map::lower(&region, target)?);
        return Ok(lowered);
    }
    Err(Unsupported { cause: "no lowering of reductions".to_owned(), help: "run it on the CPU".to_owned() })
}
