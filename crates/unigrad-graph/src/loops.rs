//! Loops: a function applied to each element of sequences, one after the other, as one node, whatever the length.
//!
//! In: a function of states and of one element of each sequence, which is called once with stand-ins; what else it takes (weights, run-time numbers)
//! becomes an input of the node by itself. Out: a node whose parts are the last states and, for each further result, the sequence of what
//! the steps gave. The planner puts the function's ops in the node's place, once for each step: steps are planned like ops that a program
//! writes one by one, so the sums over time that gradients make are still one product (`unigrad_plan::sums`), and what two loops
//! both compute is computed once.
//! Always: a loop does what its function does step by step, bit for bit. Its gradient is one loop in the other direction, with the states before
//! each step, and with one more state for each thing that every step takes: the sum of its gradients. So it can be differentiated any
//! number of times. Equal content is equal; the recorded graph is as large for one step as for a thousand.
//! Never: holds data, or a node.

use crate::{
    AxisNames, Composite, Error, ErrorKind, Expr, Factor, Inputs, Names, Op, SliceAxis, TensorType,
    autograd::{Vjp, gradients_of_all},
    composite::{Met, Walked},
    dims::{described, is_plain},
    next_id, no_grad_guard,
};
use smallvec::SmallVec;
use std::sync::Arc;
use unigrad_scalar::Literal;

/// What [`Op::Loop`] does. Its inputs are the states, the sequences, and what every step takes, in this order.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Loop {
    /// From arguments to new states and what the step gives.
    body: Arc<Composite>,
    /// Which of the node's inputs each argument of the body is; of a sequence its element.
    arguments: Vec<u32>,
    n_states: usize,
    n_sequences: usize,
    length: usize,
    /// What the sequences' axis is called.
    name: AxisNames,
    reverse: bool,
    parts: Vec<Arc<TensorType>>,
}

/// What a function gives: new states, and what goes into sequences.
pub type Given = (Vec<Expr>, Vec<Expr>);

/// Where an argument of a body comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// A state before the step.
    State(usize),
    /// The step's element of a sequence, which is this input of the node.
    Element(usize),
    /// This input of the node, whole.
    Whole(usize),
}

impl Loop {
    /// What `f` gives for states and the elements of sequences (along axis 0, which has `length` elements in each): the last states, and the
    /// sequences of what else it gives. With `reverse` from the last element to the first. A result of `f` of another type than its state's, and
    /// an op in it that cannot be repeated, is an error.
    #[track_caller]
    pub fn record(
        states: &[Expr],
        sequences: &[Expr],
        length: usize,
        reverse: bool,
        f: impl FnOnce(&[Expr], &[Expr]) -> Given,
    ) -> Result<Given, Arc<Error>> {
        Loop::record_with(states, sequences, &[], length, reverse, |states, elements, _| Ok(f(states, elements)))
    }

