//! Scans: values and gradients of the first and second order are those of the steps one by one, on every device; a node whatever the length.

use std::sync::{Mutex, PoisonError};
use unigrad_tensor::{DType, Device, ScanOptions, Tensor, eval, grad, scan};

/// One test at a time: one counts the nodes that are made in the process.
static ONE: Mutex<()> = Mutex::new(());

/// A step: states and elements to new states and what goes into sequences.
type Body = fn(&[Tensor], &[Tensor], &[Tensor]) -> (Vec<Tensor>, Vec<Tensor>);

/// A name, the shapes of states, of elements and of what every step takes, and the step.
type Case = (&'static str, &'static [&'static [usize]], &'static [&'static [usize]], &'static [&'static [usize]], Body);

const CASES: &[Case] = &[
    ("running sum", &[&[3]], &[&[3]], &[], |s, x, _| {
        let sum = &s[0] + &x[0];
        (vec![sum.clone()], vec![sum])
    }),
    ("recurrent", &[&[2, 3]], &[&[2, 3]], &[&[3, 3], &[3]], |s, x, w| {
        let h = (s[0].matmul(&w[0]) + &x[0] + &w[1]).tanh();
        (vec![h.clone()], vec![h])
    }),
    ("two states, what is given is neither", &[&[2, 2], &[2]], &[&[2], &[2, 2]], &[&[2, 2]], |s, x, w| {
        let a = (s[0].matmul(&w[0]) * &x[1] + s[1].unsqueeze(0)).sin();
        let b = &s[1] * 0.5 + a.sum(0) * &x[0];
        (vec![a.clone(), b.clone()], vec![a.square().sum(1), &b * &x[0], x[1].softmax(1)])
    }),
    ("no sequences given", &[&[2]], &[&[2]], &[], |s, x, _| (vec![(&s[0] * &x[0]).tanh() + 0.25], vec![])),
    ("states in turn, unused elements", &[&[2], &[2]], &[&[2], &[3]], &[], |s, x, _| {
        (vec![s[1].clone(), &s[0] * &x[0]], vec![s[0].clone()])
    }),
    ("a sequence alone", &[], &[&[2, 3]], &[&[3]], |_, x, w| (vec![], vec![(&x[0] * &w[0]).exp(), w[0].neg()])),
    ("a scan in a scan", &[&[2]], &[&[3, 2]], &[&[2]], |s, x, w| {
        let inner = |t: &[Tensor], y: &[Tensor]| {
            let next = (&t[0] * &w[0] + &y[0] * &s[0]).sin();
            (vec![next.clone()], vec![next])
        };
        let (last, all) = scan(inner, &[&s[0]], &[&x[0]], ScanOptions::new().reverse()).unwrap();
        (last, vec![all[0].sum(0)])
    }),
    ("softmax and gather", &[&[4]], &[&[4]], &[], |s, x, _| {
        let p = (&s[0] + &x[0]).softmax(0);
        let index = Tensor::new([2i64, 0, 1, 1], &p.device().unwrap());
        (vec![p.gather(0, &index) * 2.0], vec![p])
    }),
];

struct Leaves {
    states: Vec<Tensor>,
    xs: Vec<Tensor>,
    wholes: Vec<Tensor>,
}

impl Leaves {
    fn of(case: &Case, length: usize, dtype: DType, device: &Device) -> Leaves {
        let mut seed = 0;
        let mut values = |shape: Vec<usize>| {
            seed += 1;
            let n: usize = shape.iter().product();
            let values: Vec<f64> = (0..n).map(|i| ((i * 7 + seed * 13) % 17) as f64 / 17.0 - 0.4).collect();
            Tensor::from_slice(&values, shape, device).cast(dtype).realize().unwrap().requires_grad()
        };
        let states = case.1.iter().map(|shape| values(shape.to_vec())).collect();
        let xs = case.2.iter().map(|shape| values([&[length][..], shape].concat())).collect();
        let wholes = case.3.iter().map(|shape| values(shape.to_vec())).collect();
        Leaves { states, xs, wholes }
    }

    fn all(&self) -> Vec<&Tensor> {
        self.states.iter().chain(&self.xs).chain(&self.wholes).collect()
    }

    fn scan(&self, body: Body, options: ScanOptions) -> Vec<Tensor> {
        let step = |states: &[Tensor], x: &[Tensor]| body(states, x, &self.wholes);
        let (last, given) = scan(step, &self.states.iter().collect::<Vec<_>>(), &self.xs.iter().collect::<Vec<_>>(), options).unwrap();
        [last, given].concat()
    }

    /// The same, step by step.
    fn steps(&self, body: Body, length: usize, reverse: bool) -> Vec<Tensor> {
        let (mut states, mut given) = (self.states.clone(), Vec::new());
        for step in 0..length {
            let at = if reverse { length - 1 - step } else { step };
            let elements: Vec<Tensor> = self.xs.iter().map(|x| x.select(0, at as i64)).collect();
            let (new, gives) = body(&states, &elements, &self.wholes);
            states = new;
            given.push(gives);
        }
        if reverse {
            given.reverse();
        }
        for i in 0..given[0].len() {
            states.push(Tensor::stack(&given.iter().map(|gives| &gives[i]).collect::<Vec<_>>(), 0));
        }
        states
    }
}

/// A number that depends on all results, on some of them more than linearly.
fn loss(results: &[Tensor]) -> Tensor {
    let parts = results.iter().enumerate().map(|(i, result)| (result.square() * (0.5 + i as f64) + result.sin()).sum(()));
    parts.reduce(|sum, part| sum + part).unwrap()
}

fn values(tensors: &[Tensor]) -> Vec<f64> {
    tensors.iter().flat_map(|tensor| tensor.to_f64_vec().unwrap()).collect()
}

fn close(got: &[f64], wanted: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), wanted.len(), "{what}");
    for (i, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        assert!((got - wanted).abs() <= tolerance * (1.0 + wanted.abs()), "{what}: {got} for {wanted} at {i}");
    }
}

#[test]
fn values_and_gradients_are_those_of_the_steps() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    for device in unigrad_testing::devices() {
        let device = &device;
        let name = device.to_string();
        let dtype = if name.starts_with("cpu") { DType::F64 } else { DType::F32 };
        let tolerance = if dtype == DType::F64 { 1e-12 } else { 2e-5 };
        // Elsewhere the kernels are those of ops that the op table has run there: a few cases show that the wiring is the same.
        let (cases, lengths) =
            if dtype == DType::F64 { (CASES, &[(1, false), (3, true), (4, false)][..]) } else { (&CASES[1..2], &[(3, true)][..]) };
        for case in cases {
            for &(length, reverse) in lengths {
                let what = format!("{} of {length} on {name}", case.0);
                let options = if reverse { ScanOptions::new().reverse() } else { ScanOptions::new() };
                let leaves = Leaves::of(case, length, dtype, device);
                let (got, wanted) = (leaves.scan(case.4, options), leaves.steps(case.4, length, reverse));
                let shapes = |tensors: &[Tensor]| tensors.iter().map(Tensor::shape).collect::<Vec<_>>();
                assert_eq!(shapes(&got), shapes(&wanted), "{what}");
                // Of each result alone, and of all.
                let mut losses = vec![(loss(&got), loss(&wanted))];
                losses.extend(got.iter().zip(&wanted).map(|(a, b)| (loss(std::slice::from_ref(a)), loss(std::slice::from_ref(b)))));
                for (at, (a, b)) in losses.iter().enumerate() {
                    let wrt = leaves.all();
                    let first = |loss: &Tensor| -> Vec<Tensor> {
                        let found = unigrad_tensor::grad_allow_unused(loss, None, &wrt).unwrap();
                        found.into_iter().zip(&wrt).map(|(found, leaf)| found.unwrap_or_else(|| leaf.zeros_like())).collect()
                    };
                    let (a1, b1) = (first(a), first(b));
                    let (a2, b2) = (first(&loss(&a1)), first(&loss(&b1)));
                    close(&values(&a1), &values(&b1), tolerance, &format!("{what}: gradient {at}"));
                    close(&values(&a2), &values(&b2), 10.0 * tolerance, &format!("{what}: second gradient {at}"));
                }
                close(&values(&got), &values(&wanted), tolerance, &what);
            }
        }
    }
}

#[test]
fn gradients_are_finite_differences() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    unigrad_testing::devices();
    let device = Device::open("cpu").unwrap();
    for case in CASES {
        let leaves = Leaves::of(case, 4, DType::F64, &device);
        let of = |leaves: &Leaves| loss(&leaves.scan(case.4, ScanOptions::new()));
        // The second order is the difference of the first.
        let penalty = |leaves: &Leaves| {
            let wrt = leaves.all();
            let found = unigrad_tensor::grad_allow_unused(&of(leaves), None, &wrt).unwrap();
            loss(&found.into_iter().flatten().collect::<Vec<_>>())
        };
        for (order, value) in [&of as &dyn Fn(&Leaves) -> Tensor, &penalty].into_iter().enumerate() {
            let wrt = leaves.all();
            let found = unigrad_tensor::grad_allow_unused(&value(&leaves), None, &wrt).unwrap();
            let gradients: Vec<Option<Vec<f64>>> =
                found.iter().map(|found| found.as_ref().map(|found| found.to_f64_vec().unwrap())).collect();
            for (which, gradient) in gradients.iter().enumerate() {
                let n = leaves.all()[which].numel();
                for at in [0, n / 2, n - 1] {
                    let moved = |by: f64| {
                        let change = |i: usize, tensor: &Tensor| {
                            let mut values = tensor.to_f64_vec().unwrap();
                            if i == which {
                                values[at] += by;
                            }
                            Tensor::from_slice(&values, tensor.shape(), &device).requires_grad()
                        };
                        let mut all: Vec<Tensor> = leaves.all().into_iter().enumerate().map(|(i, tensor)| change(i, tensor)).collect();
                        let wholes = all.split_off(case.1.len() + case.2.len());
                        let xs = all.split_off(case.1.len());
                        value(&Leaves { states: all, xs, wholes }).item::<f64>().unwrap()
                    };
                    let step = 1e-5;
                    let difference = (moved(step) - moved(-step)) / (2.0 * step);
                    let got = gradient.as_ref().map_or(0.0, |gradient| gradient[at]);
                    assert!(
                        (got - difference).abs() <= 1e-6 * (1.0 + difference.abs()),
                        "{} order {order}: {got} for {difference}",
                        case.0
                    );
                }
            }
        }
    }
}

