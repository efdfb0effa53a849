//! One convolution as a graph of cuDNN's operations: which are taken, and how they are called.
//!
//! In: a [`Convolution`], later its memory. Out: a [`Call`].
//! Always: what is done with the sums is done in f32, in the order factor, residual, bias, activation; sums that are wanted in f32 of halves are such a
//! graph too. Refused are the activation's argument as a second result, a residual that is the result, f64, and what [`super::shape`] refuses.

use super::api::{ADD, CROSS_CORRELATION, Descriptor, FLOAT, GELU_TANH, IDENTITY, MUL, Pointer, Pointwise, RELU, Status, attribute, kind};
use super::graph::{Each, Graph, Numbers, Shape, alignment, kind_of};
use super::plan::{Context, ExecutionPlan};
use super::shape::{Role, axes, is_channels_last, shape};
use crate::loaded::Answer;
use smallvec::SmallVec;
use unigrad_gpu::{Activation, ByDtype, Convolution, ConvolutionOperands, Grid, Pass, Range, Rates, SpatialAxis};
use unigrad_scalar::DType;

// Numbers by which the library is told of tensors.
const X: i64 = 1;
const W: i64 = 2;
const Y: i64 = 3;
const SCALE: i64 = 4;
const RESIDUAL: i64 = 5;
const BIAS: i64 = 6;

/// A convolution with all that is decided about it.
pub(crate) struct Call {
    plan: ExecutionPlan,
}

/// The dtype of both operands.
pub(super) fn operands(c: &Convolution) -> DType {
    match c.pass {
        Pass::Forward | Pass::Weight => c.x.dtype,
        Pass::Input => c.y.dtype,
    }
}

/// Whether cuDNN has words for it. Of `f32` only as TF32: an engine of version 9.19 for gradients of weights, which says nothing of tensor cores, gave
/// other numbers than additions in `f32` do, by 2^-12 where these are exact.
pub(crate) fn can(c: &Convolution) -> bool {
    let known = match operands(c) {
        DType::F16 | DType::BF16 => true,
        DType::F32 => c.tf32,
        // It has words for none of them.
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
        | DType::F8E5M2 => false,
    };
    let is_known = c.inside.activation != Activation::GeluTanhSlope;
    known && is_known && c.compute == DType::F32 && c.inside.before.is_none()
}

/// Multiplications in a nanosecond on 132 compute units, by the driver's own kernel and by cuDNN, of halves and of `f32` as TF32: what the planner is
/// told, which does not know how tensors will lie. The own kernel did 28 to 115 TFLOP/s of halves with channels first on an H100 (layers of 3 by 3 taps,
/// `examples/convolutions.rs` of `unigrad-testing`), cuDNN 127 to 296; TF32 is an estimate.
const HALF_RATES: Rates = Rates { own: 40_000, library: 100_000, least: 1 << 26, shortest: 0, around: [0, 0] };
const TF32_RATES: Rates = Rates { own: 25_000, library: 60_000, least: 1 << 26, shortest: 0, around: [0, 0] };
/// The same of cuDNN with channels last, as measured on an H100 (`examples/library.rs`, cuDNN 9.19, ResNet-50's layers of 3 by 3 taps at 64 items):
/// halves 330 to 540 TFLOP/s, TF32 93 to 320.
const LAST_HALF: f64 = 200_000.0;
const LAST_TF32: f64 = 100_000.0;
/// What the driver's own kernel does of `f32` as TF32 in a forward pass, for inputs and for weights: 383, 775 and 313 microseconds of the second layer of a small network
/// (32 and 64 channels, 1,024 images of 26 by 26) on an H200, where cuDNN took 310, 425 and 530.
const OWN_SINGLE_FORWARD: f64 = 26_000.0;
const OWN_SINGLE_INPUT: f64 = 16_500.0;
const OWN_SINGLE_WEIGHT: f64 = 35_000.0;
/// Bytes in a nanosecond, read or written, of what cuDNN turns channels last and back: it explains what channels first took longer there, 145 to 310
/// TFLOP/s in all.
const TURNED: f64 = 1700.0;
/// Channels below which engines for halves leave most of their units idle. Of three, ResNet-50's first layer, cuDNN did 23 TFLOP/s forward, 14 and 31
/// backward, and the own kernel 56, 1 and 15.
const FEWEST_CHANNELS: u32 = 16;

