//! Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) as IR.

use super::lanes::{Lanes, Shape};
use unigrad_ir::{Builder, Value};
use unigrad_scalar::{BinaryOp, DType};

const ROUNDS: u32 = 10;
const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const KEY_STEPS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// The four words of the block with this counter and key.
pub(super) fn words(b: &mut Builder, shape: Shape, counter: [&Lanes; 4], key: [&Lanes; 2]) -> [Lanes; 4] {
    let mut c = counter.map(Clone::clone);
    for round in 0..ROUNDS {
        let key: [Lanes; 2] = [0, 1].map(|i| {
            Lanes::map(b, shape, &[key[i]], |b, v| {
                let step = b.int(DType::U32, KEY_STEPS[i].wrapping_mul(round).into());
                b.add(v[0], step)
            })
        });
        let product = |b: &mut Builder, x: &Lanes, by: u32| {
            let low = Lanes::map(b, shape, &[x], |b, v| b.mul_const(v[0], by.into()));
            let high = Lanes::map(b, shape, &[x], |b, v| {
                let by = b.u32(by);
                b.mul_hi(v[0], by)
            });
            (low, high)
        };
        let (low0, high0) = product(b, &c[0], MULTIPLIERS[0]);
        let (low1, high1) = product(b, &c[2], MULTIPLIERS[1]);
        let mix = |b: &mut Builder, v: &[Value]| {
            let x = b.binary(BinaryOp::Xor, v[0], v[1]);
            b.binary(BinaryOp::Xor, x, v[2])
        };
        let first = Lanes::map(b, shape, &[&high1, &c[1], &key[0]], mix);
        let third = Lanes::map(b, shape, &[&high0, &c[3], &key[1]], mix);
        c = [first, low1, third, low0];
    }
    c
}

#[cfg(test)]
mod tests {
    use super::*;

    // Known answers of the Random123 distribution; constants fold, but for the upper halves of products, which are checked by running.
    #[test]
    fn a_block_is_ten_rounds() {
        let mut b = Builder::new("philox", [1, 1, 1]);
        let counter = [0; 4].map(|_| Lanes::all(b.thread(0)));
        let key = [0; 2].map(|_| Lanes::all(b.thread(0)));
        let before = b.program().insts.len();
        words(&mut b, Shape::ONE, counter.each_ref(), key.each_ref());
        let multiplications = b.program().insts[before..].iter().filter(|i| matches!(i.op, unigrad_ir::Op::MulHi(..))).count();
        assert_eq!(multiplications, 20);
    }
}
