//! Functions with a gradient of their own, for all slices.
//!
//! In: a recorded node with the user's gradient. Out: the value for all slices, whose gradient is the user's, itself mapped over the slices.
//! Always: the user's rule sees the recorded slice and what it was computed from; so what it has captured of the mapped function is that of each slice.

use super::{Batched, Mapping, Walk, rules::Rule, rules::repeated};
use crate::{CustomGradient, CustomOp, Error, Expr, Op};
use std::sync::Arc;

/// A gradient for one slice, as one for all.
#[derive(Debug)]
struct OfSlices {
    mapping: Arc<Mapping>,
    /// The recorded node.
    node: Expr,
    /// Which of its inputs, the value first, depend on the slice.
    mapped: Vec<bool>,
}

#[track_caller]
pub(super) fn apply(rule: &Rule<'_>, gradient: &CustomOp) -> Expr {
    let value = rule.x(0);
    let inputs: Vec<Expr> = rule.inputs[1..].iter().map(|input| input.expr.clone()).collect();
    // Nothing to send a gradient to: `detach` is one for all.
    if inputs.is_empty() {
        return Expr::custom(gradient.0.clone(), &value, &inputs);
    }
    let mapped = rule.inputs.iter().map(|input| input.mapped).collect();
    Expr::custom(Arc::new(OfSlices { mapping: rule.mapping.clone(), node: rule.node.clone(), mapped }), &value, &inputs)
}

impl CustomGradient for OfSlices {
    #[expect(clippy::wildcard_enum_match_arm, reason = "it asks for certain ops")]
    fn name(&self) -> &str {
        match self.node.op() {
            Op::Custom(gradient) => gradient.0.name(),
            _ => "vmap",
        }
    }

    fn backward(&self, inputs: &[Expr], output: &Expr, dy: &Expr) -> Result<Vec<Option<Expr>>, Error> {
        let Op::Custom(gradient) = self.node.op() else {
            return Err((*Error::internal(&self.node, "a gradient of the user's without one")).clone());
        };
        let own: Vec<Expr> = self.node.inputs().iter().skip(1).cloned().collect();
        let arrives = dy.slice_stand_in();
        let found = self.mapping.run(|| gradient.0.backward(&own, &self.node, &arrives))?;
        let mut walk = Walk::new(&self.mapping);
        walk.replace(&arrives, dy, true);
        walk.replace(&self.node, output, true);
        for ((old, new), mapped) in own.iter().zip(inputs).zip(self.mapped.iter().skip(1)) {
            walk.replace(old, new, *mapped);
        }
        let mut gradients = Vec::with_capacity(found.len());
        for (i, found) in found.into_iter().enumerate() {
            let Some(found) = found else {
                gradients.push(None);
                continue;
            };
            let Some(Batched { expr, mapped }) = walk.all(&[found])?.pop() else {
                return Err((*Error::internal(&self.node, "a gradient without a value")).clone());
            };
            let all = if mapped { expr } else { repeated(&expr, self.mapping.size) };
            gradients.push(Some(match self.mapped.get(i + 1) {
                Some(false) => all.sum(1).reshape(&all.shape()[1..]),
                _ => all,
            }));
        }
        Ok(gradients)
    }
}
