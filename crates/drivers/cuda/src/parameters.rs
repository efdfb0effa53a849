//! The parameters of a launch, as the driver wants them: a pointer to each.
//!
//! Always: buffers with tensor maps ([`unigrad_ir::TensorMap`]) are described to the driver anew for each launch, for their memory changes from launch to launch;
//! what it refuses is the launch's error. Never: allocates once a thread has launched such a program.

use cudarc::driver::sys::{self, CUresult};
use std::{cell::RefCell, ffi::c_void};
use unigrad_gpu::{Bound, Range};
use unigrad_ir::{Param, Program, TensorMap};
use unigrad_scalar::DType;

/// A tensor map but for its address.
#[derive(Debug)]
pub(crate) struct Map {
    param: usize,
    /// Bytes before the first element.
    offset: u64,
    dtype: sys::CUtensorMapDataType,
    rank: u32,
    sizes: [u64; 5],
    /// Bytes, of all dimensions but the innermost.
    strides: [u64; 4],
    boxes: [u32; 5],
}

impl Map {
    /// `None` if it is none that a valid program has.
    pub(crate) fn of(map: &TensorMap, program: &Program) -> Option<Map> {
        use sys::CUtensorMapDataType::*;
        let Some(Param::Buffer { dtype, .. }) = program.params.get(map.param as usize) else { return None };
        let kind = match (dtype, map.rounded) {
            (DType::F16, false) => CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
            (DType::BF16, false) => CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
            (DType::F32, false) => CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
            (DType::F32, true) => CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
            _ => return None,
        };
        let bytes = |elements: u64| elements.checked_mul(dtype.size() as u64);
        let mut made = Map {
            param: map.param as usize,
            offset: bytes(map.offset)?,
            dtype: kind,
            rank: map.dims.len() as u32,
            sizes: [1; 5],
            strides: [0; 4],
            boxes: [1; 5],
        };
        for (at, dim) in map.dims.iter().enumerate() {
            *made.sizes.get_mut(at)? = dim.size;
            *made.boxes.get_mut(at)? = dim.boxed;
            if let Some(outer) = at.checked_sub(1) {
                *made.strides.get_mut(outer)? = bytes(dim.stride)?;
            }
        }
        Some(made)
    }

    /// With the address of its buffer.
    fn encode(&self, address: u64) -> Result<sys::CUtensorMap, CUresult> {
        let mut map = sys::CUtensorMap { opaque: [0; 16] };
        // SAFETY: pointers to locals and to this value's arrays, of `rank` entries at least; the address is not looked at.
        let encoded = unsafe {
            sys::cuTensorMapEncodeTiled(
                &mut map,
                self.dtype,
                self.rank,
                (address + self.offset) as *mut c_void,
                self.sizes.as_ptr(),
                self.strides.as_ptr(),
                self.boxes.as_ptr(),
                [1; 5].as_ptr(),
                sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
                sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        };
        if encoded == CUresult::CUDA_SUCCESS { Ok(map) } else { Err(encoded) }
    }
}

thread_local! {
    /// Of this thread's launches; kept, so that a launch allocates nothing.
    static PARAMETERS: RefCell<Parameters> = const { RefCell::new(Parameters { bytes: Vec::new(), starts: Vec::new(), pointers: Vec::new() }) };
}

/// The parameters of a launch: all values in one block, each at a multiple of 8 bytes, and a pointer to each.
#[derive(Default)]
pub(crate) struct Parameters {
    bytes: Vec<u8>,
    starts: Vec<usize>,
    pointers: Vec<*mut c_void>,
}

impl Parameters {
    /// Lays parameters out, tensor maps behind them, and gives a call the pointers to them; or what the driver says of a map.
    pub(crate) fn with(args: &[Bound], maps: &[Map], mut call: impl FnMut(*mut *mut c_void) -> CUresult) -> CUresult {
        let mut with = |parameters: &mut Parameters| match parameters.lay_out(args, maps) {
            Ok(()) => call(parameters.pointers.as_mut_ptr()),
            Err(refused) => refused,
        };
        // While the thread ends there is no kept block any more.
        let kept = PARAMETERS.try_with(|parameters| with(&mut parameters.borrow_mut()));
        kept.unwrap_or_else(|_| with(&mut Parameters::default()))
    }

