//! What the suite compiles, rendered for devices that are not here: `UNIGRAD_COLLECT_KERNELS` names a folder, `cargo xtask compile-kernels`
//! compiles what is in it.
//!
//! Always: a kernel that a target cannot have is left out, and a text that fails to render is a panic: the lowering asked for something that
//! the target does not have.

use std::path::PathBuf;
use unigrad_device::testing::on_compile;
use unigrad_gpu::lower;
use unigrad_ir::{collect, offline_targets, render};

/// Collects from now on, if the environment says where to.
pub(crate) fn if_asked() {
    if std::env::var_os("UNIGRAD_COLLECT_KERNELS").is_some() {
        on_compile(|kernel| {
            let folder = PathBuf::from(std::env::var_os("UNIGRAD_COLLECT_KERNELS").unwrap_or_default());
            for target in offline_targets() {
                let Ok(lowered) = lower(kernel, &target) else { continue };
                for step in &lowered.steps {
                    let source = render(&step.program, &target).unwrap_or_else(|error| panic!("{error}"));
                    collect(&source, &target, &folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
                }
            }
        });
    }
}
