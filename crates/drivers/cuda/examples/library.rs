//! Convolutions of ResNet-50, and attention of GPT-2, by cuDNN as the driver's backend takes them on, timed without a graph around them.
//!
//! `cargo run --release -p unigrad-cuda --example library -- [BATCH]`. A line has the microseconds of a convolution and of its two gradients, and
//! TFLOP/s, for halves and TF32, with channels first and last; the last ones have those of causal attention and of its gradients. What it tells is what
//! `dnn/convolution.rs` and `dnn/attention.rs` state.

use unigrad_cuda::CudaBackend;
use unigrad_device::{Error, Timeline};
use unigrad_gpu::{Backend, Beside, Convolution, ConvolutionOperands, Grid, MOST_AXES, Offer, Pass, Range, SpatialAxis, Work};
use unigrad_kernel::{Attention, AttentionGrad, Kernel, Layout4, testing::regions};
use unigrad_scalar::{AttentionSpec, DType};

/// Channels in and out, positions along an axis, taps, stride.
const LAYERS: [[u32; 5]; 14] = [
    [3, 64, 224, 7, 2],
    [64, 64, 56, 1, 1],
    [64, 64, 56, 3, 1],
    [64, 256, 56, 1, 1],
    [256, 128, 56, 1, 1],
    [128, 128, 56, 3, 2],
    [128, 512, 28, 1, 1],
    [512, 256, 28, 1, 1],
    [256, 256, 28, 3, 2],
    [256, 256, 14, 3, 1],
    [256, 1024, 14, 1, 1],
    [1024, 512, 14, 1, 1],
    [512, 512, 14, 3, 2],
    [512, 512, 7, 3, 1],
];
/// Calls that are timed together.
const CALLS: u32 = 20;

fn layer([inputs, outputs, size, taps, stride]: [u32; 5], batch: u32, pass: Pass, dtype: DType, last: bool) -> Convolution {
    let pad = taps / 2;
    let axis = SpatialAxis { x: size, w: taps, y: (size + 2 * pad - taps) / stride + 1, stride, dilation: 1, padding: [pad, pad] };
    let grid = |channels: u32, size: u32| {
        let (channels, size) = (u64::from(channels), u64::from(size));
        let (channel, column) = if last { (1, channels) } else { (size * size, 1) };
        Grid { dtype, offset: 0, outer: channels * size * size, group: 0, channel, spatial: [column * size, column, 0] }
    };
    let (x, w, y) = (grid(inputs, size), grid(inputs, taps), grid(outputs, axis.y));
    let axes: [SpatialAxis; MOST_AXES] = [axis, axis, SpatialAxis::ONE];
    let (compute, inside, tf32) = (DType::F32, Beside::default(), dtype == DType::F32);
    Convolution { pass, batch, groups: 1, inputs, outputs, rank: 2, axes, x, w, y, compute, tf32, inside, made: 0, after: false }
}

/// Nanoseconds of a call; `None` if cuDNN does not take it on.
fn time(backend: &CudaBackend, offer: &Offer<'_>, work: &Work<'_>) -> Result<Option<f64>, Error> {
    let Some(taken) = backend.take(offer) else { return Ok(None) };
    let handle = backend.allocate(taken.workspace.max(1))?;
    let workspace = Range { handle, offset: 0, len: taken.workspace };
    let mut best = f64::INFINITY;
    let mut done = true;
    for _ in 0..4 {
        let begin = backend.mark()?;
        for _ in 0..CALLS {
            done &= backend.perform(&taken, work, workspace)?;
        }
        let end = backend.mark()?;
        backend.synchronize()?;
        if let (Some(begin), Some(end)) = (&begin, &end) {
            best = best.min(backend.elapsed(begin, end)? / f64::from(CALLS));
        }
    }
    backend.free(handle);
    Ok(done.then_some(best))
}

fn range(backend: &CudaBackend, len: usize) -> Result<Range, Error> {
    let range = Range { handle: backend.allocate(len)?, offset: 0, len };
    backend.upload(&vec![0x3c; len], range)?;
    Ok(range)
}

