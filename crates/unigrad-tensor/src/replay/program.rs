//! What a recorded call does, and how to do it again.
//!
//! In: what was evaluated while the function ran, twice. Out: a program; later, its results for other arguments.
//! Always: each input of an evaluation is an argument, a tensor that the call assigns, a variable, the result of an evaluation before, or a tensor that
//! is still held; each number is an argument, of a range of random numbers, or was the same in both calls.

use crate::{
    Error, Result, Tensor,
    eval::{self, Again, Pending, Setting, Tape, Word},
    random::{self, Generator},
    tensor::Handle,
};
use std::sync::{Arc, atomic::Ordering};
use unigrad_device::Device;
use unigrad_graph::{DType, Expr, NodeId, Op, Origin, Storage, VariableId, WeakExpr};
use unigrad_plan::resolved;

/// Where data comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// An argument.
    Input(usize),
    /// What a tensor that the call assigns holds before it.
    State(usize),
    /// A variable that the call only reads.
    Variable(VariableId),
    /// A result of an evaluation before.
    Made(usize, usize),
    /// Another tensor.
    Fixed(usize),
}

/// A tensor that the call assigns, and its new value.
struct State {
    handle: Handle,
    made: (usize, usize),
}

/// An evaluation.
struct Evaluation {
    device: Device,
    again: Again,
    externals: Vec<Source>,
    /// Which of them nothing else referred to.
    donatable: Vec<bool>,
    /// Leaves of the outputs' types, and where the user wrote them.
    outputs: Vec<(Expr, Origin)>,
    assigned: Vec<usize>,
}

/// What a call did.
pub(super) struct Digest {
    steps: Vec<Evaluation>,
    /// By step.
    words: Vec<Vec<Word>>,
    states: Vec<State>,
    results: Vec<Source>,
    fixed: Vec<Expr>,
    inputs: Vec<NodeId>,
    /// Seed, first counter and count of what it drew.
    ranges: Vec<random::Range>,
    settings: Vec<Setting>,
}

fn refused(cause: impl Into<String>, help: &str) -> Error {
    Error::argument(format!("a function that is replayed {}", cause.into()), help)
}

fn leaves_gradients() -> Error {
    refused("leaves gradients in parameters", "take them (`minimize`, `take_gradients`), or clear them (`zero_grad`) inside")
}

