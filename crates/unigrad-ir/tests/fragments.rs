//! Matrix fragments on their way through arrays of the thread.

use unigrad_ir::{Builder, Dialect, Fragment, FragmentRole, FragmentShape, Op, Stmt, Type, offline_targets, render, validate};
use unigrad_scalar::{DType, Literal};

/// Where a text names the layouts of both factors with each product, they are those of the loads, however many arrays lie between.
#[test]
fn layouts_are_known_through_arrays() {
    let shape = FragmentShape { m: 16, n: 16, k: 16, input: DType::F16, sum: DType::F32 };
    let ty = |role| Type::Fragment(Fragment { shape, role });
    for transposed in [false, true] {
        let mut b = Builder::new("product", [32, 1, 1]);
        let (x, y, z) = (b.buffer("x", DType::F16), b.buffer("y", DType::F16), b.buffer_mut("z", DType::F32));
        let first = b.local("first", ty(FragmentRole::A), 1);
        let second = b.local("second", ty(FragmentRole::A), 1);
        let (zero, sixteen) = (b.u32(0), b.u32(16));
        let nothing = b.constant(Literal::zero(DType::F16));
        let cleared = b.inst(Op::FragmentFill(nothing), ty(FragmentRole::A));
        b.store(second, zero, cleared);
        let loaded = b.inst(Op::FragmentLoad { place: x, index: zero, stride: sixteen, transposed }, ty(FragmentRole::A));
        b.store(first, zero, loaded);
        let loaded = b.load(first, zero);
        b.store(second, zero, loaded);
        // Each holds what the other held, which tells nothing of how it was loaded.
        let loaded = b.load(second, zero);
        b.store(first, zero, loaded);
        let right = b.inst(Op::FragmentLoad { place: y, index: zero, stride: sixteen, transposed: false }, ty(FragmentRole::B));
        let nothing = b.constant(Literal::zero(DType::F32));
        let sum = b.inst(Op::FragmentFill(nothing), ty(FragmentRole::C));
        let left = b.load(second, zero);
        let sum = b.inst(Op::FragmentMma(left, right, sum), ty(FragmentRole::C));
        b.stmt(Stmt::FragmentStore { place: z, index: zero, stride: sixteen, value: sum });
        let program = b.finish();
        let targets = offline_targets();
        let mut targets = targets.iter().filter(|target| target.dialect == Dialect::Cuda && target.fragments.contains(&shape)).peekable();
        assert!(targets.peek().is_some());
        for target in targets {
            validate(&program, target).unwrap();
            let text = render(&program, target).unwrap().text;
            let wanted = if transposed { "wmma.mma.sync.aligned.col.row" } else { "wmma.mma.sync.aligned.row.row" };
            assert!(text.contains(wanted), "{}: {text}", target.arch);
        }
    }
}
