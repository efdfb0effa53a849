//! Moves permutes from a value's producer towards its readers, so that what lies between two convolutions is computed in the order in which they
//! have it in memory, channels last.
//!
//! In: the compiler's graph, and the permutes that end convolutions ([`crate::channels_last`]). Out: the same values.
//!
//! Each node is either as it was or *turned*: a value that is a permute of another node, which stands for it. The rules:
//! - a permute of a turned value changes its order, and of the order of its axes there is none left: so a reader's permute cancels the producer's;
//! - a map of a turned value is turned, if its other inputs are turned, made of numbers, numbers that many elements share (a permute below the
//!   expansion costs nothing), or come from a convolution themselves (then as a permute). With an input of the plan as large as the result it is not
//!   turned: what is assigned over a parameter lies as the parameter does;
//! - reductions, slices, pads, windows, expansions and concatenations have their axes renamed, and so have reshapes that join or part only
//!   axes that are neighbours in either order;
//! - all else reads the value as it was, as a permute, and so do outputs.
//!
//! Where more than half of what convolutions make would be turned back for want of a rule, as by group norms, which join channels and places, all of it
//! stays channels first (`crate::plan`).
//!
//! Always: linear in nodes; one order of work. Never: computes a value twice, or in another order of additions than a reduction's own.

use crate::ir::{Id, Ir, IrNode, IrOp};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use unigrad_graph::{Op, PadAxis, Shape, SliceAxis};

/// Axis `i` of a value is axis `order[i]` of the node that stands for it.
type Order = SmallVec<[u8; 8]>;

/// What stands for a node of the old graph.
#[derive(Clone)]
struct Standing {
    id: Id,
    /// `None`: as it was.
    order: Option<Order>,
    /// Whether it comes from a convolution.
    is_after: bool,
    /// Whether it comes from memory.
    is_data: bool,
    /// Whether many of its elements are one number.
    is_spread: bool,
}

/// The graph with permutes moved.
pub(crate) struct Sunk {
    pub(crate) ir: Ir,
    /// Elements of convolutions' results.
    pub(crate) results: usize,
    /// Elements of turned values that a reader without a rule for them reads as they were.
    pub(crate) turned_back: usize,
}

/// Rewrites the graph; `turns` are the permutes that end convolutions, and `outputs` follow.
pub(crate) fn rewrite(ir: Ir, outputs: &mut [Id], turns: &FxHashSet<Id>) -> Sunk {
    if turns.is_empty() {
        return Sunk { ir, results: 0, turned_back: 0 };
    }
    let elements = turns.iter().fold(0, |sum: usize, turn| sum.saturating_add(ir.numel(*turn)));
    // By what they permute: a user's permute of a result is one with the convolution's.
    let results: FxHashSet<Id> = turns.iter().filter_map(|turn| ir.node(*turn).inputs.first().copied()).collect();
    let is_start =
        |node: &IrNode| matches!(node.op, IrOp::Op(Op::Permute(_))) && node.inputs.first().is_some_and(|input| results.contains(input));
    let mut sink = Sink { out: Ir::default(), standing: Vec::with_capacity(ir.nodes.len()), turned_back: FxHashSet::default() };
    for node in &ir.nodes {
        let standing = sink.node(node, is_start(node));
        sink.standing.push(standing);
    }
    let turned_back = sink.turned_back.iter().fold(0, |sum: usize, id| sum.saturating_add(ir.numel(*id)));
    outputs.iter_mut().for_each(|id| *id = sink.plain(*id));
    Sunk { ir: sink.out, results: elements, turned_back }
}

struct Sink {
    out: Ir,
    standing: Vec<Standing>,
    /// Nodes of the old graph that are read as they were.
    turned_back: FxHashSet<Id>,
}

impl Sink {
    fn of(&self, old: Id) -> &Standing {
        &self.standing[old as usize]
    }

