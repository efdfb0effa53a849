//! Timings, by hand: `cargo test -p unigrad-cpu --release bench -- --ignored --nocapture`, with `UNIGRAD_BENCH=softmax` for some of them.
//! Runs beside other programs: measurements are run by hand.

use super::directed::Make;
use super::*;
use std::time::Instant;
use unigrad_kernel::{Grouped, InstOp, Value};
use unigrad_scalar::{ArgReduceOp, BinaryOp, ReduceOp, UnaryOp};

/// What the driver would allocate.
struct Memory {
    ptr: std::ptr::NonNull<u8>,
    bytes: usize,
}

impl Memory {
    fn new(bytes: usize) -> Memory {
        let bytes = bytes.next_multiple_of(64).max(64);
        let ptr = crate::memory::allocate(bytes).unwrap();
        // SAFETY: the block is ours.
        unsafe { std::slice::from_raw_parts_mut(ptr.as_ptr().cast::<std::mem::MaybeUninit<f32>>(), bytes / 4) }
            .iter_mut()
            .enumerate()
            .for_each(|(i, x)| *x = std::mem::MaybeUninit::new(((i * 7919) % 1009 + 1) as f32 / 2018.0));
        Memory { ptr, bytes }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with these bytes, and not used again.
        unsafe { crate::memory::free(self.ptr, self.bytes) };
    }
}

fn is_wanted(name: &str) -> bool {
    std::env::var("UNIGRAD_BENCH").is_ok_and(|wanted| name.contains(&wanted)) || std::env::var("UNIGRAD_BENCH").is_err()
}

fn time(name: &str, mut f: impl FnMut()) {
    if !is_wanted(name) {
        return;
    }
    let mut best = f64::INFINITY;
    let start = Instant::now();
    let mut runs = 0;
    while runs < 5 || start.elapsed().as_secs_f64() < 1.0 {
        let one = Instant::now();
        f();
        best = best.min(one.elapsed().as_secs_f64());
        runs += 1;
    }
    println!("{name:40} {:10.2} us", best * 1e6);
}

fn time_region(name: &str, region: &Region) {
    if !is_wanted(name) {
        return;
    }
    let memory: Vec<Memory> = region.args.iter().map(|arg| Memory::new(arg.len * arg.dtype.size())).collect();
    let bufs: Vec<Buf> =
        memory.iter().zip(&region.args).map(|(m, arg)| Buf { ptr: m.ptr.as_ptr(), len: arg.len, dtype: arg.dtype }).collect();
    let compiled = CompiledRegion::new(region).unwrap();
    // SAFETY: the buffers match.
    time(name, || unsafe { compiled.run(&bufs, &[]) }.unwrap());
}

fn softmax(rows: usize, cols: usize, dtype: DType) -> Region {
    let mut m = Make::new(&[rows, cols], 1);
    let strides = [cols as i64, 1];
    let x = m.load(dtype, &strides);
    let max = m.reduce(ReduceOp::Max, x);
    let d = m.binary(BinaryOp::Sub, x, max);
    let e = m.unary(UnaryOp::Exp, d);
    let sum = m.reduce(ReduceOp::Sum, e);
    let y = m.binary(BinaryOp::Div, e, sum);
    m.store(y, &strides);
    m.0
}

fn layer_norm(rows: usize, cols: usize, dtype: DType) -> Region {
    let mut m = Make::new(&[rows, cols], 1);
    let strides = [cols as i64, 1];
    let x = m.load(dtype, &strides);
    let (w, b) = (m.load(dtype, &[0, 1]), m.load(dtype, &[0, 1]));
    let (inverse, eps) = (m.number(1.0 / cols as f64), m.number(1e-5));
    let sum = m.reduce(ReduceOp::Sum, x);
    let mean = m.binary(BinaryOp::Mul, sum, inverse);
    let d = m.binary(BinaryOp::Sub, x, mean);
    let square = m.binary(BinaryOp::Mul, d, d);
    let var = m.reduce(ReduceOp::Sum, square);
    let var = m.binary(BinaryOp::Mul, var, inverse);
    let var = m.binary(BinaryOp::Add, var, eps);
    let scale = m.unary(UnaryOp::Rsqrt, var);
    let y = m.binary(BinaryOp::Mul, d, scale);
    let y = m.binary(BinaryOp::Mul, y, w);
    let y = m.binary(BinaryOp::Add, y, b);
    m.store(y, &strides);
    m.0
}

