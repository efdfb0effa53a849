//! To and from `ndarray` arrays (feature `ndarray`).

use crate::{Device, Element, Error, Result, Tensor};
use ::ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn};

impl Tensor {
    /// The array's values, in its shape; a view of any strides.
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_tensor::{Device, Tensor};
    ///
    /// let device = Device::open("cpu")?;
    /// let array = ndarray::array![[1.0f32, 2.0], [3.0, 4.0]];
    /// let x = Tensor::from_ndarray(&array.t(), &device);
    /// assert_eq!(x.to_vec::<f32>()?, [1.0, 3.0, 2.0, 4.0]);
    /// assert_eq!(x.to_ndarray::<f32>()?, array.t().into_dyn());
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn from_ndarray<T: Element, S: Data<Elem = T>, D: Dimension>(array: &ArrayBase<S, D>, device: &Device) -> Tensor {
        let shape = array.shape().to_vec();
        match array.as_slice() {
            Some(values) => Tensor::from_slice(values, shape, device),
            None => Tensor::from_vec(array.iter().copied().collect::<Vec<T>>(), shape, device),
        }
    }

    /// The values as an array of exactly this type. Evaluates.
    pub fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>> {
        let shape = self.dims()?;
        ArrayD::from_shape_vec(IxDyn(&shape), self.to_vec::<T>()?).map_err(|error| Error::Internal(error.to_string()))
    }
}
