//! Attention against a naive oracle in `f64`, and its gradient against finite differences.
//! Runs beside other programs: measurements are run by hand.

mod exhaustive;

use super::{backward_on, forward_on, math::philox_word0};
use crate::contract::tests::{AsBuf, thread_seconds};
use crate::memory::Buf;
use crate::simd::{Tier, tests::tiers, tier};
use unigrad_kernel::testing::{Memory, Rng};
use unigrad_kernel::{Arg, Attention, AttentionGrad, Layout4, Pages};
use unigrad_scalar::{AttentionSpec, DType, Dropout, Literal, Positions};

const SEED: u64 = 0x1234_5678_9abc_def0;
const PHILOX_OFFSET: u64 = 77;

/// A random layout of `[batch, head, position, feature]`: either of the two usual orders, with padding, or features apart.
fn layout(rng: &mut Rng, dims: [usize; 4]) -> (Layout4, usize) {
    let order = [[0, 1, 2, 3], [0, 2, 1, 3], [0, 1, 3, 2]][rng.below(3)];
    let mut strides = [0; 4];
    let mut next = 1;
    for i in order.into_iter().rev() {
        strides[i] = next as i64;
        next = next * dims[i] + rng.below(2);
    }
    let offset = rng.below(3);
    (Layout4 { offset: offset as i64, strides }, next + offset + 1)
}

fn at(layout: &Layout4, i: [usize; 4]) -> usize {
    (layout.offset + (0..4).map(|a| i[a] as i64 * layout.strides[a]).sum::<i64>()) as usize
}

struct Setup {
    grad: AttentionGrad,
    /// q, k, v, bias, out, lse, dout, dq, dk, dv
    memory: Vec<Memory>,
    scalars: Vec<u64>,
    /// Lengths, offsets and pages of the sequences, instead of the first two scalars.
    positions: Option<Memory>,
}

impl Setup {
    fn attention(&self) -> &Attention {
        &self.grad.forward
    }

    fn layouts(&self) -> [Layout4; 10] {
        let a = self.attention();
        let (h, t) = (a.heads as i64, a.q_len as i64);
        let lse = Layout4 { offset: 0, strides: [h * t, t, 1, 0] };
        let bias = a.bias.map_or(lse, |(layout, _)| layout);
        [a.q, a.k, a.v, bias, a.out, lse, self.grad.dout, self.grad.dq, self.grad.dk, self.grad.dv]
    }

    /// Length and offset of a sequence.
    fn place(&self, b: usize) -> (i64, i64) {
        let Some(positions) = &self.positions else { return (self.scalars[0] as i64, self.scalars[1] as i64) };
        let first = b * self.attention().position_columns();
        (positions.get(first).as_i64(), positions.get(first + 1).as_i64())
    }

    /// A feature of key (1) or value (2) `j`.
    fn key(&self, arg: usize, [b, h, j, f]: [usize; 4]) -> f64 {
        let (Some(pages), Some(positions)) = (self.attention().pages, &self.positions) else { return self.get(arg, [b, h, j, f]) };
        let page = positions.get(b * self.attention().position_columns() + Positions::COLUMNS + j / pages.size).as_i64();
        // What does not count has no probability: any page will do.
        self.get(arg, [(page as usize).min(pages.count - 1), h, j % pages.size, f])
    }

    fn get(&self, arg: usize, i: [usize; 4]) -> f64 {
        self.memory[arg].get(at(&self.layouts()[arg], i)).as_f64()
    }

    fn bufs(&mut self, backward: bool) -> Vec<Buf> {
        let bias = self.attention().bias.is_some();
        let n = if backward { 10 } else { 6 };
        let positions = self.positions.as_mut().map(|positions| positions.buf());
        let mut bufs: Vec<Buf> =
            self.memory.iter_mut().take(n).enumerate().filter(|(i, _)| *i != 3 || bias).map(|(_, m)| m.buf()).collect();
        bufs.splice(3 + usize::from(bias)..3 + usize::from(bias), positions);
        bufs
    }

    fn forward(&mut self, tier: Tier, threads: usize) {
        let (kernel, bufs) = (self.attention().clone(), self.bufs(false));
        // SAFETY: the buffers match.
        unsafe { forward_on(&kernel, &bufs, &self.scalars, tier, threads) }
    }

