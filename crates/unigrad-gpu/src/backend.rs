//! What a driver implements: memory, a queue, and compiled programs. Everything above it is shared.
//!
//! Always: work is stream-ordered; `download` and `synchronize` wait. Nothing panics, whatever a driver library answers.

use crate::{Offer, Replays, Taken, Work};
use std::fmt;
use unigrad_device::{Abilities, Error, Info, Range};
use unigrad_ir::{Program, Source, Target};
use unigrad_kernel::Library;
use unigrad_scalar::DType;

/// What a launch passes for one [`unigrad_ir::Param`].
#[derive(Clone, PartialEq, Debug)]
pub enum Bound {
    /// For a `Buffer`. May have length 0: then the program does not touch it.
    Buffer(Range),
    /// For a `Scalar`: its dtype and raw bits.
    Scalar(DType, u64),
    /// For a `Table`.
    Table(Vec<Range>),
    /// For a `ScalarTable`: dtype and raw bits.
    ScalarTable(DType, Vec<u64>),
}

/// What a program takes of a compute unit; `None` where nothing tells.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Resources {
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Bytes of shared memory of a workgroup.
    pub shared_bytes: Option<u64>,
    /// Bytes of memory of a thread beside its registers.
    pub local_bytes: Option<u64>,
}

/// One open device of one backend: what every one can. What some can besides are its [`Abilities`], which the device passes on.
pub trait Backend: Abilities + Send + Sync + 'static {
    /// A program that can be launched.
    type Module: Send + Sync + fmt::Debug + 'static;

    /// What it is, with memory figures as of now.
    fn info(&self) -> Info;
    /// What programs may use.
    fn target(&self) -> &Target;
    /// Gets `bytes` (> 0) of memory aligned to 256; contents are undefined. [`Error::OutOfMemory`] if there is none.
    fn allocate(&self, bytes: usize) -> Result<u64, Error>;
    /// Gives memory back once the work that uses it is done.
    fn free(&self, handle: u64);
    /// Host to device. The data may be reused when it returns.
    fn upload(&self, data: &[u8], to: Range) -> Result<(), Error>;
    /// Device to host; waits.
    fn download(&self, from: Range, data: &mut [u8]) -> Result<(), Error>;
    /// [`Backend::download`] of several ranges; with one wait for all of them where the backend can.
    fn download_all(&self, parts: &mut [(Range, &mut [u8])]) -> Result<(), Error> {
        parts.iter_mut().try_for_each(|(from, data)| self.download(*from, data))
    }
    /// Within the device.
    fn copy(&self, from: Range, to: Range) -> Result<(), Error>;
    /// Renders and compiles (or finds in a cache).
    fn load(&self, program: &Program) -> Result<Self::Module, Error>;
    /// Compiles a user's program in the backend's own language; `signature` has its name, parameters and workgroup, and no body.
    fn load_source(&self, source: &Source, signature: &Program) -> Result<Self::Module, Error> {
        let cause = format!("this backend takes no {} source", self.target().dialect.name());
        let _ = source;
        Err(Error::Compile { device: self.info().device(), kernel: signature.name.clone(), cause })
    }
    /// What part of a compute unit's threads can be at work in this program at a time, as its registers and shared memory allow; `None` where
    /// nothing tells.
    fn occupancy(&self, _module: &Self::Module) -> Option<f64> {
        None
    }
    /// The machine code of a module, or what the backend has in its place, made again if need be from what it was loaded from; `None` where the driver
    /// does not give it.
    fn binary(&self, _module: &Self::Module, _source: &Source, _program: &Program) -> Result<Option<Vec<u8>>, Error> {
        Ok(None)
    }
    /// What a module takes of a compute unit, as far as the driver tells.
    fn resources(&self, _module: &Self::Module) -> Resources {
        Resources::default()
    }
    /// Queues `module` on `grid` workgroups (every extent > 0), one bound per parameter of its program.
    fn launch(&self, module: &Self::Module, grid: [u32; 3], args: &[Bound]) -> Result<(), Error>;
    /// What the planner should know of the library that [`Backend::take`] asks, where it is there: its words for epilogues, and its rates.
    fn library(&self) -> Option<Library> {
        None
    }
    /// What a library of the backend takes on of a kernel. `None`: the driver's own programs do it.
    /// Asked once per kernel, so it may load the library, but not wait for the device.
    fn take(&self, _offer: &Offer<'_>) -> Option<Taken> {
        None
    }
    /// Is told what the library took on of one plan, each as often as it is launched, before the plan runs: what may be tried out while it runs.
    fn plan(&self, _parts: &[Taken]) {}
    /// Queues what [`Backend::take`] took on, here or on another queue of the device, in order with all other work. `Ok(false)`: the library refuses it
    /// after all and has queued nothing; the driver's own programs do it, now and from now on. `workspace` has the bytes asked for; undefined contents.
    fn perform(&self, _taken: &Taken, _work: &Work<'_>, _workspace: Range) -> Result<bool, Error> {
        Ok(false)
    }
    /// How launches are kept and queued by one call; `None` where the driver's interface has nothing for it.
    fn replays(&self) -> Option<&dyn Replays<Self::Module>> {
        None
    }
    /// Waits for all work and reports its errors.
    fn synchronize(&self) -> Result<(), Error>;
    /// A further queue of the same device: memory, modules and marks of the one are the other's too. `None` if there is only one.
    fn fork(&self) -> Result<Option<Self>, Error>
    where
        Self: Sized,
    {
        Ok(None)
    }
}
