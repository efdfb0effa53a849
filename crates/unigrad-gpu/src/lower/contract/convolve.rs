//! A contraction as a library's convolution, with the epilogue inside where there are words for it, or with the step that finishes it.
//!
//! In: a contraction, a target. Out: the ways in which a library can be asked for it; none if it is no convolution.
//! Always: padding that the kernel makes on the way is said, not made. What another prologue makes is made in scratch memory first, by a step that
//! writes nothing else, so that a convolution which is refused then leaves nothing behind.

use super::super::{Lowered, ProgramArg};
use super::inside::{Added, Factor, Places as Inside, stored};
use super::library::{Way, made_bytes};
use super::problem::Problem;
use super::windows::{Strides, Windowed, windowed};
use super::zeros::zeros;
use super::{source, split_k};
use crate::{Beside, Convolution, Grid, Pass};
use smallvec::SmallVec;
use unigrad_ir::Target;
use unigrad_kernel::{Contract, Index};
use unigrad_scalar::DType;

/// A contraction as a library's convolution.
type Convolved = Way<Convolution, Places>;

/// Where a convolution's memory is.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Places {
    pub(crate) x: ProgramArg,
    pub(crate) w: ProgramArg,
    pub(crate) y: ProgramArg,
    pub(crate) residual: Option<ProgramArg>,
    pub(crate) bias: Option<ProgramArg>,
    pub(crate) before: Option<ProgramArg>,
}

/// A contraction of windows, its operands in memory once `steps` are done.
struct Found<'a> {
    contract: &'a Contract,
    target: &'a Target,
    p: Problem,
    windowed: Windowed,
    /// Which operand the windows are of.
    side: usize,
    steps: Lowered,
    made: u64,
}

/// With all of the epilogue inside, if there are words for it, then without; empty if it is no convolution.
pub(crate) fn convolutions(contract: &Contract, target: &Target) -> Vec<Convolved> {
    let Ok(p) = Problem::new(contract, target) else { return Vec::new() };
    let known = matches!(p.a.dtype, DType::F32 | DType::F64 | DType::F16 | DType::BF16);
    let compute = if p.a.dtype == DType::F64 { DType::F64 } else { DType::F32 };
    if !known || p.a.dtype != p.b.dtype || p.compute != compute {
        return Vec::new();
    }
    // Windows are of the operand with zeros, else rather of the second one.
    let region = |side: usize| contract.prologues.get(side).and_then(Option::as_deref);
    let bordered = [0, 1].map(|side| region(side).and_then(zeros));
    let sides = if bordered[0].is_some() { [0, 1] } else { [1, 0] };
    let described = |side: &usize| Some((*side, windowed(contract, *side, bordered[*side].as_ref())?));
    let Some((side, windowed)) = sides.iter().find_map(described) else { return Vec::new() };
    let said = bordered[side].is_some().then_some(side);
    let is_made = |side: usize| contract.prologues[side].is_some() && said != Some(side);
    let (steps, p) = match is_made(0) || is_made(1) {
        false => (Lowered::default(), p),
        true => match source::store_but(contract, &p, target, said) {
            Ok(stored) => stored,
            Err(_) => return Vec::new(),
        },
    };
    let made = (0..2).filter(|side| is_made(*side)).map(|side| made_bytes(contract, side)).fold(0, u64::saturating_add);
    let found = Found { contract, target, p, windowed, side, steps, made };
    match &contract.epilogue {
        None => found.bare().into_iter().collect(),
        Some(_) => found.spoken().into_iter().chain(found.finished()).collect(),
    }
}

