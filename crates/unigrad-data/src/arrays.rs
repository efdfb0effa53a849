//! Arrays in memory as a dataset.

use crate::dataset::{Dataset, Sample};
use unigrad_nn::{Error, HostTensor, Result, random::Rng};

/// Two arrays of equal length: item `i` is the `i`-th of the first axis of both.
#[derive(Clone, PartialEq, Debug)]
pub struct Arrays {
    inputs: HostTensor,
    targets: HostTensor,
    len: usize,
}

impl Arrays {
    /// A dataset of the rows of `inputs` and `targets`. An error if they differ in number, have no first axis, or fewer bytes than their shapes ask for.
    pub fn new(inputs: HostTensor, targets: HostTensor) -> Result<Arrays> {
        let rows = |what: &str, array: &HostTensor| -> Result<usize> {
            let first = array.shape.first().copied();
            let len = first
                .ok_or_else(|| Error::argument(format!("the {what} have no axes"), "give arrays whose first axis counts the items"))?;
            let wanted = array.shape.iter().try_fold(array.dtype.size(), |bytes, &n| bytes.checked_mul(n));
            if wanted != Some(array.bytes.len()) {
                let cause = format!("the {what} have {} bytes for {} of shape {:?}", array.bytes.len(), array.dtype, array.shape);
                return Err(Error::argument(cause, "give as many elements as the shape has"));
            }
            Ok(len)
        };
        let (len, n_targets) = (rows("inputs", &inputs)?, rows("targets", &targets)?);
        if len != n_targets {
            let cause = format!("there are {len} inputs and {n_targets} targets");
            return Err(Error::argument(cause, "give one target for each input"));
        }
        Ok(Arrays { inputs, targets, len })
    }
}

impl Dataset for Arrays {
    type Item = Sample;

    fn len(&self) -> usize {
        self.len
    }

    fn get(&self, index: usize, _: &mut Rng) -> Result<Sample> {
        Ok(Sample { input: row(&self.inputs, index)?, target: row(&self.targets, index)? })
    }
}

fn row(array: &HostTensor, index: usize) -> Result<HostTensor> {
    let shape = array.shape.get(1..).unwrap_or_default().to_vec();
    let size = shape.iter().product::<usize>() * array.dtype.size();
    let bytes = index.checked_mul(size).and_then(|begin| array.bytes.get(begin..begin + size));
    let bytes =
        bytes.ok_or_else(|| Error::argument(format!("item {index} of an array {:?}", array.shape), "ask for an item that is there"))?;
    Ok(HostTensor { dtype: array.dtype, shape, bytes: bytes.to_vec() })
}
