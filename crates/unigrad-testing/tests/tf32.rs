//! Products of `f32` where TF32 is allowed, by drivers' own programs: whatever the sizes, strides and epilogues, each element is the exact one but for two roundings to
//! 11 bits of each of its terms. A program of its own, for settings of the process decide which programs there are.

use unigrad_device::{Config, Products};
use unigrad_testing::products::{After, Case, Factors, check};

/// Sides of results around those of tiles, which are powers of two from 16 to 256 (`native/tf32` in `unigrad-gpu`).
const SIDES: [usize; 12] = [1, 5, 15, 16, 17, 32, 33, 64, 72, 127, 128, 260];
/// Lengths of sums around stages of 32, two of which are a round, and around parts of 256.
const LENGTHS: [usize; 15] = [16, 31, 32, 33, 63, 64, 65, 96, 128, 160, 255, 256, 511, 800, 1057];

fn cases() -> Vec<Case> {
    let afters = [After::Nothing, After::Bias, After::Gate, After::Both];
    let mut cases = Vec::new();
    for (i, m) in SIDES.into_iter().enumerate() {
        for (j, n) in SIDES.into_iter().enumerate() {
            let at = i * SIDES.len() + j;
            let sizes = [m, n, LENGTHS[(i + 4 * j) % LENGTHS.len()]];
            let turned = [at % 2 == 1, at / 2 % 2 == 1];
            let halves = [at % 5 == 1, at % 3 == 1];
            cases.push(Case {
                factors: Factors::Rounded,
                batch: if at % 7 == 3 { 3 } else { 1 },
                sizes,
                turned,
                halves,
                after: afters[(i + j) % 4],
            });
        }
    }
    // Few tiles of many stages, many of few, parts of a long sum, and steps of a recurrent layer.
    for sizes in [[64, 512, 784], [512, 256, 1024], [512, 1024, 256], [32, 32, 6000], [260, 40, 4100], [1000, 24, 96]] {
        for (at, after) in afters.into_iter().enumerate() {
            cases.push(Case {
                factors: Factors::Rounded,
                batch: 1,
                sizes,
                turned: [at % 2 == 0, at / 2 == 0],
                halves: [at == 1, at > 1],
                after,
            });
        }
    }
    // For warpgroups (`native/tf32_wgmma`): operands with runs of four elements either way, tiles of 128 by 128 and 256 that reach beyond them, stages of 32 from one on, and parts.
    for (i, sizes) in [[128, 256, 32], [132, 68, 4], [68, 260, 100], [260, 132, 1028], [128, 128, 2052]].into_iter().enumerate() {
        for (at, after) in afters.into_iter().enumerate() {
            cases.push(Case {
                factors: Factors::Rounded,
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