    fn backward(&mut self, tier: Tier, threads: usize) {
        let (kernel, bufs) = (self.grad.clone(), self.bufs(true));
        // SAFETY: the buffers match.
        unsafe { backward_on(&kernel, &bufs, &self.scalars, tier, threads) }
    }

    fn kept(&self, i: [usize; 4]) -> f64 {
        let a = self.attention();
        let Some(dropout) = a.spec.dropout else { return 1.0 };
        let keep = f32::from_bits(dropout.keep_bits);
        let [b, h, q, k] = i.map(|x| x as u64);
        let index = ((b * a.heads as u64 + h) * a.q_len as u64 + q) * a.k_len as u64 + k;
        let word = philox_word0([index], PHILOX_OFFSET, SEED)[0];
        if (word >> 8) as f32 * (1.0 / 16777216.0) < keep { 1.0 / f64::from(keep) } else { 0.0 }
    }

    /// Probabilities (before dropout) and the logarithm of the sum, for one query.
    fn probabilities(&self, b: usize, h: usize, i: usize) -> (Vec<f64>, f64) {
        let a = self.attention();
        let kv = h / (a.heads / a.kv_heads);
        let (kv_len, q_offset) = self.place(b);
        let scores: Vec<f64> = (0..a.k_len)
            .map(|j| {
                let (ii, jj) = (i as i64 + q_offset, j as i64);
                let hidden = jj >= kv_len || (a.spec.causal && jj > ii) || a.spec.window.is_some_and(|w| jj <= ii - w as i64);
                if hidden {
                    return f64::NEG_INFINITY;
                }
                let dot: f64 = (0..a.qk_dim).map(|f| self.get(0, [b, h, i, f]) * self.key(1, [b, kv, j, f])).sum();
                dot * f64::from_bits(a.spec.scale_bits) + if a.bias.is_some() { self.get(3, [b, h, i, j]) } else { 0.0 }
            })
            .collect();
        let greatest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if greatest == f64::NEG_INFINITY {
            return (vec![0.0; a.k_len], greatest);
        }
        let sum: f64 = scores.iter().map(|s| (s - greatest).exp()).sum();
        (scores.iter().map(|s| (s - greatest).exp() / sum).collect(), greatest + sum.ln())
    }

    fn check_forward(&self, what: &str) {
        let a = self.attention();
        let allowed = tolerance(a.dtype);
        for b in 0..a.batch {
            for h in 0..a.heads {
                let kv = h / (a.heads / a.kv_heads);
                for i in 0..a.q_len {
                    let (p, lse) = self.probabilities(b, h, i);
                    let got = self.get(5, [b, h, i, 0]);
                    assert!(got == lse || (got - lse).abs() <= allowed, "{what}: lse[{b},{h},{i}] {got} not {lse}");
                    for f in 0..a.v_dim {
                        // What is not seen has no part, whatever its value is.
                        let term = |j: usize| p[j] * self.kept([b, h, i, j]) * self.key(2, [b, kv, j, f]);
                        let want: f64 = (0..a.k_len).map(|j| if p[j] == 0.0 { 0.0 } else { term(j) }).sum();
                        let got = self.get(4, [b, h, i, f]);
                        assert!((got - want).abs() <= allowed, "{what}: out[{b},{h},{i},{f}] {got} not {want}");
                    }
                }
            }
        }
    }