    /// As [`Loop::record`], with some of what every step takes as arguments of `f`.
    #[track_caller]
    fn record_with(
        states: &[Expr],
        sequences: &[Expr],
        wholes: &[Expr],
        length: usize,
        reverse: bool,
        f: impl FnOnce(&[Expr], &[Expr], &[Expr]) -> Result<Given, Error>,
    ) -> Result<Given, Arc<Error>> {
        let all: SmallVec<[&Expr; 8]> = states.iter().chain(sequences).chain(wholes).collect();
        if let Some(invalid) = Expr::check_inputs("scan", &all) {
            return Err(error_of(&invalid));
        }
        let mut stand_ins: Vec<Expr> = Vec::with_capacity(all.len());
        for state in states {
            stand_ins.push(state.stand_in());
        }
        for (i, sequence) in sequences.iter().enumerate() {
            if sequence.shape().first() != Some(&length) {
                let message = format!("sequence {i} is {:?}, where {length} elements along axis 0 are expected", sequence.shape());
                return Err(broken(ErrorKind::Shape, message, "give every sequence the same length along axis 0", &all));
            }
            stand_ins.push(sequence.element_stand_in());
        }
        let name = match name_of(sequences) {
            Ok(name) => name,
            Err(message) => return Err(broken(ErrorKind::Shape, message, crate::dims::FIXED, &all)),
        };
        for whole in wholes {
            stand_ins.push(whole.stand_in());
        }
        let since = next_id();
        let (own_states, rest) = stand_ins.split_at(states.len());
        let (elements, own_wholes) = rest.split_at(sequences.len());
        let (new, given) = f(own_states, elements, own_wholes)?;
        if new.len() != states.len() {
            let message = format!("the body gives {} states, and there are {}", new.len(), states.len());
            return Err(broken(ErrorKind::Argument, message, "give a new state for each state", &all));
        }
        // A state keeps its names.
        let kept = |(new, old): (Expr, &Expr)| if new.shape() == old.shape() { new.named_like(old) } else { new };
        let new: Vec<Expr> = new.into_iter().zip(states).map(kept).collect();
        for (i, (new, old)) in new.iter().zip(states).enumerate() {
            if new.error().is_none() && !new.is_same_type(old) {
                let (was, is) = (format!("{:?} {}", old.shape(), old.dtype()), format!("{:?} {}", new.shape(), new.dtype()));
                let message = format!("state {i} is {was} before a step and {is} after it");
                return Err(broken(ErrorKind::Shape, message, "a state keeps its shape, its dtype and its device", &all));
            }
        }
        let roots: Vec<Expr> = new.into_iter().chain(given).collect();
        #[expect(clippy::wildcard_enum_match_arm, reason = "every other op is repeated")]
        let met = |expr: &Expr| match expr.op() {
            _ if expr.id() < since || expr.data().is_some() => Met::Outside,
            Op::Buffer | Op::Scalar => Met::Outside,
            Op::Variable(_) | Op::Copy | Op::Commit(_) => Met::Foreign,
            _ => Met::Op,
        };
        let walked = match Walked::new(&stand_ins, &roots, &met)? {
            Ok(walked) => walked,
            Err(foreign) => {
                let message = format!("the body has an op that cannot be repeated: {} from {}", foreign.op().name(), foreign.origin());
                let help = "assign, move between devices, and call `requires_grad`, outside of the body";
                return Err(broken(ErrorKind::Argument, message, help, &all));
            }
        };
        if let Some(dim) = walked.own_dim() {
            let message = format!("the body names an axis `{}`, and nothing that it takes has the name at this size", dim.name());
            return Err(broken(ErrorKind::Argument, message, "name the axes of states and sequences, outside of the body", &all));
        }
        let arguments = walked.arguments.iter().map(|argument| *argument as u32).collect();
        let inputs: Inputs = all.into_iter().cloned().chain(walked.outside.iter().cloned()).collect();
        if let Some(invalid) = Expr::check_inputs("scan", &inputs.iter().collect::<Vec<_>>()) {
            return Err(error_of(&invalid));
        }
        let mut parts: Vec<Arc<TensorType>> = Vec::with_capacity(roots.len());
        for (i, root) in roots.iter().enumerate() {
            let of = root.node_type().tensor_type();
            if i < states.len() {
                parts.push(of.clone());
                continue;
            }
            // A leaf of the type, for its rules: not too many axes, and a size that memory could have.
            let sequence = root.sequence_stand_in(length, &name);
            if sequence.is_invalid() {
                return Err(error_of(&sequence));
            }
            parts.push(sequence.node_type().tensor_type().clone());
        }
        let body = Arc::new(walked.composite("scan"));
        let spec = Loop { body, arguments, n_states: states.len(), n_sequences: sequences.len(), length, name, reverse, parts };
        let parts = spec.call(inputs)?;
        let mut parts = parts.into_iter();
        Ok((parts.by_ref().take(states.len()).collect(), parts.collect()))
    }

