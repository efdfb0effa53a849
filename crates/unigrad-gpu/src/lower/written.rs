//! That nothing a kernel stores is forgotten on the way to programs: a result that no program writes would be whatever the memory held.
//!
//! In: a kernel's arguments and what it was lowered to. Out: an error if an argument that it writes is stored to by none of the programs.
//! Never: looks at where in the argument, or under which condition.

use super::{Lowered, ProgramArg, Unsupported};
use rustc_hash::FxHashSet;
use unigrad_ir::{Op, Place, Program, Stmt};
use unigrad_kernel::Arg;

/// Checks what a kernel of this name was lowered to.
pub(super) fn check(name: &str, args: &[Arg], lowered: &Lowered) -> Result<(), Unsupported> {
    let mut written: FxHashSet<usize> = FxHashSet::default();
    for step in &lowered.steps {
        for param in stored(&step.program) {
            match step.args.get(param as usize) {
                Some(ProgramArg::Arg(at)) => _ = written.insert(*at),
                Some(ProgramArg::Table(all)) => written.extend(all),
                _ => {}
            }
        }
    }
    let forgotten = args.iter().enumerate().find(|(at, arg)| arg.write && arg.len > 0 && !written.contains(at));
    match forgotten {
        None => Ok(()),
        Some((at, _)) => Err(Unsupported {
            cause: format!("{name}: no program writes argument {at} (a mistake of the library)"),
            help: "report it with the lines that made the tensor".to_owned(),
        }),
    }
}

/// The parameters that a program stores to.
fn stored(program: &Program) -> FxHashSet<u32> {
    let mut places: Vec<Place> = Vec::new();
    for inst in &program.insts {
        match &inst.op {
            Op::Atomic(_, place, ..) | Op::CompareExchange(place, ..) => places.push(*place),
            Op::Raw(raw) => places.extend(&raw.places),
            Op::Const(_)
            | Op::Scalar(_)
            | Op::TableScalar(..)
            | Op::Thread(_)
            | Op::Group(_)
            | Op::GroupCount(_)
            | Op::Lane
            | Op::Counter
            | Op::Unary(..)
            | Op::ApproxExp2(_)
            | Op::Binary(..)
            | Op::Fma(..)
            | Op::MulHi(..)
            | Op::Select(..)
            | Op::Cast(_)
            | Op::Bitcast(_)
            | Op::Load(..)
            | Op::Compose(_)
            | Op::Extract(..)
            | Op::Subgroup(..)
            | Op::FragmentFill(_)
            | Op::FragmentLoad { .. }
            | Op::FragmentMma(..) => {}
        }
    }
    let mut blocks = vec![&program.body];
    while let Some(block) = blocks.pop() {
        for stmt in block {
            match stmt {
                Stmt::Store { place, .. } | Stmt::FragmentStore { place, .. } => places.push(*place),
                Stmt::Raw(raw) => places.extend(&raw.places),
                Stmt::If { then, otherwise, .. } => blocks.extend([then, otherwise]),
                Stmt::For { body, .. } => blocks.push(body),
                Stmt::While { check, body, .. } => blocks.extend([check, body]),
                Stmt::Let(_) | Stmt::Barrier => {}
            }
        }
    }
    places.into_iter().filter_map(|place| if let Place::Param(at) | Place::Table(at, _) = place { Some(at) } else { None }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unigrad_ir::Target;
    use unigrad_kernel::{Arg, Index, Inst, InstOp, Kernel, Region, Value};
    use unigrad_scalar::{DType, Literal};

    #[test]
    fn a_forgotten_store_is_an_error() {
        let index = Index { strides: smallvec::smallvec![1], ..Index::default() };
        let region = Region {
            name: "fill".into(),
            axes: smallvec::smallvec![8],
            n_parallel: 1,
            args: vec![Arg { dtype: DType::F32, len: 8, write: true }],
            scalars: Vec::new(),
            insts: vec![
                Inst { op: InstOp::Const(Literal::one(DType::F32)), dtype: DType::F32 },
                Inst { op: InstOp::Store { arg: 0, index, value: Value(0) }, dtype: DType::F32 },
            ],
        };
        let args = region.args.clone();
        let mut lowered = crate::lower::lower(&Kernel::Region(region), &Target::interpreter()).unwrap();
        lowered.steps.iter_mut().for_each(|step| step.program.body.clear());
        assert!(check("fill", &args, &lowered).unwrap_err().cause.contains("no program writes argument 0"));
    }
}
