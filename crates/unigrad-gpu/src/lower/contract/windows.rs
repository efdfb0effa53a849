//! A contraction as a convolution: which of its dimensions are channels, positions and taps, by how one operand is read through windows.
//!
//! In: a contraction, the operand that is read through windows, the zeros around it. Out: a [`Windowed`], the convolution but for its memory's places.
//! Always: exact. A contraction's dimensions become spatial axes in pairs, one that moves the window and one that moves within it; of all ways to pair
//! them, which are all right, it is the one of fewest axes and nearest taps. Never: looks at what the kernel was made for.

use super::zeros::{Between, Zeros};
use crate::{Pass, SpatialAxis, convolution::MOST_AXES};
use smallvec::SmallVec;
use unigrad_kernel::Contract;

/// A dimension of the contraction, or a part of one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Dim {
    pub(super) size: i64,
    /// Strides of the operand with windows, and of the other one.
    x: i64,
    other: i64,
    /// Its axis of the epilogue, and how many of that axis's steps are one of it. Of a summed one nothing.
    axis: usize,
    times: i64,
}

impl Dim {
    /// Its stride where each axis of the epilogue has one.
    fn of(&self, strides: &[i64]) -> i64 {
        strides.get(self.axis).map_or(0, |stride| stride * self.times) // DEFAULT: what is summed moves nothing of the result
    }
}

type Dims = SmallVec<[Dim; 4]>;

/// Strides of one of the three tensors, and where its first element is, in elements.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Strides {
    pub(super) offset: i64,
    pub(super) outer: i64,
    pub(super) group: i64,
    pub(super) channel: i64,
    pub(super) spatial: [i64; MOST_AXES],
}

/// A convolution by its sizes and strides.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Windowed {
    pub(super) pass: Pass,
    pub(super) batch: i64,
    pub(super) groups: i64,
    pub(super) inputs: i64,
    pub(super) outputs: i64,
    pub(super) rank: usize,
    pub(super) axes: [SpatialAxis; MOST_AXES],
    /// The operand with windows: `x`, and in [`Pass::Input`] `y`.
    pub(super) windowed: Strides,
    /// The other operand: `w`, and in [`Pass::Weight`] `y`.
    pub(super) other: Strides,
    /// The result's dimensions.
    outer: Option<Dim>,
    group: Option<Dim>,
    channel: Option<Dim>,
    spatial: [Option<Dim>; MOST_AXES],
}

impl Windowed {
    /// How a tensor of the result's shape lies whose element `i` of the epilogue's domain is at `offset` and these strides.
    pub(super) fn result(&self, offset: i64, strides: &[i64]) -> Strides {
        let of = |dim: &Option<Dim>| dim.map_or(0, |dim| dim.of(strides));
        Strides {
            offset,
            outer: of(&self.outer),
            group: of(&self.group),
            channel: of(&self.channel),
            spatial: self.spatial.each_ref().map(of),
        }
    }

    /// Whether these strides of the epilogue walk through a number for each channel, and through nothing else. `sizes` are the epilogue's axes.
    pub(super) fn is_per_channel(&self, strides: &[i64], sizes: &[usize]) -> bool {
        let (of_group, is_weight) = (self.channel.map_or(1, |dim| dim.size), self.pass == Pass::Weight);
        let in_line = self.channel.is_none_or(|dim| dim.of(strides) == 1) && self.group.is_none_or(|dim| dim.of(strides) == of_group);
        let moves = |dim: &Option<Dim>| dim.is_some_and(|dim| dim.of(strides) != 0);
        let is_still = !moves(&self.outer) && !self.spatial.iter().any(moves);
        // An axis of one element may have any stride.
        let n_moving = strides.iter().zip(sizes).filter(|(stride, size)| **stride != 0 && **size != 1).count();
        !is_weight && in_line && is_still && n_moving <= usize::from(self.channel.is_some()) + usize::from(self.group.is_some())
    }
}

