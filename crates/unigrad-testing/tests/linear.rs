//! Linear planning: what a node of a graph of scalars costs the first time, however large the graph is.
//!
//! In: graphs of one-element tensors in the forms that make planners slow (chains, trees, one value with many readers, many results, a scalar
//! autograd's network, and the gradients of all of them). Out: seconds of this thread a node, to capture and plan, and to let the graph go.
//! Always: in threads of 256 kB, on the clock of the thread, which other work of the machine does not move much.

use std::sync::{Mutex, PoisonError};
use unigrad_tensor::{DType, Device, ScanOptions, Tensor, eval, grad, scan};

/// Bytes of stack that everything here must do with.
const STACK: usize = 256 << 10;
/// Nodes of the largest graph.
const NODES: usize = 200_000;
/// Seconds to capture and plan a node, and to let it go, at most. The aim is 5 microseconds, which is not asked for: at the largest size, with the checks
/// that tests are built with and beside other programs, most forms take 1 to 4.3, networks' gradients 4.2 to 6 (on two cores of a Xeon).
const SECONDS: f64 = 8e-6;
/// Seconds of this thread to compile and launch as well: of a million pending ops.
const READ: f64 = 10.0;
/// How much more a node of the largest graph may take than one of another, of which there are up to eight times fewer: caches are left behind, and
/// other work shares them.
const GROWTH: f64 = 2.0;

/// Seconds that this thread has worked.
#[cfg(target_os = "linux")]
fn worked() -> f64 {
    #[repr(C)]
    struct Timespec {
        seconds: std::ffi::c_long,
        nanoseconds: std::ffi::c_long,
    }
    unsafe extern "C" {
        fn clock_gettime(clock: std::ffi::c_int, time: *mut Timespec) -> std::ffi::c_int;
    }
    const CLOCK_THREAD_CPUTIME_ID: std::ffi::c_int = 3;
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: `time` is a timespec of this system's layout, written by the call.
    assert_eq!(unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut time) }, 0);
    time.seconds as f64 + 1e-9 * time.nanoseconds as f64
}

#[cfg(not(target_os = "linux"))]
fn worked() -> f64 {
    std::time::UNIX_EPOCH.elapsed().unwrap().as_secs_f64()
}

