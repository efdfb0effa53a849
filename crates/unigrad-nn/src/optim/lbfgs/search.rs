//! The line search: a length at which the strong Wolfe conditions hold, by a bracket that cubic interpolation narrows (as PyTorch's, which is of Torch 7).
//!
//! In: what evaluates the loss and its gradient at a length. Out: the best length found, with both.

use crate::error::Result;
use unigrad_tensor::{Tensor, no_grad};

/// A loss and its gradient.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) loss: f64,
    pub(super) gradient: Tensor,
}

/// What a search found.
pub(super) struct Found {
    pub(super) point: Point,
    pub(super) length: f64,
    pub(super) evaluations: usize,
}

/// A length that was tried.
#[derive(Clone)]
struct Tried {
    length: f64,
    point: Point,
    slope: f64,
}

/// Sufficient decrease, and curvature.
const C1: f64 = 1e-4;
const C2: f64 = 0.9;

/// Where the cubic through two points with slopes is least, within bounds.
fn cubic(a: &Tried, b: &Tried, bounds: Option<(f64, f64)>) -> f64 {
    let (x1, f1, g1, x2, f2, g2) = (a.length, a.point.loss, a.slope, b.length, b.point.loss, b.slope);
    let (low, high) = bounds.unwrap_or(if x1 <= x2 { (x1, x2) } else { (x2, x1) });
    let d1 = g1 + g2 - 3.0 * (f1 - f2) / (x1 - x2);
    let square = d1 * d1 - g1 * g2;
    if square < 0.0 || square.is_nan() {
        return (low + high) / 2.0;
    }
    let d2 = square.sqrt();
    let least = if x1 <= x2 {
        x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2.0 * d2))
    } else {
        x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2.0 * d2))
    };
    least.max(low).min(high)
}

/// Searches from `length` along a direction whose greatest element is `size`; at length 0 the loss has this slope.
#[allow(clippy::too_many_arguments)] // the search's own, as in its sources
pub(super) fn strong_wolfe(
    at: &mut dyn FnMut(f64) -> Result<Point>,
    direction: &Tensor,
    size: f64,
    length: f64,
    start: &Point,
    slope: f64,
    tolerance: f64,
    most: usize,
) -> Result<Found> {
    let mut evaluations = 0;
    let mut look = |length: f64| -> Result<Tried> {
        let point = at(length)?;
        evaluations += 1;
        let slope = no_grad(|| point.gradient.dot(direction)).to_f64()?;
        Ok(Tried { length, point, slope })
    };
    let f0 = start.loss;
    let mut tried = 0;
    let mut before = Tried { length: 0.0, point: start.clone(), slope };
    let origin = before.clone();
    let mut now = look(length)?;
    // A bracket that holds such a length, or the length itself.
    let mut bracket: Option<[Tried; 2]> = None;
    let mut done = None;
    while tried < most {
        if now.point.loss > f0 + C1 * now.length * slope || (tried > 1 && now.point.loss >= before.point.loss) {
            bracket = Some([before.clone(), now.clone()]);
            break;
        }
        if now.slope.abs() <= -C2 * slope {
            done = Some(now.clone());
            break;
        }
        if now.slope >= 0.0 {
            bracket = Some([before.clone(), now.clone()]);
            break;
        }
        let bounds = (now.length + 0.01 * (now.length - before.length), now.length * 10.0);
        let next = cubic(&before, &now, Some(bounds));
        before = now;
        now = look(next)?;
        tried += 1;
    }
    if let Some(found) = done {
        return Ok(Found { point: found.point, length: found.length, evaluations });
    }
    let mut bracket = bracket.unwrap_or([origin, now]);
    let mut stuck = false;
    let order = |bracket: &[Tried; 2]| if bracket[0].point.loss <= bracket[1].point.loss { (0, 1) } else { (1, 0) };
    let (mut low, mut high) = order(&bracket);
    let mut satisfied = false;
    while !satisfied && tried < most {
        if (bracket[1].length - bracket[0].length).abs() * size < tolerance {
            break;
        }
        let mut next = cubic(&bracket[0], &bracket[1], None);
        let (least, most) = (bracket[0].length.min(bracket[1].length), bracket[0].length.max(bracket[1].length));
        // Too near to a side twice, or beyond it: a tenth of the bracket from it instead.
        let margin = 0.1 * (most - least);
        if (most - next).min(next - least) < margin {
            if stuck || next >= most || next <= least {
                next = if (next - most).abs() < (next - least).abs() { most - margin } else { least + margin };
                stuck = false;
            } else {
                stuck = true;
            }
        } else {
            stuck = false;
        }
        let new = look(next)?;
        tried += 1;
        if new.point.loss > f0 + C1 * next * slope || new.point.loss >= bracket[low].point.loss {
            bracket[high] = new;
            (low, high) = order(&bracket);
        } else {
            if new.slope.abs() <= -C2 * slope {
                satisfied = true;
            } else if new.slope * (bracket[high].length - bracket[low].length) >= 0.0 {
                bracket[high] = bracket[low].clone();
            }
            bracket[low] = new;
        }
    }
    let found = bracket[low].clone();
    Ok(Found { point: found.point, length: found.length, evaluations })
}