/// What the planner should know: the rates of [`wins`].
pub(super) fn rates(units: u32) -> ByDtype {
    let scaled = |rate: u32| (f64::from(rate) * f64::from(units.max(1)) / 132.0) as u32;
    let rates = |of: Rates| Rates { own: scaled(of.own), library: scaled(of.library), ..of };
    ByDtype { half: rates(HALF_RATES), single: Rates::default(), tf32: rates(TF32_RATES), double: Rates::default() }
}

fn rates_of(c: &Convolution) -> Rates {
    if operands(c).size() == 2 { HALF_RATES } else { TF32_RATES }
}

/// What cuDNN takes on 132 compute units, in nanoseconds, without a launch.
fn cost(c: &Convolution) -> f64 {
    let rate = if operands(c).size() == 2 { LAST_HALF } else { LAST_TF32 };
    let images = (c.x_bytes(&c.x) as f64 + c.y_bytes(&c.y) as f64) * 2.0;
    let turned = if is_channels_last(c) { 0.0 } else { images / TURNED };
    (c.work() / rate).max(images / 2.0 / COPIED) + turned
}

/// Whether cuDNN is expected to be faster than the driver's own kernel.
pub(crate) fn wins(c: &Convolution) -> bool {
    let Rates { own, least, .. } = rates_of(c);
    let own = match (operands(c).size(), c.pass) {
        (2, _) => f64::from(own),
        (_, Pass::Weight) => OWN_SINGLE_WEIGHT,
        (_, Pass::Forward) => OWN_SINGLE_FORWARD,
        (_, Pass::Input) => OWN_SINGLE_INPUT,
    };
    // What the driver's own kernel does on the way: sums are written and read once more, as wide as they are.
    let sums = if c.after { 2.0 * c.result_bytes(c.result()) as f64 / COPIED } else { 0.0 };
    // What has more taps is another product that can be read as a convolution.
    if c.work() < least as f64 || c.axes.iter().any(|axis| axis.w > MOST_TAPS) {
        return false;
    }
    if c.inputs.min(c.outputs) < FEWEST_CHANNELS {
        // The own kernel of `f32` takes what the memory takes: 44 microseconds of one channel's taps to 32 (1,024 images of 28 by 28) on an H200, where tiles without matrix
        // instructions took 378.
        if operands(c).size() == 4 && c.pass == Pass::Weight {
            return false;
        }
        return c.groups == 1 && c.pass != Pass::Forward && !c.after && c.made == 0;
    }
    cost(c) + sums + c.made as f64 / COPIED < c.work() / own
}

/// Most taps along an axis of what is a convolution to people too.
const MOST_TAPS: u32 = 16;

/// Bytes that a kernel reads and writes in a nanosecond, as measured on an H200.
const COPIED: f64 = 4000.0;

/// What a convolution is expected to cost on so many compute units, in nanoseconds, with the steps before it.
pub(crate) fn nanoseconds(c: &Convolution, units: u32) -> f64 {
    3000.0 + cost(c) * 132.0 / f64::from(units.max(1)) + c.made as f64 / COPIED
}

fn stored(graph: &Graph<'_>, id: i64, shape: &Shape, grid: &Grid) -> Result<Descriptor, Status> {
    graph.stored(id, shape, kind_of(grid.dtype)?, alignment(grid.offset, grid.dtype))
}

