//! Tensors and the memory that they are in.
//!
//! In: buffers, which may be another library's memory ([`Device::adopt`]). Out: tensors of them; the buffer of a tensor.
//! Always: what is held of a tensor's buffer keeps its values, whatever becomes of the tensor: an evaluation takes over only what nothing else holds.

use crate::{Error, Result, Tensor, axes::Dims, eval};
use std::sync::Arc;
use unigrad_device::Buffer;
use unigrad_graph::{DType, ErrorKind, Expr, Format};

impl Tensor {
    /// A tensor of a buffer's elements, row-major, in the machine's order; nothing is copied. Of a `Bool` each byte is 0 or 1. No gradient arrives at it.
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_tensor::{DType, Device, Tensor};
    ///
    /// let device = Device::open("cpu")?;
    /// let x = Tensor::new([1.0_f32, 2.0], &device);
    /// let same = Tensor::from_buffer(x.buffer()?, [2, 1], DType::F32);
    /// assert!(same.buffer()?.same(&x.buffer()?));
    /// assert_eq!(same.to_vec::<f32>()?, [1.0, 2.0]);
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn from_buffer(buffer: Buffer, shape: impl Dims, dtype: DType) -> Tensor {
        let shape = shape.dims();
        if Format::Plain(dtype).bytes_for(&shape) != Ok(buffer.len()) {
            let message = format!("a buffer of {} bytes is not what {:?} {dtype} has", buffer.len(), shape.as_slice());
            return Tensor::fail(ErrorKind::Shape, "from_buffer", message, "give the shape of all its elements", &[]);
        }
        let device = buffer.device().id();
        Tensor::from_expr(Expr::buffer(shape, dtype, device, Arc::new(buffer)))
    }

    /// The buffer with the elements, row-major. Evaluates, and tells what the device found wrong until then. While a handle to the buffer is there nothing
    /// overwrites it.
    pub fn buffer(&self) -> Result<Buffer, Error> {
        eval::buffer(&self.valid()?)
    }
}