impl Digest {
    /// Of a call.
    pub(super) fn new(inputs: &[Expr], results: &[Expr], ranges: Vec<random::Range>, tape: Tape) -> Result<Digest> {
        let Tape { evaluations, assigned, read, first, settings, refused: obstacle } = tape;
        if let Some(error) = obstacle {
            return Err(error);
        }
        let made = |id: NodeId| {
            let in_step = |(e, step): (usize, &eval::Evaluated)| Some((e, step.outputs.iter().position(|output| output.id == id)?));
            evaluations.iter().enumerate().find_map(in_step)
        };
        let mut states: Vec<State> = Vec::new();
        let (mut before, mut at): (Vec<Option<NodeId>>, Vec<usize>) = (Vec::new(), Vec::new());
        for assigned in assigned {
            let Some(node) = assigned.handle.expr().map(resolved) else { continue };
            if let Some(known) = states.iter().position(|state| state.handle.same(&assigned.handle)) {
                if at[known] != assigned.at {
                    return Err(refused("assigns a tensor in two evaluations", "assign each tensor once, or read nothing in between"));
                }
                continue;
            }
            let Some(made) = made(node.id()) else {
                return Err(refused("assigns a tensor that it then gives another value", "assign each tensor once"));
            };
            if assigned.handle.has_grad() {
                return Err(leaves_gradients());
            }
            before.push(assigned.before);
            at.push(assigned.at);
            states.push(State { handle: assigned.handle, made });
        }
        let input_ids: Vec<NodeId> = inputs.iter().map(Expr::id).collect();
        let mut fixed: Vec<Expr> = Vec::new();
        let mut keep = |node: Expr| match fixed.iter().position(|known| known.same(&node)) {
            Some(at) => Source::Fixed(at),
            None => {
                fixed.push(node);
                Source::Fixed(fixed.len() - 1)
            }
        };
        let mut steps = Vec::with_capacity(evaluations.len());
        for (e, step) in evaluations.iter().enumerate() {
            let mut externals = Vec::with_capacity(step.externals.len());
            for external in &step.externals {
                let source = if let Some(input) = input_ids.iter().position(|id| *id == external.id) {
                    Source::Input(input)
                } else if let Some((of, output)) = made(external.id).filter(|(of, _)| *of < e) {
                    Source::Made(of, output)
                } else if let Some(state) = before.iter().position(|id| *id == Some(external.id)) {
                    Source::State(state)
                } else if let Some(variable) = external.variable {
                    if Tensor::from_variable(variable).is_some_and(|variable| variable.grad().is_some()) {
                        return Err(leaves_gradients());
                    }
                    Source::Variable(variable)
                } else if external.id >= first {
                    let cause = format!("makes a tensor of the host's data, which would be the same in each call (at {})", external.origin);
                    return Err(refused(cause, "make it outside, and let the function refer to it or take it as an argument"));
                } else if let Some(node) = external.node.upgrade() {
                    keep(node)
                } else {
                    return Err(refused(format!("reads a tensor that is gone afterwards (at {})", external.origin), "keep it outside"));
                };
                externals.push(source);
            }
            let outputs = step.outputs.iter().map(|output| (output.like.clone(), output.origin)).collect();
            let (device, again, donatable, assigned) = (step.device, step.ready.clone(), step.donatable.clone(), step.assigned.clone());
            steps.push(Evaluation { device, again, externals, donatable, outputs, assigned });
        }
        let of_result = |node: &Expr| {
            let input = inputs.iter().position(|input| input.same(node)).map(Source::Input);
            input.or_else(|| made(node.id()).map(|(e, o)| Source::Made(e, o))).unwrap_or_else(|| keep(node.clone()))
        };
        let results = results.iter().map(of_result).collect();
        // What has no data is part of what is computed; a handle that is given another value lets it go.
        for node in read.iter().filter_map(WeakExpr::upgrade).filter(|node| node.data().is_none() && !input_ids.contains(&node.id())) {
            if let Op::Variable(variable) = node.op()
                && Tensor::from_variable(*variable).is_some_and(|variable| variable.grad().is_some())
            {
                return Err(leaves_gradients());
            }
            keep(node);
        }
        let words = evaluations.into_iter().map(|step| step.scalars).collect();
        Ok(Digest { steps, words, states, results, fixed, inputs: input_ids, ranges, settings })
    }

    /// Whether both calls did the same, but for numbers.
    pub(super) fn is_like(&self, other: &Digest) -> bool {
        self.first_difference(other).is_none()
    }

    /// Whether both calls may have done the same, but that something else, such as another thread that reads, referred to a tensor in one of them:
    /// then it was not overwritten where it is.
    pub(super) fn was_shared(&self, other: &Digest) -> bool {
        let is_other = |(a, b): (&Evaluation, &Evaluation)| a.again != b.again && a.externals == b.externals && a.donatable != b.donatable;
        self.steps.len() == other.steps.len() && self.steps.iter().zip(&other.steps).any(is_other)
    }

    fn first_difference(&self, other: &Digest) -> Option<&'static str> {
        let same_step = |(a, b): (&Evaluation, &Evaluation)| a.device == b.device && a.again == b.again && a.assigned == b.assigned;
        let same_state = |(a, b): (&State, &State)| a.handle.same(&b.handle) && a.made == b.made;
        let counts = |digest: &Digest| digest.ranges.iter().map(|(_, _, count)| *count).collect::<Vec<u64>>();
        if self.steps.len() != other.steps.len() || !self.steps.iter().zip(&other.steps).all(same_step) {
            return Some("what it computes");
        }
        if self.steps.iter().zip(&other.steps).any(|(a, b)| a.externals != b.externals) {
            return Some("which tensors it reads");
        }
        if self.fixed.len() != other.fixed.len() || !self.fixed.iter().zip(&other.fixed).all(|(a, b)| a.same(b)) {
            return Some("a tensor that it reads and does not assign");
        }
        if self.states.len() != other.states.len() || !self.states.iter().zip(&other.states).all(same_state) {
            return Some("which tensors it assigns");
        }
        if self.results != other.results {
            return Some("which of the tensors it gives");
        }
        let is_same = |(a, b): (&Setting, &Setting)| Arc::ptr_eq(&a.0, &b.0) && a.1 == b.1;
        if self.settings.len() != other.settings.len() || !self.settings.iter().zip(&other.settings).all(is_same) {
            return Some("a setting, such as a learning rate");
        }
        (counts(self) != counts(other)).then_some("how many random numbers it draws")
    }

    /// The error of two calls that are not alike.
    pub(super) fn difference(&self, other: &Digest) -> Error {
        let what = self.first_difference(other).unwrap_or("nothing that is known");
        refused(format!("does other things from call to call: {what} differs"), "call it without `replay`, or move what differs out of it")
    }
}

