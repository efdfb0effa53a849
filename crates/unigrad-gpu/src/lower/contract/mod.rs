//! Contractions: every matrix product and convolution.
//!
//! In: a [`Contract`], a target. Out: one step, or two where `k` is divided among workgroups (partial sums, then their total).
//! Always: sums have a fixed order that depends on the contraction and the target alone; any strides, any sizes, 0 included.
//! Never: reads an element twice from device memory because of a layout: operands are read in place, the way they run.
//!
//! [`problem`] decides roles and dtypes, [`source`] where elements come from, [`grid`] numbers workgroups, [`load`] moves tiles, [`sink`] takes
//! sums; the templates are [`tile`], those of native loops ([`tma`], [`asynchronous`], [`tf32`]) and others for few rows, and the second step [`split_k`]; [`made`] has what native loops do for operands that a prologue makes. [`library`] tells which contractions a vendor's library could do instead, and
//! [`inside`] what of their epilogues, [`codes`] which of their operands are 8-bit floats; [`convolve`] which are its convolutions, by [`windows`] and
//! [`zeros`].

mod asynchronous;
mod codes;
mod convolve;
mod fragment;
mod grid;
mod inside;
mod library;
mod load;
mod made;
mod narrow;
mod problem;
mod sink;
mod skinny;
mod source;
mod split_k;
mod staged_store;
mod summed;
#[cfg(test)]
mod tests;
mod tf32;
mod tile;
mod tma;
mod windows;
mod zeros;

use super::{Lowered, Unsupported};
use asynchronous::AsyncTiles;
pub(crate) use convolve::{Places as ConvolutionPlaces, convolutions};
pub(crate) use inside::Factor;
pub(crate) use library::{Places, library};
use problem::{Operand, Problem};
pub(super) use sink::axes;
pub(crate) use summed::{summed, sums_operands};
use tile::{Parts, Shape};
use unigrad_ir::Target;
use unigrad_kernel::{Contract, Region};

/// Lowers a contraction.
pub(crate) fn lower(contract: &Contract, target: &Target) -> Result<Lowered, Unsupported> {
    if contract.has_reductions() {
        return Err(Unsupported {
            cause: "a product's epilogue or prologue reduces, which has no rows".to_owned(),
            help: "this is a mistake of the planner; please report it".to_owned(),
        });
    }
    let p = Problem::new(contract, target)?;
    if p.batch == 0 || p.m == 0 || p.n == 0 {
        return Ok(Lowered::default());
    }
    if let Some(plan) = narrow::plan(&p, target)
        && let Some(product) = narrow::product(contract, &p, target, plan)?
    {
        return finish(contract, &p, target, product, plan.parts.count);
    }
    if let Some(plan) = skinny::plan(&p, target) {
        let product = skinny::product(contract, &p, target, plan)?;
        return finish(contract, &p, target, product, plan.parts.count);
    }
    if let Some(lowered) = by_native_loop(contract, &p, target)? {
        return Ok(lowered);
    }
    if let Some(plan) = fragment::plan(&p, target) {
        let product = fragment::product(contract, &p, target, plan)?;
        return finish(contract, &p, target, product, plan.parts.count);
    }
    let (shape, parts) = choose(&p, target)?;
    let product = tile::product(contract, &p, target, shape, parts)?;
    finish(contract, &p, target, product, parts.count)
}

/// Instructions of what is done with sums, beside storing them.
fn steps(contract: &Contract) -> usize {
    contract.epilogue.as_ref().map_or(0, |region| region.insts.len())
}

/// A loop in the dialect's own words.
enum Loop {
    Tma(tma::TmaTiles),
    Halves(AsyncTiles),
    Single(tf32::Tf32Tiles),
}

impl Loop {
    fn plan(p: &Problem, steps: usize, target: &Target) -> Option<Loop> {
        let by_tma = tma::plan(p, steps, target);
        // Products of TF32 that are small are faster by warps alone.
        let small = |plan: &tma::TmaTiles| tf32::plan(p, target, true).filter(|(_, time)| *time < plan.time);
        match by_tma {
            Some(plan) => Some(small(&plan).map_or(Loop::Tma(plan), |(plan, _)| Loop::Single(plan))),
            None => Loop::by_threads(p, steps, target),
        }
    }

    /// A loop whose stages threads copy, or make.
    fn by_threads(p: &Problem, steps: usize, target: &Target) -> Option<Loop> {
        let halves = asynchronous::plan(p, steps == 0, target).map(Loop::Halves);
        halves.or_else(|| tf32::plan(p, target, false).map(|(plan, _)| Loop::Single(plan)))
    }

    /// Whether threads make the elements of an operand where they are read.
    fn makes(&self, p: &Problem, operand: &Operand, prologue: &Region) -> bool {
        let other_lanes = if operand.arg == p.a.arg { p.n } else { p.m };
        let pays = match self {
            Loop::Halves(_) => other_lanes <= made::MOST_LANES_OF_HALVES && AsyncTiles::takes(operand),
            Loop::Single(plan) => plan.makes(other_lanes),
            Loop::Tma(_) => false,
        };
        pays && made::is_short(prologue)
    }
}

