//! Kernels that the backend's library does, in whole or as a product with programs before and after it: compiled as such, launched in this order.
//!
//! Always: the setting `UNIGRAD_PRODUCTS` counts before the backend's rule; once the library refuses, the driver's own programs do the kernel.

use super::{GpuDevice, GpuExecutable};
use crate::{
    Backend, Offer, Operands, Product, Range, StepArg, Taken, Work,
    lower::{self, Factor, Places},
};
use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};
use unigrad_device::{Config, Error, Products};
use unigrad_kernel::Kernel;
use unigrad_scalar::{DType, Literal};

/// A kernel that the library does.
pub(super) struct ByLibrary<B: Backend> {
    taken: Taken,
    /// `None`: the whole kernel, with its arguments as they are.
    product: Option<(Product, Places, Factor)>,
    /// How many of the program's steps come before the library's part. They write scratch memory only.
    pub(super) before: usize,
    /// Which of the scratch buffers is the library's workspace.
    workspace: usize,
    pub(super) kernel: Kernel,
    /// The driver's own programs, once the library has refused.
    pub(super) own: OnceLock<Arc<GpuExecutable<B>>>,
}

impl<B: Backend> GpuDevice<B> {
    /// The kernel by the backend's library, if that takes it on.
    pub(super) fn library_program(&self, kernel: &Kernel) -> Result<Option<GpuExecutable<B>>, Error> {
        let products = Config::current_or_default().products;
        if products == Products::Own {
            return Ok(None);
        }
        let mut ways = match kernel {
            Kernel::Contract(contract) => lower::library(contract, self.backend.target()),
            _ => Vec::new(), // DEFAULT: only contractions are products; every other kind is offered as it is
        };
        let offered: SmallVec<[Product; 2]> = ways.iter().map(|way| way.product).collect();
        let Some(taken) = self.backend.take(&Offer { kernel, products: &offered, always: products == Products::Library }) else {
            return Ok(None);
        };
        let (product, mut lowered, before) = match taken.product {
            None => (None, lower::Lowered::default(), 0),
            Some(at) if at < ways.len() => {
                let way = ways.swap_remove(at);
                (Some((way.product, way.places, way.scale)), way.steps, way.before)
            }
            Some(at) => return Err(self.refuse(kernel.kind(), format!("the library took product {at} of {}", ways.len()))),
        };
        lowered.scratch.push(taken.workspace);
        let modules = lowered.steps.iter().map(|step| self.module(&step.program)).collect::<Result<_, _>>()?;
        let workspace = lowered.scratch.len() - 1;
        let mut program = self.program(kernel, kernel.kind().to_owned(), lowered, modules);
        program.library = Some(ByLibrary { taken, product, before, workspace, kernel: kernel.clone(), own: OnceLock::new() });
        Ok(Some(program))
    }

    /// Queues the library's part; false if the library refuses it.
    pub(super) fn perform(
        &self,
        program: &GpuExecutable<B>,
        library: &ByLibrary<B>,
        args: &[Range],
        scalars: &[u64],
        scratch: u64,
    ) -> Result<bool, Error> {
        let inside = |at: usize| Range { handle: scratch, offset: program.scratch_at[at], len: program.lowered.scratch[at] };
        let workspace = inside(library.workspace);
        let Some((p, places, scale)) = &library.product else {
            return self.backend.perform(&library.taken, &Work::Kernel(&library.kernel, args, scalars), workspace);
        };
        let missing = || self.refuse(&program.name, "a launch passes fewer arguments than the kernel has");
        let place = |place: &StepArg| match place {
            StepArg::Arg(at) => args.get(*at).copied().ok_or_else(missing),
            StepArg::Scratch(at) => Ok(inside(*at)),
            StepArg::Status | StepArg::StatusSlot | StepArg::Scalar(..) | StepArg::Word(_) => Err(missing()),
            StepArg::Block(_) | StepArg::Table(_) | StepArg::ScalarTable(_) | StepArg::WordTable(_) => Err(missing()),
        };
        let maybe = |at: &Option<StepArg>| at.as_ref().map(place).transpose();
        let scale = match scale {
            Factor::One => 1.0,
            Factor::Number(factor) => *factor,
            Factor::Scalar(at, dtype) => Literal::from_raw(*dtype, *scalars.get(*at).ok_or_else(missing)?).as_f64(),
        };
        let operands = Operands {
            a: place(&places.a)?,
            b: place(&places.b)?,
            c: place(&places.c)?,
            residual: maybe(&places.residual)?,
            bias: maybe(&places.bias)?,
            before: maybe(&places.before)?,
            scales: [maybe(&places.scales[0])?, maybe(&places.scales[1])?],
            scale,
        };
        self.fits(&program.name, p, &operands)?;
        self.backend.perform(&library.taken, &Work::Product(p, &operands), workspace)
    }

    /// Refuses memory that ends within a matrix.
    fn fits(&self, name: &str, p: &Product, at: &Operands) -> Result<(), Error> {
        let size = |dtype: DType| dtype.size() as u64;
        let bias = p.inside.bias.map(|offset| offset.saturating_add(p.n.into()).saturating_mul(size(p.c.dtype)));
        let scale = |element: Option<u64>| element.map(|element| element.saturating_add(1).saturating_mul(size(DType::F32)));
        let ends = [
            (Some(at.a), Some(p.a.bytes([p.m, p.k], p.batch))),
            (Some(at.b), Some(p.b.bytes([p.k, p.n], p.batch))),
            (Some(at.c), Some(p.c.bytes([p.m, p.n], p.batch))),
            (at.residual, p.inside.residual.map(|matrix| matrix.bytes([p.m, p.n], p.batch))),
            (at.before, p.inside.before.map(|matrix| matrix.bytes([p.m, p.n], p.batch))),
            (at.bias, bias),
            (at.scales[0], scale(p.inside.scales[0])),
            (at.scales[1], scale(p.inside.scales[1])),
        ];
        for (range, end) in ends {
            match (range, end) {
                (None, None) => {}
                (Some(range), Some(end)) if end <= range.len as u64 => {}
                (range, end) => {
                    let cause = format!("a matrix ends at byte {} of {}", end.unwrap_or(0), range.map_or(0, |range| range.len));
                    return Err(self.refuse(name, cause));
                }
            }
        }
        Ok(())
    }
}
