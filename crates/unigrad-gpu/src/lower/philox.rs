//! Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) in the IR.

use unigrad_ir::{Builder, Value};
use unigrad_scalar::BinaryOp;

/// The block of random words for a counter and a key, all of them `U32` (the validator refuses others). The rounds are a loop, so that a program that draws in several
/// places stays short; compilers unroll it.
pub(crate) fn philox(b: &mut Builder, counter: [Value; 4], key: [Value; 2]) -> [Value; 4] {
    let c = counter.map(|word| b.variable("philox", word));
    b.unrolled(10, |b, round| {
        let words = c.map(|word| b.get(word));
        let [k0, k1] = [(key[0], 0x9E37_79B9u32), (key[1], 0xBB67_AE85)].map(|(key, weyl)| {
            let weyl = b.u32(weyl);
            let moved = b.mul(round, weyl);
            b.add(key, moved)
        });
        let multipliers = [b.u32(0xD251_1F53), b.u32(0xCD9E_8D57)];
        let [(high0, low0), (high1, low1)] =
            [(words[0], multipliers[0]), (words[2], multipliers[1])].map(|(word, by)| (b.mul_hi(word, by), b.mul(word, by)));
        let mut mixed = |high: Value, word: Value, key: Value| {
            let half = b.binary(BinaryOp::Xor, high, word);
            b.binary(BinaryOp::Xor, half, key)
        };
        let next = [mixed(high1, words[1], k0), low1, mixed(high0, words[3], k1), low0];
        c.into_iter().zip(next).for_each(|(variable, word)| b.set(variable, word));
    });
    c.map(|word| b.get(word))
}
