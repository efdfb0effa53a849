//! Scalar operations and a small network: what a step costs where there is next to nothing to compute. A processor often wins there.

use crate::{
    case::{Case, Workload},
    record::Work,
};
use unigrad_device::Device;
use unigrad_nn::{self as nn, Layer, Module};
use unigrad_tensor::{DType, Result, Tensor};

/// Steps of a case: `item` makes each result anew and realizes it.
fn scalar(device: &Device, op: fn(&Tensor, &Tensor) -> Tensor) -> Result<Case> {
    let (a, b) = (Tensor::new([1.5f32], device).realize()?, Tensor::new([2.5f32], device).realize()?);
    Ok(Case::new(Work::Items(1.0, "operations"), move || op(&a, &b).realize().map(drop)))
}

/// Layers of 10, 20, 20 and 1 values, with tanh between.
fn network(device: &Device, is_backward: bool) -> Result<Case> {
    let parts = [nn::Linear::new(10, 20, device), nn::Linear::new(20, 20, device), nn::Linear::new(20, 1, device)];
    let parameters: Vec<Tensor> = parts.iter().flat_map(Module::parameters).collect();
    Tensor::realize_all(&parameters.iter().collect::<Vec<_>>())?;
    let x = Tensor::rand([1, 10], DType::F32, device).realize()?;
    let forward = move || {
        let h = parts[0].forward(&x).tanh();
        let h = parts[1].forward(&h).tanh();
        parts[2].forward(&h).sum(())
    };
    let step = move || {
        let loss = forward();
        if !is_backward {
            return loss.realize().map(drop);
        }
        parameters.iter().for_each(|parameter| parameter.set_grad(None));
        loss.backward()?;
        let gradients: Vec<Tensor> = parameters.iter().filter_map(Tensor::grad).collect();
        let all: Vec<&Tensor> = gradients.iter().chain([&loss]).collect();
        Tensor::realize_all(&all)
    };
    Ok(Case::new(Work::Items(1.0, "steps"), step))
}

pub(crate) fn all() -> Vec<Workload> {
    type Op = fn(&Tensor, &Tensor) -> Tensor;
    let ops: [(&str, Op); 4] = [("add", |a, b| a + b), ("mul", |a, b| a * b), ("pow", |a, b| a.pow(b)), ("relu", |a, _| a.relu())];
    let mut all: Vec<Workload> =
        ops.into_iter().map(|(name, op)| Workload::new("scalars", name, move |device| scalar(device, op))).collect();
    all.push(Workload::new("small", "mlp_10_20_20_1_forward", |device| network(device, false)));
    all.push(Workload::new("small", "mlp_10_20_20_1_forward_backward", |device| network(device, true)));
    all
}
