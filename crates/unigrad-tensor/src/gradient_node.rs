//! The graph of a gradient, to walk and not to change.
//!
//! In: a tensor that a gradient flows to. Out: what computed it, from the result to the leaves.
//! Always: a node is one of the recorded graph, so it is what a backward pass goes through.
//! Never: what no gradient flows to, nor anything that a finished backward pass has let go.

use crate::tensor::Tensor;
use unigrad_graph::{Expr, Op, VariableId};

/// What computed a tensor, or the leaf that it is.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_tensor::{Device, GradientNode, Tensor};
///
/// let x = Tensor::new([1.0f32, 2.0], &Device::open("cpu")?).requires_grad();
/// let node = GradientNode::of(&(&x * 2.0).exp()).unwrap();
/// assert_eq!(node.op(), "exp");
/// let product = node.next()[0].clone().unwrap();
/// // Two factors: a leaf, and a number, which has no gradient.
/// let factors = product.next();
/// assert_eq!(factors.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false]);
/// assert!(factors[0].as_ref().unwrap().variable().is_some());
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct GradientNode(Expr);

impl GradientNode {
    /// The node of a tensor; nothing where no gradient flows to it.
    pub fn of(tensor: &Tensor) -> Option<GradientNode> {
        Self::of_expr(&tensor.expr())
    }

    fn of_expr(expr: &Expr) -> Option<GradientNode> {
        expr.needs_grad().then(|| GradientNode(expr.clone()))
    }

    fn variable_id(&self) -> Option<VariableId> {
        if let Op::Variable(id) = self.0.op() { Some(*id) } else { None }
    }

    /// The name of the op.
    pub fn op(&self) -> &str {
        self.0.op().name()
    }

    /// A node for each input of the op, or nothing for one to which no gradient flows. A leaf has none.
    pub fn next(&self) -> Vec<Option<GradientNode>> {
        // What a leaf is computed from is its value, and no gradient goes there.
        if self.is_leaf() { Vec::new() } else { self.0.inputs().iter().map(Self::of_expr).collect() }
    }

    /// Whether gradients add up here.
    pub fn is_leaf(&self) -> bool {
        self.variable_id().is_some()
    }

    /// The tensor in which gradients add up; nothing of what is no leaf, or where all handles to it are gone.
    pub fn variable(&self) -> Option<Tensor> {
        Tensor::from_variable(self.variable_id()?)
    }

    /// What tells nodes apart: whether it is a leaf, and a number. That of a leaf stays when the leaf gets another value.
    pub fn key(&self) -> (bool, u64) {
        self.variable_id().map_or_else(|| (false, self.0.id()), |id| (true, id.0))
    }
}