    fn lay_out(&mut self, args: &[Bound], maps: &[Map]) -> Result<(), CUresult> {
        let address = |range: &Range| if range.len == 0 { 0 } else { range.handle + range.offset as u64 };
        let bytes = &mut self.bytes;
        bytes.clear();
        self.starts.clear();
        for arg in args {
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            self.starts.push(bytes.len());
            match arg {
                Bound::Buffer(range) => bytes.extend_from_slice(&address(range).to_le_bytes()),
                Bound::Scalar(dtype, raw) => push_scalar(bytes, *dtype, *raw),
                Bound::Table(ranges) => ranges.iter().for_each(|range| bytes.extend_from_slice(&address(range).to_le_bytes())),
                Bound::ScalarTable(dtype, raw) => raw.iter().for_each(|raw| push_scalar(bytes, *dtype, *raw)),
            }
        }
        for map in maps {
            let Some(Bound::Buffer(range)) = args.get(map.param) else { return Err(CUresult::CUDA_ERROR_INVALID_VALUE) };
            self.starts.push(bytes.len().next_multiple_of(8));
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            map.encode(address(range))?.opaque.iter().for_each(|word| bytes.extend_from_slice(&word.to_ne_bytes()));
        }
        self.pointers.clear();
        self.pointers.extend(self.starts.iter().map(|at| bytes[*at..].as_mut_ptr().cast::<c_void>()));
        Ok(())
    }
}

/// Appends a scalar of the dtype, aligned to its size, to parameter bytes.
fn push_scalar(bytes: &mut Vec<u8>, dtype: DType, raw: u64) {
    bytes.resize(bytes.len().next_multiple_of(dtype.size()), 0);
    bytes.extend_from_slice(&raw.to_le_bytes()[..dtype.size()]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use unigrad_ir::{Builder, MapDim};

    #[test]
    fn maps_have_strides_of_all_dimensions_but_the_innermost() {
        let mut b = Builder::new("maps", [32, 1, 1]);
        let (_, x) = (b.buffer("w", DType::F32), b.buffer("x", DType::BF16));
        let dims = vec![MapDim { size: 768, stride: 1, boxed: 64 }, MapDim { size: 12, stride: 800, boxed: 128 }];
        b.tensor_map(x, TensorMap { param: 0, offset: 16, rounded: false, dims });
        let program = b.finish();
        let map = Map::of(&program.tensor_maps[0], &program).unwrap();
        assert_eq!((map.param, map.offset, map.rank), (1, 32, 2));
        assert_eq!((map.sizes, map.strides, map.boxes), ([768, 12, 1, 1, 1], [1600, 0, 0, 0], [64, 128, 1, 1, 1]));
        // Halves are not rounded, and there are no six dimensions.
        let bad = TensorMap { rounded: true, ..program.tensor_maps[0].clone() };
        assert!(Map::of(&bad, &program).is_none());
        let bad = TensorMap { dims: [program.tensor_maps[0].dims[1]; 6].to_vec(), ..program.tensor_maps[0].clone() };
        assert!(Map::of(&bad, &program).is_none());
    }

    #[test]
    fn a_map_of_what_is_not_passed_is_an_error() {
        let map = Map {
            param: 3,
            offset: 0,
            dtype: sys::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
            rank: 1,
            sizes: [1; 5],
            strides: [0; 4],
            boxes: [1; 5],
        };
        let done = Parameters::with(&[Bound::Scalar(DType::U32, 1)], &[map], |_| CUresult::CUDA_SUCCESS);
        assert_eq!(done, CUresult::CUDA_ERROR_INVALID_VALUE);
    }
}
