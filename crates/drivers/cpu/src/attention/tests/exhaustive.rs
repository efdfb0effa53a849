//! Every number of queries, keys and features up to two full tiles or blocks, on every tier: one of them at a time, the others small.
//!
//! Always: sizes come from the kernels' own tables.

use super::super::{decode::CHUNK, forward::KEY_TILES, math::ADDED};
use super::{Sizes, setup};
use crate::contract::kernel::{Compute, Kernels};
use crate::simd::Tier;
use crate::simd::tests::tiers;
use unigrad_kernel::testing::Rng;
use unigrad_scalar::{DType, Literal};

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

/// Few queries: numbers of keys around those after which sums are added up and chunks end, grouped heads, windows; keys that no query sees are NaN.
fn decoding_of(dtype: DType, lanes: fn(Tier) -> usize) {
    let mut rng = Rng(37);
    for tier in tiers() {
        let added = ADDED * lanes(tier);
        let edges = [1, lanes(tier), added, 2 * added, CHUNK, CHUNK + added, 2 * CHUNK].into_iter();
        for (i, k_len) in edges.flat_map(|edge| edge.max(2) - 1..=edge + 1).enumerate() {
            let (heads, kv_heads) = [(1, 1), (2, 1), (4, 2), (3, 3)][i % 4];
            for q_len in 1..=3 {
                for seen in [k_len, k_len.div_ceil(2)] {
                    let sizes =
                        Sizes { batch: 2, heads, kv_heads, q_len, k_len: k_len + 3, qk_dim: [1, 8, 19][i % 3], v_dim: [5, 8, 33][i % 3] };
                    let mut s = setup(&mut rng, &sizes, dtype, true);
                    s.grad.forward.spec.window = (i % 2 == 1).then_some(seen.div_ceil(3));
                    // The last query sees so many keys.
                    s.scalars = vec![sizes.k_len as u64, (seen as i64 - q_len as i64) as u64];
                    let of_a_head = sizes.k_len * kv_heads;
                    for (arg, features) in [(1, sizes.qk_dim), (2, sizes.v_dim)] {
                        for row in (0..2 * of_a_head).filter(|row| row % of_a_head / kv_heads >= seen) {
                            (0..features).for_each(|f| s.memory[arg].set(row * features + f, Literal::float(dtype, f64::NAN)));
                        }
                    }
                    let what = format!("{tier:?} {:?} {:?}", s.attention(), s.scalars);
                    s.forward(tier, 1 + i % 3);
                    s.check_forward(&what);
                }
            }
        }
    }
}

#[test]
fn few_queries() {
    decoding_of(DType::F32, |tier| f32::kernels(tier).lanes);
    decoding_of(DType::F64, |tier| f64::kernels(tier).lanes);
    decoding_of(DType::F16, |tier| f32::kernels(tier).lanes);
    decoding_of(DType::BF16, |tier| f32::kernels(tier).lanes);
}
