//! Named axes whose sizes change within an op: parts, what stands around and beside them, windows, orders, and steps along them. Values and gradients
//! are those without names, whatever lies in the padding, and sizes of a bucket share a plan.

use std::sync::{Mutex, MutexGuard, PoisonError};
use unigrad::nn::{Gru, Lstm};
use unigrad::prelude::*;
use unigrad::tensor::{Dim, PadMode, ScanOptions, eval, grad_allow_unused, scan};

/// Counters are the process's, and so are plans.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    let guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    eval::set_padding(255);
    guard
}

/// Numbers `[n, 3]`, no two rows alike, some equal.
fn rows(n: usize, device: &Device) -> Tensor {
    let values: Vec<f32> = (0..3 * n).map(|i| ((7 * i + 3) % 11) as f32 * 0.25 - 1.0).collect();
    Tensor::from_vec(values, [n, 3], device)
}

/// What a function gives for `x`, its gradient, and that of the gradient's squares.
fn results(f: &dyn Fn(&Tensor) -> Tensor, x: &Tensor) -> Result<Vec<Vec<f64>>> {
    let y = f(x);
    if !y.dtype().is_float() {
        return Ok(vec![y.to_f64_vec()?]);
    }
    // Each element has a weight of its own.
    let weight = (y.ones_like().cumsum(0) * 0.5).sin();
    let loss = (y.square() * weight).sum(());
    // Of no elements it does not depend on any.
    let gradient =
        |loss: &Tensor| -> Result<Tensor> { Ok(grad_allow_unused(loss, None, &[x])?.remove(0).unwrap_or_else(|| x.zeros_like())) };
    let first = gradient(&loss)?;
    let second = gradient(&first.square().sum(()))?;
    Ok(vec![y.to_f64_vec()?, first.to_f64_vec()?, second.to_f64_vec()?])
}

/// Sizes of one bucket, after its greatest: `f` gives along axis 0 what it gives without names, and plans nothing after the first sizes.
fn check(name: &str, least: usize, f: &dyn Fn(&Tensor) -> Tensor) -> Result<()> {
    let device = Device::open("cpu:0")?;
    let dim = Dim::named("time", 1..=100)?.first_bucket(8);
    let sizes: Vec<usize> = [8, 7, 5, 6, 4, 3, 2, 1].into_iter().filter(|n| *n >= least).collect();
    let mut late = 0;
    for (at, n) in sizes.iter().enumerate() {
        let data = rows(*n, &device).realize()?;
        let exact = data.requires_grad();
        let named = data.with_dim(0, &dim).requires_grad();
        let wanted = results(f, &exact)?;
        let before = eval::stats().plans_built;
        let found = results(f, &named)?;
        late += if at < 2 { 0 } else { eval::stats().plans_built - before };
        assert_eq!(f(&named).shape(), f(&exact).shape(), "{name} of {n}");
        assert_eq!(found.len(), wanted.len(), "{name} of {n}");
        for (order, (a, b)) in found.iter().zip(&wanted).enumerate() {
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-4 * b.abs().max(1.0);
            assert!(a.len() == b.len() && a.iter().zip(b).all(close), "{name} of {n}, gradient {order}: {a:?}, not {b:?}");
        }
    }
    // A size at which an axis has one element, or none, may have another graph.
    assert!(late <= 9, "{name}: {late} plans for sizes of a bucket that was there");
    println!("{name}: {late} plans after the first two sizes");
    Ok(())
}

#[test]
fn parts_of_a_named_axis_follow_its_size() -> Result<()> {
    let _alone = alone();
    type Part = fn(&Tensor) -> Tensor;
    let all: [(&str, usize, Part); 16] = [
        ("without the last", 1, |x| x.i(..-1)),
        ("without the first", 1, |x| x.i(1..)),
        ("neighbours", 2, |x| x.i(1..) * x.i(..-1)),
        ("every second", 1, |x| x.i(step(1.., 2))),
        ("every third but the last", 4, |x| x.i(step(..-1, 3))),
        ("backward", 1, |x| x.flip(0)),
        ("the last one", 1, |x| x.select(0, -1)),
        ("the last one by index", 1, |x| x.i(-1)),
        ("the last two", 2, |x| x.i(-2..)),
        ("the last but one", 2, |x| x.i(-2..-1)),
        ("the first two", 2, |x| x.narrow(0, 0, 2)),
        ("the last two summed with all", 2, |x| x.i(-2..).sum(0) + x),
        ("rolled", 3, |x| x.roll(2, 0)),
        ("rolled back", 3, |x| x.roll(-1, 0)),
        ("differences", 3, |x| x.diff(2, 0)),
        ("merged with another axis", 2, |x| x.i(1..).flatten(0, 1).cumsum(0)),
    ];
    for (name, least, f) in all {
        check(name, least, &f)?;
    }
    Ok(())
}

