//! What a node was computed from, once evaluation has let its inputs go.
//!
//! In: the nodes below a node that others still hold. Out: whether a gradient through the node could have gone to one of them.
//! Always: a node that may have been below says so: where there are too many to list, all older ones may.
//! Never: keeps a node's data or inputs alive.

use crate::{Expr, NodeId, WeakExpr};
use std::sync::Arc;

/// More than this many are not listed.
const MOST: usize = 64;

/// The nodes that a node with no inputs any more was computed from, as far as a caller can still ask for a gradient with respect to them.
#[derive(Clone, Debug)]
pub struct Below(List);

#[derive(Clone, Debug)]
enum List {
    These(Vec<(NodeId, WeakExpr)>),
    /// Too many to list.
    All,
}

impl Below {
    /// Of a node computed from `nodes`, each with what it was computed from itself. `None` if there are none.
    pub fn of<'a>(nodes: impl IntoIterator<Item = &'a Expr>) -> Option<Arc<Below>> {
        let mut these: Vec<(NodeId, WeakExpr)> = Vec::new();
        for node in nodes {
            these.push((node.id(), node.downgrade()));
            match node.below().map(|below| &below.0) {
                Some(List::These(others)) => these.extend(others.iter().filter(|(_, node)| node.is_alive()).cloned()),
                Some(List::All) => return Some(Below::all()),
                None => {}
            }
        }
        these.sort_by_key(|(id, _)| *id);
        these.dedup_by_key(|(id, _)| *id);
        match these.len() {
            0 => None,
            n if n > MOST => Some(Below::all()),
            _ => Some(Arc::new(Below(List::These(these)))),
        }
    }

    /// Of a node computed from more than can be listed.
    pub fn all() -> Arc<Below> {
        Arc::new(Below(List::All))
    }

    /// Whether the node may be one of them.
    pub(crate) fn may_hold(&self, node: &Expr) -> bool {
        match &self.0 {
            List::These(these) => these.binary_search_by_key(&node.id(), |(id, _)| *id).is_ok(),
            List::All => true,
        }
    }
}