/// A spatial axis while it is found.
#[derive(Clone, Copy, Debug)]
struct Found {
    position: Option<Dim>,
    tap: Option<Dim>,
    /// From one element in memory to the next.
    unit: i64,
    /// Elements from one window to the next, and from one tap to the next.
    steps: [i64; 2],
    /// The first window's first element, and where zeros are.
    begin: i64,
    zeros: Option<Between>,
}

/// The contraction as a convolution whose windows run over operand `side`, if it is one.
pub(super) fn windowed(contract: &Contract, side: usize, zeros: Option<&Zeros>) -> Option<Windowed> {
    let mut lists = Lists::new(contract, side)?;
    let [x_offset, other_offset] = if side == 0 { [contract.a_offset, contract.b_offset] } else { [contract.b_offset, contract.a_offset] };
    let (mut offset, mut padded) = (x_offset, SmallVec::<[Found; 4]>::new());
    if let Some(zeros) = zeros {
        (offset, padded) = lists.without_zeros(zeros, x_offset)?;
    }
    let image = lists.batch.iter().position(|dim| dim.other == 0).map(|at| lists.batch.remove(at));
    let group = lists.batch.pop();
    let kept = lists.kept.pop();
    // More of a kind than a convolution has.
    if !lists.batch.is_empty() || !lists.kept.is_empty() || group.is_some_and(|dim| dim.other == 0) || padded.len() > MOST_AXES {
        return None;
    }
    let room = MOST_AXES - padded.len();
    // Items of the batch may be rows like all others: then they are farthest apart.
    let farthest = lists.free.iter().chain(&lists.summed).map(|dim| dim.x).max();
    let is_item = |dim: &Dim| image.is_none() && Some(dim.x) == farthest;
    let forward = Pairing::of(&lists.free, &lists.summed, &is_item, room);
    let weight = if image.is_none() { Pairing::of(&lists.summed, &lists.free, &|_| true, room) } else { None };
    let points = |dims: &Dims| dims.iter().map(|dim| dim.size).product::<i64>();
    let spatial = |pairs: &Pairing, weight: bool| {
        let padded = padded.iter().map(|found| if weight { (found.tap, found.position) } else { (found.position, found.tap) });
        let (positions, taps): (Dims, Dims) = {
            let all: SmallVec<[(Option<Dim>, Option<Dim>); 4]> =
                pairs.axes.iter().map(|found| (found.position, found.tap)).chain(padded).collect();
            (all.iter().filter_map(|pair| pair.0).collect(), all.iter().filter_map(|pair| pair.1).collect())
        };
        points(&positions) >= points(&taps)
    };
    let (pairing, is_weight) = match (forward, weight) {
        (Some(forward), Some(weight)) => {
            let (of_weight, of_forward) = ((weight.cost, weight.spread), (forward.cost, forward.spread));
            let better = of_weight < of_forward || of_weight == of_forward && !spatial(&forward, false) && spatial(&weight, true);
            if better { (weight, true) } else { (forward, false) }
        }
        (Some(forward), None) => (forward, false),
        (None, Some(weight)) => (weight, true),
        (None, None) => return None,
    };
    let image = if is_weight { image } else { image.or(pairing.position) };
    let mut all: SmallVec<[Found; 4]> = padded;
    if is_weight {
        for found in &mut all {
            (found.position, found.tap) = (found.tap, found.position);
            found.steps.swap(0, 1);
        }
    }
    all.extend(pairing.axes);
    all.sort_by_key(|found| std::cmp::Reverse(found.unit));
    let flips = |found: &Found| found.tap.is_some_and(|tap| tap.other < 0);
    let is_input = !is_weight && all.iter().any(|found| flips(found) || found.zeros.is_some_and(|zeros| zeros.step > 1));
    let pass = if is_weight {
        Pass::Weight
    } else if is_input {
        Pass::Input
    } else {
        Pass::Forward
    };
    let mut axes = [SpatialAxis::ONE; MOST_AXES];
    let (mut units, mut others, mut spatial) = ([0; MOST_AXES], [0; MOST_AXES], [None; MOST_AXES]);
    let mut other_offset = other_offset;
    for (d, found) in all.iter().enumerate() {
        let (axis, begin) = if is_input { found.input()? } else { found.forward()? };
        axes[d] = axis;
        offset += begin * found.unit;
        units[d] = found.unit;
        let along = if is_weight { found.position } else { found.tap };
        others[d] = along.map_or(0, |dim| if is_input { -dim.other } else { dim.other });
        if let (true, Some(tap)) = (is_input, found.tap) {
            // The last tap comes first.
            other_offset += (tap.size - 1) * tap.other;
        }
        spatial[d] = if is_weight { found.tap } else { found.position };
    }
    let is_worth = axes.iter().any(|axis| axis.w > 1 || axis.stride > 1 || axis.padding != [0, 0]);
    if all.is_empty() || !is_worth {
        return None;
    }
    let size = |dim: &Option<Dim>| dim.map_or(1, |dim| dim.size);
    let x = |dim: &Option<Dim>| dim.map_or(0, |dim| dim.x);
    let other = |dim: &Option<Dim>| dim.map_or(0, |dim| dim.other);
    let (position, tap) = (pairing.position, pairing.tap);
    let strides = |offset: i64, [outer, group, channel]: [i64; 3], spatial| Strides { offset, outer, group, channel, spatial };
    // Which dimension is what, by what is computed.
    let (batch, inputs, outputs, windowed, other, outer, channel) = match pass {
        Pass::Forward => {
            let windowed = strides(offset, [x(&image), x(&group), x(&tap)], units);
            let w = strides(other_offset, [other(&kept), other(&group), other(&tap)], others);
            (size(&image), size(&tap), size(&kept), windowed, w, image, kept)
        }
        Pass::Input => {
            let windowed = strides(offset, [x(&image), x(&group), x(&tap)], units);
            let w = strides(other_offset, [other(&tap), other(&group), other(&kept)], others);
            (size(&image), size(&kept), size(&tap), windowed, w, image, kept)
        }
        Pass::Weight => {
            let windowed = strides(offset, [x(&position), x(&group), x(&tap)], units);
            let y = strides(other_offset, [other(&position), other(&group), other(&kept)], others);
            (size(&position), size(&tap), size(&kept), windowed, y, kept, tap)
        }
    };
    let groups = size(&group);
    Some(Windowed { pass, batch, groups, inputs, outputs, rank: all.len(), axes, windowed, other, outer, group, channel, spatial })
}

