//! Prologues: operands of products that are not stored, because each element is cheap to make from what is in memory already.
//!
//! In: the base of a product's operand, as [`crate::fuse::view_base`] finds it. Out: whether it becomes a prologue, and then its map.
//!
//! The rule. A base is a prologue if it is a chain of casts, bits, comparisons, sums, products and views of inputs of the plan (decoding a storage
//! format, a cast, a scale for each row, column or block), of at most [`MAX_NODES`] nodes and [`MAX_COST`] additions, and reads at least one
//! buffer; if nothing else needs it in memory; if its readers are at most [`MAX_READERS`] products; and if no product reads an element at several
//! places of a window. What another kernel of the plan computes is no input: there the chain is the end of that kernel, for nothing.
//! But a number a byte wide that is computed in the plan, as the code of an 8-bit float, is stored as such, and what decodes it is a prologue: it takes
//! less memory than the operand, and a library may read it as it lies. Single numbers that such a chain reads (scales) are stored as well, and any number
//! of products may read it.
//! Zeros around what is in memory, or between its elements, are a prologue of convolutions that a library is asked for: it has a word for them.
//! Always: the product is the same, bit for bit, as with the operand in memory. Never: takes run-time scalars, or what can fail.

use crate::emit::{Axis, Emitted, Store, Task, emit, map_cost};
use crate::fuse::Fusion;
use crate::ir::{Id, IrOp, Kind};
use crate::lower::Lowering;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use unigrad_graph::{DType, Literal, Op};
use unigrad_kernel::{InstOp, Level};

/// Most nodes of a prologue.
const MAX_NODES: usize = 96;
/// Most additions per element: it is paid wherever an element is read, which is once for each tile of the other side's.
const MAX_COST: usize = 32;
/// With more readers it is cheaper to make it once.
const MAX_READERS: usize = 2;

impl Fusion<'_> {
    /// Whether the base of a product's operand is a prologue, and then which nodes are stored for it; `view` is the operand.
    pub(crate) fn is_prologue(&self, view: Id, base: Id) -> Option<SmallVec<[Id; 2]>> {
        let is_map = self.ir.kind(base) == Kind::Map;
        if !is_map || self.outputs.contains(&base) || self.passes_window(view, base) {
            return None;
        }
        if self.readers_are(base, MAX_READERS, |_| true) && self.is_cheap(base, &mut None) {
            return Some(SmallVec::new());
        }
        let mut made = Some(SmallVec::new());
        let is_cheap = self.ir.numel(base) > 1 && self.readers_are(base, usize::MAX, |_| true) && self.is_cheap(base, &mut made);
        made.filter(|made| is_cheap && made.iter().any(|id| self.is_code(*id)))
    }

    /// Whether it is computed, a byte wide and made of something wider.
    fn is_code(&self, id: Id) -> bool {
        let node = self.ir.node(id);
        node.op == IrOp::Op(Op::Cast) && node.dtype == DType::U8 && self.ir.node(node.inputs[0]).dtype.size() > 1
    }

    /// Whether the base of a product's operand is zeros around something, for which all its readers have a word.
    pub(crate) fn is_padding(&self, base: Id) -> bool {
        let node = self.ir.node(base);
        let IrOp::Op(Op::Pad(_, fill)) = &node.op else { return false };
        let is_zero = fill.dtype().is_float() && *fill == Literal::zero(fill.dtype());
        let is_filled = node.inputs.first().is_some_and(|input| self.ir.numel(*input) > 0 && self.ir.constant_of(*input).is_none());
        is_zero
            && is_filled
            && !self.outputs.contains(&base)
            && self.readers_are(base, MAX_READERS, |product| self.convolved.contains(&product))
    }

    /// Whether it is one number that a kernel computes.
    fn is_computed_number(&self, id: Id) -> bool {
        let is_computed = matches!(self.ir.kind(id), Kind::Map | Kind::Reduce) && !self.ir.node(id).inputs.is_empty();
        is_computed && self.ir.numel(id) == 1
    }

    fn passes_window(&self, view: Id, base: Id) -> bool {
        let mut id = view;
        while id != base {
            let node = self.ir.node(id);
            if matches!(node.op, IrOp::Op(Op::Window { .. })) {
                return true;
            }
            match node.inputs.first() {
                Some(input) => id = *input,
                // Not a chain of views down to the base: nothing is known of it.
                None => return true,
            }
        }
        false
    }

    /// Whether only a few products read it, through views, and all of this kind.
    fn readers_are(&self, base: Id, most: usize, is_wanted: impl Fn(Id) -> bool) -> bool {
        let mut stack: SmallVec<[Id; 8]> = SmallVec::from_slice(&[base]);
        let mut n_products = 0;
        while let Some(id) = stack.pop() {
            for user in &self.users[id as usize] {
                match (&self.ir.node(*user).op, self.ir.kind(*user)) {
                    (IrOp::Op(Op::MatMul), _) if is_wanted(*user) => n_products += 1,
                    (IrOp::Op(Op::MatMul), _) => return false,
                    (_, Kind::View) if !self.outputs.contains(user) => stack.push(*user),
                    (_, Kind::External | Kind::Map | Kind::View | Kind::Reduce | Kind::Heavy) => return false,
                }
            }
            if n_products > most || stack.len() > MAX_NODES {
                return false;
            }
        }
        n_products > 0
    }

    /// Whether each element takes little, of inputs of the plan alone; or also of codes and single numbers that the plan makes, if these are asked for.
    fn is_cheap(&self, base: Id, made: &mut Option<SmallVec<[Id; 2]>>) -> bool {
        let mut seen: FxHashSet<Id> = FxHashSet::default();
        let mut stack = vec![base];
        let (mut cost, mut n_inputs) = (0, 0);
        while let Some(id) = stack.pop() {
            if !seen.insert(id) {
                continue;
            }
            let node = self.ir.node(id);
            if let Some(made) = made
                && (self.is_code(id) || self.is_computed_number(id))
            {
                made.push(id);
                n_inputs += 1;
                continue;
            }
            let op = match &node.op {
                IrOp::External(_) => {
                    n_inputs += 1;
                    continue;
                }
                IrOp::Scalar(_) | IrOp::Barrier(_) | IrOp::Dense => return false,
                IrOp::Op(op) => op,
            };
            if !decodes(op) || self.marked.contains(&id) {
                return false;
            }
            cost += map_cost(&node.op);
            if seen.len() > MAX_NODES || cost > MAX_COST {
                return false;
            }
            stack.extend(&node.inputs);
        }
        n_inputs > 0
    }
}

