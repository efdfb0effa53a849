//! `(a b)ᵀ = bᵀ aᵀ`: a product that is only read transposed is computed transposed, so that it lies where it is wanted. A weight's
//! gradient is this case, and the optimizer's update can then be the product's epilogue.
//!
//! In: the compiler's graph. Out: the same values. Never: computes a product twice.

use crate::ir::{Id, Ir, IrNode, IrOp};
use smallvec::SmallVec;
use unigrad_graph::Op;

/// Rewrites every transpose of a product that has no other reader; `outputs` follow.
pub(crate) fn rewrite(ir: Ir, outputs: &mut [Id]) -> Ir {
    let users = ir.users();
    let mut is_output = vec![false; ir.nodes.len()];
    outputs.iter().for_each(|id| is_output[*id as usize] = true);
    let is_candidate = |node: &IrNode| {
        let IrOp::Op(Op::Permute(perm)) = &node.op else { return false };
        let product = node.inputs[0];
        swaps_last(perm)
            && ir.node(product).op == IrOp::Op(Op::MatMul)
            && users[product as usize].len() == 1
            && !is_output[product as usize]
    };
    if !ir.nodes.iter().any(is_candidate) {
        return ir;
    }
    let mut out = Ir::default();
    let mut renamed: Vec<Id> = Vec::with_capacity(ir.nodes.len());
    for node in &ir.nodes {
        let id = if is_candidate(node) {
            let operands = &ir.node(node.inputs[0]).inputs;
            let turned = operands.iter().rev().map(|operand| transposed(&mut out, renamed[*operand as usize])).collect();
            out.add(IrNode { op: IrOp::Op(Op::MatMul), inputs: turned, ..node.clone() })
        } else {
            let inputs = node.inputs.iter().map(|input| renamed[*input as usize]).collect();
            out.add(IrNode { inputs, ..node.clone() })
        };
        renamed.push(id);
    }
    outputs.iter_mut().for_each(|id| *id = renamed[*id as usize]);
    out
}

fn swaps_last(perm: &[u8]) -> bool {
    let rank = perm.len();
    rank >= 2 && perm[..rank - 2].iter().enumerate().all(|(i, p)| usize::from(*p) == i) && usize::from(perm[rank - 2]) == rank - 1
}

fn transposed(ir: &mut Ir, id: Id) -> Id {
    let node = ir.node(id).clone();
    let rank = node.shape.len();
    let mut perm: SmallVec<[u8; 8]> = (0..rank as u8).collect();
    perm.swap(rank - 2, rank - 1);
    if node.op == IrOp::Op(Op::Permute(perm.clone())) {
        return node.inputs[0];
    }
    let mut shape = node.shape.clone();
    shape.swap(rank - 2, rank - 1);
    ir.add(IrNode { op: IrOp::Op(Op::Permute(perm)), inputs: SmallVec::from_slice(&[id]), shape, ..node })
}
