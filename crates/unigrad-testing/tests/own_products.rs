//! Products of `f32` and of halves by drivers' own programs: whatever the sizes, strides and epilogues, each element is the exact one but for what its sum and its result are
//! rounded to. A program of its own, for settings of the process decide which programs there are.

use unigrad::prelude::*;
use unigrad_device::{Config, Products};
use unigrad_testing::products::{After, Case, Factors, check};

/// Sides around those of tiles: 64 rows of an instruction, 128 rows, 64 to 256 columns (`contract/tma` and `contract/asynchronous` of `unigrad-gpu`); multiples of 8, and others.
const SIDES: [usize; 10] = [8, 48, 56, 64, 72, 128, 136, 131, 256, 264];
/// Lengths of sums around stages of 64, and around parts of 512.
const LENGTHS: [usize; 9] = [64, 72, 128, 136, 67, 512, 520, 1024, 1096];
/// Products that threads multiply by tiles (2^28 multiplications and more), which reach beyond operands or do not, in parts or not.
const LARGE: [[usize; 3]; 5] = [[1024, 1024, 256], [264, 1000, 1032], [132, 2052, 1000], [516, 136, 4100], [2048, 300, 452]];

fn cases() -> Vec<Case> {
    let afters = [After::Nothing, After::Bias, After::Gate, After::Both];
    let turns = [[false, false], [true, false], [false, true], [true, true]];
    let mut cases = Vec::new();
    for (i, m) in SIDES.into_iter().enumerate() {
        for (j, n) in SIDES.into_iter().enumerate() {
            let at = i * SIDES.len() + j;
            let sizes = [m, n, LENGTHS[(i + 4 * j) % LENGTHS.len()]];
            let factors = Factors::Half([DType::F16, DType::BF16][at % 2]);
            cases.push(Case {
                batch: 1 + at % 3,
                sizes,
                factors,
                turned: turns[(i + j) % 4],
                halves: [false; 2],
                after: afters[at / 2 % 4],
            });
        }
    }
    for (i, sizes) in LARGE.into_iter().enumerate() {
        for (j, turned) in turns.into_iter().enumerate() {
            let after = afters[(i + j) % 4];
            cases.push(Case { batch: 1 + (i + j) % 2, sizes, factors: Factors::Single, turned, halves: [false; 2], after });
            cases.push(Case { batch: 1, sizes, factors: Factors::Half(DType::BF16), turned, halves: [false; 2], after });
        }
    }
    cases
}

#[test]
fn own_products_are_exact_but_for_roundings() {
    Config { products: Products::Own, ..Config::clone(&Config::current_or_default()) }.apply();
    let mut wrong = Vec::new();
    for device in unigrad_testing::fast_devices() {
        // Where there are no tiles of matrix instructions, a few cases tell that products work.
        for case in cases().iter().step_by(if device.backend() == "cuda" { 1 } else { 13 }) {
            wrong.extend(check(&device, case).err());
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
