//! What the host pays for a node: instructions to record one, and to look one up in a graph whose plan is there.
//!
//! In: a mixture of ops as a model's forward pass has it (products, broadcasts, maps with tensors and with Rust numbers, views).
//! Out: instructions a node, counted by callgrind in a copy of this program; nanoseconds for the eye, since they depend on the machine.
//! Always: what is counted is what a program calls: the methods of `Tensor`, and then the walk, the key and the search of the cache, as an
//! evaluation makes them; nodes of the step before have been dropped, so that memory comes from where it comes from in a training loop.
//! Not counted: launches, and letting the nodes go after them (printed only). The bounds hold what has been reached; the aim is 300 of each.
//! Runs beside other programs: its nanoseconds are printed, its instructions counted.

use std::{
    process::Command,
    sync::{Mutex, PoisonError},
    time::Instant,
};
use unigrad::nn;
use unigrad_plan::{Capture, Options, PlanCache};
use unigrad_tensor::{DType, Device, Tensor, eval};

/// Instructions to record a node, at most.
const RECORD: f64 = 325.0;
/// Instructions to look a node up, at most.
const LOOK_UP: f64 = 305.0;

/// Says to a copy of this program what to count.
const COUNTED: &str = "UNIGRAD_TEST_COUNTED";

struct Leaves {
    x: Tensor,
    w: Tensor,
    b: Tensor,
}

fn leaves() -> Leaves {
    unigrad_testing::devices();
    let device = Device::open("cpu").unwrap();
    let [x, w] = [(); 2].map(|()| Tensor::full([16, 16], 0.5, DType::F32, &device));
    let b = Tensor::full([16], 0.5, DType::F32, &device);
    Tensor::realize_all(&[&x, &w, &b]).unwrap();
    Leaves { x, w, b }
}

/// The graph of a forward pass.
#[inline(never)]
fn forward(Leaves { x, w, b }: &Leaves, layers: usize) -> Tensor {
    let mut h = x.clone();
    for _ in 0..layers {
        let y = (h.matmul(w) + b).relu();
        let scaled = &y * 0.5 + 1.0;
        let turned = scaled.t().reshape([4, 64]).narrow(0, 1, 2).reshape([8, 16]);
        let joined = Tensor::concat(&[&turned, &turned.neg()], 0);
        h = (joined.tanh() - &y).exp() * &joined / (&y + 2);
    }
    h
}

#[inline(never)]
fn counted_record(leaves: &Leaves, layers: usize) -> Tensor {
    forward(leaves, layers)
}

#[inline(never)]
fn counted_look_up(cache: &mut PlanCache<()>, wanted: &Tensor) -> (usize, bool) {
    let capture = Capture::new(&[wanted.expr()]).unwrap();
    let hit = cache.get(&capture, Options::default()).is_some();
    (capture.len(), hit)
}

#[inline(never)]
fn counted_release(wanted: Tensor) {
    drop(wanted);
}

/// What a step took: nodes recorded and looked up, and nanoseconds for each of the first to record and to release it, and of the others to look
/// it up.
struct Taken {
    recorded: f64,
    looked_up: f64,
    record: f64,
    look_up: f64,
    release: f64,
}

/// Records, looks up and releases some times.
fn steps(layers: usize, times: usize) -> Vec<Taken> {
    let leaves = leaves();
    let mut cache = PlanCache::new(4);
    let first = forward(&leaves, layers);
    let capture = Capture::new(&[first.expr()]).unwrap();
    cache.insert(&capture, Options::default(), ().into());
    drop((capture, first));
    let step = |_| {
        let before = unigrad_graph::next_id();
        let begin = Instant::now();
        let wanted = counted_record(&leaves, layers);
        let record = begin.elapsed().as_nanos() as f64;
        let recorded = (unigrad_graph::next_id() - before) as f64;
        let begin = Instant::now();
        let (looked_up, hit) = counted_look_up(&mut cache, &wanted);
        let (look_up, looked_up) = (begin.elapsed().as_nanos() as f64, looked_up as f64);
        assert!(hit, "the same graph has the same plan");
        let begin = Instant::now();
        counted_release(wanted);
        let release = begin.elapsed().as_nanos() as f64;
        Taken { recorded, looked_up, record: record / recorded, look_up: look_up / looked_up, release: release / recorded }
    };
    (0..times).map(step).collect()
}

/// Layers of a graph, and how often it is made, in a program whose instructions are counted.
const COUNTED_STEPS: (usize, usize) = (250, 3);

