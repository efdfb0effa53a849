//! Kernels side by side: their programs as parts of one, as far as a launch can pass what all of them need.
//!
//! In: kernels that need nothing of each other. Out: their steps, those of several kernels as one: the first of all kernels, then the second ones.
//! Always: each kernel's result is what it is alone, bit for bit: it only has as many threads in a workgroup as the others.
//! Never: joins what leaves a limit of the target; then there are more steps.

use super::{Lowered, ProgramArg, ProgramLaunch, Unsupported, checked, region};
use unigrad_ir::{Program, Target, join, validate};
use unigrad_kernel::Joined;

/// Lowers kernels that are one launch.
pub(super) fn lower(joined: &Joined, target: &Target) -> Result<Lowered, Unsupported> {
    let beside = Target { workgroup: Some(region::workgroup(target)), ..target.clone() };
    let (mut all, mut ends) = (Lowered::default(), vec![0]);
    let (mut n_args, mut n_scalars) = (0, 0);
    for part in &joined.parts {
        all = all.then(checked(part, &beside)?, n_args, n_scalars);
        n_args += part.n_args();
        n_scalars += part.scalars().len();
        ends.push(all.steps.len());
    }
    let steps = |part: usize| &all.steps[ends[part]..ends[part + 1]];
    let rounds = (0..joined.parts.len()).map(|part| steps(part).len()).max().unwrap_or(0);
    let mut together = Vec::new();
    for round in 0..rounds {
        // The steps that are one by now, and what that is.
        let mut some: Vec<(Vec<&ProgramLaunch>, ProgramLaunch)> = Vec::new();
        for step in (0..joined.parts.len()).filter_map(|part| steps(part).get(round)).filter(|step| !step.grid.contains(&0)) {
            let place = some.iter_mut().find_map(|(of, one)| {
                of.push(step);
                match beside_each_other(of, target) {
                    Some(whole) => {
                        *one = whole;
                        Some(())
                    }
                    None => {
                        of.pop();
                        None
                    }
                }
            });
            if place.is_none() {
                some.push((vec![step], step.clone()));
            }
        }
        together.extend(some.into_iter().map(|(_, step)| step));
    }
    Ok(Lowered { steps: together, scratch: all.scratch })
}

/// Steps as one, if a launch can do them all.
fn beside_each_other(steps: &[&ProgramLaunch], target: &Target) -> Option<ProgramLaunch> {
    let mut groups = 0u32;
    for step in steps {
        let [along, 1, 1] = step.grid else { return None };
        groups = groups.checked_add(along).filter(|groups| *groups <= target.max_grid[0].min(1 << 30))?;
    }
    if !target.branches_over_barriers() && steps.iter().any(|step| step.program.has_barriers()) {
        return None;
    }
    let programs: Vec<&Program> = steps.iter().map(|step| &step.program).collect();
    let program = join(&format!("{}_and_more", programs.first()?.name), &programs)?;
    validate(&program, target).ok()?;
    let args = steps.iter().flat_map(|step| step.args.iter().cloned());
    let counts = steps.iter().map(|step| ProgramArg::Word(step.grid[0].into()));
    Some(ProgramLaunch { program, grid: [groups, 1, 1], args: args.chain(counts).collect() })
}