    fn check_backward(&self, what: &str) {
        let a = self.attention();
        let scale = f64::from_bits(a.spec.scale_bits);
        let allowed = tolerance(a.dtype) * 8.0;
        let group = a.heads / a.kv_heads;
        for b in 0..a.batch {
            let mut dk = vec![vec![0.0; a.k_len * a.qk_dim]; a.kv_heads];
            let mut dv = vec![vec![0.0; a.k_len * a.v_dim]; a.kv_heads];
            for h in 0..a.heads {
                let kv = h / group;
                for i in 0..a.q_len {
                    let (p, _) = self.probabilities(b, h, i);
                    let dp: Vec<f64> = (0..a.k_len)
                        .map(|j| {
                            let dot: f64 = (0..a.v_dim).map(|f| self.get(6, [b, h, i, f]) * self.key(2, [b, kv, j, f])).sum();
                            dot * self.kept([b, h, i, j])
                        })
                        .collect();
                    let delta: f64 = p.iter().zip(&dp).map(|(p, g)| p * g).sum();
                    let ds: Vec<f64> = p.iter().zip(&dp).map(|(p, g)| p * (g - delta)).collect();
                    for f in 0..a.qk_dim {
                        let want: f64 = (0..a.k_len).map(|j| ds[j] * self.key(1, [b, kv, j, f])).sum::<f64>() * scale;
                        let got = self.get(7, [b, h, i, f]);
                        assert!((got - want).abs() <= allowed, "{what}: dq[{b},{h},{i},{f}] {got} not {want}");
                        for j in 0..a.k_len {
                            dk[kv][j * a.qk_dim + f] += ds[j] * self.get(0, [b, h, i, f]) * scale;
                        }
                    }
                    for f in 0..a.v_dim {
                        for j in 0..a.k_len {
                            dv[kv][j * a.v_dim + f] += p[j] * self.kept([b, h, i, j]) * self.get(6, [b, h, i, f]);
                        }
                    }
                }
            }
            for kv in 0..a.kv_heads {
                for j in 0..a.k_len {
                    for f in 0..a.qk_dim {
                        let (got, want) = (self.get(8, [b, kv, j, f]), dk[kv][j * a.qk_dim + f]);
                        assert!((got - want).abs() <= allowed, "{what}: dk[{b},{kv},{j},{f}] {got} not {want}");
                    }
                    for f in 0..a.v_dim {
                        let (got, want) = (self.get(9, [b, kv, j, f]), dv[kv][j * a.v_dim + f]);
                        assert!((got - want).abs() <= allowed, "{what}: dv[{b},{kv},{j},{f}] {got} not {want}");
                    }
                }
            }
        }
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "attention is of floats only")]
fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => 1e-11,
        DType::F32 => 2e-5,
        DType::F16 => 4e-3,
        _ => 3e-2,
    }
}

struct Sizes {
    batch: usize,
    heads: usize,
    kv_heads: usize,
    q_len: usize,
    k_len: usize,
    qk_dim: usize,
    v_dim: usize,
}

