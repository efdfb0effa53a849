//! Attention by its formula, with the scores in full, and its gradients by the chain rule.

use super::index::philox;
use crate::Values;
use unigrad_graph::{AttentionSpec, DType, Positions};

/// Everything an attention is, by name.
struct Problem<'a> {
    spec: &'a AttentionSpec,
    q: &'a Values,
    k: &'a Values,
    v: &'a Values,
    bias: Option<&'a Values>,
    /// Length and offset of every sequence.
    positions: Vec<(i64, i64)>,
    /// The pages of every sequence, if there are any.
    pages: Option<Vec<Vec<usize>>>,
    random: Option<(u64, u64)>,
    rest: Vec<&'a Values>,
}

/// One query's view of the keys.
struct Row {
    /// Probabilities, and what dropout multiplies each of them by.
    p: Vec<f64>,
    keep: Vec<f64>,
    lse: f64,
}

impl<'a> Problem<'a> {
    fn new(spec: &'a AttentionSpec, inputs: &[&'a Values]) -> Result<Problem<'a>, String> {
        let mut rest = inputs.iter().copied();
        let mut next = || rest.next().ok_or("an attention input is missing");
        let (q, k, v) = (next()?, next()?, next()?);
        let bias = if spec.has_bias { Some(next()?) } else { None };
        let batch = q.shape[0];
        let (mut positions, mut pages) = (Vec::new(), None);
        if spec.positions.is_tensor() {
            let table = next()?;
            let row = |b: usize| (0..table.shape[1]).map(move |c| table.as_i64(b * table.shape[1] + c));
            positions.extend((0..batch).map(|b| (table.as_i64(b * table.shape[1]), table.as_i64(b * table.shape[1] + 1))));
            if spec.positions == Positions::Paged {
                pages = Some((0..batch).map(|b| row(b).skip(Positions::COLUMNS).map(|page| page as usize).collect()).collect());
            }
        } else {
            let same = (next()?.as_i64(0), next()?.as_i64(0));
            positions.resize(batch, same);
        }
        let random = if spec.dropout.is_some() { Some((next()?.as_i64(0) as u64, next()?.as_i64(0) as u64)) } else { None };
        Ok(Problem { spec, q, k, v, bias, positions, pages, random, rest: rest.collect() })
    }

    /// Batch, heads, queries, keys, features of a query, features of a value, query heads per key head.
    fn sizes(&self) -> [usize; 7] {
        let (q, k) = (&self.q.shape, &self.k.shape);
        let keys = self.pages.as_ref().map_or(k[2], |pages| pages.first().map_or(0, Vec::len) * k[2]);
        [q[0], q[1], q[2], keys, q[3], self.v.shape[3], q[1] / k[1].max(1)]
    }

    fn q_at(&self, b: usize, h: usize, i: usize, d: usize) -> usize {
        let [_, heads, n_q, _, dim, _, _] = self.sizes();
        ((b * heads + h) * n_q + i) * dim + d
    }

    /// Of a key or value, whose features are `dim`.
    fn k_at(&self, b: usize, h: usize, j: usize, d: usize, dim: usize) -> usize {
        let [_, _, _, _, _, _, share] = self.sizes();
        let slots = self.k.shape[2];
        let (row, slot) = self.pages.as_ref().map_or((b, j), |pages| (pages[b][j / slots], j % slots));
        ((row * self.k.shape[1] + h / share) * slots + slot) * dim + d
    }

    fn row(&self, b: usize, h: usize, i: usize) -> Row {
        let [_, heads, n_q, n_k, dim, _, _] = self.sizes();
        let scale = f64::from_bits(self.spec.scale_bits);
        let (kv_len, q_offset) = self.positions[b];
        let at = i as i64 + q_offset;
        let score = |j: usize| {
            let key = j as i64;
            let seen = key < kv_len && (!self.spec.causal || key <= at) && self.spec.window.is_none_or(|window| key > at - window as i64);
            if !seen {
                return f64::NEG_INFINITY;
            }
            let dot: f64 = (0..dim).map(|d| self.q.as_f64(self.q_at(b, h, i, d)) * self.k.as_f64(self.k_at(b, h, j, d, dim))).sum();
            scale * dot + self.bias.map_or(0.0, |bias| bias.as_f64(((b * heads + h) * n_q + i) * n_k + j))
        };
        let scores: Vec<f64> = (0..n_k).map(score).collect();
        let greatest = scores.iter().fold(f64::NEG_INFINITY, |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(*b) });
        let keep = match (self.random, self.spec.dropout) {
            (Some((seed, offset)), Some(dropout)) => {
                let keep = f32::from_bits(dropout.keep_bits);
                let kept = |j: usize| {
                    let word = philox((((b * heads + h) * n_q + i) * n_k + j) as u64, offset, seed)[0];
                    if ((word >> 8) as f32) * 2f32.powi(-24) < keep { 1.0 / f64::from(keep) } else { 0.0 }
                };
                (0..n_k).map(kept).collect()
            }
            _ => vec![1.0; n_k],
        };
        if greatest == f64::NEG_INFINITY {
            return Row { p: vec![0.0; n_k], keep, lse: f64::NEG_INFINITY };
        }
        let sum: f64 = scores.iter().map(|score| (score - greatest).exp()).sum();
        Row { p: scores.iter().map(|score| (score - greatest).exp() / sum).collect(), keep, lse: greatest + sum.ln() }
    }
}