    /// All parts of a node that does this.
    #[track_caller]
    fn call(self, inputs: Inputs) -> Result<Vec<Expr>, Arc<Error>> {
        // A gradient goes through the whole by its type: a float's, if there is one among the parts.
        let Some(of) = self.parts.iter().find(|of| of.dtype.is_float()).or(self.parts.first()).cloned() else { return Ok(Vec::new()) };
        let n_parts = self.parts.len();
        let whole = Expr::looped(Arc::new(self), inputs, &of);
        if whole.is_invalid() {
            return Err(error_of(&whole));
        }
        let mut parts = Vec::with_capacity(n_parts);
        for i in 0..n_parts {
            parts.push(whole.part(i));
        }
        Ok(parts)
    }

    /// The type of a part.
    pub(crate) fn part_type(&self, i: usize) -> Option<&Arc<TensorType>> {
        self.parts.get(i)
    }

    /// What is the same for plans: without users' gradients, and with named axes as long as their buckets. `None` if it is that already.
    pub(crate) fn general(&self) -> Option<Loop> {
        let own = self.body.general();
        let name = Names::new([self.name.clone()]).map(|names| names.general().axes()[0].clone()).unwrap_or_default();
        if own.is_none() && name == self.name && self.parts.iter().all(|of| Arc::ptr_eq(&of.kept(), of)) {
            return None;
        }
        let body = own.map_or_else(|| self.body.clone(), Arc::new);
        let parts = self.parts.iter().map(TensorType::kept).collect();
        Some(Loop { body, arguments: self.arguments.clone(), parts, name, length: self.memory_length(), ..*self })
    }

    /// How many steps there are, with those that are padding.
    pub fn memory_length(&self) -> usize {
        match self.name.is_empty() {
            true => self.length,
            false => self.name.iter().map(Factor::memory_size).product(),
        }
    }

    /// What the sequences' axis is called.
    pub fn name(&self) -> &[Factor] {
        &self.name
    }

    /// Whether it goes from the last element to the first.
    pub fn is_reverse(&self) -> bool {
        self.reverse
    }

    /// What each step does: arguments to new states, then what it gives.
    pub fn body(&self) -> &Composite {
        &self.body
    }

    /// How many states there are: the first results of the body, and the first parts.
    pub fn n_states(&self) -> usize {
        self.n_states
    }

    /// How many results of the body go into sequences.
    pub fn n_given(&self) -> usize {
        self.parts.len() - self.n_states
    }

    /// The type of the sequence of a further result.
    pub fn given_type(&self, i: usize) -> Option<&TensorType> {
        self.parts.get(self.n_states + i).map(|of| &**of)
    }

    /// What each argument of the body is.
    pub fn taken(&self) -> impl Iterator<Item = Taken> {
        self.arguments.iter().map(|argument| match *argument as usize {
            state if state < self.n_states => Taken::State(state),
            input if input < self.n_states + self.n_sequences => Taken::Element(input),
            input => Taken::Whole(input),
        })
    }

    /// The elements' positions, in the order of the steps.
    pub fn positions(&self) -> impl Iterator<Item = usize> {
        let (length, reverse) = (self.length, self.reverse);
        (0..length).map(move |step| if reverse { length - 1 - step } else { step })
    }

    /// The parts by the body's ops, step after step.
    #[track_caller]
    pub fn inline(&self, inputs: &[Expr]) -> Vec<Expr> {
        let mut states: Vec<Expr> = inputs.iter().take(self.n_states).cloned().collect();
        let mut given: Vec<Vec<Expr>> = vec![Vec::with_capacity(self.length); self.n_given()];
        for at in self.positions() {
            let mut arguments = Vec::with_capacity(self.arguments.len());
            for taken in self.taken() {
                arguments.push(match taken {
                    Taken::State(i) => states[i].clone(),
                    Taken::Element(i) => element(&inputs[i], at),
                    Taken::Whole(i) => inputs[i].clone(),
                });
            }
            let mut results = self.body.inline(&arguments).into_iter();
            states = results.by_ref().take(self.n_states).collect();
            given.iter_mut().zip(results).for_each(|(given, result)| given.push(result));
        }
        let mut parts = states;
        for (mut given, of) in given.into_iter().zip(&self.parts[self.n_states..]) {
            if self.reverse {
                given.reverse();
            }
            if given.is_empty() {
                parts.push(Expr::constant(Literal::zero(of.dtype), &of.shape, of.device));
                continue;
            }
            let mut rows = Vec::with_capacity(given.len());
            for given in given {
                let shape: SmallVec<[usize; 8]> = std::iter::once(1).chain(given.shape().iter().copied()).collect();
                rows.push(given.reshape(&shape));
            }
            parts.push(Expr::concat(&rows, 0));
        }
        parts
    }

