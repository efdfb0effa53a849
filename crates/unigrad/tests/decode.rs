//! A decode loop: the position grows, the plan stays; and the products of a few tokens at a time, on every device of this machine.

use std::sync::{Mutex, MutexGuard, PoisonError};
use unigrad::prelude::*;
use unigrad::tensor::eval;

const MAX: usize = 12;

/// Counts are the process's: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn random(shape: &[usize], device: &Device) -> Tensor {
    Tensor::randn(shape.to_vec(), DType::F32, device).realize().unwrap()
}

/// One step: writes a key and a value at `position`, and attends to what is there.
fn step(keys: &Tensor, values: &Tensor, q: &Tensor, k: &Tensor, v: &Tensor, position: usize, device: &Device) -> Tensor {
    let at = Tensor::scalar(position as f64, DType::I64, device);
    keys.assign(&keys.dyn_update(2, k, &at)).unwrap();
    values.assign(&values.dyn_update(2, v, &at)).unwrap();
    let options = AttentionOptions {
        causal: true,
        kv_len: Some((position + 1).into()),
        q_offset: Some(position.into()),
        ..AttentionOptions::default()
    };
    q.attention(keys, values, &options)
}

#[test]
fn the_plan_of_a_decode_loop_is_made_once_and_its_values_are_right() {
    let _alone = alone();
    let device = Device::open("cpu").unwrap();
    let (heads, groups, features) = (4, 2, 8);
    let all_q = random(&[1, heads, MAX, features], &device);
    let all_k = random(&[1, groups, MAX, features], &device);
    let all_v = random(&[1, groups, MAX, features], &device);
    let options = AttentionOptions { causal: true, ..AttentionOptions::default() };
    let whole = all_q.attention(&all_k, &all_v, &options);

    let keys = Tensor::zeros([1, groups, MAX, features], DType::F32, &device).realize().unwrap();
    let values = Tensor::zeros([1, groups, MAX, features], DType::F32, &device).realize().unwrap();
    let mut before = eval::stats();
    for position in 0..MAX {
        // Realized parts, as a model's projections would be made in the same plan.
        let part = |x: &Tensor| x.dyn_slice(2, &Tensor::scalar(position as f64, DType::I64, &device), 1);
        let out = step(&keys, &values, &part(&all_q), &part(&all_k), &part(&all_v), position, &device).realize().unwrap();
        let after = eval::stats();
        if position > 1 {
            assert_eq!((after.plans_built, after.compiles), (before.plans_built, before.compiles), "position {position}");
        }
        before = after;
        let want = whole.narrow(2, position, 1);
        let off = (out - want).abs().max(()).item::<f32>().unwrap();
        assert!(off < 1e-5, "position {position}: {off} off");
        before.plans_built = eval::stats().plans_built;
        before.compiles = eval::stats().compiles;
    }
}

#[test]
fn lengths_may_be_computed_on_the_device() {
    let _alone = alone();
    let device = Device::open("cpu").unwrap();
    let [q, k, v] = [(); 3].map(|()| random(&[1, 2, 3, 4], &device));
    let length = (Tensor::from_slice(&[1i64], [1], &device).sum(()) + 1).realize().unwrap();
    let options = |kv_len| AttentionOptions { kv_len: Some(kv_len), ..AttentionOptions::default() };
    let computed = q.attention(&k, &v, &options((&length).into())).to_vec::<f32>().unwrap();
    let given = q.attention(&k, &v, &options(2.into())).to_vec::<f32>().unwrap();
    assert!(computed.iter().zip(&given).all(|(a, b)| (a - b).abs() < 1e-5));
}

/// How a step's cache is written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cache {
    Rows,
    /// Only where a condition is true.
    Guarded,
    Pages,
}

