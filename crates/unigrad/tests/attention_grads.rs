//! Gradients of attention against the float64 oracle, on every device of this machine and with every target of the interpreter: numbers of queries
//! and keys at the edges of the kernels' blocks, heads that share keys, positions of one and of each sequence, masks, dropout, every float dtype.

mod attention_case;

use attention_case::{Case, check, devices, in_pages, numbers};
use unigrad::prelude::*;
use unigrad_testing::selection::compiles_slowly;

/// Edge of a block of threads (`Shape` in `unigrad-gpu/src/lower/attention/tile.rs`): with more rows than this, a thread has several.
const EDGE: usize = 16;
/// Features of scores that are staged at a time there.
const DEPTH: usize = 32;

/// Cases of each size in [`cases`].
const KINDS: usize = 4;
/// The one of each size for devices whose compilers are slow: each kind, and the plain one where a thread has two rows, all of them or not.
const ON_SLOW: [usize; 6] = [1, 0, 3, 2, 0, 1];

/// Every size at the edge of a block: plain attention of grouped heads, positions of each sequence, a mask or dropout, another dtype.
fn cases() -> Vec<Case> {
    let plain = Case {
        batch: 1,
        heads: 4,
        groups: 2,
        queries: EDGE,
        keys: 12,
        features: 8,
        values: 16,
        kv_len: 9,
        q_offset: -2,
        each: false,
        page: None,
        causal: false,
        window: None,
        dropout: false,
        dtype: DType::F32,
        tf32: false,
    };
    let mut cases = Vec::new();
    for (i, queries) in [EDGE, EDGE + 1, 20, 2 * EDGE - 1, 2 * EDGE, 2 * EDGE + 1].into_iter().enumerate() {
        let one = Case { queries, ..plain };
        cases.push(one);
        cases.push(Case { batch: 2, each: true, causal: true, ..one });
        cases.push(match i % 3 {
            0 => Case { causal: true, window: Some(3), q_offset: 0, keys: EDGE + 1, kv_len: EDGE, ..one },
            1 => Case { dropout: true, keys: 2 * EDGE + 1, kv_len: 2 * EDGE + 1, ..one },
            _ => Case { window: Some(5), q_offset: 3, features: DEPTH + EDGE / 2, values: 3, ..one },
        });
        let dtype = [DType::F16, DType::BF16, DType::F64][i % 3];
        cases.push(Case { dtype, causal: i % 2 == 0, dropout: i % 2 == 1, keys: 2 * EDGE, kv_len: 2 * EDGE - 1, ..one });
    }
    cases
}

