//! Threads that differentiate one graph while another one frees it: each gets the whole gradient, or the error that the graph was freed. Never a part
//! of the gradient, and never that nothing depends on anything.

use smallvec::smallvec;
use std::{
    collections::HashSet,
    sync::{Arc, Barrier},
    thread,
};
use unigrad_graph::{BinaryOp, DType, ErrorKind, Expr, NodeId, VariableId, gradients, partial_gradients, variable_gradients};

const THREADS: usize = 8;
const ROUNDS: usize = 400;
/// Nodes with two ways through each.
const LENGTH: usize = 40;

fn leaf() -> Expr {
    Expr::buffer(smallvec![3], DType::F32, 0, Arc::new(()))
}

/// A variable, a leaf that is none, what is computed from both along many ways, and its seed; all of it evaluated.
fn graph() -> [Expr; 4] {
    let plain = leaf();
    let x = Expr::variable(VariableId(7), &leaf());
    let mut y = x.binary(BinaryOp::Mul, &plain);
    y.set_data(Arc::new(()));
    for _ in 0..LENGTH {
        let product = y.binary(BinaryOp::Mul, &x);
        let sum = product.binary(BinaryOp::Add, &y);
        [&product, &sum].into_iter().for_each(|node| node.set_data(Arc::new(())));
        y = sum;
    }
    let seed = leaf();
    [x, plain, y, seed]
}

/// How many nodes of a gradient are newer than the graph that it is of.
fn size(gradient: &Expr, newest: NodeId) -> usize {
    let (mut seen, mut stack) = (HashSet::new(), vec![gradient.clone()]);
    while let Some(node) = stack.pop() {
        if node.id() > newest && seen.insert(node.id()) {
            stack.extend(node.inputs().iter().cloned());
        }
    }
    seen.len()
}

#[test]
fn a_graph_is_freed_while_others_differentiate_it() {
    let [x, plain, y, seed] = graph();
    let newest = seed.id();
    let sizes = |x: &Expr, plain: &Expr, y: &Expr, seed: &Expr, newest: NodeId| {
        let found = gradients(y, seed, &[x.clone(), plain.clone()])?;
        Ok::<_, unigrad_graph::Error>(found.iter().map(|gradient| gradient.as_ref().map_or(0, |g| size(g, newest))).collect::<Vec<_>>())
    };
    let want = sizes(&x, &plain, &y, &seed, newest).unwrap();
    assert!(want.iter().all(|size| *size > LENGTH), "{want:?}");
    let of_variable = variable_gradients(&y, &seed, false).unwrap().len();
    let (mut whole, mut refused) = (0, 0);
    for round in 0..ROUNDS {
        let [x, plain, y, seed] = graph();
        let newest = seed.id();
        let start = Barrier::new(THREADS);
        let results: Vec<Result<Vec<usize>, unigrad_graph::Error>> = thread::scope(|scope| {
            let handles: Vec<_> = (0..THREADS)
                .map(|i| {
                    let (x, plain, y, seed, start) = (&x, &plain, &y, &seed, &start);
                    scope.spawn(move || {
                        start.wait();
                        // The one that frees comes in at any place of the others' ways.
                        if i == 0 {
                            (0..round * 53 % 4000).for_each(|_| std::hint::spin_loop());
                            let found = variable_gradients(y, seed, true)?;
                            return Ok(if found.len() == of_variable { Vec::new() } else { vec![0] });
                        }
                        if i == 1 {
                            let found = partial_gradients(y, seed, &[x.clone(), plain.clone()])?;
                            return Ok(if found.iter().all(Option::is_some) { Vec::new() } else { vec![1] });
                        }
                        sizes(x, plain, y, seed, newest)
                    })
                })
                .collect();
            handles.into_iter().map(|handle| handle.join().unwrap()).collect()
        });
        for result in results {
            match result {
                Ok(sizes) if sizes.is_empty() || sizes == want => whole += 1,
                Ok(sizes) => panic!("round {round}: a part of the gradient, {sizes:?} nodes of {want:?}"),
                Err(error) => {
                    assert_eq!(error.kind, ErrorKind::Autograd, "{error}");
                    assert!(error.message.contains("freed"), "{error}");
                    refused += 1;
                }
            }
        }
    }
    println!("{whole} whole gradients, {refused} refused");
}
