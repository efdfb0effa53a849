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
        let of = |array: &HostTensor| -> Result<HostTensor> {
            let shape = array.shape.get(1..).unwrap_or_default().to_vec();
            Ok(HostTensor { dtype: array.dtype, shape, bytes: row(array, index)?.to_vec() })
        };
        Ok(Sample { input: of(&self.inputs)?, target: of(&self.targets)? })
    }

    fn stacked(&self, indices: &[usize]) -> Option<Result<Sample>> {
        let of = |array: &HostTensor| -> Result<HostTensor> {
            let shape: Vec<usize> = std::iter::once(indices.len()).chain(array.shape.iter().skip(1).copied()).collect();
            let mut bytes = Vec::with_capacity(shape.iter().product::<usize>() * array.dtype.size());
            for index in indices {
                bytes.extend_from_slice(row(array, *index)?);
            }
            Ok(HostTensor { dtype: array.dtype, shape, bytes })
        };
        Some(of(&self.inputs).and_then(|input| Ok(Sample { input, target: of(&self.targets)? })))
    }
}

/// The bytes of a row.
fn row(array: &HostTensor, index: usize) -> Result<&[u8]> {
    let size = array.shape.iter().skip(1).product::<usize>() * array.dtype.size();
    let bytes = index.checked_mul(size).and_then(|begin| array.bytes.get(begin..begin.checked_add(size)?));
    let is_there = array.shape.first().is_some_and(|rows| index < *rows);
    bytes
        .filter(|_| is_there)
        .ok_or_else(|| Error::argument(format!("item {index} of an array {:?}", array.shape), "ask for an item that is there"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Collate, Dataset, Stack};
    use unigrad_tensor::DType;

    #[test]
    fn rows_together_are_rows_one_by_one() -> Result<()> {
        let of = |dtype: DType, shape: &[usize]| {
            let n = shape.iter().product::<usize>() * dtype.size();
            HostTensor { dtype, shape: shape.to_vec(), bytes: (0..n).map(|i| (i * 7 % 251) as u8).collect() }
        };
        for (inputs, targets) in [
            (of(DType::F32, &[5, 2, 3]), of(DType::I64, &[5])),
            (of(DType::U8, &[5]), of(DType::BF16, &[5, 1])),
            (of(DType::F64, &[5, 0, 4]), of(DType::Bool, &[5, 3])),
        ] {
            let arrays = Arrays::new(inputs, targets)?;
            let part = arrays.clone().subset(vec![4, 2, 2, 0])?;
            for indices in [vec![3], vec![0, 1, 2, 3], vec![3, 3, 0]] {
                let rng = || Rng::new(0, 0);
                for data in [&arrays as &dyn Dataset<Item = Sample>, &part] {
                    let each = indices.iter().map(|&index| data.get(index, &mut rng())).collect::<Result<Vec<Sample>>>()?;
                    let wanted = Stack.collate(each, &indices, &mut rng())?;
                    let got = data.stacked(&indices).transpose()?;
                    assert_eq!(got, Some(Sample { input: wanted.input, target: wanted.target }));
                }
            }
            // Where rows have no bytes too.
            assert!(arrays.stacked(&[1, 5]).is_some_and(|stacked| stacked.is_err()) && arrays.get(5, &mut Rng::new(0, 0)).is_err());
            assert!(part.stacked(&[4]).is_some_and(|stacked| stacked.is_err()));
            assert!(arrays.clone().map(|sample, _| Ok(sample)).stacked(&[]).is_none());
        }
        Ok(())
    }
}
