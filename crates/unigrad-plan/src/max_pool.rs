//! Max pools as maps, and their gradients as gathers: what fuses with what is around it, lies in memory as that does, and sorts no indices.
//!
//! In: a max pool, or the scatter that is its gradient. Out: the same values as views and maps, where windows are small enough ([`taps`], [`gathered`]).
//!
//! A window's maximum is the greatest of its taps, each of which is a slice of the padded input. Where the maximum is, is kept as a tap's number, a byte; a
//! place among all elements is computed from it where one is wanted. The gradient asks, instead of each window adding to its maximum, for each
//! element the windows that it is in. Elements that are a stride apart are in windows as far apart, so an axis is taken as steps of a stride and the
//! places within one: window `step + j` is asked by all places of a step, for each of few `j`, and only the step counts windows.
//!
//! Always: the first of equal elements, NaN before numbers, padding never; what an element gets is added from the last window to the first, in the
//! dtype that its own is computed in.

use unigrad_graph::{BinaryOp, DType, Expr, Literal, Op, PadAxis, PoolSpec, ScatterMode, SliceAxis, UnaryOp};

/// A max pool as maps.
#[derive(Clone)]
pub(crate) struct Pooled {
    pub(crate) maximum: Expr,
    /// The number of the tap that has it, a byte.
    tap: Expr,
    /// Its place among all elements of a plane.
    pub(crate) place: Expr,
}

/// The most taps that are numbered.
const MOST_TAPS: usize = 1 << 7;
/// Where there is no window.
const NO_TAP: i64 = u8::MAX as i64;

/// A pool as maps, if its windows have at most so many taps, which lie side by side.
pub(crate) fn taps(pool: &Expr, most_taps: usize) -> Option<Pooled> {
    let Op::MaxPool(spec) = pool.op() else { return None };
    let x = pool.input(0)?;
    let taps = n_taps(spec);
    let output = pool.shape();
    if taps > most_taps.min(MOST_TAPS) || spec.dilation.iter().any(|dilation| *dilation != 1) || pool.numel() == 0 {
        return None;
    }
    let along: Vec<Along> = (0..spec.kernel.len()).map(|d| Along::new(spec, d, x.shape()[d + 2], output[d + 2])).collect();
    let mut pads = vec![PadAxis::default(); 2];
    pads.extend(along.iter().map(|along| PadAxis { lo: along.pad, hi: along.after, interior: 0 }));
    let at_tap = |padded: &Expr, tap: usize| {
        let mut cuts: Vec<SliceAxis> = output[..2].iter().map(|len| SliceAxis { start: 0, step: 1, len: *len }).collect();
        let part = |(d, at): (usize, usize)| SliceAxis { start: at, step: spec.stride[d] as i64, len: output[d + 2] };
        cuts.extend(positions(spec, tap).into_iter().enumerate().map(part));
        padded.slice(&cuts)
    };
    let padded = x.pad(&pads, Literal::min_value(x.dtype()));
    let values: Vec<Expr> = (0..taps).map(|tap| at_tap(&padded, tap)).collect();
    let (first, others) = values.split_first()?;
    // Of equal ones `max` gives its second operand: here the one before.
    let maximum = others.iter().fold(first.clone(), |most, value| value.binary(BinaryOp::Max, &most));
    // The first tap that has the maximum, or is NaN if that is; from the last to the first. Padding is no element, though it may equal the least one.
    let is_padded = along.iter().any(|along| along.pad > 0 || along.after > 0);
    let elements = x.literal_like(Literal::one(DType::Bool)).pad(&pads, Literal::zero(DType::Bool));
    let number = |tap: usize| maximum.literal_like(Literal::int(DType::U8, tap as i64));
    let mut tap = number(taps - 1);
    for at in (0..taps - 1).rev() {
        let mut is_it = values[at].binary(BinaryOp::Eq, &maximum);
        if x.dtype().is_float() {
            is_it = is_it.binary(BinaryOp::Or, &values[at].unary(UnaryOp::IsNan));
        }
        if is_padded {
            is_it = is_it.binary(BinaryOp::And, &at_tap(&elements, at));
        }
        tap = is_it.select(&number(at), &tap);
    }
    // The window's first place, and how far from it the tap is.
    let whole = |value: i64| maximum.literal_like(Literal::int(DType::I64, value));
    let (mut rest, mut below, mut place) = (tap.cast(DType::I64), 1, whole(0));
    for (d, along) in along.iter().enumerate().rev() {
        let within = rest.binary(BinaryOp::Rem, &whole(spec.kernel[d] as i64));
        rest = rest.binary(BinaryOp::IDiv, &whole(spec.kernel[d] as i64));
        let window = maximum.iota_like(d + 2, DType::I64).binary(BinaryOp::Mul, &whole(spec.stride[d] as i64));
        let at = window.binary(BinaryOp::Add, &within).binary(BinaryOp::Sub, &whole(along.pad as i64));
        place = place.binary(BinaryOp::Add, &at.binary(BinaryOp::Mul, &whole(below)));
        below *= along.size as i64;
    }
    Some(Pooled { maximum, tap, place })
}

