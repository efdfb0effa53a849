//! Plans of layered graphs within limits, as numbers: what they keep, what runs again, and that planning stays linear.

use crate::plan::{Options, Plan, attempt};
use crate::{Capture, testing};
use std::sync::Arc;
use unigrad_graph::{DType, Expr, ReduceOp, UnaryOp};

fn leaf(shape: &[usize]) -> Expr {
    Expr::buffer(shape.iter().copied().collect(), DType::F32, 0, Arc::new(()))
}

const ROWS: usize = 256;
const WIDTH: usize = 64;

/// Layers of a norm, a product and tanh, and their gradients by hand, from the last layer to the first: the outputs are the weights' gradients.
fn layered(n: usize) -> Vec<Expr> {
    let like = |row: &Expr| row.expand(&[ROWS, WIDTH]);
    let mut x = leaf(&[ROWS, WIDTH]).unary(UnaryOp::Sin);
    let weights: Vec<Expr> = (0..n).map(|_| leaf(&[WIDTH, WIDTH])).collect();
    let mut kept = Vec::new();
    for w in &weights {
        let norm = x.mul(&x).reduce(ReduceOp::Sum, 0b10).unary(UnaryOp::Rsqrt);
        let h = x.mul(&like(&norm));
        let y = h.matmul(w).unary(UnaryOp::Tanh);
        kept.push((x.clone(), h.clone(), y.clone(), norm));
        x = x.add(&y);
    }
    let mut dx = x.unary(UnaryOp::Cos);
    let mut gradients = Vec::new();
    for (w, (x, h, y, norm)) in weights.iter().zip(&kept).rev() {
        let dy = dx.mul(&y.constant_like(1.0).sub(&y.mul(y)));
        gradients.push(h.permute(&[1, 0]).matmul(&dy));
        dx = dx.add(&dy.matmul(&w.permute(&[1, 0])).sub(x).mul(&like(norm)));
    }
    gradients
}

fn plan(graph: &[Expr], arena: Option<usize>) -> Plan {
    let capture = Capture::new(graph).unwrap();
    let options = Options { arena, ..Options::default() };
    let checked = testing::check_memory(&capture, options).unwrap();
    let plan = attempt(&capture, options).unwrap();
    assert_eq!((plan.arena, plan.again), (checked.arena, checked.again));
    plan
}

#[test]
fn limits_are_kept_as_far_as_they_can_be() {
    let graph = layered(12);
    let free = plan(&graph, None);
    assert_eq!(free.again, 0);
    assert_eq!(plan(&graph, Some(free.arena)).again, 0, "a plan within its limit is left alone");
    let mut last = 0;
    for (part, most_again) in [(0.9, 12), (0.75, 24), (0.5, 48), (0.4, 96)] {
        let limit = (free.arena as f64 * part) as usize;
        let plan = plan(&graph, Some(limit));
        println!("{part}: {} of {}, {} of {} again", plan.arena, free.arena, plan.again, free.launches.len());
        assert!(plan.arena <= limit && plan.again > 0 && plan.again <= most_again, "{part}: {plan}");
        assert!(plan.again >= last, "less memory, and fewer launches run again");
        last = plan.again;
    }
    // What cannot be: no error, and as little as was found.
    let least = plan(&graph, Some(1));
    println!("{} of {}, {} again", least.arena, free.arena, least.again);
    assert!(least.arena < free.arena / 2 && least.arena > 1, "{} of {}", least.arena, free.arena);
}

#[test]
fn within_a_limit_planning_is_linear() {
    // Nodes of one number each, and layers: per node, a longer plan takes no longer than a shorter one would times four.
    let time = |n: usize| {
        let graph = layered(n);
        let capture = Capture::new(&graph).unwrap();
        let free = attempt(&capture, Options::default()).unwrap().arena;
        let begin = std::time::Instant::now();
        let plan = attempt(&capture, Options { arena: Some(free / 2), ..Options::default() }).unwrap();
        (begin.elapsed().as_secs_f64() / n as f64, plan.arena as f64 / free as f64)
    };
    let (short, _) = (0..3).map(|_| time(50)).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    let (long, part) = (0..3).map(|_| time(800)).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    println!("{short} s, {long} s a layer; {part}");
    assert!(long < 4.0 * short, "{short} s a layer of 50, {long} s of 800");
    assert!(part <= 0.5, "{part}");
}