/// Instructions of all calls of a function, counted by callgrind in a copy of this program.
fn instructions(function: &str) -> f64 {
    let program = std::env::current_exe().unwrap();
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no"])
        .arg(format!("--toggle-collect=*{function}*"))
        .arg(program)
        .args(["--exact", "recording_and_look_up_are_cheap", "--test-threads=1"])
        .env(COUNTED, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let count = text.lines().find_map(|line| line.split_once("Collected :").map(|(_, count)| count.trim().parse().unwrap()));
    count.unwrap_or_else(|| panic!("no count in\n{text}"))
}

/// One test at a time: they measure time, and count what the process evaluates.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn recording_and_look_up_are_cheap() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (layers, times) = COUNTED_STEPS;
    if std::env::var_os(COUNTED).is_some() {
        steps(layers, times);
        return;
    }
    let timed = steps(layers, 50);
    let median = |of: fn(&Taken) -> f64| {
        let mut all: Vec<f64> = timed.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let (nodes, looked_up) = (timed[0].recorded, timed[0].looked_up);
    println!(
        "{nodes} nodes recorded, {looked_up} looked up; nanoseconds a node: {:.0} to record, {:.0} to look up, {:.0} to release",
        median(|taken| taken.record),
        median(|taken| taken.look_up),
        median(|taken| taken.release),
    );
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("SKIPPED: instructions a node: valgrind is not installed");
        return;
    }
    let times = times as f64;
    let record = instructions("counted_record") / (times * nodes);
    let look_up = instructions("counted_look_up") / (times * looked_up);
    let release = instructions("counted_release") / (times * nodes);
    println!("instructions a node: {record:.0} to record, {look_up:.0} to look up, {release:.0} to release");
    assert!(record <= RECORD, "{record:.0} instructions to record a node");
    assert!(look_up <= LOOK_UP, "{look_up:.0} instructions to look a node up");
}

/// A step of an optimizer.
type Training = Box<dyn FnMut()>;
/// An optimizer of these parameters.
type Optimizer = fn(&[Tensor]) -> Training;

/// Nodes of a step with this many parameters.
fn nodes_of_a_step(n_parameters: usize, optimizer: Optimizer) -> u64 {
    let device = Device::open("cpu").unwrap();
    let parameters: Vec<Tensor> =
        (0..n_parameters).map(|i| Tensor::full([3, 1 + i % 2], 0.5, DType::F32, &device).realize().unwrap().requires_grad()).collect();
    let gradients: Vec<Tensor> = parameters.iter().map(|p| Tensor::full(p.shape(), 0.25, DType::F32, &device).realize().unwrap()).collect();
    let mut step = optimizer(&parameters);
    let mut nodes = 0;
    for _ in 0..3 {
        parameters.iter().zip(&gradients).for_each(|(p, g)| p.set_grad(Some(g.clone())));
        let before = eval::stats();
        step();
        let after = eval::stats();
        nodes = after.nodes - before.nodes;
    }
    nodes
}

#[test]
fn an_update_is_one_node_a_parameter() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    unigrad_testing::devices();
    let adam: Optimizer = |parameters| {
        let mut optimizer = nn::AdamW::new(parameters.to_vec(), 1e-3).unwrap().clip_norm(1e9);
        Box::new(move || optimizer.step().unwrap())
    };
    let adam_unclipped: Optimizer = |parameters| {
        let mut optimizer = nn::AdamW::new(parameters.to_vec(), 1e-3).unwrap();
        Box::new(move || optimizer.step().unwrap())
    };
    let sgd: Optimizer = |parameters| {
        let mut optimizer = nn::Sgd::new(parameters.to_vec(), 1e-3).unwrap().momentum(0.9).unwrap();
        Box::new(move || optimizer.step().unwrap())
    };
    let per_parameter = |optimizer: Optimizer| {
        let [few, many] = [4, 14].map(|n| nodes_of_a_step(n, optimizer));
        (many - few) as f64 / 10.0
    };
    // The update; for the value and each state what was there, and the assignment of the update's result; the variable and the gradient.
    assert_eq!(per_parameter(adam_unclipped), 1.0 + 3.0 * 2.0 + 2.0);
    assert_eq!(per_parameter(sgd), 1.0 + 2.0 * 2.0 + 2.0);
    // The gradient's square, its sum, the sum of all, the factor's expansion, the product.
    let clipped = per_parameter(adam) - per_parameter(adam_unclipped);
    assert!(clipped <= 6.0, "{clipped}");
}
