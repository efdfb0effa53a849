//! Long sums that gradients make, in a form that is cheap to compute.
//!
//! In: the compiler's graph. Out: the same values. A sum over time steps arrives as a chain of additions, of
//! - zero-padded pieces that do not overlap (the gradients of slices): written side by side, a concatenation;
//! - small matrix products (the gradient of a weight used at every step): one product of the concatenated operands, since
//!   `Σ aᵢ bᵢ = [a₁ a₂ …] [b₁; b₂; …]`.
//!   Where the steps give one of the operands as a sequence too, the products are added in its order, and the sequence is the operand.
//!
//! Always: equal but for the order of additions. Never: touches a product or piece that something else reads.

use crate::ir::{Id, Ir, IrNode, IrOp};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use unigrad_graph::{BinaryOp, Literal, Op, PadAxis};

/// Fewer products than this are added by their epilogues.
const MIN_PRODUCTS: usize = 4;
/// Longer inner dimensions are worth a product of their own: the gradient of an LSTM's 256 x 1,024 weights takes an H200 some 8 microseconds for each step of 512 rows, and
/// all 64 steps at once 0.1 milliseconds.
const MAX_INNER: usize = 1024;

/// Rewrites every such sum; `outputs` follow.
pub(crate) fn rewrite(ir: Ir, outputs: &mut [Id]) -> Ir {
    let users = ir.users();
    let mut is_output = vec![false; ir.nodes.len()];
    outputs.iter().for_each(|id| is_output[*id as usize] = true);
    let is_single = singles(&ir, &is_output);
    let is_sum = |id: Id| ir.node(id).op == IrOp::Op(Op::Binary(BinaryOp::Add)) && ir.node(id).dtype.is_float();
    // Once: a sum that another one adds to itself would be followed twice, and `n` such doublings `2^n` times.
    let inner_sum = |id: Id| is_sum(id) && is_single[id as usize] && is_sum(users[id as usize][0]);
    let tops: Vec<Id> = (0..ir.nodes.len() as Id).filter(|id| is_sum(*id) && !inner_sum(*id)).collect();
    let mut terms_of: Vec<(Id, Vec<Id>)> = Vec::new();
    for top in tops {
        let mut terms = Vec::new();
        let mut stack: Vec<Id> = ir.node(top).inputs.iter().rev().copied().collect();
        while let Some(id) = stack.pop() {
            if inner_sum(id) { stack.extend(ir.node(id).inputs.iter().rev()) } else { terms.push(id) }
        }
        let products = terms.iter().filter(|id| is_single[**id as usize] && is_small_product(&ir, **id)).count();
        let pieces = terms.iter().filter(|id| is_single[**id as usize] && piece(&ir, **id).is_some()).count();
        if products >= MIN_PRODUCTS || pieces >= 2 {
            terms_of.push((top, terms));
        }
    }
    if terms_of.is_empty() {
        return ir;
    }
    let sequences = sequences(&ir);
    let mut out = Ir::default();
    let mut renamed: Vec<Id> = Vec::with_capacity(ir.nodes.len());
    let mut tops = terms_of.into_iter().peekable();
    for (id, node) in ir.nodes.iter().enumerate() {
        let new = if let Some((_, terms)) = tops.next_if(|(top, _)| *top == id as Id) {
            Sum { old: &ir, is_single: &is_single, sequences: &sequences, renamed: &renamed, out: &mut out }.rewrite(node, &terms)
        } else {
            let inputs = node.inputs.iter().map(|input| renamed[*input as usize]).collect();
            out.add(IrNode { inputs, ..node.clone() })
        };
        renamed.push(new);
    }
    outputs.iter_mut().for_each(|id| *id = renamed[*id as usize]);
    out
}

/// Which nodes are no outputs, and an input of one node, once.
fn singles(ir: &Ir, is_output: &[bool]) -> Vec<bool> {
    let mut uses = vec![0_u32; ir.nodes.len()];
    ir.nodes.iter().flat_map(|node| &node.inputs).for_each(|input| uses[*input as usize] += 1);
    uses.iter().zip(is_output).map(|(uses, is_output)| *uses == 1 && !is_output).collect()
}

