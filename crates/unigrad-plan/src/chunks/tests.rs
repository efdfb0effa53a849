//! Plans of heads by chunks, as numbers and as text: what they take, which graphs are left alone, and that planning stays linear. Their values are
//! compared on every device by `crates/unigrad-testing/tests/chunks.rs`.

use super::{CHUNKS, GRAIN, divided, rewrite};
use crate::plan::{Options, Plan, attempt, unplaced};
use crate::{Capture, testing};
use std::sync::Arc;
use unigrad_graph::{ArgReduceOp, DType, Expr, ReduceOp, UnaryOp};

fn leaf(shape: &[usize], dtype: DType) -> Expr {
    Expr::buffer(shape.iter().copied().collect(), dtype, 0, Arc::new(()))
}

const ROWS: usize = 16 * GRAIN;
const WIDTH: usize = 16;
const CLASSES: usize = 40 * WIDTH;

/// What a head computes beside its loss.
#[derive(Clone, Copy, PartialEq)]
enum With {
    Gradients,
    /// And the place of each row's greatest logit.
    Best,
    /// And the logits.
    Logits,
    /// Logits less their means over rows.
    Centered,
    /// The gradient by the exponential of the loss of all rows.
    Scaled,
}

/// Losses of rows and gradients, by hand.
fn head(rows: usize, dtype: DType, with: With) -> Vec<Expr> {
    head_of(rows, &leaf(&[CLASSES, WIDTH], dtype), with)
}

fn head_of(rows: usize, w: &Expr, with: With) -> Vec<Expr> {
    let dtype = w.dtype();
    let x = leaf(&[rows, WIDTH], dtype).unary(UnaryOp::Sin);
    let bias = leaf(&[CLASSES], dtype);
    let target = leaf(&[rows], DType::I64).reshape(&[rows, 1]).expand(&[rows, CLASSES]);
    let like = |row: &Expr| row.expand(&[rows, CLASSES]);
    let mut logits = x.matmul(&w.permute(&[1, 0])).add(&like(&bias)).cast(DType::F32);
    if with == With::Centered {
        logits = logits.sub(&like(&logits.reduce(ReduceOp::Sum, 0b01)));
    }
    let shifted = logits.sub(&like(&logits.reduce(ReduceOp::Max, 0b10)));
    let sum = shifted.unary(UnaryOp::Exp).reduce(ReduceOp::Sum, 0b10);
    let logp = shifted.sub(&like(&sum.unary(UnaryOp::Log)));
    let chosen = logp.iota_like(1, DType::I64).eq(&target);
    let losses = chosen.select(&logp, &logp.zeros_like()).reduce(ReduceOp::Sum, 0b10).unary(UnaryOp::Neg);
    let loss = losses.reduce(ReduceOp::Sum, 0b01);
    let mut dy = logp.unary(UnaryOp::Exp).sub(&chosen.cast(DType::F32));
    if with == With::Scaled {
        dy = dy.mul(&like(&loss.unary(UnaryOp::Exp)));
    }
    let dy = dy.cast(dtype);
    let mut all = vec![loss, dy.matmul(w), dy.permute(&[1, 0]).matmul(&x), dy.cast(DType::F32).reduce(ReduceOp::Sum, 0b01).cast(dtype)];
    match with {
        With::Best => all.push(logits.arg_reduce(ArgReduceOp::ArgMax, 1)),
        With::Logits => all.push(logits),
        With::Gradients | With::Centered | With::Scaled => {}
    }
    all
}

fn plan(capture: &Capture, arena: Option<usize>) -> Plan {
    let options = Options { arena, ..Options::default() };
    let checked = testing::check_memory(capture, options).unwrap();
    let plan = attempt(capture, options).unwrap();
    assert_eq!((plan.arena, plan.again, plan.chunks), (checked.arena, checked.again, checked.chunks));
    plan
}

#[test]
fn rows_are_divided_into_whole_grains() {
    for n_rows in (1..4 * GRAIN).chain(CHUNKS.iter().flat_map(|n| [n * GRAIN - 1, n * GRAIN, n * GRAIN + 1, 3 * n * GRAIN + 5])) {
        for n in CHUNKS {
            let parts = divided(n_rows, n);
            assert!(!parts.is_empty() && parts.len() <= n, "{n_rows} rows by {n}: {parts:?}");
            assert_eq!(parts.iter().flat_map(Clone::clone).collect::<Vec<_>>(), (0..n_rows).collect::<Vec<_>>());
            let (last, others) = parts.split_last().unwrap();
            assert!(others.iter().all(|part| part.len().is_multiple_of(GRAIN) && part.len() >= last.len()) && !last.is_empty());
            assert_eq!(parts.len() == 1, n_rows <= GRAIN, "{n_rows} rows by {n}: {parts:?}");
        }
    }
}

