//! Kernels that the backend's library does, in whole, or as a product or a convolution with programs before and after it: compiled as such, launched in
//! this order.
//!
//! Always: the setting `UNIGRAD_PRODUCTS` counts before the backend's rule; once the library refuses, the driver's own programs do the kernel.

use super::{GpuDevice, GpuExecutable};
use crate::{
    As, Backend, Convolution, ConvolutionOperands, Norm, NormOperands, Offer, Operands, Product, ProgramArg, Range, Taken, Work,
    deep_stack::with_room,
    lower::{self, ConvolutionPlaces, Factor, NormPlaces, Places},
};
use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};
use unigrad_device::{Config, Error, Products};
use unigrad_kernel::Kernel;
use unigrad_scalar::{DType, Literal};

/// A kernel that the library does.
pub(super) struct ByLibrary<B: Backend> {
    pub(super) taken: Taken,
    said: Said,
    /// How many of the program's steps come before the library's part. They write scratch memory only.
    pub(super) before: usize,
    /// Which of the scratch buffers is the library's workspace.
    workspace: usize,
    pub(super) kernel: Kernel,
    /// The driver's own programs, once the library has refused.
    pub(super) own: OnceLock<Arc<GpuExecutable<B>>>,
}

/// What the library was asked for, and where its memory is.
enum Said {
    /// The whole kernel, with its arguments as they are.
    Kernel,
    Product(Box<(Product, Places, Factor)>),
    Convolution(Box<(Convolution, ConvolutionPlaces, Factor)>),
    Norm(Box<(Norm, NormPlaces)>),
}

impl<B: Backend> GpuDevice<B> {
    /// The kernel by the backend's library, if that takes it on.
    pub(super) fn library_program(&self, kernel: &Kernel) -> Result<Option<GpuExecutable<B>>, Error> {
        let asked = Config::current_or_default().products;
        if asked == Products::Own {
            return Ok(None);
        }
        let (mut ways, mut convolved, mut norm) = (Vec::new(), Vec::new(), None);
        match kernel {
            Kernel::Contract(contract) => {
                ways = lower::library(contract, self.backend.target());
                if ways.is_empty() {
                    convolved = lower::convolutions(contract, self.backend.target());
                }
            }
            Kernel::Region(region) => norm = lower::norm(region),
            // The library has words of its own for them, or is offered them as they are.
            Kernel::Grouped(_)
            | Kernel::Joined(_)
            | Kernel::Crossed(_)
            | Kernel::Summed(_)
            | Kernel::Attention(_)
            | Kernel::AttentionGrad(_)
            | Kernel::Scan(_)
            | Kernel::Scatter(_)
            | Kernel::ArgSort(_)
            | Kernel::TopK(_)
            | Kernel::MaxPool(_)
            | Kernel::Custom(_) => {}
        }
        let products: SmallVec<[Product; 2]> = ways.iter().map(|way| way.words).collect();
        let convolutions: SmallVec<[Convolution; 2]> = convolved.iter().map(|way| way.words).collect();
        let offer = Offer {
            kernel,
            products: &products,
            convolutions: &convolutions,
            norm: norm.as_ref().map(|way| &way.norm),
            always: asked == Products::Library,
        };
        // A library may compile for it.
        let Some(taken) = with_room(|| self.backend.take(&offer)) else {
            return Ok(None);
        };
        let (said, mut lowered, before) = match (taken.what, norm) {
            (As::Kernel, _) => (Said::Kernel, lower::Lowered::default(), 0),
            (As::Product(at), _) if at < ways.len() => {
                let way = ways.swap_remove(at);
                (Said::Product(Box::new((way.words, way.places, way.scale))), way.steps, way.before)
            }
            (As::Convolution(at), _) if at < convolved.len() => {
                let way = convolved.swap_remove(at);
                (Said::Convolution(Box::new((way.words, way.places, way.scale))), way.steps, way.before)
            }
            (As::Norm, Some(way)) => (Said::Norm(Box::new((way.norm, way.places))), lower::Lowered::default(), 0),
            (what, _) => {
                let cause = format!("the library took {what:?} of {} products and {} convolutions", ways.len(), convolved.len());
                return Err(self.refuse(kernel.kind(), cause));
            }
        };
        lowered.scratch.push(taken.workspace);
        let modules = lowered.steps.iter().map(|step| self.module(&step.program)).collect::<Result<_, _>>()?;
        let workspace = lowered.scratch.len() - 1;
        let mut program = self.program(kernel, kernel.kind().to_owned(), lowered, modules);
        program.library = Some(ByLibrary { taken, said, before, workspace, kernel: kernel.clone(), own: OnceLock::new() });
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
        self.with_work(program, library, (args, scalars, scratch), |taken, work, workspace| self.backend.perform(taken, work, workspace))
    }

