//! What the host pays for a node: instructions to record one, and to look one up in a graph whose plan is there.
//!
//! In: a mixture of ops as a model's forward pass has it (products, broadcasts, maps with tensors and with Rust numbers, views).
//! Out: instructions a node, counted by callgrind in a copy of this program; nanoseconds for the eye, since they depend on the machine.
//! Always: what is counted is what a program calls: the methods of `Tensor`, and then the walk, the key and the search of the cache, as an
//! evaluation makes them; nodes of the step before have been dropped, so that memory comes from where it comes from in a training loop.
//! Not counted: launches, and letting the nodes go after them (printed only).

use std::{process::Command, time::Instant};
use unigrad_plan::{Capture, Options, PlanCache};
use unigrad_tensor::{DType, Device, Tensor};

/// Instructions to record a node, at most.
const RECORD: f64 = 300.0;
/// Instructions to look a node up, at most.
const LOOK_UP: f64 = 300.0;

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

/// Records, looks up and releases some times; each time nodes recorded, nodes looked up, and seconds of the three.
fn steps(layers: usize, times: usize) -> Vec<(f64, f64, [f64; 3])> {
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
        let recorded = begin.elapsed().as_secs_f64();
        let nodes = unigrad_graph::next_id() - before;
        let begin = Instant::now();
        let (looked_up, hit) = counted_look_up(&mut cache, &wanted);
        let found = begin.elapsed().as_secs_f64();
        assert!(hit, "the same graph has the same plan");
        let begin = Instant::now();
        counted_release(wanted);
        (nodes as f64, looked_up as f64, [recorded, found, begin.elapsed().as_secs_f64()])
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

#[test]
fn recording_and_look_up_are_cheap() {
    let (layers, times) = COUNTED_STEPS;
    if std::env::var_os(COUNTED).is_some() {
        steps(layers, times);
        return;
    }
    let timed = steps(layers, 50);
    let median = |of: &dyn Fn(&(f64, f64, [f64; 3])) -> f64| {
        let mut all: Vec<f64> = timed.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        1e9 * all[all.len() / 2]
    };
    let (nodes, looked_up, _) = timed[0];
    println!(
        "{nodes} nodes recorded, {looked_up} looked up; nanoseconds a node: {:.0} to record, {:.0} to look up, {:.0} to release",
        median(&|(nodes, _, [seconds, ..])| seconds / nodes),
        median(&|(_, nodes, [_, seconds, _])| seconds / nodes),
        median(&|(nodes, _, [.., seconds])| seconds / nodes),
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
