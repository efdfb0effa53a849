//! Pooling.

use crate::{Values, check, targets};
use smallvec::SmallVec;
use unigrad_gpu::lower;
use unigrad_kernel::testing::Rng;
use unigrad_kernel::{Kernel, MaxPool};
use unigrad_scalar::{DType, PoolSpec};

#[test]
fn pools() {
    let mut random = Rng(4);
    let targets = targets();
    let list = |random: &mut Rng, rank: usize, of: &[usize]| -> SmallVec<[usize; 3]> { (0..rank).map(|_| random.pick(of)).collect() };
    for case in 0..300 {
        let rank = random.below(4);
        let input = list(&mut random, rank, &[1, 2, 5, 8]);
        let kernel = list(&mut random, rank, &[1, 2, 3]);
        let stride = list(&mut random, rank, &[1, 2, 3]);
        let dilation = list(&mut random, rank, &[1, 1, 2]);
        let pad = list(&mut random, rank, &[0, 1]);
        // Rounded up now and then: windows begin inside, but may end beyond.
        let up = random.below(2);
        let output = (0..rank)
            .map(|d| {
                let room = (input[d] + 2 * pad[d]).checked_sub((kernel[d] - 1) * dilation[d] + 1);
                room.map_or(0, |room| (room + up * (stride[d] - 1)) / stride[d] + 1)
            })
            .collect();
        let pool = MaxPool {
            dtype: random.pick(&DType::ALL),
            outer: random.below(4),
            input,
            output,
            spec: PoolSpec { kernel, stride, pad, dilation },
        };
        if (0..rank).any(|d| pool.spec.first_outside(d, pool.input[d], pool.output[d]).is_some()) {
            // Windows with nothing but padding are refused, of any elements at all.
            let is_empty = pool.outer == 0 || pool.output.contains(&0);
            assert_eq!(lower(&Kernel::MaxPool(pool.clone()), &targets[0]).is_ok(), is_empty, "{pool:?}");
            continue;
        }
        let args = Kernel::MaxPool(pool.clone()).args();
        let x = random.values(pool.dtype, args[0].len);
        let buffers = [x, vec![0xff; args[1].len * pool.dtype.size()], vec![0xff; args[2].len * 8]];
        check(&Kernel::MaxPool(pool), &targets[case % targets.len()], &buffers, &[], 2, 0.0);
    }
}
