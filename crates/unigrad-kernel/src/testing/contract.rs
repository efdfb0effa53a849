//! Random contractions and a naive oracle.
//!
//! Always: values are small integers, so that sums are exact in every float dtype, and every order of adding gives the same.

use super::{Memory, Rng};
use crate::{Arg, BatchDim, Contract, Index, Inst, InstOp, KDim, MDim, NDim, Region, Value};
use smallvec::smallvec;
use unigrad_scalar::{BinaryOp, DType, Literal};

/// All points of a list of dimensions, in order.
pub fn points(sizes: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for &size in sizes {
        all = all.iter().flat_map(|p| (0..size).map(move |i| [p.clone(), vec![i]].concat())).collect();
    }
    all
}

/// Offset and strides of a tensor with these sizes, and the elements it lies in: a random permutation, padded, flipped or broadcast here
/// and there; an output's points lie apart.
pub fn layout(rng: &mut Rng, sizes: &[usize], output: bool) -> (i64, Vec<i64>, usize) {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    if rng.below(3) > 0 {
        for i in (1..order.len()).rev() {
            order.swap(i, rng.below(i + 1));
        }
    }
    let mut strides = vec![0i64; sizes.len()];
    let mut next = if rng.below(5) == 0 { 2 } else { 1 };
    for &i in order.iter().rev() {
        strides[i] = next;
        next *= sizes[i].max(1) as i64;
        if rng.below(6) == 0 {
            next += 3;
        }
        if !output && rng.below(12) == 0 {
            strides[i] = 0;
        } else if !output && rng.below(12) == 0 {
            // Overlapping windows, as a convolution has them.
            strides[i] = 1;
        }
    }
    let mut offset = 0;
    for i in 0..sizes.len() {
        if !output && rng.below(8) == 0 {
            offset += strides[i] * (sizes[i].max(1) as i64 - 1);
            strides[i] = -strides[i];
        }
    }
    (offset, strides, next as usize + 1)
}

/// A contraction and its arguments `a`, `b` and `c`.
#[derive(Debug)]
pub struct Case {
    /// The kernel.
    pub contract: Contract,
    /// What it reads, then what it writes.
    pub args: Vec<Memory>,
}

/// A contraction of random layouts and values, with these sizes (batch, m, n, k) and dtypes (a, b, c).
pub fn case(rng: &mut Rng, sizes: [&[usize]; 4], dtypes: [DType; 3]) -> Case {
    let [batch, m, n, k] = sizes;
    let (a_offset, sa, la) = layout(rng, &[batch, m, k].concat(), false);
    let (b_offset, sb, lb) = layout(rng, &[batch, k, n].concat(), false);
    let (_, sc, lc) = layout(rng, &[batch, m, n].concat(), true);
    let (nb, nm, nk) = (batch.len(), m.len(), k.len());
    let mut args = vec![Memory::new(dtypes[0], la), Memory::new(dtypes[1], lb), Memory::new(dtypes[2], lc)];
    args[..2].iter_mut().for_each(|memory| memory.fill(rng));
    let arg = |i: usize, write| Arg { dtype: args[i].dtype, len: args[i].len(), write };
    let contract = Contract {
        batch: (0..nb).map(|i| BatchDim { size: batch[i], a: sa[i], b: sb[i], c: sc[i] }).collect(),
        m: (0..nm).map(|i| MDim { size: m[i], a: sa[nb + i], c: sc[nb + i] }).collect(),
        n: (0..n.len()).map(|i| NDim { size: n[i], b: sb[nb + nk + i], c: sc[nb + nm + i] }).collect(),
        k: (0..nk).map(|i| KDim { size: k[i], a: sa[nb + nm + i], b: sb[nb + i] }).collect(),
        a_offset,
        b_offset,
        a: arg(0, false),
        b: arg(1, false),
        c: arg(2, true),
        tf32: false,
        epilogue: None,
        prologues: [None, None],
    };
    Case { contract, args }
}

