//! Contractions against a naive oracle, on every tier and thread count.
//! Runs beside other programs: measurements are run by hand.

mod epilogue;
mod exhaustive;
mod kept;
mod parts;

use super::CompiledContract;
use crate::memory::{Buf, Fault};
use crate::simd::{
    Bf16, Tier,
    tests::{tiers, ways},
};
use smallvec::{SmallVec, smallvec};
use unigrad_kernel::testing::{
    Memory, Rng,
    contract::{Case, case as random_case, first_difference, oracle, with_prologues},
};
use unigrad_kernel::{Arg, BatchDim, Contract, Index, Inst, InstOp, KDim, MDim, NDim, Region, Value};
use unigrad_scalar::{BinaryOp, DType, Literal};

/// Memory as the driver's kernels take it.
pub(crate) trait AsBuf {
    fn buf(&mut self) -> Buf;
}

impl AsBuf for Memory {
    fn buf(&mut self) -> Buf {
        Buf { ptr: self.bytes_mut().as_mut_ptr(), len: self.len(), dtype: self.dtype }
    }
}

fn check(case: Case, what: &str) {
    let want = oracle(&case.contract, &case.args[0], &case.args[1]);
    check_for(case, &want, what);
}

/// As [`check`], for results that are known.
fn check_for(mut case: Case, want: &[(usize, Literal)], what: &str) {
    for (tier, bf16) in ways() {
        let compiled = CompiledContract::for_tier(&case.contract, tier, bf16).unwrap();
        for threads in [1, 2, 3] {
            let c = &mut case.args[2];
            let one = Literal::int(c.dtype, 1);
            (0..c.len()).for_each(|i| c.set(i, one));
            let bufs: Vec<Buf> = case.args.iter_mut().map(Memory::buf).collect();
            // SAFETY: the buffers match the contraction.
            let done: Result<(), Fault> = unsafe { compiled.run_on(threads, &bufs, &[]) };
            assert_eq!(done, Ok(()));
            if let Some(difference) = first_difference(&case.args[2], want, one) {
                panic!("{what} {tier:?} {bf16:?} {threads} threads: {difference}\n{:?}", case.contract);
            }
        }
    }
}

#[test]
fn random_lists_strides_and_dtypes() {
    let mut rng = Rng(7);
    let floats = [DType::F32, DType::F64, DType::F16, DType::BF16];
    for round in 0..600 {
        let list =
            |rng: &mut Rng, most: usize, sizes: &[usize]| -> Vec<usize> { (0..rng.below(most + 1)).map(|_| rng.pick(sizes)).collect() };
        let batch = list(&mut rng, 2, &[1, 2, 3]);
        let m = list(&mut rng, 2, &[1, 2, 5, 9, 17]);
        let n = list(&mut rng, 2, &[1, 3, 8, 17, 21]);
        let k = list(&mut rng, 2, &[1, 2, 7, 16, 19]);
        let dtypes = match rng.below(4) {
            0 => [rng.pick(&DType::ALL); 3],
            1 => [rng.pick(&floats), rng.pick(&floats), rng.pick(&floats)],
            2 => [DType::F32; 3],
            _ => {
                let x = rng.pick(&floats);
                [x, x, DType::F32]
            }
        };
        check(random_case(&mut rng, [&batch, &m, &n, &k], dtypes), &format!("round {round}"));
    }
}

/// Operands that a prologue makes: every way to block a product, every orientation and dtype.
#[test]
fn prologues_make_operands() {
    let mut rng = Rng(23);
    let floats = [DType::F32, DType::F64, DType::F16, DType::BF16];
    for round in 0..400 {
        let list =
            |rng: &mut Rng, most: usize, sizes: &[usize]| -> Vec<usize> { (0..rng.below(most + 1)).map(|_| rng.pick(sizes)).collect() };
        let (batch, m, n, k);
        if round % 20 == 0 {
            // Several passes over `k`, dot products, blocks of their own panels, and parts of long sums.
            batch = list(&mut rng, 1, &[1, 2]);
            (m, n, k) = (vec![rng.pick(&[1, 3, 30, 200])], vec![rng.pick(&[1, 40, 130])], vec![rng.pick(&[330, 700, 4100])]);
        } else {
            (batch, m) = (list(&mut rng, 2, &[1, 2, 3]), list(&mut rng, 2, &[1, 2, 5, 9, 17]));
            (n, k) = (list(&mut rng, 2, &[1, 3, 8, 17, 21]), list(&mut rng, 2, &[0, 1, 2, 7, 16, 19]));
        }
        let x = rng.pick(&floats);
        let dtypes = match rng.below(3) {
            0 => [rng.pick(&DType::ALL), rng.pick(&DType::ALL), DType::F32],
            _ => [x, x, DType::F32],
        };
        let mut case = random_case(&mut rng, [&batch, &m, &n, &k], dtypes);
        let want = oracle(&case.contract, &case.args[0], &case.args[1]);
        with_prologues(&mut rng, &mut case);
        check_for(case, &want, &format!("round {round}"));
    }
}

