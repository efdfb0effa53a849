//! Streams on every device of this machine: results are those of one stream, whatever runs beside what.

use unigrad::device::Stream;
use unigrad::prelude::*;

fn devices() -> Vec<Device> {
    unigrad_testing::devices().into_iter().filter(|device| !device.name().starts_with("null")).collect()
}

/// A step that takes a while: several launches that depend on each other.
fn step(x: &Tensor, w: &Tensor) -> Tensor {
    let h = x.matmul(w).tanh();
    (&h.matmul(w) + x) * 0.5
}

#[test]
fn results_are_those_of_one_stream() -> Result<()> {
    for device in devices() {
        let n = if device.name().starts_with("interpreter") { 16 } else { 96 };
        manual_seed(7);
        let w = (Tensor::randn([n, n], DType::F32, &device) / n as f64).realize()?;
        let start = Tensor::randn([n, n], DType::F32, &device).realize()?;
        let mut expected = start.clone();
        for _ in 0..8 {
            expected = step(&expected, &w).realize()?;
        }
        let expected = (expected.to_vec::<f32>()?, expected.sum(()).item::<f32>()?);
        let streams: Vec<Stream> = (0..2).map(|_| device.stream()).collect::<std::result::Result<_, _>>()?;
        println!("{device}: {}", if streams[0].is_separate() { "queues of their own" } else { "one queue" });
        // Every step on another stream than the one before; buffers come and go.
        let mut x = start.clone();
        for i in 0..8 {
            x = match i % 3 {
                0 => step(&x, &w).realize()?,
                which => streams[which - 1].run(|| step(&x, &w).realize())?,
            };
        }
        assert_eq!(x.to_vec::<f32>()?, expected.0, "{device}: one after the other");
        // Both at once, with one input and one weight, from threads of their own.
        let sums = std::thread::scope(|scope| {
            let run = |stream| {
                let (start, w) = (&start, &w);
                scope.spawn(move || -> Result<f32> {
                    let stream: &Stream = stream;
                    let mut x = start.clone();
                    for _ in 0..8 {
                        x = stream.run(|| step(&x, w).realize())?;
                    }
                    stream.run(|| x.sum(()).item::<f32>())
                })
            };
            let running: Vec<_> = streams.iter().map(run).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect::<Result<Vec<f32>>>()
        })?;
        assert_eq!(sums, [expected.1; 2], "{device}: beside each other");
    }
    Ok(())
}

#[test]
fn big_copies_run_beside_work_and_come_in_time() -> Result<()> {
    const LEN: usize = 1 << 19; // 2 MiB: takes the queue for copies
    for device in devices().into_iter().filter(|device| !device.name().starts_with("interpreter")) {
        let mut sum = Tensor::zeros([LEN], DType::F32, &device).realize()?;
        for i in 0..12 {
            // The batch before is freed here, and its memory reused while what reads it may still wait.
            let batch = Tensor::from_slice(&vec![i as f32; LEN], [LEN], &device);
            sum = (&sum + &batch * 2.0).realize()?;
        }
        let expected = 2.0 * (0..12).sum::<i32>() as f32;
        assert!(sum.to_vec::<f32>()?.iter().all(|x| *x == expected), "{device}");
    }
    Ok(())
}

#[test]
fn an_error_in_a_stream_reaches_each_read_of_what_depends_on_it() -> Result<()> {
    for device in devices() {
        let table = Tensor::arange(0.0, 10.0, 1.0, DType::F32, &device).realize()?;
        let side = device.stream()?;
        let fine = side.run(|| (&table + 1.0).realize())?;
        let bad = Tensor::from_slice(&[1i64, 42], [2], &device);
        let read = side.run(|| table.index_select(0, &bad).realize()).and_then(|taken| (taken * 2.0).to_vec::<f32>());
        let error = read.expect_err("index 42 of 10").to_string();
        assert!(error.contains("42") && error.contains("10"), "{device}: {error}");
        println!("{device}: {error}");
        assert_eq!(fine.to_vec::<f32>()?[9], 10.0, "{device}: what does not depend on it");
        let after = side.run(|| (&fine * 2.0).realize())?;
        assert_eq!(after.to_vec::<f32>()?[9], 20.0, "{device}: the stream goes on");
    }
    Ok(())
}