/// The product by a loop in the dialect's own words, if one suits it. What prologues make is made where it is read, or first, in scratch memory: see
/// [`Loop::makes`].
fn by_native_loop(contract: &Contract, p: &Problem, target: &Target) -> Result<Option<Lowered>, Unsupported> {
    let steps = steps(contract);
    let mut as_if = p.clone();
    for operand in [&mut as_if.a, &mut as_if.b] {
        operand.made = None;
    }
    let prologue = |operand: &Operand| contract.prologues.get(operand.arg).and_then(Option::as_deref);
    let is_stored = match Loop::by_threads(&as_if, steps, target) {
        Some(plan) => [&p.a, &p.b].map(|operand| prologue(operand).is_some_and(|prologue| !plan.makes(p, operand, prologue))),
        // Tiles of `F32` make what a prologue makes as they go.
        None if contract.prologues.iter().any(Option::is_some) => return Ok(None),
        None => [false; 2],
    };
    let (before, stored) = source::store_some(contract, p, target, is_stored)?;
    let p = &stored;
    let (product, parts) = match Loop::plan(p, steps, target) {
        Some(Loop::Tma(plan)) => {
            let parts = plan.parts;
            (tma::product(contract, p, target, plan, None)?, parts)
        }
        Some(Loop::Halves(plan)) => (asynchronous::product(contract, p, target, plan)?, plan.parts),
        Some(Loop::Single(plan)) => (Some(tf32::product(contract, p, target, plan)?), plan.parts),
        None => return Ok(None),
    };
    let Some(product) = product else { return Ok(None) };
    let after = finish(contract, p, target, product, parts.count)?;
    let mut lowered = before;
    lowered.steps.extend(after.steps);
    match (lowered.scratch.first_mut(), after.scratch.as_slice()) {
        (Some(first), [bytes]) => *first = *bytes,
        (None, _) => lowered.scratch = after.scratch,
        (Some(_), []) => {}
        (Some(_), several) => {
            return Err(Unsupported {
                cause: format!("a product of {} scratch buffers", several.len()),
                help: "this is a mistake of the compiler; please report it".to_owned(),
            });
        }
    }
    Ok(Some(lowered))
}

/// Adds the second step, if there are several parts.
fn finish(contract: &Contract, p: &Problem, target: &Target, product: super::ProgramLaunch, parts: u64) -> Result<Lowered, Unsupported> {
    if parts == 1 {
        return Ok(Lowered { steps: vec![product], scratch: Vec::new() });
    }
    let bytes = (parts * p.batch * p.m * p.n) as usize * p.compute.size();
    Ok(Lowered { steps: vec![product, split_k::finish(contract, p, target, parts)?], scratch: vec![bytes] })
}

/// Shapes by preference: the largest tiles that still give every compute unit something to do, and fit the target.
fn choose(p: &Problem, target: &Target) -> Result<(Shape, Parts), Unsupported> {
    const SHAPES: [Shape; 9] = [
        Shape::new(128, 128, 8, 8, 8),
        Shape::new(128, 64, 16, 8, 4),
        Shape::new(64, 128, 16, 4, 8),
        Shape::new(64, 64, 16, 4, 4),
        Shape::new(64, 64, 8, 8, 4),
        Shape::new(64, 32, 16, 4, 4),
        Shape::new(32, 32, 16, 4, 4),
        Shape::new(16, 16, 16, 2, 2),
        Shape::new(8, 8, 8, 1, 1),
    ];
    let fits = |shape: &&Shape| {
        let registers = shape.tm as usize * shape.tn as usize * p.compute.size();
        shape.threads() <= target.max_threads && shape.shared_bytes(p) <= target.shared_bytes && registers <= 256
    };
    let units = u64::from(target.compute_units.max(1));
    let tiles = |shape: &Shape| p.batch * p.m.div_ceil(shape.bm.into()) * p.n.div_ceil(shape.bn.into());
    // Work that a shape's padding wastes, and time lost where the last tiles leave units idle, both as factors.
    let cost = |shape: &Shape| {
        let padded = p.m.next_multiple_of(shape.bm.into()) * p.n.next_multiple_of(shape.bn.into());
        let waste = padded as f64 / (p.m * p.n) as f64;
        let (bm, bn) = (f64::from(shape.bm), f64::from(shape.bn));
        // Reads of shared memory and of device memory per multiplication, against the arithmetic.
        let traffic = 1.0 + 2.0 * (1.0 / f64::from(shape.tm) + 1.0 / f64::from(shape.tn)) + 24.0 * (1.0 / bm + 1.0 / bn);
        let divisible = p.k.div_ceil(256).clamp(1, 64);
        let waves = (tiles(shape) * divisible) as f64 / units as f64;
        let idle = if waves < 1.0 { 1.0 / waves } else { waves.ceil() / waves };
        waste * traffic * idle
    };
    let best = SHAPES.iter().filter(fits).min_by(|x, y| cost(x).total_cmp(&cost(y)));
    let Some(shape) = best.copied() else {
        return Err(Unsupported {
            cause: format!(
                "a product's tiles do not fit {} threads and {} bytes of shared memory",
                target.max_threads, target.shared_bytes
            ),
            help: "run it on the CPU".to_owned(),
        });
    };
    // Two workgroups per unit, as far as `k` gives parts of 256 or more.
    let wanted = (2 * units).div_ceil(tiles(&shape)).min(p.k / 256).clamp(1, 64);
    let parts = if tiles(&shape) >= units { 1 } else { wanted };
    Ok((shape, Parts::of(p.k, parts, shape.bk.into())))
}