/// Positions are data, so that an index out of range is found by the device, and what is assigned is undone there; what reads the cache in the same
/// evaluation reads the memory that is written.
#[test]
fn what_is_written_is_read_where_it_is() {
    let _alone = alone();
    for device in unigrad_testing::devices().into_iter().filter(|device| !device.name().starts_with("null")) {
        for how in [Cache::Rows, Cache::Guarded, Cache::Pages] {
            let place = format!("{device} {how:?}");
            let (heads, groups, features, page) = (4, 2, 8, 4);
            let all = |heads: usize| random(&[1, heads, MAX, features], &device);
            let (all_q, all_k, all_v) = (all(heads), all(groups), all(groups));
            let causal = AttentionOptions { causal: true, ..AttentionOptions::default() };
            let whole = all_q.attention(&all_k, &all_v, &causal).realize().unwrap();
            let shape = if how == Cache::Pages { [MAX / page, page, groups, features] } else { [1, groups, MAX, features] };
            let cache = [(); 2].map(|()| Tensor::zeros(shape, DType::F32, &device).realize().unwrap());
            let table = Tensor::new([[2i64, 0, 1]], &device).realize().unwrap();
            // A write at `at` of the token `token`, and attention over what is there then.
            let step = |token: usize, at: i64, allowed: bool| {
                let at = Tensor::new([at], &device).realize().unwrap();
                let [q, k, v] = [&all_q, &all_k, &all_v].map(|x| x.narrow(2, token, 1).contiguous().realize().unwrap());
                let condition = Tensor::new([allowed], &device).realize().unwrap();
                for (cache, part) in cache.iter().zip([k, v]) {
                    let written = match how {
                        Cache::Rows | Cache::Guarded => cache.dyn_update(2, &part, &at.reshape([0; 0])),
                        Cache::Pages => cache.paged_update(&part.transpose(1, 2), &table, &at),
                    };
                    match how {
                        Cache::Guarded => cache.assign_if(&written, &condition).unwrap(),
                        Cache::Rows | Cache::Pages => cache.assign(&written).unwrap(),
                    }
                }
                let options = AttentionOptions {
                    kv_len: Some((&(&at + 1)).into()),
                    q_offset: Some((&at).into()),
                    page_table: (how == Cache::Pages).then(|| table.clone()),
                    ..causal.clone()
                };
                q.attention(&cache[0], &cache[1], &options)
            };
            let values = |x: &Tensor| x.to_vec::<f32>().unwrap_or_else(|error| panic!("{place}: {error}"));
            let held = || cache.iter().map(values).collect::<Vec<_>>();
            for position in 0..MAX {
                let at = |bad: bool| if bad { MAX as i64 + 1 } else { position as i64 };
                let before = held();
                if position % 5 == 2 {
                    let error = step(position, at(true), true).to_vec::<f32>().expect_err(&place).to_string();
                    assert!(error.contains("out of range"), "{place}: {error}");
                    assert_eq!(held(), before, "{place}: what failed has changed something");
                    let _ = device.synchronize();
                }
                if how == Cache::Guarded && position % 4 == 1 {
                    step(0, at(false), false).realize().unwrap();
                    assert_eq!(held(), before, "{place}: the condition was false");
                }
                let got = step(position, at(false), true).realize().unwrap_or_else(|error| panic!("{place}: {error}"));
                let off = (got - whole.narrow(2, position, 1)).abs().max(()).item::<f32>().unwrap();
                assert!(off < 1e-5, "{place} position {position}: {off} off");
            }
            // What fails beside it, and is not read here, undoes the write; then what was read from it is no result either.
            let before = held();
            let wrong = Tensor::new([99i64], &device).realize().unwrap();
            let beside = all_q.index_select(2, &wrong);
            let read = step(1, 0, true);
            let _ = Tensor::realize_all(&[&read, &beside]);
            let after = held();
            assert_eq!(after, before, "{place}: what failed beside it");
            assert!(beside.to_vec::<f32>().is_err(), "{place}");
            if let Ok(values) = read.to_vec::<f32>() {
                let want = all_v.narrow(2, 1, 1).to_vec::<f32>().unwrap();
                for head in 0..heads {
                    let group = head / (heads / groups);
                    let (got, want) = (&values[head * features..][..features], &want[group * features..][..features]);
                    assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-5), "{place}: {got:?} of {want:?}");
                }
            }
            let _ = device.synchronize();
        }
    }
}

/// Elements along `k` of a workgroup's turn, rows of a workgroup, and vectors at most (`native/narrow.rs` and `contract/narrow.rs` in `unigrad-gpu`).
const TURN: usize = 4 * 128;
const ROWS: usize = 32;
const VECTORS: usize = 32;

/// Weights times a few vectors, with what layers do around them, against the oracle in float64.
#[test]
fn products_with_few_vectors_are_the_oracles() {
    let _alone = alone();
    let mut wrong = Vec::new();
    for device in unigrad_testing::devices().into_iter().filter(|device| !device.name().starts_with("null")) {
        let is_fast = ["cpu", "cuda"].contains(&device.backend());
        let vectors = [1, 2, 7, 8, 9, VECTORS / 2, VECTORS / 2 + 1, VECTORS - 1, VECTORS, VECTORS + 1];
        let rows = [ROWS / 2 - 1, ROWS, ROWS + 1, 9 * ROWS + 5];
        let ks = [TURN / 2, TURN / 2 + 8, TURN, TURN + 8, 3 * TURN - 8, 100];
        for (i, n) in vectors.into_iter().enumerate() {
            if !is_fast && i % 3 != 1 {
                continue;
            }
            for (j, k) in ks.into_iter().enumerate() {
                if !is_fast && j != i / 3 {
                    continue;
                }
                let (rows, dtype) = (rows[(i + j) % rows.len()], [DType::BF16, DType::F16, DType::F32][(i + 2 * j) % 3]);
                let numbers = |shape: [usize; 2], seed: usize| {
                    let value = |at: usize| ((at * 7919 + seed * 104_729 + 31) % 2003) as f32 / 1001.5 - 1.0;
                    let all = (0..shape[0] * shape[1]).map(value).collect::<Vec<_>>();
                    Tensor::new(all, &device).reshape(shape.to_vec()).cast(dtype).realize().unwrap()
                };
                // Rows of the vectors lie apart, as parts of a joined projection do.
                let x = numbers([n, k + 16], 1).narrow(1, 8, k);
                let (w, bias, residual) = (numbers([rows, k], 2), numbers([1, rows], 3).reshape([rows]), numbers([n, rows], 4));
                let y = match (i + j) % 3 {
                    0 => x.linear(&w, None),
                    1 => &residual + x.linear(&w, Some(&bias)),
                    _ => x.linear(&w, Some(&bias)).relu(),
                };
                let want = unigrad_testing::oracle::evaluate(&[y.expr()]).unwrap();
                let got = unigrad_testing::run::values_of(&y.realize().unwrap()).unwrap();
                let tolerance = unigrad_testing::compare::Tolerance::new(dtype, k);
                if let Err(error) = unigrad_testing::compare::close(&got, &want[0], tolerance) {
                    wrong.push(format!("{device} {n} vectors, {rows} rows, k {k}, {dtype}: {error}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