/// `out = (sum + bias[n]) * scale` in the order of the output, for random lists of dimensions.
#[test]
fn epilogues_see_every_sum_once() {
    let mut rng = Rng(17);
    for round in 0..150 {
        let list =
            |rng: &mut Rng, most: usize, sizes: &[usize]| -> Vec<usize> { (0..rng.below(most + 1)).map(|_| rng.pick(sizes)).collect() };
        let batch = list(&mut rng, 2, &[1, 2, 3]);
        let m = list(&mut rng, 2, &[1, 2, 5, 17, 40]);
        let n = list(&mut rng, 2, &[1, 3, 8, 21, 40]);
        let k = list(&mut rng, 2, &[0, 1, 7, 16, 90]);
        let (input, acc) = rng.pick(&[
            (DType::F32, DType::F32),
            (DType::BF16, DType::F32),
            (DType::F64, DType::F64),
            (DType::F64, DType::F32),
            (DType::I32, DType::I32),
            (DType::I8, DType::I8),
        ]);
        let mut case = random_case(&mut rng, [&batch, &m, &n, &k], [input, input, acc]);
        let axes: SmallVec<[usize; 6]> = [&batch[..], &m, &n].concat().into_iter().collect();
        let n_points: usize = axes.iter().product();
        let n_len: usize = n.iter().product();
        // Row-major over the axes from `from` on.
        let strides = |from: usize| -> SmallVec<[i64; 6]> {
            let suffix = |i: usize| axes[i + 1..].iter().product::<usize>() as i64;
            (0..axes.len()).map(|i| if i < from { 0 } else { suffix(i) }).collect()
        };
        let inst = |op| Inst { op, dtype: acc };
        let index = |from| Index { offset: 0, strides: strides(from), dynamic: smallvec![] };
        let arg = |len, write| Arg { dtype: acc, len, write };
        case.contract.epilogue = Some(Box::new(Region {
            name: "bias".into(),
            n_parallel: axes.len(),
            args: vec![arg(n_len.max(1), false), arg(n_points.max(1), true)],
            scalars: vec![acc],
            insts: vec![
                inst(InstOp::Acc),
                inst(InstOp::Load { arg: 0, index: index(batch.len() + m.len()), mask: None }),
                inst(InstOp::Binary(BinaryOp::Add, Value(0), Value(1))),
                inst(InstOp::Scalar(0)),
                inst(InstOp::Binary(BinaryOp::Mul, Value(2), Value(3))),
                inst(InstOp::Store { arg: 1, index: index(0), value: Value(4) }),
            ],
            axes: axes.clone(),
        }));
        let want = oracle(&case.contract, &case.args[0], &case.args[1]);
        let mut bias = Memory::new(acc, n_len.max(1));
        for i in 0..n_len {
            bias.set(i, Literal::int(acc, rng.below(9) as i64));
        }
        for (tier, bf16) in ways() {
            let compiled = CompiledContract::for_tier(&case.contract, tier, bf16).unwrap();
            for threads in [1, 2, 3] {
                let mut out = Memory::new(acc, n_points.max(1));
                let bufs = [case.args[0].buf(), case.args[1].buf(), bias.buf(), out.buf()];
                // SAFETY: the buffers match the contraction.
                let done = unsafe { compiled.run_on(threads, &bufs, &[Literal::int(acc, 2).to_raw()]) };
                assert_eq!(done, Ok(()));
                for (i, (_, sum)) in want.iter().enumerate() {
                    let b = bias.get(i % n_len);
                    let value = if acc.is_float() {
                        Literal::float(acc, (sum.as_f64() + b.as_f64()) * 2.0)
                    } else {
                        Literal::int(acc, (sum.as_i64() + b.as_i64()) * 2)
                    };
                    assert!(
                        out.get(i).as_f64() == value.as_f64(),
                        "round {round} {tier:?} {threads} threads, point {i}: {:?} not {value:?}\n{:?}",
                        out.get(i),
                        case.contract
                    );
                }
            }
        }
    }
}