#[test]
fn a_scan_is_one_node_whatever_the_length() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    unigrad_testing::devices();
    let device = Device::open("cpu").unwrap();
    let case = &CASES[1];
    let recorded = |length: usize| {
        let leaves = Leaves::of(case, length, DType::F32, &device);
        let before = unigrad_graph::next_id();
        let results = leaves.scan(case.4, ScanOptions::new());
        let gradients = grad(&loss(&results), &leaves.all()).unwrap();
        let nodes = unigrad_graph::next_id() - before;
        let capture = unigrad_plan::Capture::new(&gradients.iter().map(Tensor::expr).collect::<Vec<_>>()).unwrap();
        (nodes, capture.len())
    };
    assert_eq!(recorded(1), recorded(3000));
}

#[test]
fn the_gradient_of_a_weight_is_one_product() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    unigrad_testing::devices();
    let device = Device::open("cpu").unwrap();
    let leaves = Leaves::of(&CASES[1], 20, DType::F32, &device);
    let products = |results: Vec<Tensor>| {
        let gradients = grad(&loss(&results), &leaves.all()).unwrap();
        let plan = eval::plan_of(&gradients.iter().map(Tensor::expr).collect::<Vec<_>>()).unwrap();
        plan.launches.iter().filter(|launch| matches!(launch.kernel, unigrad_kernel::Kernel::Contract(_))).count()
    };
    let own = products(leaves.scan(CASES[1].4, ScanOptions::new()));
    // Twenty forward, twenty backward, and one for the weight.
    assert_eq!(own, 41);
    assert_eq!(own, products(leaves.steps(CASES[1].4, 20, false)));
}

