//! What a network learns from and predicts of: tensors, host tensors, slices with a shape.
//!
//! In: arrays of any of these kinds. Out: host tensors of the dtype and shape that the network and its loss take.
//! Always: what does not fit (sizes, numbers that are not finite, labels out of range) is an error that names the first wrong item, before anything is
//! computed.

use super::{Network, Task};
use unigrad_data::HostNumber;
use unigrad_nn::{Error, HostTensor, Result};
use unigrad_tensor::{DType, Device, Tensor};

/// An array that can be read on the host.
///
/// ```
/// use unigrad_train::network::ToHost;
/// let pixels = [0.0f32; 2 * 28 * 28];
/// assert_eq!((&pixels[..], [2, 28, 28]).to_host()?.shape, [2, 28, 28]); // an `ndarray`: `(a.as_slice().unwrap(), a.shape())`
/// assert_eq!(vec![3i64, 7].to_host()?.shape, [2]);
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
pub trait ToHost {
    /// Its elements, row-major.
    fn to_host(&self) -> Result<HostTensor>;
}

impl ToHost for HostTensor {
    fn to_host(&self) -> Result<HostTensor> {
        Ok(self.clone())
    }
}

impl ToHost for Tensor {
    fn to_host(&self) -> Result<HostTensor> {
        Ok(HostTensor { dtype: self.dtype(), shape: self.dims()?, bytes: self.to_bytes()? })
    }
}

impl<T: HostNumber> ToHost for [T] {
    fn to_host(&self) -> Result<HostTensor> {
        unigrad_data::array(self, &[self.len()])
    }
}

impl<T: HostNumber, const N: usize> ToHost for [T; N] {
    fn to_host(&self) -> Result<HostTensor> {
        self.as_slice().to_host()
    }
}

impl<T: HostNumber> ToHost for Vec<T> {
    fn to_host(&self) -> Result<HostTensor> {
        self.as_slice().to_host()
    }
}

impl<T: HostNumber, S: AsRef<[usize]>> ToHost for (&[T], S) {
    fn to_host(&self) -> Result<HostTensor> {
        unigrad_data::array(self.0, self.1.as_ref())
    }
}

impl<A: ToHost + ?Sized> ToHost for &A {
    fn to_host(&self) -> Result<HostTensor> {
        (**self).to_host()
    }
}

fn cast(array: HostTensor, dtype: DType, device: &Device) -> Result<HostTensor> {
    if array.dtype == dtype {
        return Ok(array);
    }
    let there = Tensor::from_bytes(&array.bytes, array.shape.as_slice(), array.dtype, device).cast(dtype);
    there.to_host()
}

/// Elements of an array of 4-byte floats.
fn floats(array: &HostTensor) -> impl Iterator<Item = f32> {
    array.bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes))
}

fn shown(shape: &[usize]) -> String {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("[n{}{}]", if shape.is_empty() { "" } else { ", " }, sizes.join(", "))
}

/// Whether there are as many bytes as the shape has elements, and the same number of items.
fn check_bytes(what: &str, array: &HostTensor) -> Result<()> {
    let wanted = array.shape.iter().try_fold(array.dtype.size(), |n, &size| n.checked_mul(size));
    if wanted == Some(array.bytes.len()) && !array.shape.is_empty() {
        return Ok(());
    }
    let cause = format!("{what} have {} bytes for {} of shape {:?}", array.bytes.len(), array.dtype, array.shape);
    Err(Error::argument(cause, "give an array whose first axis counts the items, with as many elements as its shape has"))
}

fn check_finite(what: &str, array: &HostTensor) -> Result<()> {
    let item = array.shape.iter().skip(1).product::<usize>().max(1);
    match floats(array).position(|x| !x.is_finite()) {
        Some(at) => Err(Error::argument(
            format!("{what}: item {} has a number that is not finite (element {})", at / item, at % item),
            "leave such items out, or replace what is missing",
        )),
        None => Ok(()),
    }
}

