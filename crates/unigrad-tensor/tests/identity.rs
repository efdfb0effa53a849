//! `grad` with respect to any tensor: leaf, view, constant, intermediate, evaluated or not. What is not depended on is an error.

use unigrad_tensor::*;

fn cpu() -> Device {
    unigrad_device::register(unigrad_cpu::CpuDriver);
    Device::open("cpu").unwrap()
}

fn t<V: NestedValues>(values: V) -> Tensor {
    Tensor::new(values, &cpu())
}

fn values(x: &Tensor) -> Vec<f64> {
    x.to_f64_vec().unwrap()
}

type Make = fn(&Tensor) -> Tensor;

/// Views and ops that change nothing, and such as undo each other.
const WAYS: &[(&str, Make, Make)] = &[
    ("t", Tensor::t, Tensor::t),
    ("neg", Tensor::neg, Tensor::neg),
    ("reshape", |x| x.reshape([1, 2, 2]), |x| x.reshape([2, 2])),
    ("reshape to the same", |x| x.reshape([2, 2]), |x| x.reshape([2, 2])),
    ("reshape twice", |x| x.reshape([4]), |x| x.reshape([4, 1]).reshape([2, 2])),
    ("permute to the same", |x| x.permute([0, 1]), |x| x.permute([0, 1])),
    ("permute", |x| x.unsqueeze(0).permute([2, 0, 1]), |x| x.permute([1, 2, 0]).squeeze(0)),
    ("expand to the same", |x| x.expand([2, 2]), |x| x.expand([2, 2])),
    ("slice of all", |x| x.i(..), |x| x.narrow(0, 0, 2)),
    ("flip", |x| x.flip(0), |x| x.flip(0)),
    ("roll", |x| x.roll(2, 0), |x| x.roll(0, 1)),
    ("pad by nothing", |x| x.pad(&[(0, 0)]), |x| x.pad(&[])),
    ("concat of one", |x| Tensor::concat(&[x], 0), |x| Tensor::concat(&[x], 1)),
    ("times 1", |x| x * Tensor::ones_like(x), |x| Tensor::ones_like(x) * x),
    ("by 1", |x| x / Tensor::ones_like(x), |x| x / Tensor::ones_like(x)),
    ("less 0", |x| x - Tensor::zeros_like(x), |x| x - Tensor::zeros_like(x)),
    ("plus -0", |x| x + Tensor::zeros_like(x).neg(), |x| Tensor::zeros_like(x).neg() + x),
    ("power 1", |x| x.pow(1), |x| x.pow(1.0)),
    ("tile once", |x| x.tile(&[1]), |x| x.tile(&[1, 1])),
    ("repeat once", |x| x.repeat_interleave(1, 0), |x| x.repeat_interleave(1, 1)),
    ("sum of single ones", |x| x.unsqueeze(0).sum(0), |x| x.unsqueeze(2).max(2)),
    ("mean of single ones", |x| x.unsqueeze(0).mean(0), |x| x.unsqueeze(0).mean(0)),
    ("dropout of nothing", |x| x.dropout(0.0), |x| x.dropout(0.0)),
    ("there and back", |x| x.cast(DType::F64), |x| x.cast(DType::F32)),
];

/// The gradients of `sum(x * back(v))` for `v = way(x)`: with respect to `v`, for which `x` is another tensor, and to `x`.
#[test]
fn a_view_has_its_own_gradient() {
    for (name, way, back) in WAYS {
        for (variable, early) in [(false, false), (false, true), (true, false), (true, true)] {
            let x = t([[1.0f32, 2.0], [3.0, 5.0]]);
            let x = if variable { x.requires_grad() } else { x };
            let v = way(&x);
            if early {
                v.realize().unwrap();
            }
            let loss = (&x * back(&v).cast(DType::F32)).sum(());
            let wrt_v = grad(&loss, &[&v]).unwrap().remove(0);
            // Before anything is read: what needs no gradient keeps no graph.
            let again = grad(&wrt_v.square().sum(()), &[&x]).map(|g| values(&g[0]));
            assert!(again.as_ref().is_ok_and(|g| *g == [2.0, 4.0, 6.0, 10.0]), "{name}: second derivative {again:?}");
            assert_eq!(values(&wrt_v), values(&way(&x)), "{name}, by v, variable: {variable}, early: {early}");
            match grad(&loss, &[&x]) {
                Ok(gradient) => {
                    let expected: Vec<f64> = values(&x).iter().map(|x| 2.0 * x).collect();
                    assert_eq!(values(&gradient[0]), expected, "{name}, by x, variable: {variable}, early: {early}");
                }
                Err(error) => assert!(!variable && early && error.to_string().contains("forgotten"), "{name}: {error}"),
            }
        }
    }
}

