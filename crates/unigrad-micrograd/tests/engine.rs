//! The engine against a recursive reference, finite differences, micrograd's numbers, and the same tape on the host.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};
use unigrad_micrograd::{Accelerator, Failure, Function, Machine, Node, Nodes, Op, Ref, Tape, backward};

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n
    }

    fn number(&mut self) -> f64 {
        self.next() as f64 / (1_u64 << 53) as f64 * 2.0 - 1.0
    }
}

/// Runs tapes on the host, as a device would.
struct Host {
    fails: Arc<AtomicBool>,
    /// Ends tapes of more nodes.
    most: usize,
}

impl Machine for Host {
    fn run(&self, tape: &Tape) -> Result<Vec<f64>, Failure> {
        match self.fails.load(Relaxed) {
            true => Err(Failure::Other("out of order".to_owned())),
            false if tape.n_nodes() > self.most => Err(Failure::TooLong),
            false => Ok(tape.run()),
        }
    }
}

fn place() -> (&'static Accelerator, Arc<AtomicBool>) {
    place_of(usize::MAX)
}

fn place_of(most: usize) -> (&'static Accelerator, Arc<AtomicBool>) {
    let fails = Arc::new(AtomicBool::new(false));
    (Accelerator::new(1, Box::new(Host { fails: Arc::clone(&fails), most })), fails)
}

/// A graph of random operations over these leaves; most nodes are used more than once.
fn graph(seed: u64, values: &[f64], place: Option<&'static Accelerator>) -> (Vec<Ref>, Ref) {
    let mut rng = Rng(seed * 2 + 1);
    let leaves: Vec<Ref> = values.iter().map(|value| Node::leaf(*value, place)).collect();
    let mut nodes = leaves.clone();
    for _ in 0..40 {
        let a = nodes[rng.below(nodes.len())].clone();
        let b = nodes[rng.below(nodes.len())].clone();
        let op = match rng.below(9) {
            0 | 1 => Op::Add(a, b),
            2 => Op::Mul(a, b),
            3 => Op::Pow(a, 2.0, true),
            4 => Op::PowOf(1.5, Node::new(Op::Call(Function::Tanh, a), place)),
            5 => Op::Call(Function::ALL[rng.below(3)], Node::new(Op::Call(Function::Tanh, a), place)),
            6 => Op::Call(Function::Sigmoid, a),
            7 => Op::Call(Function::Log, Node::new(Op::Call(Function::Exp, Node::new(Op::Call(Function::Tanh, a), place)), place)),
            _ => {
                let mut pick = |n: usize| Nodes::new((0..n).map(|_| nodes[rng.below(nodes.len())].clone()).collect());
                let (weights, inputs) = (pick(4), pick(3));
                Op::Neuron { weights, inputs, relu: rng.below(2) == 0 }
            }
        };
        // Keeps numbers small.
        nodes.push(Node::new(Op::Call(Function::Tanh, Node::new(op, place)), place));
    }
    let root = nodes.iter().skip(1).fold(nodes[0].clone(), |sum, node| Node::new(Op::Add(sum, node.clone()), place));
    (leaves, root)
}

