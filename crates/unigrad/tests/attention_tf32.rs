//! Attention of `F32` where TF32 is allowed. The setting is the process's: no other test stands here.

mod attention_case;

use attention_case::{Case, check, devices, in_pages};
use unigrad::{device::Config, prelude::*};

/// Rows of a workgroup forward and backward, and columns of a block (`native/attention` in `unigrad-gpu`).
const ROWS: usize = 128;
const COLUMNS: usize = 64;

#[test]
fn attention_of_tf32_is_the_oracles_to_ten_bits() {
    let mut devices = devices();
    devices.retain(|device| ["cuda", "cpu"].contains(&device.backend()));
    let plain = Case { tf32: true, ..Case::plain(ROWS, DType::F32) };
    let mut cases = in_pages(plain, DType::F32);
    let lengths = [COLUMNS / 2 + 17, COLUMNS - 1, COLUMNS, COLUMNS + 1, ROWS - 1, ROWS, ROWS + 1, 2 * ROWS + 1, 5 * ROWS + 3];
    for (i, n) in lengths.into_iter().enumerate() {
        let features = [64, 128][i % 2];
        let one = Case { queries: n, keys: n, kv_len: n, features, values: features, ..plain };
        let other = Case { features: 192 - features, values: 192 - features, ..one };
        cases.push(Case { causal: true, ..one });
        cases.push(Case { heads: 4, kv_len: n - 3, ..other });
        cases.push(Case { causal: true, window: Some(COLUMNS - 5), heads: 4, ..one });
        cases.push(Case { keys: n + 70, kv_len: n + 70, causal: true, q_offset: 70, batch: 2, each: i % 2 == 0, ..one });
        cases.push(Case { keys: n + 50, kv_len: n + 40, q_offset: -20, causal: true, ..other });
        // What other programs have.
        cases.push(Case { dropout: true, causal: true, ..one });
        cases.push(Case { features: features - 3, values: features - 5, ..one });
    }
    cases.push(Case { kv_len: 0, ..plain });
    Config::set_allow_tf32(true).unwrap();
    let mut wrong = Vec::new();
    for device in &devices {
        let step = if device.backend() == "cuda" { 1 } else { 11 };
        wrong.extend(cases.iter().step_by(step).filter_map(|case| check(device, *case).err()));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let Some(gpu) = devices.iter().find(|device| device.backend() == "cuda") else {
        println!("SKIPPED: no device here multiplies TF32; only the CPU is compared");
        return;
    };
    // To the 23 bits that the CPU has it is not, or the instructions were not taken.
    let exact = check(gpu, Case { tf32: false, causal: true, ..plain });
    assert!(exact.is_err(), "{gpu}: no product was of TF32");
    Config::set_allow_tf32(false).unwrap();
    assert_eq!(check(gpu, Case { tf32: false, causal: true, ..plain }), Ok(()));
}