impl Found {
    /// As an axis of `x`, and how many of its first elements no window sees.
    fn forward(&self) -> Option<(SpatialAxis, i64)> {
        let [stride, dilation] = self.steps;
        let (y, w) = self.sizes();
        let needed = (y - 1).checked_mul(stride)?.checked_add((w - 1).checked_mul(dilation)?)? + 1;
        let (x, lo, begin) = match self.zeros {
            None => (needed, 0, 0),
            Some(Between { step: 1, lo, count }) => {
                let (begin, lo) = ((self.begin - lo).max(0), (lo - self.begin).max(0));
                ((count - begin).min(needed - lo), lo, begin)
            }
            Some(_) => return None,
        };
        let right = x >= 1 && [self.position, self.tap].iter().flatten().all(|dim| dim.other >= 0);
        let axis = axis([x, w, y, stride, dilation, lo, needed - lo - x])?;
        right.then_some((axis, begin))
    }

    /// As an axis of `y`, which is spread by the stride and read by the reversed taps.
    fn input(&self) -> Option<(SpatialAxis, i64)> {
        let (x, w) = self.sizes();
        let [between, dilation] = self.steps;
        let reach = (w - 1).checked_mul(dilation)?;
        let (count, lo, stride) = self.zeros.map_or((x + reach, 0, 1), |zeros| (zeros.count, zeros.lo, zeros.step));
        let before = reach + self.begin - lo;
        let right = (x == 1 || between == 1) && before >= 0 && self.tap.is_none_or(|tap| tap.other <= 0);
        if !right {
            return None;
        }
        // What comes later is added to no element.
        let y = count.min((x - 1 + before) / stride + 1);
        let covered = (y - 1).checked_mul(stride)?.checked_add(reach)? + 1;
        let after = (covered - before - x).max(0);
        let slack = before + x + after - covered;
        let axis = axis([x, w, y, stride, dilation, before, after])?;
        (y >= 1 && slack < stride).then_some((axis, 0))
    }