impl Found<'_> {
    fn grid(&self, dtype: DType, at: &Strides) -> Option<Grid> {
        let number = |number: i64| u64::try_from(number).ok();
        let [a, b, c] = at.spatial;
        Some(Grid {
            dtype,
            offset: number(at.offset)?,
            outer: number(at.outer)?,
            group: number(at.group)?,
            channel: number(at.channel)?,
            spatial: [number(a)?, number(b)?, number(c)?],
        })
    }

    /// The convolution but for its epilogue, and its memory, with the result as it is given.
    fn with_result(&self, result: Grid, place: ProgramArg) -> Option<(Convolution, Places)> {
        let (found, dtype) = (&self.windowed, self.p.a.dtype);
        let size = |size: i64| u32::try_from(size).ok().filter(|size| (1..1 << 31).contains(size));
        let (windowed, other) = (self.grid(dtype, &found.windowed)?, self.grid(dtype, &found.other)?);
        let of = |side: usize| {
            let operand = if self.p.a.arg == side { &self.p.a } else { &self.p.b };
            operand.scratch.map_or(ProgramArg::Arg(side), ProgramArg::Scratch)
        };
        let (windows, others) = (of(self.side), of(1 - self.side));
        let ((x, w, y), at) = match found.pass {
            Pass::Forward => ((windowed, other, result), (windows, others, place)),
            Pass::Input => ((result, other, windowed), (place, others, windows)),
            Pass::Weight => ((windowed, result, other), (windows, place, others)),
        };
        let convolution = Convolution {
            pass: found.pass,
            batch: size(found.batch)?,
            groups: size(found.groups)?,
            inputs: size(found.inputs)?,
            outputs: size(found.outputs)?,
            rank: found.rank,
            axes: found.axes,
            x,
            w,
            y,
            compute: self.p.compute,
            tf32: self.contract.tf32 && dtype == DType::F32,
            inside: Beside::default(),
            made: self.made,
            after: false,
        };
        Some((convolution, Places { x: at.0, w: at.1, y: at.2, residual: None, bias: None, before: None }))
    }

    /// A contraction without an epilogue.
    fn bare(&self) -> Option<Convolved> {
        let contract = self.contract;
        let strides: SmallVec<[i64; 8]> =
            contract.batch.iter().map(|d| d.c).chain(contract.m.iter().map(|d| d.c)).chain(contract.n.iter().map(|d| d.c)).collect();
        let result = self.result(contract.c.dtype, 0, &strides)?;
        let (convolution, places) = self.with_result(result, ProgramArg::Arg(2))?;
        Some(Way::whole(convolution, places, Factor::One, &self.steps))
    }

    /// A contraction whose epilogue the library has words for.
    fn spoken(&self) -> Option<Convolved> {
        let region = self.contract.epilogue.as_deref()?;
        let (before, (sum, arg, index)) = stored(region, self.p.compute)?;
        if sum.slope_at.is_some() {
            return None;
        }
        let dtype = region.args[arg as usize].dtype;
        let whole = |(arg, index): Added<'_>| {
            let is_alike = region.args[arg as usize].dtype == dtype && index.dynamic.is_empty();
            if is_alike { self.result(dtype, index.offset, &index.strides) } else { None }
        };
        let place = |arg: u32| ProgramArg::Arg(2 + arg as usize);
        let result = whole((arg, index))?;
        let mut inside = Beside { scaled: sum.scale != Factor::One, activation: sum.activation, ..Beside::default() };
        let mut at = Inside { c: place(arg), residual: None, bias: None, before: None };
        for (arg, index) in sum.added.into_iter().flatten() {
            let (read, is_bias) = (place(arg), self.is_bias(index, &region.axes) && region.args[arg as usize].dtype == dtype);
            if is_bias && inside.bias.is_none() {
                (inside.bias, at.bias) = (Some(u64::try_from(index.offset).ok()?), Some(read));
            } else if inside.residual.is_none() {
                (inside.residual, at.residual) = (Some(whole((arg, index))?), Some(read));
            } else {
                return None;
            }
        }
        // Read where the result is written: only each element by itself.
        if at.residual.as_ref() == Some(&at.c) && inside.residual != Some(result) {
            return None;
        }
        if let Some((arg, index)) = before {
            (inside.before, at.before) = (Some(whole((arg, index))?), Some(place(arg)));
        }
        if !at.are_apart(false) {
            return None;
        }
        let (convolution, places) = self.with_result(result, at.c)?;
        let places = Places { residual: at.residual, bias: at.bias, before: at.before, ..places };
        Some(Way::whole(Convolution { inside, ..convolution }, places, sum.scale, &self.steps))
    }

    fn is_bias(&self, index: &Index, axes: &[usize]) -> bool {
        index.dynamic.is_empty() && self.windowed.is_per_channel(&index.strides, axes)
    }

    /// A tensor of the result's shape, of a dtype that results have. No two elements are one.
    fn result(&self, dtype: DType, offset: i64, strides: &[i64]) -> Option<Grid> {
        let grid = self.grid(dtype, &self.windowed.result(offset, strides))?;
        let known = dtype == self.p.a.dtype || dtype == self.p.compute;
        let still = |size: i64, stride: u64| size > 1 && stride == 0;
        let (found, is_weight) = (&self.windowed, self.windowed.pass == Pass::Weight);
        let (outer, channel) = match found.pass {
            Pass::Forward => (found.batch, found.outputs),
            Pass::Input => (found.batch, found.inputs),
            Pass::Weight => (found.outputs, found.inputs),
        };
        let along = |axis: &crate::SpatialAxis| {
            i64::from(if is_weight {
                axis.w
            } else if found.pass == Pass::Input {
                axis.x
            } else {
                axis.y
            })
        };
        let is_one = still(outer, grid.outer)
            || still(found.groups, grid.group)
            || still(channel, grid.channel)
            || found.axes.iter().zip(grid.spatial).any(|(axis, stride)| still(along(axis), stride));
        (known && !is_one).then_some(grid)
    }

    /// A contraction whose epilogue a program of the driver does.
    fn finished(&self) -> Option<Convolved> {
        let (contract, p) = (self.contract, &self.p);
        // Dense, in the order in which that program reads sums.
        let sizes = |part: usize| -> SmallVec<[usize; 4]> {
            match part {
                0 => contract.batch.iter().map(|d| d.size).collect(),
                1 => contract.m.iter().map(|d| d.size).collect(),
                _ => contract.n.iter().map(|d| d.size).collect(),
            }
        };
        let mut strides: [SmallVec<[i64; 4]>; 3] = Default::default();
        let mut dense = 1i64;
        for part in if p.swap { [1, 2, 0] } else { [2, 1, 0] } {
            for size in sizes(part).into_iter().rev() {
                strides[part].insert(0, dense);
                dense = dense.checked_mul(i64::try_from(size).ok()?)?;
            }
        }
        let result = self.result(p.compute, 0, &strides.concat())?;
        let (convolution, places) = self.with_result(result, ProgramArg::Scratch(0))?;
        let bytes = usize::try_from(dense).ok()?.checked_mul(p.compute.size())?;
        let last = split_k::finish(contract, p, self.target, 1).ok()?;
        Some(Way::finished(Convolution { after: true, ..convolution }, places, &self.steps, bytes, last))
    }
}