/// `d root / d node` of every node by the chain rule, recursively, from each node's users.
fn reference(root: &Ref) -> HashMap<*const Node, f64> {
    fn collect(node: &Ref, all: &mut HashMap<*const Node, Ref>) {
        if all.insert(Arc::as_ptr(node), node.clone()).is_none() {
            node.op().children().for_each(|child| collect(child, all));
        }
    }
    fn slopes(node: &Ref) -> Vec<(Ref, f64)> {
        let y = node.data();
        match node.op() {
            Op::Leaf => vec![],
            Op::Add(a, b) => vec![(a.clone(), 1.0), (b.clone(), 1.0)],
            Op::Mul(a, b) => vec![(a.clone(), b.data()), (b.clone(), a.data())],
            Op::Pow(a, e, _) => vec![(a.clone(), e * a.data().powf(e - 1.0))],
            Op::PowOf(c, a) => vec![(a.clone(), y * c.ln())],
            Op::Call(f, a) => vec![(a.clone(), f.slope(a.data(), y))],
            Op::Move(a) => vec![(a.clone(), 1.0)],
            Op::Neuron { weights, inputs, relu } => {
                let on = if *relu { f64::from(u8::from(y > 0.0)) } else { 1.0 };
                let mut all = vec![(weights[weights.len() - 1].clone(), on)];
                for (w, x) in weights[..weights.len() - 1].iter().zip(inputs.iter()) {
                    all.push((w.clone(), x.data() * on));
                    all.push((x.clone(), w.data() * on));
                }
                all
            }
        }
    }
    fn gradient(
        of: *const Node,
        root: *const Node,
        users: &HashMap<*const Node, Vec<(*const Node, f64)>>,
        memo: &mut HashMap<*const Node, f64>,
    ) -> f64 {
        if let Some(known) = memo.get(&of) {
            return *known;
        }
        let own = if of == root { 1.0 } else { 0.0 };
        let rest: f64 = users.get(&of).into_iter().flatten().map(|(user, slope)| slope * gradient(*user, root, users, memo)).sum();
        memo.insert(of, own + rest);
        own + rest
    }
    let mut all = HashMap::new();
    collect(root, &mut all);
    let mut users: HashMap<*const Node, Vec<(*const Node, f64)>> = HashMap::new();
    for (at, node) in &all {
        for (child, slope) in slopes(node) {
            users.entry(Arc::as_ptr(&child)).or_default().push((*at, slope));
        }
    }
    let mut memo = HashMap::new();
    all.keys().map(|at| (*at, gradient(*at, Arc::as_ptr(root), &users, &mut memo))).collect()
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()))
}

#[test]
fn gradients_are_those_of_a_recursive_reference_and_of_finite_differences() {
    for seed in 1..60 {
        let mut rng = Rng(seed * 77 + 5);
        let values: Vec<f64> = (0..4).map(|_| rng.number()).collect();
        for place in [None, Some(place().0), Some(place_of(70).0), Some(place_of(10).0)] {
            let (leaves, root) = graph(seed, &values, place);
            backward(&root);
            let expected = reference(&root);
            let mut stack = vec![root.clone()];
            while let Some(node) = stack.pop() {
                let wanted = expected[&Arc::as_ptr(&node)];
                assert!(close(node.grad(), wanted, 1e-9), "seed {seed}: {} against {wanted}", node.grad());
                stack.extend(node.op().children().filter(|child| !child.is_leaf()).take(1).cloned());
            }
            for (at, leaf) in leaves.iter().enumerate() {
                assert!(close(leaf.grad(), expected[&Arc::as_ptr(leaf)], 1e-9));
                let moved = |by: f64| {
                    let mut values = values.clone();
                    values[at] += by;
                    graph(seed, &values, None).1.data()
                };
                let difference = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                // A kink of a ReLU may lie between.
                let kinks = (moved(1e-4) - 2.0 * root.data() + moved(-1e-4)).abs() > 1e-5;
                assert!(kinks || close(leaf.grad(), difference, 1e-4), "seed {seed}: {} against {difference}", leaf.grad());
            }
        }
    }
}

#[test]
fn the_numbers_of_micrograds_readme() {
    for place in [None, Some(place().0)] {
        let number = |value: f64| Node::leaf(value, place);
        let add = |a: &Ref, b: &Ref| Node::new(Op::Add(a.clone(), b.clone()), place);
        let mul = |a: &Ref, b: &Ref| Node::new(Op::Mul(a.clone(), b.clone()), place);
        let neg = |a: &Ref| mul(a, &number(-1.0));
        let pow = |a: &Ref, e: f64| Node::new(Op::Pow(a.clone(), e, true), place);
        let relu = |a: &Ref| Node::new(Op::Call(Function::Relu, a.clone()), place);
        let (a, b) = (number(-4.0), number(2.0));
        let mut c = add(&a, &b);
        let mut d = add(&mul(&a, &b), &pow(&b, 3.0));
        c = add(&c, &add(&c, &number(1.0)));
        c = add(&c, &add(&add(&c, &number(1.0)), &neg(&a)));
        d = add(&d, &add(&mul(&d, &number(2.0)), &relu(&add(&b, &a))));
        d = add(&d, &add(&mul(&d, &number(3.0)), &relu(&add(&b, &neg(&a)))));
        let f = pow(&add(&c, &neg(&d)), 2.0);
        let g = mul(&f, &number(0.5));
        let g = add(&g, &mul(&pow(&f, -1.0), &number(10.0)));
        backward(&g);
        assert_eq!((g.data(), a.grad(), b.grad()), (24.70408163265306, 138.83381924198252, 645.5772594752186));
    }
}

