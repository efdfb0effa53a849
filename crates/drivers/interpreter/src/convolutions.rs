//! A library of convolutions for the interpreter: loops that do what the text of a [`Convolution`] says, and nothing else.
//!
//! In: a convolution that was taken on, its memory. Out: its result, computed in f64 and rounded once.
//! Always: only with `UNIGRAD_PRODUCTS=library`, so that the hook is tested where there is no GPU; every word. It takes on groups of [`REFUSED`] input
//! channels, and then refuses them at their launch, as a library may. An element of `x` is read only where there is one.

use crate::products::{Bytes, REFUSED, apply, read, write};
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering::Relaxed},
};
use unigrad_gpu::{Convolution, ConvolutionOperands, Grid, Pass, Range};

static DONE: AtomicUsize = AtomicUsize::new(0);
static REFUSALS: AtomicUsize = AtomicUsize::new(0);
static PADDED: AtomicUsize = AtomicUsize::new(0);

/// How many convolutions the library has done, and how many it has refused, in this process.
pub fn convolutions() -> (usize, usize) {
    (DONE.load(Relaxed), REFUSALS.load(Relaxed))
}

/// How many of the convolutions that the library has done had padding, or a stride, that nothing was made for in memory.
pub fn padded_convolutions() -> usize {
    PADDED.load(Relaxed)
}

static LAST: Mutex<Vec<Convolution>> = Mutex::new(Vec::new());

/// The convolutions that the library has done since this was last asked for, the newest 16 of them: what it was told of each.
pub fn convolutions_done() -> Vec<Convolution> {
    std::mem::take(&mut *LAST.lock().unwrap_or_else(PoisonError::into_inner))
}

/// How many convolutions are remembered.
const REMEMBERED: usize = 16;

/// Indices of a grid: outer, group, channel, spatial.
type GridIndex = (u32, u32, u32, [u32; 3]);

fn at(grid: &Grid, (outer, group, channel, spatial): GridIndex) -> usize {
    let along = spatial.iter().zip(grid.spatial).map(|(index, stride)| u64::from(*index) * stride).sum::<u64>();
    (grid.offset + u64::from(outer) * grid.outer + u64::from(group) * grid.group + u64::from(channel) * grid.channel + along) as usize
}

/// All indices below three sizes.
fn points(sizes: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    let [a, b, c] = sizes;
    (0..a).flat_map(move |i| (0..b).flat_map(move |j| (0..c).map(move |k| [i, j, k])))
}

/// The element of `x` that a window at `y` sees by tap `w`.
fn seen(c: &Convolution, y: [u32; 3], w: [u32; 3]) -> Option<[u32; 3]> {
    let mut x = [0; 3];
    for (d, axis) in c.axes.iter().enumerate() {
        let at = i64::from(y[d]) * i64::from(axis.stride) + i64::from(w[d]) * i64::from(axis.dilation) - i64::from(axis.padding[0]);
        x[d] = u32::try_from(at).ok().filter(|at| *at < axis.x)?;
    }
    Some(x)
}

