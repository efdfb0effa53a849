//! What a launch's results are made of: for every buffer it writes, the buffers whose contents and the checks that it depends on.
//!
//! In: a kernel. Out: one [`Flow`] per written argument, so that an error reaches what was computed from it, and not what fusion put into the
//! same launch.
//! Always: names at least what the result depends on; kernels that are not regions name all they read.
//! Never: looks at contents or at which part of a buffer is read.

use crate::{Arg, Contract, InstOp, Kernel, Region};

/// What one written argument of a launch depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The argument.
    pub write: usize,
    /// Arguments that are read for it, ascending. What it held before is not among them unless it is read.
    pub reads: Vec<usize>,
    /// The checks of indices that it depends on: the bits of [`check_bit`].
    pub checks: u32,
}

/// The bit of a region's check of an index ([`InstOp::Bounded`]). Where a region has more than 32 checks, some share a bit: then an error may
/// reach more than what depends on it, never less.
pub fn check_bit(check: u8) -> u32 {
    1 << (u32::from(check) % u32::BITS)
}

impl Kernel {
    /// The flow to every written argument, in the order of [`Kernel::args`].
    pub fn flows(&self) -> Vec<Flow> {
        match self {
            Kernel::Region(region) => of_region(region, 0, &[]),
            Kernel::Grouped(grouped) => {
                let one = of_region(&grouped.region, 0, &[]);
                let n = grouped.region.args.len();
                (0..grouped.lens.len()).flat_map(|instance| one.iter().map(move |flow| shifted(flow, instance * n))).collect()
            }
            Kernel::Joined(joined) => {
                let (mut flows, mut first) = (Vec::new(), 0);
                for part in &joined.parts {
                    flows.extend(part.flows().iter().map(|flow| shifted(flow, first)));
                    first += part.n_args();
                }
                flows
            }
            Kernel::Crossed(crossed) => {
                let mut flows: Vec<Flow> = Vec::new();
                for (region, places, _) in crossed.parts() {
                    let of_part = of_region(region, 0, &[]).into_iter().map(|flow| {
                        let (mut reads, mut checks) = (Vec::new(), flow.checks);
                        for place in flow.reads.iter().map(|read| places[*read]) {
                            // What the rows have written by then is made of what they read, and of nothing that was there before.
                            match flows.iter().find(|below| below.write == place) {
                                Some(below) => {
                                    reads.extend_from_slice(&below.reads);
                                    checks |= below.checks;
                                }
                                None => reads.push(place),
                            }
                        }
                        reads.sort_unstable();
                        reads.dedup();
                        Flow { write: places[flow.write], reads, checks }
                    });
                    let of_part: Vec<Flow> = of_part.collect();
                    flows.extend(of_part);
                }
                flows
            }
            Kernel::Contract(contract) => of_product(contract),
            Kernel::Summed(summed) => {
                let mut flows = of_product(&summed.product);
                let places = summed.places();
                flows.extend(of_region(&summed.sums.region, 0, &[]).into_iter().map(|flow| {
                    let mut reads: Vec<usize> = flow.reads.iter().map(|read| places[*read]).collect();
                    reads.sort_unstable();
                    Flow { write: places[flow.write], reads, checks: flow.checks }
                }));
                flows
            }
            Kernel::Attention(_)
            | Kernel::AttentionGrad(_)
            | Kernel::Scan(_)
            | Kernel::Scatter(_)
            | Kernel::ArgSort(_)
            | Kernel::TopK(_)
            | Kernel::MaxPool(_)
            | Kernel::Custom(_) => all(&self.args()),
        }
    }
}

/// The flow where the kernel's arguments begin at `by`.
fn shifted(flow: &Flow, by: usize) -> Flow {
    Flow { write: flow.write + by, reads: flow.reads.iter().map(|read| read + by).collect(), checks: flow.checks }
}

