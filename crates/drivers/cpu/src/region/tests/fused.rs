//! Every fused pattern against the single steps that it replaces.

use super::directed::Make;
use super::*;
use crate::region::fused::{Tree, trees};
use crate::region::program::{BlockProgram, MicroOp};
use unigrad_kernel::Value;
use unigrad_scalar::ReduceOp;

/// A pattern as a region: its operands are loaded from one argument each.
struct Written {
    make: Make,
    lanes: Vec<Option<Value>>,
    scalars: Vec<Option<Value>>,
    strides: [&'static [i64]; 2],
}

impl Written {
    fn new(axes: &[usize], strides: [&'static [i64]; 2]) -> Written {
        Written { make: Make::new(axes, 1), lanes: vec![None; 9], scalars: vec![None; 9], strides }
    }

    /// Makes the lanes first, so that argument `k` is operand `k`.
    fn leaves(&mut self, tree: &Tree) {
        match tree {
            Tree::Lane(k) => self.lanes[*k] = Some(Value(0)),
            Tree::Scalar(k) => self.scalars[*k] = Some(Value(0)),
            Tree::Unary(_, a) => self.leaves(a),
            Tree::Binary(_, a, b) => {
                self.leaves(a);
                self.leaves(b);
            }
        }
    }

    fn load(&mut self) {
        let [of_lanes, of_scalars] = self.strides;
        for (values, strides) in [(&mut self.lanes, of_lanes), (&mut self.scalars, of_scalars)] {
            values.iter_mut().flatten().for_each(|value| *value = self.make.load(DType::F32, strides));
        }
    }

    fn value(&mut self, tree: &Tree) -> Value {
        match tree {
            Tree::Lane(k) => self.lanes[*k].unwrap(),
            Tree::Scalar(k) => self.scalars[*k].unwrap(),
            Tree::Unary(op, a) => {
                let a = self.value(a);
                self.make.unary(*op, a)
            }
            Tree::Binary(op, a, b) => {
                // The other way round than the pattern, so that the matcher has to turn sums and products.
                let b = self.value(b);
                let a = self.value(a);
                let turned = matches!(op, unigrad_scalar::BinaryOp::Add | unigrad_scalar::BinaryOp::Mul);
                if turned { self.make.binary(*op, b, a) } else { self.make.binary(*op, a, b) }
            }
        }
    }
}

fn run(program: BlockProgram, make: &Make) -> Memory {
    let memory = make.memory(|a, i| 0.3 + ((i * 7 + a * 13) % 97) as f64 / 61.0);
    let compiled = CompiledRegion { program, parts: 1, stream: false };
    let mut launch = Launch::new(&memory);
    // SAFETY: the buffers match.
    unsafe { compiled.run(&launch.bufs(), &[]) }.unwrap();
    launch.result()
}

#[test]
fn fused_maps_equal_their_steps() {
    for tree in trees().0 {
        let mut w = Written::new(&[2345], [&[1], &[0]]);
        w.leaves(&tree);
        w.load();
        let root = w.value(&tree);
        w.make.store(root, &[1]);
        for tier in tiers() {
            let fused = BlockProgram::with(&w.make.0, tier, true, true).unwrap();
            let steps = &fused.row[0];
            assert_eq!(steps.iter().filter(|step| matches!(step, MicroOp::Fused(_))).count(), 1, "{tree:?}");
            assert!(!steps.iter().any(|step| matches!(step, MicroOp::Op { .. })), "{tree:?}");
            let got = run(fused, &w.make);
            let want = run(BlockProgram::with(&w.make.0, tier, true, false).unwrap(), &w.make);
            for (got, want) in got.bufs.iter().zip(&want.bufs) {
                assert_eq!(got.raw, want.raw, "{tier:?} {tree:?}");
            }
        }
    }
}

#[test]
fn fused_sums_are_near_their_steps() {
    for tree in trees().1 {
        for stored in [false, true] {
            let mut w = Written::new(&[5, 1111], [&[1111, 1], &[1, 0]]);
            w.leaves(&tree);
            w.load();
            let root = w.value(&tree);
            let sum = w.make.reduce(ReduceOp::Sum, root);
            w.make.store(sum, &[1, 0]);
            if stored {
                let share = w.make.binary(unigrad_scalar::BinaryOp::Div, root, sum);
                w.make.store(share, &[1111, 1]);
            }
            for tier in tiers() {
                let fused = BlockProgram::with(&w.make.0, tier, true, true).unwrap();
                assert!(fused.passes[0].reductions[0].sum.is_some() && fused.passes[0].steps.len() <= 3, "{tree:?}");
                let got = run(fused, &w.make);
                let want = run(BlockProgram::with(&w.make.0, tier, true, false).unwrap(), &w.make);
                for (got, want) in got.bufs.iter().zip(&want.bufs) {
                    for (got, want) in got.raw.iter().zip(&want.raw) {
                        let (got, want) = (f32::from_bits(*got as u32), f32::from_bits(*want as u32));
                        assert!((got - want).abs() <= 1e-5 * want.abs(), "{tier:?} {tree:?}: {got} {want}");
                    }
                }
            }
        }
    }
}