    /// Does something with the library's part of a launch, as the library is told of it: what it took, the work, its workspace.
    pub(super) fn with_work(
        &self,
        program: &GpuExecutable<B>,
        library: &ByLibrary<B>,
        (args, scalars, scratch): (&[Range], &[u64], u64),
        perform: impl FnOnce(&Taken, &Work<'_>, Range) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let inside = |at: usize| Range { handle: scratch, offset: program.scratch_at[at], len: program.lowered.scratch[at] };
        let workspace = inside(library.workspace);
        let missing = || self.refuse(&program.name, "a launch passes fewer arguments than the kernel has");
        let place = |place: &ProgramArg| match place {
            ProgramArg::Arg(at) => args.get(*at).copied().ok_or_else(missing),
            ProgramArg::Scratch(at) => Ok(inside(*at)),
            ProgramArg::Status | ProgramArg::StatusSlot | ProgramArg::Scalar(..) | ProgramArg::Word(_) => Err(missing()),
            ProgramArg::Block(_) | ProgramArg::Table(_) | ProgramArg::ScalarTable(_) | ProgramArg::WordTable(_) => Err(missing()),
        };
        let maybe = |at: &Option<ProgramArg>| at.as_ref().map(place).transpose();
        let factor = |scale: &Factor| match scale {
            Factor::One => Ok(1.0),
            Factor::Number(factor) => Ok(*factor),
            Factor::Scalar(at, dtype) => scalars.get(*at).map(|raw| Literal::from_raw(*dtype, *raw).as_f64()).ok_or_else(missing),
        };
        match &library.said {
            Said::Kernel => perform(&library.taken, &Work::Kernel(&library.kernel, args, scalars), workspace),
            Said::Product(product) => {
                let (p, places, scale) = &**product;
                let operands = Operands {
                    a: place(&places.a)?,
                    b: place(&places.b)?,
                    c: place(&places.c)?,
                    residual: maybe(&places.residual)?,
                    bias: maybe(&places.bias)?,
                    before: maybe(&places.before)?,
                    scales: [maybe(&places.scales[0])?, maybe(&places.scales[1])?],
                    scale: factor(scale)?,
                };
                self.fits(&program.name, p, &operands)?;
                perform(&library.taken, &Work::Product(p, &operands), workspace)
            }
            Said::Convolution(convolution) => {
                let (c, places, scale) = &**convolution;
                let operands = ConvolutionOperands {
                    x: place(&places.x)?,
                    w: place(&places.w)?,
                    y: place(&places.y)?,
                    residual: maybe(&places.residual)?,
                    bias: maybe(&places.bias)?,
                    before: maybe(&places.before)?,
                    scale: factor(scale)?,
                };
                let bias = c.inside.bias.map(|at| at.saturating_add(c.channels()).saturating_mul(c.result().dtype.size() as u64));
                self.ends(
                    &program.name,
                    [
                        (Some(operands.x), Some(c.x_bytes(&c.x))),
                        (Some(operands.w), Some(c.w_bytes(&c.w))),
                        (Some(operands.y), Some(c.y_bytes(&c.y))),
                        (operands.residual, c.inside.residual.map(|grid| c.result_bytes(&grid))),
                        (operands.before, c.inside.before.map(|grid| c.result_bytes(&grid))),
                        (operands.bias, bias),
                    ],
                )?;
                perform(&library.taken, &Work::Convolution(c, &operands), workspace)
            }
            Said::Norm(norm) => {
                let (n, places) = &**norm;
                let operands = NormOperands {
                    x: place(&places.x)?,
                    weight: maybe(&places.weight)?,
                    bias: maybe(&places.bias)?,
                    y: maybe(&places.y)?,
                    normed: maybe(&places.normed)?,
                    mean: maybe(&places.mean)?,
                    variance: maybe(&places.variance)?,
                    root: maybe(&places.root)?,
                };
                let end = |at: &Option<crate::Rows>| at.as_ref().map(|at| n.bytes(at));
                self.ends(
                    &program.name,
                    [
                        (Some(operands.x), Some(n.bytes(&n.x))),
                        (operands.weight, end(&n.weight)),
                        (operands.bias, end(&n.bias)),
                        (operands.y, end(&n.y)),
                        (operands.normed, end(&n.normed)),
                        (operands.mean, end(&n.mean)),
                        (operands.variance, end(&n.variance)),
                        (operands.root, end(&n.root)),
                    ],
                )?;
                perform(&library.taken, &Work::Norm(n, &operands), workspace)
            }
        }
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
        self.ends(name, ends)
    }

    /// Refuses memory that is shorter than what lies in it: each range, and the byte that it has to reach to.
    fn ends<const N: usize>(&self, name: &str, ends: [(Option<Range>, Option<u64>); N]) -> Result<(), Error> {
        for (range, end) in ends {
            match (range, end) {
                (None, None) => {}
                (Some(range), Some(end)) if end <= range.len as u64 => {}
                (range, end) => {
                    let cause = format!("an operand ends at byte {} of {}", end.unwrap_or(0), range.map_or(0, |range| range.len));
                    return Err(self.refuse(name, cause));
                }
            }
        }
        Ok(())
    }
}