/// Takes operands out of memory: what is there now is an operand's elements less a number for each row of it, in another dtype, and a prologue
/// adds the row's number and casts. Each operand with a chance of three in four; one at least, if dtypes let it.
pub fn with_prologues(rng: &mut Rng, case: &mut Case) {
    let first = rng.below(2);
    let mut others = [None, None];
    for side in [first, 1 - first] {
        let operand = &case.args[side];
        let (dtype, len) = (operand.dtype, operand.len());
        if dtype == DType::Bool || side != first && rng.below(4) == 0 {
            continue;
        }
        let stored = match dtype {
            DType::F64 => DType::F64,
            dtype if dtype.is_float() => DType::F32,
            dtype if dtype.size() == 8 => DType::I64,
            _ => DType::I32,
        };
        let divisors: Vec<usize> = (1..=len).filter(|n| len.is_multiple_of(*n)).collect();
        let inner = rng.pick(&divisors);
        let (mut left, mut added) = (Memory::new(stored, len), Memory::new(stored, len / inner));
        (0..added.len()).for_each(|row| added.set(row, Literal::int(stored, rng.below(5) as i64 - 2)));
        for i in 0..len {
            let value = operand.get(i).as_i64() - added.get(i / inner).as_i64();
            left.set(i, Literal::int(stored, value));
        }
        let inst = |op, dtype| Inst { op, dtype };
        let at = |strides: [i64; 2]| Index { offset: 0, strides: smallvec![strides[0], strides[1]], dynamic: smallvec![] };
        let whole = || at([inner as i64, 1]);
        let region = Region {
            name: "row_added".into(),
            axes: smallvec![len / inner, inner],
            n_parallel: 2,
            args: vec![
                Arg { dtype: stored, len, write: false },
                Arg { dtype: stored, len: len / inner, write: false },
                Arg { dtype, len, write: true },
            ],
            scalars: Vec::new(),
            insts: vec![
                inst(InstOp::Load { arg: 0, index: whole(), mask: None }, stored),
                inst(InstOp::Load { arg: 1, index: at([1, 0]), mask: None }, stored),
                inst(InstOp::Binary(BinaryOp::Add, Value(0), Value(1)), stored),
                inst(InstOp::Cast(Value(2)), dtype),
                inst(InstOp::Store { arg: 2, index: whole(), value: Value(3) }, dtype),
            ],
        };
        case.contract.prologues[side] = Some(Box::new(region));
        case.args[side] = left;
        others[side] = Some(added);
    }
    case.args.extend(others.into_iter().flatten());
}

/// The sum at every point of a contraction, in order, with its index in `c`.
pub fn oracle(c: &Contract, a: &Memory, b: &Memory) -> Vec<(usize, Literal)> {
    let dot = |p: &[usize], stride: &dyn Fn(usize) -> i64| p.iter().enumerate().map(|(d, i)| *i as i64 * stride(d)).sum::<i64>();
    let [batch, ms, ns, ks] = [
        points(&c.batch.iter().map(|d| d.size).collect::<Vec<_>>()),
        points(&c.m.iter().map(|d| d.size).collect::<Vec<_>>()),
        points(&c.n.iter().map(|d| d.size).collect::<Vec<_>>()),
        points(&c.k.iter().map(|d| d.size).collect::<Vec<_>>()),
    ];
    let float = [a.dtype, b.dtype, c.c.dtype].iter().any(|d| d.is_float());
    let of_k: Vec<[i64; 2]> = ks.iter().map(|pk| [dot(pk, &|d| c.k[d].a), dot(pk, &|d| c.k[d].b)]).collect();
    let mut out = Vec::new();
    for pb in &batch {
        for pm in &ms {
            for pn in &ns {
                let am = c.a_offset + dot(pb, &|d| c.batch[d].a) + dot(pm, &|d| c.m[d].a);
                let bn = c.b_offset + dot(pb, &|d| c.batch[d].b) + dot(pn, &|d| c.n[d].b);
                let at = dot(pb, &|d| c.batch[d].c) + dot(pm, &|d| c.m[d].c) + dot(pn, &|d| c.n[d].c);
                let (mut sum, mut whole) = (0.0, 0i64);
                for [ak, bk] in &of_k {
                    let (x, y) = (a.get((am + ak) as usize), b.get((bn + bk) as usize));
                    if float {
                        sum += x.as_f64() * y.as_f64();
                    } else {
                        whole = whole.wrapping_add(x.as_i64().wrapping_mul(y.as_i64()));
                    }
                }
                let value = if float { Literal::float(c.c.dtype, sum) } else { Literal::int(c.c.dtype, whole) };
                out.push((at as usize, value));
            }
        }
    }
    out
}

/// The first element of an output, all `untouched` before, that is not as wanted, or was not to be written.
pub fn first_difference(got: &Memory, want: &[(usize, Literal)], untouched: Literal) -> Option<String> {
    let mut touched = vec![false; got.len()];
    for (at, value) in want {
        touched[*at] = true;
        if got.get(*at).as_f64() != value.as_f64() {
            return Some(format!("element {at} is {:?}, not {value:?}", got.get(*at)));
        }
    }
    let beyond = (0..got.len()).find(|at| !touched[*at] && got.get(*at).as_f64() != untouched.as_f64());
    beyond.map(|at| format!("element {at} is no point of the output and was written"))
}