#[test]
fn minimal_cases() {
    let x = t([[1.0f32, 2.0], [3.0, 4.0]]);
    let v = x.t();
    assert_eq!(values(&grad(&v.t().square().sum(()), &[&v]).unwrap()[0]), [2.0, 6.0, 4.0, 8.0]);
    let (v, w) = (x.reshape([1, 2, 2]), t([[1.0f32, -1.0]]));
    assert_eq!(values(&grad(&v.linear(&w, None).sum(()), &[&v]).unwrap()[0]), [1.0, -1.0, 1.0, -1.0]);
    let n = x.neg();
    assert_eq!(values(&grad(&n.neg().square().sum(()), &[&n]).unwrap()[0]), [-2.0, -4.0, -6.0, -8.0]);
    for o in [Tensor::ones([2], DType::F32, &cpu()), Tensor::full([2], 1.0, DType::F32, &cpu()), Tensor::scalar(1.0, DType::F32, &cpu())] {
        let twos = vec![2.0; o.numel()];
        assert_eq!(values(&grad(&o.square().sum(()), &[&o]).unwrap()[0]), twos);
        let spread = o.expand([3, o.numel()]).cast(DType::F64);
        assert_eq!(values(&grad(&spread.square().sum(()), &[&o]).unwrap()[0]), vec![6.0; o.numel()]);
    }
    // A gradient is a node like any other.
    let a = t([1.0f32, 2.0]);
    let first = grad(&(a.square() * 3.0).sum(()), &[&a]).unwrap().remove(0);
    let turned = first.reshape([2, 1]).reshape([2]);
    assert_eq!(values(&grad(&turned.square().sum(()), &[&first]).unwrap()[0]), [12.0, 24.0]);
}

#[test]
fn what_is_not_depended_on_is_an_error() {
    let (x, y) = (t([1.0f32, 2.0]), t([3.0f32, 4.0]));
    let loss = x.square().sum(());
    let error = grad(&loss, &[&x, &y]).unwrap_err().to_string();
    assert!(error.contains("does not depend on tensor 1") && error.contains("grad_allow_unused"), "{error}");
    assert!(error.contains("identity.rs"), "{error}");
    let found = grad_allow_unused(&loss, None, &[&x, &y]).unwrap();
    assert!(found[0].is_some() && found[1].is_none());
    for unused in [(x.detach() * &y).sum(()), (no_grad(|| x.requires_grad() * 2.0) * &y).sum(()), (x.gt(1.0).cast(DType::F32) * &y).sum(())]
    {
        assert!(grad(&unused, &[&x]).is_err());
    }
    // A gradient that is 0 is one.
    for flat in [x.floor(), x.sign(), x.round(), x.norm(0.0, ()), x.reshape([1, 2]).diagonal(5, 0, 1)] {
        assert_eq!(values(&grad(&flat.sum(()), &[&x]).unwrap()[0]), [0.0, 0.0]);
        let variable = x.requires_grad();
        assert!(grad(&variable.floor().sum(()), &[&variable]).is_ok());
    }
    let variable = x.requires_grad();
    for loss in [variable.norm(0.0, ()), variable.reshape([1, 2]).diagonal(5, 0, 1).sum(()), variable.floor().sum(())] {
        variable.zero_grad();
        loss.backward().unwrap();
        assert_eq!(values(&variable.grad().unwrap()), [0.0, 0.0]);
    }
}

/// A plain tensor's graph goes when it is evaluated. Then the part of the gradient that went through it is not silently missing.
#[test]
fn what_was_forgotten_is_an_error() {
    let x = t([1.0f32, 2.0]);
    let other = t([5.0f32, 6.0]).square().realize().unwrap();
    let v = x.exp().realize().unwrap();
    let loss = (&v * &x * &other).sum(());
    let error = grad(&loss, &[&x]).unwrap_err().to_string();
    assert!(error.contains("forgotten") && error.contains("requires_grad") && error.contains("identity.rs"), "{error}");
    assert_eq!(values(&grad(&loss, &[&v]).unwrap()[0]), [25.0, 72.0]);
    // Through another one that was evaluated in between, and a copy of it.
    let w = v.square().realize().unwrap().sin().realize().unwrap();
    assert!(grad(&(&w * &x).sum(()), &[&x]).unwrap_err().to_string().contains("forgotten"));
    assert!(grad(&(&w * &x).sum(()), &[&v]).unwrap_err().to_string().contains("forgotten"));
    // What has nothing to do with it stays.
    let plain = t([1.0f32, 1.0]);
    assert_eq!(values(&grad(&(&plain * &w * &other).sum(()), &[&plain]).unwrap()[0]).len(), 2);
    assert!(grad(&(&plain * &other).sum(()), &[&plain]).is_ok());
    // Variables keep their graph.
    let x = x.requires_grad();
    let v = x.exp().realize().unwrap();
    assert_eq!(values(&grad(&(&v * &x).sum(()), &[&x]).unwrap()[0]).len(), 2);
    // Whole numbers and comparisons carry no gradient, so nothing is lost by them.
    let x = t([1.0f32, 2.0]);
    let mask = x.gt(1.5).cast(DType::F32).realize().unwrap();
    assert_eq!(values(&grad(&(&mask * &x).sum(()), &[&x]).unwrap()[0]), [0.0, 1.0]);
}

