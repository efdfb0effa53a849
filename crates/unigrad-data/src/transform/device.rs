//! Transforms of whole batches as tensor ops, on whatever device they are: for [`Source::map_batches`](crate::Source::map_batches).
//!
//! In: `[batch, channels, height, width]`, random numbers of the host. Out: tensors that are computed with the step that reads them.
//! Always: what is random is data, so every batch runs the same plan.

use super::RandomErasing;
use unigrad_nn::{Error, Result, random::Rng};
use unigrad_tensor::{DType, Device, Tensor};

/// Batch, channels, height and width.
fn sizes(input: &Tensor, what: &str) -> Result<(usize, usize, usize, usize)> {
    let shape = input.clone().check()?.shape();
    match shape[..] {
        [n, c, h, w] => Ok((n, c, h, w)),
        _ => {
            let cause = format!("{what} of {:?}", &shape[..]);
            Err(Error::argument(cause, "give a batch of images, [batch, channels, height, width]"))
        }
    }
}

/// One number for each item, as `[batch, 1, 1, 1]`.
fn each(values: &[i32], device: &Device) -> Tensor {
    Tensor::from_slice(values, [values.len(), 1, 1, 1], device)
}

/// `(x - mean) / std` for each channel, of values from 0 to 1; bytes are divided by 255 first, so that a quarter of the data is uploaded.
pub fn normalize(input: &Tensor, mean: &[f32], std: &[f32]) -> Result<Tensor> {
    let (_, channels, _, _) = sizes(input, "normalize")?;
    if mean.len() != channels || std.len() != channels || std.iter().any(|s| s.is_nan() || *s <= 0.0) {
        let cause = format!("normalize {channels} channels with means {mean:?} and standard deviations {std:?}");
        return Err(Error::argument(cause, "give one of each for each channel, deviations above 0"));
    }
    let device = input.device()?;
    let constant = |values: &[f32]| Tensor::from_slice(values, [1, channels, 1, 1], &device);
    let values = if input.dtype() == DType::U8 { input.cast(DType::F32) / 255.0 } else { input.clone() };
    ((values - constant(mean)) / constant(std)).check()
}

/// Left and right change places in each image with probability `p`.
pub fn random_horizontal_flip(input: &Tensor, p: f64, rng: &mut Rng) -> Result<Tensor> {
    let (n, ..) = sizes(input, "flip")?;
    let flips: Vec<i32> = (0..n).map(|_| i32::from(rng.uniform() < p)).collect();
    each(&flips, &input.device()?).gt(0.0).where_(&input.flip(-1), input).check()
}

/// A part of each image with a black border of `padding` pixels, of the image's size, anywhere.
pub fn random_crop(input: &Tensor, padding: usize, rng: &mut Rng) -> Result<Tensor> {
    let (n, c, h, w) = sizes(input, "crop")?;
    let device = input.device()?;
    let padded = input.pad(&[(0, 0), (0, 0), (padding, padding), (padding, padding)]);
    let draws: Vec<(usize, usize)> = (0..n).map(|_| (rng.below(2 * padding + 1), rng.below(2 * padding + 1))).collect();
    let rows: Vec<i64> = draws.iter().flat_map(|(top, _)| (0..h).map(move |y| (top + y) as i64)).collect();
    let columns: Vec<i64> = draws.iter().flat_map(|(_, left)| (0..w).map(move |x| (left + x) as i64)).collect();
    let rows = Tensor::from_slice(&rows, [n, 1, h, 1], &device).expand([n, c, h, w + 2 * padding]);
    let columns = Tensor::from_slice(&columns, [n, 1, 1, w], &device).expand([n, c, h, w]);
    padded.gather(2, &rows).gather(3, &columns).check()
}

/// 1 within a rectangle of each image, 0 outside: `[batch, 1, height, width]`.
fn rectangles(parts: &[(usize, usize, usize, usize)], h: usize, w: usize, device: &Device) -> Tensor {
    let bound =
        |of: fn(&(usize, usize, usize, usize)) -> usize| each(&parts.iter().map(|part| of(part) as i32).collect::<Vec<_>>(), device);
    let rows = Tensor::range(h, DType::I32, device).reshape([1, 1, h as i64, 1]);
    let columns = Tensor::range(w, DType::I32, device).reshape([1, 1, 1, w as i64]);
    let inside_rows = rows.ge(&bound(|part| part.0)).logical_and(&rows.lt(&bound(|part| part.0 + part.2)));
    let inside_columns = columns.ge(&bound(|part| part.1)).logical_and(&columns.lt(&bound(|part| part.1 + part.3)));
    inside_rows.logical_and(&inside_columns)
}

