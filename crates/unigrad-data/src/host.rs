//! Host tensors from numbers, and numbers from host tensors.
//!
//! In: slices and shapes. Out: [`HostTensor`]s, whose bytes are as many as their shape says.

use unigrad_nn::{Error, HostTensor, Result};
use unigrad_tensor::{DType, bf16, f16};

/// A number that a host tensor can hold.
pub trait HostNumber: Copy + Send + Sync + 'static {
    /// Its type.
    const DTYPE: DType;
    /// Appends its bytes.
    fn put(self, bytes: &mut Vec<u8>);
    /// Writes its bytes to `into`, which has as many.
    fn write(self, into: &mut [u8]);
}

macro_rules! host_numbers {
    ($($ty:ty => $dtype:ident),*) => { $(
        impl HostNumber for $ty {
            const DTYPE: DType = DType::$dtype;
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_ne_bytes());
            }
            #[inline]
            fn write(self, into: &mut [u8]) {
                into.copy_from_slice(&self.to_ne_bytes());
            }
        }
    )* };
}
host_numbers!(u8 => U8, i8 => I8, u16 => U16, i16 => I16, u32 => U32, i32 => I32, u64 => U64, i64 => I64, f16 => F16, bf16 => BF16, f32 => F32, f64 => F64);

impl HostNumber for bool {
    const DTYPE: DType = DType::Bool;
    fn put(self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(self));
    }
    fn write(self, into: &mut [u8]) {
        into.fill(u8::from(self));
    }
}

/// A host tensor of `values`, row-major. An error if the shape has another number of elements.
///
/// ```
/// let rows = unigrad_data::array(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// assert_eq!(rows.shape, [2, 2]);
/// assert!(unigrad_data::array(&[1i64, 2], &[3]).is_err());
/// # Ok::<(), unigrad_nn::Error>(())
/// ```
pub fn array<T: HostNumber>(values: &[T], shape: &[usize]) -> Result<HostTensor> {
    if shape.iter().try_fold(1usize, |n, &size| n.checked_mul(size)) != Some(values.len()) {
        let cause = format!("{} values do not fill {shape:?}", values.len());
        return Err(Error::argument(cause, "give as many values as the shape has elements"));
    }
    Ok(of(values, shape.to_vec()))
}

/// As [`array`], where the caller knows that the shape fits.
pub(crate) fn of<T: HostNumber>(values: &[T], shape: Vec<usize>) -> HostTensor {
    // Into room that is there: the compiler makes one copy of it.
    let mut bytes = vec![0; size_of_val(values)];
    bytes.chunks_exact_mut(size_of::<T>()).zip(values).for_each(|(into, value)| value.write(into));
    HostTensor { dtype: T::DTYPE, shape, bytes }
}

/// The bytes of `value` in `dtype`: what fills padding.
pub(crate) fn element(value: f64, dtype: DType) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(8);
    let whole = |least: i128, most: i128| -> Result<i128> {
        let integer = value as i128;
        if value.fract() != 0.0 || !value.is_finite() || integer < least || integer > most {
            return Err(Error::argument(format!("{value} is no {dtype}"), format!("fill with a value that {dtype} has")));
        }
        Ok(integer)
    };
    macro_rules! integer {
        ($ty:ty) => {
            (whole(<$ty>::MIN as i128, <$ty>::MAX as i128)? as $ty).put(&mut bytes)
        };
    }
    match dtype {
        DType::Bool => (whole(0, 1)? != 0).put(&mut bytes),
        DType::U8 => integer!(u8),
        DType::I8 => integer!(i8),
        DType::U16 => integer!(u16),
        DType::I16 => integer!(i16),
        DType::U32 => integer!(u32),
        DType::I32 => integer!(i32),
        DType::U64 => integer!(u64),
        DType::I64 => integer!(i64),
        DType::F16 => f16::from_f64(value).put(&mut bytes),
        DType::BF16 => bf16::from_f64(value).put(&mut bytes),
        DType::F32 => (value as f32).put(&mut bytes),
        DType::F64 => value.put(&mut bytes),
        DType::F8E4M3 | DType::F8E5M2 => {
            if value.to_bits() != 0 {
                return Err(Error::argument(format!("{dtype} is only filled with 0, not with {value}"), "pad before the cast"));
            }
            bytes.push(0);
        }
    }
    Ok(bytes)
}