pub(super) fn forward(spec: &AttentionSpec, inputs: &[&Values], dtype: DType) -> Result<(Values, Values), String> {
    let problem = Problem::new(spec, inputs)?;
    let [n_b, n_h, n_q, n_k, _, v_dim, _] = problem.sizes();
    let (mut out, mut lse) = (Vec::new(), Vec::new());
    for b in 0..n_b {
        for h in 0..n_h {
            for i in 0..n_q {
                let row = problem.row(b, h, i);
                lse.push(row.lse);
                for d in 0..v_dim {
                    let seen = (0..n_k).filter(|j| row.p[*j] * row.keep[*j] != 0.0);
                    out.push(seen.map(|j| row.p[j] * row.keep[j] * problem.v.as_f64(problem.k_at(b, h, j, d, v_dim))).sum());
                }
            }
        }
    }
    Ok((Values::float(dtype, &[n_b, n_h, n_q, v_dim], out), Values::float(dtype.compute(), &[n_b, n_h, n_q], lse)))
}

pub(super) fn backward(spec: &AttentionSpec, inputs: &[&Values], dtype: DType) -> Result<Vec<Values>, String> {
    let problem = Problem::new(spec, inputs)?;
    let [n_b, n_h, n_q, n_k, dim, v_dim, _] = problem.sizes();
    let scale = f64::from_bits(spec.scale_bits);
    let dout = *problem.rest.get(2).ok_or("the gradient of the output is missing")?;
    let (mut dq, mut dk, mut dv) = (vec![0.0; problem.q.len()], vec![0.0; problem.k.len()], vec![0.0; problem.v.len()]);
    for b in 0..n_b {
        for h in 0..n_h {
            for i in 0..n_q {
                let row = problem.row(b, h, i);
                let dy = |d: usize| dout.as_f64(((b * n_h + h) * n_q + i) * v_dim + d);
                let mut dp = vec![0.0; n_k];
                for j in 0..n_k {
                    if row.p[j] == 0.0 {
                        continue;
                    }
                    for d in 0..v_dim {
                        let at = problem.k_at(b, h, j, d, v_dim);
                        dv[at] += row.p[j] * row.keep[j] * dy(d);
                        dp[j] += row.keep[j] * dy(d) * problem.v.as_f64(at);
                    }
                }
                let mean: f64 = (0..n_k).map(|j| row.p[j] * dp[j]).sum();
                for j in 0..n_k {
                    let ds = scale * row.p[j] * (dp[j] - mean);
                    for d in 0..dim {
                        let (qi, kj) = (problem.q_at(b, h, i, d), problem.k_at(b, h, j, d, dim));
                        dq[qi] += ds * problem.k.as_f64(kj);
                        dk[kj] += ds * problem.q.as_f64(qi);
                    }
                }
            }
        }
    }
    let grad = |like: &Values, data| Values::float(dtype, &like.shape, data);
    Ok(vec![grad(problem.q, dq), grad(problem.k, dk), grad(problem.v, dv)])
}
