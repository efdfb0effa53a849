//! How the tensors of a convolution lie, in cuDNN's words: sizes and strides of `[batch, channels, positions...]`, groups one after the other.
//!
//! In: a [`Convolution`]'s grids. Out: [`Shape`]s; `None` for what the library has no words for.
//! Always: tensors are dense, with channels as the second or as the innermost axis: of others cuDNN 9.19 gave wrong numbers, without a word. An axis of
//! one element has the stride that it has in a dense tensor. One spatial axis is two, the first of one element.

use super::convolution::operands;
use super::graph::{Numbers, Shape};
use smallvec::SmallVec;
use unigrad_gpu::{Convolution, Grid, MOST_AXES, SpatialAxis};

/// Which of the tensors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    X,
    W,
    Y,
}

/// The spatial axes as the library wants them: two or three.
pub(super) fn axes(c: &Convolution) -> SmallVec<[SpatialAxis; MOST_AXES]> {
    let one = (c.rank < 2).then_some(SpatialAxis::ONE);
    one.into_iter().chain(c.axes.iter().take(c.rank).copied()).collect()
}

/// Whether channels are taken to be the innermost axis, where strides leave it open.
pub(super) fn is_channels_last(c: &Convolution) -> bool {
    let says = |role: Role, grid: &Grid| {
        let (sizes, strides) = given(c, role, grid)?;
        let nearest = sizes.iter().zip(&strides).skip(2).filter(|(size, _)| **size > 1).map(|(_, stride)| *stride).min()?;
        (sizes[1] > 1).then_some(strides[1] < nearest)
    };
    let votes = [says(Role::X, &c.x), says(Role::Y, &c.y), says(Role::W, &c.w)];
    // The first that says it: images rather than weights. Units for halves want channels last.
    votes.into_iter().flatten().next().unwrap_or(operands(c).size() == 2)
}

/// Sizes, and strides as they are given: 0 where an axis has one element.
type Given = (Numbers, Numbers);

fn given(c: &Convolution, role: Role, grid: &Grid) -> Option<Given> {
    let stride = |stride: u64| i64::try_from(stride).ok();
    // Both axes of which one is groups and channels of a group: only where the groups follow each other.
    let joined = |of_group: u32, inner: u64| {
        let follows = grid.group == u64::from(of_group).checked_mul(inner)?;
        let inner = match (c.groups, of_group) {
            (1, _) => inner,
            (_, 1) => grid.group,
            _ if follows => inner,
            _ => return None,
        };
        Some((i64::from(c.groups) * i64::from(of_group), stride(inner)?))
    };
    let (outer, channels) = match role {
        Role::X => ((i64::from(c.batch), stride(grid.outer)?), joined(c.inputs, grid.channel)?),
        Role::Y => ((i64::from(c.batch), stride(grid.outer)?), joined(c.outputs, grid.channel)?),
        Role::W => (joined(c.outputs, grid.outer)?, (i64::from(c.inputs), stride(grid.channel)?)),
    };
    let size = |axis: &SpatialAxis| match role {
        Role::X => axis.x,
        Role::W => axis.w,
        Role::Y => axis.y,
    };
    let (mut sizes, mut strides): Given = ([outer.0, channels.0].into_iter().collect(), [outer.1, channels.1].into_iter().collect());
    if c.rank < 2 {
        sizes.push(1);
        strides.push(0);
    }
    for (axis, step) in c.axes.iter().zip(grid.spatial).take(c.rank) {
        sizes.push(i64::from(size(axis)));
        strides.push(stride(step)?);
    }
    Some((sizes, strides))
}

/// How a tensor of a convolution lies. `None` if it is not dense, or if groups do not follow each other.
pub(super) fn shape(c: &Convolution, role: Role, grid: &Grid, last: bool) -> Option<Shape> {
    let (sizes, mut strides) = given(c, role, grid)?;
    // From the innermost axis on.
    let spatial = (2..sizes.len()).rev();
    let order: SmallVec<[usize; MOST_AXES + 2]> =
        if last { [1].into_iter().chain(spatial).chain([0]).collect() } else { spatial.chain([1, 0]).collect() };
    let mut dense = 1i64;
    for at in order {
        if sizes[at] == 1 {
            strides[at] = dense;
        }
        if strides[at] != dense {
            return None;
        }
        dense = dense.checked_mul(sizes[at])?;
    }
    Some(Shape { sizes, strides })
}