fn is_small_product(ir: &Ir, id: Id) -> bool {
    let node = ir.node(id);
    node.op == IrOp::Op(Op::MatMul) && ir.node(node.inputs[0]).shape.last().is_some_and(|k| *k <= MAX_INNER)
}

/// The axis, begin and content of a zero-padded piece.
fn piece(ir: &Ir, id: Id) -> Option<(usize, usize, Id)> {
    let node = ir.node(id);
    let IrOp::Op(Op::Pad(axes, fill)) = &node.op else { return None };
    let mut padded = axes.iter().enumerate().filter(|(_, axis)| **axis != PadAxis::default());
    let (axis, pad) = padded.next()?;
    let simple = padded.next().is_none() && pad.interior == 0 && *fill == Literal::zero(fill.dtype());
    simple.then_some((axis, pad.lo, node.inputs[0]))
}

/// What stands in a sequence, as [`crate::unroll`] makes them: by element, the sequence and the element's place.
fn sequences(ir: &Ir) -> FxHashMap<Id, (Id, usize)> {
    let mut of = FxHashMap::default();
    for (id, node) in ir.nodes.iter().enumerate().filter(|(_, node)| node.op == IrOp::Op(Op::Concat { axis: 0 })) {
        for (place, input) in node.inputs.iter().enumerate() {
            let row = ir.node(*input);
            if row.op == IrOp::Op(Op::Reshape) && row.shape.first() == Some(&1) && row.shape[1..] == ir.node(row.inputs[0]).shape[..] {
                of.insert(row.inputs[0], (id as Id, place));
            }
        }
    }
    of
}

struct Sum<'a> {
    old: &'a Ir,
    is_single: &'a [bool],
    sequences: &'a FxHashMap<Id, (Id, usize)>,
    renamed: &'a [Id],
    out: &'a mut Ir,
}

