//! Samples of images at any places: `grid_sample`, and the grids of affine maps.
//!
//! In: `[n, c, spatial..]`, and places `[n, out.., k]` between -1 and 1, the last spatial axis first. Out: `[n, c, out..]`.
//! Always: each sample is a weighted sum of the few elements around it, so gradients of any order go to images and places; half types
//! compute in `f32`.
//! Never: an index outside of the image: what lies there has no part in the sum.

use crate::{
    Tensor,
    arithmetic::K,
    interpolate::{cubic_weights, linear_weights},
    selection::first_invalid,
};
use unigrad_graph::{DType, ErrorKind, Expr, Shape, is_countable};

/// How [`Tensor::grid_sample`] makes a sample of the elements around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GridMode {
    /// Straight lines between the two (four, eight) elements around.
    #[default]
    Linear,
    /// The nearest element. No gradient goes to the places.
    Nearest,
    /// Cubic convolution with `a = -0.75` of 16 elements; for two spatial axes.
    Cubic,
}

/// What lies outside of an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GridPadding {
    /// Zeros.
    #[default]
    Zeros,
    /// The elements at the edge.
    Border,
    /// The image, mirrored at its edges.
    Reflection,
}

/// Settings of [`Tensor::grid_sample`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GridSampleOptions {
    /// How samples are made.
    pub mode: GridMode,
    /// What lies outside.
    pub padding: GridPadding,
    /// -1 and 1 are the middles of the first and the last element; otherwise the outer edges of them.
    pub align_corners: bool,
}

impl GridSampleOptions {
    /// Places of one axis in elements, from between -1 and 1.
    #[track_caller]
    fn in_elements(&self, place: &Tensor, size: usize) -> Tensor {
        let size = size as f64;
        if self.align_corners { (place + K(1.0)) * K((size - 1.0) / 2.0) } else { ((place + K(1.0)) * K(size) - K(1.0)) * K(0.5) }
    }

    /// Places outside as the places inside that stand for them.
    #[track_caller]
    fn padded(&self, place: Tensor, size: usize) -> Tensor {
        let most = size as f64 - 1.0;
        let inside = match self.padding {
            GridPadding::Zeros => return place,
            GridPadding::Border => place,
            GridPadding::Reflection => {
                let (least, span) = if self.align_corners { (0.0, most) } else { (-0.5, size as f64) };
                if span == 0.0 {
                    return place * K(0.0);
                }
                let way = (place - K(least)).abs();
                let turns = (&way * K(1.0 / span)).floor();
                let rest = way - &turns * K(span);
                let back = (&turns - (&turns * K(0.5)).floor() * K(2.0)).ne(K(0.0));
                back.where_(rest.neg() + K(span), &rest) + K(least)
            }
        };
        inside.clamp(K(0.0), K(most))
    }

    /// The elements of one axis that have a part in samples at these places.
    #[track_caller]
    fn taps(&self, place: &Tensor, size: usize) -> Vec<Tap> {
        let place = self.in_elements(place, size);
        let mut taps = Vec::with_capacity(4);
        match self.mode {
            GridMode::Nearest => taps.push(Tap::new(self.padded(place, size).detach().round(), None, size)),
            GridMode::Linear => {
                let place = self.padded(place, size);
                let low = place.detach().floor();
                for (i, weight) in linear_weights(&(&place - &low)).into_iter().enumerate() {
                    taps.push(Tap::new(&low + K(i as f64), Some(weight), size));
                }
            }
            GridMode::Cubic => {
                let low = place.detach().floor();
                for (i, weight) in cubic_weights(&(&place - &low)).into_iter().enumerate() {
                    // Half way between two elements the mirrored one is both.
                    let at = self.padded(&low + K(i as f64 - 1.0), size).round();
                    taps.push(Tap::new(at, Some(weight), size));
                }
            }
        }
        taps
    }
}

/// One element of each sample along one axis, or along several.
#[derive(Clone)]
struct Tap {
    /// Its number; 0 where it is outside.
    at: Tensor,
    inside: Tensor,
    weight: Option<Tensor>,
}

impl Tap {
    #[track_caller]
    fn new(at: Tensor, weight: Option<Tensor>, size: usize) -> Tap {
        // NaN is outside too.
        let inside = at.ge(K(0.0)).logical_and(at.le(K(size as f64 - 1.0)));
        let at = inside.where_(at, K(0.0)).cast(DType::I64);
        Tap { at, inside, weight }
    }

    /// With a tap along the next axis, of this size.
    #[track_caller]
    fn with(&self, next: &Tap, size: usize) -> Tap {
        let weight = match (&self.weight, &next.weight) {
            (Some(a), Some(b)) => Some(a * b),
            (a, b) => a.clone().or(b.clone()),
        };
        Tap { at: &self.at * size as i64 + &next.at, inside: self.inside.logical_and(&next.inside), weight }
    }
}