#[test]
fn gradients_are_the_oracles_at_the_edges_of_blocks() {
    let mut wrong = Vec::new();
    for device in unigrad_testing::selection::without_slowest(devices()) {
        let lacking = unigrad_testing::without_f64(&device);
        if lacking.is_some() {
            println!("{device}: not run in f64, which it lacks");
        }
        let is_slow = compiles_slowly(&device);
        for (i, case) in cases().into_iter().enumerate() {
            let is_chosen = !is_slow || ON_SLOW[i / KINDS] == i % KINDS;
            if is_chosen && (case.dtype != DType::F64 || lacking.is_none()) {
                wrong.extend(check(&device, case).err());
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Keys of the largest workgroup, and its queries at a time with 128 features (`native/hopper_gradients.rs` in `unigrad-gpu`); with 64 features it has
/// twice as many, and other workgroups have half as many keys.
const ROWS: usize = 128;
const COLUMNS: usize = 64;

/// Halves, heads of 64 and 128 features, and lengths at the edges of the blocks that matrix instructions have, where a device has its own words for them.
#[test]
fn gradients_by_matrix_instructions_are_the_oracles() {
    let mut devices = devices();
    devices.retain(|device| ["cuda", "cpu"].contains(&device.backend()));
    if devices.iter().all(|device| device.backend() != "cuda") {
        println!("SKIPPED: no device here has words of its own for these instructions; only the CPU is compared");
    }
    let plain = Case::plain(ROWS, DType::BF16);
    let mut cases = in_pages(plain, DType::BF16);
    cases.extend(in_pages(plain, DType::F16));
    let lengths = [COLUMNS - 1, COLUMNS, COLUMNS + 1, ROWS - 1, ROWS, ROWS + 1, ROWS + COLUMNS, 2 * ROWS + 1];
    for (i, n) in lengths.into_iter().enumerate() {
        let features = [64, 128][i % 2];
        let one = Case { queries: n, keys: n, kv_len: n, features, values: features, dtype: [DType::BF16, DType::F16][i / 2 % 2], ..plain };
        cases.push(Case { causal: true, ..one });
        cases.push(Case { heads: 4, kv_len: n - 3, features: 192 - features, values: 192 - features, ..one });
        cases.push(Case { causal: true, window: Some(COLUMNS - 5), heads: 4, ..one });
        cases.push(Case { keys: n + 70, kv_len: n + 70, causal: true, q_offset: 70, batch: 2, each: i % 2 == 0, ..one });
        cases.push(Case {
            keys: n + 50,
            kv_len: n + 40,
            q_offset: -20,
            causal: true,
            features: 192 - features,
            values: 192 - features,
            ..one
        });
    }
    // Many blocks, to whose gradients workgroups add in turns: some meet no key, some few, and lengths differ from sequence to sequence.
    let long = 5 * ROWS + 3;
    for (i, features) in [64, 128].into_iter().enumerate() {
        let dtype = [DType::BF16, DType::F16][i];
        let one = Case { queries: long, keys: long, kv_len: long, features, values: features, dtype, ..plain };
        cases.push(Case { causal: true, ..one });
        cases.push(one);
        cases.push(Case { causal: true, heads: 6, batch: 2, each: true, kv_len: 3 * ROWS + 1, q_offset: -(2 * ROWS as i64) - 7, ..one });
        cases.push(Case { causal: true, window: Some(ROWS + 9), q_offset: ROWS as i64 + 5, ..one });
        cases.push(Case { window: Some(1), causal: true, q_offset: 2, ..one });
        cases.push(Case { window: Some(2 * ROWS), q_offset: -(3 * ROWS as i64), kv_len: 4 * ROWS - 1, ..one });
        cases.push(Case { kv_len: 0, ..one });
        cases.push(Case { kv_len: 1, causal: true, heads: 4, ..one });
        cases.push(Case { queries: ROWS - 30, kv_len: long - 1, ..one });
        cases.push(Case { keys: ROWS, kv_len: ROWS, ..one });
    }
    let mut wrong = Vec::new();
    for device in devices {
        let few = device.backend() != "cuda";
        wrong.extend(cases.iter().step_by(if few { 15 } else { 1 }).filter_map(|case| check(&device, *case).err()));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Workgroups add to the same sums in turns: the bits are the same each time, also where there are far more workgroups than a device runs at once.
#[test]
fn gradients_have_the_same_bits_each_time() {
    for device in devices() {
        let is_gpu = device.backend() == "cuda";
        for (features, causal) in [(64, true), (128, true), (64, false), (128, false)] {
            let (heads, n) = if is_gpu { (100, 5 * ROWS) } else { (2, ROWS + 1) };
            let [q, k, v] = [1, 2, 3].map(|seed| numbers(&[2, heads, n, features], seed, DType::BF16, &device).requires_grad());
            let weight = numbers(&[2, heads, n, features], 4, DType::BF16, &device);
            let mut first: Option<Vec<Vec<u32>>> = None;
            for _ in 0..if is_gpu { 6 } else { 2 } {
                let y = q.attention(&k, &v, &AttentionOptions { causal, ..AttentionOptions::default() });
                let gradients = grad(&(&y * &weight).sum(()), &[&q, &k, &v]).unwrap();
                Tensor::realize_all(&gradients.iter().collect::<Vec<_>>()).unwrap();
                let bits = |x: &Tensor| x.cast(DType::F32).to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect::<Vec<_>>();
                let bits: Vec<Vec<u32>> = gradients.iter().map(bits).collect();
                let same = first.get_or_insert_with(|| bits.clone()) == &bits;
                assert!(same, "{device}: {features} features, causal {causal}");
            }
        }
    }
}