    fn node(&mut self, node: &IrNode, is_start: bool) -> Standing {
        let (id, order) = match self.turned(node, is_start) {
            Some((id, order)) => {
                // Of axes of one element the order is any.
                if keeps_order(&self.out.node(id).shape, &order) { (self.view(id, &order), None) } else { (id, Some(order)) }
            }
            None => {
                // Products read any order in place.
                if !matches!(node.op, IrOp::Op(Op::MatMul)) {
                    let turned = node.inputs.iter().filter(|input| self.standing[**input as usize].order.is_some());
                    self.turned_back.extend(turned);
                }
                let inputs = node.inputs.iter().map(|input| self.plain(*input)).collect();
                (self.out.add(IrNode { inputs, ..node.clone() }), None)
            }
        };
        let any = |is: fn(&Standing) -> bool| node.inputs.iter().any(|input| is(self.of(*input)));
        let is_map = is_map(&node.op) || matches!(node.op, IrOp::Op(Op::Const(_)) | IrOp::Scalar(_));
        let is_expanded = matches!(node.op, IrOp::Op(Op::Expand));
        let is_spread = is_expanded || is_map && node.inputs.iter().all(|input| self.of(*input).is_spread);
        Standing {
            id,
            order,
            is_after: is_start || any(|standing| standing.is_after),
            is_data: matches!(node.op, IrOp::External(_)) || any(|standing| standing.is_data),
            is_spread,
        }
    }

    /// The node that stands for this one, and its order, if it is turned.
    fn turned(&mut self, node: &IrNode, is_start: bool) -> Option<(Id, Order)> {
        let op = match &node.op {
            IrOp::Barrier(_) => {
                let (id, order) = self.turned_input(node)?;
                return Some((self.add(node, node.op.clone(), &[id], &order), order));
            }
            IrOp::External(_) | IrOp::Scalar(_) | IrOp::Dense => return None,
            IrOp::Op(op) => op,
        };
        if is_map(&node.op) {
            return self.map(node);
        }
        if let (Op::Permute(perm), true) = (op, is_start) {
            let Standing { id, order, .. } = self.of(node.inputs[0]).clone();
            let order = order.map_or_else(|| perm.clone(), |order| perm.iter().map(|axis| order[usize::from(*axis)]).collect());
            return Some((id, order));
        }
        if let Op::Concat { axis } = op {
            let order = self.common(node)?;
            let inputs: SmallVec<[Id; 8]> = node.inputs.iter().map(|input| self.ordered(*input, &order)).collect();
            return Some((self.add(node, Op::Concat { axis: usize::from(order[*axis]) }.into(), &inputs, &order), order));
        }
        let (id, order) = self.turned_input(node)?;
        let renamed = |axis: usize| usize::from(order[axis]);
        let op = match op {
            Op::Permute(perm) => return Some((id, perm.iter().map(|axis| order[usize::from(*axis)]).collect())),
            Op::Reduce(op, mask) => {
                let mask = (0..order.len()).filter(|axis| mask >> axis & 1 == 1).fold(0, |mask, axis| mask | 1 << renamed(axis));
                Op::Reduce(*op, mask)
            }
            Op::ArgReduce(op, axis) => Op::ArgReduce(*op, renamed(*axis)),
            Op::Slice(axes) => {
                let mut parts = vec![SliceAxis { start: 0, step: 1, len: 0 }; axes.len()];
                axes.iter().enumerate().for_each(|(axis, part)| parts[renamed(axis)] = *part);
                Op::Slice(parts.into())
            }
            Op::Pad(axes, fill) => {
                let mut pads = vec![PadAxis::default(); axes.len()];
                axes.iter().enumerate().for_each(|(axis, pad)| pads[renamed(axis)] = *pad);
                Op::Pad(pads.into(), *fill)
            }
            Op::Window { axis, size, step, dilation } => {
                // Places within windows come last in either order.
                let op = Op::Window { axis: renamed(*axis), size: *size, step: *step, dilation: *dilation };
                let mut order = order;
                order.push(order.len() as u8);
                return Some((self.add(node, op.into(), &[id], &order), order));
            }
            Op::Expand => {
                let lead = (node.shape.len() - order.len()) as u8;
                let order: Order = (0..lead).chain(order.iter().map(|axis| axis + lead)).collect();
                return Some((self.add(node, Op::Expand.into(), &[id], &order), order));
            }
            Op::Reshape => {
                let (from, order) = self.reshaped(id, &order, &node.shape)?;
                let reshaped =
                    self.out.add(IrNode { op: Op::Reshape.into(), inputs: SmallVec::from_slice(&[id]), shape: from, ..node.clone() });
                return Some((reshaped, order));
            }
            Op::Const(_) | Op::Iota { .. } | Op::Random { .. } | Op::Concat { .. } => return None,
            Op::Unary(_) | Op::Binary(_) | Op::Where | Op::Cast | Op::Bitcast | Op::Bounded { .. } => return None,
            Op::DynSlice { .. } | Op::DynUpdate { .. } | Op::Gather { .. } => return None,
            Op::Scan { .. } | Op::Scatter { .. } | Op::ArgSort { .. } | Op::TopK { .. } | Op::MatMul | Op::Kernel(_) => return None,
            Op::Attention(_) | Op::AttentionGrad(_) | Op::MaxPool(_) | Op::Part(_) => return None,
            Op::Buffer | Op::Scalar | Op::Variable(_) | Op::Conv(_) | Op::ConvDataGrad(_) | Op::ConvWeightGrad(_) => return None,
            Op::Softmax { .. } | Op::LogSoftmax { .. } | Op::Normalize { .. } => return None,
            Op::Barrier | Op::Custom(_) | Op::Composite(_) | Op::Loop(_) | Op::Copy | Op::Commit(_) | Op::Invalid(_) => return None,
        };
        Some((self.add(node, op.into(), &[id], &order), order))
    }