/// With respect to the input, from the mean and the scale of each row.
fn layer_norm_gradient(rows: usize, cols: usize) -> Region {
    let mut m = Make::new(&[rows, cols], 1);
    let strides = [cols as i64, 1];
    let (g, x) = (m.load(DType::F32, &strides), m.load(DType::F32, &strides));
    let w = m.load(DType::F32, &[0, 1]);
    let (mean, scale) = (m.load(DType::F32, &[1, 0]), m.load(DType::F32, &[1, 0]));
    let inverse = m.number(1.0 / cols as f64);
    let d = m.binary(BinaryOp::Sub, x, mean);
    let normal = m.binary(BinaryOp::Mul, d, scale);
    let g = m.binary(BinaryOp::Mul, g, w);
    let sum = m.reduce(ReduceOp::Sum, g);
    let product = m.binary(BinaryOp::Mul, g, normal);
    let dot = m.reduce(ReduceOp::Sum, product);
    let sum = m.binary(BinaryOp::Mul, sum, inverse);
    let dot = m.binary(BinaryOp::Mul, dot, inverse);
    let part = m.binary(BinaryOp::Mul, normal, dot);
    let y = m.binary(BinaryOp::Sub, g, sum);
    let y = m.binary(BinaryOp::Sub, y, part);
    let y = m.binary(BinaryOp::Mul, y, scale);
    m.store(y, &strides);
    m.0
}

/// Tokens and positions added up, and the mean taken off: the way into a transformer's first norm.
fn embedded(batch: usize, length: usize, width: usize) -> Region {
    let mut m = Make::new(&[batch, length, width], 2);
    let (l, w) = (length as i64, width as i64);
    let (x, position) = (m.load(DType::F32, &[l * w, w, 1]), m.load(DType::F32, &[0, w, 1]));
    let inverse = m.number(1.0 / width as f64);
    let y = m.binary(BinaryOp::Add, x, position);
    let sum = m.reduce(ReduceOp::Sum, y);
    let mean = m.binary(BinaryOp::Mul, sum, inverse);
    let d = m.binary(BinaryOp::Sub, y, mean);
    m.store(y, &[l * w, w, 1]);
    m.store(mean, &[l, 1, 0]);
    m.store(d, &[l * w, w, 1]);
    m.0
}

fn row_sum(rows: usize, cols: usize) -> Region {
    let mut m = Make::new(&[rows, cols], 1);
    let x = m.load(DType::F32, &[cols as i64, 1]);
    let sum = m.reduce(ReduceOp::Sum, x);
    m.store(sum, &[1, 0]);
    m.0
}

fn arg_max(rows: usize, cols: usize) -> Region {
    let mut m = Make::new(&[rows, cols], 1);
    let x = m.load(DType::F32, &[cols as i64, 1]);
    let at = m.push(InstOp::ArgReduce(ArgReduceOp::ArgMax, x), DType::I64);
    m.store(at, &[1, 0]);
    m.0
}

fn gelu_block(n: usize) -> Region {
    let mut m = Make::new(&[n], 1);
    let (x, w, b, r) = (m.load(DType::F32, &[1]), m.number(0.7), m.number(0.1), m.load(DType::F32, &[1]));
    let y = m.binary(BinaryOp::Mul, x, w);
    let y = m.binary(BinaryOp::Add, y, b);
    let y = m.unary(UnaryOp::Gelu, y);
    let y = m.binary(BinaryOp::Add, y, r);
    m.store(y, &[1]);
    m.0
}

