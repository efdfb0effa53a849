//! Every op of the registry in a scope of automatic mixed precision: its results are those of the op on inputs that are cast as its class says, and
//! so are its gradients, wherever they are computed.

use std::collections::BTreeSet;
use unigrad_tensor::{
    DType, Device, Tensor, autocast, autocast_dtype, checkpoint, grad_allow_unused,
    registry::{self, Op, Precision},
};
use unigrad_testing::{
    Values,
    cases::{self, Case, weight},
};

/// Rows that choose dtypes themselves.
const CHOOSE: [&str; 4] = ["matmul_stored", "matmul_quantized", "cast", "cast_through"];

fn on(values: &Values, device: &Device) -> Tensor {
    Tensor::from_bytes(&values.to_bytes(), values.shape.as_slice(), values.dtype, device)
}

fn inputs(case: &Case, dtype: DType, device: &Device) -> Vec<Tensor> {
    let input = |array: &cases::Array| match array.any_float {
        true => on(&Values::from_f64(dtype, &array.values.shape, &array.values.to_f64()), device).requires_grad(),
        false => on(&array.values, device),
    };
    case.inputs.iter().map(input).collect()
}

/// What an input is cast to.
fn cast(x: &Tensor, precision: Precision, half: DType) -> Tensor {
    match (precision, x.dtype()) {
        (Precision::Half, DType::F32 | DType::F16 | DType::BF16) => x.cast(half),
        (Precision::Full, DType::F16 | DType::BF16) => x.cast(DType::F32),
        _ => x.clone(),
    }
}

/// The class of the method that a row calls.
fn class(op: &Op) -> Precision {
    registry::find(op.method).map_or(op.precision, |method| method.precision)
}

fn loss(outputs: &[Tensor]) -> Option<Tensor> {
    let weighted = |output: &Tensor| {
        let weights: Vec<f64> = (0..output.numel()).map(weight).collect();
        let weights = on(&Values::from_f64(DType::F32, &output.shape(), &weights), &output.device().unwrap());
        (output.cast(DType::F32) * weights).sum(())
    };
    outputs.iter().filter(|output| output.dtype().is_float()).map(weighted).reduce(|a, b| a + b)
}

fn bytes(tensor: &Tensor) -> Result<(DType, Vec<u8>), String> {
    Ok((tensor.dtype(), tensor.to_bytes().map_err(|error| error.to_string())?))
}

fn check(case: &Case, op: &'static Op, dtype: DType, half: DType, device: &Device) -> Result<(), String> {
    let call = |x: &[Tensor]| op.call(x, &case.args, device).map_err(|error| error.to_string());
    let (own, own_plain) = (inputs(case, dtype, device), inputs(case, dtype, device));
    let cast_inputs: Vec<Tensor> = own_plain.iter().map(|x| cast(x, class(op), half)).collect();
    let want = call(&cast_inputs)?;
    let got = autocast(half, || call(&own))?;
    if want.iter().any(Tensor::is_invalid) {
        return if got.iter().any(Tensor::is_invalid) { Ok(()) } else { Err("only what is cast by hand is refused".to_owned()) };
    }
    for (i, (got, want)) in got.iter().zip(&want).enumerate() {
        if let Some(error) = got.error() {
            return Err(error.to_string());
        }
        if got.dtype() != want.dtype() {
            return Err(format!("result {i} is {} and not {}", got.dtype(), want.dtype()));
        }
    }
    // Values of one case of each op.
    if case.number != 0 {
        return Ok(());
    }
    for (i, (got, want)) in got.iter().zip(&want).enumerate() {
        if bytes(got)? != bytes(want)? {
            return Err(format!("result {i} has other values than with inputs cast by hand"));
        }
    }
    if case.grads.is_empty() || !op.differentiable {
        return Ok(());
    }
    let gradients = |outputs: &[Tensor], x: &[Tensor]| -> Result<Vec<Option<Tensor>>, String> {
        let wrt: Vec<&Tensor> = x.iter().filter(|x| x.dtype().is_float()).collect();
        loss(outputs).map_or(Ok(Vec::new()), |loss| grad_allow_unused(&loss, None, &wrt).map_err(|error| error.to_string()))
    };
    let outside = gradients(&got, &own)?;
    let inside = autocast(half, || gradients(&got, &own))?;
    let by_hand = gradients(&want, &own_plain)?;
    for (i, want) in by_hand.iter().enumerate() {
        for (place, got) in [("outside", &outside[i]), ("inside", &inside[i])] {
            match (got, want) {
                (None, None) => {}
                (Some(got), Some(want)) if bytes(got)? == bytes(want)? => {}
                _ => return Err(format!("the gradient of input {i}, computed {place} of the scope, differs")),
            }
        }
    }
    Ok(())
}

