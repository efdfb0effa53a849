//! Launches that need nothing of each other are one, where a device wants that: what is joined, what is not, and that memory stays right.

#[path = "../../unigrad-gpu/tests/support/grouped.rs"]
mod grouped;

use std::{cell::RefCell, rc::Rc};
use unigrad::nn::{AdamW, AdamW8bit, SparseAdam};
use unigrad_device::Driver;
use unigrad_interpreter::InterpreterDriver;
use unigrad_ir::{Dialect, Target, offline_targets, render};
use unigrad_kernel::{Kernel, Limits};
use unigrad_plan::{
    Options,
    testing::{end_on_plan, on_plan, plan_as_asked},
};
use unigrad_tensor::{DType, Device, Tensor, eval};
use unigrad_testing::watch;

/// Kinds of the launches of these values' plan, for a device that joins, and for one that does not; a joined launch with its parts. Memory is looked at too.
fn kinds(values: &[Tensor]) -> [Vec<String>; 2] {
    let found: Rc<RefCell<Vec<[Vec<String>; 2]>>> = Rc::default();
    let seen = Rc::clone(&found);
    eval::clear_plans();
    on_plan(move |capture, options| {
        let kind = |kernel: &Kernel| match kernel {
            Kernel::Joined(joined) => format!("joined {}", joined.parts.iter().map(Kernel::kind).collect::<Vec<_>>().join(" ")),
            other => other.kind().to_owned(),
        };
        let of = |joins: bool| -> Vec<String> {
            let options = Options { joins, ..options };
            watch::check(capture, options).unwrap_or_else(|error| panic!("the plan is wrong: {error}"));
            let plan = plan_as_asked(capture, options).unwrap_or_else(|error| panic!("{error}"));
            plan.launches.iter().map(|launch| kind(&launch.kernel)).collect()
        };
        seen.borrow_mut().push([of(true), of(false)]);
    });
    Tensor::realize_all(&values.iter().collect::<Vec<_>>()).unwrap();
    end_on_plan();
    assert_eq!(found.borrow().len(), 1, "one plan");
    found.take().remove(0)
}

fn leaves(count: usize, shape: [usize; 2], device: &Device) -> Vec<Tensor> {
    let all: Vec<Tensor> = (0..count).map(|i| Tensor::full(shape, i as f64 + 0.5, DType::F32, device)).collect();
    Tensor::realize_all(&all.iter().collect::<Vec<_>>()).unwrap();
    all
}

#[test]
fn groups_of_several_kinds_are_one_launch() {
    let device = unigrad_testing::devices()[0];
    let rows = |x: Tensor| x.softmax(1);
    let [joined, apart] = kinds(
        &(leaves(3, [5, 16], &device).into_iter().map(rows))
            .chain(leaves(2, [7, 24], &device).into_iter().map(rows))
            .chain(leaves(4, [3, 8], &device).into_iter().map(|x| x.exp()))
            // By itself it would be a launch, however little it does.
            .chain(leaves(1, [6, 6], &device).into_iter().map(|x| x.transpose(0, 1) + 1.0))
            .collect::<Vec<_>>(),
    );
    assert_eq!(apart.len(), 4, "{apart:?}");
    assert_eq!(joined.len(), 1, "{joined:?}");
    assert!(joined[0].starts_with("joined ") && joined[0].matches("grouped").count() == 3, "{joined:?}");
    // Without a group there is nothing to join: small launches of any graph stay what they are.
    let [joined, apart] = kinds(&[rows(leaves(1, [5, 16], &device).remove(0)), leaves(1, [3, 8], &device).remove(0).exp()]);
    assert_eq!((joined.len(), &joined), (2, &apart));
}

#[test]
fn what_needs_another_launch_comes_after_it() {
    let device = unigrad_testing::devices()[0];
    // The factor of the second group is made of the first one's results.
    let norms: Vec<Tensor> = leaves(3, [5, 16], &device).iter().map(|x| x.square().sum(())).collect();
    let total = Tensor::stack(&norms.iter().collect::<Vec<_>>(), 0).sum(()).sqrt();
    let scaled: Vec<Tensor> = leaves(3, [4, 9], &device).iter().map(|x| x / &total).collect();
    let [joined, apart] = kinds(&scaled);
    assert_eq!(joined, apart);
    assert!(joined.iter().filter(|kind| *kind == "grouped").count() == 2, "{joined:?}");
    // An index that is checked stands alone: of a launch with others nothing could tell whose it is.
    let table = leaves(1, [6, 4], &device).remove(0);
    let index = Tensor::from_vec(vec![1i64, 5, 0], 3, &device).realize().unwrap();
    let mut values: Vec<Tensor> = leaves(3, [5, 16], &device).iter().map(|x| x.exp()).collect();
    values.push(table.index_select(0, &index));
    let [joined, apart] = kinds(&values);
    assert_eq!(joined, apart);
}