#[test]
fn what_stands_around_a_named_axis_moves_with_it() -> Result<()> {
    let _alone = alone();
    let device = Device::open("cpu:0")?;
    let token = Tensor::new([[0.5f32, -0.25, 2.0]], &device);
    let shifted = move |x: &Tensor| Tensor::concat(&[&token, &x.i(..-1)], 0) * x;
    check("shifted by a token", 2, &shifted)?;
    type Around = fn(&Tensor) -> Tensor;
    let all: [(&str, usize, Around); 8] = [
        ("padded", 1, |x| x.pad(&[(2, 1), (0, 0)])),
        ("padded and cut", 1, |x| x.pad(&[(1, 0), (0, 0)]).i(..-1) + x),
        ("twice", 1, |x| Tensor::concat(&[x, x], 0)),
        ("between others", 2, |x| Tensor::concat(&[&x.narrow(0, 0, 1), x, &x.i(-2..), &x.i(1..)], 0)),
        ("half and half", 2, |x| Tensor::concat(&[&x.i(1..), &x.flip(0)], 0).cumsum(0)),
        ("reflected", 3, |x| x.pad_with(&[(2, 1), (0, 0)], PadMode::Reflect)),
        ("repeated at the edge", 2, |x| x.pad_with(&[(2, 3), (0, 0)], PadMode::Replicate)),
        ("an update at a position", 3, |x| {
            let start = Tensor::full_int([], 1, DType::I64, &x.device().unwrap());
            x.dyn_update(0, &(x.narrow(0, 0, 2) * 3.0), &start) + x.dyn_slice(0, &start, 2).sum(0)
        }),
    ];
    for (name, least, f) in all {
        check(name, least, &f)?;
    }
    Ok(())
}

#[test]
fn windows_and_orders_along_a_named_axis_see_no_padding() -> Result<()> {
    let _alone = alone();
    type Op = fn(&Tensor) -> Tensor;
    let all: [(&str, usize, Op); 10] = [
        ("windows", 3, |x| x.unfold(0, 3, 1)),
        ("windows apart", 4, |x| x.unfold(0, 2, 2)),
        ("sorted", 1, |x| x.sort(0, false).0),
        ("sorted down", 1, |x| x.sort(0, true).0 * x),
        ("order", 1, |x| x.argsort(0, false)),
        ("order down", 1, |x| x.argsort(0, true)),
        ("greatest two", 2, |x| x.topk(2, 0, true).0),
        ("least two", 2, |x| x.topk(2, 0, false).0),
        ("least integers", 2, |x| x.cast(DType::I32).topk(2, 0, false).1),
        ("sorted with infinities", 2, |x| (x / x.relu()).sort(0, true).1),
    ];
    for (name, least, f) in all {
        check(name, least, &f)?;
    }
    Ok(())
}

#[test]
fn convolutions_run_along_a_named_axis() -> Result<()> {
    let _alone = alone();
    let device = Device::open("cpu:0")?;
    for (kernel, stride, dilation, pads) in [(3, 1, 1, (1, 1)), (3, 1, 2, (4, 0)), (2, 1, 1, (0, 0)), (3, 2, 1, (1, 1)), (1, 3, 1, (0, 0))]
    {
        let w = Tensor::from_vec((0..2 * 3 * kernel).map(|i| (i % 5) as f32 - 1.5).collect::<Vec<_>>(), [2, 3, kernel], &device);
        let conv = move |x: &Tensor| {
            let options = ConvOptions { stride: vec![stride], dilation: vec![dilation], padding: vec![pads], ..ConvOptions::default() };
            x.t().unsqueeze(0).conv1d(&w, None, &options).squeeze(0).t()
        };
        check(&format!("kernel {kernel}, stride {stride}, dilation {dilation}, padding {pads:?}"), (kernel - 1) * dilation + 1, &conv)?;
    }
    Ok(())
}

