//! Programs that the user wrote: kernel IR, executed by its interpreter.
//!
//! In: a program's text, buffers, numbers. Out: what the program writes, or its first mistake with statement, group and thread.
//! Always: accesses out of bounds, races, reads of shared memory that no thread wrote and barriers that not all threads reach are found; groups
//! run on the pool's threads, those that meet in atomic operations in the order of the grid, so results do not depend on timing.
//! Never: compiles. An instruction costs nanoseconds per thread where compiled code takes a fraction of one.

use crate::{
    memory::{Buf, Fault},
    threads::{parallel, threads},
};
use unigrad_ir::{
    Target,
    interpret::{Argument, Bytes, Interpreter, Options, Span, Workers},
    parse_as, signature,
};
use unigrad_kernel::Custom;
use unigrad_scalar::DType;

/// The language that it takes.
const LANGUAGE: &str = "ir";

/// A program, ready to run.
pub(crate) struct CompiledCustom {
    interpreter: Interpreter,
    grid: [u32; 3],
}

impl CompiledCustom {
    pub(crate) fn new(custom: &Custom) -> Result<CompiledCustom, String> {
        let Some(text) = custom.program.text(LANGUAGE) else {
            let known: Vec<&str> = custom.program.texts.iter().map(|(language, _)| language.as_str()).collect();
            let help = "add `.source(\"ir\", …)`: the processor executes kernel IR and compiles no other language";
            return Err(format!("it has no kernel IR (it has: {})\n help: {help}", known.join(", ")));
        };
        let buffers: Vec<(DType, bool)> = custom.args.iter().map(|arg| (arg.dtype, arg.write)).collect();
        let program = parse_as(text, &signature(&custom.program.entry, custom.program.block, &buffers, &custom.scalars))?;
        let interpreter = Interpreter::new(&program, &Target::interpreter())
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
        Ok(CompiledCustom { interpreter, grid: custom.grid })
    }

    /// # Safety
    /// As for every kernel: the buffers match the program's arguments, and nothing else uses the written ones meanwhile.
    pub(crate) unsafe fn run(&self, bufs: &[Buf], scalars: &[u64]) -> Result<(), Fault> {
        let bytes = |buf: &Buf| buf.len * buf.dtype.size();
        // SAFETY: the caller's promise; the program writes only to what `Interpreter::new` saw it declare, which is the output.
        let memory: Vec<Bytes<'_>> = bufs.iter().map(|buf| unsafe { Bytes::at(buf.ptr, bytes(buf)) }).collect();
        let span = |(allocation, buf)| Argument::Buffer(Span { allocation, offset: 0, len: bytes(buf) });
        let arguments: Vec<Argument> = bufs.iter().enumerate().map(span).chain(scalars.iter().map(|raw| Argument::Scalar(*raw))).collect();
        let workers = Workers { count: threads(), start: &parallel };
        let done = self.interpreter.run_in(self.grid, &memory, &arguments, Options::default(), workers);
        done.map_err(|fault| Fault::Program(fault.to_string()))
    }
}