    /// The gradients of a node's inputs for what arrives at some of its parts: one loop from the last step to the first.
    pub(crate) fn vjp(&self, v: &mut Vjp<'_>, arrived: &[(usize, Expr)]) -> Result<(), Error> {
        let inputs: Vec<Expr> = v.inputs.to_vec();
        let n_states = self.n_states;
        let first_whole = n_states + self.n_sequences;
        if inputs.len() < first_whole || self.arguments.iter().any(|argument| *argument as usize >= inputs.len()) {
            return Err((*Error::internal(v.node, "a scan has lost its inputs")).clone());
        }
        let of_part = |i: usize| arrived.iter().find(|(part, _)| *part == i).map(|(_, dy)| dy.clone());
        // Minus zero: what is added to it is unchanged, bit for bit.
        let nothing = |like: &Expr| like.constant_like(-0.0);
        let floats: Vec<usize> = (0..n_states).filter(|i| inputs[*i].dtype().is_float()).collect();
        let wanted_sequences: Vec<usize> = (n_states..first_whole).filter(|i| v.wants(*i)).collect();
        let wanted_wholes: Vec<usize> = (first_whole..inputs.len()).filter(|i| v.wants(*i)).collect();
        // The states before each step, by the same loop again: the planner computes it once.
        let saved: Vec<(u32, usize)> = self
            .taken()
            .enumerate()
            .filter_map(|(at, taken)| if let Taken::State(i) = taken { Some((at as u32, i)) } else { None })
            .collect();
        let mut parts = self.parts.clone();
        for (_, i) in &saved {
            parts.push(inputs[*i].sequence_stand_in(self.length, &self.name).node_type().tensor_type().clone());
        }
        let n_parts = self.parts.len();
        let body = Arc::new(self.body.with_arguments(&saved.iter().map(|(at, _)| *at).collect::<Vec<_>>()));
        let again = Loop { body, arguments: self.arguments.clone(), parts, name: self.name.clone(), ..*self };
        let before = again.call(v.inputs.clone()).map_err(|error| (*error).clone())?.split_off(n_parts);
        let given: Vec<(usize, Expr)> = (n_states..n_parts).filter_map(|i| Some((i, of_part(i)?))).collect();
        let states: Vec<Expr> = floats
            .iter()
            .map(|i| of_part(*i).unwrap_or_else(|| nothing(&inputs[*i]))) // DEFAULT: where no gradient arrives it is nothing
            .chain(wanted_wholes.iter().map(|i| nothing(&inputs[*i])))
            .collect();
        let sequences: Vec<Expr> =
            inputs[n_states..first_whole].iter().chain(&before).chain(given.iter().map(|(_, dy)| dy)).cloned().collect();
        let back = |states: &[Expr], elements: &[Expr], wholes: &[Expr]| -> Result<Given, Error> {
            let _guard = no_grad_guard();
            let (dy_states, sums) = states.split_at(floats.len());
            let (elements, rest) = elements.split_at(self.n_sequences);
            let (saved_states, dy_given) = rest.split_at(saved.len());
            let mut own: Vec<Expr> = Vec::with_capacity(self.arguments.len());
            for (at, taken) in self.taken().enumerate() {
                let found = match taken {
                    Taken::State(_) => saved.iter().position(|(saved, _)| *saved == at as u32).and_then(|place| saved_states.get(place)),
                    Taken::Element(i) => elements.get(i - n_states),
                    Taken::Whole(i) => wholes.get(i - first_whole),
                };
                own.push(found.ok_or_else(|| (*Error::internal(v.node, "an argument of a scan's step is missing")).clone())?.clone());
            }
            let results = self.body.inline(&own);
            let mut outputs: Vec<(Expr, Expr)> = floats.iter().zip(dy_states).map(|(i, dy)| (results[*i].clone(), dy.clone())).collect();
            outputs.extend(given.iter().zip(dy_given).map(|((i, _), dy)| (results[*i].clone(), dy.clone())));
            outputs.retain(|(result, _)| result.dtype().is_float());
            let found = gradients_of_all(&outputs, &own)?;
            let gradient_of =
                |wanted: Taken| self.taken().zip(&found).find(|(taken, _)| *taken == wanted).and_then(|(_, found)| found.clone());
            // What a step does not depend on has gradient 0.
            let mut new: Vec<Expr> = Vec::with_capacity(states.len());
            for (i, dy) in floats.iter().zip(dy_states) {
                new.push(gradient_of(Taken::State(*i)).unwrap_or_else(|| dy.zeros_like()));
            }
            for (i, sum) in wanted_wholes.iter().zip(sums) {
                new.push(gradient_of(Taken::Whole(*i)).map_or_else(|| sum.clone(), |gradient| sum.add(&gradient)));
            }
            let mut shares = Vec::with_capacity(wanted_sequences.len());
            for i in &wanted_sequences {
                shares.push(gradient_of(Taken::Element(*i)).unwrap_or_else(|| elements[*i - n_states].zeros_like()));
            }
            Ok((new, shares))
        };
        let wholes = &inputs[first_whole..];
        let (last, shares) =
            Loop::record_with(&states, &sequences, wholes, self.length, !self.reverse, back).map_err(|error| (*error).clone())?;
        for (i, share) in floats.iter().chain(&wanted_wholes).zip(last) {
            v.send_made(*i, share);
        }
        for (i, share) in wanted_sequences.iter().zip(shares) {
            v.send_made(*i, share);
        }
        Ok(())
    }
}

