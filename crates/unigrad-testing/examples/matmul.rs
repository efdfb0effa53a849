//! Matrix products of one device, checked and timed: every layout, odd sizes, fused epilogues, vectors, long sums, convolutions.
//!
//! `cargo run --release -p unigrad-testing --example matmul -- DEVICE [WORD]` runs the lines that contain WORD (`bf16`, `4096`, `gemv`, …). A
//! line tells the time of one product, TFLOP/s, GB/s of operands and result, and the largest error of sampled elements against float64, as a
//! part of what the dtype allows. The exit code is 1 if one is above 1.

use std::time::Instant;
use unigrad::prelude::*;

struct Line {
    name: String,
    sizes: [usize; 3],
    layout: &'static str,
    dtype: DType,
    epilogue: bool,
}

fn lines() -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |kind: &str, sizes: [usize; 3], layout: &'static str, dtype: DType, epilogue: bool| {
        let [m, n, k] = sizes;
        let name = format!("{kind} {dtype} {m}x{n}x{k} {layout}{}", if epilogue { " epilogue" } else { "" });
        lines.push(Line { name, sizes, layout, dtype, epilogue });
    };
    for dtype in [DType::F32, DType::BF16, DType::F16] {
        for n in [512, 1024, 2048, 4096, 8192] {
            add("square", [n; 3], "nn", dtype, false);
        }
        for layout in ["nt", "tn", "tt"] {
            add("square", [4096; 3], layout, dtype, false);
        }
        add("square", [4096; 3], "nt", dtype, true);
        for layout in ["nn", "nt", "tn", "tt"] {
            add("odd", [1023, 1025, 1027], layout, dtype, false);
            add("odd", [136, 264, 72], layout, dtype, true);
            add("odd", [200, 1000, 520], layout, dtype, false);
        }
        add("odd", [4095, 4097, 4099], "nn", dtype, false);
        add("long", [64, 288, 36864], "nn", dtype, false);
        add("long", [256, 256, 65536], "tn", dtype, true);
        for (sizes, layout) in [([1, 4096, 4096], "nn"), ([1, 4096, 4096], "nt"), ([1, 16384, 16384], "nn"), ([1, 16384, 16384], "nt")] {
            add("gemv", sizes, layout, dtype, false);
        }
        for (sizes, layout) in [([4, 8192, 8192], "nn"), ([4, 8192, 8192], "nt"), ([8, 8192, 8192], "nt"), ([8192, 3, 8192], "nn")] {
            add("gemv", sizes, layout, dtype, false);
        }
        add("gpt", [8192, 3072, 768], "nt", dtype, true);
        add("gpt", [768, 3072, 8192], "tn", dtype, false);
        add("gpt", [8192, 50304, 768], "nt", dtype, false);
    }
    add("square", [1024; 3], "nn", DType::F64, false);
    add("square", [1024; 3], "nn", DType::I32, false);
    lines
}

/// The operand `[rows, columns]`, stored transposed for `t`.
fn operand(rows: usize, columns: usize, transposed: bool, dtype: DType, device: &Device) -> Result<Tensor> {
    let shape = if transposed { [columns, rows] } else { [rows, columns] };
    let (low, high) = if dtype.is_int() { (-8.0, 8.0) } else { (-1.0, 1.0) };
    let x = Tensor::uniform(shape, low, high, DType::F32, device).cast(dtype).realize()?;
    Ok(if transposed { x.t() } else { x })
}

/// Seconds of one of several calls in a row, the best of three tries.
fn seconds(device: &Device, mut call: impl FnMut() -> Result<Tensor>) -> Result<f64> {
    for _ in 0..3 {
        call()?;
    }
    device.synchronize()?;
    let mut best = f64::MAX;
    for _ in 0..3 {
        let mut reps = 0;
        let begin = Instant::now();
        while reps < 5 || (reps < 200 && begin.elapsed().as_millis() < 60) {
            call()?;
            reps += 1;
            if reps % 20 == 0 {
                device.synchronize()?;
            }
        }
        device.synchronize()?;
        best = best.min(begin.elapsed().as_secs_f64() / f64::from(reps));
    }
    Ok(best)
}

