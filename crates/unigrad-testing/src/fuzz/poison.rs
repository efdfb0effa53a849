//! One leaf of a random program is read through an index out of range: what depends on it fails, and everything else is right.
//!
//! In: a program, a device. Out: `None`, or what was wrong. The same program with the index in range has the same plans, so results that do not
//! depend on the leaf are compared bit for bit.
//! Always: a result that does not depend on the leaf can be read; one that does is an error, or what it is without the bad index (where the
//! element that is out of range is not looked at).

use super::{Executor, RandomGraph, Rng, StepOp, build_with};
use crate::Values;
use std::collections::HashSet;
use unigrad_graph::Expr;
use unigrad_tensor::{Device, Tensor};

/// Whether a result is computed from the bad index.
fn depends(result: &Expr, source: &Expr) -> bool {
    let mut seen = HashSet::new();
    let mut stack = vec![result.clone()];
    while let Some(node) = stack.pop() {
        if node.same(source) {
            return true;
        }
        if seen.insert(node.id()) {
            stack.extend(node.inputs().iter().cloned());
        }
    }
    false
}

/// The program's results with one leaf read through an index; and which of them depend on it.
fn results(program: &RandomGraph, device: &Device, poisoned: usize, bad: bool) -> Result<Vec<(Tensor, bool)>, String> {
    let place = Executor::Device(device);
    let mut source: Option<Expr> = None;
    let mut leaf = |step: usize, values: &Values| {
        let plain = place.leaf(values);
        if step != poisoned {
            return plain;
        }
        let n = plain.numel() as i64;
        let mut index: Vec<i64> = (0..n).collect();
        if bad {
            index[(n / 2) as usize] = n;
        }
        let index = Tensor::from_slice(&index, [n as usize], device);
        source = Some(index.expr());
        plain.reshape([n as usize]).index_select(0, &index).reshape(plain.shape())
    };
    let results = build_with(program, place, &mut leaf)?;
    let source = source.ok_or("no leaf was poisoned")?;
    Ok(results.into_iter().map(|result| (result.clone(), depends(&result.expr(), &source))).collect())
}

/// Whether an error stays where it belongs; `None` for a program without a leaf to poison.
pub fn check_poisoned(program: &RandomGraph, device: &Device, seed: u64) -> Option<Result<(), String>> {
    let is_leaf = |step: &usize| matches!(&program.steps[*step].op, StepOp::Leaf(leaf) if leaf.shape.iter().product::<usize>() > 0);
    let leaves: Vec<usize> = (0..program.steps.len()).filter(is_leaf).collect();
    if leaves.is_empty() {
        return None;
    }
    let poisoned = *Rng(seed ^ 0x7015).pick(&leaves);
    Some(compare(program, device, poisoned))
}

fn compare(program: &RandomGraph, device: &Device, poisoned: usize) -> Result<(), String> {
    let all = |results: &[(Tensor, bool)]| Tensor::realize_all(&results.iter().map(|(tensor, _)| tensor).collect::<Vec<_>>());
    let bad = results(program, device, poisoned, true)?;
    // All at once, so that what fails and what does not share kernels. Where errors are found at once, this fails as a whole.
    let together = all(&bad);
    let good = results(program, device, poisoned, false)?;
    if together.is_ok() {
        all(&good).map_err(|error| format!("without an error: {error}"))?;
    }
    for (i, ((good, _), (bad, depends))) in good.iter().zip(&bad).enumerate() {
        let wanted = good.to_bytes().map_err(|error| format!("result {i} without an error: {error}"))?;
        match (bad.to_bytes(), depends) {
            (Ok(got), _) if got == wanted => {}
            (Ok(_), true) => return Err(format!("result {i} is wrong, and no error says so ({together:?})")),
            (Ok(_), false) => return Err(format!("result {i} does not depend on the error, and is not what it is without")),
            (Err(_), true) => {}
            (Err(error), false) => return Err(format!("result {i} does not depend on the error, and cannot be read: {error}")),
        }
    }
    // What comes later is not concerned.
    let after = Tensor::from_slice(&[1.5f32, 2.5], [2], device).sum(()).item::<f32>().map_err(|error| format!("afterwards: {error}"))?;
    if after == 4.0 { Ok(()) } else { Err(format!("afterwards 1.5 + 2.5 is {after}")) }
}
