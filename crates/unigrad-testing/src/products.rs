//! Products against sums of 64-bit floats: what operands are rounded to, where they lie, and what is done with sums.
//!
//! In: a device, a case. Out: how far its worst element is from the exact one, as a share of what roundings allow.

use unigrad::prelude::*;
use unigrad_tensor::{bf16, f16};

/// Multiplications that are done again, about.
const MOST_TERMS: usize = 1 << 23;

/// What is multiplied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Factors {
    /// `F32` as it is.
    Single,
    /// `F32`, of which 11 bits count.
    Rounded,
    /// A half type; results have it as well.
    Half(DType),
}

/// What is done with a product.
#[derive(Clone, Copy, Debug)]
pub enum After {
    /// They are the result.
    Nothing,
    /// `relu(y + bias)`, of one number a column.
    Bias,
    /// `y * sigmoid(gate) + gate`, of one number a point.
    Gate,
    /// The same, and `y` itself: two results.
    Both,
}

/// A product.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Independent products.
    pub batch: usize,
    /// Rows, columns, length of the sums.
    pub sizes: [usize; 3],
    /// What is multiplied.
    pub factors: Factors,
    /// Whether operands lie transposed in memory.
    pub turned: [bool; 2],
    /// Whether they are halves there, which are cast while they are read.
    pub halves: [bool; 2],
    /// What is done with sums.
    pub after: After,
}

fn numbers(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + seed * 104_729 + i * i % 8191) % 100_003) as f32 / 50_001.5 - 1.0).collect()
}

/// How a device multiplies.
///
/// # Errors
///
/// Why a product is wrong; else how far it is from what it is without roundings, as a share of what it may be.
pub fn check(device: &Device, case: &Case) -> Result<f64, String> {
    let Case { batch, sizes: [m, n, k], factors, turned, halves, after } = *case;
    let (mut a, mut b, bias, gate) = (numbers(batch * m * k, 1), numbers(batch * k * n, 2), numbers(n, 3), numbers(batch * m * n, 4));
    for (numbers, _) in [&mut a, &mut b].into_iter().zip(halves).filter(|(_, is_half)| *is_half) {
        numbers.iter_mut().for_each(|x| *x = f16::from_f32(*x).to_f32());
    }
    for numbers in [&mut a, &mut b] {
        match factors {
            Factors::Half(DType::F16) => numbers.iter_mut().for_each(|x| *x = f16::from_f32(*x).to_f32()),
            Factors::Half(_) => numbers.iter_mut().for_each(|x| *x = bf16::from_f32(*x).to_f32()),
            Factors::Single | Factors::Rounded => {}
        }
    }
    let tensor = |values: &[f32], shape: [usize; 3]| Tensor::from_vec(values.to_vec(), shape, device);
    let operand = |values: &[f32], [rows, columns]: [usize; 2], turned: bool, is_half: bool| {
        let x = tensor(values, if turned { [batch, columns, rows] } else { [batch, rows, columns] });
        let x = match factors {
            Factors::Half(dtype) => x.cast(dtype).realize()?,
            Factors::Single | Factors::Rounded if is_half => x.cast(DType::F16).realize()?.cast(DType::F32),
            Factors::Single | Factors::Rounded => x.realize()?,
        };
        Ok::<Tensor, unigrad::Error>(if turned { x.transpose(1, 2) } else { x })
    };
    let run = || -> unigrad::Result<Vec<Vec<f32>>> {
        let y = operand(&a, [m, k], turned[0], halves[0])?.matmul(&operand(&b, [k, n], turned[1], halves[1])?);
        let y = y.cast(DType::F32);
        let gate = tensor(&gate, [batch, m, n]).realize()?;
        let bias = Tensor::from_vec(bias.clone(), [n], device).realize()?;
        let wanted = match after {
            After::Nothing => vec![y],
            After::Bias => vec![(y + bias).relu()],
            After::Gate => vec![y * gate.sigmoid() + &gate],
            After::Both => vec![&y * gate.sigmoid() + &gate, y],
        };
        Tensor::realize_all(&wanted.iter().collect::<Vec<_>>())?;
        wanted.iter().map(|x| x.to_vec::<f32>()).collect()
    };
    let got = run().map_err(|error| format!("{device}, {case:?}: {error}"))?;
    let at = |[rows, columns]: [usize; 2], turned: bool, item: usize, row: usize, column: usize| {
        item * rows * columns + if turned { column * rows + row } else { row * columns + column }
    };
    let mut most = 0f64;
    // Of large products some rows, of every place in a tile.
    let step = (batch * m * n * k).div_ceil(MOST_TERMS) | 1;
    for item in 0..batch {
        for row in (0..m).step_by(step) {
            for column in 0..n {
                let (mut sum, mut size) = (0f64, 0f64);
                for term in 0..k {
                    let x = f64::from(a[at([m, k], turned[0], item, row, term)]) * f64::from(b[at([k, n], turned[1], item, term, column)]);
                    sum += x;
                    size += x.abs();
                }
                let point = (item * m + row) * n + column;
                let gate = f64::from(gate[point]);
                let gated = sum / (1.0 + (-gate).exp()) + gate;
                let want = match after {
                    After::Nothing => vec![sum],
                    After::Bias => vec![(sum + f64::from(bias[column])).max(0.0)],
                    After::Gate => vec![gated],
                    After::Both => vec![gated, sum],
                };
                // Two factors, each rounded to nearest at 11 bits; a result that is rounded; the rest is `f32`'s.
                let rounded = match factors {
                    Factors::Single => 0.0,
                    Factors::Rounded => size / 1024.0 * 1.01,
                    Factors::Half(DType::F16) => sum.abs() / 2048.0 * 1.01,
                    Factors::Half(_) => sum.abs() / 256.0 * 1.01,
                };
                let allowed = rounded + 1e-6 * size + 1e-5 * (1.0 + sum.abs());
                for (got, want) in got.iter().zip(want) {
                    let far = (f64::from(got[point]) - want).abs() / allowed;
                    if far.is_nan() || far > 1.0 {
                        return Err(format!("{device}, {case:?}: {} for {want} at {item}, {row}, {column}", got[point]));
                    }
                    most = most.max(far);
                }
            }
        }
    }
    Ok(most)
}