/// The largest error of sampled elements, as a part of what is allowed.
fn error(line: &Line, a: &Tensor, b: &Tensor, bias: &Tensor, y: &Tensor) -> Result<f64> {
    let [m, n, k] = line.sizes;
    let unit = match line.dtype {
        DType::BF16 => 1.0 / 256.0,
        DType::F16 => 1.0 / 2048.0,
        DType::F64 => 1e-13,
        _ => 1e-6,
    };
    let mut worst: f64 = 0.0;
    let (n_rows, n_columns) = (m.min(12), n.min(12));
    for i in 0..n_rows {
        // The first and last ones, and some between.
        let row = if i + 1 == n_rows { m - 1 } else { i * m / n_rows };
        let x: Vec<f64> = a.narrow(0, row, 1).cast(DType::F64).contiguous().to_vec()?;
        let ys: Vec<f64> = y.narrow(0, row, 1).cast(DType::F64).contiguous().to_vec()?;
        for j in 0..n_columns {
            let column = if j + 1 == n_columns { n - 1 } else { j * n / n_columns };
            let w: Vec<f64> = b.narrow(1, column, 1).cast(DType::F64).contiguous().to_vec()?;
            let mut want: f64 = x.iter().zip(&w).map(|(x, w)| x * w).sum();
            let size: f64 = x.iter().zip(&w).map(|(x, w)| (x * w).abs()).sum();
            if line.epilogue {
                want = (want + bias.narrow(0, column, 1).cast(DType::F64).contiguous().to_vec::<f64>()?[0]).max(0.0);
            }
            let allowed = want.abs() * unit + size * 2e-7 * (k as f64).sqrt().max(4.0) + 1e-30;
            let off = (ys[column] - want).abs() / allowed;
            worst = if off.is_nan() { f64::INFINITY } else { worst.max(off) };
        }
    }
    Ok(worst)
}

fn matmul(line: &Line, device: &Device) -> Result<bool> {
    let [m, n, k] = line.sizes;
    let turned = |at: usize| line.layout.as_bytes()[at] == b't';
    let a = operand(m, k, turned(0), line.dtype, device)?;
    let b = operand(k, n, turned(1), line.dtype, device)?;
    let bias = operand(1, n, false, line.dtype, device)?.reshape([n]);
    let call = || {
        let y = a.matmul(&b);
        let y = if line.epilogue { (&y + &bias).relu() } else { y };
        y.realize()
    };
    let y = call()?;
    let off = error(line, &a, &b, &bias, &y)?;
    let seconds = seconds(device, call)?;
    let tera = 2.0 * m as f64 * n as f64 * k as f64 / seconds / 1e12;
    let giga = (m * k + k * n + m * n) as f64 * line.dtype.size() as f64 / seconds / 1e9;
    let verdict = if off <= 1.0 { "ok" } else { "WRONG" };
    println!("{:<44} {:>10.1} us {tera:>8.2} TFLOP/s {giga:>8.1} GB/s  error {off:.2} {verdict}", line.name, seconds * 1e6);
    Ok(off <= 1.0)
}

fn convolution(name: &str, dtype: DType, device: &Device) -> Result<()> {
    let (batch, ci, co, size) = (64, 64, 64, 56);
    let x = Tensor::uniform([batch, ci, size, size], -1.0, 1.0, DType::F32, device).cast(dtype).realize()?;
    let w = Tensor::uniform([co, ci, 3, 3], -1.0, 1.0, DType::F32, device).cast(dtype).realize()?;
    let options = ConvOptions { padding: vec![(1, 1), (1, 1)], ..ConvOptions::default() };
    let seconds = seconds(device, || x.conv2d(&w, None, &options).realize())?;
    let tera = 2.0 * (batch * co * size * size * ci * 9) as f64 / seconds / 1e12;
    println!("{name:<44} {:>10.1} us {tera:>8.2} TFLOP/s", seconds * 1e6);
    Ok(())
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let device = match arguments.next() {
        Some(name) => Device::open(&name)?,
        None => Device::best()?,
    };
    let word = arguments.next().unwrap_or_default();
    println!("{}", device.name());
    let mut right = true;
    for line in lines().iter().filter(|line| line.name.contains(&word)) {
        right &= matmul(line, &device).unwrap_or_else(|error| {
            println!("{:<44} {error}", line.name);
            false
        });
    }
    for dtype in [DType::F32, DType::BF16] {
        let name = format!("conv {dtype} 64x64x56x56 3x3");
        if name.contains(&word) {
            convolution(&name, dtype, &device)?;
        }
    }
    if !right {
        std::process::exit(1);
    }
    Ok(())
}
