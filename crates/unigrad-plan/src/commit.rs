//! Assignments as transactions: what an evaluation assigns keeps its old value where an index that the evaluation checks is out of range.
//!
//! In: the compiler's graph, and the assignments among its outputs. Out: for each, the node to store: the new value, or a choice between it
//! and the old one by a condition over all checked indices; and the indices that the host knows, which are checked before anything runs.
//! Always: the condition is computed from the indices themselves, by kernels like any other, so every backend keeps what it had without
//! being asked and without a wait; nothing is added to a graph that checks no index.
//! Never: changes what else the evaluation computes.

mod readers;

use crate::ir::{Id, Ir, IrNode, IrOp};
use rustc_hash::FxHashSet;
use smallvec::{SmallVec, smallvec};
use unigrad_graph::{BinaryOp, DType, Literal, Op, Origin, ReduceOp, ScatterMode, Shape};

/// An assignment that gets data.
#[derive(Clone, Copy)]
pub(crate) struct Assignment {
    /// The new value, and what keeps its place where `condition` is false.
    pub(crate) value: Id,
    pub(crate) otherwise: Id,
    /// A `Bool` of rank 0.
    pub(crate) condition: Option<Id>,
    /// What was there before the evaluation.
    pub(crate) before: Id,
}

/// A run-time scalar that is an index: it must be in `-size..size` for the plan to run.
#[derive(Clone, Copy, Debug)]
pub struct ScalarCheck {
    /// Which of the capture's scalars.
    pub slot: u32,
    /// Elements of the indexed axis.
    pub size: usize,
    /// Whether negative ones count from the end.
    pub from_end: bool,
    /// Where the user wrote it.
    pub origin: Origin,
}

/// Puts the result of each assignment in its place of `outputs` (`at` has the places, in order), and tells what the host has to check.
pub(crate) fn outputs(ir: &mut Ir, assignments: &[Assignment], at: &[usize], outputs: &mut [Id]) -> Vec<ScalarCheck> {
    let others: Vec<Id> = outputs.iter().enumerate().filter(|(i, _)| at.binary_search(i).is_err()).map(|(_, id)| *id).collect();
    let computed = assignments.iter().flat_map(|a| [Some(a.value), Some(a.otherwise), a.condition]).flatten();
    let mut checks = checks(ir, others.iter().copied().chain(computed));
    let mut on_host = Vec::new();
    checks.retain(|check| {
        let IrNode { op: IrOp::Scalar(slot), origin, .. } = ir.node(check.index) else { return true };
        on_host.push(ScalarCheck { slot: *slot, size: check.size, from_end: check.from_end, origin: *origin });
        false
    });
    let fine = if assignments.is_empty() { None } else { all_in_range(ir, &checks) };
    let results: Vec<Id> = match fine {
        None => assignments.iter().map(|a| seen(ir, a.value, a.otherwise, a.condition)).collect(),
        Some(fine) => {
            let renamed = readers::redirect(ir, assignments, &others, fine, &checks);
            outputs.iter_mut().for_each(|id| *id = renamed.of(*id));
            let mut result = |(at, a)| renamed.result(at).unwrap_or_else(|| output(ir, &renamed.assignment(a), fine));
            assignments.iter().enumerate().map(&mut result).collect()
        }
    };
    at.iter().zip(results).for_each(|(at, id)| outputs[*at] = id);
    on_host
}

/// What a reader in the same evaluation sees.
pub(crate) fn seen(ir: &mut Ir, value: Id, otherwise: Id, condition: Option<Id>) -> Id {
    match condition {
        Some(condition) => chosen(ir, condition, value, otherwise),
        None => value,
    }
}

fn output(ir: &mut Ir, assignment: &Assignment, fine: Id) -> Id {
    let Assignment { value, otherwise, condition, before } = *assignment;
    match condition {
        Some(condition) if otherwise == before => {
            let all = both(ir, condition, fine);
            chosen(ir, all, value, before)
        }
        _ => {
            let value = seen(ir, value, otherwise, condition);
            chosen(ir, fine, value, before)
        }
    }
}

/// The value, or where the condition is false what was there before. Of a part written over what was there only the part is chosen, so that the
/// rest is neither read nor written.
fn chosen(ir: &mut Ir, condition: Id, value: Id, before: Id) -> Id {
    let Some(Part { node, written, was }) = part_over(ir, value, before) else { return choose(ir, condition, value, before) };
    let source = node.inputs[written];
    let was = ir.add(IrNode { inputs: was.1, op: IrOp::Op(was.0), ..ir.node(source).clone() });
    let source = choose_each(ir, condition, source, was);
    let shape = ir.node(value).clone();
    let mut inputs = node.inputs.clone();
    inputs[written] = source;
    let whole = ir.add(IrNode { inputs, ..node });
    ir.add(IrNode { op: IrOp::Op(Op::Reshape), inputs: smallvec![whole], ..shape })
}

