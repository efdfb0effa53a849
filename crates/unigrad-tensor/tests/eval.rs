//! Evaluation end to end on the CPU: graph, plan, launches, numbers.

use unigrad_device::Config;
use unigrad_graph::{DType, Expr, Literal, PadAxis, ReduceOp, SliceAxis};
use unigrad_kernel::Kernel;
use unigrad_tensor::eval;

fn device() -> u32 {
    unigrad_device::register(unigrad_cpu::CpuDriver);
    unigrad_device::Device::open("cpu").unwrap().id()
}

fn leaf(values: &[f32], shape: &[usize]) -> Expr {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    eval::upload(&bytes, shape, DType::F32, device()).unwrap()
}

fn read(expr: &Expr) -> Vec<f32> {
    eval::download(expr).unwrap().chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

fn ramp(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 37 + 11) % 23) as f32 * 0.25 - 2.0).collect()
}

/// Counts are the process's: one test at a time.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[test]
fn maps_and_views() {
    let _alone = alone();
    let x = leaf(&ramp(12), &[3, 4]);
    let y = x.add(&x).permute(&[1, 0]).reshape(&[2, 6]).neg();
    let want: Vec<f32> = (0..12).map(|i| -2.0 * ramp(12)[(i % 3) * 4 + i / 3]).collect();
    assert_eq!(read(&y), want);
    let flipped = x.slice(&[SliceAxis { start: 2, step: -1, len: 3 }, SliceAxis { start: 0, step: 2, len: 2 }]);
    let r = ramp(12);
    assert_eq!(read(&flipped), vec![r[8], r[10], r[4], r[6], r[0], r[2]]);
    let padded = x.pad(&[PadAxis { lo: 1, hi: 0, interior: 1 }, PadAxis::default()], Literal::float(DType::F32, 7.0));
    let p = read(&padded);
    assert_eq!(p[..4], [7.0; 4]);
    assert_eq!(p[4..8], r[..4]);
    assert_eq!(p[8..12], [7.0; 4]);
    assert_eq!(p[12..16], r[4..8]);
}

/// Where a value's square is beyond the range of its dtype, the gradient is not.
#[test]
fn gradients_of_gelu_at_large_values_of_f16() {
    use unigrad_tensor::{Device, Tensor, grad};
    let _alone = alone();
    device();
    for fusion in [true, false] {
        let before = eval::set_fusion(fusion);
        let x = Tensor::from_slice(&[-60000f32, -300.0, 300.0, 60000.0], [4], &Device::open("cpu").unwrap());
        let x = x.cast(DType::F16).requires_grad();
        let gradient = grad(&x.gelu_tanh().cast(DType::F32).sum(()), &[&x]).unwrap()[0].cast(DType::F32).to_vec::<f32>().unwrap();
        eval::set_fusion(before);
        assert_eq!(gradient, [0.0, 0.0, 1.0, 1.0], "fusion {fusion}");
    }
}

/// A sum over no rows of more columns than there is memory for, divided by which there is nothing.
#[test]
fn results_without_elements_need_no_work() {
    let _alone = alone();
    let x = leaf(&[], &[0, 1 << 40]);
    let nothing = x.div(&x.reduce(ReduceOp::Sum, 1).expand(&[0, 1 << 40]));
    assert!(eval::download(&nothing).unwrap().is_empty());
}

#[test]
fn what_is_cheap_to_compute_again_is_not_stored_for_handles() {
    let _alone = alone();
    let (x, w) = (leaf(&ramp(12), &[3, 4]), leaf(&ramp(16), &[4, 4]));
    // As the temporaries of an expression, these are alive when the last one is realized.
    let sum = x.add(&x);
    let half = sum.unary(unigrad_graph::UnaryOp::Neg);
    let product = half.matmul(&w);
    let more = product.add(&x);
    let last = more.unary(unigrad_graph::UnaryOp::Relu);
    eval::realize(std::slice::from_ref(&last)).unwrap();
    assert!(sum.data().is_none() && half.data().is_none(), "elementwise values of data stay to be computed");
    assert!(product.data().is_some() && more.data().is_some(), "what took a product is kept for its handle");
    // They are there when they are asked for.
    assert_eq!(read(&half), ramp(12).iter().map(|v| -2.0 * v).collect::<Vec<_>>());
    let (product, x) = (read(&product), ramp(12));
    assert_eq!(read(&last), product.iter().zip(&x).map(|(p, x)| (p + x).max(0.0)).collect::<Vec<_>>());
    // A long chain is stored: computing it again would take longer each time.
    let start = leaf(&x, &[3, 4]);
    let long = (0..20).fold(start.clone(), |sum, _| sum.add(&start));
    eval::realize(std::slice::from_ref(&long.unary(unigrad_graph::UnaryOp::Relu))).unwrap();
    assert!(long.data().is_some());
}

