//! Products of `f32` where TF32 is allowed, by drivers' own programs: whatever the sizes, strides and epilogues, each element is the exact one but for two roundings to
//! 11 bits of each of its terms. A program of its own, for settings of the process decide which programs there are.

use unigrad::prelude::*;
use unigrad_device::{Config, Products};
use unigrad_tensor::f16;

/// Sides of results around those of tiles, which are powers of two from 16 to 256 (`native/tf32` in `unigrad-gpu`).
const SIDES: [usize; 12] = [1, 5, 15, 16, 17, 32, 33, 64, 72, 127, 128, 260];
/// Lengths of sums around stages of 32, two of which are a round, and around parts of 256.
const LENGTHS: [usize; 15] = [16, 31, 32, 33, 63, 64, 65, 96, 128, 160, 255, 256, 511, 800, 1057];

/// What is done with a product.
#[derive(Clone, Copy, Debug)]
enum After {
    Nothing,
    /// `relu(y + bias)`, of one number a column.
    Bias,
    /// `y * sigmoid(gate) + gate`, of one number a point.
    Gate,
    /// The same, and `y` itself: two results.
    Both,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    batch: usize,
    sizes: [usize; 3],
    /// Whether operands lie transposed in memory.
    turned: [bool; 2],
    /// Whether they are halves there, which are cast while they are read.
    halves: [bool; 2],
    after: After,
}

fn numbers(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + seed * 104_729 + i * i % 8191) % 100_003) as f32 / 50_001.5 - 1.0).collect()
}

/// Why a product is wrong; how far it is from what it is without roundings, as a share of what it may be.
fn check(device: &Device, case: &Case) -> Result<f64, String> {
    let Case { batch, sizes: [m, n, k], turned, halves, after } = *case;
    let (mut a, mut b, bias, gate) = (numbers(batch * m * k, 1), numbers(batch * k * n, 2), numbers(n, 3), numbers(batch * m * n, 4));
    for (numbers, _) in [&mut a, &mut b].into_iter().zip(halves).filter(|(_, is_half)| *is_half) {
        numbers.iter_mut().for_each(|x| *x = f16::from_f32(*x).to_f32());
    }
    let tensor = |values: &[f32], shape: [usize; 3]| Tensor::from_vec(values.to_vec(), shape, device);
    let operand = |values: &[f32], [rows, columns]: [usize; 2], turned: bool, is_half: bool| {
        let x = tensor(values, if turned { [batch, columns, rows] } else { [batch, rows, columns] });
        let x = if is_half { x.cast(DType::F16).realize()?.cast(DType::F32) } else { x.realize()? };
        Ok::<Tensor, unigrad::Error>(if turned { x.transpose(1, 2) } else { x })
    };
    let run = || -> unigrad::Result<Vec<Vec<f32>>> {
        let y = operand(&a, [m, k], turned[0], halves[0])?.matmul(&operand(&b, [k, n], turned[1], halves[1])?);
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
    for item in 0..batch {
        for row in 0..m {
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
                // Two factors, each rounded to nearest at 11 bits; the rest is `f32`'s.
                let allowed = size / 1024.0 * 1.01 + 1e-5 * (1.0 + sum.abs());
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

fn cases() -> Vec<Case> {
    let afters = [After::Nothing, After::Bias, After::Gate, After::Both];
    let mut cases = Vec::new();
    for (i, m) in SIDES.into_iter().enumerate() {
        for (j, n) in SIDES.into_iter().enumerate() {
            let at = i * SIDES.len() + j;
            let sizes = [m, n, LENGTHS[(i + 4 * j) % LENGTHS.len()]];
            let turned = [at % 2 == 1, at / 2 % 2 == 1];
            let halves = [at % 5 == 1, at % 3 == 1];
            cases.push(Case { batch: if at % 7 == 3 { 3 } else { 1 }, sizes, turned, halves, after: afters[(i + j) % 4] });
        }
    }
    // Few tiles of many stages, many of few, parts of a long sum, and steps of a recurrent layer.
    for sizes in [[64, 512, 784], [512, 256, 1024], [512, 1024, 256], [32, 32, 6000], [260, 40, 4100], [1000, 24, 96]] {
        for (at, after) in afters.into_iter().enumerate() {
            cases.push(Case { batch: 1, sizes, turned: [at % 2 == 0, at / 2 == 0], halves: [at == 1, at > 1], after });
        }
    }
    // For warpgroups (`native/tf32_wgmma`): operands with runs of four elements either way, tiles of 128 by 128 and 256 that reach beyond them, stages of 32 from one on, and parts.
    for (i, sizes) in [[128, 256, 32], [132, 68, 4], [68, 260, 100], [260, 132, 1028], [128, 128, 2052]].into_iter().enumerate() {
        for (at, after) in afters.into_iter().enumerate() {
            cases.push(Case {
                batch: 1 + i % 2,
                sizes,
                turned: [at % 2 == 0, at / 2 == 0],
                halves: [false; 2],
                after: if i > 2 { After::Nothing } else { after },
            });
        }
    }
    cases
}

#[test]
fn own_products_of_tf32_are_exact_to_ten_bits() {
    Config { allow_tf32: true, products: Products::Own, ..Config::clone(&Config::current_or_default()) }.apply();
    let (mut wrong, mut taken) = (Vec::new(), None);
    for device in unigrad_testing::fast_devices() {
        let has_tf32 = device.backend() == "cuda";
        // Elsewhere nothing is rounded, and a few cases tell that they work.
        for case in cases().iter().step_by(if has_tf32 { 1 } else { 17 }) {
            match check(&device, case) {
                Ok(far) if has_tf32 => taken = Some(taken.unwrap_or(0f64).max(far)),
                Ok(_) => {}
                Err(error) => wrong.push(error),
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    match taken {
        // Sums of `f32` are a thousand times nearer.
        Some(far) => assert!(far > 0.02, "no product was of TF32: {far}"),
        None => println!("SKIPPED: no device here multiplies TF32; only the CPU is compared"),
    }
}