#[test]
fn steps_go_along_a_named_axis() -> Result<()> {
    let _alone = alone();
    for reverse in [false, true] {
        let running = move |x: &Tensor| {
            let device = x.device().unwrap();
            let start = Tensor::full([3], 0.5, DType::F32, &device);
            let options = if reverse { ScanOptions::new().reverse() } else { ScanOptions::new() };
            let body = |states: &[Tensor], x: &[Tensor]| {
                let new = (&states[0] * 0.5 + &x[0]).sin();
                (vec![new.clone()], vec![&new * &x[0]])
            };
            let (last, all) = scan(body, &[&start], &[x], options).unwrap();
            &all[0] + &last[0]
        };
        check(if reverse { "steps backward" } else { "steps" }, 1, &running)?;
    }
    Ok(())
}

#[test]
fn recurrent_layers_take_named_batches_and_times() -> Result<()> {
    let _alone = alone();
    let device = Device::open("cpu:0")?;
    manual_seed(3);
    let lstm = Lstm::stacked(3, 4, 1, true, &device);
    let gru = Gru::stacked(3, 4, 2, false, &device);
    for parameter in lstm.parameters().iter().chain(&gru.parameters()) {
        parameter.realize()?;
    }
    check("an LSTM's batch", 1, &|x| lstm.forward(&Tensor::stack(&[x, &(x * 2.0)], 1)).sum(1))?;
    check("a GRU's batch", 1, &|x| gru.forward(&Tensor::stack(&[x, &(x * 2.0)], 1)).sum(1))?;
    check("an LSTM's time", 1, &|x| lstm.forward(&Tensor::stack(&[x, &(x * 2.0)], 0)).sum(0))?;
    check("a GRU's last state", 1, &|x| gru.run(&Tensor::stack(&[x, &(x * 2.0)], 0), None).1.flatten(0, 1))?;
    Ok(())
}

/// Of `n` sequences: rows of 4 tokens, 2 heads, 3 features, made of `[n, 3]`.
fn sequences(x: &Tensor) -> Tensor {
    let device = x.device().unwrap();
    let each = Tensor::from_vec((0..8).map(|i| 0.3 * i as f32 - 1.0).collect::<Vec<_>>(), [1, 8, 1], &device);
    (x.unsqueeze(1) * each).reshape([-1, 2, 4, 3])
}

#[test]
fn sequences_of_a_named_batch_have_positions_of_their_own() -> Result<()> {
    let _alone = alone();
    let device = Device::open("cpu:0")?;
    // A length from 0 to 4 for each sequence, by its row.
    let lengths = |x: &Tensor| (x.select(1, 0) * 4.0).abs().cast(DType::I64).clamp(0, 4);
    let each = move |x: &Tensor| {
        let q = sequences(x);
        let options = AttentionOptions { kv_len: Some(lengths(x).into()), causal: true, ..AttentionOptions::default() };
        q.attention(&(&q * 0.5), &q.cos(), &options).flatten(1, 3)
    };
    check("lengths", 1, &each)?;
    let keys = Tensor::from_vec((0..5 * 2 * 2 * 3).map(|i| (i % 7) as f32 * 0.25 - 0.5).collect::<Vec<_>>(), [5, 2, 2, 3], &device);
    let table = Tensor::from_vec((0..16).map(|i| (i * 3 % 5) as i64).collect::<Vec<_>>(), [8, 2], &device);
    let paged = move |x: &Tensor| {
        let options = AttentionOptions {
            kv_len: Some(lengths(x).into()),
            page_table: Some(table.narrow_like(0, x, 0)),
            ..AttentionOptions::default()
        };
        sequences(x).attention(&keys, &keys.sin(), &options).flatten(1, 3)
    };
    check("pages", 1, &paged)
}
