//! Launches that are kept: with their arguments, as they are.
//!
//! Always: a replay runs a launch after those that it is to follow; of those that may run, the newest first. So orders that are missing are seen, for
//! results are others than one by one.

use crate::InterpreterBackend;
use std::{any::Any, collections::BinaryHeap, sync::Arc};
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

/// Launches, each with those that it follows.
type Launches = Vec<(Launch, Vec<usize>)>;

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

/// An order in which each launch comes after those that it follows, and as early as may be.
fn newest_first(launches: &Launches) -> Vec<usize> {
    let mut waits: Vec<usize> = launches.iter().map(|(_, after)| after.len()).collect();
    let mut followers = vec![Vec::new(); launches.len()];
    for (at, (_, after)) in launches.iter().enumerate() {
        after.iter().for_each(|before| followers[*before].push(at));
    }
    let mut ready: BinaryHeap<usize> = (0..launches.len()).filter(|at| waits[*at] == 0).collect();
    let mut order = Vec::with_capacity(launches.len());
    while let Some(at) = ready.pop() {
        order.push(at);
        for follower in &followers[at] {
            waits[*follower] -= 1;
            if waits[*follower] == 0 {
                ready.push(*follower);
            }
        }
    }
    order
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

    fn keep(&self, recording: &mut Recording, launch: Kept<'_, Interpreter>, after: &[usize]) -> Result<bool, Error> {
        let launches = self.kept(&mut **recording)?;
        if after.iter().any(|before| *before >= launches.len()) {
            return Err(self.no_replay("a launch follows one that is not before it"));
        }
        launches.push((launch.into(), after.to_vec()));
        Ok(true)
    }

    fn change(&self, recording: &mut Recording, at: usize, launch: Kept<'_, Interpreter>) -> Result<bool, Error> {
        let place = self.kept(&mut **recording)?.get_mut(at).ok_or_else(|| self.no_replay("it has fewer launches"))?;
        place.0 = launch.into();
        Ok(true)
    }

    fn replay(&self, recording: &mut Recording) -> Result<(), Error> {
        let launches = self.kept(&mut **recording)?;
        for at in newest_first(launches) {
            let done = match &launches[at].0 {
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