/// Whether a prologue may have the op.
fn decodes(op: &Op) -> bool {
    use unigrad_graph::BinaryOp as B;
    match op {
        Op::Const(_) | Op::Iota { .. } | Op::Where | Op::Cast | Op::Bitcast => true,
        Op::Binary(B::Add | B::Sub | B::Mul | B::And | B::Or | B::Xor | B::Shl | B::Shr | B::Max | B::Min) => true,
        Op::Binary(B::Eq | B::Ne | B::Lt | B::Le | B::Gt | B::Ge) => true,
        Op::Binary(B::Div | B::IDiv | B::Rem | B::Pow | B::Atan2) | Op::Unary(_) => false,
        Op::Reshape | Op::Permute(_) | Op::Expand | Op::Slice(_) => true,
        Op::Pad(..) | Op::Concat { .. } | Op::Window { .. } | Op::DynSlice { .. } | Op::DynUpdate { .. } | Op::Gather { .. } => false,
        Op::Random { .. } | Op::Bounded { .. } | Op::Reduce(..) | Op::ArgReduce(..) | Op::Scan { .. } | Op::Scatter { .. } => false,
        Op::ArgSort { .. } | Op::TopK { .. } | Op::MatMul | Op::Conv(_) | Op::ConvDataGrad(_) | Op::ConvWeightGrad(_) => false,
        Op::MaxPool(_) | Op::Softmax { .. } | Op::LogSoftmax { .. } | Op::Normalize { .. } | Op::Attention(_) => false,
        Op::AttentionGrad(_) | Op::Composite(_) | Op::Loop(_) | Op::Part(_) | Op::Barrier | Op::Kernel(_) | Op::Custom(_) | Op::Copy => {
            false
        }
        Op::Buffer | Op::Scalar | Op::Variable(_) | Op::Commit(_) | Op::Invalid(_) => false,
    }
}

impl Lowering<'_> {
    /// The map of an operand that is not stored, with the nodes that it reads.
    pub(crate) fn prologue(&self, base: Id) -> Result<Emitted, String> {
        let inside = FxHashSet::from_iter([base]);
        let store = [Store { node: base, level: Level::Full, into: None }];
        let task = Task { ir: self.ir, stored: self.stored, inside: &inside, acc: None, stores: &store, may_split: true };
        // Where zeros are, an axis is one by itself.
        let axis = |size: usize| Axis { size, reduce: false };
        let is_padding = matches!(self.ir.node(base).op, IrOp::Op(Op::Pad(..)));
        let axes = if is_padding { self.ir.node(base).shape.iter().copied().map(axis).collect() } else { vec![axis(self.ir.numel(base))] };
        let mut emitted = emit(&task, "prologue".into(), axes)?;
        let region = &emitted.region;
        let mut dense = 1;
        let is_dense = region.insts.iter().all(|inst| match &inst.op {
            InstOp::Store { index, .. } => {
                let strides = region.axes.iter().zip(&index.strides).rev();
                let in_order = strides.fold(true, |all, (size, stride)| {
                    let here = *size == 1 || *stride == dense;
                    dense *= *size as i64;
                    all && here
                });
                in_order && index.offset == 0 && index.dynamic.is_empty()
            }
            InstOp::Const(_) | InstOp::AxisIndex(_) | InstOp::Load { .. } | InstOp::Cast(_) | InstOp::Bitcast(_) => true,
            InstOp::Unary(..) | InstOp::Binary(..) | InstOp::Where(..) => true,
            InstOp::Scalar(_) | InstOp::Acc | InstOp::Bounded { .. } | InstOp::Philox { .. } => false,
            InstOp::Reduce(..) | InstOp::ArgReduce(..) => false,
        });
        let fits = is_dense && region.only_stored().is_some() && emitted.args.len() > 1;
        if !fits || emitted.args.pop() != Some(base) {
            return Err(self.ir.impossible(base, "it is no prologue after all"));
        }
        Ok(emitted)
    }
}
