//! Inner loops in a dialect's own words, for instructions that the IR has no word for.
//!
//! In: sizes, known when a program is made. Out: text for [`unigrad_ir::Raw`]: what stands before the kernel, and a statement.
//! Always: a template is chosen from the target's architecture, and the same product has a form in the IR as well.
//! Never: decides what is computed: programs around it do, and they see its result in registers.

pub(super) mod attention;
pub(super) mod copies;
pub(super) mod hopper_gradients;
pub(super) mod made;
pub(super) mod mma_sync;
pub(super) mod narrow;
pub(super) mod resident;
pub(super) mod tf32;
pub(super) mod tf32_wgmma;
pub(super) mod tma;
pub(super) mod wgmma;