/// The scatter, which adds to zeros, as a gather, if it is the gradient of a pool where an element is in at most so many windows. `pooled`: that pool, if it
/// is done as maps.
pub(crate) fn gathered(scatter: &Expr, most_windows: usize, pooled: impl Fn(&Expr) -> Option<Pooled>) -> Option<Expr> {
    let Op::Scatter { axis: 2, mode: ScatterMode::Add } = scatter.op() else { return None };
    let (index, dy) = (scatter.input(1)?, scatter.input(2)?);
    let index_shape = index.shape().clone();
    // As `max_pool_vjp` makes them: planes as one axis.
    let place = if matches!(index.op(), Op::Reshape) { index.input(0)? } else { index };
    let Op::Part(1) = place.op() else { return None };
    let pool = place.input(0)?;
    let Op::MaxPool(spec) = pool.op() else { return None };
    let x = pool.input(0)?;
    let windows: Vec<Vec<i64>> = (0..spec.kernel.len()).map(|d| around(spec, d)).collect();
    if windows.iter().map(Vec::len).fold(1, usize::saturating_mul) > most_windows
        // Planes as they are, all of them: a user's scatter may be by a part of the places.
        || scatter.rank() != 3
        || scatter.shape()[..2] != x.shape()[..2]
        || index_shape[..] != [x.shape()[0], x.shape()[1], place.shape()[2..].iter().product()]
        || scatter.numel() != x.numel()
        || dy.numel() != place.numel()
        || dy.numel() == 0
    {
        return None;
    }
    let wide = dy.dtype().compute();
    let dy = dy.reshape(place.shape()).cast(wide);
    let by_step = BySteps::new(spec, x.shape());
    let pooled = pooled(&pool);
    // Each element knows where it is in its plane; or, of pools as maps, only how far into its step.
    let own = if pooled.is_none() { Some(by_step.places(scatter.device())) } else { None };
    let mut sum: Option<Expr> = None;
    let mut chosen = vec![0; windows.len()];
    'windows: loop {
        let from: Vec<i64> = windows.iter().zip(&chosen).map(|(windows, at)| windows[*at]).collect();
        let is_own = match (&pooled, &own) {
            (Some(pooled), _) => {
                let there = by_step.at_windows(&pooled.tap, &from, Literal::int(DType::U8, NO_TAP)).cast(DType::I32);
                there.binary(BinaryOp::Eq, &by_step.taps(&from, &there))
            }
            (None, Some(own)) => by_step.at_windows(&place, &from, Literal::int(DType::I64, -1)).binary(BinaryOp::Eq, own),
            (None, None) => return None,
        };
        let given = by_step.at_windows(&dy, &from, Literal::zero(wide));
        let share = is_own.select(&given, &given.zeros_like());
        sum = Some(sum.map_or_else(|| share.clone(), |sum| sum.binary(BinaryOp::Add, &share)));
        // The next combination, the last axis first.
        for d in (0..windows.len()).rev() {
            chosen[d] += 1;
            if chosen[d] < windows[d].len() {
                continue 'windows;
            }
            chosen[d] = 0;
        }
        break;
    }
    Some(by_step.joined(&sum?).cast(scatter.dtype()).reshape(scatter.shape()))
}

fn n_taps(spec: &PoolSpec) -> usize {
    spec.kernel.iter().fold(1, |taps, size| taps.saturating_mul(*size))
}

/// Where along each axis a tap is.
fn positions(spec: &PoolSpec, tap: usize) -> Vec<usize> {
    let mut rest = tap;
    let mut positions = vec![0; spec.kernel.len()];
    for (at, size) in positions.iter_mut().zip(&spec.kernel).rev() {
        (*at, rest) = (rest % size, rest / size);
    }
    positions
}

/// What a pool reads along an axis.
struct Along {
    size: usize,
    pad: usize,
    /// Elements that windows reach beyond the input.
    after: usize,
}

impl Along {
    fn new(spec: &PoolSpec, d: usize, size: usize, output: usize) -> Along {
        let reach = output.saturating_sub(1) * spec.stride[d] + spec.kernel[d];
        Along { size, pad: spec.pad[d], after: reach.saturating_sub(spec.pad[d] + size) }
    }
}