    /// How many positions and taps it has.
    fn sizes(&self) -> (i64, i64) {
        let size = |dim: Option<Dim>| dim.map_or(1, |dim| dim.size);
        (size(self.position), size(self.tap))
    }
}

fn axis(numbers: [i64; 7]) -> Option<SpatialAxis> {
    let mut small = [0u32; 7];
    for (small, number) in small.iter_mut().zip(numbers) {
        *small = u32::try_from(number).ok().filter(|number| *number < 1 << 31)?;
    }
    let [x, w, y, stride, dilation, before, after] = small;
    Some(SpatialAxis { x, w, y, stride, dilation, padding: [before, after] })
}

/// The contraction's dimensions by their part, without those of one element: what both operands share, what only the one with windows has, what
/// only the other one has, and what is summed.
struct Lists {
    batch: Dims,
    free: Dims,
    kept: Dims,
    summed: Dims,
}

impl Lists {
    fn new(contract: &Contract, side: usize) -> Option<Lists> {
        let mut axis = 0;
        let mut dim = |size: usize, a: i64, b: i64| -> Option<Dim> {
            let (x, other) = if side == 0 { (a, b) } else { (b, a) };
            axis += 1;
            Some(Dim { size: i64::try_from(size).ok().filter(|size| *size > 0)?, x, other, axis: axis - 1, times: 1 })
        };
        let batch: Option<Dims> = contract.batch.iter().map(|d| dim(d.size, d.a, d.b)).collect();
        let m: Option<Dims> = contract.m.iter().map(|d| dim(d.size, d.a, 0)).collect();
        let n: Option<Dims> = contract.n.iter().map(|d| dim(d.size, 0, d.b)).collect();
        let summed: Option<Dims> = contract.k.iter().map(|d| dim(d.size, d.a, d.b)).collect();
        let (free, kept) = if side == 0 { (m?, n?) } else { (n?, m?) };
        let mut lists = Lists { batch: batch?, free, kept, summed: summed? };
        for list in [&mut lists.batch, &mut lists.free, &mut lists.kept, &mut lists.summed] {
            list.retain(|dim| dim.size != 1);
        }
        Some(lists)
    }

    /// Takes the dimensions that run along axes with zeros out, as spatial axes, and gives the others the strides of what lies in memory. With where
    /// the first element lies there.
    fn without_zeros(&mut self, zeros: &Zeros, offset: i64) -> Option<(i64, SmallVec<[Found; 4]>)> {
        let (mut memory, mut rest) = (zeros.offset, offset);
        let mut begins: SmallVec<[i64; 6]> = SmallVec::new();
        for axis in &zeros.axes {
            begins.push(rest.div_euclid(axis.dense));
            rest = rest.rem_euclid(axis.dense);
        }
        // The axes that have zeros become spatial axes, if a dimension runs along them.
        let mut found: SmallVec<[Option<Found>; 6]> = SmallVec::new();
        for (axis, begin) in zeros.axes.iter().zip(&begins) {
            if axis.zeros.is_none() {
                memory += begin * axis.stride;
            }
            let spatial = |zeros| Found { position: None, tap: None, unit: axis.stride, steps: [1, 1], begin: *begin, zeros: Some(zeros) };
            found.push(axis.zeros.map(spatial));
        }
        let mut reached = begins;
        for (part, list) in [&mut self.batch, &mut self.free, &mut self.summed].into_iter().enumerate() {
            let mut left = Dims::new();
            let mut waiting: Dims = list.iter().rev().copied().collect();
            while let Some(dim) = waiting.pop() {
                if dim.x == 0 {
                    left.push(dim);
                    continue;
                }
                let at = zeros.axes.iter().position(|axis| axis.dense <= dim.x)?;
                let axis = &zeros.axes[at];
                let steps = dim.x / axis.dense;
                if dim.x % axis.dense != 0 {
                    return None;
                }
                if (dim.size - 1).checked_mul(steps)? >= axis.size {
                    // Two axes that it runs through as one.
                    let inner = axis.size / steps;
                    if inner < 2 || axis.size % steps != 0 || dim.size % inner != 0 {
                        return None;
                    }
                    waiting.push(Dim { size: inner, ..dim });
                    let (x, other) = (dim.x.checked_mul(inner)?, dim.other.checked_mul(inner)?);
                    waiting.push(Dim { size: dim.size / inner, x, other, times: dim.times.checked_mul(inner)?, ..dim });
                    continue;
                }
                reached[at] += (dim.size - 1) * steps;
                match (&mut found[at], part) {
                    (None, _) => left.push(Dim { x: steps * axis.stride, ..dim }),
                    (Some(spatial), 1) if spatial.position.is_none() => (spatial.position, spatial.steps[0]) = (Some(dim), steps),
                    (Some(spatial), 2) if spatial.tap.is_none() => (spatial.tap, spatial.steps[1]) = (Some(dim), steps),
                    (Some(_), _) => return None,
                }
            }
            *list = left;
        }
        let inside = zeros.axes.iter().zip(&reached).all(|(axis, last)| *last < axis.size);
        (inside && rest == 0).then(|| (memory, found.into_iter().flatten().collect()))
    }
}