/// Overwrites a random rectangle of each image with `value`.
pub fn random_erasing(input: &Tensor, erasing: &RandomErasing, value: f64, rng: &mut Rng) -> Result<Tensor> {
    let (n, _, h, w) = sizes(input, "erase")?;
    let parts: Vec<_> = (0..n).map(|_| Ok(erasing.part(h, w, rng)?.unwrap_or_default())).collect::<Result<_>>()?;
    let value = Tensor::scalar(value, input.dtype(), &input.device()?);
    rectangles(&parts, h, w, &input.device()?).where_(&value, input).check()
}

/// Labels as probabilities: classes `[batch]`, or what is one already, `[batch, classes]`.
fn soft(target: &Tensor, n_classes: usize) -> Result<Tensor> {
    let shape = target.clone().check()?.shape();
    match shape[..] {
        [_] if !target.dtype().is_float() => target.one_hot(n_classes).cast(DType::F32).check(),
        [_, classes] if classes == n_classes && target.dtype().is_float() => Ok(target.clone()),
        _ => {
            let cause = format!("targets {} {:?} for {n_classes} classes", target.dtype(), &shape[..]);
            Err(Error::argument(cause, "give classes, [batch] of integers, or probabilities, [batch, classes] of floats"))
        }
    }
}

/// A number of the distribution Beta(alpha, alpha).
fn beta(alpha: f64, rng: &mut Rng) -> Result<f64> {
    if !alpha.is_finite() || alpha <= 0.0 {
        return Err(Error::argument(format!("mixing with alpha {alpha}"), "use a finite number above 0"));
    }
    // Logarithms of gamma numbers: with a small alpha the numbers themselves underflow.
    let (x, y) = (log_gamma(alpha, rng), log_gamma(alpha, rng));
    Ok(1.0 / (1.0 + (y - x).exp()))
}

/// The logarithm of a number of the gamma distribution (Marsaglia and Tsang, *A simple method for generating gamma variables*, 2000).
fn log_gamma(shape: f64, rng: &mut Rng) -> f64 {
    if shape < 1.0 {
        return log_gamma(shape + 1.0, rng) + (1.0 - rng.uniform()).ln() / shape;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = rng.normal();
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && (1.0 - rng.uniform()).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d.ln() + v.ln();
        }
    }
}

/// A scalar that another value of does not ask for another plan.
fn number(value: f64, like: &Tensor) -> Result<Tensor> {
    Ok(Tensor::scalar(value, like.dtype(), &like.device()?))
}

fn mixed(x: &Tensor, share: f64) -> Result<Tensor> {
    (x * &number(share, x)? + &(x.roll(1, 0) * &number(1.0 - share, x)?)).check()
}

/// Mixup (Zhang et al., arXiv:1710.09412): each image with the one before it in the batch, and its label likewise; the share is of Beta(alpha, alpha).
///
/// Inputs are floats; targets are classes `[batch]` or probabilities, and become probabilities `[batch, n_classes]`, which cross entropy takes.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_data::transform::mixup;
/// use unigrad_nn::random::Rng;
/// use unigrad_tensor::{DType, Device, Tensor};
/// let device = Device::open("cpu")?;
/// let (images, labels) = (Tensor::ones([2, 1, 4, 4], DType::F32, &device), Tensor::new([0i64, 2], &device));
/// let (images, labels) = mixup(&images, &labels, 3, 0.2, &mut Rng::new(1, 0))?;
/// assert_eq!(labels.sum([1]).to_vec::<f32>()?, [1.0, 1.0]);
/// # Ok::<(), unigrad_nn::Error>(())
/// ```
pub fn mixup(input: &Tensor, target: &Tensor, n_classes: usize, alpha: f64, rng: &mut Rng) -> Result<(Tensor, Tensor)> {
    let share = beta(alpha, rng)?;
    Ok((mixed(input, share)?, mixed(&soft(target, n_classes)?, share)?))
}

/// CutMix (Yun et al., arXiv:1905.04899): a rectangle of each image is that of the one before it in the batch, and its label in proportion to the area.
pub fn cutmix(input: &Tensor, target: &Tensor, n_classes: usize, alpha: f64, rng: &mut Rng) -> Result<(Tensor, Tensor)> {
    let (_, _, h, w) = sizes(input, "cutmix")?;
    let share = beta(alpha, rng)?;
    let (middle_y, middle_x) = (rng.below(h), rng.below(w));
    let half = 0.5 * (1.0 - share).sqrt();
    let (half_y, half_x) = ((half * h as f64) as usize, (half * w as f64) as usize);
    let (top, left) = (middle_y.saturating_sub(half_y), middle_x.saturating_sub(half_x));
    let (height, width) = ((middle_y + half_y).min(h) - top, (middle_x + half_x).min(w) - left);
    let share = 1.0 - (height * width) as f64 / (h * w).max(1) as f64;
    let inside = rectangles(&[(top, left, height, width)], h, w, &input.device()?);
    let images = inside.where_(&input.roll(1, 0), input).check()?;
    Ok((images, mixed(&soft(target, n_classes)?, share)?))
}
