//! Contractions as a library's convolutions: what is said of those whose channels are last, and whose items are rows like positions.

use super::super::convolve::convolutions;
use super::*;
use crate::{Convolution, Grid, Pass};

/// Items, channels in and out, rows and columns, taps along each axis, elements from one window to the next.
const SIZES: [[usize; 7]; 4] = [[2, 8, 6, 9, 10, 3, 1], [3, 4, 8, 9, 11, 3, 2], [2, 16, 4, 8, 9, 2, 1], [4, 3, 5, 19, 17, 5, 2]];

fn s(number: usize) -> i64 {
    number as i64
}

/// The words for a contraction, which there has to be one description of.
fn told(contract: &Contract) -> Convolution {
    let found = convolutions(contract, &targets()[0].1);
    assert_eq!(found.len(), 1, "{contract:?}");
    found[0].words
}

fn grid(dtype: DType, [outer, channel, row, column]: [usize; 4]) -> Grid {
    Grid { dtype, offset: 0, outer: outer as u64, group: 0, channel: channel as u64, spatial: [row as u64, column as u64, 0] }
}

#[test]
fn channels_last_is_a_convolution() {
    let mut rng = Rng(5);
    let dtype = DType::BF16;
    for [nb, ci, co, h, w, kk, step] in SIZES {
        let (oh, ow) = ((h - kk) / step + 1, (w - kk) / step + 1);
        let (x, y, of_w) = ([h * w * ci, 1, w * ci, ci], [oh * ow * co, 1, ow * co, co], [kk * kk * ci, 1, kk * ci, ci]);
        let of = |rng: &mut Rng, lens: [usize; 3], set: &dyn Fn(&mut Contract)| {
            let mut contract = matmul(rng, [1, 1, 1], false, false, [dtype; 3]).contract;
            set(&mut contract);
            let arg = |at: usize| Arg { dtype, len: lens[at], write: at == 2 };
            (contract.a, contract.b, contract.c) = (arg(0), arg(1), arg(2));
            contract
        };
        let (lx, lw, ly) = (nb * x[0], co * of_w[0], nb * y[0]);
        for is_joined in [false, true] {
            let forward = of(&mut rng, [lx, lw, ly], &|c| {
                c.m = smallvec![
                    MDim { size: nb, a: s(x[0]), c: s(y[0]) },
                    MDim { size: oh, a: s(step * x[2]), c: s(y[2]) },
                    MDim { size: ow, a: s(step * x[3]), c: s(y[3]) }
                ];
                c.n = smallvec![NDim { size: co, b: s(of_w[0]), c: 1 }];
                let row = KDim { size: kk, a: s(x[2]), b: s(of_w[2]) };
                c.k = if is_joined {
                    smallvec![row, KDim { size: kk * ci, a: 1, b: 1 }]
                } else {
                    smallvec![row, KDim { size: kk, a: s(ci), b: s(ci) }, KDim { size: ci, a: 1, b: 1 }]
                };
            });
            let weight = of(&mut rng, [ly, lx, lw], &|c| {
                c.m = smallvec![MDim { size: co, a: 1, c: s(of_w[0]) }];
                let row = NDim { size: kk, b: s(x[2]), c: s(of_w[2]) };
                c.n = if is_joined {
                    smallvec![row, NDim { size: kk * ci, b: 1, c: 1 }]
                } else {
                    smallvec![row, NDim { size: kk, b: s(ci), c: s(ci) }, NDim { size: ci, b: 1, c: 1 }]
                };
                c.k = smallvec![
                    KDim { size: nb, a: s(y[0]), b: s(x[0]) },
                    KDim { size: oh, a: s(y[2]), b: s(step * x[2]) },
                    KDim { size: ow, a: s(y[3]), b: s(step * x[3]) }
                ];
            });
            for (contract, pass) in [(forward, Pass::Forward), (weight, Pass::Weight)] {
                let c = told(&contract);
                let what = format!("{pass:?} {:?} {is_joined}: {c:?}", [nb, ci, co, h, w, kk, step]);
                // Windows that follow each other may be channels: what they see is the same.
                let joined = if is_joined && kk % step == 0 { step } else { 1 };
                let sizes = [c.batch, c.groups, c.inputs, c.outputs].map(|size| size as usize);
                assert_eq!((c.pass, sizes, c.rank), (pass, [nb, 1, ci * joined, co], 2), "{what}");
                let row = c.axes[0];
                assert_eq!([row.w, row.y, row.stride, row.dilation].map(|n| n as usize), [kk, oh, step, 1], "{what}");
                let column = c.axes[1];
                let of_column = [column.w, column.y, column.stride, column.dilation].map(|n| n as usize);
                assert_eq!(of_column, [kk / joined, ow, step / joined, 1], "{what}");
                assert!(c.axes.iter().all(|axis| axis.padding == [0, 0]), "{what}");
                let wide = |[outer, channel, row, column]: [usize; 4]| grid(dtype, [outer, channel, row, column * joined]);
                assert_eq!((c.x, c.w, c.y), (wide(x), wide(of_w), grid(dtype, y)), "{what}");
            }
        }
    }
}

/// The gradient of the image: taps run backwards over an image with room around it.
#[test]
fn a_data_gradient_with_channels_last_is_one() {
    let mut rng = Rng(6);
    let dtype = DType::F32;
    let (nb, ci, co, h, w, kk) = (2usize, 4usize, 6usize, 7usize, 8usize, 3usize);
    let (ph, pw) = (h + kk - 1, w + kk - 1);
    let mut contract = matmul(&mut rng, [1, 1, 1], false, false, [dtype; 3]).contract;
    contract.m = smallvec![
        MDim { size: nb, a: s(ph * pw * co), c: s(h * w * ci) },
        MDim { size: h, a: s(pw * co), c: s(w * ci) },
        MDim { size: w, a: s(co), c: s(ci) }
    ];
    contract.n = smallvec![NDim { size: ci, b: 1, c: 1 }];
    contract.k = smallvec![
        KDim { size: kk, a: s(pw * co), b: -s(kk * ci) },
        KDim { size: kk, a: s(co), b: -s(ci) },
        KDim { size: co, a: 1, b: s(kk * kk * ci) }
    ];
    contract.b_offset = s((kk * kk - 1) * ci);
    let lens = [nb * ph * pw * co, co * kk * kk * ci, nb * h * w * ci];
    let arg = |at: usize| Arg { dtype, len: lens[at], write: at == 2 };
    (contract.a, contract.b, contract.c) = (arg(0), arg(1), arg(2));
    let c = told(&contract);
    let sizes = [c.batch, c.groups, c.inputs, c.outputs].map(|size| size as usize);
    assert_eq!((c.pass, sizes, c.rank), (Pass::Input, [nb, 1, ci, co], 2), "{c:?}");
    assert_eq!([c.axes[0].w, c.axes[1].w, c.axes[0].stride, c.axes[1].stride], [3, 3, 1, 1], "{c:?}");
    assert_eq!(c.x, grid(dtype, [h * w * ci, 1, w * ci, ci]), "{c:?}");
    assert_eq!(c.w, grid(dtype, [kk * kk * ci, 1, kk * ci, ci]), "{c:?}");
}