/// Which positions and taps are of one spatial axis, and which dimensions are none.
#[derive(Clone, Debug)]
struct Pairing {
    cost: u32,
    /// Steps from window to window and from tap to tap: of equal costs the least.
    spread: i64,
    axes: SmallVec<[Found; 4]>,
    /// The dimension of positions and the one of taps that are not spatial.
    position: Option<Dim>,
    tap: Option<Dim>,
}

/// Most dimensions of a kind that are paired.
const MOST: usize = 5;

impl Pairing {
    /// The best one, with taps and channels in one dimension or in two.
    fn of(positions: &Dims, taps: &Dims, may_be_item: &dyn Fn(&Dim) -> bool, room: usize) -> Option<Pairing> {
        let whole = Pairing::best(positions, taps, may_be_item, room);
        let parted = parted(positions, taps).and_then(|taps| Pairing::best(positions, &taps, may_be_item, room));
        match (whole, parted) {
            (Some(whole), Some(parted)) if (whole.cost, whole.spread) < (parted.cost, parted.spread) => Some(whole),
            (whole, parted) => parted.or(whole),
        }
    }

    /// The best one of at most `room` axes; of the positions one that `may_be_item` may be none. Pairs keep the order of both lists.
    fn best(positions: &Dims, taps: &Dims, may_be_item: &dyn Fn(&Dim) -> bool, room: usize) -> Option<Pairing> {
        if positions.len() > MOST || taps.len() > MOST {
            return None;
        }
        let mut best: Option<Pairing> = None;
        let without = |dims: &Dims, at: Option<usize>| -> Dims {
            dims.iter().enumerate().filter(|(i, _)| Some(*i) != at).map(|(_, dim)| *dim).collect()
        };
        let choices = |dims: &Dims, may: &dyn Fn(&Dim) -> bool| -> SmallVec<[Option<usize>; 8]> {
            std::iter::once(None).chain((0..dims.len()).filter(|at| may(&dims[*at])).map(Some)).collect()
        };
        for position in choices(positions, may_be_item) {
            for tap in choices(taps, &|_| true) {
                let (p, t) = (without(positions, position), without(taps, tap));
                // Nothing spatial stands still or runs backwards.
                if p.iter().chain(&t).any(|dim| dim.x <= 0) {
                    continue;
                }
                for (of_p, of_t) in (0..1u32 << p.len()).flat_map(|of_p| (0..1u32 << t.len()).map(move |of_t| (of_p, of_t))) {
                    let pairs = of_p.count_ones();
                    let n_axes = p.len() + t.len() - pairs as usize;
                    if pairs != of_t.count_ones() || n_axes > room {
                        continue;
                    }
                    let axes = paired(&p, &t, of_p, of_t);
                    let cost = cost(&axes);
                    let spread = axes.iter().flat_map(|found| found.steps).fold(0, i64::saturating_add);
                    if best.as_ref().is_none_or(|best| (cost, spread) < (best.cost, best.spread)) {
                        let of = |dims: &Dims, at: Option<usize>| at.and_then(|at| dims.get(at).copied());
                        best = Some(Pairing { cost, spread, axes, position: of(positions, position), tap: of(taps, tap) });
                    }
                }
            }
        }
        best
    }
}