#[test]
fn tensors_move_between_devices() -> Result<()> {
    let all = devices();
    for from in &all {
        for to in &all {
            let x = Tensor::arange(0.0, 1000.0, 1.0, DType::F32, from) * 3.0;
            let moved = x.to(to) + 1.0;
            assert_eq!(moved.to_vec::<f32>()?[999], 2998.0, "{from} to {to}");
            // A copy may be all that a graph begins with, and gradients come back through copies.
            assert_eq!(Tensor::ones([8], DType::F32, from).to(to).sum(()).item::<f32>()?, 8.0, "{from} to {to}");
            let w = Tensor::new([1.0f32, 2.0, 3.0], from).requires_grad();
            let loss = (&w.to(to) * 2.0).square().to(from).sum(());
            loss.backward()?;
            assert_eq!(loss.item::<f32>()?, 56.0, "{from} to {to}");
            let gradient = w.grad().expect("a gradient");
            assert_eq!((gradient.device()?, gradient.to_vec::<f32>()?), (*from, vec![8.0, 16.0, 24.0]), "{from} to {to}");
        }
    }
    Ok(())
}

#[test]
fn errors_of_reads_and_of_mixed_devices_name_the_callers_line() -> Result<()> {
    unigrad::device::register(unigrad_interpreter::InterpreterDriver::default());
    let (a, b) = (Device::open("cpu")?, Device::open("interpreter:0")?);
    let (x, y) = (Tensor::ones([2, 2], DType::F32, &a), Tensor::ones([2, 2], DType::F32, &b));
    for mixed in [&x + &y, x.matmul(&y), Tensor::concat(&[&x, &y], 0), x.gt(0.0).where_(&x, &y)] {
        let error = mixed.to_vec::<f32>().unwrap_err().to_string();
        assert!(error.contains("different devices") && error.contains("at crates/unigrad/tests/streams.rs"), "{error}");
    }
    for wrong in [x.to_vec::<i64>().map(|_| ()), x.sum(()).item::<i64>().map(|_| ()), x.item::<f32>().map(|_| ()), x.to_f64().map(|_| ())] {
        let error = wrong.unwrap_err().to_string();
        assert!(error.lines().any(|line| line.trim().starts_with("at ") && line.contains("streams.rs")), "{error}");
    }
    for wrong in [
        unigrad::device::testing::block_on(x.to_vec_async::<i64>()).map(|_| ()),
        unigrad::device::testing::block_on(x.item_async::<f32>()).map(|_| ()),
    ] {
        let error = wrong.unwrap_err().to_string();
        assert!(error.lines().any(|line| line.trim().starts_with("at ") && line.contains("streams.rs")), "{error}");
    }
    Ok(())
}

#[test]
fn time_between_events_has_a_sign() -> Result<()> {
    for device in devices() {
        let x = Tensor::randn([64, 64], DType::F32, &device).realize()?;
        let before = device.record()?;
        x.matmul(&x).realize()?;
        let after = device.record()?;
        let (Some(forth), Some(back)) = (after.seconds_since(&before)?, before.seconds_since(&after)?) else { continue };
        assert!((0.0..60.0).contains(&forth) && (forth + back).abs() < 1e-6, "{device}: {forth} s, {back} s");
    }
    Ok(())
}

#[test]
fn an_index_beyond_32_bits_is_told_as_it_is() -> Result<()> {
    for device in devices() {
        let x = Tensor::new([1.0f32, 2.0], &device);
        for index in [(1i64 << 32) + 1, -(1 << 33), i64::MIN] {
            let at = Tensor::new([index], &device);
            let found = [x.index_select(0, &at), x.scatter_add(0, &at, &Tensor::new([1.0f32], &device))];
            for wrong in found {
                let error = wrong.to_vec::<f32>().unwrap_err().to_string();
                assert!(error.contains(&format!("index {index} is out of range for an axis of 2 elements")), "{device}: {error}");
            }
        }
    }
    Ok(())
}