/// Of a product.
fn of_product(contract: &Contract) -> Vec<Flow> {
    match &contract.epilogue {
        Some(region) => {
            let mut acc = vec![0, 1];
            acc.extend((0..2).flat_map(|side| contract.prologue_args(side).into_iter().skip(1)));
            of_region(region, 2, &acc)
        }
        None => all(&contract.args()),
    }
}

/// Everything depends on everything, on what results were before too: some are updated in place.
fn all(args: &[Arg]) -> Vec<Flow> {
    let reads: Vec<usize> = (0..args.len()).collect();
    (0..args.len()).filter(|arg| args[*arg].write).map(|write| Flow { write, reads: reads.clone(), checks: u32::MAX }).collect()
}

/// Of a region whose arguments begin at `first` of the kernel's; what the enclosing kernel delivers is made of `acc`.
fn of_region(region: &Region, first: usize, acc: &[usize]) -> Vec<Flow> {
    // Per instruction: the arguments and the checks it depends on.
    let mut of: Vec<(Vec<usize>, u32)> = Vec::with_capacity(region.insts.len());
    let mut flows: Vec<Flow> = Vec::new();
    for inst in &region.insts {
        let (mut reads, mut checks) = (Vec::new(), 0);
        if let InstOp::Bounded { check, .. } = inst.op {
            checks = check_bit(check);
        }
        inst.op.visit_values(|value| {
            let (below, checks_below) = &of[value.index()];
            reads.extend_from_slice(below);
            checks |= checks_below;
        });
        if let InstOp::Load { arg, .. } = inst.op {
            reads.push(first + arg as usize);
        } else if inst.op == InstOp::Acc {
            reads.extend_from_slice(acc);
        }
        reads.sort_unstable();
        reads.dedup();
        if let InstOp::Store { arg, .. } = &inst.op {
            let write = first + *arg as usize;
            match flows.iter_mut().find(|flow| flow.write == write) {
                Some(flow) => {
                    flow.reads.append(&mut reads);
                    flow.reads.sort_unstable();
                    flow.reads.dedup();
                    flow.checks |= checks;
                }
                None => flows.push(Flow { write, reads, checks }),
            }
            of.push((Vec::new(), 0));
        } else {
            of.push((reads, checks));
        }
    }
    flows.sort_by_key(|flow| flow.write);
    flows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arg, Index, Inst, Value};
    use smallvec::smallvec;
    use unigrad_scalar::{BinaryOp, DType};

    #[test]
    fn a_store_depends_on_what_its_value_is_made_of() {
        let arg = |write| Arg { dtype: DType::F32, len: 4, write };
        let at = || Index { strides: smallvec![1], ..Index::default() };
        let load = |arg| Inst { op: InstOp::Load { arg, index: at(), mask: None }, dtype: DType::F32 };
        let store = |arg, value| Inst { op: InstOp::Store { arg, index: at(), value: Value(value) }, dtype: DType::F32 };
        let bounded = Inst { op: InstOp::Bounded { index: Value(1), size: 4, from_end: true, check: 5 }, dtype: DType::I64 };
        let gathered = Index { dynamic: smallvec![(Value(2), 1)], ..at() };
        let region = Region {
            name: "two".into(),
            axes: smallvec![4],
            n_parallel: 1,
            args: vec![arg(false), arg(false), arg(true), arg(true)],
            scalars: vec![],
            insts: vec![
                load(0),
                load(1),
                bounded,
                Inst { op: InstOp::Load { arg: 0, index: gathered, mask: None }, dtype: DType::F32 },
                store(2, 3),
                Inst { op: InstOp::Binary(BinaryOp::Add, Value(0), Value(0)), dtype: DType::F32 },
                store(3, 5),
            ],
        };
        let flow = |write, reads: &[usize], checks| Flow { write, reads: reads.to_vec(), checks };
        assert_eq!(Kernel::Region(region).flows(), [flow(2, &[0, 1], 1 << 5), flow(3, &[0], 0)]);
    }
}