impl Sum<'_> {
    fn rewrite(mut self, node: &IrNode, terms: &[Id]) -> Id {
        let single = |id: &Id| self.is_single[*id as usize];
        let mut products: Vec<Id> = Vec::new();
        let mut pieces: Vec<(usize, usize, Id, Id)> = Vec::new();
        let mut rest: Vec<Id> = Vec::new();
        for term in terms {
            match piece(self.old, *term).filter(|_| single(term)) {
                Some((axis, begin, content)) if pieces.first().is_none_or(|p| p.0 == axis) => pieces.push((axis, begin, content, *term)),
                _ if single(term) && is_small_product(self.old, *term) => products.push(*term),
                _ => rest.push(*term),
            }
        }
        pieces.sort_by_key(|(_, begin, ..)| *begin);
        let len = |p: &(usize, usize, Id, Id)| self.old.node(p.2).shape[p.0];
        let overlap = pieces.windows(2).any(|pair| pair[0].1 + len(&pair[0]) > pair[1].1);
        if overlap || pieces.len() < 2 {
            rest.extend(pieces.drain(..).map(|p| p.3));
        }
        if products.len() < MIN_PRODUCTS {
            rest.append(&mut products);
        }
        let mut parts: Vec<Id> = rest.iter().map(|id| self.renamed[*id as usize]).collect();
        if !pieces.is_empty() {
            parts.push(self.side_by_side(node, &pieces));
        }
        if !products.is_empty() {
            parts.push(self.one_product(node, &products));
        }
        let mut sum = parts[0];
        for part in &parts[1..] {
            let inputs = SmallVec::from_slice(&[sum, *part]);
            sum = self.out.add(IrNode { op: IrOp::Op(Op::Binary(BinaryOp::Add)), inputs, ..node.clone() });
        }
        sum
    }

    fn side_by_side(&mut self, node: &IrNode, pieces: &[(usize, usize, Id, Id)]) -> Id {
        let axis = pieces[0].0;
        let mut parts: Vec<Id> = Vec::new();
        let mut at = 0;
        let ends = pieces.iter().map(|(_, begin, content, _)| (*begin, Some(*content))).chain([(node.shape[axis], None)]);
        for (begin, content) in ends {
            if begin > at {
                let mut shape = node.shape.clone();
                shape[axis] = begin - at;
                let zero = IrOp::Op(Op::Const(Literal::zero(node.dtype)));
                parts.push(self.out.add(IrNode { op: zero, inputs: SmallVec::new(), shape, ..node.clone() }));
            }
            let Some(content) = content else { break };
            parts.push(self.renamed[content as usize]);
            at = begin + self.old.node(content).shape[axis];
        }
        self.concat(parts, axis)
    }

    fn one_product(&mut self, node: &IrNode, products: &[Id]) -> Id {
        let rank = node.shape.len();
        let products = self.in_order(products);
        let operands = |i: usize| products.iter().map(|id| self.renamed[self.old.node(*id).inputs[i] as usize]).collect::<Vec<Id>>();
        let (left, right) = (operands(0), operands(1));
        let left = self.concat_below_permute(left, rank - 1);
        let right = self.concat_below_permute(right, rank - 2);
        self.out.add(IrNode { op: IrOp::Op(Op::MatMul), inputs: SmallVec::from_slice(&[left, right]), ..node.clone() })
    }

    /// The products in the order of a sequence that is one of their operands.
    fn in_order(&self, products: &[Id]) -> Vec<Id> {
        let below = |id: Id| {
            let node = self.old.node(id);
            if matches!(node.op, IrOp::Op(Op::Permute(_))) { node.inputs[0] } else { id }
        };
        let place = |i: usize, product: &Id| self.sequences.get(&below(self.old.node(*product).inputs[i])).copied();
        for i in 0..2 {
            let places: Option<Vec<(Id, usize)>> = products.iter().map(|product| place(i, product)).collect();
            let Some(places) = places.filter(|places| places.iter().all(|(sequence, _)| *sequence == places[0].0)) else { continue };
            let mut ordered: Vec<(usize, Id)> = places.iter().map(|(_, place)| *place).zip(products.iter().copied()).collect();
            ordered.sort_unstable();
            return ordered.into_iter().map(|(_, product)| product).collect();
        }
        products.to_vec()
    }

    /// Parts along an axis; along the first one as a sequence of them would be: if there is one, it is the same.
    fn stack(&mut self, parts: Vec<Id>, axis: usize) -> Id {
        let first = self.out.node(parts[0]).clone();
        if axis != 0 || parts.iter().any(|id| self.out.node(*id).shape != first.shape) {
            return self.concat(parts, axis);
        }
        let mut rows = Vec::with_capacity(parts.len());
        for part in &parts {
            let node = self.out.node(*part).clone();
            let shape = std::iter::once(1).chain(node.shape.iter().copied()).collect();
            rows.push(self.out.add(IrNode { op: IrOp::Op(Op::Reshape), inputs: SmallVec::from_slice(&[*part]), shape, ..node }));
        }
        let sequence = self.concat(rows, 0);
        let mut shape = first.shape.clone();
        shape[0] *= parts.len();
        self.out.add(IrNode { op: IrOp::Op(Op::Reshape), inputs: SmallVec::from_slice(&[sequence]), shape, ..first })
    }

    /// Permuted parts are joined before they are permuted, where they are contiguous.
    fn concat_below_permute(&mut self, parts: Vec<Id>, axis: usize) -> Id {
        let IrOp::Op(Op::Permute(perm)) = self.out.node(parts[0]).op.clone() else { return self.stack(parts, axis) };
        let same = |id: &Id| self.out.node(*id).op == IrOp::Op(Op::Permute(perm.clone()));
        if !parts.iter().all(same) {
            return self.stack(parts, axis);
        }
        let below = parts.iter().map(|id| self.out.node(*id).inputs[0]).collect();
        let joined = self.stack(below, usize::from(perm[axis]));
        let node = self.out.node(joined).clone();
        let shape = perm.iter().map(|p| node.shape[usize::from(*p)]).collect();
        self.out.add(IrNode { op: IrOp::Op(Op::Permute(perm)), inputs: SmallVec::from_slice(&[joined]), shape, ..node })
    }

    fn concat(&mut self, parts: Vec<Id>, axis: usize) -> Id {
        if let [only] = parts.as_slice() {
            return *only;
        }
        let first = self.out.node(parts[0]).clone();
        let mut shape = first.shape.clone();
        shape[axis] = parts.iter().map(|id| self.out.node(*id).shape[axis]).sum();
        self.out.add(IrNode { op: IrOp::Op(Op::Concat { axis }), inputs: SmallVec::from_vec(parts), shape, ..first })
    }
}
