//! Collation: a batch's items become tensors.
//!
//! In: items, on a worker's thread. Out: host tensors with a first axis more ([`Collate`]), and from these the batch on a device ([`Upload`]).
//! Always: items that do not fit into one tensor are an error that names them and both shapes.

use crate::{dataset::Sample, host, loader::Batch};
use unigrad_nn::{Error, HostTensor, Result, random::Rng};
use unigrad_tensor::{Device, Tensor};

/// What can be put on a device.
pub trait Upload: Send + 'static {
    /// What it is there.
    type Batch: Send + 'static;

    /// Puts it there.
    fn upload(self, device: &Device) -> Result<Self::Batch>;
}

/// Makes one of the items of a batch.
///
/// Any closure of this form is one too, whose result is an [`Upload`]: a [`HostTensor`], a tuple or a vector of them.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_data::{InMemory, Loader, Source, array};
/// use unigrad_nn::{Result, random::Rng};
/// use unigrad_tensor::Device;
///
/// // Strings by their lengths, and how many there are.
/// let words = InMemory::new(vec!["a", "tree", "of", "words"]);
/// let collate = |items: Vec<&'static str>, _: &[usize], _: &mut Rng| {
///     let lengths: Vec<i64> = items.iter().map(|word| word.len() as i64).collect();
///     Ok((array(&lengths, &[items.len()])?, items.len()))
/// };
/// let loader = Loader::new(words, 3, 42).in_order().collate(collate);
/// let device = Device::open("cpu")?;
/// for batch in loader.batches(0, 0, &device)? {
///     let (lengths, n) = batch?;
///     assert_eq!(lengths.shape(), [n]);
/// }
/// # Ok::<(), unigrad_nn::Error>(())
/// ```
pub trait Collate<I>: Send + Sync {
    /// The batch, before it is on a device.
    type Host: Upload;

    /// Makes it of the items `indices`. What is random takes its numbers from `rng`, which depends on seed, epoch and position alone.
    fn collate(&self, items: Vec<I>, indices: &[usize], rng: &mut Rng) -> Result<Self::Host>;

    /// How the batch is made of its items where a data set gives them as one ([`Dataset::stacked`](crate::Dataset::stacked)); `None`, as here, where each item is
    /// wanted.
    fn of_stacked(&self) -> Option<OfStacked<I, Self::Host>> {
        None
    }
}

/// The batch of items that are one already, and their indices.
pub type OfStacked<I, H> = fn(I, &[usize]) -> Result<H>;

impl<I, H, F> Collate<I> for F
where
    H: Upload,
    F: Fn(Vec<I>, &[usize], &mut Rng) -> Result<H> + Send + Sync,
{
    type Host = H;

    fn collate(&self, items: Vec<I>, indices: &[usize], rng: &mut Rng) -> Result<H> {
        self(items, indices, rng)
    }
}

impl Upload for HostTensor {
    type Batch = Tensor;

    fn upload(self, device: &Device) -> Result<Tensor> {
        Tensor::from_bytes(&self.bytes, self.shape.as_slice(), self.dtype, device).check()
    }
}

impl<T: Upload> Upload for Vec<T> {
    type Batch = Vec<T::Batch>;

    fn upload(self, device: &Device) -> Result<Self::Batch> {
        self.into_iter().map(|part| part.upload(device)).collect()
    }
}

impl<T: Upload> Upload for Option<T> {
    type Batch = Option<T::Batch>;

    fn upload(self, device: &Device) -> Result<Self::Batch> {
        self.map(|part| part.upload(device)).transpose()
    }
}

/// What stays on the host.
macro_rules! stays {
    ($($ty:ty),*) => { $(
        impl Upload for $ty {
            type Batch = $ty;
            fn upload(self, _: &Device) -> Result<$ty> {
                Ok(self)
            }
        }
    )* };
}
stays!((), bool, usize, i64, f64, String, Tensor);

