//! Updates at a run-time position, as of a decode loop's cache: the memory of what is updated is taken over, and only the update is written.
//!
//! In: a `DynUpdate` that is stored. Out: launches: what is updated goes where the result is to be, then the update is written over it.
//! Always: the first launch is a plain copy where what is updated is in memory; [`crate::memory`] leaves it out where the result takes that
//! memory over. The update is computed once per element. Where the position is out of range, no element changes.
//! Never: decides whose memory may be overwritten.

use crate::emit::{Axis, Part, Store, Task, emit_written_out};
use crate::ir::Id;
use crate::lower::{Launch, Lowering};
use rustc_hash::FxHashSet;
use smallvec::smallvec;
use unigrad_graph::Shape;
use unigrad_kernel::{Index, Inst, InstOp, Kernel, Level, Region, Value};

impl Lowering<'_> {
    /// Lowers an update along an axis.
    pub(crate) fn update(&self, whole: Id, axis: usize, launches: &mut Vec<Launch>) -> Result<(), String> {
        if !self.stored.contains(&whole) {
            return Ok(());
        }
        let node = self.ir.node(whole);
        let (base, update, position) = (node.inputs[0], node.inputs[1], node.inputs[2]);
        let start = Shape::from_elem(0, node.shape.len());
        if self.ir.numel(update) < self.ir.numel(whole) {
            let below = self.ir.in_memory_as(base);
            let filled = if self.stored.contains(&below) {
                self.copy(below, whole)
            } else {
                self.write(base, Part { whole, start: start.clone(), moved: None }, "dyn_update.base")?
            };
            launches.push(filled);
        }
        let places = node.shape[axis] - self.ir.node(update).shape[axis] + 1;
        launches.push(self.write(update, Part { whole, start, moved: Some((axis, position, places)) }, "dyn_update")?);
        Ok(())
    }

    /// Computes a node where its part of another is.
    fn write(&self, node: Id, part: Part, name: &str) -> Result<Launch, String> {
        let whole = part.whole;
        let store = [Store { node, level: Level::Full, into: Some(part) }];
        let inside = FxHashSet::default();
        let task = Task { ir: self.ir, stored: self.stored, inside: &inside, acc: None, stores: &store, may_split: true };
        let axes = vec![Axis { size: self.ir.numel(node), reduce: false }];
        Ok(self.launch_of(emit_written_out(&task, name.into(), axes)?, whole))
    }

    /// The same elements in the same order.
    pub(crate) fn copy(&self, from: Id, to: Id) -> Launch {
        let node = self.ir.node(to);
        let index = Index { strides: smallvec![1], ..Index::default() };
        let load = InstOp::Load { arg: 0, index: index.clone(), mask: None };
        let store = InstOp::Store { arg: 1, index, value: Value(0) };
        let region = Region {
            name: "copy".into(),
            axes: smallvec![self.ir.numel(to)],
            n_parallel: 1,
            args: vec![self.arg(from, false), self.arg(to, true)],
            scalars: Vec::new(),
            insts: vec![Inst { op: load, dtype: node.dtype }, Inst { op: store, dtype: node.dtype }],
        };
        let scalars = Vec::new();
        let name = region.name.clone();
        Launch { kernel: Kernel::Region(region), args: vec![from, to], scalars, name, origin: node.origin, is_copy: true }
    }
}