/// A node that writes a part over something: which of its inputs is the part, and how to read what the part replaces.
struct Part {
    node: IrNode,
    written: usize,
    was: (Op, SmallVec<[Id; 3]>),
}

/// How a value is a part written over `before`, if it is: at a position, or element by element where an index says. A place that several elements
/// get stays what it was, since all of them were.
fn part_over(ir: &Ir, value: Id, before: Id) -> Option<Part> {
    let below = |mut id: Id| {
        while ir.node(id).op == IrOp::Op(Op::Reshape) {
            id = ir.node(id).inputs[0];
        }
        id
    };
    let node = ir.node(below(value)).clone();
    let IrOp::Op(op) = &node.op else { return None };
    let (base, written, was) = match (op, node.inputs.as_slice()) {
        (Op::DynUpdate { axis }, [base, _, start]) => (*base, 1, (Op::DynSlice { axis: *axis }, smallvec![*base, *start])),
        (Op::Scatter { axis, mode: ScatterMode::Set }, [base, index, _]) => {
            // A gather wants all of the other axes.
            let (places, all) = (&ir.node(*index).shape, &node.shape);
            if (0..places.len()).any(|at| at != *axis && places[at] != all[at]) {
                return None;
            }
            (*base, 2, (Op::Gather { axis: *axis }, smallvec![*base, *index]))
        }
        _ => return None,
    };
    (below(base) == below(before)).then_some(Part { node, written, was })
}

/// An index that some op checks, and how many elements its axis has.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Check {
    index: Id,
    size: usize,
    /// Whether negative ones count from the end.
    from_end: bool,
}

/// Every index that is checked when the nodes are computed, each once.
fn checks(ir: &Ir, computed: impl Iterator<Item = Id>) -> Vec<Check> {
    let mut runs = vec![false; ir.nodes.len()];
    computed.for_each(|id| runs[id as usize] = true);
    for (id, node) in ir.nodes.iter().enumerate().rev() {
        if runs[id] {
            node.inputs.iter().for_each(|input| runs[*input as usize] = true);
        }
    }
    let mut seen = FxHashSet::default();
    let running = ir.nodes.iter().enumerate().filter(|(id, _)| runs[*id]);
    running.filter_map(|(_, node)| check_of(ir, node)).filter(|check| !is_in_range(ir, *check) && seen.insert(*check)).collect()
}

/// The index that a node checks.
fn check_of(ir: &Ir, node: &IrNode) -> Option<Check> {
    let IrOp::Op(op) = &node.op else { return None };
    let axis_of = |input: usize, axis: usize| ir.node(node.inputs[input]).shape[axis];
    let (input, size, from_end) = match op {
        Op::Gather { axis } => (1, axis_of(0, *axis), true),
        Op::Scatter { axis, .. } => (1, node.shape[*axis], true),
        Op::Bounded { size, from_end } => (0, *size, *from_end),
        Op::DynSlice { axis } => (1, axis_of(0, *axis) - node.shape[*axis] + 1, true),
        Op::DynUpdate { axis } => (2, node.shape[*axis] - axis_of(1, *axis) + 1, true),
        // No index among their inputs. Attention's lengths are clamped, not checked.
        Op::Buffer | Op::Const(_) | Op::Scalar | Op::Iota { .. } | Op::Random { .. } | Op::Variable(_) => return None,
        Op::Unary(_) | Op::Binary(_) | Op::Where | Op::Cast | Op::Bitcast => return None,
        Op::Reshape | Op::Permute(_) | Op::Expand | Op::Slice(_) | Op::Pad(..) | Op::Concat { .. } | Op::Window { .. } => return None,
        Op::Reduce(..) | Op::ArgReduce(..) | Op::Scan { .. } | Op::ArgSort { .. } | Op::TopK { .. } | Op::MatMul => return None,
        Op::Conv(_) | Op::ConvDataGrad(_) | Op::ConvWeightGrad(_) | Op::MaxPool(_) => return None,
        Op::Softmax { .. } | Op::LogSoftmax { .. } | Op::Normalize { .. } => return None,
        Op::Attention(_) | Op::AttentionGrad(_) | Op::Part(_) => return None,
        Op::Barrier | Op::Kernel(_) | Op::Custom(_) | Op::Composite(_) | Op::Loop(_) | Op::Copy | Op::Commit(_) | Op::Invalid(_) => {
            return None;
        }
    };
    Some(Check { index: values_of(ir, node.inputs[input]), size, from_end })
}