#[test]
fn no_large_tensor_waits_for_another_launch() {
    let device = unigrad_testing::devices()[0];
    let of = |rows: usize| {
        // What a scan makes is there for one reader, and free after it.
        let early: Vec<Tensor> = leaves(2, [rows, 64], &device).iter().map(|x| x.cumsum(1).softmax(1)).collect();
        let late: Vec<Tensor> = leaves(2, [rows, 96], &device).iter().map(|x| x.cumsum(1).softmax(1)).collect();
        kinds(&early.into_iter().chain(late).collect::<Vec<_>>())
    };
    let groups = |kinds: &[String]| kinds.iter().filter(|kind| !kind.starts_with("scan")).cloned().collect::<Vec<_>>();
    let [joined, apart] = of(8);
    assert_eq!((groups(&joined), groups(&apart)), (vec!["joined grouped grouped".to_owned()], vec!["grouped".to_owned(); 2]));
    let [joined, apart] = of(1024);
    assert!(!joined.iter().any(|kind| kind.starts_with("joined")), "{joined:?}, apart {apart:?}");
}

/// A target like an H100.
fn hopper() -> Target {
    let target = offline_targets().into_iter().find(|target| target.dialect == Dialect::Cuda && target.arch == "sm_90").unwrap();
    Target { compute_units: 132, max_buffers: 2048, max_param_bytes: 32_764, ..target }
}

/// The programs that a GPU launches for each launch of the last plan that `work` makes. All of them have a text.
fn programs(target: &Target, work: impl FnOnce()) -> Vec<usize> {
    let found: Rc<RefCell<Vec<usize>>> = Rc::default();
    let (seen, target) = (Rc::clone(&found), target.clone());
    eval::clear_plans();
    on_plan(move |capture, options| {
        let limits = Limits {
            buffers: target.max_buffers as usize,
            bytes: target.max_param_bytes as usize,
            buffer_bytes: target.buffer_param_bytes() as usize,
            shares: true,
        };
        let plan = plan_as_asked(capture, Options { joins: true, limits, ..options }).unwrap_or_else(|error| panic!("{error}"));
        let programs = |kernel: &Kernel| {
            let lowered = unigrad_gpu::lower(kernel, &target).unwrap_or_else(|error| panic!("{error}"));
            for step in &lowered.steps {
                render(&step.program, &target).unwrap_or_else(|error| panic!("{error}"));
            }
            lowered.steps.len()
        };
        *seen.borrow_mut() = plan.launches.iter().map(|launch| programs(&launch.kernel)).collect();
    });
    work();
    end_on_plan();
    found.take()
}

/// What is one launch is one program, where a launch can pass so many buffers: over the 148 tensors of a GPT-2 of 128 features.
#[test]
fn a_step_over_all_parameters_is_as_few_programs() {
    let device = unigrad_testing::devices()[0];
    let d = 128;
    let layer: [&[usize]; 12] = [&[d], &[d], &[d, 3 * d], &[3 * d], &[d, d], &[d], &[d], &[d], &[d, 4 * d], &[4 * d], &[4 * d, d], &[d]];
    let ends: [&[usize]; 4] = [&[52, d], &[32, d], &[d], &[d]];
    let all: Vec<Tensor> = (ends.iter().chain((0..12).flat_map(|_| &layer)))
        .map(|shape| Tensor::full(*shape, 0.1, DType::F32, &device).requires_grad())
        .collect();
    assert_eq!(all.len(), 148);
    let gradients: Vec<Tensor> = all.iter().map(|p| p.detach() * 0.5).collect();
    Tensor::realize_all(&gradients.iter().chain(&all).collect::<Vec<_>>()).unwrap();
    let given = || gradients.iter().cloned().map(Some).collect::<Vec<_>>();
    let target = hopper();
    let mut small = AdamW8bit::new(all.clone(), 0.01).unwrap();
    assert_eq!(programs(&target, || small.step_with(given(), &[]).unwrap()), [1, 1], "AdamW8bit");
    let mut clipped = AdamW::new(all.clone(), 0.01).unwrap().clip_norm(0.5);
    // The largest are summed in parts, which a second program adds up.
    assert_eq!(programs(&target, || clipped.step_with(given(), &[]).unwrap()), [2, 1, 1, 1], "AdamW, clipped by norm");
    let mut sparse = SparseAdam::new(all, 0.01).unwrap();
    assert_eq!(programs(&target, || sparse.step_with(given(), &[]).unwrap()), [1, 1], "SparseAdam");
}

/// Groups, alone and side by side, on each target of the interpreter, which finds races, barriers that not all threads reach, and places beyond memory.
#[test]
fn the_interpreter_finds_nothing_wrong() {
    let driver = InterpreterDriver::default();
    for (ordinal, (name, target)) in unigrad_interpreter::targets().into_iter().enumerate() {
        println!("{name}");
        grouped::groups(&*driver.open(ordinal).unwrap(), target.f64);
    }
}