fn shown(ns: Option<f64>, work: f64) -> String {
    ns.map_or(" (not taken)".to_owned(), |ns| format!(" {:7.1} us {:4.0}", ns / 1e3, 2.0 * work / ns / 1e3))
}

/// Causal attention of so many items, 12 heads, positions and features.
fn attention([batch, len, features]: [usize; 3]) -> AttentionGrad {
    let (heads, n) = (12, batch * 12 * len * features);
    let strides = [heads * len * features, len * features, features, 1].map(|stride| stride as i64);
    let at = Layout4 { offset: 0, strides };
    let spec = AttentionSpec { scale_bits: 0.125f64.to_bits(), causal: true, ..AttentionSpec::default() };
    let forward = Attention {
        dtype: DType::BF16,
        batch,
        heads,
        kv_heads: heads,
        q_len: len,
        k_len: len,
        qk_dim: features,
        v_dim: features,
        spec,
        tf32: false,
        pages: None,
        q: at,
        k: at,
        v: at,
        out: at,
        bias: None,
        q_buffer: n,
        k_buffer: n,
        v_buffer: n,
        out_buffer: n,
    };
    AttentionGrad { forward, dout: at, dout_buffer: n, dq: at, dk: at, dv: at, grad_buffers: [n; 3] }
}

fn main() -> Result<(), Error> {
    let batch = std::env::args().nth(1).and_then(|batch| batch.parse().ok()).unwrap_or(64);
    let backend = CudaBackend::open(0)?;
    println!("{}, {batch} items", backend.info().name);
    for dtype in [DType::BF16, DType::F32] {
        for of in LAYERS {
            let mut line = format!("{dtype} {of:?}");
            for last in [false, true] {
                line += if last { "  last" } else { "  first" };
                for pass in [Pass::Forward, Pass::Input, Pass::Weight] {
                    let c = layer(of, batch, pass, dtype, last);
                    let lens = [c.x_bytes(&c.x), c.w_bytes(&c.w), c.y_bytes(&c.y)].map(|bytes| bytes as usize);
                    let ranges = [range(&backend, lens[0])?, range(&backend, lens[1])?, range(&backend, lens[2])?];
                    let [x, w, y] = ranges;
                    let at = ConvolutionOperands { x, w, y, residual: None, bias: None, before: None, scale: 1.0 };
                    let kernel = Kernel::Region(regions::region(0).0);
                    let offer = Offer { kernel: &kernel, products: &[], convolutions: std::slice::from_ref(&c), norm: None, always: true };
                    line += &shown(time(&backend, &offer, &Work::Convolution(&c, &at))?, c.work());
                    ranges.iter().for_each(|range| backend.free(range.handle));
                }
            }
            println!("{line}");
        }
    }
    for sizes in [[8, 1024, 64], [32, 1024, 64], [4, 2048, 128]] {
        let grad = attention(sizes);
        let a = &grad.forward;
        let half = range(&backend, a.q_buffer * 2)?;
        let logs = range(&backend, a.batch * a.heads * a.q_len * 4)?;
        let work = (a.batch * a.heads * a.q_len * a.k_len / 2 * (a.qk_dim + a.v_dim)) as f64;
        let mut line = format!("attention {sizes:?}");
        let [o, dq, dk, dv] =
            [range(&backend, half.len)?, range(&backend, half.len)?, range(&backend, half.len)?, range(&backend, half.len)?];
        let (forward, backward) = (Kernel::Attention(a.clone()), Kernel::AttentionGrad(grad.clone()));
        for (kernel, args, work) in
            [(&forward, vec![half, half, half, o, logs], work), (&backward, vec![half, half, half, o, logs, half, dq, dk, dv], 2.5 * work)]
        {
            let offer = Offer { kernel, products: &[], convolutions: &[], norm: None, always: true };
            line += &shown(time(&backend, &offer, &Work::Kernel(kernel, &args, &[a.k_len as u64, 0]))?, work);
        }
        println!("{line}");
    }
    Ok(())
}