/// The node below views that show all of its elements and no others.
fn values_of(ir: &Ir, mut id: Id) -> Id {
    loop {
        let node = ir.node(id);
        let same = matches!(node.op, IrOp::Op(Op::Reshape | Op::Permute(_)) | IrOp::Barrier(_) | IrOp::Dense)
            || (node.op == IrOp::Op(Op::Expand) && ir.numel(id) > 0);
        if !same {
            return id;
        }
        id = node.inputs[0];
    }
}

/// Whether the op that makes an index already keeps it in range. Of an op that is not asked about here, only that it makes no index at all.
#[expect(clippy::wildcard_enum_match_arm, reason = "to check what is in range costs time and changes nothing")]
fn is_in_range(ir: &Ir, check: Check) -> bool {
    let node = ir.node(check.index);
    let IrOp::Op(op) = &node.op else { return ir.numel(check.index) == 0 };
    let along = |axis: usize| ir.node(node.inputs[0]).shape[axis] <= check.size;
    match op {
        Op::ArgSort { axis, .. } | Op::TopK { axis, .. } | Op::ArgReduce(_, axis) => along(*axis),
        Op::Iota { axis } => node.shape[*axis] <= check.size,
        Op::Bounded { size, .. } => *size <= check.size,
        _ => ir.numel(check.index) == 0,
    }
}

/// Whether all of them are in range, as a `Bool` of rank 0; `None` if there are none.
fn all_in_range(ir: &mut Ir, checks: &[Check]) -> Option<Id> {
    let mut all: Option<Id> = None;
    for check in checks {
        let index = ir.node(check.index).clone();
        let add = |ir: &mut Ir, op: Op, inputs: SmallVec<[Id; 3]>, shape: Shape, dtype: DType| {
            ir.add(IrNode { op: IrOp::Op(op), inputs, shape, dtype, ..index.clone() })
        };
        let end =
            |ir: &mut Ir, value: i64| add(ir, Op::Const(Literal::int(DType::I64, value)), SmallVec::new(), index.shape.clone(), DType::I64);
        // DEFAULT: no index is as large as a size beyond `i64`, so any such size allows the same ones.
        let size = i64::try_from(check.size).unwrap_or(i64::MAX);
        let (low, high) = (end(ir, if check.from_end { -size } else { 0 }), end(ir, size));
        let above = add(ir, Op::Binary(BinaryOp::Ge), smallvec![check.index, low], index.shape.clone(), DType::Bool);
        let below = add(ir, Op::Binary(BinaryOp::Lt), smallvec![check.index, high], index.shape.clone(), DType::Bool);
        let mut fine = add(ir, Op::Binary(BinaryOp::And), smallvec![above, below], index.shape.clone(), DType::Bool);
        if !index.shape.is_empty() {
            let axes = u32::MAX >> (u32::BITS as usize - index.shape.len());
            let kept = Shape::from_elem(1, index.shape.len());
            fine = add(ir, Op::Reduce(ReduceOp::Min, axes), smallvec![fine], kept, DType::Bool);
            fine = add(ir, Op::Reshape, smallvec![fine], Shape::new(), DType::Bool);
        }
        all = Some(match all {
            Some(all) => both(ir, all, fine),
            None => fine,
        });
    }
    all
}

fn both(ir: &mut Ir, a: Id, b: Id) -> Id {
    let node = ir.node(a).clone();
    ir.add(IrNode { op: IrOp::Op(Op::Binary(BinaryOp::And)), inputs: smallvec![a, b], ..node })
}

/// A choice for each element. Of a value that was made in another shape it is made in that one too: so a kernel walks through one shape only.
fn choose(ir: &mut Ir, condition: Id, yes: Id, no: Id) -> Id {
    let node = ir.node(yes).clone();
    if node.op == IrOp::Op(Op::Reshape) {
        let made = node.inputs[0];
        let was = IrNode { op: IrOp::Op(Op::Reshape), inputs: smallvec![no], shape: ir.node(made).shape.clone(), ..node.clone() };
        let was = ir.add(was);
        let chosen = choose_each(ir, condition, made, was);
        return ir.add(IrNode { inputs: smallvec![chosen], ..node });
    }
    choose_each(ir, condition, yes, no)
}

fn choose_each(ir: &mut Ir, condition: Id, yes: Id, no: Id) -> Id {
    let node = ir.node(yes).clone();
    let condition = ir.add(IrNode { op: IrOp::Op(Op::Expand), inputs: smallvec![condition], dtype: DType::Bool, ..node.clone() });
    ir.add(IrNode { op: IrOp::Op(Op::Where), inputs: smallvec![condition, yes, no], ..node })
}