macro_rules! tuples {
    ($($name:ident $at:tt),*) => {
        impl<$($name: Upload),*> Upload for ($($name,)*) {
            type Batch = ($($name::Batch,)*);
            fn upload(self, device: &Device) -> Result<Self::Batch> {
                Ok(($(self.$at.upload(device)?,)*))
            }
        }

        impl<$($name: Stackable),*> Stackable for ($($name,)*) {
            type Host = ($($name::Host,)*);
            fn stack(items: Vec<Self>) -> Result<Self::Host> {
                let mut columns = ($(Vec::<$name>::with_capacity(items.len()),)*);
                for item in items {
                    $(columns.$at.push(item.$at);)*
                }
                Ok(($($name::stack(columns.$at)?,)*))
            }
        }
    };
}
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);

/// What [`Stack`] stacks: host tensors, numbers, strings, and tuples of these.
pub trait Stackable: Sized + Send + 'static {
    /// The stack.
    type Host: Upload;

    /// Items one after the other along a new first axis.
    fn stack(items: Vec<Self>) -> Result<Self::Host>;
}

impl Stackable for HostTensor {
    type Host = HostTensor;

    fn stack(items: Vec<HostTensor>) -> Result<HostTensor> {
        stack(&items)
    }
}

macro_rules! stacked_numbers {
    ($($ty:ty),*) => { $(
        impl Stackable for $ty {
            type Host = HostTensor;
            fn stack(items: Vec<$ty>) -> Result<HostTensor> {
                Ok(host::of(&items, vec![items.len()]))
            }
        }
    )* };
}
stacked_numbers!(bool, u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

impl Stackable for String {
    type Host = Vec<String>;

    fn stack(items: Vec<String>) -> Result<Vec<String>> {
        Ok(items)
    }
}

/// Stacks items of one shape: samples become a [`Batch`], tensors a tensor, numbers a vector, tuples a tuple.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stack;

/// A [`Batch`] before it is on a device.
#[derive(Clone, PartialEq, Debug)]
pub struct HostBatch {
    /// `[batch, ...]`.
    pub input: HostTensor,
    /// `[batch, ...]`.
    pub target: HostTensor,
    /// Which items they are.
    pub indices: Vec<usize>,
}

impl Upload for HostBatch {
    type Batch = Batch;

    fn upload(self, device: &Device) -> Result<Batch> {
        Ok(Batch { input: self.input.upload(device)?, target: self.target.upload(device)?, indices: self.indices })
    }
}

impl Collate<Sample> for Stack {
    type Host = HostBatch;

    fn collate(&self, items: Vec<Sample>, indices: &[usize], _: &mut Rng) -> Result<HostBatch> {
        let (inputs, targets): (Vec<_>, Vec<_>) = items.into_iter().map(|sample| (sample.input, sample.target)).unzip();
        let named = |stacked: Result<HostTensor>, what| stacked.map_err(|error| of_indices(error, what, indices));
        Ok(HostBatch { input: named(stack(&inputs), "inputs")?, target: named(stack(&targets), "targets")?, indices: indices.to_vec() })
    }

    fn of_stacked(&self) -> Option<OfStacked<Sample, HostBatch>> {
        Some(|Sample { input, target }, indices| Ok(HostBatch { input, target, indices: indices.to_vec() }))
    }
}

impl<I: Stackable> Collate<I> for Stack {
    type Host = I::Host;

    fn collate(&self, items: Vec<I>, indices: &[usize], _: &mut Rng) -> Result<I::Host> {
        I::stack(items).map_err(|error| of_indices(error, "items", indices))
    }
}

fn of_indices(error: Error, what: &str, indices: &[usize]) -> Error {
    const SHOWN: usize = 8;
    let more = if indices.len() > SHOWN { ", ..." } else { "" };
    let names: Vec<String> = indices.iter().take(SHOWN).map(usize::to_string).collect();
    crate::loader::placed(error, &format!("{what} of the batch of items {}{more}", names.join(", ")))
}

/// Items of one shape and dtype, one after the other along a new first axis.
pub(crate) fn stack(items: &[HostTensor]) -> Result<HostTensor> {
    let Some(first) = items.first() else {
        return Err(Error::argument("a batch of no items", "make batches of at least one"));
    };
    let mut bytes = Vec::with_capacity(first.bytes.len() * items.len());
    for (at, item) in items.iter().enumerate() {
        if (item.dtype, &item.shape) != (first.dtype, &first.shape) {
            let cause = format!("its first item is {} {:?}, item {at} of it {} {:?}", first.dtype, first.shape, item.dtype, item.shape);
            return Err(Error::argument(cause, "make items equal in shape and type, or pad them (`PadSequences`)"));
        }
        bytes.extend_from_slice(&item.bytes);
    }
    Ok(HostTensor { dtype: first.dtype, shape: std::iter::once(items.len()).chain(first.shape.iter().copied()).collect(), bytes })
}

/// Sequences `[length, ...]` of different lengths as `[batch, longest, ...]`, ends filled with `value`, and their lengths: PyTorch's `pad_sequence` with
/// `batch_first`. The longest is rounded up to a multiple of `multiple`.
///
/// ```
/// use unigrad_data::{array, pad_sequences};
/// let (padded, lengths) = pad_sequences(&[array(&[1i64, 2, 3], &[3])?, array(&[4i64], &[1])?], 0.0, 1)?;
/// assert_eq!(padded, array(&[1i64, 2, 3, 4, 0, 0], &[2, 3])?);
/// assert_eq!(lengths, [3, 1]);
/// # Ok::<(), unigrad_nn::Error>(())
/// ```
pub fn pad_sequences(items: &[HostTensor], value: f64, multiple: usize) -> Result<(HostTensor, Vec<usize>)> {
    let Some(first) = items.first() else {
        return Err(Error::argument("a batch of no items", "make batches of at least one"));
    };
    let mut lengths = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let Some((&length, rest)) = item.shape.split_first() else {
            return Err(Error::argument(format!("item {at} has no axes to pad"), "give sequences, whose first axis is their length"));
        };
        if item.dtype != first.dtype || Some(rest) != first.shape.get(1..) {
            let cause = format!("its first item is {} {:?}, item {at} of it {} {:?}", first.dtype, first.shape, item.dtype, item.shape);
            return Err(Error::argument(cause, "pad sequences that differ in length only"));
        }
        lengths.push(length);
    }
    let longest = lengths.iter().copied().max().unwrap_or_default().next_multiple_of(multiple.max(1));
    let rest = first.shape.get(1..).unwrap_or_default();
    let fill = host::element(value, first.dtype)?;
    let wanted = rest.iter().try_fold(longest, |n, &size| n.checked_mul(size)).and_then(|n| n.checked_mul(fill.len()));
    let wanted = wanted.ok_or_else(|| Error::argument(format!("{longest} times {rest:?} elements"), "use shorter sequences"))?;
    let mut bytes = Vec::with_capacity(wanted * items.len());
    for item in items {
        let end = bytes.len() + wanted;
        bytes.extend_from_slice(&item.bytes);
        while bytes.len() < end {
            bytes.extend_from_slice(&fill);
        }
    }
    let shape = [items.len(), longest].into_iter().chain(rest.iter().copied()).collect();
    Ok((HostTensor { dtype: first.dtype, shape, bytes }, lengths))
}