/// Adds the convolution itself.
fn convolve(graph: &mut Graph<'_>, c: &Convolution, [x, w, y]: [&Descriptor; 3]) -> Result<(), Status> {
    let axes = axes(c);
    let numbers = |number: fn(&SpatialAxis) -> u32| -> SmallVec<[i64; 3]> { axes.iter().map(|axis| i64::from(number(axis))).collect() };
    let settings = graph.context.descriptor(kind::CONVOLUTION)?.with(attribute::CONVOLUTION_COMPUTE, &[FLOAT])?;
    let settings = settings.with(attribute::CONVOLUTION_MODE, &[CROSS_CORRELATION])?;
    let settings = settings.with(attribute::CONVOLUTION_AXES, &[axes.len() as i64])?;
    let settings = settings.with(attribute::CONVOLUTION_DILATIONS, &numbers(|axis| axis.dilation))?;
    let settings = settings.with(attribute::CONVOLUTION_STRIDES, &numbers(|axis| axis.stride))?;
    let settings = settings.with(attribute::CONVOLUTION_PADDING_BEFORE, &numbers(|axis| axis.padding[0]))?;
    let settings = settings.with(attribute::CONVOLUTION_PADDING_AFTER, &numbers(|axis| axis.padding[1]))?.finish()?;
    let (of, first) = match c.pass {
        Pass::Forward => (kind::CONVOLUTION_FORWARD, attribute::FORWARD),
        Pass::Input => (kind::CONVOLUTION_INPUT, attribute::INPUT),
        Pass::Weight => (kind::CONVOLUTION_WEIGHT, attribute::WEIGHT),
    };
    let operation = graph.context.descriptor(of)?.with(first + attribute::ALPHA, &[1f32])?.with(first + attribute::BETA, &[0f32])?;
    let operation = operation.point(first + attribute::SETTINGS, &[&settings])?;
    let operation = operation.point(first + attribute::X, &[x])?.point(first + attribute::W, &[w])?;
    graph.operations.push(operation.point(first + attribute::Y, &[y])?.finish()?);
    Ok(())
}

/// Words, each with the tensor that takes part.
type Said = SmallVec<[(Pointwise, Option<i64>); 4]>;

/// What is done with the sums, one after the other; `None` if there is no word for it.
fn words(c: &Convolution) -> Option<Said> {
    let mut words = SmallVec::new();
    if c.inside.scaled {
        words.push((MUL, Some(SCALE)));
    }
    if c.inside.residual.is_some() {
        words.push((ADD, Some(RESIDUAL)));
    }
    if c.inside.bias.is_some() {
        words.push((ADD, Some(BIAS)));
    }
    match c.inside.activation {
        Activation::None => {}
        Activation::Relu => words.push((RELU, None)),
        Activation::GeluTanh => words.push((GELU_TANH, None)),
        Activation::GeluTanhSlope => return None,
    }
    // A convolution itself only gives what its operands are of.
    if words.is_empty() && c.result().dtype != operands(c) {
        words.push((IDENTITY, None));
    }
    Some(words)
}

impl Call {
    /// Decides how a convolution is done; `None` if the library cannot.
    pub(super) fn new(context: &Context, c: &Convolution) -> Option<Call> {
        if !can(c) {
            return None;
        }
        let last = is_channels_last(c);
        let (role, id) = match c.pass {
            Pass::Forward => (Role::Y, Y),
            Pass::Input => (Role::X, X),
            Pass::Weight => (Role::W, W),
        };
        let [x, w, y] = [(Role::X, &c.x), (Role::W, &c.w), (Role::Y, &c.y)].map(|(role, grid)| shape(c, role, grid, last));
        let result = shape(c, role, c.result(), last)?;
        let residual = match &c.inside.residual {
            Some(grid) => Some((shape(c, role, grid, last)?, *grid)),
            None => None,
        };
        let plan = Call::plan(context, c, [x?, w?, y?], (result, id), residual);
        Some(Call { plan: plan.ok()? })
    }

