//! Convolutions of ResNet-50 in bf16, forward and both gradients, as a device does them: its own kernels or its library (`UNIGRAD_PRODUCTS`).
//!
//! `UNIGRAD_PRODUCTS=own|library cargo run --release -p unigrad-testing --example convolutions -- DEVICE [BATCH]`. A line has the microseconds of the
//! value and of the gradients of image and weight, and TFLOP/s, with the image in memory as it is written down.

use std::time::Instant;
use unigrad::prelude::*;
use unigrad_tensor::ConvOptions;

/// Channels in and out, positions along an axis, taps, stride.
const LAYERS: [[usize; 5]; 10] = [
    [3, 64, 224, 7, 2],
    [64, 64, 56, 1, 1],
    [64, 64, 56, 3, 1],
    [256, 128, 56, 1, 1],
    [128, 128, 56, 3, 2],
    [128, 512, 28, 1, 1],
    [256, 256, 14, 3, 1],
    [256, 1024, 14, 1, 1],
    [1024, 512, 14, 1, 1],
    [512, 512, 7, 3, 1],
];
/// Runs that are timed together.
const RUNS: u32 = 10;

/// Microseconds of a run.
fn time(device: &Device, run: impl Fn() -> Result<Tensor>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..4 {
        device.synchronize()?;
        let begin = Instant::now();
        for _ in 0..RUNS {
            run()?.realize()?;
        }
        device.synchronize()?;
        best = best.min(begin.elapsed().as_secs_f64() * 1e6 / f64::from(RUNS));
    }
    Ok(best)
}

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let device = Device::open(&args.next().unwrap_or_else(|| "cuda:0".to_owned()))?;
    let batch: usize = args.next().and_then(|batch| batch.parse().ok()).unwrap_or(64);
    for [inputs, outputs, size, taps, stride] in LAYERS {
        let draw = |shape: [usize; 4]| Tensor::uniform(shape, -1.0, 1.0, DType::F32, &device).cast(DType::BF16).realize();
        let (x, w) = (draw([batch, inputs, size, size])?, draw([outputs, inputs, taps, taps])?);
        let options = ConvOptions { stride: vec![stride; 2], ..ConvOptions::new(1, taps / 2) };
        let y = x.conv(&w, None, 2, &options);
        let shape = y.shape();
        let dy = draw([shape[0], shape[1], shape[2], shape[3]])?;
        let work = 2.0 * (shape.iter().product::<usize>() * inputs * taps * taps) as f64;
        let mut line = format!("{:?}", [inputs, outputs, size, taps, stride]);
        let gradient = |of: &Tensor, other: &Tensor, is_image: bool| -> Result<Tensor> {
            let of = of.detach().requires_grad();
            let y = if is_image { of.conv(other, None, 2, &options) } else { other.conv(&of, None, 2, &options) };
            Ok(grad(&(&y * &dy).sum(()), &[&of])?.swap_remove(0))
        };
        let value = time(&device, || Ok(x.detach().conv(&w, None, 2, &options)))?;
        let times = [value, time(&device, || gradient(&x, &w, true))?, time(&device, || gradient(&w, &x, false))?];
        for us in times {
            line += &format!("  {us:8.1} us {:4.0}", work / us / 1e6);
        }
        println!("{line}");
    }
    Ok(())
}