fn setup(rng: &mut Rng, s: &Sizes, dtype: DType, plain: bool) -> Setup {
    let place = |rng: &mut Rng, dims: [usize; 4]| {
        if plain {
            // As a projection leaves it: `[batch, position, head, feature]`.
            let [b, h, t, d] = dims.map(|x| x as i64);
            return (Layout4 { offset: 0, strides: [h * t * d, d, h * d, 1] }, (b * h * t * d) as usize);
        }
        layout(rng, dims)
    };
    let (q, q_buffer) = place(rng, [s.batch, s.heads, s.q_len, s.qk_dim]);
    let (k, k_buffer) = place(rng, [s.batch, s.kv_heads, s.k_len, s.qk_dim]);
    let (v, v_buffer) = place(rng, [s.batch, s.kv_heads, s.k_len, s.v_dim]);
    let (out, out_buffer) = place(rng, [s.batch, s.heads, s.q_len, s.v_dim]);
    let (dout, dout_buffer) = place(rng, [s.batch, s.heads, s.q_len, s.v_dim]);
    let (dq, dq_buffer) = place(rng, [s.batch, s.heads, s.q_len, s.qk_dim]);
    let (dk, dk_buffer) = place(rng, [s.batch, s.kv_heads, s.k_len, s.qk_dim]);
    let (dv, dv_buffer) = place(rng, [s.batch, s.kv_heads, s.k_len, s.v_dim]);
    let bias = (!plain && rng.below(3) == 0).then(|| {
        let (mut layout, len) = layout(rng, [s.batch, s.heads, s.q_len, s.k_len]);
        if rng.below(2) == 0 {
            layout.strides[0] = 0;
            layout.strides[1] = 0;
        }
        (layout, Arg { dtype: [DType::F32, dtype][rng.below(2)], len, write: false })
    });
    let forward = Attention {
        dtype,
        batch: s.batch,
        heads: s.heads,
        kv_heads: s.kv_heads,
        q_len: s.q_len,
        k_len: s.k_len,
        qk_dim: s.qk_dim,
        v_dim: s.v_dim,
        spec: AttentionSpec {
            scale_bits: (1.0 / (s.qk_dim as f64).sqrt()).to_bits(),
            causal: plain || rng.below(2) == 0,
            window: (!plain && rng.below(4) == 0).then(|| 1 + rng.below(20)),
            dropout: (!plain && rng.below(3) == 0).then(|| Dropout { keep_bits: 0.8f32.to_bits() }),
            has_bias: bias.is_some(),
            positions: Positions::Same,
        },
        tf32: false,
        pages: None,
        q,
        k,
        v,
        out,
        bias,
        q_buffer,
        k_buffer,
        v_buffer,
        out_buffer,
    };
    let mut memory: Vec<Memory> = [q_buffer, k_buffer, v_buffer].map(|len| Memory::new(dtype, len)).into();
    memory.push(bias.map_or(Memory::new(DType::F32, 1), |(_, arg)| Memory::new(arg.dtype, arg.len)));
    memory.push(Memory::new(dtype, out_buffer));
    memory.push(Memory::new(dtype.compute(), s.batch * s.heads * s.q_len));
    memory.extend([dout_buffer, dq_buffer, dk_buffer, dv_buffer].map(|len| Memory::new(dtype, len)));
    for arg in [0, 1, 2, 3, 6] {
        for i in 0..memory[arg].len() {
            let value = rng.below(2001) as f64 / 1000.0 - 1.0;
            let dtype = memory[arg].dtype;
            memory[arg].set(i, Literal::float(dtype, value));
        }
    }
    let kv_len = if plain || rng.below(3) > 0 { s.k_len } else { rng.below(s.k_len + 1) };
    let q_offset = if plain || rng.below(2) == 0 { s.k_len as i64 - s.q_len as i64 } else { rng.below(9) as i64 - 4 };
    let mut scalars = vec![kv_len as u64, q_offset as u64];
    if forward.spec.dropout.is_some() {
        scalars.extend([SEED, PHILOX_OFFSET]);
    }
    Setup {
        grad: AttentionGrad { forward, dout, dout_buffer, dq, dk, dv, grad_buffers: [dq_buffer, dk_buffer, dv_buffer] },
        memory,
        scalars,
        positions: None,
    }
}

/// Every sequence gets a length and an offset of its own, among them none, one, all and what surrounds a page; with `page`, keys and values are
/// in pages of that size, in any order, and what lies behind a length names a page that does not exist.
fn differ(rng: &mut Rng, s: &mut Setup, page: Option<usize>) {
    let forward = &mut s.grad.forward;
    forward.spec.positions = if page.is_some() { Positions::Paged } else { Positions::Each };
    let per_sequence = page.map_or(0, |size| forward.k_len.div_ceil(size));
    if let Some(size) = page {
        assert!(forward.bias.is_none(), "the bias would not fit");
        forward.k_len = per_sequence * size;
        let count = forward.batch * per_sequence + 1;
        forward.pages = Some(Pages { count, size });
        let dims = |features| [count, forward.kv_heads, size, features];
        (forward.k, forward.k_buffer) = layout(rng, dims(forward.qk_dim));
        (forward.v, forward.v_buffer) = layout(rng, dims(forward.v_dim));
        for (arg, len) in [(1, forward.k_buffer), (2, forward.v_buffer)] {
            s.memory[arg] = Memory::new(forward.dtype, len);
            (0..len).for_each(|i| s.memory[arg].set(i, Literal::float(forward.dtype, rng.below(2001) as f64 / 1000.0 - 1.0)));
        }
    }
    let mut table = Vec::new();
    let step = page.unwrap_or(7);
    for b in 0..forward.batch {
        let all = forward.k_len;
        let length = [0, 1, step - 1, step, step + 1, all - 1, all, rng.below(all + 1)][(b + rng.below(3)) % 8].min(all);
        table.extend([length as i64, if rng.below(2) == 0 { length as i64 - forward.q_len as i64 } else { rng.below(9) as i64 - 4 }]);
        let page_of =
            |n: usize| if n * step < length { ((b * per_sequence + n) * 3 + 1) % (forward.batch * per_sequence + 1) } else { 1 << 30 };
        table.extend((0..per_sequence).map(|n| page_of(n) as i64));
    }
    let mut positions = Memory::new(DType::I32, table.len());
    table.iter().enumerate().for_each(|(i, at)| positions.set(i, Literal::int(DType::I32, *at)));
    s.scalars.drain(..2);
    s.positions = Some(positions);
}