#[test]
fn zero_sizes() {
    let mut rng = Rng(3);
    for sizes in [[0, 2, 3, 4], [2, 0, 3, 4], [2, 3, 0, 4], [2, 3, 4, 0]] {
        let [b, m, n, k] = sizes;
        check(random_case(&mut rng, [&[b], &[m], &[n], &[k]], [DType::F32; 3]), "zero size");
        check(random_case(&mut rng, [&[], &[m], &[n], &[k]], [DType::BF16; 3]), "zero size");
    }
}

/// A plain product; `ta`, `tb`: stored transposed.
pub(crate) fn matmul(m: usize, n: usize, k: usize, ta: bool, tb: bool, dtype: DType) -> Contract {
    let (m64, n64, k64) = (m as i64, n as i64, k as i64);
    Contract {
        batch: smallvec![],
        m: smallvec![MDim { size: m, a: if ta { 1 } else { k64 }, c: n64 }],
        n: smallvec![NDim { size: n, b: if tb { k64 } else { 1 }, c: 1 }],
        k: smallvec![KDim { size: k, a: if ta { m64 } else { 1 }, b: if tb { 1 } else { n64 } }],
        a_offset: 0,
        b_offset: 0,
        a: Arg { dtype, len: m * k, write: false },
        b: Arg { dtype, len: k * n, write: false },
        c: Arg { dtype, len: m * n, write: true },
        tf32: false,
        epilogue: None,
        prologues: [None, None],
    }
}

fn filled(contract: &Contract) -> [Memory; 3] {
    let mut rng = Rng(11);
    let mut args = [contract.a, contract.b, contract.c].map(|arg| Memory::new(arg.dtype, arg.len));
    for memory in &mut args[..2] {
        for i in 0..memory.len() {
            memory.set(i, Literal::float(memory.dtype, rng.below(2001) as f64 / 1000.0 - 1.0));
        }
    }
    args
}

fn run(contract: &Contract, (tier, bf16): (Tier, Bf16), threads: usize, args: &mut [Memory; 3]) -> Vec<u8> {
    let bufs: Vec<Buf> = args.iter_mut().map(Memory::buf).collect();
    let compiled = CompiledContract::for_tier(contract, tier, bf16).unwrap();
    // SAFETY: the buffers match the contraction.
    unsafe { compiled.run_on(threads, &bufs, &[]) }.unwrap();
    args[2].bytes().to_vec()
}

/// Every path of the engine: serial, in place, dot products, blocks, phases with one and several passes, split sums.
#[test]
fn larger_products_and_thread_counts() {
    let shapes = [
        (1, 300, 700),
        (3, 1000, 100),
        (32, 200, 256),
        (70, 90, 330),
        (200, 300, 400),
        (300, 1100, 350),
        (1030, 40, 700),
        (20, 30, 20000),
        (1, 1, 9000),
        (500, 1, 300),
        (7, 5, 3000),
        (270, 1050, 8300),
    ];
    for (m, n, k) in shapes {
        for (ta, tb) in [(false, false), (true, false), (false, true), (true, true)] {
            if m * n * k > 100_000_000 && ta != tb {
                continue;
            }
            for dtype in [DType::F32, DType::BF16] {
                let contract = matmul(m, n, k, ta, tb, dtype);
                let mut args = filled(&contract);
                let mut rng = Rng(5);
                for tier in ways() {
                    if m * n * k > 100_000_000 && (tier.0 != *tiers().last().unwrap() || tier.1 == Bf16::Model) {
                        continue;
                    }
                    let one = run(&contract, tier, 1, &mut args);
                    for threads in [1, 2, 3, 8] {
                        assert!(one == run(&contract, tier, threads, &mut args), "{m}x{n}x{k} {tier:?}: {threads} threads differ");
                    }
                    for _ in 0..50 {
                        let (i, j) = (rng.below(m), rng.below(n));
                        let a = |l: usize| args[0].get(if ta { l * m + i } else { i * k + l }).as_f64();
                        let b = |l: usize| args[1].get(if tb { j * k + l } else { l * n + j }).as_f64();
                        let want: f64 = (0..k).map(|l| a(l) * b(l)).sum();
                        let got = args[2].get(i * n + j).as_f64();
                        let allowed = if dtype == DType::F32 { 1e-6 * k as f64 } else { 1e-6 * k as f64 + want.abs() / 200.0 };
                        assert!((got - want).abs() <= allowed, "{m}x{n}x{k} {ta} {tb} {dtype} {tier:?} [{i}, {j}]: {got} not {want}");
                    }
                }
            }
        }
    }
}

