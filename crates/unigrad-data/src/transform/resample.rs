//! Bilinear resampling with antialiasing, as PIL does it: bytes come out as PIL's where it takes columns first (always before version 13, which begins
//! with rows where that is less work), else they differ by at most 1.
//!
//! In: values row after row, sizes. Out: values in the other size. Columns first, then rows; each result is a weighted sum of the pixels within
//! reach, by weights that sum up to 1 (for bytes in 22 bits after the point, rounded after each direction).

/// Bits after the point of a byte's weights: 8 bits of value and the sign leave these of 32, less one (`PRECISION_BITS` of Pillow's `Resample.c`).
const BITS: u32 = 22;

/// The weights of one direction: for each result where its pixels begin, and a weight for each.
struct Weights {
    begins: Vec<usize>,
    /// Where each result's weights end.
    ends: Vec<usize>,
    weights: Vec<f64>,
}

impl Weights {
    fn new(from: usize, to: usize) -> Weights {
        let scale = from as f64 / to as f64;
        // Making a picture larger, a pixel reaches one pixel far.
        let reach = scale.max(1.0);
        let mut all = Weights { begins: Vec::with_capacity(to), ends: Vec::with_capacity(to), weights: Vec::new() };
        for at in 0..to {
            let center = (at as f64 + 0.5) * scale;
            let begin = (center - reach + 0.5).max(0.0) as usize;
            let end = ((center + reach + 0.5) as usize).min(from);
            let first = all.weights.len();
            for pixel in begin..end {
                let distance = ((pixel as f64 - center + 0.5) / reach).abs();
                all.weights.push((1.0 - distance).max(0.0));
            }
            let sum: f64 = all.weights[first..].iter().sum();
            all.weights[first..].iter_mut().for_each(|weight| *weight /= sum);
            all.begins.push(begin);
            all.ends.push(all.weights.len());
        }
        all
    }

    /// For each result where its pixels begin, and its weights, of all of which `weights` is a form.
    fn each<'a, T>(&'a self, weights: &'a [T]) -> impl Iterator<Item = (usize, &'a [T])> {
        let firsts = std::iter::once(0).chain(self.ends.iter().copied());
        self.begins.iter().zip(firsts.zip(&self.ends)).map(|(&begin, (first, &end))| (begin, &weights[first..end]))
    }
}

/// A value's arithmetic.
pub(super) trait Value: Copy {
    /// What sums are made in.
    type Sum: Copy;
    const ZERO: Self;
    /// What a sum begins with.
    const START: Self::Sum;
    fn weight(weight: f64) -> Self::Sum;
    fn add(sum: Self::Sum, weight: Self::Sum, value: Self) -> Self::Sum;
    fn done(sum: Self::Sum) -> Self;
}

impl Value for u8 {
    type Sum = i32;
    const ZERO: u8 = 0;
    const START: i32 = 1 << (BITS - 1);

    fn weight(weight: f64) -> i32 {
        (0.5 + weight * f64::from(1 << BITS)) as i32
    }

    #[inline(always)]
    fn add(sum: i32, weight: i32, value: u8) -> i32 {
        sum + weight * i32::from(value)
    }

    #[inline(always)]
    fn done(sum: i32) -> u8 {
        (sum >> BITS).clamp(0, 255) as u8
    }
}

impl Value for f32 {
    type Sum = f32;
    const ZERO: f32 = 0.0;
    const START: f32 = 0.0;

    fn weight(weight: f64) -> f32 {
        weight as f32
    }

    #[inline(always)]
    fn add(sum: f32, weight: f32, value: f32) -> f32 {
        sum + weight * value
    }

    #[inline(always)]
    fn done(sum: f32) -> f32 {
        sum
    }
}

/// A picture's values in another size. All sizes are above 0, and `values` has `rows * columns * channels` of them.
pub(super) fn resample<T: Value>(
    values: &[T],
    (rows, columns, channels): (usize, usize, usize),
    (height, width): (usize, usize),
) -> Vec<T> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the instructions that it may use are there.
        return unsafe { resample_avx2(values, (rows, columns, channels), (height, width)) };
    }
    resample_in(values, (rows, columns, channels), (height, width))
}

/// The same code, compiled for wider registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn resample_avx2<T: Value>(values: &[T], from: (usize, usize, usize), to: (usize, usize)) -> Vec<T> {
    resample_in(values, from, to)
}

#[inline(always)]
fn resample_in<T: Value>(values: &[T], (rows, columns, channels): (usize, usize, usize), (height, width): (usize, usize)) -> Vec<T> {
    let across = (columns != width).then(|| match channels {
        1 => columns_in::<T, 1, 1>(values, columns, width),
        2 => columns_in::<T, 2, 2>(values, columns, width),
        3 => columns_in::<T, 3, 4>(values, columns, width),
        _ => columns_in::<T, 4, 4>(values, columns, width),
    });
    match across {
        Some(across) if rows == height => across,
        Some(across) => rows_in(&across, rows, width * channels, height),
        None => rows_in(values, rows, width * channels, height),
    }
}

/// Pixels of `C` values in other columns, in sums of `P` lanes: three channels go in four.
#[inline(always)]
fn columns_in<T: Value, const C: usize, const P: usize>(values: &[T], columns: usize, width: usize) -> Vec<T> {
    let weights = Weights::new(columns, width);
    let rounded: Vec<T::Sum> = weights.weights.iter().map(|weight| T::weight(*weight)).collect();
    let mut resized = Vec::with_capacity(values.len() / columns * width);
    let mut row = vec![[T::ZERO; P]; columns];
    for line in values.chunks_exact(columns * C) {
        for (wide, pixel) in row.iter_mut().zip(line.chunks_exact(C)) {
            wide[..C].copy_from_slice(pixel);
        }
        for (begin, weights) in weights.each(&rounded) {
            let mut sums = [T::START; P];
            for (pixel, weight) in row[begin..].iter().zip(weights) {
                for lane in 0..P {
                    sums[lane] = T::add(sums[lane], *weight, pixel[lane]);
                }
            }
            resized.extend(sums[..C].iter().map(|sum| T::done(*sum)));
        }
    }
    resized
}

/// Rows of `stride` values in other rows.
#[inline(always)]
fn rows_in<T: Value>(values: &[T], rows: usize, stride: usize, height: usize) -> Vec<T> {
    /// Columns whose sums are kept in registers.
    const LANES: usize = 32;
    let weights = Weights::new(rows, height);
    let rounded: Vec<T::Sum> = weights.weights.iter().map(|weight| T::weight(*weight)).collect();
    let mut resized = vec![T::ZERO; height * stride];
    for (line, (begin, weights)) in resized.chunks_exact_mut(stride).zip(weights.each(&rounded)) {
        let from = &values[begin * stride..];
        for (at, part) in line.chunks_mut(LANES).enumerate() {
            let mut sums = [T::START; LANES];
            for (row, weight) in weights.iter().enumerate() {
                let pixels = &from[row * stride + at * LANES..][..part.len()];
                // A whole part has a length that the compiler knows.
                if let Ok(pixels) = <&[T; LANES]>::try_from(pixels) {
                    for lane in 0..LANES {
                        sums[lane] = T::add(sums[lane], *weight, pixels[lane]);
                    }
                } else {
                    sums.iter_mut().zip(pixels).for_each(|(sum, pixel)| *sum = T::add(*sum, *weight, *pixel));
                }
            }
            part.iter_mut().zip(sums).for_each(|(value, sum)| *value = T::done(sum));
        }
    }
    resized
}
