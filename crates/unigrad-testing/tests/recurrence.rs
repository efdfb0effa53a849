//! Recurrent layers whose steps a driver runs as one launch: outputs and gradients are those of steps launched one by one, whatever the layer, sizes,
//! types and layout. A program of its own, for settings of the process decide which it is.

use unigrad::{
    nn::{Gru, Lstm, Nonlinearity, RecurrentOptions, Rnn},
    prelude::*,
    tensor::{eval, grad},
};
use unigrad_device::{Config, Replay};
use unigrad_testing::{Values, compare, run::values_of};

/// Batches around the rows of a tile, of several clusters, of all that are there at once on an H100 or H200, and more.
const BATCHES: [usize; 7] = [1, 15, 16, 33, 100, 192, 200];
/// More steps than are launched one by one, and a few beside them, whose kernels are others.
const TIMES: usize = 14;

#[derive(Clone, Copy, Debug)]
enum Layer {
    Lstm,
    Gru,
    Tanh,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    layer: Layer,
    batch: usize,
    hidden: usize,
    dtype: DType,
    tf32: bool,
    batch_first: bool,
    bidirectional: bool,
}

fn numbers(shape: &[usize], seed: usize, scale: f32, dtype: DType, device: &Device) -> Tensor {
    let n: usize = shape.iter().product();
    let values: Vec<f32> = (0..n).map(|i| scale * (((i * 7919 + seed * 104_729 + i * i % 31) % 257) as f32 / 128.0 - 1.0)).collect();
    Tensor::from_vec(values, shape, device).to_dtype(dtype).realize().unwrap().detach()
}

/// Outputs, last states, and gradients of the input and of all weights.
fn results(case: &Case, device: &Device) -> Result<Vec<Values>, String> {
    let Case { layer, batch, hidden, dtype, batch_first, bidirectional, .. } = *case;
    let features = 8;
    let gates = hidden
        * match layer {
            Layer::Lstm => 4,
            Layer::Gru => 3,
            Layer::Tanh => 1,
        };
    let scale = (1.0 / hidden as f32).sqrt();
    let of_direction: [&[usize]; 4] = [&[gates, features], &[gates, hidden], &[gates], &[gates]];
    let shapes = of_direction.iter().cycle().take(if bidirectional { 8 } else { 4 });
    let weights: Vec<Tensor> = shapes.zip(10..).map(|(shape, seed)| numbers(shape, seed, scale, dtype, device).requires_grad()).collect();
    let options = RecurrentOptions { batch_first, bidirectional, ..RecurrentOptions::default() };
    let shape = if batch_first { [batch, TIMES, features] } else { [TIMES, batch, features] };
    let x = numbers(&shape, 4, 1.0, dtype, device).requires_grad();
    let (y, states) = match layer {
        Layer::Lstm => {
            let (y, (h, c)) = Lstm::of(weights.clone(), options).map_err(|error| error.to_string())?.run(&x, None);
            (y, vec![h, c])
        }
        Layer::Gru => {
            let (y, h) = Gru::of(weights.clone(), options).map_err(|error| error.to_string())?.run(&x, None);
            (y, vec![h])
        }
        Layer::Tanh => {
            let (y, h) = Rnn::of(weights.clone(), Nonlinearity::Tanh, options).map_err(|error| error.to_string())?.run(&x, None);
            (y, vec![h])
        }
    };
    let ones = numbers(&y.shape(), 5, 1.0 / batch as f32, dtype, device);
    let loss =
        (&y * &ones).sum(()) + states.iter().map(|state| state.square().mean(())).fold(Tensor::scalar(0.0, dtype, device), |a, b| a + b);
    let mut all = vec![&x];
    all.extend(&weights);
    let mut wanted = grad(&loss, &all).map_err(|error| error.to_string())?;
    wanted.push(y);
    wanted.extend(states);
    Tensor::realize_all(&wanted.iter().collect::<Vec<_>>()).map_err(|error| error.to_string())?;
    wanted.iter().map(values_of).collect()
}

fn cases() -> Vec<Case> {
    let usual = Case { layer: Layer::Lstm, batch: 32, hidden: 64, dtype: DType::F32, tf32: true, batch_first: true, bidirectional: false };
    let mut cases: Vec<Case> = BATCHES.iter().map(|batch| Case { batch: *batch, ..usual }).collect();
    for layer in [Layer::Lstm, Layer::Gru, Layer::Tanh] {
        for (dtype, tf32) in [(DType::F32, true), (DType::F32, false), (DType::BF16, false), (DType::F16, false)] {
            cases.push(Case { layer, dtype, tf32, ..usual });
        }
        cases.push(Case { layer, batch_first: false, batch: 20, ..usual });
        cases.push(Case { layer, bidirectional: true, batch: 20, ..usual });
        // All registers that there are for a matrix, and rows that are no whole number of columns of a workgroup.
        cases.push(Case { layer, hidden: 256, batch: 40, ..usual });
        cases.push(Case { layer, hidden: 160, batch: 17, ..usual });
    }
    cases
}

#[test]
fn steps_as_one_launch_are_steps_one_by_one() {
    let mut wrong = Vec::new();
    for device in unigrad_testing::fast_devices() {
        // Elsewhere both ways are the same, and a few cases tell that they work.
        let few = if device.backend() == "cuda" { 1 } else { 7 };
        for case in cases().iter().step_by(few) {
            let of = |replay| {
                Config { replay, allow_tf32: case.tf32, ..Config::clone(&Config::current_or_default()) }.apply();
                eval::clear_plans();
                results(case, &device)
            };
            let (Ok(one_by_one), Ok(at_once)) = (of(Replay::Off), of(Replay::On)) else {
                wrong.push(format!("{device}, {case:?}: {:?}", of(Replay::On).err()));
                continue;
            };
            for (at, (got, want)) in at_once.iter().zip(&one_by_one).enumerate() {
                let largest = (0..want.len()).map(|i| want.as_f64(i).abs()).fold(0.0, f64::max);
                // Errors of a step go through all that follow.
                let factor = if case.tf32 && device.backend() == "cuda" { 1e3 } else { 16.0 };
                let tolerance = compare::Tolerance::new(case.dtype, 4 * case.hidden).times(factor);
                let allowed = |_: usize, _: f64| tolerance.allowed(0.0) * largest.max(1e-3);
                wrong.extend(compare::close_by(got, want, allowed).map_err(|error| format!("{device}, {case:?}, {at}: {error}")).err());
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