/// Sums of products of up to so many terms each are one product (`MAX_INNER` of `unigrad-plan/src/step_sums.rs`).
const MOST_TERMS: usize = 1024;

#[test]
fn sums_of_products_are_one_product_up_to_a_length() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    unigrad_testing::devices();
    let device = Device::open("cpu").unwrap();
    let numbers = |shape: [usize; 2], seed: usize| {
        let values: Vec<f64> = (0..shape[0] * shape[1]).map(|i| ((i * 37 + seed * 11) % 23) as f64 - 11.0).collect();
        Tensor::from_vec(values, shape, &device)
    };
    for (terms, wanted) in [(1, 1), (256, 1), (257, 1), (MOST_TERMS, 1), (MOST_TERMS + 1, 6)] {
        let pairs: Vec<(Tensor, Tensor)> = (0..6).map(|step| (numbers([terms, 3], step), numbers([terms, 4], step + 100))).collect();
        let products = || pairs.iter().map(|(a, b)| a.t().matmul(b));
        let sum = products().reduce(|sum, product| sum + product).unwrap();
        let plan = eval::plan_of(&[sum.expr()]).unwrap();
        let contractions = plan.launches.iter().filter(|launch| matches!(launch.kernel, unigrad_kernel::Kernel::Contract(_))).count();
        assert_eq!(contractions, wanted, "{terms} terms");
        // Whole numbers: any order of adding gives the same.
        let want: Vec<f64> = products()
            .map(|product| product.to_vec::<f64>().unwrap())
            .fold(vec![0.0; 12], |sum, product| sum.iter().zip(&product).map(|(x, y)| x + y).collect());
        assert_eq!(sum.to_vec::<f64>().unwrap(), want, "{terms} terms");
    }
}