/// Runs a test in a small thread, one test after the other.
fn small(test: impl FnOnce() + Send + 'static) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(test).unwrap();
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Numbers in tensors of one element.
struct Scalars {
    device: Device,
    seed: u64,
}

impl Scalars {
    fn next(&mut self) -> Tensor {
        self.seed += 1;
        let value = unigrad_testing::fuzz::Rng(self.seed).bits() as f32 / u64::MAX as f32 - 0.5;
        Tensor::from_slice(&[value], [], &self.device)
    }

    fn parameter(&mut self) -> Tensor {
        self.next().requires_grad()
    }
}

/// The value that is read in the end, the leaves to differentiate it by, and what is read beside it.
struct Graph {
    loss: Tensor,
    leaves: Vec<Tensor>,
    others: Vec<Tensor>,
}

impl Graph {
    fn of(loss: Tensor, leaves: Vec<Tensor>) -> Graph {
        Graph { loss, leaves, others: Vec::new() }
    }
}

/// A form: makes a graph of about so many nodes.
type Form = (&'static str, fn(usize, &mut Scalars) -> Graph);

const FORMS: &[Form] = &[
    ("chain", |n, s| {
        let (x, w) = (s.parameter(), s.parameter());
        let y = (0..n / 2).fold(x.clone(), |y, _| (y * &w).tanh());
        Graph::of(y, vec![x, w])
    }),
    ("residual chain", |n, s| {
        let x = s.parameter();
        let y = (0..n / 2).fold(x.clone(), |y, _| &y + y.sin());
        Graph::of(y, vec![x])
    }),
    ("tree", |n, s| {
        let leaves: Vec<Tensor> = (0..n / 2).map(|_| s.parameter()).collect();
        let mut level: Vec<Tensor> = leaves.clone();
        while level.len() > 1 {
            level = level.chunks(2).map(|pair| if let [a, b] = pair { a * b + a } else { pair[0].clone() }).collect();
        }
        Graph::of(level[0].clone(), leaves.into_iter().step_by(64).collect())
    }),
    ("fan-out", |n, s| {
        let x = s.parameter().exp();
        let leaf = s.parameter();
        let ends: Vec<Tensor> = (0..n / 3).map(|_| (&x * s.next()).tanh() * &leaf).collect();
        let sum = ends.iter().skip(1).fold(ends[0].clone(), |sum, end| sum + end);
        Graph::of(sum, vec![leaf, x])
    }),
    ("many results", |n, s| {
        let leaves: Vec<Tensor> = (0..64).map(|_| s.parameter()).collect();
        // More operations than are computed again from data for a handle.
        let long = |x: &Tensor| (0..20).fold(x.clone(), |y, _| y.sin());
        let ends: Vec<Tensor> = (0..n / 21).map(|i| long(&leaves[i % 64]) * &leaves[i / 64 % 64]).collect();
        let loss = ends.iter().skip(1).fold(ends[0].clone(), |sum, end| sum + end);
        Graph { loss, leaves, others: ends }
    }),
    ("doublings", |n, s| {
        let x = s.parameter();
        Graph::of((0..n).fold(x.clone(), |y, _| &y + &y), vec![x])
    }),
    ("sums of all before", |n, s| {
        let x = s.parameter();
        let mut last = vec![x.clone(); 8];
        for i in 0..n / 7 {
            last[i % 8] = last.iter().skip(1).fold(last[0].clone(), |sum, term| sum + term);
        }
        Graph::of(last[0].clone(), vec![x])
    }),
    ("network", |n, s| network(n, s, &[2, 16, 16, 1])),
    ("wide network", |n, s| network(n, s, &[3, 64, 64, 1])),
];

/// The squared errors of a network of scalars, as a scalar autograd makes them: a neuron is a sum of products.
fn network(n: usize, s: &mut Scalars, sizes: &[usize]) -> Graph {
    let mut layer =
        |n_in: usize, n_out: usize| -> Vec<Vec<Tensor>> { (0..n_out).map(|_| (0..=n_in).map(|_| s.parameter()).collect()).collect() };
    let layers: Vec<_> = sizes.windows(2).map(|pair| layer(pair[0], pair[1])).collect();
    let per_sample: usize = sizes.windows(2).map(|pair| 2 * pair[1] * (pair[0] + 1)).sum();
    let mut loss: Option<Tensor> = None;
    for _ in 0..n.div_ceil(per_sample) {
        let mut values: Vec<Tensor> = (0..sizes[0]).map(|_| s.next()).collect();
        for neurons in &layers {
            let neuron = |weights: &Vec<Tensor>| {
                let products = weights.iter().zip(&values).map(|(weight, value)| weight * value);
                products.fold(weights[weights.len() - 1].clone(), |sum, product| sum + product).tanh()
            };
            values = neurons.iter().map(neuron).collect();
        }
        let error = (&values[0] - s.next()).square();
        loss = Some(match loss {
            Some(loss) => loss + error,
            None => error,
        });
    }
    Graph::of(loss.unwrap(), layers.into_iter().flatten().flatten().collect())
}

/// Seconds a node.
#[derive(Clone, Copy, Debug)]
struct Cost {
    nodes: usize,
    plan: f64,
    release: f64,
}

/// What a graph of a form costs.
fn cost(form: &Form, nodes: usize, gradient: bool, device: Device) -> Cost {
    let mut scalars = Scalars { device, seed: 1 };
    let graph = (form.1)(nodes, &mut scalars);
    let wanted: Vec<Tensor> = if gradient {
        grad(&graph.loss, &graph.leaves.iter().collect::<Vec<_>>()).unwrap()
    } else {
        [&graph.loss].into_iter().chain(&graph.others).cloned().collect()
    };
    // What remains is what a program of scalars holds: its parameters and what it asks for.
    let leaves = graph.leaves.clone();
    drop(graph);
    let exprs: Vec<_> = wanted.iter().map(Tensor::expr).collect();
    let nodes = unigrad_plan::Capture::new(&exprs).unwrap().len();
    let begin = worked();
    let plan = eval::plan_of(&exprs).unwrap();
    let planned = worked() - begin;
    assert!(plan.unfused_because.is_none(), "{:?}", plan.unfused_because);
    drop(plan);
    let begin = worked();
    drop((exprs, wanted));
    let released = worked() - begin;
    drop(leaves);
    Cost { nodes, plan: planned / nodes as f64, release: released / nodes as f64 }
}

/// What is too much of costs by size.
fn failed(costs: &[Cost]) -> Option<String> {
    let (largest, others) = costs.split_last()?;
    let usual = others.iter().map(|cost| cost.plan).fold(0.0, f64::max);
    if largest.plan > GROWTH * usual {
        return Some("not linear".into());
    }
    (largest.plan + largest.release > SECONDS).then(|| format!("more than {} microseconds a node", 1e6 * SECONDS))
}

#[test]
fn planning_is_linear_in_nodes() {
    small(|| {
        unigrad_testing::devices();
        let device = Device::open("cpu").unwrap();
        let mut failures = Vec::new();
        let only = std::env::var("UNIGRAD_TEST_FORM").ok();
        for (form, gradient) in FORMS.iter().flat_map(|form| [(form, false), (form, true)]) {
            let name = format!("{}{}", if gradient { "gradient of " } else { "" }, form.0);
            if only.as_ref().is_some_and(|only| *only != name) {
                continue;
            }
            // A gradient has a few nodes for each of its function.
            let once = |nodes: &usize| cost(form, if gradient { 5 * nodes / 16 } else { *nodes }, gradient, device);
            let sizes = [NODES / 8, NODES / 4, NODES / 2, NODES];
            let mut costs: Vec<Cost> = sizes.iter().map(once).collect();
            if failed(&costs).is_some() {
                // Of two times the shorter counts, for a machine with other work.
                costs.iter_mut().zip(sizes.iter().map(once)).for_each(|(cost, again)| {
                    (cost.plan, cost.release) = (cost.plan.min(again.plan), cost.release.min(again.release));
                });
            }
            let us = |of: fn(&Cost) -> f64| costs.iter().map(|cost| format!("{:.2}", 1e6 * of(cost))).collect::<Vec<_>>().join(" ");
            let nodes = costs.iter().map(|cost| cost.nodes.to_string()).collect::<Vec<_>>().join(" ");
            println!(
                "{name}: {nodes} nodes; microseconds a node: {} to capture and plan, {} to release",
                us(|c| c.plan),
                us(|c| c.release)
            );
            failures.extend(failed(&costs).map(|what| format!("{name}: {what}")));
        }
        assert!(failures.is_empty(), "{failures:#?}");
    });
}

#[test]
fn a_million_pending_ops_are_read() {
    small(|| {
        let device = Device::open("cpu").unwrap();
        let (x, step) = (Tensor::from_slice(&[1.0f32], [1], &device), Tensor::from_slice(&[0.5f32], [1], &device));
        let begin = worked();
        let y = (0..1_000_000).fold(x.clone(), |y, _| y + &step);
        assert_eq!(y.to_vec::<f32>().unwrap(), [500_001.0]);
        drop(y);
        let million = worked() - begin;
        println!("a million pending ops: {million:.2} s");
        assert!(million < READ, "a million pending ops take {million} s");
    });
}

/// What takes one value several times, again and again: what follows each use would follow `2^n` of them.
type Doubling = (&'static str, fn(&Tensor) -> Tensor);

const DOUBLINGS: &[Doubling] = &[
    ("x + x", |x| x + x),
    ("x * x", |x| x * x),
    ("x - x / 2", |x| x - x * 0.5),
    ("max(x, x)", |x| x.maximum(x)),
    ("(x + 1) + (x + 1)", |x| (x + 1.0) + (x + 1.0)),
    ("(x + 1) * (x - 1)", |x| (x + 1.0) * (x - 1.0)),
    ("x + x as another shape", |x| x + x.reshape([4, 250]).reshape([1000])),
    ("x + x backwards", |x| x + x.flip([0])),
    ("x + a part of x", |x| x + x.narrow(0, 0, 500).pad(&[(0, 500)])),
    ("where(x > 0, x, -x)", |x| x.gt(0.0).where_(x, -x)),
    ("halves of x, changed", |x| Tensor::concat(&[&x.narrow(0, 500, 500), &x.narrow(0, 0, 500)], 0)),
    ("x - mean(x)", |x| x - x.mean(())),
    ("x as bf16, and x", |x| x + x.cast(DType::BF16).cast(DType::F32)),
];

#[test]
fn what_is_used_several_times_is_followed_once() {
    small(|| {
        unigrad_testing::devices();
        let device = Device::open("cpu").unwrap();
        let mut failures = Vec::new();
        for (name, f) in DOUBLINGS {
            for gradient in [false, true] {
                let seconds = |n: usize| {
                    let x = Tensor::full([1000], 0.5, DType::F32, &device).realize().unwrap().requires_grad();
                    let y = (0..n).fold(x.clone(), |x, _| f(&x));
                    let wanted = if gradient { grad(&y.sum(()), &[&x]).unwrap() } else { vec![y] };
                    let exprs: Vec<_> = wanted.iter().map(Tensor::expr).collect();
                    let begin = worked();
                    drop(eval::plan_of(&exprs).unwrap());
                    worked() - begin
                };
                // Doublings that are followed twice take 16 times as long for 4 more.
                let (few, more) = (seconds(12), seconds(24));
                println!("{name}{}: {:.2} ms for 12, {:.2} for 24", if gradient { ", gradient" } else { "" }, 1e3 * few, 1e3 * more);
                if more > 20.0 * few + 0.02 {
                    failures.push(format!("{name}, gradient {gradient}: {few} s for 12, {more} s for 24"));
                    continue;
                }
                let many = seconds(400);
                println!("    {:.2} ms for 400", 1e3 * many);
                if many > 1.0 {
                    failures.push(format!("{name}, gradient {gradient}: {many} s for 400"));
                }
            }
        }
        assert!(failures.is_empty(), "{failures:#?}");
    });
}

/// Seconds of this thread to plan the gradients of a recurrent scan of so many steps.
fn scanned(steps: usize, device: Device) -> f64 {
    let values = |shape: &[usize]| Tensor::full(shape, 0.1, DType::F32, &device).realize().unwrap().requires_grad();
    let (x, w, h) = (values(&[steps, 2, 3]), values(&[3, 3]), values(&[2, 3]));
    let body = |h: &[Tensor], x: &[Tensor]| {
        let h = (h[0].matmul(&w) + &x[0]).tanh();
        (vec![h.clone()], vec![h])
    };
    let (_, all) = scan(body, &[&h], &[&x], ScanOptions::new()).unwrap();
    let gradients = grad(&all[0].square().sum(()), &[&x, &w, &h]).unwrap();
    let exprs: Vec<_> = gradients.iter().map(Tensor::expr).collect();
    let begin = worked();
    let plan = eval::plan_of(&exprs).unwrap();
    let seconds = worked() - begin;
    assert!(plan.unfused_because.is_none() && plan.launches.len() > 2 * steps);
    seconds
}

#[test]
fn scans_plan_in_linear_time() {
    small(|| {
        unigrad_testing::devices();
        let device = Device::open("cpu").unwrap();
        let of = |steps: usize| scanned(steps, device).min(scanned(steps, device)) / steps as f64;
        let (short, long) = (of(1_000), of(10_000));
        println!("microseconds a step to plan: {:.0} of 1,000 steps, {:.0} of 10,000", 1e6 * short, 1e6 * long);
        // Its graph outgrows the caches, which costs up to twice; what is not linear would cost ten times.
        assert!(long < 4.0 * short, "a step of 10,000 takes {long} s, one of 1,000 {short} s");
    });
}
