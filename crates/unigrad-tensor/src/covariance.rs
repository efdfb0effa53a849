//! Covariances and correlations of variables, with weights of observations.
//!
//! In: a matrix `[variables, observations]`, or a vector. Out: `[variables, variables]`, or a number where there is one variable.
//! Always: NaN or an infinity where there are too few observations, as the division by 0 gives it; no error.
//! Never: reads weights: that none is negative is the caller's.

use crate::{Tensor, arithmetic::K, promotion::promote, selection::first_invalid};
use unigrad_graph::ErrorKind;

impl Tensor {
    /// The covariance of variables, which are the rows of a matrix `[variables, observations]` (a vector is one variable), divided by
    /// `observations - correction`, or by 0 where that is negative. Of one variable it is a number without axes.
    #[track_caller]
    pub fn cov(&self, correction: usize) -> Tensor {
        self.cov_with(correction, None, None)
    }

    /// [`Tensor::cov`] with weights of the observations, `[observations]` each: `counts`, integers, say how often each was made, and `weights`, floats, how
    /// much it counts. None is negative.
    ///
    /// With weights `w` (the product of both) the divisor is `sum(w) - correction * sum(w * weights) / sum(w)`.
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_tensor::{Device, Tensor};
    ///
    /// let device = Device::open("cpu")?;
    /// let x = Tensor::new([1.0f32, 4.0], &device);
    /// let twice = x.cov_with(1, Some(&Tensor::new([2i64, 1], &device)), None);
    /// assert_eq!(twice.item::<f32>()?, Tensor::new([1.0f32, 1.0, 4.0], &device).cov(1).item::<f32>()?);
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn cov_with(&self, correction: usize, counts: Option<&Tensor>, weights: Option<&Tensor>) -> Tensor {
        if let Some(cast) = crate::autocast::entered("cov") {
            return cast.of(self).cov_with(correction, counts, cast.maybe(weights).as_ref());
        }
        let x = self.float();
        let given: Vec<&Tensor> = [Some(&x), counts, weights].into_iter().flatten().collect();
        if let Some(invalid) = first_invalid(&given) {
            return invalid;
        }
        if x.rank() > 2 {
            let message = format!("wants a matrix or a vector, got {:?}", x.shape());
            return Tensor::fail(ErrorKind::Shape, "cov", message, "rows are variables, columns are observations", &[self]);
        }
        let rows = if x.rank() == 2 { x.clone() } else { x.reshape([1, x.numel() as i64]) };
        let n = rows.size(1);
        if let Some(wrong) = given[1..].iter().find(|tensor| tensor.shape() != [n]) {
            let message = format!("weights {:?} for {n} observations", wrong.shape());
            return Tensor::fail(ErrorKind::Shape, "cov", message, "give each observation one weight", &[self, wrong]);
        }
        let fits = counts.is_none_or(|counts| counts.dtype().is_int()) && weights.is_none_or(|weights| weights.dtype().is_float());
        if !fits {
            let message = format!("counts of {:?} and weights of {:?}", counts.map(Tensor::dtype), weights.map(Tensor::dtype));
            return Tensor::fail(ErrorKind::DType, "cov", message, "counts are integers, weights are floats", &given);
        }
        // All is computed in the dtype that observations and weights have together.
        let dtype = weights.map_or(x.dtype(), |weights| promote(&x.expr(), &weights.expr()));
        let (rows, weights) = (rows.cast(dtype), weights.map(|weights| weights.cast(dtype)));
        let weight = match (counts, &weights) {
            (None, None) => None,
            (Some(one), None) | (None, Some(one)) => Some(one.cast(dtype)),
            (Some(counts), Some(weights)) => Some(counts.cast(dtype) * weights),
        };
        let (centered, other, scale) = match weight {
            None => {
                let centered = &rows - rows.mean_keepdim(1);
                (centered.clone(), centered, Divisor::Known(1.0 / n.saturating_sub(correction) as f64))
            }
            Some(w) => {
                let sum = w.sum(());
                let centered = &rows - (&rows * &w).sum_keepdim(1) / &sum;
                let divisor = match &weights {
                    Some(weights) if correction > 0 => &sum - (&w * weights).sum(()) * K(correction as f64) / &sum,
                    _ => sum - K(correction as f64),
                };
                (&centered * w, centered, Divisor::Read(divisor.clamp_min(K(0.0))))
            }
        };
        let product = centered.matmul(&other.t());
        let covariance = match scale {
            Divisor::Known(factor) => product * K(factor),
            Divisor::Read(divisor) => product / divisor,
        };
        if covariance.numel() == 1 { covariance.reshape(Vec::<i64>::new()) } else { covariance }
    }

    /// The correlation coefficients of variables, which are the rows of a matrix, limited to -1 to 1.
    #[track_caller]
    pub fn corrcoef(&self) -> Tensor {
        if let Some(cast) = crate::autocast::entered("corrcoef") {
            return cast.of(self).corrcoef();
        }
        let covariance = self.cov(1);
        if covariance.rank() < 2 {
            return covariance.div(covariance.clone());
        }
        let deviation = covariance.diagonal(0, 0, 1).sqrt();
        (covariance / deviation.reshape([-1, 1]) / deviation.reshape([1, -1])).clamp(-1.0, 1.0)
    }
}

/// What a sum is divided by.
enum Divisor {
    /// One over a number that is known when the op is recorded.
    Known(f64),
    Read(Tensor),
}