#[cfg(test)]
mod tests {
    use super::super::convolution::testing::{dense, plain};
    use super::*;
    use unigrad_scalar::DType;

    #[test]
    fn dense_tensors_lie_as_they_are_written() {
        for last in [false, true] {
            let c = dense(plain(2, DType::BF16), last);
            assert_eq!(is_channels_last(&c), last);
            let x = shape(&c, Role::X, &c.x, last).unwrap();
            assert_eq!(x.sizes[..], [2, 4, 7, 6]);
            assert_eq!(x.strides[..], if last { [168, 1, 24, 4] } else { [168, 42, 6, 1] });
            let w = shape(&c, Role::W, &c.w, last).unwrap();
            assert_eq!(w.sizes[..], [6, 4, 3, 3]);
            assert_eq!(w.strides[..], if last { [36, 1, 12, 4] } else { [36, 9, 3, 1] });
        }
    }

    #[test]
    fn one_axis_is_two_and_three_are_three() {
        let c = dense(plain(1, DType::F32), false);
        let x = shape(&c, Role::X, &c.x, false).unwrap();
        assert_eq!((&x.sizes[..], &x.strides[..]), (&[2, 4, 1, 7][..], &[28, 7, 7, 1][..]));
        assert_eq!(axes(&c).len(), 2);
        let c = dense(plain(3, DType::F32), false);
        assert_eq!((shape(&c, Role::Y, &c.y, false).unwrap().sizes.len(), axes(&c).len()), (5, 3));
    }

    #[test]
    fn an_axis_of_one_element_has_a_dense_stride() {
        let mut c = plain(2, DType::BF16);
        (c.batch, c.inputs) = (1, 1);
        let c = dense(c, true);
        let mut still = c.x;
        (still.outer, still.channel) = (0, 0);
        assert_eq!(shape(&c, Role::X, &still, true).unwrap().strides[..], [42, 1, 6, 1]);
        assert_eq!(shape(&c, Role::X, &still, false).unwrap().strides[..], [42, 42, 6, 1]);
    }

    #[test]
    fn groups_follow_each_other_or_are_refused() {
        let mut c = plain(2, DType::F32);
        (c.groups, c.inputs, c.outputs) = (2, 2, 3);
        let c = dense(c, false);
        assert_eq!(shape(&c, Role::X, &c.x, false).unwrap().sizes[1], 4);
        assert_eq!(shape(&c, Role::W, &c.w, false).unwrap().sizes[..2], [6, 2]);
        let mut apart = c.x;
        apart.group += 1;
        assert_eq!(shape(&c, Role::X, &apart, false), None);
        // A channel each: the groups are the channels.
        let mut c = plain(2, DType::F32);
        (c.groups, c.inputs, c.outputs) = (4, 1, 1);
        let mut c = dense(c, false);
        c.x.channel = 0;
        let x = shape(&c, Role::X, &c.x, false).unwrap();
        assert_eq!((x.sizes[1], x.strides[1]), (4, 42));
    }

    #[test]
    fn what_is_not_dense_is_refused() {
        let c = dense(plain(2, DType::F32), false);
        let grids = [
            // Items that are one, or apart; channels and rows that overlap, or are apart; outermost channels.
            Grid { outer: 0, ..c.x },
            Grid { outer: 200, ..c.x },
            Grid { channel: 41, ..c.x },
            Grid { channel: 43, ..c.x },
            Grid { spatial: [5, 1, 0], ..c.x },
            Grid { spatial: [6, 0, 0], ..c.x },
            Grid { spatial: [1, 7, 0], ..c.x },
            Grid { outer: 42, channel: 84, ..c.x },
        ];
        for grid in grids {
            assert_eq!(shape(&c, Role::X, &grid, false), None, "{grid:?}");
            assert_eq!(shape(&c, Role::X, &grid, true), None, "{grid:?}");
        }
    }
}
