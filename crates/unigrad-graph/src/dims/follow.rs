//! Names through a reshape: which axes of the result the factors of the input's axes make up.

use super::{AxisNames, Factor, Names, merged};
use crate::Expr;
use std::collections::VecDeque;

/// The factors of all axes in row-major order; a number is the product of neighbours.
pub fn factors(shape: &[usize], names: Option<&Names>) -> AxisNames {
    merged(shape.iter().enumerate().flat_map(|(axis, size)| match names.map(|names| &names.axes()[axis]) {
        Some(named) if !named.is_empty() => named.clone(),
        _ => AxisNames::from_elem(Factor::Fixed(*size), 1),
    }))
}

/// The names of `x` in another shape of as many elements; an error, the factor that a new axis would cut, if there are none.
pub(super) fn follow(x: &Expr, shape: &[usize]) -> Result<Option<Names>, Factor> {
    if x.numel() == 0 {
        return Ok(None);
    }
    let mut rest: VecDeque<Factor> = factors(x.shape(), x.names()).into_iter().collect();
    let mut axes: Vec<AxisNames> = Vec::with_capacity(shape.len());
    for (at, size) in shape.iter().enumerate() {
        let (mut axis, mut product) = (AxisNames::new(), 1);
        while product < *size {
            let need = *size / product;
            let Some(factor) = rest.pop_front() else { return Err(Factor::Fixed(*size)) };
            match factor {
                factor @ (Factor::Fixed(_) | Factor::Named(..) | Factor::Sum(_)) if need.is_multiple_of(factor.size()) => {
                    product *= factor.size();
                    axis.push(factor);
                }
                // A number may be cut.
                Factor::Fixed(number) if number.is_multiple_of(need) => {
                    product *= need;
                    axis.push(Factor::Fixed(need));
                    rest.push_front(Factor::Fixed(number / need));
                }
                factor @ (Factor::Fixed(_) | Factor::Named(..) | Factor::Sum(_)) => return Err(factor),
            }
        }
        // A dimension of size 1 goes to an axis of its own where there is one, else to the axis before it.
        let next_is_one = shape.get(at + 1) == Some(&1);
        while rest.front().is_some_and(|factor| factor.is_named() && factor.size() == 1)
            && (!next_is_one || (*size == 1 && axis.is_empty()))
        {
            axis.extend(rest.pop_front());
        }
        let has_name = axis.iter().any(Factor::is_named);
        axes.push(if has_name { merged(axis) } else { AxisNames::new() });
    }
    Ok(Names::new(axes))
}
