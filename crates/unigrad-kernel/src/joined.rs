//! Several kernels as one launch.

use crate::{Arg, Kernel};
use unigrad_scalar::DType;

/// Kernels that need nothing of each other, side by side in one launch: the updates of parameters that a rule treats in several ways, say.
///
/// Arguments and scalars are those of the parts, one part's after the other's.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Joined {
    /// In no order: none reads what another one writes.
    pub parts: Vec<Kernel>,
}

impl Joined {
    /// The part that an argument is of, with the position of the part's first one.
    pub fn part_of(&self, arg: usize) -> Option<(&Kernel, usize)> {
        let mut first = 0;
        self.parts.iter().find_map(|part| {
            let begin = first;
            first += part.n_args();
            (arg < first).then_some((part, begin))
        })
    }

    pub(crate) fn args(&self) -> Vec<Arg> {
        self.parts.iter().flat_map(Kernel::args).collect()
    }

    pub(crate) fn scalars(&self) -> Vec<DType> {
        self.parts.iter().flat_map(Kernel::scalars).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Grouped, Index, Inst, InstOp, Region, Value};
    use smallvec::smallvec;

    #[test]
    fn arguments_are_those_of_the_parts() {
        let index = || Index { strides: smallvec![1], ..Index::default() };
        let arg = |write| Arg { dtype: DType::F32, len: 4, write };
        let insts = vec![
            Inst { op: InstOp::Load { arg: 0, index: index(), mask: None }, dtype: DType::F32 },
            Inst { op: InstOp::Store { arg: 1, index: index(), value: Value(0) }, dtype: DType::F32 },
        ];
        let region =
            Region { name: "copy".into(), axes: smallvec![4], n_parallel: 1, args: vec![arg(false), arg(true)], scalars: vec![], insts };
        let group = Kernel::Grouped(Grouped { region: region.clone(), lens: vec![4, 9, 4] });
        let joined = Joined { parts: vec![Kernel::Region(region.clone()), group.clone(), Kernel::Region(region.clone())] };
        let firsts: Vec<Option<usize>> = (0..11).map(|arg| joined.part_of(arg).map(|(_, first)| first)).collect();
        assert_eq!(firsts, [0, 0, 2, 2, 2, 2, 2, 2, 8, 8].into_iter().map(Some).chain([None]).collect::<Vec<_>>());
        assert_eq!(joined.part_of(3).map(|(part, _)| part), Some(&group));
        let kernel = Kernel::Joined(joined);
        assert_eq!(kernel.n_args(), kernel.args().len());
        let writes: Vec<usize> = kernel.flows().iter().map(|flow| flow.write).collect();
        assert_eq!(writes, [1, 3, 5, 7, 9]);
        assert!(kernel.flows().iter().all(|flow| flow.reads == [flow.write - 1] && flow.checks == 0));
        assert_eq!(kernel.kind(), "joined");
    }
}