/// Pads samples whose input is a sequence (`[length, ...]`) to the longest of the batch.
///
/// Targets of one shape are stacked; sequences of different lengths are padded too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PadSequences {
    /// What inputs are filled with.
    pub input: f64,
    /// What targets are filled with: -100 is what cross entropy ignores.
    pub target: f64,
    /// Lengths are rounded up to a multiple of this: fewer shapes, so fewer plans.
    pub multiple: usize,
}

impl Default for PadSequences {
    fn default() -> PadSequences {
        PadSequences { input: 0.0, target: -100.0, multiple: 1 }
    }
}

/// A batch of sequences of different lengths.
#[derive(Clone, Debug)]
pub struct PaddedBatch<T = Tensor> {
    /// `[batch, longest, ...]`.
    pub input: T,
    /// `[batch, ...]`, or `[batch, longest, ...]`.
    pub target: T,
    /// `[batch]`, `I64`: how much of each input is no padding.
    pub lengths: T,
    /// Which items they are.
    pub indices: Vec<usize>,
}

impl Upload for PaddedBatch<HostTensor> {
    type Batch = PaddedBatch;

    fn upload(self, device: &Device) -> Result<PaddedBatch> {
        let (input, target, lengths) = (self.input.upload(device)?, self.target.upload(device)?, self.lengths.upload(device)?);
        Ok(PaddedBatch { input, target, lengths, indices: self.indices })
    }
}