    /// What stands for the only input of a node, if that is turned.
    fn turned_input(&self, node: &IrNode) -> Option<(Id, Order)> {
        let standing = self.of(*node.inputs.first()?);
        Some((standing.id, standing.order.clone()?))
    }

    /// The order that a map or a concatenation has: that of its first turned input, if there is one and nothing speaks against it.
    fn common(&self, node: &IrNode) -> Option<Order> {
        let order = node.inputs.iter().find_map(|input| self.of(*input).order.clone())?;
        let is_foreign = |input: &Id| {
            let standing = self.of(*input);
            standing.order.is_none() && standing.is_data && !standing.is_after && !standing.is_spread
        };
        (!node.inputs.iter().any(is_foreign)).then_some(order)
    }

    fn map(&mut self, node: &IrNode) -> Option<(Id, Order)> {
        let order = self.common(node)?;
        let inputs: SmallVec<[Id; 8]> = node.inputs.iter().map(|input| self.ordered(*input, &order)).collect();
        Some((self.add(node, node.op.clone(), &inputs, &order), order))
    }

    /// Adds the node that stands for a turned one.
    fn add(&mut self, node: &IrNode, op: IrOp, inputs: &[Id], order: &Order) -> Id {
        let mut shape = node.shape.clone();
        order.iter().zip(&node.shape).for_each(|(axis, size)| shape[usize::from(*axis)] = *size);
        self.out.add(IrNode { op, inputs: SmallVec::from_slice(inputs), shape, ..node.clone() })
    }

    /// A node of the old graph as it was.
    fn plain(&mut self, old: Id) -> Id {
        match self.of(old).clone() {
            Standing { id, order: Some(order), .. } => self.view(id, &order),
            Standing { id, order: None, .. } => id,
        }
    }

    /// What stands for a node of the old graph in this order.
    fn ordered(&mut self, old: Id, order: &Order) -> Id {
        let Standing { id, order: own, is_data, is_spread, .. } = self.of(old).clone();
        let inverse = inverse(order);
        match own {
            Some(own) if own == *order => id,
            Some(own) => self.view(id, &inverse.iter().map(|axis| own[usize::from(*axis)]).collect()),
            None => self.in_order(id, &inverse, is_data && !is_spread),
        }
    }

    /// A permute of what is not turned. `is_large`: a product that reads it wants a copy.
    fn in_order(&mut self, id: Id, perm: &Order, is_large: bool) -> Id {
        let node = self.out.node(id).clone();
        if node.op == IrOp::Op(Op::Expand) {
            // Of fewer numbers, with an axis for each of the result's.
            let below = self.out.node(node.inputs[0]).clone();
            let mut shape = Shape::from_elem(1, node.shape.len() - below.shape.len());
            shape.extend(below.shape.iter().copied());
            let lifted = self.out.add(IrNode { op: Op::Reshape.into(), inputs: node.inputs.clone(), shape, ..below });
            let turned = self.view(lifted, perm);
            let shape = perm.iter().map(|axis| node.shape[usize::from(*axis)]).collect();
            return self.out.add(IrNode { inputs: SmallVec::from_slice(&[turned]), shape, ..node });
        }
        let view = self.view(id, perm);
        if !is_large {
            return view;
        }
        let node = self.out.node(view).clone();
        self.out.add(IrNode { op: IrOp::Dense, inputs: SmallVec::from_slice(&[view]), ..node })
    }

    /// A permute, which is a reshape where only axes of one element move.
    fn view(&mut self, id: Id, perm: &Order) -> Id {
        let node = self.out.node(id).clone();
        let op = if keeps_order(&node.shape, perm) { Op::Reshape } else { Op::Permute(perm.clone()) };
        let shape = perm.iter().map(|axis| node.shape[usize::from(*axis)]).collect();
        self.out.add(IrNode { op: op.into(), inputs: SmallVec::from_slice(&[id]), shape, ..node })
    }

