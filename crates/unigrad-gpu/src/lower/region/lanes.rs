//! One value at several points: a thread evaluates `groups` runs of `width` neighbouring points together, so that memory moves in vectors and
//! several loads are under way.
//!
//! Always: a value that is the same for all groups, or for all points of a run, is there once.

use smallvec::{SmallVec, smallvec};
use unigrad_ir::{Builder, Value};

/// How many points are evaluated together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    /// Runs.
    pub(super) groups: usize,
    /// Points of a run, neighbours along one axis.
    pub(super) width: usize,
}

impl Shape {
    pub(super) const ONE: Shape = Shape { groups: 1, width: 1 };
}

/// A value at the points of a [`Shape`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Lanes {
    by_group: bool,
    by_lane: bool,
    width: usize,
    values: SmallVec<[Value; 8]>,
}

impl Lanes {
    /// One value for all points.
    pub(super) fn all(value: Value) -> Lanes {
        Lanes { by_group: false, by_lane: false, width: 1, values: smallvec![value] }
    }

    /// One value per group.
    pub(super) fn groups(values: impl IntoIterator<Item = Value>) -> Lanes {
        let values: SmallVec<[Value; 8]> = values.into_iter().collect();
        Lanes { by_group: values.len() > 1, by_lane: false, width: 1, values }
    }

    /// One value per point of a run, the same for all groups.
    pub(super) fn run(values: impl IntoIterator<Item = Value>) -> Lanes {
        let values: SmallVec<[Value; 8]> = values.into_iter().collect();
        Lanes { by_group: false, by_lane: values.len() > 1, width: values.len(), values }
    }

    /// One value per group and lane, as far as they differ.
    pub(super) fn make(shape: Shape, by_group: bool, by_lane: bool, mut f: impl FnMut(usize, usize) -> Value) -> Lanes {
        let (by_group, by_lane) = (by_group && shape.groups > 1, by_lane && shape.width > 1);
        let (groups, width) = (if by_group { shape.groups } else { 1 }, if by_lane { shape.width } else { 1 });
        let values = (0..groups).flat_map(|g| (0..width).map(move |l| (g, l))).map(|(g, l)| f(g, l)).collect();
        Lanes { by_group, by_lane, width, values }
    }

    /// As [`Lanes::make`], from vectors of `piece` points of a run: `vector` makes one at the first of them, `value` takes a point's part of it.
    pub(super) fn by_pieces(
        b: &mut Builder,
        (shape, by_group, by_lane): (Shape, bool, bool),
        piece: usize,
        mut vector: impl FnMut(&mut Builder, usize, usize) -> Value,
        mut value: impl FnMut(&mut Builder, Value, usize, usize) -> Value,
    ) -> Lanes {
        let mut first = None;
        Lanes::make(shape, by_group, by_lane, |g, l| {
            let whole = match first.filter(|_| !l.is_multiple_of(piece)) {
                Some(whole) => whole,
                None => *first.insert(vector(b, g, l)),
            };
            value(b, whole, g, l)
        })
    }

    /// Other values, as many and in the order as these were made.
    pub(super) fn zip_with(&self, values: impl IntoIterator<Item = Value>) -> Lanes {
        Lanes { values: values.into_iter().collect(), ..*self }
    }

    /// The value at a point.
    pub(super) fn at(&self, group: usize, lane: usize) -> Value {
        let (group, lane) = (if self.by_group { group } else { 0 }, if self.by_lane { lane } else { 0 });
        self.values[group * self.width + lane]
    }

    /// Whether groups differ.
    pub(super) fn by_group(&self) -> bool {
        self.by_group
    }

    /// Whether the points of a run differ.
    pub(super) fn by_lane(&self) -> bool {
        self.by_lane
    }

    /// The same operation at every point, done as often as the arguments differ.
    pub(super) fn map(b: &mut Builder, shape: Shape, args: &[&Lanes], mut f: impl FnMut(&mut Builder, &[Value]) -> Value) -> Lanes {
        let (by_group, by_lane) = (args.iter().any(|a| a.by_group), args.iter().any(|a| a.by_lane));
        Lanes::make(shape, by_group, by_lane, |g, l| {
            let at: SmallVec<[Value; 4]> = args.iter().map(|a| a.at(g, l)).collect();
            f(b, &at)
        })
    }
}