/// Element `at` of a sequence.
#[track_caller]
fn element(sequence: &Expr, at: usize) -> Expr {
    let axes: SmallVec<[SliceAxis; 8]> = sequence
        .shape()
        .iter()
        .enumerate()
        .map(|(axis, size)| if axis == 0 { SliceAxis { start: at, step: 1, len: 1 } } else { SliceAxis { start: 0, step: 1, len: *size } })
        .collect();
    sequence.slice(&axes).reshape(&sequence.shape()[1..])
}

/// What axis 0 of sequences is called.
fn name_of(sequences: &[Expr]) -> Result<AxisNames, String> {
    let Some(named) = sequences.iter().find(|sequence| sequence.is_named_axis(0)) else { return Ok(AxisNames::new()) };
    let name = named.axis_names(0);
    if let Some(other) = sequences.iter().find(|sequence| sequence.axis_names(0) != name) {
        return Err(format!("axis 0 of {:?} is named {}, that of {:?} is not", named.shape(), described(name), other.shape()));
    }
    match is_plain(name) {
        true => Ok(AxisNames::from(name)),
        false => Err(format!("steps along axis 0 of {:?}, which is named {}", named.shape(), described(name))),
    }
}

fn error_of(invalid: &Expr) -> Arc<Error> {
    match invalid.error() {
        Some(error) => error.clone(),
        None => Error::internal(invalid, "an invalid node without an error"),
    }
}

#[track_caller]
fn broken(kind: ErrorKind, message: String, help: &str, inputs: &[&Expr]) -> Arc<Error> {
    error_of(&Expr::fail(kind, "scan", message, help, inputs))
}