impl Tensor {
    /// Samples of `[n, c, h, w]` at the places of a grid `[n, out.., 2]`, which holds `(x, y)` between -1 and 1: `[n, c, out..]`. Or of
    /// `[n, c, d, h, w]` by a grid of `(x, y, z)`, as `torch.nn.functional.grid_sample`; also of `[n, c, l]`.
    ///
    /// Places that are NaN give 0 (PyTorch's CPU: NaN). Where a place is clipped, its gradient is 0. Integers compute in `f32`.
    #[track_caller]
    pub fn grid_sample(&self, grid: &Tensor, options: &GridSampleOptions) -> Tensor {
        if let Some(cast) = crate::autocast::entered("grid_sample") {
            return cast.of(self).grid_sample(&cast.of(grid), options);
        }
        if let Some(invalid) = first_invalid(&[self, grid]) {
            return invalid;
        }
        let (x, g) = (self.float(), grid.float());
        let dtype = x.dtype().promote(g.dtype());
        let (shape, places) = (self.shape(), grid.shape());
        let n = shape.len().saturating_sub(2);
        let fits = (1..=3).contains(&n)
            && places.len() == n + 2
            && places[0] == shape[0]
            && places[n + 1] == n
            && !shape[2..].contains(&0)
            && (options.mode != GridMode::Cubic || n == 2);
        if !fits {
            let message = format!("{shape:?} by a grid {places:?}, {options:?}");
            let help = "the input is [n, c, spatial..] with one to three spatial axes, the grid [n, out.., as many]; `Cubic` is for two";
            return Tensor::fail(ErrorKind::Shape, "grid_sample", message, help, &[self, grid]);
        }
        let wide = dtype.compute();
        let count: usize = places[1..=n].iter().product();
        let g = g.cast(wide).reshape_to(&[places[0], count, n]);
        let x = x.cast(wide).reshape_to(&[shape[0], shape[1], shape[2..].iter().product()]);
        let mut taps: Option<Vec<Tap>> = None;
        for (d, &size) in shape[2..].iter().enumerate() {
            // The last spatial axis is the grid's first number.
            let own = options.taps(&g.select(-1, (n - 1 - d) as i64), size);
            let mut all = Vec::new();
            match &taps {
                None => all = own,
                Some(before) => {
                    for tap in before {
                        for next in &own {
                            all.push(tap.with(next, size));
                        }
                    }
                }
            }
            taps = Some(all);
        }
        let every = [shape[0], shape[1], count];
        let mut sum: Option<Tensor> = None;
        for tap in taps.unwrap_or_default() {
            let index = tap.at.unsqueeze(1).expand(every);
            let inside = tap.inside.unsqueeze(1);
            // Both are 0 outside: neither may be what 0 times it is not 0.
            let mut part = inside.where_(x.gather(2, &index), K(0.0));
            if let Some(weight) = tap.weight {
                part = part * inside.where_(weight.unsqueeze(1), K(0.0));
            }
            sum = Some(match sum {
                Some(sum) => sum + part,
                None => part,
            });
        }
        let mut out = Shape::from_slice(&shape[..2]);
        out.extend_from_slice(&places[1..=n]);
        sum.unwrap_or(x).reshape_to(&out).cast(dtype)
    }

    /// The grid of affine maps for [`Tensor::grid_sample`]: of `[n, 2, 3]` and a size `[n, c, h, w]` it is `[n, h, w, 2]`, of `[n, 3, 4]` and
    /// `[n, c, d, h, w]` it is `[n, d, h, w, 3]`. A place `(x, y, 1)` becomes its product with the matrix.
    #[track_caller]
    pub fn affine_grid(&self, size: &[usize], align_corners: bool) -> Tensor {
        let theta = self.float();
        if theta.is_invalid() {
            return theta;
        }
        let (shape, n) = (theta.shape(), size.len().saturating_sub(2));
        if !(1..=3).contains(&n) || shape != [size[0], n, n + 1] || !is_countable(size, 8) {
            let message = format!("maps {shape:?} for {size:?}");
            let help = "maps are [n, k, k + 1] for a size [n, c, spatial..] with k spatial axes, one to three";
            return Tensor::fail(ErrorKind::Shape, "affine_grid", message, help, &[self]);
        }
        let (dtype, device) = (theta.dtype(), theta.device_id());
        let wide = dtype.compute();
        let theta = theta.cast(wide);
        // Each column of the matrix beside the places: [n, 1.., k].
        let mut lead: Vec<usize> = vec![1; n + 2];
        (lead[0], lead[n + 1]) = (size[0], n);
        let mut grid = theta.select(-1, n as i64).reshape_to(&lead);
        for k in 0..n {
            let (axis, length) = (n - k, size[1 + n - k]);
            let mut along: Vec<usize> = vec![1; n + 2];
            along[axis] = length;
            let number = Tensor::from_expr(Expr::iota(&along, axis, wide, device));
            // From -1 to 1; a single place is in the middle.
            let place = match align_corners {
                true if length < 2 => number * K(0.0),
                true => number * K(2.0 / (length - 1) as f64) - K(1.0),
                false => (number * K(2.0) - K(length as f64 - 1.0)) * K(1.0 / length.max(1) as f64),
            };
            grid = grid + place * theta.select(-1, k as i64).reshape_to(&lead);
        }
        let mut out = vec![size[0]];
        out.extend_from_slice(&size[2..]);
        out.push(n);
        grid.expand(out).cast(dtype)
    }
}
