//! Sorting what fits in shared memory: a bitonic network over pairs of a key and an index, which makes any order stable.

use super::key::less;
use super::{Input, Output, Rows};
use crate::lower::distribute::{Line, div_rem, mul_add, mul_const_add, threads};
use crate::lower::{ProgramLaunch, Signature, Unsupported};
use unigrad_ir::Target;
use unigrad_scalar::{BinaryOp, DType};

/// Elements that a workgroup can sort.
pub(super) fn capacity(target: &Target, words: usize) -> usize {
    let fits = target.shared_bytes / (4 * (words + 1));
    let fits = if fits.is_power_of_two() { fits } else { fits.next_power_of_two() / 2 };
    fits.clamp(2, 4096)
}

/// Sorts each tile of each row and keeps its first `keep` (all of it, if it is shorter).
pub(super) fn step(target: &Target, rows: Rows, input: &Input, output: &Output, keep: usize) -> Result<ProgramLaunch, Unsupported> {
    let words = input.keys().words;
    let room = capacity(target, words);
    let tile = rows.len.next_power_of_two().clamp(2, room);
    let n_tiles = rows.len.div_ceil(tile);
    let side = (512 / tile).clamp(1, room / tile);
    let size = (tile * side) as u32;
    let n_threads = threads(target, (size / 2).min(256));
    let items = rows.count() * n_tiles;
    let grid = Line::new(items.div_ceil(side), target)?;
    let mut sig = Signature::new("sort_tiles", [n_threads, 1, 1]);
    let from = input.open(&mut sig);
    let to = output.open(&mut sig);
    let [len, inner, tiles, count] = [("len", rows.len), ("inner", rows.inner), ("tiles", n_tiles), ("count", items)]
        .map(|(name, n)| if n == 1 { sig.b.u32(1) } else { sig.word(name, DType::U32, n as u64) });
    let keep_word = sig.word("keep", DType::U32, keep as u64);
    let b = &mut sig.b;
    let arrays: Vec<_> =
        (0..=words).map(|word| b.shared(if word == words { "index" } else { ["key", "low"][word] }, DType::U32, size)).collect();
    let group = grid.group(b);
    let t = b.thread(0);
    let (zero, one) = (b.u32(0), b.u32(1));
    let (first, step) = (b.u32(tile as u32), b.u32(n_threads));
    let end = b.u32(size);
    // Where a slot's item is, and its place in the row.
    let place = |b: &mut unigrad_ir::Builder, slot| {
        let (local, within) = div_rem(b, slot, first);
        let item = mul_const_add(b, group, side as i64, local);
        let exists = b.lt(item, count);
        let (row, tile) = div_rem(b, item, tiles);
        let p = mul_add(b, tile, first, within);
        (row, tile, within, p, exists)
    };
    b.repeat(t, end, step, |b, slot| {
        let (row, _, _, p, exists) = place(b, slot);
        let inside = b.lt(p, len);
        let inside = b.and(inside, exists);
        b.when_else(
            inside,
            |b| {
                let (key, index) = from.load(b, row, p, len, inner);
                for (array, value) in arrays.iter().zip(key.iter().chain([&index])) {
                    b.store(*array, slot, *value);
                }
            },
            |b| {
                // After everything, and different from each other.
                let all = b.u32(u32::MAX);
                arrays[..words].iter().for_each(|array| b.store(*array, slot, all));
                let index = b.sub(all, slot);
                b.store(arrays[words], slot, index);
            },
        );
    });
    let stages = b.u32(tile.trailing_zeros() + 1);
    let half = b.u32(size / 2);
    b.repeat(one, stages, one, |b, stage| {
        b.repeat(zero, stage, one, |b, down| {
            b.barrier();
            let last = b.sub(stage, one);
            let shift = b.sub(last, down);
            let distance = b.binary(BinaryOp::Shl, one, shift);
            let below = b.sub(distance, one);
            b.repeat(t, half, step, |b, pair| {
                let high = b.binary(BinaryOp::Shr, pair, shift);
                let high = b.binary(BinaryOp::Shl, high, one);
                let high = b.binary(BinaryOp::Shl, high, shift);
                let low = b.and(pair, below);
                let lower = b.binary(BinaryOp::Or, high, low);
                let upper = b.binary(BinaryOp::Or, lower, distance);
                let mask = b.u32(tile as u32 - 1);
                let within = b.and(lower, mask);
                let run = b.binary(BinaryOp::Shr, within, stage);
                let run = b.and(run, one);
                let ascending = b.binary(BinaryOp::Eq, run, zero);
                let xs: Vec<_> = arrays.iter().map(|array| b.load(*array, lower)).collect();
                let ys: Vec<_> = arrays.iter().map(|array| b.load(*array, upper)).collect();
                let wrong = less(b, &ys, &xs);
                let swap = b.binary(BinaryOp::Eq, wrong, ascending);
                b.when(swap, |b| {
                    for (array, (x, y)) in arrays.iter().zip(xs.iter().zip(&ys)) {
                        b.store(*array, lower, *y);
                        b.store(*array, upper, *x);
                    }
                });
            });
        });
    });
    b.barrier();
    b.repeat(t, end, step, |b, slot| {
        let (row, tile, within, p, exists) = place(b, slot);
        let inside = b.lt(p, len);
        let wanted = b.lt(within, keep_word);
        let inside = b.and(inside, exists);
        let inside = b.and(inside, wanted);
        b.when(inside, |b| {
            let values: Vec<_> = arrays.iter().map(|array| b.load(*array, slot)).collect();
            let at = mul_add(b, tile, keep_word, within);
            to.store(b, row, at, &values[..words], values[words], inner);
        });
    });
    Ok(sig.finish(grid.grid))
}
