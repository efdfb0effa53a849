//! Softmax, norms, cross-entropy and their gradients over rows that are too long for a thread's registers, and for shared memory, on every
//! device: compared with the CPU in 64-bit floats. Odd lengths have rows that no vector access is aligned to.

use unigrad::prelude::*;
use unigrad_tensor::{CrossEntropyOptions, grad_with};
use unigrad_testing::{devices, selection::compiles_slowly};

/// Rows and their length: around what 64 or 32 registers of 256 to 1024 threads hold, beyond 16 to 64 kB of shared memory, split in launches.
const SIZES: [(usize, usize); 7] = [(3, 1), (5, 4097), (3, 12_288), (3, 16_385), (3, 33_000), (3, 43_689), (2, 70_000)];

fn numbers(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| ((i.wrapping_mul(2_654_435_761).wrapping_add(seed * 977)) % 2003) as f32 / 250.0 - 4.0).collect()
}

/// Values and gradients of all that is computed of rows `x`, read as 64-bit floats.
fn results(x: &[f32], (rows, len): (usize, usize), dtype: DType, device: &Device, compute: DType) -> Vec<(&'static str, Vec<f64>)> {
    let leaf = |values: &[f32], shape: &[usize]| {
        let stored = Tensor::from_slice(values, shape, device).cast(dtype);
        stored.cast(compute).realize().unwrap().detach()
    };
    let x = leaf(x, &[rows, len]).requires_grad();
    let (weight, bias) = (leaf(&numbers(len, 1), &[len]), leaf(&numbers(len, 2), &[len]));
    let dy = leaf(&numbers(rows * len, 3), &[rows, len]);
    let labels: Vec<i64> = (0..rows).map(|row| [0, len as i64 - 1, len as i64 / 2, 7 % len as i64][row % 4]).collect();
    let labels = Tensor::from_slice(&labels, [rows], device);
    let options = CrossEntropyOptions {
        label_smoothing: 0.1,
        ignore_index: Some(0),
        weight: Some(leaf(&numbers(len, 4), &[len]).abs() + 0.5),
        ..CrossEntropyOptions::default()
    };
    let losses = [("cross-entropy", CrossEntropyOptions::default()), ("cross-entropy with settings", options)];
    let rows_of: [(&'static str, Tensor); 4] = [
        ("softmax", x.softmax(-1)),
        ("log softmax", x.log_softmax(-1)),
        ("layer norm", x.layer_norm(Some(&weight), Some(&bias), 1e-5)),
        ("RMS norm", x.rms_norm(Some(&weight), 1e-5)),
    ];
    let read = |y: &Tensor| y.cast(DType::F32).to_vec::<f32>().unwrap().into_iter().map(f64::from).collect::<Vec<f64>>();
    let mut found = Vec::new();
    for (name, y) in rows_of {
        let gradient = grad_with(&y, &dy, &[&x]).unwrap().remove(0);
        Tensor::realize_all(&[&y, &gradient]).unwrap();
        found.extend([(name, read(&y)), (name, read(&gradient))]);
    }
    for (name, options) in losses {
        let loss = x.cross_entropy_with(&labels, &options);
        let one = Tensor::ones(loss.shape().to_vec(), loss.dtype(), device);
        let gradient = grad_with(&loss, &one, &[&x]).unwrap().remove(0);
        Tensor::realize_all(&[&loss, &gradient]).unwrap();
        found.extend([(name, read(&loss)), (name, read(&gradient))]);
    }
    found
}

fn compare(device: &Device, size: (usize, usize), dtype: DType, x: &[f32]) {
    let cpu = Device::open("cpu").unwrap();
    let want = results(x, size, dtype, &cpu, DType::F64);
    let got = results(x, size, dtype, device, dtype);
    // A gradient is rounded to the dtype as often as there are kernels; a sum of terms that cancel keeps their errors.
    let relative = match dtype {
        DType::BF16 => 4e-2,
        DType::F16 => 6e-3,
        _ => 2e-4,
    };
    for (i, ((name, want), (_, got))) in want.iter().zip(&got).enumerate() {
        let part = if i % 2 == 0 { "value" } else { "gradient" };
        let largest = want.iter().copied().filter(|want| want.is_finite()).fold(0.0f64, |most, want| most.max(want.abs()));
        for (at, (want, got)) in want.iter().zip(got).enumerate() {
            let same = got == want || got.is_nan() && want.is_nan() || (got - want).abs() <= relative * (want.abs() + 0.1 * largest) + 1e-7;
            assert!(same, "{}: {part} of {name}, {dtype} {size:?}, at {at}: {got}, not {want}", device.name());
        }
    }
}

#[test]
fn rows_of_every_length_are_what_they_are_in_64_bits() {
    for device in devices() {
        let step = if compiles_slowly(&device) { 2 } else { 1 };
        for (i, size) in SIZES.into_iter().enumerate().step_by(step) {
            // All dtypes where nothing is compiled or a GPU does the work.
            let dtypes = [DType::F32, DType::BF16, DType::F16];
            let chosen = if device.info().software { &dtypes[i % 3..=i % 3] } else { &dtypes[..] };
            for dtype in chosen {
                compare(&device, size, *dtype, &numbers(size.0 * size.1, 0));
            }
        }
    }
}

/// Rows of one number, masked ones, infinities: the gradients are what 64-bit floats give, NaN where they are NaN.
#[test]
fn special_rows() {
    for device in devices() {
        let lens = [4097, 33_000];
        for len in if compiles_slowly(&device) { &lens[..1] } else { &lens[..] }.iter().copied() {
            let row = |kind: usize, i: usize| match kind {
                0 => 1.5,
                1 if i != len / 2 => -1e30,
                2 if i < len - 1 => f32::NEG_INFINITY,
                3 => f32::NEG_INFINITY,
                4 if i == len / 3 => f32::INFINITY,
                5 if i == 5 => f32::NAN,
                _ => (i % 7) as f32,
            };
            let x: Vec<f32> = (0..6 * len).map(|at| row(at / len, at % len)).collect();
            let x = |device: &Device| Tensor::from_slice(&x, [6, len], device);
            let read = |y: Tensor| y.to_vec::<f32>().unwrap();
            let cpu = Device::open("cpu").unwrap();
            let pairs = [(x(&cpu).softmax(-1), x(&device).softmax(-1)), (x(&cpu).log_softmax(-1), x(&device).log_softmax(-1))];
            for (want, got) in pairs {
                for (at, (want, got)) in read(want).into_iter().zip(read(got)).enumerate() {
                    let same = got == want || got.is_nan() && want.is_nan() || (got - want).abs() <= 1e-5 * want.abs() + 1e-7;
                    assert!(same, "{}: row {} of {len} at {}: {got}, not {want}", device.name(), at / len, at % len);
                }
            }
        }
    }
}
