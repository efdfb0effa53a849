//! Loops whose sequences, states or other inputs have named axes: laid out step by step.
//!
//! In: a loop as it was recorded, its inputs in memory. Out: its parts in memory, by the body's ops once for each step of the bucket.
//! Always: a state after a step that is padding is the one before it, whatever the step makes of what lies there; forward such steps are the last
//! ones, backward the first. What such a step gives lies in the padding of its sequence.
//! A sequence that a loop gives is taken element by element by another one, as [`crate::unroll`] does it.

use super::{At, Layout};
use rustc_hash::FxHashMap;
use unigrad_graph::{DType, Expr, Inputs, Literal, Loop, NodeId, Op, Shape, Taken};

/// The parts of a loop.
pub(super) fn parts(layout: &mut Layout, at: &At<'_>, spec: &Loop) -> Result<Vec<Expr>, String> {
    let body = spec.body();
    let stand_ins = body.stand_ins();
    let nodes: Vec<Expr> = body.nodes(&stand_ins);
    let length = spec.memory_length();
    let size = match spec.name() {
        [] => None,
        name => {
            let like = Expr::constant(Literal::zero(DType::I64), &[], at.expr.device());
            Some(layout.total(name, &like)?)
        }
    };
    let input = |i: usize| at.inputs.get(i).ok_or("a scan has lost its inputs");
    let mut states: Vec<Expr> = (0..spec.n_states()).map(|i| input(i).cloned()).collect::<Result<_, _>>()?;
    let mut given: Vec<Vec<Expr>> = vec![Vec::with_capacity(length); spec.n_given()];
    for step in 0..length {
        let place = if spec.is_reverse() { length - 1 - step } else { step };
        let mut known: FxHashMap<NodeId, Expr> = FxHashMap::default();
        for (stand_in, taken) in stand_ins.iter().zip(spec.taken()) {
            let value = match taken {
                Taken::State(i) => states.get(i).ok_or("a state that a scan has not")?.clone(),
                Taken::Element(i) => element(layout, input(i)?, place)?,
                Taken::Whole(i) => input(i)?.clone(),
            };
            known.insert(stand_in.id(), value);
        }
        for node in nodes.iter().skip(stand_ins.len()) {
            let recorded: Inputs = node.inputs().clone();
            let inputs = recorded.iter().map(|input| known.get(&input.id()).cloned().ok_or("a step's input that was not laid out"));
            let inputs = inputs.collect::<Result<Inputs, _>>()?;
            let laid_out = layout.node(&At { expr: node, recorded, inputs })?;
            if let Some(error) = laid_out.error() {
                return Err(error.to_string());
            }
            known.insert(node.id(), laid_out);
        }
        let results = body.results().iter().map(|result| nodes.get(*result as usize).and_then(|node| known.get(&node.id()).cloned()));
        let results: Vec<Expr> = results.map(|result| result.ok_or("a result of a scan's step is missing")).collect::<Result<_, _>>()?;
        let (new, gives) = results.split_at(spec.n_states());
        let counts = size.as_ref().map(|size| size.gt(&size.literal_like(Literal::int(DType::I64, place as i64))));
        let kept = |(new, old): (&Expr, &Expr)| match &counts {
            Some(counts) => counts.expand(new.shape()).select(new, old),
            None => new.clone(),
        };
        states = new.iter().zip(&states).map(kept).collect();
        given.iter_mut().zip(gives).for_each(|(given, one)| given.push(one.clone()));
    }
    let mut parts = states;
    for (i, mut elements) in given.into_iter().enumerate() {
        if spec.is_reverse() {
            elements.reverse();
        }
        let mut rows = Vec::with_capacity(elements.len());
        for element in &elements {
            let shape: Shape = std::iter::once(1).chain(element.shape().iter().copied()).collect();
            rows.push(element.reshape(&shape));
        }
        let of = spec.given_type(i).ok_or("a scan gives a sequence of no type")?;
        let sequence = match rows.is_empty() {
            true => {
                let shape = of.names().map_or_else(|| of.shape().clone(), |names| names.memory_shape(of.shape()));
                Expr::constant(Literal::zero(of.dtype()), &shape, at.expr.device())
            }
            false => Expr::concat(&rows, 0),
        };
        layout.elements.insert(sequence.id(), elements);
        parts.push(sequence);
    }
    Ok(parts)
}

/// Element `place` of a sequence in memory.
fn element(layout: &Layout, sequence: &Expr, place: usize) -> Result<Expr, String> {
    if let Some(element) = layout.elements.get(&sequence.id()).and_then(|elements| elements.get(place)) {
        return Ok(element.clone());
    }
    let shape = sequence.shape().get(1..).ok_or("a sequence without an axis")?;
    Ok(sequence.narrow(0, place, 1).reshape(shape))
}

/// The node of a loop stands for its first float part, or its first one; [`Op::Part`]s are found by the loop's node.
pub(super) fn whole(layout: &mut Layout, at: &At<'_>, spec: &Loop) -> Result<Expr, String> {
    if at.recorded.iter().all(|input| !input.is_named()) {
        return Ok(at.from(at.inputs.clone()));
    }
    let parts = parts(layout, at, spec)?;
    let own = parts.iter().find(|part| part.dtype().is_float()).or(parts.first()).ok_or("a scan without parts")?.clone();
    layout.parts.insert(at.expr.id(), parts);
    Ok(own)
}

/// Part `i` of a node.
pub(super) fn part(layout: &Layout, at: &At<'_>, i: usize) -> Result<Expr, String> {
    match layout.parts.get(&at.of(0).id()) {
        Some(parts) => parts.get(i).cloned().ok_or_else(|| format!("{} has no part {i}", Op::Part(i).name())),
        None => Ok(at.from(at.inputs.clone())),
    }
}
