//! Loops taken apart: the body's ops once for each step.
//!
//! In: a loop and the nodes of its inputs. Out: the nodes of its parts: last states, and sequences as concatenations of what the steps gave.
//! Why not one body that is launched again and again: ops that stand one by one fuse with what is around them, lie in memory as everything else
//! does, and what gradients sum over steps is found by `step_sums` and becomes one product; a step of a recurrent layer is a few kernels, as it would be
//! in a body. A plan is as long as the sequence, which is linear, but thousands of steps take as long to plan as the same ops written one by one.
//! Always: what one loop gave is taken by another element by element, without the sequence between them: a gradient's loop finds the
//! states of the forward loop so, and the sequence is not stored for it.

use crate::build::Builder;
use crate::ir::{Id, IrNode, IrOp};
use smallvec::{SmallVec, smallvec};
use unigrad_graph::{Expr, Literal, Loop, Op, SliceAxis, Taken};

impl Builder {
    /// The parts of a loop.
    pub(crate) fn steps(&mut self, spec: &Loop, inputs: &[Id]) -> Result<Vec<Id>, String> {
        // The body's nodes are made once: for each step they stand for others.
        let stand_ins = spec.body().stand_ins();
        let nodes: Vec<Expr> = spec.body().nodes(&stand_ins);
        let input = |i: usize| inputs.get(i).copied().ok_or("a scan has lost its inputs");
        let mut states: Vec<Id> = (0..spec.n_states()).map(input).collect::<Result<_, _>>()?;
        let mut given: Vec<Vec<Id>> = vec![Vec::new(); spec.n_given()];
        let positions: Vec<usize> = spec.positions().collect();
        for at in &positions {
            nodes.iter().for_each(|node| _ = self.id_of.remove(&node.id()));
            for (stand_in, taken) in stand_ins.iter().zip(spec.taken()) {
                let id = match taken {
                    Taken::State(i) => states[i],
                    Taken::Element(i) => self.element(input(i)?, *at),
                    Taken::Whole(i) => input(i)?,
                };
                self.id_of.insert(stand_in.id(), id);
            }
            for node in &nodes {
                self.expand(node)?;
            }
            let results =
                spec.body().results().iter().map(|result| nodes.get(*result as usize).and_then(|node| self.id_of.get(&node.id())));
            let results: Vec<Id> = results.map(|id| id.copied().ok_or("a result of a scan's step is missing")).collect::<Result<_, _>>()?;
            let (new, gives) = results.split_at(spec.n_states());
            states = new.to_vec();
            given.iter_mut().zip(gives).for_each(|(given, id)| given.push(*id));
        }
        let backward = positions.first() > positions.last();
        for (i, mut elements) in given.into_iter().enumerate() {
            if backward {
                elements.reverse();
            }
            let sequence = self.sequence(spec, i, &elements)?;
            states.push(sequence);
            self.elements.insert(sequence, elements);
        }
        Ok(states)
    }

    /// Element `at` of a sequence.
    fn element(&mut self, sequence: Id, at: usize) -> Id {
        if let Some(element) = self.elements.get(&sequence).and_then(|elements| elements.get(at)) {
            return *element;
        }
        let node = self.ir.node(sequence).clone();
        let whole = |size: &usize| SliceAxis { start: 0, step: 1, len: *size };
        let axes: Box<[SliceAxis]> =
            std::iter::once(SliceAxis { start: at, step: 1, len: 1 }).chain(node.shape.iter().skip(1).map(whole)).collect();
        let mut shape = node.shape.clone();
        shape.iter_mut().take(1).for_each(|size| *size = 1);
        let row = self.ir.add(IrNode { op: IrOp::Op(Op::Slice(axes)), inputs: smallvec![sequence], shape, ..node.clone() });
        let shape = node.shape.iter().skip(1).copied().collect();
        self.ir.add(IrNode { op: IrOp::Op(Op::Reshape), inputs: smallvec![row], shape, ..node })
    }

    /// What the steps gave, along a new axis 0.
    fn sequence(&mut self, spec: &Loop, i: usize, elements: &[Id]) -> Result<Id, String> {
        let of = spec.given_type(i).ok_or("a scan gives a sequence of no type")?;
        let (origin, recorded) = (unigrad_graph::Origin::current(), self.recorded);
        let whole = |op: Op, inputs: SmallVec<[Id; 3]>| IrNode {
            op: IrOp::Op(op),
            inputs,
            shape: of.shape().clone(),
            dtype: of.dtype(),
            origin,
            recorded,
        };
        if elements.is_empty() {
            return Ok(self.ir.add(whole(Op::Const(Literal::zero(of.dtype())), SmallVec::new())));
        }
        let mut rows: SmallVec<[Id; 3]> = SmallVec::with_capacity(elements.len());
        for element in elements {
            let node = self.ir.node(*element).clone();
            let shape = std::iter::once(1).chain(node.shape.iter().copied()).collect();
            rows.push(self.ir.add(IrNode { op: IrOp::Op(Op::Reshape), inputs: smallvec![*element], shape, ..node }));
        }
        if let [row] = rows.as_slice() {
            return Ok(*row);
        }
        Ok(self.ir.add(whole(Op::Concat { axis: 0 }, rows)))
    }
}
