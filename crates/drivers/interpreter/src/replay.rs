//! Launches that are kept: with their arguments, as they are. A replay runs them one after the other.

use crate::InterpreterBackend;
use std::{any::Any, sync::Arc};
use unigrad_device::Error;
use unigrad_gpu::{
    Backend, Bound, Convolution, ConvolutionOperands, Kept, Norm, NormOperands, Operands, Product, Range, Recording, Replays, Taken, Work,
};
use unigrad_ir::interpret::Interpreter;
use unigrad_kernel::Kernel;

enum Launch {
    Program(Arc<Interpreter>, [u32; 3], Vec<Bound>),
    Library(Box<(Taken, Own, Range)>),
}

/// A library's work with what it refers to.
enum Own {
    Product(Product, Operands),
    Convolution(Convolution, ConvolutionOperands),
    Norm(Norm, NormOperands),
    Kernel(Box<Kernel>, Vec<Range>, Vec<u64>),
}

type Launches = Vec<Launch>;

impl Own {
    fn work(&self) -> Work<'_> {
        match self {
            Own::Product(product, operands) => Work::Product(product, operands),
            Own::Convolution(convolution, operands) => Work::Convolution(convolution, operands),
            Own::Norm(norm, operands) => Work::Norm(norm, operands),
            Own::Kernel(kernel, args, scalars) => Work::Kernel(kernel, args, scalars),
        }
    }
}

impl From<Kept<'_, Interpreter>> for Launch {
    fn from(launch: Kept<'_, Interpreter>) -> Launch {
        match launch {
            Kept::Program(module, grid, args) => Launch::Program(Arc::clone(module), grid, args.to_vec()),
            Kept::Library(taken, work, workspace) => {
                let own = match *work {
                    Work::Product(product, operands) => Own::Product(*product, *operands),
                    Work::Convolution(convolution, operands) => Own::Convolution(*convolution, *operands),
                    Work::Norm(norm, operands) => Own::Norm(*norm, *operands),
                    Work::Kernel(kernel, args, scalars) => Own::Kernel(Box::new(kernel.clone()), args.to_vec(), scalars.to_vec()),
                };
                Launch::Library(Box::new((*taken, own, workspace)))
            }
        }
    }
}

impl InterpreterBackend {
    fn kept<'a>(&self, recording: &'a mut (dyn Any + Send)) -> Result<&'a mut Launches, Error> {
        recording.downcast_mut().ok_or_else(|| self.no_replay("it is of another driver"))
    }

    fn no_replay(&self, cause: &str) -> Error {
        Error::Launch { device: self.device(), kernel: "replay".to_owned(), cause: cause.to_owned() }
    }
}

impl Replays<Interpreter> for InterpreterBackend {
    fn record(&self) -> Result<Recording, Error> {
        Ok(Box::new(Launches::new()))
    }

    fn keep(&self, recording: &mut Recording, launch: Kept<'_, Interpreter>) -> Result<bool, Error> {
        self.kept(&mut **recording)?.push(launch.into());
        Ok(true)
    }

    fn change(&self, recording: &mut Recording, at: usize, launch: Kept<'_, Interpreter>) -> Result<bool, Error> {
        let place = self.kept(&mut **recording)?.get_mut(at).ok_or_else(|| self.no_replay("it has fewer launches"))?;
        *place = launch.into();
        Ok(true)
    }

    fn replay(&self, recording: &mut Recording) -> Result<(), Error> {
        for launch in self.kept(&mut **recording)? {
            let done = match launch {
                Launch::Program(module, grid, args) => self.launch(module, *grid, args).map(|()| true),
                Launch::Library(library) => {
                    let (taken, own, workspace) = &**library;
                    self.perform(taken, &own.work(), *workspace)
                }
            };
            // What was before it is done.
            let failed = |cause: String| Error::Interrupted { device: self.device(), kernel: "replay".to_owned(), cause };
            match done {
                Ok(true) => {}
                Ok(false) => return Err(failed("the library refuses what it has done before".to_owned())),
                Err(error) => return Err(failed(error.to_string())),
            }
        }
        Ok(())
    }
}
