//! What this thread evaluates while a function is recorded ([`crate::replay`]).
//!
//! In: evaluations as they are done, assignments before they are. Out: what each ran on, so that it can be run again.
//! Always: notes nodes by number, and weakly: a record keeps no data alive that the evaluation would overwrite.
//! Never: notes anything of another thread; lets the host read a value, for what the host does with it cannot be run again.

use super::{lanes::Site, prepare::Ready};
use crate::{Error, tensor::Handle};
use std::{
    cell::{Cell, RefCell},
    sync::{Arc, atomic::AtomicU64},
};
use unigrad_device::Device;
use unigrad_graph::{DType, Expr, NodeId, Origin, VariableId, WeakExpr, next_id};
use unigrad_plan::{Capture, resolved};

/// All evaluations of a recorded call.
#[derive(Default)]
pub(crate) struct Tape {
    pub(crate) evaluations: Vec<Evaluated>,
    pub(crate) assigned: Vec<Assigned>,
    /// Nodes without data that were there before.
    pub(crate) read: Vec<WeakExpr>,
    /// The first node of the call.
    pub(crate) first: NodeId,
    /// Settings that went into the graph as numbers: how often each had been changed.
    pub(crate) settings: Vec<Setting>,
    /// Why it cannot be run again.
    pub(crate) refused: Option<Error>,
}

/// A setting's count of changes, and what it was.
pub(crate) type Setting = (Arc<AtomicU64>, u64);

/// One evaluation.
pub(crate) struct Evaluated {
    pub(crate) device: Device,
    pub(crate) ready: Again,
    /// Nodes with data.
    pub(crate) externals: Vec<External>,
    /// Which of them could be overwritten: what nothing else refers to.
    pub(crate) donatable: Vec<bool>,
    /// Nodes that got data.
    pub(crate) outputs: Vec<Output>,
    /// Which of them were assigned.
    pub(crate) assigned: Vec<usize>,
    pub(crate) scalars: Vec<Word>,
}

/// A plan that has run.
#[derive(Clone)]
pub(crate) struct Again {
    pub(super) ready: Arc<Ready>,
    pub(super) site: &'static Site,
}

impl PartialEq for Again {
    fn eq(&self, other: &Again) -> bool {
        Arc::ptr_eq(&self.ready, &other.ready)
    }
}

pub(crate) struct External {
    pub(crate) id: NodeId,
    pub(crate) node: WeakExpr,
    /// The variable whose value it was.
    pub(crate) variable: Option<VariableId>,
    pub(crate) origin: Origin,
}

pub(crate) struct Output {
    pub(crate) id: NodeId,
    /// A leaf of its type.
    pub(crate) like: Expr,
    pub(crate) origin: Origin,
}

/// A run-time scalar.
pub(crate) struct Word {
    pub(crate) id: NodeId,
    pub(crate) value: u64,
    pub(crate) dtype: DType,
    pub(crate) origin: Origin,
}

/// A tensor that is assigned.
pub(crate) struct Assigned {
    pub(crate) handle: Handle,
    /// The node of its value before, if that had data.
    pub(crate) before: Option<NodeId>,
    /// How many evaluations there were before.
    pub(crate) at: usize,
}

thread_local! {
    static IS_ON: Cell<bool> = const { Cell::new(false) };
    static TAPE: RefCell<Tape> = RefCell::default();
}

/// Ends the recording when it drops, after a panic too.
struct Recording;

impl Drop for Recording {
    fn drop(&mut self) {
        IS_ON.set(false);
        drop(TAPE.take());
    }
}

/// Runs `f`, and gives what was evaluated meanwhile.
pub(crate) fn record<T>(f: impl FnOnce() -> Result<T, Error>) -> Result<(T, Tape), Error> {
    if IS_ON.replace(true) {
        let help = "record one function, which may call the other as it is";
        return Err(Error::argument("a function that is replayed calls another one that is", help));
    }
    let recording = Recording;
    TAPE.with_borrow_mut(|tape| tape.first = next_id());
    let result = f()?;
    let tape = TAPE.take();
    drop(recording);
    Ok((result, tape))
}

/// Whether this thread records.
pub(super) fn is_on() -> bool {
    IS_ON.get()
}

/// The recorded call cannot be run again.
pub(super) fn refuse(cause: &str, help: &str) {
    if is_on() {
        TAPE.with_borrow_mut(|tape| {
            tape.refused.get_or_insert_with(|| Error::argument(cause, help));
        });
    }
}

/// An error if this thread records: the host asks for a value.
pub(super) fn may_read() -> Result<(), Error> {
    if !is_on() {
        return Ok(());
    }
    let help = "return the tensor from the function, and read it outside";
    Err(Error::argument("a function that is replayed reads a value, and what the host makes of it could not be replayed", help))
}

/// A setting goes into the graph as a number; it counts its changes. A replay is recorded again when it has changed.
pub fn depends_on(setting: &Arc<AtomicU64>) {
    if is_on() {
        TAPE.with_borrow_mut(|tape| {
            let now = setting.load(std::sync::atomic::Ordering::Acquire);
            tape.settings.push((Arc::clone(setting), now));
        });
    }
}

/// Assignments that the next evaluation makes.
pub(super) fn note_assigned(handles: &[Handle]) {
    if !is_on() {
        return;
    }
    let assigned = handles.iter().filter_map(|handle| {
        let mut node = resolved(handle.expr().filter(|_| handle.is_assigned())?);
        while node.data().is_none() && super::is_assignment(&node) {
            node = resolved(node.input(1)?);
        }
        let before = node.data().is_some().then(|| node.id());
        Some((handle.clone(), before))
    });
    TAPE.with_borrow_mut(|tape| {
        let at = tape.evaluations.len();
        tape.assigned.extend(assigned.map(|(handle, before)| Assigned { handle, before, at }));
    });
}

/// An evaluation that was made.
pub(super) fn note(capture: &Capture, ready: &Arc<Ready>, device: Device, site: &'static Site) {
    if !is_on() {
        return;
    }
    if capture.is_named() {
        refuse("a function that is replayed works on named axes, whose sizes may change", "use plain sizes, or call the function itself");
    }
    let mut externals: Vec<External> = capture
        .externals
        .iter()
        .map(|node| External { id: node.id(), node: node.downgrade(), variable: None, origin: node.origin() })
        .collect();
    for (variable, at) in capture.variables() {
        externals[at].variable = Some(variable);
    }
    let word = |(node, value): (&Expr, &u64)| Word { id: node.id(), value: *value, dtype: node.dtype(), origin: node.origin() };
    let evaluated = Evaluated {
        device,
        ready: Again { ready: Arc::clone(ready), site },
        externals,
        donatable: capture.donatable.clone(),
        outputs: capture.outputs().map(|node| Output { id: node.id(), like: node.stand_in(), origin: node.origin() }).collect(),
        assigned: capture.assigned().collect(),
        scalars: capture.scalar_nodes().zip(&capture.scalars).map(word).collect(),
    };
    TAPE.with_borrow_mut(|tape| {
        let followed: Vec<NodeId> = capture.variables().map(|(_, at)| capture.externals[at].id()).collect();
        let is_followed = |node: &Expr| node.input(0).is_some_and(|input| followed.contains(&input.id()));
        tape.read.extend(capture.held_before(tape.first).filter(|node| !is_followed(node)).map(Expr::downgrade));
        tape.evaluations.push(evaluated);
    });
}