/// Processor time of the calling thread, where the system tells it.
pub(crate) fn thread_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// `cargo test --release -p unigrad-cpu contract::tests::speed -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn speed() {
    let conv = |x: [usize; 4], co: usize, kk: usize, which: usize| {
        let [nb, ci, h, w] = x;
        let (oh, ow) = (h - kk + 1, w - kk + 1);
        let s = |v: usize| v as i64;
        let (xn, xc, xh) = (s(ci * h * w), s(h * w), s(w));
        let (yn, yc, yh) = (s(co * oh * ow), s(oh * ow), s(ow));
        let arg = |len, write| Arg { dtype: DType::F32, len, write };
        let (lx, lw, ly) = (nb * ci * h * w, co * ci * kk * kk, nb * co * oh * ow);
        let mut c = matmul(1, 1, 1, false, false, DType::F32);
        match which {
            0 => {
                c.batch = smallvec![BatchDim { size: nb, a: 0, b: xn, c: yn }];
                c.m = smallvec![MDim { size: co, a: s(ci * kk * kk), c: yc }];
                c.n = smallvec![NDim { size: oh, b: xh, c: yh }, NDim { size: ow, b: 1, c: 1 }];
                c.k = smallvec![KDim { size: ci, a: s(kk * kk), b: xc }, KDim { size: kk, a: s(kk), b: xh }, KDim { size: kk, a: 1, b: 1 }];
                (c.a, c.b, c.c) = (arg(lw, false), arg(lx, false), arg(ly, true));
            }
            1 => {
                // dw[co, ci, kh, kw] = Σ dy[n, co, oh, ow] x[n, ci, oh + kh, ow + kw]
                c.m = smallvec![MDim { size: co, a: yc, c: s(ci * kk * kk) }];
                c.n = smallvec![NDim { size: ci, b: xc, c: s(kk * kk) }, NDim { size: kk, b: xh, c: s(kk) }, NDim { size: kk, b: 1, c: 1 }];
                c.k = smallvec![KDim { size: nb, a: yn, b: xn }, KDim { size: oh, a: yh, b: xh }, KDim { size: ow, a: 1, b: 1 }];
                (c.a, c.b, c.c) = (arg(ly, false), arg(lx, false), arg(lw, true));
            }
            _ => {
                // dx[n, ci, h, w] = Σ dyp[n, co, h + 2 - kh, w + 2 - kw] w[co, ci, kh, kw], with dy padded beforehand.
                let (ph, pw) = (oh + 2 * (kk - 1), ow + 2 * (kk - 1));
                let pn = s(co * ph * pw);
                c.batch = smallvec![BatchDim { size: nb, a: 0, b: pn, c: xn }];
                c.m = smallvec![MDim { size: ci, a: s(kk * kk), c: xc }];
                c.n = smallvec![NDim { size: h, b: s(pw), c: xh }, NDim { size: w, b: 1, c: 1 }];
                c.k = smallvec![
                    KDim { size: co, a: s(ci * kk * kk), b: s(ph * pw) },
                    KDim { size: kk, a: s(kk), b: -s(pw) },
                    KDim { size: kk, a: 1, b: -1 }
                ];
                c.b_offset = s((kk - 1) * pw + kk - 1);
                (c.a, c.b, c.c) = (arg(lw, false), arg(nb * co * ph * pw, false), arg(lx, true));
            }
        }
        c
    };
    let f = DType::F32;
    let mut cases: Vec<(String, Contract)> = vec![];
    for n in [64, 128, 256, 512, 1024, 2048] {
        cases.push((format!("f32 {n}"), matmul(n, n, n, false, false, f)));
    }
    for (ta, tb) in [(true, false), (false, true), (true, true)] {
        cases.push((format!("f32 1024 ta={ta} tb={tb}"), matmul(1024, 1024, 1024, ta, tb, f)));
    }
    for n in [512, 1024, 2048] {
        cases.push((format!("bf16 {n}"), matmul(n, n, n, false, false, DType::BF16)));
        cases.push((format!("bf16 {n} tb"), matmul(n, n, n, false, true, DType::BF16)));
    }
    cases.push(("f16 1024".into(), matmul(1024, 1024, 1024, false, false, DType::F16)));
    cases.push(("f64 1024".into(), matmul(1024, 1024, 1024, false, false, DType::F64)));
    cases.push(("lstm 32x1024x256".into(), matmul(32, 1024, 256, false, false, f)));
    cases.push(("lstm 32x1024x256 tb".into(), matmul(32, 1024, 256, false, true, f)));
    for m in [4, 8, 12, 16, 24, 48, 64, 128, 256] {
        cases.push((format!("rows {m}x1024x256"), matmul(m, 1024, 256, false, false, f)));
        cases.push((format!("rows {m}x384x384"), matmul(m, 384, 384, false, false, f)));
        cases.push((format!("rows {m}x512x256 tb"), matmul(m, 512, 256, false, true, f)));
    }
    cases.push(("lstm back 32x256x1024".into(), matmul(32, 256, 1024, false, false, f)));
    cases.push(("128x10x256".into(), matmul(128, 10, 256, false, false, f)));
    cases.push(("128x256x784 tb".into(), matmul(128, 256, 784, false, true, f)));
    cases.push(("gemv 1x4096x4096".into(), matmul(1, 4096, 4096, false, false, f)));
    cases.push(("gemv 1x4096x4096 tb".into(), matmul(1, 4096, 4096, false, true, f)));
    cases.push(("gemv bf16 1x4096x4096 tb".into(), matmul(1, 4096, 4096, false, true, DType::BF16)));
    cases.push(("64x288x36864 ta".into(), matmul(64, 288, 36864, true, false, f)));
    cases.push(("gpt 2048x384x1536 tb".into(), matmul(2048, 1536, 384, false, true, f)));
    cases.push(("gpt dw 384x1536x2048 ta".into(), matmul(384, 1536, 2048, true, false, f)));
    cases.push(("lstm dw 1024x256x2048 ta".into(), matmul(1024, 256, 2048, true, false, f)));
    cases.push(("lstm dw 1024x256x2048 ta tb".into(), matmul(1024, 256, 2048, true, true, f)));
    cases.push(("lstm dw 1024x64x2048 ta".into(), matmul(1024, 64, 2048, true, false, f)));
    cases.push(("lstm in 2048x1024x64 tb".into(), matmul(2048, 1024, 64, false, true, f)));
    // A GPT of 64 wide: forward, gradients of inputs and of weights.
    for (m, n, k, ta, tb) in [
        (1024, 64, 64, false, true),
        (1024, 192, 64, false, true),
        (1024, 256, 64, false, true),
        (1024, 64, 256, false, true),
        (1024, 64, 256, false, false),
        (256, 64, 1024, true, false),
        (64, 256, 1024, true, false),
    ] {
        cases.push((format!("small {m}x{n}x{k} ta={ta} tb={tb}"), matmul(m, n, k, ta, tb, f)));
    }
    for (i, name) in ["conv forward", "conv dw", "conv dx"].iter().enumerate() {
        cases.push(((*name).into(), conv([64, 32, 26, 26], 64, 3, i)));
    }
    let only = std::env::var("ONLY").unwrap_or_default();
    for (name, contract) in cases.into_iter().filter(|(name, _)| name.contains(&only)) {
        let mut args = filled(&contract);
        let bufs: Vec<Buf> = args.iter_mut().map(Memory::buf).collect();
        time(&name, &contract, &bufs);
    }
}

/// Prints the speed of a product.
fn time(name: &str, contract: &Contract, bufs: &[Buf]) {
    let compiled = CompiledContract::new(contract).unwrap();
    let flops = 2.0 * contract.batch_len() as f64 * contract.m_len() as f64 * contract.n_len() as f64 * contract.k_len() as f64;
    let mut line = format!("{name:34}");
    for threads in [1, crate::threads::threads()] {
        let (mut best, mut runs) = (f64::MAX, 0);
        let (cpu, start) = (thread_seconds(), std::time::Instant::now());
        while start.elapsed().as_millis() < 250 {
            let now = std::time::Instant::now();
            // SAFETY: the buffers match the contraction.
            unsafe { compiled.run_on(threads, bufs, &[]) }.unwrap();
            best = best.min(now.elapsed().as_secs_f64());
            runs += 1;
        }
        // One thread is measured in its own time, so that other processes disturb less.
        if threads == 1 && cpu > 0.0 {
            best = best.min((thread_seconds() - cpu) / f64::from(runs));
        }
        line += &format!("  {threads} threads {:7.1} GFLOP/s {:9.1} us", flops / best / 1e9, best * 1e6);
    }
    println!("{line}");
}