fn adamw(n: usize) -> Region {
    let mut m = Make::new(&[n], 1);
    let v: Vec<Value> = (0..4).map(|_| m.load(DType::F32, &[1])).collect();
    let c: Vec<Value> = [0.9, 0.1, 0.999, 0.001, -1e-3, 1e-8, 0.9999, 1.1].into_iter().map(|x| m.number(x)).collect();
    let (p, mom, var, g) = (v[0], v[1], v[2], v[3]);
    let (a, b) = (m.binary(BinaryOp::Mul, mom, c[0]), m.binary(BinaryOp::Mul, g, c[1]));
    let mom = m.binary(BinaryOp::Add, a, b);
    let square = m.binary(BinaryOp::Mul, g, g);
    let (a, b) = (m.binary(BinaryOp::Mul, var, c[2]), m.binary(BinaryOp::Mul, square, c[3]));
    let var = m.binary(BinaryOp::Add, a, b);
    let root = m.unary(UnaryOp::Sqrt, var);
    let root = m.binary(BinaryOp::Mul, root, c[7]);
    let root = m.binary(BinaryOp::Add, root, c[5]);
    let step = m.binary(BinaryOp::Div, mom, root);
    let step = m.binary(BinaryOp::Mul, step, c[4]);
    let p = m.binary(BinaryOp::Mul, p, c[6]);
    let p = m.binary(BinaryOp::Add, p, step);
    for (arg, value) in [(0, p), (1, mom), (2, var)] {
        m.0.args[arg as usize].write = true;
        m.push(InstOp::Store { arg, index: Make::index(&[1]), value }, DType::F32);
    }
    m.0
}

/// The same in the order in which the planner writes it: each state is loaded and stored before the next one.
fn adamw_by_state(n: usize) -> Region {
    let mut m = Make::new(&[n], 1);
    let c: Vec<Value> = [0.9, 0.1, 0.999, 0.001, -1e-3, 1e-8, 0.9999, 1.1].into_iter().map(|x| m.number(x)).collect();
    let store = |m: &mut Make, arg: u32, value: Value| {
        m.0.args[arg as usize].write = true;
        m.push(InstOp::Store { arg, index: Make::index(&[1]), value }, DType::F32);
    };
    let old = m.load(DType::F32, &[1]);
    let a = m.binary(BinaryOp::Mul, old, c[0]);
    let g = m.load(DType::F32, &[1]);
    let b = m.binary(BinaryOp::Mul, g, c[1]);
    let mom = m.binary(BinaryOp::Add, a, b);
    store(&mut m, 0, mom);
    let old = m.load(DType::F32, &[1]);
    let a = m.binary(BinaryOp::Mul, old, c[2]);
    let square = m.binary(BinaryOp::Mul, g, g);
    let b = m.binary(BinaryOp::Mul, square, c[3]);
    let var = m.binary(BinaryOp::Add, a, b);
    store(&mut m, 2, var);
    let p = m.load(DType::F32, &[1]);
    let p = m.binary(BinaryOp::Mul, p, c[6]);
    let root = m.unary(UnaryOp::Sqrt, var);
    let root = m.binary(BinaryOp::Mul, root, c[7]);
    let root = m.binary(BinaryOp::Add, root, c[5]);
    let step = m.binary(BinaryOp::Div, mom, root);
    let step = m.binary(BinaryOp::Mul, step, c[4]);
    let p = m.binary(BinaryOp::Add, p, step);
    store(&mut m, 3, p);
    m.0
}

/// Parts that follow each other in one result.
fn concat(parts: usize, len: usize) -> Region {
    let mut m = Make::new(&[len], 1);
    let mut to = None;
    for part in 0..parts {
        let x = m.load(DType::F32, &[1]);
        let arg = *to.get_or_insert_with(|| {
            m.0.args.push(unigrad_kernel::Arg { dtype: DType::F32, len: parts * len, write: true });
            m.0.args.len() as u32 - 1
        });
        let mut index = Make::index(&[1]);
        index.offset = (part * len) as i64;
        m.push(InstOp::Store { arg, index, value: x }, DType::F32);
    }
    m.0
}

fn column_sum(rows: usize, cols: usize) -> Region {
    let mut m = Make::new(&[cols, rows], 1);
    let x = m.load(DType::F32, &[1, cols as i64]);
    let sum = m.reduce(ReduceOp::Sum, x);
    m.store(sum, &[1, 0]);
    m.0
}