#[test]
fn sequences_of_different_lengths_match_the_definition() {
    let mut rng = Rng(33);
    for round in 0..160 {
        let kv_heads = 1 + rng.below(2);
        let sizes = Sizes {
            batch: 1 + rng.below(9),
            heads: kv_heads * (1 + rng.below(3)),
            kv_heads,
            q_len: [1, 2, 3, 4, 5, 33][rng.below(6)],
            k_len: [1, 14, 40, 70, 530][rng.below(5)],
            qk_dim: [1, 8, 33][rng.below(3)],
            v_dim: [1, 16, 35][rng.below(3)],
        };
        let dtype = [DType::F32, DType::F64, DType::F16, DType::BF16][rng.below(4)];
        let mut s = setup(&mut rng, &sizes, dtype, false);
        let page = (s.attention().bias.is_none() && round % 2 == 0).then(|| [1, 4, 16, 17][rng.below(4)]);
        differ(&mut rng, &mut s, page);
        for tier in tiers() {
            let what = format!("round {round} {tier:?} {:?}", s.attention());
            s.forward(tier, 2);
            s.check_forward(&what);
            if page.is_none() {
                s.backward(tier, 2);
                s.check_backward(&what);
            }
        }
    }
}

#[test]
fn random_attention_matches_the_definition() {
    let mut rng = Rng(21);
    let pick = |rng: &mut Rng, from: &[usize]| from[rng.below(from.len())];
    for round in 0..120 {
        let kv_heads = pick(&mut rng, &[1, 2, 3]);
        let sizes = Sizes {
            batch: pick(&mut rng, &[1, 2]),
            heads: kv_heads * pick(&mut rng, &[1, 2]),
            kv_heads,
            q_len: pick(&mut rng, &[1, 2, 5, 33, 70]),
            k_len: pick(&mut rng, &[1, 3, 14, 40, 150]),
            qk_dim: pick(&mut rng, &[1, 8, 33]),
            v_dim: pick(&mut rng, &[1, 16, 35]),
        };
        let dtype = [DType::F32, DType::F64, DType::F16, DType::BF16][rng.below(4)];
        let mut s = setup(&mut rng, &sizes, dtype, false);
        for tier in tiers() {
            let what = format!("round {round} {tier:?} {:?} {:?}", s.attention(), s.scalars);
            s.forward(tier, 2);
            s.check_forward(&what);
            s.backward(tier, 2);
            s.check_backward(&what);
        }
    }
}

#[test]
fn threads_do_not_change_bits() {
    let mut rng = Rng(4);
    for (batch, heads, q_len, k_len) in [(1, 1, 300, 1200), (2, 3, 130, 130), (1, 4, 1, 3000)] {
        let sizes = Sizes { batch, heads, kv_heads: 1, q_len, k_len, qk_dim: 16, v_dim: 24 };
        let mut s = setup(&mut rng, &sizes, DType::F32, true);
        let mut seen: Option<Vec<Vec<u64>>> = None;
        for threads in [1, 2, 3, 7] {
            s.forward(tier(), threads);
            s.backward(tier(), threads);
            let bits = |m: &Memory| (0..m.len()).map(|i| m.get(i).to_raw()).collect::<Vec<_>>();
            let all: Vec<Vec<u64>> = [4, 5, 7, 8, 9].map(|i| bits(&s.memory[i])).into();
            assert!(seen.is_none_or(|seen| seen == all), "{threads} threads differ");
            seen = Some(all);
        }
        s.check_forward("large");
        s.check_backward("large");
    }
}

