//! Matrix products by `MPSMatrixMultiplication`.
//!
//! In: a [`Product`], its buffers, a command buffer that nothing else encodes to. Out: the product, encoded.
//! Always: `f32`, and `f16` with a result of either; row strides and batches as the class describes them (whole rows between matrices).
//! Never: chosen by itself. Where it wins has not been measured, and Apple does not say in which precision `f16` is added up: it is for
//! `UNIGRAD_PRODUCTS=library`.

use super::Device;
use objc2::{AnyThread as _, ClassType as _, rc::Retained, runtime::ProtocolObject, sel};
use objc2_metal::{MTLBuffer, MTLCommandBuffer};
use objc2_metal_performance_shaders::{MPSDataType, MPSMatrix, MPSMatrixDescriptor, MPSMatrixMultiplication, MPSSupportsMTLDevice};
use unigrad_gpu::{Matrix, Product};
use unigrad_scalar::DType;

/// A buffer, and the byte where the matrix' range begins.
type BufferAt<'a> = (&'a ProtocolObject<dyn MTLBuffer>, usize);

/// Whether a product is one that the class describes, on a device and a system that have it.
pub(super) fn can(device: &Device, p: &Product) -> bool {
    // SAFETY: the device is one of Metal's.
    let supported = || unsafe { MPSSupportsMTLDevice(Some(device)) };
    let offsets = || MPSMatrix::class().responds_to(sel!(initWithBuffer:offset:descriptor:));
    let strides =
        [(p.a, [p.m, p.k]), (p.b, [p.k, p.n]), (p.c, [p.m, p.n])].into_iter().all(|(matrix, size)| shape(&matrix, size, p.batch).is_some());
    p.compute == DType::F32 && strides && supported() && offsets()
}

/// Encodes a product that [`can`] has let pass.
pub(super) fn encode(
    device: &Device,
    commands: &ProtocolObject<dyn MTLCommandBuffer>,
    p: &Product,
    [a, b, c]: [BufferAt<'_>; 3],
) -> Result<(), &'static str> {
    let refused = "not a product of MPSMatrixMultiplication";
    let made =
        [(p.a, [p.m, p.k], a), (p.b, [p.k, p.n], b), (p.c, [p.m, p.n], c)].map(|(matrix, size, place)| view(&matrix, size, p.batch, place));
    let [Some(a), Some(b), Some(c)] = made else { return Err(refused) };
    // SAFETY: sizes of the matrices below; alpha is 1, beta 0.
    let kernel = unsafe {
        MPSMatrixMultiplication::initWithDevice_transposeLeft_transposeRight_resultRows_resultColumns_interiorColumns_alpha_beta(
            MPSMatrixMultiplication::alloc(),
            device,
            p.a.transposed,
            p.b.transposed,
            p.m as usize,
            p.n as usize,
            p.k as usize,
            1.0,
            0.0,
        )
    };
    // SAFETY: matrices of the kernel's sizes in buffers of its device, which the command buffer keeps; no encoder of it is open.
    unsafe {
        kernel.setBatchSize(p.batch as usize);
        kernel.encodeToCommandBuffer_leftMatrix_rightMatrix_resultMatrix(commands, &a, &b, &c);
    }
    Ok(())
}

/// Rows and columns as stored, bytes between rows and between matrices, and the dtype.
struct Stored {
    rows: usize,
    columns: usize,
    row_bytes: usize,
    matrix_bytes: usize,
    data_type: MPSDataType,
}

fn shape(matrix: &Matrix, [rows, columns]: [u32; 2], batch: u32) -> Option<Stored> {
    let data_type = match matrix.dtype {
        DType::F32 => MPSDataType::Float32,
        DType::F16 => MPSDataType::Float16,
        _ => return None,
    };
    let (rows, columns) = if matrix.transposed { (columns, rows) } else { (rows, columns) };
    let row_bytes = matrix.ld as usize * matrix.dtype.size();
    let least = row_bytes.checked_mul(rows as usize)?;
    let matrix_bytes = match batch {
        1 => least,
        _ => usize::try_from(matrix.batch_stride).ok()?.checked_mul(matrix.dtype.size())?,
    };
    let whole = matrix_bytes >= least && matrix_bytes.is_multiple_of(row_bytes);
    whole.then_some(Stored { rows: rows as usize, columns: columns as usize, row_bytes, matrix_bytes, data_type })
}

fn view(matrix: &Matrix, size: [u32; 2], batch: u32, (buffer, offset): BufferAt<'_>) -> Option<Retained<MPSMatrix>> {
    let stored = shape(matrix, size, batch)?;
    let first = usize::try_from(matrix.offset).ok()?.checked_mul(matrix.dtype.size())?.checked_add(offset)?;
    // SAFETY: rows lie in `row_bytes`, matrices in `matrix_bytes` (`shape`).
    let descriptor = unsafe {
        MPSMatrixDescriptor::matrixDescriptorWithRows_columns_matrices_rowBytes_matrixBytes_dataType(
            stored.rows,
            stored.columns,
            batch as usize,
            stored.row_bytes,
            stored.matrix_bytes,
            stored.data_type,
        )
    };
    // SAFETY: the matrices lie in the buffer (the caller's promise).
    Some(unsafe { MPSMatrix::initWithBuffer_offset_descriptor(MPSMatrix::alloc(), buffer, first, &descriptor) })
}