#[test]
fn every_op_computes_in_the_dtype_of_its_class() {
    unigrad_testing::register();
    let device = Device::open("cpu").unwrap();
    let (mut ran, mut failures, mut seen) = (0, BTreeSet::new(), BTreeSet::new());
    for case in cases::all().iter().filter(|case| case.any_float() && !CHOOSE.contains(&case.op.as_str())) {
        let Some(op) = registry::find(&case.op) else { continue };
        if op.reads {
            continue;
        }
        for (dtype, half) in [(DType::F32, DType::BF16), (DType::BF16, DType::BF16), (DType::F32, DType::F16), (DType::F64, DType::F16)] {
            ran += 1;
            seen.insert(op.name);
            if let Err(error) = check(case, op, dtype, half, &device) {
                failures.insert(format!("{} ({:?}, {dtype} in {half}): {error}", op.name, class(op)));
            }
        }
    }
    println!("{ran} cases of {} ops", seen.len());
    failures.iter().for_each(|failure| println!("FAIL {failure}"));
    assert!(failures.is_empty() && seen.len() > 200, "{} FAIL lines above", failures.len());
}

#[test]
fn scopes_nest_and_belong_to_their_thread() {
    unigrad_testing::register();
    let device = Device::open("cpu").unwrap();
    let x = Tensor::ones([2, 2], DType::F32, &device);
    let product = || x.matmul(&x).dtype();
    assert_eq!(product(), DType::F32);
    autocast(DType::BF16, || {
        assert_eq!(product(), DType::BF16);
        autocast(DType::F16, || assert_eq!(product(), DType::F16));
        autocast(DType::F32, || {
            assert_eq!((product(), autocast_dtype()), (DType::F32, None));
            autocast(DType::BF16, || assert_eq!(product(), DType::BF16));
        });
        assert_eq!(product(), DType::BF16);
        std::thread::scope(|scope| scope.spawn(|| assert_eq!(product(), DType::F32)).join().unwrap());
        // A panic ends a scope.
        let _ = std::panic::catch_unwind(|| autocast(DType::F16, || std::panic::resume_unwind(Box::new(()))));
        assert_eq!(autocast_dtype(), Some(DType::BF16));
    });
    let error = autocast(DType::I32, || x.matmul(&x)).realize().unwrap_err().to_string();
    assert!(error.contains("automatic mixed precision is i32") && error.contains("BF16 or F16"), "{error}");
}

/// A block that is computed again for the backward pass is in the scope that it was in.
#[test]
fn a_checkpoint_is_computed_again_in_its_scope() {
    unigrad_testing::register();
    let device = Device::open("cpu").unwrap();
    let values = Values::from_f64(DType::F32, &[4, 4], &(0..16).map(|i| (f64::from(i) * 0.37).sin()).collect::<Vec<_>>());
    let gradient = |again: bool| {
        let w = on(&values, &device).requires_grad();
        let block = |x: &[Tensor]| x[0].matmul(&x[0]).tanh().matmul(&x[0]);
        let y = autocast(DType::BF16, || if again { checkpoint(block, &[&w]) } else { block(std::slice::from_ref(&w)) });
        y.cast(DType::F32).sum(()).backward().unwrap();
        w.grad().unwrap().to_vec::<f32>().unwrap()
    };
    assert_eq!(gradient(true), gradient(false));
}