#[test]
fn gradients_match_finite_differences() {
    let mut rng = Rng(8);
    let sizes = Sizes { batch: 1, heads: 2, kv_heads: 1, q_len: 6, k_len: 7, qk_dim: 5, v_dim: 3 };
    for _ in 0..6 {
        let mut s = setup(&mut rng, &sizes, DType::F64, false);
        s.forward(tier(), 1);
        s.backward(tier(), 1);
        let loss = |s: &mut Setup| {
            s.forward(tier(), 1);
            let mut sum = 0.0;
            for h in 0..2 {
                for i in 0..6 {
                    for f in 0..3 {
                        sum += s.get(4, [0, h, i, f]) * s.get(6, [0, h, i, f]);
                    }
                }
            }
            sum
        };
        for (input, gradient, n_heads, len, dim) in [(0, 7, 2, 6, 5), (1, 8, 1, 7, 5), (2, 9, 1, 7, 3)] {
            for _ in 0..10 {
                let i = [0, rng.below(n_heads), rng.below(len), rng.below(dim)];
                let place = at(&s.layouts()[input], i);
                let x = s.memory[input].get(place).as_f64();
                let step = 1e-5;
                s.memory[input].set(place, Literal::float(DType::F64, x + step));
                let above = loss(&mut s);
                s.memory[input].set(place, Literal::float(DType::F64, x - step));
                let below = loss(&mut s);
                s.memory[input].set(place, Literal::float(DType::F64, x));
                let (want, got) = ((above - below) / (2.0 * step), s.get(gradient, i));
                assert!((want - got).abs() < 1e-7, "argument {input} at {i:?}: {got} not {want}\n{:?}", s.attention());
            }
        }
    }
}

/// `cargo test --release -p unigrad-cpu attention::tests::speed -- --ignored --nocapture`, with `ONLY="k 64"` for some of them.
#[test]
#[ignore = "a measurement"]
fn speed() {
    let mut rng = Rng(1);
    let only = std::env::var("ONLY").unwrap_or_default();
    for (batch, heads, kv_heads, q_len, k_len, dim, dtype, causal) in [
        // A GPT of 64 and of 256 wide.
        (16, 4, 4, 64, 64, 16, DType::F32, true),
        (16, 4, 4, 64, 64, 16, DType::F32, false),
        (16, 4, 4, 64, 64, 64, DType::F32, true),
        (16, 4, 4, 64, 64, 64, DType::F32, false),
        (16, 4, 4, 64, 64, 64, DType::BF16, true),
        (8, 6, 6, 256, 256, 64, DType::F32, true),
        (8, 6, 6, 256, 256, 64, DType::BF16, true),
        (1, 8, 8, 2048, 2048, 64, DType::F32, true),
        (1, 32, 8, 1, 4096, 128, DType::F32, true),
        (1, 32, 8, 1, 4096, 128, DType::BF16, true),
    ] {
        let causality = if causal { "causal" } else { "all" };
        let name = format!("{batch}x{heads}/{kv_heads} q {q_len} k {k_len} d {dim} {dtype} {causality}");
        if !name.contains(&only) {
            continue;
        }
        let sizes = Sizes { batch, heads, kv_heads, q_len, k_len, qk_dim: dim, v_dim: dim };
        let mut s = setup(&mut rng, &sizes, dtype, true);
        s.grad.forward.spec.causal = causal;
        for threads in [1, crate::threads::threads()] {
            let mut times = [0.0; 2];
            for (backward, time) in times.iter_mut().enumerate() {
                let (mut best, mut runs, cpu) = (f64::MAX, 0, thread_seconds());
                let start = std::time::Instant::now();
                while start.elapsed().as_millis() < 300 {
                    let now = std::time::Instant::now();
                    if backward == 1 {
                        s.backward(tier(), threads)
                    } else {
                        s.forward(tier(), threads)
                    }
                    best = best.min(now.elapsed().as_secs_f64());
                    runs += 1;
                }
                if threads == 1 && cpu > 0.0 {
                    best = best.min((thread_seconds() - cpu) / f64::from(runs));
                }
                *time = best * 1e6;
            }
            let kv = 2 * batch * kv_heads * k_len * dim * dtype.size();
            println!(
                "{name} {threads} threads: forward {:.1} us ({:.1} GB/s of keys and values), backward {:.1} us",
                times[0],
                kv as f64 / times[0] / 1e3,
                times[1],
            );
        }
    }
}
