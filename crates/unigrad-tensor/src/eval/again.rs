//! An evaluation that was recorded, run on other data: no graph, no look-up.
//!
//! In: nodes with data for the plan's inputs, nodes without for its outputs, numbers. Out: data in the outputs.
//! Always: a thread that comes to an output before it has its data waits for it.
//! Never: overwrites an input that something else can still come to; the caller says which those are.

use super::{claims, run, tape::Again};
use crate::Error;
use std::sync::Arc;
use unigrad_device::Device;
use unigrad_graph::{Expr, Origin};

/// Nodes that are to get data, claimed until this drops.
pub(crate) struct Pending(Vec<Expr>);

impl Pending {
    /// Claims nodes that no other thread has seen.
    pub(crate) fn new(nodes: impl Iterator<Item = Expr>) -> Pending {
        Pending(nodes.filter(|node| node.claim().take()).collect())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.0.iter().for_each(|node| node.claim().give_back());
        claims::wake();
    }
}

impl Again {
    /// Runs the plan.
    pub(crate) fn run(
        &self,
        device: Device,
        externals: &[Expr],
        outputs: &[(&Expr, Origin)],
        assigned: &[usize],
        scalars: &[u64],
    ) -> Result<(), Error> {
        let bound = run::Bound { externals, outputs: outputs.to_vec(), assigned: assigned.to_vec(), scalars, drawn: Vec::new() };
        let buffers = run::compute(&bound, &self.ready, device, &self.site.lane(device.current_stream()));
        if device.is_lost() {
            self.site.clear();
        }
        for ((node, _), buffer) in outputs.iter().zip(buffers?) {
            node.set_data(Arc::new(buffer));
        }
        Ok(())
    }
}