    /// The shape, and the order, of what stands for a reshape to `to` of a value for which `id` stands: if each run of axes that becomes another one is
    /// a run in both orders.
    fn reshaped(&self, id: Id, order: &Order, to: &[usize]) -> Option<(Shape, Order)> {
        let shape = &self.out.node(id).shape;
        let from: SmallVec<[usize; 6]> = order.iter().map(|axis| shape[usize::from(*axis)]).collect();
        if from.contains(&0) {
            return None;
        }
        let long = |sizes: &[usize]| (0..sizes.len()).filter(|axis| sizes[*axis] != 1).collect::<SmallVec<[usize; 6]>>();
        let (old, new) = (long(&from), long(to));
        // Runs that have as many elements, by where they begin and end among the axes that are longer than 1.
        let mut runs: SmallVec<[(usize, usize, usize, usize); 6]> = SmallVec::new();
        let (mut i, mut j) = (0, 0);
        while i < old.len() && j < new.len() {
            let (begin, start) = (i, j);
            let (mut left, mut right) = (from[old[i]], to[new[j]]);
            while left != right {
                if left < right {
                    i += 1;
                    left *= from[*old.get(i)?];
                } else {
                    j += 1;
                    right *= to[*new.get(j)?];
                }
            }
            (i, j) = (i + 1, j + 1);
            runs.push((begin, i, start, j));
        }
        // Where each axis of the node is in the value, without those of size 1.
        let place = inverse(order);
        let places: SmallVec<[usize; 6]> =
            place.iter().filter_map(|axis| old.iter().position(|long| *long == usize::from(*axis))).collect();
        let (mut at, mut axes) = (0, Order::new());
        while at < places.len() {
            let (begin, end, start, stop) = *runs.iter().find(|run| run.0 == places[at])?;
            for (step, place) in (begin..end).enumerate() {
                if places.get(at + step) != Some(&place) {
                    return None;
                }
            }
            at += end - begin;
            axes.extend(new[start..stop].iter().map(|axis| *axis as u8));
        }
        axes.extend((0..to.len()).filter(|axis| to[*axis] == 1).map(|axis| axis as u8));
        let shape = axes.iter().map(|axis| to[usize::from(*axis)]).collect();
        Some((shape, inverse(&axes)))
    }
}

impl From<Op> for IrOp {
    fn from(op: Op) -> IrOp {
        IrOp::Op(op)
    }
}

/// What has an element for each of its inputs'.
fn is_map(op: &IrOp) -> bool {
    // A checked index says which element was wrong by its place.
    matches!(op, IrOp::Op(Op::Unary(_) | Op::Binary(_) | Op::Where | Op::Cast | Op::Bitcast))
}

fn inverse(order: &Order) -> Order {
    let mut inverse = Order::from_elem(0, order.len());
    order.iter().enumerate().for_each(|(at, axis)| inverse[usize::from(*axis)] = at as u8);
    inverse
}