impl Collate<Sample> for PadSequences {
    type Host = PaddedBatch<HostTensor>;

    fn collate(&self, items: Vec<Sample>, indices: &[usize], _: &mut Rng) -> Result<Self::Host> {
        let (inputs, targets): (Vec<_>, Vec<_>) = items.into_iter().map(|sample| (sample.input, sample.target)).unzip();
        let padded = pad_sequences(&inputs, self.input, self.multiple);
        let (input, lengths) = padded.map_err(|error| of_indices(error, "inputs", indices))?;
        let equal = targets.windows(2).all(|pair| pair[0].shape == pair[1].shape);
        let sequences = !equal || (self.multiple > 1 && targets.iter().zip(&inputs).all(|(t, i)| t.shape == i.shape));
        let target = if sequences { pad_sequences(&targets, self.target, self.multiple).map(|padded| padded.0) } else { stack(&targets) };
        let target = target.map_err(|error| of_indices(error, "targets", indices))?;
        let lengths: Vec<i64> = lengths.into_iter().map(|length| length as i64).collect();
        let lengths = host::of(&lengths, vec![lengths.len()]);
        Ok(PaddedBatch { input, target, lengths, indices: indices.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array;

    #[test]
    fn padding_fills_the_ends() -> Result<()> {
        let items = [array(&[1.0f32, 2.0], &[1, 2])?, array::<f32>(&[], &[0, 2])?, array(&[3.0f32, 4.0, 5.0, 6.0], &[2, 2])?];
        let (padded, lengths) = pad_sequences(&items, -1.0, 3)?;
        let mut wanted = vec![-1.0f32; 18];
        wanted[..2].copy_from_slice(&[1.0, 2.0]);
        wanted[12..16].copy_from_slice(&[3.0, 4.0, 5.0, 6.0]);
        assert_eq!((padded, lengths), (array(&wanted, &[3, 3, 2])?, vec![1, 0, 2]));
        assert!(pad_sequences(&[array(&[1u8], &[1])?], 256.0, 1).is_err(), "no u8");
        assert!(pad_sequences(&[array(&[1u8], &[])?], 0.0, 1).is_err() && pad_sequences(&[], 0.0, 1).is_err());
        let error = pad_sequences(&[array(&[1u8], &[1])?, array(&[1u8], &[1, 1])?], 0.0, 1).unwrap_err().to_string();
        assert!(error.contains("item 1 of it u8 [1, 1]"), "{error}");
        Ok(())
    }

    #[test]
    fn tuples_become_tuples() -> Result<()> {
        let items = vec![(array(&[1.0f32], &[1])?, 3i64, "a".to_owned()), (array(&[2.0f32], &[1])?, 4, "b".to_owned())];
        let (x, y, names) = Stack.collate(items, &[0, 1], &mut Rng::new(0, 0))?;
        assert_eq!((x, y), (array(&[1.0f32, 2.0], &[2, 1])?, array(&[3i64, 4], &[2])?));
        assert_eq!(names, ["a", "b"]);
        Ok(())
    }

    #[test]
    fn targets_of_the_inputs_length_are_padded_with_them() -> Result<()> {
        let of = |tokens: &[i64]| -> Result<Sample> {
            Ok(Sample { input: array(tokens, &[tokens.len()])?, target: array(tokens, &[tokens.len()])? })
        };
        let pad = PadSequences { multiple: 4, ..PadSequences::default() };
        let batch = pad.collate(vec![of(&[1, 2, 3])?, of(&[4, 5, 6])?], &[7, 9], &mut Rng::new(0, 0))?;
        assert_eq!(batch.target, array(&[1i64, 2, 3, -100, 4, 5, 6, -100], &[2, 4])?);
        let batch = pad.collate(vec![of(&[1, 2, 3])?, of(&[4])?], &[7, 9], &mut Rng::new(0, 0))?;
        assert_eq!(batch.input, array(&[1i64, 2, 3, 0, 4, 0, 0, 0], &[2, 4])?);
        assert_eq!(batch.lengths, array(&[3i64, 1], &[2])?);
        Ok(())
    }
}
