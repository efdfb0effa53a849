//! Every plan that a thread makes, looked at while other tests run: no two live buffers overlap, and what fusion makes reads back from its text.
//!
//! In: captures, before they are evaluated. Out: a panic, which the test at hand reports as its own failure.
//! Always: looks at the plan that the evaluation gets, and at the same one with other inputs to overwrite. Never: evaluates anything.

use unigrad_kernel::{Kernel, Region};
use unigrad_plan::{
    Capture, Options,
    testing::{check_memory, on_plan, plan_as_asked},
};

/// From now on all plans of this thread.
pub fn plans() {
    on_plan(|capture, options| check(capture, options).unwrap_or_else(|error| panic!("the plan is wrong: {error}")));
}

/// What is wrong with the plan of a capture, if something is.
pub fn check(capture: &Capture, options: Options) -> Result<(), String> {
    check_memory(capture, options)?;
    plan_as_asked(capture, options)?.launches.iter().try_for_each(|launch| reads_back(&launch.kernel))
}

/// Whether the regions of a kernel are what their text says.
pub fn reads_back(kernel: &Kernel) -> Result<(), String> {
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
        Kernel::Attention(_) | Kernel::AttentionGrad(_) | Kernel::Scan(_) | Kernel::Scatter(_) => None,
        Kernel::ArgSort(_) | Kernel::TopK(_) | Kernel::MaxPool(_) | Kernel::Custom(_) => None,
    }
}
