//! Contractions on the CPU.
//!
//! In: a [`Contract`] as data, then buffers. Out: sums in `c`, or an epilogue run on them while they are in cache.
//! Always: the bits of a result depend on the contraction and the instruction set, never on the number of threads or on timing.
//! Never: allocates in a repeated launch (packing buffers belong to the threads).
//!
//! The parts, from the outside in: [`problem`] turns a contraction into two operands with a vector side and a broadcast side;
//! [`engine`] cuts it into blocks for threads and caches; [`prologue`] makes elements that are in no memory, block by block; [`pack`] copies
//! strided elements into panels; [`kernel`] multiplies
//! panels (Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication"); [`output`] stores blocks of sums.

mod axis;
mod engine;
pub(crate) mod kernel;
pub(crate) mod output;
pub(crate) mod pack;
mod problem;
mod prologue;
pub(crate) mod scratch;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod vector;

use crate::memory::{Buf, Fault};
use crate::region::CompiledRegion;
use crate::simd::{Bf16, Tier, bf16, tier};
use crate::threads::threads;
pub(crate) use engine::Panels;
use engine::{Blocking, Maps, Run};
use problem::Problem;
use prologue::Prologue;
use unigrad_kernel::Contract;
use unigrad_scalar::DType;

/// A contraction, ready to run.
#[derive(Debug)]
pub(crate) struct CompiledContract {
    problem: Problem,
    plan: Blocking,
    epilogue: Option<CompiledRegion>,
    /// Of the kernel's `a` and `b`.
    prologues: [Option<Prologue>; 2],
    tier: Tier,
}

impl CompiledContract {
    /// Prepares it: orientation, blocking, offset tables, the epilogue's program.
    pub(crate) fn new(contract: &Contract) -> Result<CompiledContract, String> {
        CompiledContract::for_tier(contract, tier(), bf16())
    }

    /// `bf16`: how products of `bf16` are made, which the processor then has instructions for.
    #[expect(clippy::wildcard_enum_match_arm, reason = "sums of any other dtype are refused")]
    fn for_tier(contract: &Contract, tier: Tier, bf16: Bf16) -> Result<CompiledContract, String> {
        if contract.has_reductions() {
            return Err("a product's epilogue or prologue that reduces, which has no rows".to_owned());
        }
        let epilogue = contract.epilogue.as_ref().map(|region| CompiledRegion::on(region, tier)).transpose()?;
        let prologues = [Prologue::new(contract, 0, tier)?, Prologue::new(contract, 1, tier)?];
        let problem = Problem::new(contract);
        let plan = match problem.compute {
            DType::F32 => Blocking::new::<f32>(&problem, tier, bf16),
            DType::F64 => Blocking::new::<f64>(&problem, tier, bf16),
            DType::I32 => Blocking::new::<i32>(&problem, tier, bf16),
            DType::I64 => Blocking::new::<i64>(&problem, tier, bf16),
            other => return Err(format!("sums of {other}")),
        };
        Ok(CompiledContract { problem, plan, epilogue, prologues, tier })
    }

    /// Runs it over the thread pool.
    ///
    /// # Safety
    /// `args` match the kernel's arguments in order, dtype and length, and nothing else uses the written ones meanwhile.
    pub(crate) unsafe fn run(&self, args: &[Buf], scalars: &[u64]) -> Result<(), Fault> {
        // SAFETY: the caller's.
        unsafe { self.run_on(threads(), args, scalars) }
    }

    /// What of an operand may be kept for further launches that have the same.
    #[expect(clippy::wildcard_enum_match_arm, reason = "sums are of the dtypes that `new` takes")]
    pub(crate) fn panels(&self) -> Option<Panels> {
        match self.problem.compute {
            DType::F32 => self.plan.panels::<f32>(&self.problem, self.tier),
            DType::F64 => self.plan.panels::<f64>(&self.problem, self.tier),
            DType::I32 => self.plan.panels::<i32>(&self.problem, self.tier),
            DType::I64 => self.plan.panels::<i64>(&self.problem, self.tier),
            _ => None,
        }
    }

    /// Packs the operand of [`CompiledContract::panels`].
    ///
    /// # Safety
    /// As for `run`; `to` has as many bytes as the panels, and is aligned to 64.
    pub(crate) unsafe fn keep(&self, args: &[Buf], to: *mut u8) -> Result<(), Fault> {
        // SAFETY: the caller's.
        unsafe { self.keep_on(threads(), args, to) }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "sums are of the dtypes that `new` takes")]
    unsafe fn keep_on(&self, threads: usize, args: &[Buf], to: *mut u8) -> Result<(), Fault> {
        let maps = self.maps(None);
        // SAFETY: as in `run_with_on`.
        unsafe {
            match self.problem.compute {
                DType::F32 => Run::<f32>::new(&self.problem, &self.plan, self.tier, args, &[], maps).keep(threads, to.cast()),
                DType::F64 => Run::<f64>::new(&self.problem, &self.plan, self.tier, args, &[], maps).keep(threads, to.cast()),
                DType::I32 => Run::<i32>::new(&self.problem, &self.plan, self.tier, args, &[], maps).keep(threads, to.cast()),
                DType::I64 => Run::<i64>::new(&self.problem, &self.plan, self.tier, args, &[], maps).keep(threads, to.cast()),
                _ => return Err(Fault::Internal("panels of a product that was not planned")),
            }
        }
        Ok(())
    }

    /// As `run`, with the panels that `keep` has packed.
    ///
    /// # Safety
    /// As for `run`; the operand has the bytes that it had when it was packed, by a product with equal panels.
    pub(crate) unsafe fn run_with(&self, args: &[Buf], scalars: &[u64], kept: *const u8) -> Result<(), Fault> {
        // SAFETY: the caller's.
        unsafe { self.run_with_on(threads(), args, scalars, Some(kept)) }
    }

    fn maps(&self, kept: Option<*const u8>) -> Maps<'_> {
        Maps { prologues: &self.prologues, epilogue: self.epilogue.as_ref(), kept }
    }

    unsafe fn run_on(&self, threads: usize, args: &[Buf], scalars: &[u64]) -> Result<(), Fault> {
        // SAFETY: the caller's.
        unsafe { self.run_with_on(threads, args, scalars, None) }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "sums are of the dtypes that `new` takes")]
    unsafe fn run_with_on(&self, threads: usize, args: &[Buf], scalars: &[u64], kept: Option<*const u8>) -> Result<(), Fault> {
        let maps = self.maps(kept);
        // SAFETY: the caller's; `compute` names the type that the plan was made for.
        unsafe {
            match self.problem.compute {
                DType::F32 => Run::<f32>::new(&self.problem, &self.plan, self.tier, args, scalars, maps).run(threads),
                DType::F64 => Run::<f64>::new(&self.problem, &self.plan, self.tier, args, scalars, maps).run(threads),
                DType::I32 => Run::<i32>::new(&self.problem, &self.plan, self.tier, args, scalars, maps).run(threads),
                DType::I64 => Run::<i64>::new(&self.problem, &self.plan, self.tier, args, scalars, maps).run(threads),
                _ => Err(Fault::Internal("a product that was not planned")),
            }
        }
    }
}