#[test]
fn no_step_and_whole_numbers() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    unigrad_testing::devices();
    let device = Device::open("cpu").unwrap();
    let start = Tensor::new([1.5f64, 2.0], &device).requires_grad();
    let w = Tensor::new([2.0f64, 3.0], &device).requires_grad();
    let none = Tensor::zeros([0, 2], DType::F64, &device);
    let body = |s: &[Tensor], x: &[Tensor]| (vec![&s[0] * &w + &x[0]], vec![s[0].clone()]);
    let (last, given) = scan(body, &[&start], &[&none], ScanOptions::new()).unwrap();
    assert_eq!(last[0].to_vec::<f64>().unwrap(), [1.5, 2.0]);
    assert_eq!(given[0].shape(), [0, 2]);
    let gradients = grad(&last[0].sum(()), &[&start, &w]).unwrap();
    assert_eq!(values(&gradients), [1.0, 1.0, 0.0, 0.0]);
    // A counter beside a float: no gradient goes through it, and the float's is whole.
    let counter = Tensor::new(0i64, &device);
    let body = |s: &[Tensor], _: &[Tensor]| (vec![&s[0] + 1, &s[1] * &w], vec![s[0].clone()]);
    let (last, given) = scan(body, &[&counter, &start], &[], ScanOptions::new().length(3)).unwrap();
    assert_eq!(last[0].item::<i64>().unwrap(), 3);
    assert_eq!(given[0].to_vec::<i64>().unwrap(), [0, 1, 2]);
    let gradients = grad(&last[1].sum(()), &[&start, &w]).unwrap();
    assert_eq!(values(&gradients), [8.0, 27.0, 18.0, 54.0]);
}

