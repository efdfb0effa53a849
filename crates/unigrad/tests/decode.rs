//! A decode loop: the position grows, the plan stays.

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
