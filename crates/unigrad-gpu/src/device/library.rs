//! Contractions whose product the backend's library does: compiled as a product and what comes after it, launched in this order.
//!
//! Always: the setting `UNIGRAD_PRODUCTS` counts before the backend's rule; once the library refuses a product, the driver's own kernel does it.

use super::{GpuDevice, GpuProgram};
use crate::{Backend, Operands, Product, Range, StepArg, lower};
use std::sync::{Arc, OnceLock};
use unigrad_device::{Config, Error, Products, Slice};
use unigrad_kernel::{Contract, Kernel};

/// A contraction whose product is the library's.
pub(super) struct ByLibrary<B: Backend> {
    product: Product,
    /// Where `a`, `b` and `c` are.
    places: [StepArg; 3],
    /// Which of the scratch buffers is the library's workspace.
    workspace: usize,
    pub(super) contract: Contract,
    /// The driver's own kernel, once the library has refused.
    pub(super) own: OnceLock<Arc<GpuProgram<B>>>,
}

impl<B: Backend> GpuDevice<B> {
    /// The contraction by the backend's library, if that takes it on.
    pub(super) fn library_program(&self, contract: &Contract) -> Result<Option<GpuProgram<B>>, Error> {
        let products = Config::current_or_default().products;
        if products == Products::Own {
            return Ok(None);
        }
        let Some(found) = lower::library(contract, self.backend.target()) else { return Ok(None) };
        let Some(workspace) = self.backend.product(&found.product, products == Products::Library) else { return Ok(None) };
        let mut lowered = found.after;
        lowered.scratch.push(workspace);
        let modules = lowered.steps.iter().map(|step| self.module(&step.program)).collect::<Result<_, _>>()?;
        let kernel = Kernel::Contract(contract.clone());
        let workspace = lowered.scratch.len() - 1;
        let mut program = self.program(&kernel, kernel.kind().to_owned(), lowered, modules);
        let (product, places, contract) = (found.product, found.places, contract.clone());
        program.library = Some(ByLibrary { product, places, workspace, contract, own: OnceLock::new() });
        Ok(Some(program))
    }

    /// Queues the library's product; false if the library refuses it.
    pub(super) fn multiply(
        &self,
        program: &GpuProgram<B>,
        library: &ByLibrary<B>,
        args: &[Slice<'_>],
        scratch: u64,
    ) -> Result<bool, Error> {
        let inside = |at: usize| Range { handle: scratch, offset: program.scratch_at[at], len: program.lowered.scratch[at] };
        let place = |place: &StepArg| match place {
            StepArg::Arg(at) => args.get(*at).map(|slice| Self::range(*slice)),
            StepArg::Scratch(at) => Some(inside(*at)),
            _ => None,
        };
        let [a, b, c] = &library.places;
        let (Some(a), Some(b), Some(c)) = (place(a), place(b), place(c)) else {
            return Err(self.refuse(&program.name, "a launch passes fewer arguments than the kernel has"));
        };
        let p = &library.product;
        let ends = [(a, p.a.bytes([p.m, p.k], p.batch)), (b, p.b.bytes([p.k, p.n], p.batch)), (c, p.c.bytes([p.m, p.n], p.batch))];
        if let Some((range, end)) = ends.iter().find(|(range, end)| *end > range.len as u64) {
            return Err(self.refuse(&program.name, format!("a matrix ends at byte {end} of {}", range.len)));
        }
        self.backend.multiply(p, &Operands { a, b, c, workspace: inside(library.workspace) })
    }
}