    fn plan(
        context: &Context,
        c: &Convolution,
        [x, w, y]: [Shape; 3],
        (result, id): (Shape, i64),
        residual: Option<(Shape, Grid)>,
    ) -> Result<ExecutionPlan, Status> {
        let mut graph = Graph::new(context);
        let stored_at = [stored(&graph, X, &x, &c.x)?, stored(&graph, W, &w, &c.w)?, stored(&graph, Y, &y, &c.y)?];
        let (words, dtype) = (words(c).ok_or(Status::UNEXPECTED)?, kind_of(c.result().dtype)?);
        let mut sum = if words.is_empty() { None } else { Some(graph.between(&result, FLOAT)?) };
        let of = |at: i64| (at - X) as usize;
        let at = |which: i64| match &sum {
            Some(sum) if which == id => sum,
            _ => &stored_at[of(which)],
        };
        convolve(&mut graph, c, [at(X), at(W), at(Y)])?;
        for (n, (mode, beside)) in words.iter().enumerate() {
            let Some(from) = sum.take() else { return Err(Status::UNEXPECTED) };
            let beside = match (*beside, &residual) {
                (Some(SCALE), _) => Some(graph.number(SCALE, result.sizes.len(), FLOAT)?),
                (Some(RESIDUAL), Some((shape, grid))) => Some(stored(&graph, RESIDUAL, shape, grid)?),
                (Some(BIAS), _) => {
                    let channels = i64::try_from(c.channels()).map_err(|_| Status::UNEXPECTED)?;
                    let mut sizes = Numbers::from_elem(1, result.sizes.len());
                    let mut strides = Numbers::from_elem(channels, result.sizes.len());
                    (sizes[1], strides[1]) = (channels, 1);
                    let aligned = alignment(c.inside.bias.unwrap_or(1), c.result().dtype);
                    Some(graph.stored(BIAS, &Shape { sizes, strides }, dtype, aligned)?)
                }
                (Some(_), _) => return Err(Status::UNEXPECTED),
                (None, _) => None,
            };
            let each = Each { b: beside.as_ref(), ..Each::of(*mode, &from) };
            if n + 1 == words.len() {
                graph.each(each, &stored_at[of(id)])?;
            } else {
                sum = Some(graph.then(each, &result, FLOAT)?);
            }
        }
        context.plan(&graph.operations, operands(c).size() < 4 || c.tf32)
    }

    /// Bytes.
    pub(super) fn workspace(&self) -> usize {
        self.plan.workspace
    }

    /// Queues it on a stream.
    pub(super) fn queue(&self, context: &Context, c: &Convolution, at: &ConvolutionOperands, workspace: Range, stream: Pointer) -> Answer {
        let result = match c.pass {
            Pass::Forward => at.y,
            Pass::Input => at.x,
            Pass::Weight => at.w,
        };
        // The library does not say that it reads each element before it writes it.
        let begins = |range: &Range| range.handle + range.offset as u64;
        if at.residual.is_some_and(|residual| {
            begins(&residual) < begins(&result) + result.len as u64 && begins(&result) < begins(&residual) + residual.len as u64
        }) {
            return Answer::Refused;
        }
        let mut scale = at.scale as f32;
        let first = |range: Range, grid: &Grid| address(range, grid.offset, grid.dtype);
        let mut pointers: SmallVec<[(i64, Pointer); 6]> = SmallVec::new();
        pointers.extend([(X, first(at.x, &c.x)), (W, first(at.w, &c.w)), (Y, first(at.y, &c.y))]);
        if c.inside.scaled {
            pointers.push((SCALE, (&raw mut scale).cast()));
        }
        if let (Some(range), Some(grid)) = (at.residual, &c.inside.residual) {
            pointers.push((RESIDUAL, first(range, grid)));
        }
        if let (Some(range), Some(offset)) = (at.bias, c.inside.bias) {
            pointers.push((BIAS, address(range, offset, c.result().dtype)));
        }
        let (ids, pointers): (SmallVec<[i64; 6]>, SmallVec<[Pointer; 6]>) = pointers.into_iter().unzip();
        let room = if self.plan.workspace == 0 { std::ptr::null_mut() } else { address(workspace, 0, DType::U8) };
        context.execute(&self.plan, &ids, &pointers, room, stream)
    }
}