#[test]
#[ignore = "timings"]
fn bench() {
    println!("{} threads, {:?}", threads(), tier());
    time_region("tiny map, 16", &gelu_block(16));
    time_region("map, 8K", &gelu_block(8192));
    // In cache: what the interpreter costs, whatever the memory does.
    time_region("AdamW, 8K", &adamw(8192));
    time_region("softmax [32, 1024]", &softmax(32, 1024, DType::F32));
    time_region("softmax bf16 [32, 1024]", &softmax(32, 1024, DType::BF16));
    time_region("softmax [512, 64]", &softmax(512, 64, DType::F32));
    time_region("layer_norm [32, 1024]", &layer_norm(32, 1024, DType::F32));
    // Rows of one register to a few dozen.
    for (rows, cols) in [(4096, 8), (4096, 16), (4096, 50), (4096, 64), (1024, 128), (1024, 256)] {
        time_region(&format!("rows: softmax [{rows}, {cols}]"), &softmax(rows, cols, DType::F32));
        time_region(&format!("rows: layer_norm [{rows}, {cols}]"), &layer_norm(rows, cols, DType::F32));
        time_region(&format!("rows: layer_norm gradient [{rows}, {cols}]"), &layer_norm_gradient(rows, cols));
        time_region(&format!("rows: sum [{rows}, {cols}]"), &row_sum(rows, cols));
        time_region(&format!("rows: argmax [{rows}, {cols}]"), &arg_max(rows, cols));
    }
    for (rows, cols) in [(4096, 64), (1024, 256)] {
        time_region(&format!("rows: softmax bf16 [{rows}, {cols}]"), &softmax(rows, cols, DType::BF16));
        time_region(&format!("rows: layer_norm bf16 [{rows}, {cols}]"), &layer_norm(rows, cols, DType::BF16));
    }
    time_region("rows: embedded [16, 64, 64]", &embedded(16, 64, 64));
    time_region("rows: layer_norm [1024, 64]", &layer_norm(1024, 64, DType::F32));
    time_region("rows: layer_norm [256, 256]", &layer_norm(256, 256, DType::F32));
    time_region("rows: layer_norm [65536, 64]", &layer_norm(65536, 64, DType::F32));
    time_region("gelu(x*w+b)+r, 16M", &gelu_block(16 << 20));
    time_region("softmax [4096, 1024]", &softmax(4096, 1024, DType::F32));
    time_region("softmax bf16 [4096, 1024]", &softmax(4096, 1024, DType::BF16));
    time_region("softmax [128, 10]", &softmax(128, 10, DType::F32));
    time_region("layer_norm [4096, 1024]", &layer_norm(4096, 1024, DType::F32));
    time_region("column sum [2048, 384]", &column_sum(2048, 384));
    time_region("column sum [8192, 10]", &column_sum(8192, 10));
    time_region("AdamW 50M", &adamw(50_000_000));
    time_region("AdamW by state, 8K", &adamw_by_state(8192));
    time_region("AdamW by state, 50M", &adamw_by_state(50_000_000));
    time_region("concat 16 x 8192", &concat(16, 8192));
    time_region("concat 16 x 32768", &concat(16, 32768));
    for op in [UnaryOp::Exp, UnaryOp::Log, UnaryOp::Tanh, UnaryOp::Gelu, UnaryOp::Sin, UnaryOp::Erf, UnaryOp::Silu, UnaryOp::Log1p] {
        let mut m = Make::new(&[8192], 1);
        let x = m.load(DType::F32, &[1]);
        let y = m.unary(op, x);
        m.store(y, &[1]);
        time_region(&format!("{op}, 8K"), &m.0);
    }
    let lens = vec![1000; 200];
    let grouped = Grouped { region: adamw(1000), lens: lens.clone() };
    let kernel = unigrad_kernel::Kernel::Grouped(grouped.clone());
    let args = kernel.args();
    let mut memory: Vec<Vec<[f32; 16]>> = args.iter().map(|arg| vec![[0.25; 16]; arg.len.div_ceil(16)]).collect();
    let bufs: Vec<Buf> =
        memory.iter_mut().zip(&args).map(|(m, arg)| Buf { ptr: m.as_mut_ptr().cast(), len: arg.len, dtype: arg.dtype }).collect();
    let compiled = CompiledGrouped::new(&grouped).unwrap();
    // SAFETY: the buffers match.
    time("AdamW grouped, 200 x 1000", || unsafe { compiled.run(&bufs, &[]) }.unwrap());
}