#[test]
fn broken_rules_name_the_line() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    unigrad_testing::devices();
    let device = Device::open("cpu").unwrap();
    let state = Tensor::zeros([2], DType::F32, &device);
    let (x, y) = (Tensor::zeros([3, 2], DType::F32, &device), Tensor::zeros([4, 2], DType::F32, &device));
    let message = |result: unigrad_tensor::Result<(Vec<Tensor>, Vec<Tensor>)>| {
        let message = result.unwrap_err().to_string();
        assert!(message.contains("scan.rs:"), "{message}");
        message
    };
    let keep = |s: &[Tensor], _: &[Tensor]| (s.to_vec(), vec![]);
    assert!(message(scan(keep, &[&state], &[&x, &y], ScanOptions::new())).contains("3 elements along axis 0"));
    assert!(message(scan(keep, &[&state], &[], ScanOptions::new())).contains("no sequence tells"));
    let wider = |s: &[Tensor], _: &[Tensor]| (vec![s[0].cast(DType::F64)], vec![]);
    assert!(message(scan(wider, &[&state], &[&x], ScanOptions::new())).contains("state 0 is [2] f32 before a step and [2] f64 after it"));
    let none = |_: &[Tensor], _: &[Tensor]| (vec![], vec![]);
    assert!(message(scan(none, &[&state], &[&x], ScanOptions::new())).contains("0 states"));
    let variable = |s: &[Tensor], _: &[Tensor]| (vec![s[0].requires_grad()], vec![]);
    assert!(message(scan(variable, &[&state], &[&x], ScanOptions::new())).contains("cannot be repeated"));
    // What is assigned of a step has no value: neither the tensor nor what is computed next meets it.
    let kept = Tensor::new([7.0f32, 7.0], &device);
    let assigns = |s: &[Tensor], x: &[Tensor]| {
        kept.assign(&(&s[0] + &x[0])).unwrap();
        (s.to_vec(), vec![])
    };
    assert!(
        message(scan(assigns, &[&state], &[&x], ScanOptions::new())).contains("the body assigns to a tensor what differs between steps")
    );
    assert_eq!((&state + 1.0).to_vec::<f32>().unwrap(), [1.0, 1.0]);
    assert_eq!(kept.to_vec::<f32>().unwrap(), [7.0, 7.0]);
    let broken = |s: &[Tensor], x: &[Tensor]| (vec![s[0].matmul(&x[0].reshape([1, 2]))], vec![]);
    message(scan(broken, &[&state], &[&x], ScanOptions::new()));
}

/// A step that fails changes nothing, on every device.
#[test]
fn an_index_out_of_range_in_a_body_keeps_what_was_there() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    for device in unigrad_testing::devices() {
        let table = Tensor::new([1.0f32, 2.0, 4.0], &device).realize().unwrap();
        let kept = Tensor::new([7.0f32], &device).realize().unwrap();
        let step = |indices: &[i64]| {
            let indices = Tensor::from_slice(indices, [indices.len(), 1], &device).realize().unwrap();
            let body = |s: &[Tensor], i: &[Tensor]| (vec![&s[0] * 0.5 + table.index_select(0, &i[0])], vec![]);
            let (last, _) = scan(body, &[&kept], &[&indices], ScanOptions::new()).unwrap();
            kept.assign(&last[0])?;
            // Read with the assignment, as a loss is: on a GPU this tells of the index.
            Ok::<f32, unigrad_tensor::Error>(last[0].to_vec::<f32>()?[0])
        };
        let error = step(&[0, 9, 1]).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("scan.rs:"), "{device}: {error}");
        assert_eq!(kept.to_vec::<f32>().unwrap(), [7.0], "{device}");
        assert_eq!(step(&[0, 2, 1]).unwrap(), 5.125, "{device}");
        assert_eq!(kept.to_vec::<f32>().unwrap(), [5.125], "{device}");
    }
}
