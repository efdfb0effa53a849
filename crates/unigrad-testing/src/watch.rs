//! Every plan that a thread makes, looked at while other tests run: no two live buffers overlap, and what fusion makes reads back from its text.
//!
//! In: captures, before they are evaluated. Out: a panic, which the test at hand reports as its own failure.
//! Always: looks at the plan that the evaluation gets, at the same one with other inputs to overwrite, and within half the memory.

use std::{cell::RefCell, rc::Rc};
use unigrad_kernel::{Kernel, Library, Region};
use unigrad_plan::{
    Capture, Options,
    testing::{check_memory, end_on_plan, on_plan, plan_as_asked},
};
use unigrad_tensor::{Tensor, eval};

/// Bytes of the smallest thing in an arena.
const BLOCK: usize = 256;

/// From now on all plans of this thread.
pub fn plans() {
    on_plan(|capture, options| check(capture, options).unwrap_or_else(|error| panic!("the plan is wrong: {error}")));
}

/// What is wrong with the plan of a capture, if something is.
pub fn check(capture: &Capture, options: Options) -> Result<(), String> {
    let arena = check_memory(capture, options)?.arena;
    let reads_back = |options| plan_as_asked(capture, options)?.launches.iter().try_for_each(|launch| reads_back(&launch.kernel));
    reads_back(options)?;
    // Where that is more than one block, also with launches that run again for half of it.
    let within = Options { arena: Some(arena / 2), ..options };
    if arena <= BLOCK || options.arena.is_some() {
        return Ok(());
    }
    check_memory(capture, within).and_then(|_| reads_back(within)).map_err(|error| format!("within {} bytes: {error}", arena / 2))
}

/// How many launches there are in the plan of some values on a device, with what the planner is to know of a library.
pub fn n_launches(values: &[Tensor], library: Option<Library>) -> usize {
    let found: Rc<RefCell<Vec<usize>>> = Rc::default();
    let seen = found.clone();
    eval::clear_plans();
    on_plan(move |capture, options| {
        check(capture, options).unwrap_or_else(|error| panic!("the plan is wrong: {error}"));
        let plan = plan_as_asked(capture, Options { library: library.or(options.library), ..options });
        seen.borrow_mut().push(plan.unwrap_or_else(|error| panic!("{error}")).launches.len());
    });
    Tensor::realize_all(&values.iter().collect::<Vec<_>>()).unwrap();
    end_on_plan();
    assert_eq!(found.borrow().len(), 1, "one plan");
    found.take()[0]
}

/// Whether the regions of a kernel are what their text says.
pub fn reads_back(kernel: &Kernel) -> Result<(), String> {
    if let Kernel::Joined(joined) = kernel {
        return joined.parts.iter().try_for_each(reads_back);
    }
    if let Kernel::Summed(summed) = kernel {
        reads_back(&Kernel::Contract(summed.product.clone()))?;
        return reads_back(&Kernel::Region(summed.sums.region.clone()));
    }
    if let Kernel::Crossed(crossed) = kernel {
        return crossed.parts().into_iter().try_for_each(|(region, ..)| reads_back(&Kernel::Region(region.clone())));
    }
    let text = kernel.to_string();
    let Some(region) = region_of(kernel) else {
        return if text.starts_with(kernel.kind()) { Ok(()) } else { Err(format!("a {} kernel is printed as {text:?}", kernel.kind())) };
    };
    let text = region.to_string();
    match text.parse::<Region>() {
        Ok(again) if again == *region => Ok(()),
        Ok(again) => Err(format!("{text}reads back as\n{again}")),
        Err(error) => Err(format!("{text}does not read back: {error}")),
    }
}

/// The region of a kernel that has one.
pub fn region_of(kernel: &Kernel) -> Option<&Region> {
    match kernel {
        Kernel::Region(region) => Some(region),
        Kernel::Grouped(grouped) => Some(&grouped.region),
        Kernel::Contract(contract) => contract.epilogue.as_deref(),
        Kernel::Joined(_) | Kernel::Crossed(_) | Kernel::Summed(_) => None,
        Kernel::Attention(_) | Kernel::AttentionGrad(_) | Kernel::Scan(_) | Kernel::Scatter(_) => None,
        Kernel::ArgSort(_) | Kernel::TopK(_) | Kernel::MaxPool(_) | Kernel::Custom(_) => None,
    }
}