/// The device's address as a pointer that is never followed here.
fn address(range: Range, elements: u64, dtype: DType) -> Pointer {
    std::ptr::without_provenance_mut::<std::ffi::c_void>(range.handle as usize + range.offset)
        .wrapping_byte_add(elements as usize * dtype.size())
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;
    use unigrad_gpu::{Beside, MOST_AXES};

    /// Two items of four channels to six, three taps along each axis, with a zero on either side; where its tensors lie is not said yet.
    pub(crate) fn plain(rank: usize, dtype: DType) -> Convolution {
        let mut axes = [SpatialAxis::ONE; MOST_AXES];
        for (axis, size) in axes.iter_mut().zip([7, 6, 5]).take(rank) {
            *axis = SpatialAxis { x: size, w: 3, y: size, stride: 1, dilation: 1, padding: [1, 1] };
        }
        let grid = Grid { dtype, offset: 0, outer: 0, group: 0, channel: 0, spatial: [0; MOST_AXES] };
        Convolution {
            pass: Pass::Forward,
            batch: 2,
            groups: 1,
            inputs: 4,
            outputs: 6,
            rank,
            axes,
            x: grid,
            w: grid,
            y: grid,
            compute: DType::F32,
            tf32: false,
            inside: Beside::default(),
            made: 0,
            after: false,
        }
    }

    /// The same in dense tensors, channels first or last.
    pub(crate) fn dense(c: Convolution, last: bool) -> Convolution {
        let lie = |grid: Grid, groups: u32, channels: u32, size: fn(&SpatialAxis) -> u32| {
            let mut spatial = [0; MOST_AXES];
            let (all, mut step) = (u64::from(groups) * u64::from(channels), if last { u64::from(groups) * u64::from(channels) } else { 1 });
            for (stride, axis) in spatial.iter_mut().zip(&c.axes).take(c.rank).rev() {
                *stride = step;
                step *= u64::from(size(axis));
            }
            let (channel, outer) = if last { (1, step) } else { (step, step * all) };
            Grid { outer, group: u64::from(channels) * channel, channel, spatial, ..grid }
        };
        let mut w = lie(c.w, 1, c.inputs, |axis| axis.w);
        w.group = w.outer * u64::from(c.outputs);
        Convolution { x: lie(c.x, c.groups, c.inputs, |axis| axis.x), w, y: lie(c.y, c.groups, c.outputs, |axis| axis.y), ..c }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{dense, plain};
    use super::*;
    use unigrad_gpu::Beside;

    /// A layer of ResNet-50 with so many channels and positions along an axis, of 64 items.
    fn layer(dtype: DType, channels: u32, size: u32) -> Convolution {
        let mut c = plain(2, dtype);
        (c.batch, c.inputs, c.outputs) = (64, channels, channels);
        for axis in &mut c.axes[..2] {
            (axis.x, axis.y) = (size, size);
        }
        dense(c, true)
    }

    #[test]
    fn the_library_is_asked_where_it_gains() {
        for dtype in [DType::F16, DType::BF16] {
            assert!(wins(&layer(dtype, 64, 56)) && wins(&layer(dtype, 512, 7)), "{dtype}");
            assert!(!wins(&dense(plain(2, dtype), true)), "{dtype}: it is small");
        }
        // Just below, at and above the least work of its kind.
        for (dtype, tf32, least) in [(DType::BF16, false, HALF_RATES.least), (DType::F32, true, TF32_RATES.least)] {
            let with = |batch: u64| Convolution { batch: u32::try_from(batch).unwrap(), tf32, ..layer(dtype, 64, 7) };
            let each = with(1).work() as u64;
            let enough = least.div_ceil(each);
            assert!(wins(&with(enough)) && !wins(&with(enough - 1)), "{dtype}");
        }
        // Channels first are turned, which large images with few channels do not win back; nor do few channels.
        let first = |channels: u32, size: u32| dense(layer(DType::BF16, channels, size), false);
        assert!(wins(&first(256, 14)) && !wins(&first(16, 112)) && wins(&layer(DType::BF16, FEWEST_CHANNELS, 112)));
        let few = layer(DType::BF16, FEWEST_CHANNELS - 1, 112);
        for (pass, wanted) in [(Pass::Forward, false), (Pass::Input, true), (Pass::Weight, true)] {
            assert_eq!(wins(&Convolution { pass, ..few }), wanted, "{pass:?}");
            assert!(!wins(&Convolution { pass, groups: 2, ..few }), "{pass:?}");
        }
        // Another product that can be read as a convolution.
        let mut wide = layer(DType::BF16, 64, 56);
        wide.axes[0].w = MOST_TAPS + 1;
        assert!(!wins(&wide));
        // What is made before and read after has to be won back.
        let c = layer(DType::BF16, 64, 56);
        let gain = c.work() / f64::from(HALF_RATES.own) - cost(&c);
        let made = (gain * COPIED) as u64;
        assert!(wins(&Convolution { made: made * 9 / 10, ..c }) && !wins(&Convolution { made: made * 11 / 10, ..c }));
        assert!(nanoseconds(&Convolution { made, ..c }, 132) > nanoseconds(&c, 132) && nanoseconds(&c, 66) > nanoseconds(&c, 132));
    }

    #[test]
    fn what_there_are_no_words_for_is_refused() {
        let c = dense(plain(2, DType::BF16), false);
        let single = dense(plain(1, DType::F32), true);
        assert!(can(&c) && can(&Convolution { tf32: true, ..single }) && !can(&single));
        assert!(!can(&Convolution { compute: DType::F64, ..dense(plain(2, DType::F64), false) }));
        assert!(!can(&Convolution { inside: Beside { before: Some(c.y), ..Beside::default() }, ..c }));
    }

    #[test]
    fn words_come_in_the_order_of_the_description() {
        let c = dense(plain(2, DType::BF16), false);
        let inside = Beside { scaled: true, residual: Some(c.y), bias: Some(0), activation: Activation::GeluTanh, before: None };
        let said = words(&Convolution { inside, ..c }).unwrap();
        assert_eq!(said[..], [(MUL, Some(SCALE)), (ADD, Some(RESIDUAL)), (ADD, Some(BIAS)), (GELU_TANH, None)]);
        assert!(words(&c).unwrap().is_empty());
        // Sums of halves in f32, whichever the result is.
        for pass in [Pass::Forward, Pass::Input, Pass::Weight] {
            let mut wide = Convolution { pass, ..c };
            match pass {
                Pass::Forward => wide.y.dtype = DType::F32,
                Pass::Input => wide.x.dtype = DType::F32,
                Pass::Weight => wide.w.dtype = DType::F32,
            }
            assert_eq!((words(&wide).unwrap()[..].to_vec(), operands(&wide)), (vec![(IDENTITY, None)], DType::BF16), "{pass:?}");
        }
    }

    #[test]
    fn the_planner_is_told_the_rates_of_the_rule() {
        let all = rates(132);
        assert_eq!((all.half, all.single, all.tf32), (HALF_RATES, Rates::default(), TF32_RATES));
        assert_eq!(rates(66).half.library, HALF_RATES.library / 2);
        assert_eq!(all.double, Rates::default());
    }
}
