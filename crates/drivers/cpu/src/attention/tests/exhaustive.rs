//! Every number of queries, keys and features up to two full tiles or blocks, on every tier: one of them at a time, the others small.
//!
//! Always: sizes come from the kernels' own tables.

use super::super::forward::KEY_TILES;
use super::{Sizes, setup};
use crate::contract::kernel::{Compute, Kernels};
use crate::simd::Tier;
use crate::simd::tests::tiers;
use unigrad_kernel::testing::Rng;
use unigrad_scalar::DType;

fn check(rng: &mut Rng, tier: Tier, dtype: DType, q_len: usize, k_len: usize, (qk_dim, v_dim): (usize, usize)) {
    let sizes = Sizes { batch: 1, heads: 2, kv_heads: 1, q_len, k_len, qk_dim, v_dim };
    let mut s = setup(rng, &sizes, dtype, false);
    let what = format!("{tier:?} {:?} {:?}", s.attention(), s.scalars);
    s.forward(tier, 1);
    s.check_forward(&what);
    s.backward(tier, 1);
    s.check_backward(&what);
}

/// Rows and columns of a full tile, and lanes of a register.
fn tile<T: Compute>(tier: Tier) -> (usize, usize) {
    let Kernels { mr, nr, .. } = T::kernels(tier);
    (*mr, *nr)
}

fn sizes_of(dtype: DType, tile: fn(Tier) -> (usize, usize)) {
    let mut rng = Rng(31);
    for tier in tiers() {
        let (mr, nr) = tile(tier);
        let block = KEY_TILES * mr;
        for q_len in 1..=2 * nr + 1 {
            check(&mut rng, tier, dtype, q_len, mr + 1, (3, 2));
        }
        for k_len in (1..=2 * block + 1).filter(|k| *k <= 2 * mr + 1 || k % mr < 2 || k % 7 == 0) {
            for q_len in [1, 5] {
                check(&mut rng, tier, dtype, q_len, k_len, (2, 3));
            }
        }
        for dim in 1..=2 * nr.max(mr) + 1 {
            check(&mut rng, tier, dtype, 1, 3, (dim, 2));
            check(&mut rng, tier, dtype, 6, 3, (dim, dim + 1));
            check(&mut rng, tier, dtype, 2, 5, (2, dim));
        }
    }
}

#[test]
fn singles() {
    sizes_of(DType::F32, tile::<f32>);
}

#[test]
fn doubles() {
    sizes_of(DType::F64, tile::<f64>);
}

#[test]
fn halves() {
    sizes_of(DType::F16, tile::<f32>);
    sizes_of(DType::BF16, tile::<f32>);
}