/// Computes a convolution; `Some(false)` if it is refused, `None` if its memory is not there.
pub(crate) fn convolve(memory: &mut impl Bytes, c: &Convolution, to: &ConvolutionOperands, workspace: Range) -> Option<bool> {
    if c.inputs == REFUSED {
        REFUSALS.fetch_add(1, Relaxed);
        return Some(false);
    }
    // Its contents are undefined, and it is there.
    memory.bytes(workspace)?.fill(0xa5);
    let [xs, ws, ys] = [c.axes.map(|axis| axis.x), c.axes.map(|axis| axis.w), c.axes.map(|axis| axis.y)];
    // Padding and sizes are those of one convolution.
    let fits = |axis: &unigrad_gpu::SpatialAxis| {
        let wide = |number: u32| i64::from(number);
        let room = wide(axis.padding[0]) + wide(axis.x) + wide(axis.padding[1]) - wide(axis.dilation) * (wide(axis.w) - 1) - 1;
        let slack = room - wide(axis.stride) * (wide(axis.y) - 1);
        (0..wide(axis.stride)).contains(&slack)
    };
    if !c.axes.iter().all(fits) || !(1..=3).contains(&c.rank) {
        return None;
    }
    let (channels, (outer, spatial)) = match c.pass {
        Pass::Forward => (c.outputs, (c.batch, ys)),
        Pass::Input => (c.inputs, (c.batch, xs)),
        Pass::Weight => (c.inputs, (c.outputs, ws)),
    };
    let values = |memory: &mut _, range: Range, grid: &Grid| read(memory, range, grid.dtype);
    let (x, w, y) = match c.pass {
        Pass::Forward => (values(memory, to.x, &c.x)?, values(memory, to.w, &c.w)?, Vec::new()),
        Pass::Input => (Vec::new(), values(memory, to.w, &c.w)?, values(memory, to.y, &c.y)?),
        Pass::Weight => (values(memory, to.x, &c.x)?, Vec::new(), values(memory, to.y, &c.y)?),
    };
    let of = |size: usize, dims: [usize; 3]| size * dims.iter().product::<usize>();
    let wide = |sizes: [u32; 3]| sizes.map(|size| size as usize);
    let dense = |index: GridIndex, n_groups: u32, n_channels: u32, sizes: [u32; 3]| -> usize {
        let (outer, group, channel, place) = index;
        let row = (outer as usize * n_groups as usize + group as usize) * n_channels as usize + channel as usize;
        place.iter().zip(sizes).fold(row, |at, (index, size)| at * size as usize + *index as usize)
    };
    let mut sums = vec![0.0f64; of((outer * c.groups * channels) as usize, wide(spatial))];
    for (n, g) in (0..c.batch).flat_map(|n| (0..c.groups).map(move |g| (n, g))) {
        for (i, o) in (0..c.inputs).flat_map(|i| (0..c.outputs).map(move |o| (i, o))) {
            for (p, t) in points(ys).flat_map(|p| points(ws).map(move |t| (p, t))) {
                let Some(h) = seen(c, p, t) else { continue };
                let (of_x, of_w, of_y): (GridIndex, GridIndex, GridIndex) = ((n, g, i, h), (o, g, i, t), (n, g, o, p));
                let (sum, product) = match c.pass {
                    Pass::Forward => (dense(of_y, c.groups, channels, spatial), x.get(at(&c.x, of_x))? * w.get(at(&c.w, of_w))?),
                    Pass::Input => (dense(of_x, c.groups, channels, spatial), y.get(at(&c.y, of_y))? * w.get(at(&c.w, of_w))?),
                    Pass::Weight => (dense(of_w, c.groups, channels, spatial), x.get(at(&c.x, of_x))? * y.get(at(&c.y, of_y))?),
                };
                *sums.get_mut(sum)? += product;
            }
        }
    }
    let result = *c.result();
    let place = match c.pass {
        Pass::Forward => to.y,
        Pass::Input => to.x,
        Pass::Weight => to.w,
    };
    let residual = match (to.residual, c.inside.residual) {
        (Some(range), Some(grid)) => Some((read(memory, range, grid.dtype)?, grid)),
        _ => None,
    };
    let bias = match (to.bias, c.inside.bias) {
        (Some(range), Some(offset)) => Some((read(memory, range, result.dtype)?, offset as usize)),
        _ => None,
    };
    for (outer, group) in (0..outer).flat_map(|outer| (0..c.groups).map(move |group| (outer, group))) {
        for (channel, point) in (0..channels).flat_map(|channel| points(spatial).map(move |point| (channel, point))) {
            let index: GridIndex = (outer, group, channel, point);
            let mut sum = sums.get(dense(index, c.groups, channels, spatial))? * to.scale;
            if let Some((values, grid)) = &residual {
                sum += values.get(at(grid, index))?;
            }
            if let Some((values, offset)) = &bias {
                sum += values.get(offset + (group * channels + channel) as usize)?;
            }
            if let (Some(range), Some(grid)) = (to.before, c.inside.before) {
                write(memory, range, grid.dtype, at(&grid, index), sum)?;
            }
            write(memory, place, result.dtype, at(&result, index), apply(c.inside.activation, sum)?)?;
        }
    }
    DONE.fetch_add(1, Relaxed);
    let is_padded = c.axes.iter().any(|axis| axis.padding != [0, 0] || c.pass == Pass::Input && axis.stride > 1);
    PADDED.fetch_add(usize::from(is_padded), Relaxed);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if last.len() == REMEMBERED {
        last.remove(0);
    }
    last.push(*c);
    Some(true)
}