/// Which windows an element of step `step` along an axis may be in, as distances from window `step`, the last first.
fn around(spec: &PoolSpec, d: usize) -> Vec<i64> {
    let stride = spec.stride[d] as i64;
    // The element at place `r` of a step has tap `t` of window `step + j` if `r + pad - j * stride` is where the tap is: one `r` and `j` for each tap.
    let window = |tap: usize| (spec.pad[d] as i64 - (tap * spec.dilation[d]) as i64 + stride - 1).div_euclid(stride);
    let mut windows: Vec<i64> = (0..spec.kernel[d]).map(window).collect();
    windows.dedup();
    windows
}

/// The elements of `[n, c, shape..]` as `[n, c, step, place within it, ..]`.
struct BySteps<'a> {
    spec: &'a PoolSpec,
    shape: &'a [usize],
    /// Steps and places of each axis, behind the first two axes.
    parted: Vec<usize>,
}

impl<'a> BySteps<'a> {
    fn new(spec: &'a PoolSpec, shape: &'a [usize]) -> BySteps<'a> {
        let mut parted = shape[..2].to_vec();
        parted.extend(shape[2..].iter().zip(&spec.stride).flat_map(|(size, stride)| [size.div_ceil(*stride), *stride]));
        BySteps { spec, shape, parted }
    }

    /// For every element what `values`, one for each window, has for the window that is so far from its step; `fill` where there is none.
    fn at_windows(&self, values: &Expr, from: &[i64], fill: Literal) -> Expr {
        let (mut pads, mut lifted) = (vec![PadAxis::default(); 2], self.shape[..2].to_vec());
        let mut cuts: Vec<SliceAxis> = lifted.iter().map(|len| SliceAxis { start: 0, step: 1, len: *len }).collect();
        for (d, from) in from.iter().enumerate() {
            let steps = self.parted[2 + 2 * d];
            let after = steps as i64 + from - values.shape()[d + 2] as i64;
            pads.push(PadAxis { lo: (-from).max(0) as usize, hi: after.max(0) as usize, interior: 0 });
            cuts.push(SliceAxis { start: (*from).max(0) as usize, step: 1, len: steps });
            lifted.extend([steps, 1]);
        }
        values.pad(&pads, fill).slice(&cuts).reshape(&lifted).expand(&self.parted)
    }

    /// For every element the number of its tap in the window that is so far from its step; -1 where it is in none.
    fn taps(&self, from: &[i64], like: &Expr) -> Expr {
        let number = |value: i64| like.literal_like(Literal::int(DType::I32, value));
        let (mut tap, mut is_in, mut below) = (number(0), None::<Expr>, 1);
        for (d, from) in from.iter().enumerate().rev() {
            let (kernel, first) = (self.spec.kernel[d] as i64, self.spec.pad[d] as i64 - from * self.spec.stride[d] as i64);
            let at = like.iota_like(3 + 2 * d, DType::I32).binary(BinaryOp::Add, &number(first));
            if first < 0 || first + self.spec.stride[d] as i64 > kernel {
                let reached = at.binary(BinaryOp::Ge, &number(0)).binary(BinaryOp::And, &at.binary(BinaryOp::Lt, &number(kernel)));
                is_in = Some(is_in.map_or_else(|| reached.clone(), |is_in| is_in.binary(BinaryOp::And, &reached)));
            }
            tap = tap.binary(BinaryOp::Add, &at.binary(BinaryOp::Mul, &number(below)));
            below *= kernel;
        }
        is_in.map_or_else(|| tap.clone(), |is_in| is_in.select(&tap, &number(-1)))
    }

    /// For every element its place in its plane.
    fn places(&self, device: u32) -> Expr {
        let (mut place, mut below) = (Expr::constant(Literal::zero(DType::I64), &self.parted, device), 1);
        for d in (0..self.spec.stride.len()).rev() {
            let number = |value: i64| place.literal_like(Literal::int(DType::I64, value));
            let step = place.iota_like(2 + 2 * d, DType::I64).binary(BinaryOp::Mul, &number(self.spec.stride[d] as i64));
            let at = step.binary(BinaryOp::Add, &place.iota_like(3 + 2 * d, DType::I64));
            place = place.binary(BinaryOp::Add, &at.binary(BinaryOp::Mul, &number(below)));
            below *= self.shape[d + 2] as i64;
        }
        place
    }

    /// The elements in order again.
    fn joined(&self, values: &Expr) -> Expr {
        let whole = |axis: usize| if axis < 2 { self.parted[axis] } else { self.parted[2 * axis - 2] * self.parted[2 * axis - 1] };
        let joined: Vec<usize> = (0..self.shape.len()).map(whole).collect();
        let parts: Vec<SliceAxis> = self.shape.iter().map(|len| SliceAxis { start: 0, step: 1, len: *len }).collect();
        values.reshape(&joined).slice(&parts)
    }
}