/// With more tensors than a result can list, whatever is older may be one of them.
#[test]
fn what_was_computed_from_many_is_careful() {
    let many: Vec<Tensor> = (0..100).map(|i| t([i as f32, 1.0])).collect();
    let sum = many.iter().skip(1).fold(many[0].clone(), |sum, x| &sum + x).realize().unwrap();
    let younger = t([1.0f32, 2.0]);
    assert!(grad(&(&sum * &many[0]).sum(()), &[&many[0]]).unwrap_err().to_string().contains("forgotten"));
    assert_eq!(values(&grad(&(&sum * &younger).sum(()), &[&younger]).unwrap()[0]), [4950.0, 100.0]);
}

/// A loop that evaluates in every round remembers the last tensors only.
#[test]
fn a_long_loop_forgets() {
    let mut x = t([1.0f32, 2.0]);
    for _ in 0..300 {
        x = (&x * 0.5 + 1.0).realize().unwrap();
    }
    assert_eq!(values(&grad(&x.square().sum(()), &[&x]).unwrap()[0]), [4.0, 4.0]);
}

#[test]
fn a_variable_is_found_with_any_value() {
    let w = t([1.0f32, 2.0]).requires_grad();
    let old = w.square().sum(());
    no_grad(|| w.assign(&t([5.0f32, 7.0]))).unwrap();
    assert_eq!(values(&grad(&old, &[&w]).unwrap()[0]), [2.0, 4.0]);
    let both = old + w.square().sum(());
    assert_eq!(values(&grad(&both, &[&w]).unwrap()[0]), [12.0, 18.0]);
}

/// What a checkpointed block captures gets its gradient once, though one of it is computed from another.
#[test]
fn captured_tensors_get_their_gradient_once() {
    for variable in [true, false] {
        let (x, w) = (t([1.0f32, 2.0]), t([3.0f32, 4.0]));
        let (x, w) = if variable { (x.requires_grad(), w.requires_grad()) } else { (x, w) };
        let h = &w * 2.0;
        let (a, b) = (w.clone(), h.clone());
        let y = checkpoint(move |x| &x[0] * &a * &b, &[&x]);
        // x * w * 2 w.
        let found = grad(&y.sum(()), &[&x, &w, &h]).unwrap();
        assert_eq!(values(&found[0]), [18.0, 32.0], "variable: {variable}");
        assert_eq!(values(&found[1]), [12.0, 32.0], "variable: {variable}");
        assert_eq!(values(&found[2]), [3.0, 8.0], "variable: {variable}");
    }
}

/// Ties and limits have one gradient, whether the tensor is a variable or not.
#[test]
fn plain_tensors_have_the_gradients_of_variables() {
    let at = [0.0f32, 1.0, -1.0, 2.0];
    let functions: &[(&str, Make)] = &[
        ("clamp", |x| x.clamp(-1.0, 1.0)),
        ("clamp_min", |x| x.clamp_min(0.0)),
        ("clamp_max", |x| x.clamp_max(1.0)),
        ("norm", |x| (x * 0.0).norm(2.0, ())),
        ("std", |x| (x * 0.0).std((), 1)),
        ("normalize", |x| (x * 0.0).normalize(3.0, 0, 1e-12)),
        ("relu6", Tensor::relu6),
    ];
    for (name, f) in functions {
        let (plain, variable) = (t(at), t(at).requires_grad());
        let [a, b] = [&plain, &variable].map(|x| values(&grad(&f(x).sum(()), &[x]).unwrap()[0]));
        assert!(a == b && a.iter().all(|g| g.is_finite()), "{name}: {a:?} {b:?}");
    }
}