/// Whether a permute of a shape moves only axes of one element.
fn keeps_order(shape: &[usize], perm: &Order) -> bool {
    perm.iter().filter(|axis| shape[usize::from(**axis)] != 1).is_sorted()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Capture, Options, build};
    use std::sync::Arc;
    use unigrad_graph::{BinaryOp, ConvSpec, DType, Expr, Literal, ReduceOp, UnaryOp};
    use unigrad_kernel::Channels;

    /// Batch, channels, height and width, all different, and the channels a run.
    const FIRST: [usize; 4] = [2, 8, 5, 7];
    const LAST: [usize; 4] = [2, 5, 7, 8];

    fn buffer(shape: &[usize]) -> Expr {
        Expr::buffer(Shape::from_slice(shape), DType::F32, 0, Arc::new(()))
    }

    fn convolution(x: &Expr) -> Expr {
        let c = x.shape()[1];
        let spec = ConvSpec {
            stride: [1; 2].as_slice().into(),
            padding: [(1, 1); 2].as_slice().into(),
            dilation: [1; 2].as_slice().into(),
            groups: 1,
        };
        x.conv(&buffer(&[8, c, 3, 3]), Arc::new(spec))
    }

    /// Shapes of the nodes that are this op, in the graph of `y` with channels last.
    fn shapes(y: &[&Expr], is: impl Fn(&Op) -> bool) -> Vec<Vec<usize>> {
        let capture = Capture::new(&y.iter().copied().cloned().collect::<Vec<_>>()).unwrap();
        let built = build::build(&capture, Options { channels: Channels::Last, ..Options::default() }).unwrap();
        let mut outputs = built.outputs.clone();
        let before: Vec<Shape> = outputs.iter().map(|id| built.ir.node(*id).shape.clone()).collect();
        let ir = rewrite(built.ir, &mut outputs, &built.turns).ir;
        assert_eq!(before, outputs.iter().map(|id| ir.node(*id).shape.clone()).collect::<Vec<_>>(), "an output has another shape");
        let found = ir.nodes.iter().filter(|node| matches!(&node.op, IrOp::Op(op) if is(op)));
        found.map(|node| node.shape.to_vec()).collect()
    }

    fn is_unary(op: &Op) -> bool {
        matches!(op, Op::Unary(_))
    }

    fn is_add(op: &Op) -> bool {
        *op == Op::Binary(BinaryOp::Add)
    }

    #[test]
    fn maps_of_a_turned_value_are_turned() {
        let y = convolution(&buffer(&FIRST));
        assert_eq!(shapes(&[&y.unary(UnaryOp::Exp)], is_unary), [LAST]);
        assert_eq!(shapes(&[&y.unary(UnaryOp::Exp).unary(UnaryOp::Relu)], is_unary), [LAST, LAST]);
        // Numbers for each channel, and one for all.
        let bias = buffer(&[8]).reshape(&[1, 8, 1, 1]).expand(&FIRST);
        assert_eq!(shapes(&[&y.add(&bias)], is_add), [LAST]);
        assert_eq!(shapes(&[&y.add(&y.constant_like(2.0))], is_add), [LAST]);
        // What is made of a place: an iota, and two values that are turned alike.
        let place = Expr::iota(&FIRST, 2, DType::F32, 0);
        assert_eq!(shapes(&[&y.add(&place)], is_add), [LAST]);
        assert_eq!(shapes(&[&y.add(&convolution(&buffer(&FIRST)))], is_add), [LAST]);
    }

    #[test]
    fn what_meets_an_input_as_large_lies_as_the_input() {
        let y = convolution(&buffer(&FIRST));
        assert_eq!(shapes(&[&y.add(&buffer(&FIRST))], is_add), [FIRST]);
        assert_eq!(shapes(&[&y.add(&buffer(&FIRST).unary(UnaryOp::Exp))], is_add), [FIRST]);
        // Unless it comes from a convolution as well, by way of something that does not turn.
        let scan = y.scan(unigrad_graph::ScanOp::Sum, 2, false);
        assert_eq!(shapes(&[&y.add(&scan)], is_add), [LAST]);
    }

    #[test]
    fn reductions_rename_their_axes() {
        let y = convolution(&buffer(&FIRST));
        let is = |op: &Op| matches!(op, Op::Reduce(ReduceOp::Max, _) | Op::ArgReduce(..));
        assert_eq!(shapes(&[&y.reduce(ReduceOp::Max, 0b1101)], is), [[1, 1, 1, 8]]);
        assert_eq!(shapes(&[&y.reduce(ReduceOp::Max, 0b0010)], is), [[2, 5, 7, 1]]);
        assert_eq!(shapes(&[&y.reduce(ReduceOp::Max, 0b0100)], is), [[2, 1, 7, 8]]);
        assert_eq!(shapes(&[&y.arg_reduce(unigrad_graph::ArgReduceOp::ArgMax, 1)], is), [[2, 5, 7, 1]]);
        // What is one number a channel has an order in common with what it was, so it goes with an input as it is.
        let mean = y.reduce(ReduceOp::Max, 0b1101);
        assert_eq!(shapes(&[&mean.add(&buffer(&[1, 8, 1, 1]))], is_add), [[1, 8, 1, 1]]);
        // And spreads over what is turned again.
        assert_eq!(shapes(&[&y.add(&mean.expand(&FIRST))], is_add), [LAST]);
    }

    #[test]
    fn views_rename_their_axes() {
        let y = convolution(&buffer(&FIRST));
        let last = |y: &Expr| shapes(&[&y.unary(UnaryOp::Exp)], is_unary);
        assert_eq!(last(&y.narrow(2, 1, 3)), [[2, 3, 7, 8]]);
        assert_eq!(last(&y.narrow(1, 2, 4)), [[2, 5, 7, 4]]);
        let pads = [PadAxis::default(), PadAxis { lo: 1, hi: 2, interior: 0 }, PadAxis { lo: 0, hi: 0, interior: 1 }, PadAxis::default()];
        assert_eq!(last(&y.pad(&pads, Literal::zero(DType::F32))), [[2, 9, 7, 11]]);
        assert_eq!(last(&y.window(3, 3, 2, 1)), [[2, 5, 3, 8, 3]]);
        assert_eq!(last(&y.expand(&[3, 2, 8, 5, 7])), [[3, 2, 5, 7, 8]]);
        let z = convolution(&buffer(&FIRST));
        assert_eq!(last(&Expr::concat(&[y.clone(), z.narrow(1, 0, 3)], 1)), [[2, 5, 7, 11]]);
        // A user's own permute to channels last leaves nothing to turn, and one to another order is another order.
        assert_eq!(last(&y.permute(&[0, 2, 3, 1])), [LAST]);
        assert_eq!(last(&y.permute(&[1, 0, 2, 3])), [LAST]);
    }

    #[test]
    fn reshapes_pass_where_neighbours_stay_neighbours() {
        let y = convolution(&buffer(&FIRST));
        let last = |y: &Expr| shapes(&[&y.unary(UnaryOp::Exp)], is_unary);
        // Height and width joined; channels in groups; axes of one element.
        assert_eq!(last(&y.reshape(&[2, 8, 35])), [[2, 35, 8]]);
        assert_eq!(last(&y.reshape(&[2, 2, 4, 5, 7])), [[2, 5, 7, 2, 4]]);
        assert_eq!(last(&y.reshape(&[2, 1, 8, 5, 7, 1])), [[2, 5, 7, 8, 1, 1]]);
        assert_eq!(last(&y.reshape(&[1, 2, 8, 35]).reshape(&[2, 8, 7, 5])), [[2, 7, 5, 8]]);
        // Channels joined with height have no place of their own: as it was.
        assert_eq!(last(&y.reshape(&[2, 40, 7])), [[2, 40, 7]]);
        assert_eq!(last(&y.reshape(&[2, 280])), [[2, 280]]);
        // The batch and channels are no neighbours.
        assert_eq!(last(&y.reshape(&[16, 5, 7])), [[16, 5, 7]]);
    }

    /// Where most of what convolutions make would be turned back, the planner does not begin.
    #[test]
    fn what_is_turned_back_is_counted_once() {
        let count = |y: &[Expr]| {
            let built = build::build(&Capture::new(y).unwrap(), Options { channels: Channels::Last, ..Options::default() }).unwrap();
            let sunk = rewrite(built.ir, &mut built.outputs.clone(), &built.turns);
            (sunk.results, sunk.turned_back)
        };
        let n: usize = FIRST.iter().product();
        let y = convolution(&buffer(&FIRST));
        let scan = |axis| y.scan(unigrad_graph::ScanOp::Sum, axis, false);
        assert_eq!(count(&[y.unary(UnaryOp::Exp)]), (n, 0));
        assert_eq!(count(&[scan(2), scan(3)]), (n, n));
        assert_eq!(count(&[convolution(&scan(2))]), (2 * n, n));
    }

    #[test]
    fn what_has_no_rule_reads_the_value_as_it_was() {
        let y = convolution(&buffer(&FIRST));
        let is = |op: &Op| matches!(op, Op::Scan { .. });
        assert_eq!(shapes(&[&y.scan(unigrad_graph::ScanOp::Sum, 2, false)], is), [FIRST]);
    }

    /// Between two convolutions nothing turns: the second one's permute meets the first one's.
    #[test]
    fn a_permute_meets_its_inverse() {
        let y = convolution(&convolution(&buffer(&FIRST)).unary(UnaryOp::Relu));
        let turns = || shapes(&[&y], |op| matches!(op, Op::Permute(perm) if perm.len() == 4));
        // Two weights, the input, and the output.
        assert_eq!(turns(), [vec![8, 3, 3, 8], LAST.to_vec(), vec![8, 3, 3, 8], FIRST.to_vec()]);
    }

    #[test]
    fn without_a_convolution_nothing_is_done() {
        let y = buffer(&FIRST).permute(&[0, 2, 3, 1]).unary(UnaryOp::Exp).permute(&[0, 3, 1, 2]).unary(UnaryOp::Relu);
        assert_eq!(shapes(&[&y], is_unary), [LAST, FIRST]);
    }
}