/// Where a number comes from.
#[derive(Clone, Copy)]
enum Number {
    Fixed(u64),
    Input(usize),
    /// The seed of what is drawn.
    Seed,
    /// The first counter of a range that is drawn.
    First(usize),
}

/// A recorded call that can be run again.
pub(super) struct Recorded {
    steps: Vec<Evaluation>,
    numbers: Vec<Vec<Number>>,
    states: Vec<State>,
    results: Vec<Source>,
    fixed: Vec<Expr>,
    ranges: Vec<u64>,
    settings: Vec<Setting>,
}

impl Recorded {
    /// Of two calls that are alike.
    pub(super) fn new(before: &Digest, now: Digest) -> Result<Recorded> {
        let mut numbers = Vec::with_capacity(now.words.len());
        for (words, others) in now.words.iter().zip(&before.words) {
            let of = |(word, other): (&Word, &Word)| number(before, &now, word, other);
            numbers.push(words.iter().zip(others).map(of).collect::<Result<Vec<Number>>>()?);
        }
        let Digest { steps, states, results, fixed, ranges, settings, .. } = now;
        Ok(Recorded { steps, numbers, states, results, fixed, ranges: ranges.iter().map(|(_, _, count)| *count).collect(), settings })
    }

    /// Whether what was held fixed is as it was, as far as that can be seen.
    pub(super) fn is_current(&self) -> bool {
        // A tensor that nothing else refers to has been given another value, or is gone.
        self.settings.iter().all(|(setting, was)| setting.load(Ordering::Acquire) == *was)
            && self.fixed.iter().all(|node| node.reference_count() > 1)
    }

    /// Runs it.
    pub(super) fn run(&self, inputs: &[Expr]) -> Result<Vec<Tensor>> {
        let mut variables: Vec<(VariableId, Expr)> = Vec::new();
        let read = self.steps.iter().flat_map(|step| &step.externals).filter_map(|source| match source {
            Source::Variable(id) => Some(*id),
            Source::Input(_) | Source::State(_) | Source::Made(..) | Source::Fixed(_) => None,
        });
        for id in read {
            if variables.iter().all(|(known, _)| *known != id) {
                let variable = Tensor::from_variable(id).ok_or_else(gone)?;
                variables.push((id, with_data(variable.expr())?));
            }
        }
        for state in &self.states {
            with_data(state.handle.expr().ok_or_else(gone)?)?;
        }
        let drawn: Vec<(u64, u64)> = self.ranges.iter().map(|count| Generator::global().take(*count)).collect();
        let nodes: Vec<Vec<Expr>> = self.steps.iter().map(|step| step.outputs.iter().map(|(like, _)| like.stand_in()).collect()).collect();
        let _pending = Pending::new(self.states.iter().map(|state| nodes[state.made.0][state.made.1].clone()));
        // From here on other threads wait for the new values: no thread comes to the old ones any more that has not got them already.
        let mut held = Held { program: self, nodes: &nodes, before: Vec::with_capacity(self.states.len()) };
        for state in &self.states {
            let before = state.handle.replace(nodes[state.made.0][state.made.1].clone()).ok_or_else(gone)?;
            held.before.push(before);
        }
        let values: Vec<Expr> = held.before.iter().map(|before| resolved(before.clone())).collect();
        let mut pinned: Vec<Storage> = Vec::new();
        let mut pin = |node: &Expr| pinned.extend(node.data().cloned());
        held.before.iter().zip(&values).filter(|(before, value)| !is_free(before, value)).for_each(|(_, value)| pin(value));
        inputs.iter().chain(variables.iter().map(|(_, node)| node)).chain(&self.fixed).for_each(pin);
        for ((step, numbers), outputs) in self.steps.iter().zip(&self.numbers).zip(&nodes) {
            let externals = step.externals.iter().map(|source| match source {
                Source::Input(input) => Ok(inputs[*input].clone()),
                Source::State(state) => Ok(values[*state].clone()),
                Source::Variable(id) => variables.iter().find(|(known, _)| known == id).map(|(_, node)| node.clone()).ok_or_else(gone),
                Source::Made(step, output) => Ok(nodes[*step][*output].clone()),
                Source::Fixed(at) => Ok(self.fixed[*at].clone()),
            });
            let externals = externals.collect::<Result<Vec<Expr>>>()?;
            let word = |number: &Number| match number {
                Number::Fixed(word) => Ok(*word),
                Number::Input(input) => inputs[*input].scalar_value().map(|value| value.to_raw()).ok_or_else(not_a_number),
                Number::Seed => drawn.first().map(|(seed, _)| *seed).ok_or_else(not_a_number),
                Number::First(range) => drawn.get(*range).map(|(_, first)| *first).ok_or_else(not_a_number),
            };
            let words = numbers.iter().map(word).collect::<Result<Vec<u64>>>()?;
            let outputs: Vec<(&Expr, Origin)> = outputs.iter().zip(&step.outputs).map(|(node, (_, origin))| (node, *origin)).collect();
            step.again.run(step.device, &externals, &outputs, &step.assigned, &words)?;
        }
        let result = |source: &Source| match source {
            Source::Made(step, output) => Ok(Tensor::from_expr(nodes[*step][*output].clone())),
            Source::Input(input) => Ok(Tensor::from_expr(inputs[*input].clone())),
            Source::Fixed(at) => Ok(Tensor::from_expr(self.fixed[*at].clone())),
            Source::State(_) | Source::Variable(_) => Err(Error::Internal("a result of a replayed call is a tensor from before it".into())),
        };
        self.results.iter().map(result).collect()
    }
}