#[test]
fn the_fewest_chunks_that_suffice() {
    for dtype in [DType::F32, DType::BF16] {
        for with in [With::Gradients, With::Best] {
            let capture = Capture::new(&head(ROWS, dtype, with)).unwrap();
            let free = plan(&capture, None);
            // Logits, and beside or in place of them, their gradient.
            let wide = ROWS * CLASSES * dtype.size();
            assert!(free.arena > wide && free.arena < 2 * wide + wide / 4 && free.chunks == 0, "{dtype}: {free}");
            let mut last = free.arena;
            for n in CHUNKS {
                let before = unplaced(&capture, Options::default()).unwrap();
                let chunked = rewrite(&before.ir, &before.outputs, n).unwrap().unwrap();
                assert_eq!(chunked.n_chunks, n);
                // One byte less than fewer chunks take.
                let within = plan(&capture, Some(last - 1));
                println!("{dtype}: {} of {} bytes by {} chunks", within.arena, free.arena, within.chunks);
                assert_eq!((within.chunks, within.again), (n, 0), "{within}");
                // What is wide shrinks (with a gap between sums, which stay), and the gradient of the weight is there as a sum.
                assert!(within.arena <= 3 * wide / n + 3 * CLASSES * WIDTH * 4, "{within}\n{}", within.peak);
                last = within.arena;
            }
        }
    }
}

#[test]
fn within_its_limit_a_plan_is_left_alone() {
    let capture = Capture::new(&head(ROWS, DType::BF16, With::Gradients)).unwrap();
    let free = plan(&capture, None);
    for limit in [free.arena, free.arena + 1, usize::MAX] {
        assert_eq!(format!("{:?}", plan(&capture, Some(limit))), format!("{free:?}"));
    }
}

#[test]
fn what_is_not_made_of_rows_alone_is_left_as_it_is() {
    for (with, rows) in [(With::Logits, ROWS), (With::Centered, ROWS), (With::Scaled, ROWS), (With::Gradients, GRAIN)] {
        let capture = Capture::new(&head(rows, DType::F32, with)).unwrap();
        let before = unplaced(&capture, Options::default()).unwrap();
        assert!(CHUNKS.iter().all(|n| rewrite(&before.ir, &before.outputs, *n).unwrap().is_none()));
        assert_eq!(attempt(&capture, Options { arena: Some(1), ..Options::default() }).unwrap().chunks, 0);
    }
    // A hidden layer of four times the width.
    let (x, w) = (leaf(&[ROWS, WIDTH], DType::F32), leaf(&[WIDTH, 4 * WIDTH], DType::F32));
    let hidden = x.matmul(&w).unary(UnaryOp::Exp).reduce(ReduceOp::Sum, 0b10);
    assert_eq!(plan(&Capture::new(&[hidden]).unwrap(), Some(1)).chunks, 0);
}

/// Two batches, whose gradients are added, before one of them is computed.
#[test]
fn several_heads_are_divided() {
    let w = leaf(&[CLASSES, WIDTH], DType::F32);
    let [a, b] = [head_of(ROWS, &w, With::Gradients), head_of(ROWS, &w, With::Gradients)];
    let both: Vec<Expr> = a.iter().zip(&b).map(|(a, b)| a.add(b)).collect();
    drop((a, b));
    let capture = Capture::new(&both).unwrap();
    let free = plan(&capture, None);
    let within = plan(&capture, Some(1));
    println!("{free}\n{}\n{within}\n{}", free.peak, within.peak);
    assert!(within.chunks > 0 && within.arena < free.arena / 2, "{within}");
}

#[test]
fn chunks_run_one_after_the_other() {
    let capture = Capture::new(&head(ROWS, DType::BF16, With::Gradients)).unwrap();
    let free = plan(&capture, None);
    let plan = plan(&capture, Some(free.arena - 1));
    let lines: Vec<String> = plan.launches.iter().map(|launch| format!("{} {}", launch.name, launch.extents())).collect();
    let chunk = ["matmul 128x640x16", "max+sum+log+cast 128 / 640", "matmul 128x16x640"];
    let first = ["matmul 640x16x128", "sum 640 / 128"];
    let second = ["matmul+add 640x16x128", "sum+add+cast 640 / 128"];
    // The losses of a chunk are written where all of them are.
    let rest = ["concat 2048", "cast 10240", " / 256"];
    let expected: Vec<&str> = [&["sin 4096"], &chunk[..], &first, &chunk, &second, &rest].concat();
    let is_alike = |(line, expected): (&String, &&str)| line.ends_with(expected);
    assert!(lines.len() == expected.len() && lines.iter().zip(&expected).all(is_alike), "{plan}");
}

#[test]
fn planning_stays_linear() {
    let time = |n: usize| {
        let mut graph = Vec::new();
        for _ in 0..n {
            // Of rows, below and above the head.
            graph.extend((0..8).fold(head(2 * GRAIN, DType::F32, With::Gradients), |all, _| {
                all.iter().map(|x| x.unary(UnaryOp::Sin).reduce(ReduceOp::Sum, 0b1).expand(&x.shape().clone())).collect()
            }));
        }
        let capture = Capture::new(&graph).unwrap();
        let free = attempt(&capture, Options::default()).unwrap().arena;
        let begin = std::time::Instant::now();
        let plan = attempt(&capture, Options { arena: Some(free - 1), ..Options::default() }).unwrap();
        (begin.elapsed().as_secs_f64() / n as f64, plan.chunks)
    };
    let (short, _) = (0..3).map(|_| time(16)).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    let (long, _) = (0..3).map(|_| time(256)).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    println!("{short} s, {long} s a head");
    assert!(long < 4.0 * short, "{short} s a head of 16, {long} s of 256");
}
