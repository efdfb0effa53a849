//! Random graphs some of whose leaves have named axes: longer in memory than they are, with NaN beyond.
//!
//! In: a program, a device. Out: `None` where an op says that it has no rule for the names; or what is wrong.
//! Always: axes of one size have one name, so that they go together where the program joins them; results and gradients are those of the oracle, which
//! knows no names, within the program's own tolerance.

use super::{Executor, RandomGraph, Rng, build_with, caught, difference, expect};
use unigrad_graph::Dim;
use unigrad_tensor::{Device, Tensor, eval};

/// What an op says that has no rule for a named axis.
const NO_RULE: &str = "takes an axis's name away";

/// As [`super::check`], with names for all axes of some sizes that `seed` chooses.
pub fn check_named(program: &RandomGraph, device: &Device, seed: u64) -> Option<Result<(), String>> {
    let mut leaves: Vec<(usize, usize)> = Vec::new();
    let mut rng = Rng(seed ^ 0x6e61_6d65);
    let first = rng.below(8) + 1;
    let mut leaf = |_: usize, values: &crate::Values| {
        let mut tensor = Executor::Device(device).leaf(values);
        let before = eval::set_padding(u8::MAX);
        for (axis, size) in values.shape.iter().enumerate().filter(|(_, size)| **size > 0) {
            // The same answer for all axes of a size.
            if !Rng(seed.wrapping_mul(31).wrapping_add(*size as u64)).once_in(2) {
                continue;
            }
            if let Ok(dim) = Dim::named(&format!("of {size}"), 1..=4 * size) {
                tensor = tensor.with_dim(axis as isize, &dim.first_bucket(size + first));
                leaves.push((axis, *size));
            }
        }
        eval::set_padding(before);
        tensor
    };
    let results = caught(|| {
        let tensors = build_with(program, Executor::Device(device), &mut leaf)?;
        Tensor::realize_all(&tensors.iter().collect::<Vec<_>>()).map_err(|error| error.to_string())?;
        tensors.iter().map(crate::run::values_of).collect::<Result<Vec<_>, String>>()
    });
    if leaves.is_empty() {
        return None;
    }
    let wrong = match results {
        Err(error) if error.contains(NO_RULE) => return None,
        Err(error) => Some(error),
        Ok(got) => match expect(program, device.id()) {
            Ok(expected) => difference(program, &got, &expected),
            Err(error) => Some(format!("the oracle fails: {error}")),
        },
    };
    Some(wrong.map_or(Ok(()), |wrong| Err(format!("with names for {leaves:?} (axis, size): {wrong}\n{program}"))))
}