#[test]
fn leaves_sum_the_gradients_of_all_passes_and_others_have_the_last() {
    for place in [None, Some(place().0)] {
        let x = Node::leaf(3.0, place);
        let y = Node::new(Op::Mul(x.clone(), x.clone()), place);
        let z = Node::new(Op::Add(y.clone(), x.clone()), place);
        for pass in 1..4 {
            backward(&z);
            assert_eq!((z.grad(), y.grad(), x.grad()), (1.0, 1.0, 7.0 * f64::from(pass)));
        }
        backward(&x);
        assert_eq!(x.grad(), 1.0);
    }
}

#[test]
fn a_million_nodes_forward_back_and_freed_in_a_small_stack() {
    let work = || {
        for place in [None, Some(place().0), Some(place_of(1000).0)] {
            let x = Node::leaf(1.0, place);
            let mut y = x.clone();
            for _ in 0..1_000_000 {
                y = Node::new(Op::Add(y, x.clone()), place);
                if place.is_some_and(Accelerator::is_full) {
                    place.into_iter().for_each(Accelerator::flush);
                }
            }
            backward(&y);
            assert_eq!((y.data(), x.grad()), (1_000_001.0, 1_000_001.0));
            // Layers upon layers hold each other by their inputs.
            let mut z = Node::leaf(1.0, None);
            for _ in 0..100_000 {
                let (weights, inputs) = (Nodes::new(vec![x.clone(), x.clone()]), Nodes::new(vec![z]));
                z = Node::new(Op::Neuron { weights, inputs, relu: true }, None);
            }
            assert_eq!(z.data(), 100_001.0);
            if place.is_none() {
                backward(&z);
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(128 << 10).spawn(work).expect("a thread");
    thread.join().expect("no overflow");
}

#[test]
fn a_place_computes_an_expression_and_its_gradient_in_one_run() {
    let (place, fails) = place();
    let (_, root) = graph(3, &[0.1, 0.2, 0.3, 0.4], Some(place));
    backward(&root);
    assert_eq!(place.n_runs(), 1);
    let (_, cpu) = graph(3, &[0.1, 0.2, 0.3, 0.4], None);
    assert_eq!((root.data(), place.n_runs()), (cpu.data(), 1));
    // All that waits is computed by the first read.
    let x = Node::leaf(2.0, Some(place));
    let all: Vec<Ref> = (0..10).map(|i| Node::new(Op::Pow(x.clone(), f64::from(i), true), Some(place))).collect();
    assert_eq!(all.iter().map(|node| node.data()).sum::<f64>(), 1023.0);
    assert_eq!(place.n_runs(), 2);
    // What was recorded keeps the value that it was recorded from.
    let y = Node::new(Op::Mul(x.clone(), x.clone()), Some(place));
    x.set_data(5.0);
    assert_eq!(y.data(), 4.0);
    // The host stands in, and says so once.
    fails.store(true, Relaxed);
    let z = Node::new(Op::Mul(x.clone(), x.clone()), Some(place));
    assert_eq!((z.data(), place.take_failure().as_deref(), place.take_failure()), (25.0, Some("out of order"), None));
}

#[test]
fn gradients_go_through_moves() {
    let (place, _) = place();
    let x = Node::leaf(3.0, None);
    let y = Node::new(Op::Mul(x.clone(), x.clone()), None);
    let there = Node::moved(&y, Some(place));
    let z = Node::new(Op::Mul(there.clone(), there.clone()), Some(place));
    let back = Node::moved(&z, None);
    let end = Node::new(Op::Add(back, x.clone()), None);
    backward(&end);
    // x^4 + x
    assert_eq!((end.data(), x.grad(), there.grad()), (84.0, 109.0, 18.0));
}

#[test]
fn threads_walk_in_turn() {
    let x = Node::leaf(1.0, None);
    let work = |seed: u64| {
        let (_, root) = graph(seed, &[0.5, -0.5, 0.25, 0.1], None);
        let root = Node::new(Op::Mul(root, x.clone()), None);
        (0..50).for_each(|_| backward(&root));
    };
    std::thread::scope(|scope| (1..8).for_each(|seed| _ = scope.spawn(move || work(seed))));
    let once: f64 = (1..8).map(|seed| graph(seed, &[0.5, -0.5, 0.25, 0.1], None).1.data()).sum();
    assert!(close(x.grad(), 50.0 * once, 1e-9), "{} against {}", x.grad(), 50.0 * once);
}
