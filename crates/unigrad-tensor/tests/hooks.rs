//! Hooks on gradients, and gradients of tensors that are no variables.

use std::sync::{Arc, Mutex};
use unigrad_tensor::*;

fn t(values: &[f32]) -> Tensor {
    unigrad_device::register(unigrad_cpu::CpuDriver);
    Tensor::from_slice(values, [values.len()], &Device::open("cpu").unwrap())
}

#[track_caller]
fn same(x: &Tensor, values: &[f32]) {
    assert_eq!(x.to_vec::<f32>().unwrap(), values);
}

#[test]
fn hooks_see_all_of_a_gradient() {
    let x = t(&[1.0f32, 2.0]).requires_grad();
    let y = &x * 3.0;
    let before = y.sum(());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    let note = y.register_hook(move |dy| {
        noted.lock().unwrap().push(dy.clone());
        dy.clone()
    });
    y.register_hook(|dy| dy * 10.0).unwrap();
    let of_leaf = x.register_hook(|dy| dy + 1.0).unwrap();
    y.retain_grad().unwrap();
    (before + y.square().sum(())).backward().unwrap();
    same(&seen.lock().unwrap()[0], &[7.0, 13.0]);
    // What is kept is what the hooks made of it.
    same(&y.grad().unwrap(), &[70.0, 130.0]);
    same(&x.grad().unwrap(), &[211.0, 391.0]);
    same(&grad(&x.sum(()), &[&x]).unwrap()[0], &[2.0, 2.0]);
    // That of a variable stays with it when it is assigned.
    no_grad(|| x.assign(&t(&[5.0f32, 6.0]))).unwrap();
    same(&grad(&x.sum(()), &[&x]).unwrap()[0], &[2.0, 2.0]);
    of_leaf.remove();
    of_leaf.remove();
    same(&grad(&x.sum(()), &[&x]).unwrap()[0], &[1.0, 1.0]);
    note.unwrap().remove();
    assert_eq!(seen.lock().unwrap().len(), 1);
    assert!(t(&[1.0f32]).register_hook(Tensor::clone).is_err() && t(&[1.0f32]).retain_grad().is_err());
}

#[test]
fn a_hook_that_fails_leaves_no_gradient() {
    let x = t(&[1.0f32, 2.0]).requires_grad();
    let y = &x * 2.0;
    y.retain_grad().unwrap();
    type Hook = fn(&Tensor) -> Tensor;
    let all: [(Hook, &str); 3] =
        [(|dy| dy.sum(()), "a hook made []"), (|dy| dy.cast(DType::F64), "a hook made [2] f64"), (|dy| dy.reshape([3]), "reshape")];
    for (hook, words) in all {
        let hook = x.register_hook(hook).unwrap();
        let error = y.sum(()).backward().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        hook.remove();
    }
    assert!(x.grad().is_none() && y.grad().is_none());
}