impl Network {
    /// Inputs as the network takes them: numbers, or tokens. Where only axes of size 1 are missing (grey images without their channel), or all axes are one
    /// (images of a network that begins with `dense`), they are reshaped.
    pub fn inputs<A: ToHost + ?Sized>(&self, inputs: &A) -> Result<HostTensor> {
        let mut array = inputs.to_host()?;
        check_bytes("the inputs", &array)?;
        let (dtype, wanted) = (self.architecture.input_dtype(), self.input_shape());
        let (given, numel) = (array.shape[1..].to_vec(), |shape: &[usize]| shape.iter().product::<usize>());
        let squeezed = |shape: &[usize]| shape.iter().copied().filter(|n| *n != 1).collect::<Vec<_>>();
        let fits = given == wanted || squeezed(&given) == squeezed(wanted) || wanted.len() == 1 && numel(&given) == wanted[0];
        if !fits {
            let cause = format!("the network takes inputs {}, and these are {}", shown(wanted), shown(&given));
            return Err(Error::argument(cause, "bring the inputs to this shape, or build the network for theirs"));
        }
        array.shape.splice(1.., wanted.iter().copied());
        if dtype == DType::I64 && array.dtype.is_float() {
            return Err(Error::argument(format!("the network takes tokens, and these inputs are {}", array.dtype), "give integers"));
        }
        let array = cast(array, dtype, &self.device)?;
        if dtype == DType::F32 {
            check_finite("the inputs", &array)?;
        }
        Ok(array)
    }

    /// Targets as the loss takes them: class indices, or numbers of the output's shape.
    pub fn targets<A: ToHost + ?Sized>(&self, targets: &A) -> Result<HostTensor> {
        let mut array = targets.to_host()?;
        check_bytes("the targets", &array)?;
        let (given, output) = (array.shape[1..].to_vec(), self.output.clone());
        let unlike = |wanted: &str| {
            let cause = format!("the network's output is {}, and its targets are {} {}", shown(&output), array.dtype, shown(&given));
            Error::argument(cause, format!("give {wanted}"))
        };
        let is_class = matches!(self.architecture.loss.task(), Task::Classes | Task::LogClasses);
        if is_class && (!array.dtype.is_float() || given != output) {
            if array.dtype.is_float() || array.dtype == DType::Bool {
                return Err(unlike("class indices as integers [n], or probabilities of the output's shape"));
            }
            // A column of labels is a list of labels.
            if given == [1] && output.len() == 1 {
                array.shape.truncate(1);
            }
            if array.shape.len() != output.len() {
                return Err(unlike("one class index for each row of scores"));
            }
            let array = cast(array, DType::I64, &self.device)?;
            if let [classes] = output[..] {
                let ignored = match &self.architecture.loss {
                    super::LossSpec::CrossEntropy { ignore_index, .. } | super::LossSpec::Nll { ignore_index, .. } => *ignore_index,
                    _ => None,
                };
                let labels = array.bytes.as_chunks::<8>().0.iter().map(|bytes| i64::from_ne_bytes(*bytes));
                let wrong = labels.enumerate().find(|(_, label)| !(0..classes as i64).contains(label) && Some(*label) != ignored);
                if let Some((at, label)) = wrong {
                    let cause = format!("the label of item {at} is {label}, and the network has {classes} classes");
                    return Err(Error::argument(
                        cause,
                        format!("give labels from 0 to {}, or a last layer of as many units as there are classes", classes - 1),
                    ));
                }
            }
            return Ok(array);
        }
        let squeezed = |shape: &[usize]| shape.iter().copied().filter(|n| *n != 1).collect::<Vec<_>>();
        if squeezed(&given) != squeezed(&output) {
            return Err(unlike("targets of the output's shape"));
        }
        // A list of numbers against a column of answers would be a matrix of differences.
        array.shape.splice(1.., output.iter().copied());
        let array = cast(array, DType::F32, &self.device)?;
        check_finite("the targets", &array)?;
        if matches!(self.architecture.loss.task(), Task::Binary | Task::Probabilities)
            && let Some(at) = floats(&array).position(|x| !(0.0..=1.0).contains(&x))
        {
            let item = array.shape.iter().skip(1).product::<usize>().max(1);
            return Err(Error::argument(format!("the target of item {} is not from 0 to 1", at / item), "give 0 or 1, or a probability"));
        }
        Ok(array)
    }
}