/// The taps with the innermost dimension as two, where it runs through taps and channels as one: with channels last one tap's follow the other's. What
/// a window moves by is a multiple of the channels.
fn parted(positions: &Dims, taps: &Dims) -> Option<Dims> {
    let at = (0..taps.len()).filter(|at| taps[*at].x > 0).min_by_key(|at| taps[*at].x)?;
    let tap = taps[at];
    let step = positions.iter().map(|dim| dim.x).filter(|x| *x > tap.x).min()?;
    if step % tap.x != 0 {
        return None;
    }
    let inner = common(step / tap.x, tap.size);
    if inner < 2 || inner == tap.size {
        return None;
    }
    let outer = Dim {
        size: tap.size / inner,
        x: tap.x.checked_mul(inner)?,
        other: tap.other.checked_mul(inner)?,
        times: tap.times.checked_mul(inner)?,
        ..tap
    };
    let mut parted: Dims = taps.clone();
    parted[at] = outer;
    parted.insert(at + 1, Dim { size: inner, ..tap });
    Some(parted)
}

/// The axes where the chosen positions and taps are paired in order.
fn paired(positions: &Dims, taps: &Dims, of_p: u32, of_t: u32) -> SmallVec<[Found; 4]> {
    let chosen = |mask: u32| move |(i, _): &(usize, &Dim)| mask >> *i & 1 == 1;
    let both = positions.iter().enumerate().filter(chosen(of_p)).zip(taps.iter().enumerate().filter(chosen(of_t)));
    let mut axes: SmallVec<[Found; 4]> = both.map(|((_, p), (_, t))| found(Some(*p), Some(*t))).collect();
    axes.extend(positions.iter().enumerate().filter(|at| !chosen(of_p)(at)).map(|(_, p)| found(Some(*p), None)));
    axes.extend(taps.iter().enumerate().filter(|at| !chosen(of_t)(at)).map(|(_, t)| found(None, Some(*t))));
    axes
}

fn found(position: Option<Dim>, tap: Option<Dim>) -> Found {
    let unit = match (position, tap) {
        (Some(p), Some(t)) => common(p.x, t.x),
        (one, other) => one.or(other).map_or(1, |dim| dim.x), // DEFAULT: an axis has a dimension
    };
    let steps = [position, tap].map(|dim| dim.map_or(1, |dim| dim.x / unit));
    Found { position, tap, unit, steps, begin: 0, zeros: None }
}

/// The greatest common divisor of positive numbers.
fn common(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// How unlike a convolution as it is written down the axes are.
fn cost(axes: &[Found]) -> u32 {
    let mut cost = 0;
    for found in axes {
        cost += match (found.position, found.tap) {
            // Taps that are farther apart than all positions are rather channels.
            (Some(p), Some(t)) if t.x > (p.size - 1).saturating_mul(p.x) => 5,
            (Some(_), Some(_)) => 1,
            (Some(_), None) => 3,
            (None, _) => 7,
        };
    }
    let mut by_unit: SmallVec<[&Found; 4]> = axes.iter().collect();
    by_unit.sort_by_key(|found| found.unit);
    for pair in by_unit.windows(2) {
        let reach = |dim: Option<Dim>| dim.map_or(0, |dim| (dim.size - 1).saturating_mul(dim.x));
        let end = reach(pair[0].position).saturating_add(reach(pair[0].tap)).saturating_add(pair[0].unit);
        cost += if end > pair[1].unit { 2 } else { 0 };
    }
    cost
}