/// What a number is, that was `other` in the call before.
fn number(before: &Digest, now: &Digest, word: &Word, other: &Word) -> Result<Number> {
    if let Some(input) = now.inputs.iter().position(|input| *input == word.id) {
        return Ok(Number::Input(input));
    }
    let ranges = || before.ranges.iter().zip(&now.ranges);
    if word.dtype == DType::U64 {
        if ranges().next().is_some_and(|(was, is)| other.value == was.0 && word.value == is.0) {
            return Ok(Number::Seed);
        }
        if let Some(range) = ranges().position(|(was, is)| other.value == was.1 && word.value == is.1) {
            if word.value == other.value {
                return Err(refused(
                    "sets the seed of its random numbers",
                    "set it outside, or draw outside and give the numbers as an argument",
                ));
            }
            return Ok(Number::First(range));
        }
    }
    if word.value == other.value {
        return Ok(Number::Fixed(word.value));
    }
    let cause = format!("uses a number that differs from call to call (at {})", word.origin);
    Err(refused(cause, "give it as an argument: a tensor of rank 0"))
}

fn gone() -> Error {
    refused("assigns or reads a tensor that is gone", "keep the tensors that it refers to")
}

fn not_a_number() -> Error {
    Error::Internal("a replayed call lacks one of its numbers".into())
}

/// The node that holds a value, computed if that has not happened.
fn with_data(node: Expr) -> Result<Expr> {
    let node = resolved(node);
    if node.data().is_some() {
        return Ok(node);
    }
    eval::realize(std::slice::from_ref(&node))?;
    Ok(resolved(node))
}

/// Whether nothing else can come to a value: `before` is all there is of the tensor's old node, `value` what it stands for.
fn is_free(before: &Expr, value: &Expr) -> bool {
    if before.same(value) {
        return before.reference_count() == 2;
    }
    // A variable and its value.
    let is_next = before.input(0).is_some_and(|input| input.same(value));
    is_next && before.reference_count() == 1 && value.reference_count() == 2
}

/// The nodes that assigned tensors had before. Those whose new value has not been computed get them back when this drops.
struct Held<'a> {
    program: &'a Recorded,
    nodes: &'a [Vec<Expr>],
    /// By state, as far as they were replaced.
    before: Vec<Expr>,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        for (state, before) in self.program.states.iter().zip(self.before.drain(..)) {
            if self.nodes[state.made.0][state.made.1].data().is_none() {
                state.handle.put_back(before);
            }
        }
    }
}