#[test]
fn softmax_and_norms_are_one_launch() {
    let _alone = alone();
    let x = leaf(&ramp(5 * 300), &[5, 300]);
    let y = x.softmax(1);
    assert_eq!(eval::plan_of(std::slice::from_ref(&y)).unwrap().launches.len(), 1);
    let values = read(&y);
    for row in values.chunks(300) {
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
    }
    let y = x.normalize(1, true, 1e-5);
    assert_eq!(
        eval::plan_of(std::slice::from_ref(&y)).unwrap().launches.len(),
        1,
        "{}",
        eval::plan_text(std::slice::from_ref(&y)).unwrap()
    );
    for row in read(&y).chunks(300) {
        assert!(row.iter().sum::<f32>().abs() < 1e-3);
        assert!((row.iter().map(|v| v * v).sum::<f32>() / 300.0 - 1.0).abs() < 1e-3);
    }
}

#[test]
fn products_with_epilogue_are_one_launch() {
    let _alone = alone();
    let x = leaf(&ramp(6 * 8), &[6, 8]);
    let w = leaf(&ramp(8 * 5), &[8, 5]);
    let b = leaf(&ramp(5), &[1, 5]);
    let y = x.matmul(&w).add(&b.expand(&[6, 5])).unary(unigrad_graph::UnaryOp::Gelu);
    assert_eq!(eval::plan_of(std::slice::from_ref(&y)).unwrap().launches.len(), 1);
    let (xs, ws, bs) = (ramp(48), ramp(40), ramp(5));
    for (i, got) in read(&y).into_iter().enumerate() {
        let (r, c) = (i / 5, i % 5);
        let sum: f32 = (0..8).map(|k| xs[r * 8 + k] * ws[k * 5 + c]).sum::<f32>() + bs[c];
        let want = unigrad_graph::UnaryOp::Gelu.eval(sum.into()) as f32;
        assert!((got - want).abs() < 1e-4, "{i}: {got} {want}");
    }
    let t = leaf(&ramp(5 * 8), &[5, 8]);
    let y = x.matmul(&t.permute(&[1, 0])).permute(&[1, 0]);
    assert_eq!(eval::plan_of(std::slice::from_ref(&y)).unwrap().launches.len(), 1);
    let ts = ramp(40);
    for (i, got) in read(&y).into_iter().enumerate() {
        let (r, c) = (i % 6, i / 6);
        let want: f32 = (0..8).map(|k| xs[r * 8 + k] * ts[c * 8 + k]).sum();
        assert!((got - want).abs() < 1e-4);
    }
}

#[test]
fn column_sums_and_full_sums() {
    let _alone = alone();
    let x = leaf(&ramp(70 * 33), &[70, 33]);
    let r = ramp(70 * 33);
    let columns = read(&x.sum(0b01));
    for c in 0..33 {
        let want: f32 = (0..70).map(|i| r[i * 33 + c]).sum();
        assert!((columns[c] - want).abs() < 1e-3);
    }
    let total = read(&x.reduce(ReduceOp::Sum, 0b11));
    assert!((total[0] - r.iter().sum::<f32>()).abs() < 1e-2);
}

#[test]
fn second_evaluation_plans_nothing() {
    let _alone = alone();
    let run = |lr: f64| {
        let x = leaf(&ramp(64), &[64]);
        let y = x.mul(&Expr::scalar(Literal::float(DType::F32, lr), &[64], device()));
        read(&y)[3]
    };
    let first = run(0.5);
    let before = eval::stats();
    let second = run(0.25);
    let after = eval::stats();
    assert_eq!(first, second * 2.0);
    assert_eq!((after.plans_built, after.compiles), (before.plans_built, before.compiles));
}

/// The products of a plan: whether each may be of TF32.
fn products_of_tf32(y: &Expr) -> Vec<bool> {
    let plan = eval::plan_of(std::slice::from_ref(y)).unwrap();
    let product = |launch: &unigrad_plan::PlannedLaunch| match &launch.kernel {
        Kernel::Contract(contract) => Some(contract.tf32),
        _ => None,
    };
    plan.launches.iter().filter_map(product).collect()
}

/// A plan that was made with TF32 is not one for a program that forbids it.
#[test]
fn tf32_is_a_part_of_a_plans_key() {
    let _alone = alone();
    let product = || leaf(&ramp(37 * 41), &[37, 41]).matmul(&leaf(&ramp(41 * 43), &[41, 43]));
    // The setting is the process's.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            Config::set_allow_tf32(self.0).unwrap();
        }
    }
    device();
    let _restore = Restore(Config::set_allow_tf32(false).unwrap());
    let built = |allowed: bool| {
        Config::set_allow_tf32(allowed).unwrap();
        assert_eq!(products_of_tf32(&product()), [allowed]);
        let before = eval::stats();
        let values = read(&product());
        let after = eval::stats();
        (after.plans_built - before.plans_built, after.plan_hits - before.plan_hits, values)
    };
    let [on, off, again, last] = [true, false, true, false].map(built);
    assert_eq!([(on.0, on.1), (off.0, off.1), (again.0, again.1), (last.0, last.1)], [(1, 0), (1, 0), (0, 1), (0, 1)]);
    // The CPU has all digits in any case.
    assert!(on.2 == off.2 && off.2 == again.2 && again.2 == last.2);
}
