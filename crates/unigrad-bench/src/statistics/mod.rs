//! What times say: middles, spreads, and whether one series is slower than another beyond noise.

mod rank;

pub use rank::{Common, MAX_VALUES, Shift, between, common, paired};

/// The value that a share `part` (0 to 1) of the values is below, between neighbours in proportion; 0 of none.
pub fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_of_sorted(&sorted, part)
}

pub(crate) fn quantile_of_sorted(sorted: &[f64], part: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let rank = part.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (sorted[rank.floor() as usize], sorted[rank.ceil() as usize]);
    below + (above - below) * rank.fract()
}

/// The middle value.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The standard deviation as the median tells it (1.4826 times the median distance from the median), so that a few outliers do not set it.
pub fn spread(values: &[f64]) -> f64 {
    let middle = median(values);
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    1.4826 * median(&distances)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_spreads() {
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[3.0]), 3.0);
        assert_eq!(median(&[4.0, 1.0]), 2.5);
        assert_eq!(quantile(&[0.0, 10.0], 0.1), 1.0);
        assert_eq!(spread(&[1.0, 1.0, 1.0, 50.0]), 0.0);
        assert!((spread(&[1.0, 2.0, 3.0]) - 1.4826).abs() < 1e-12);
    }
}
