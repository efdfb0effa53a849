//! Tensors in a storage format: bytes on a device, and what they mean.
//!
//! In: values, or bytes as a file has them. Out: a leaf that is read through [`Quantized::dequantize`].
//! Always: the bytes are those of [`Format`]; `dequantize` is ordinary elementwise ops on them, which the planner makes a part of the kernel that
//! reads the result: a matrix product unpacks its weight while it reads it, and the values are never in memory.
//! Never: takes part in gradients: a gradient ends at the bytes.

use crate::{Device, Dims, Result, Tensor, error::graph_error};
use unigrad_graph::{BinaryOp, Block, DType, ErrorKind, Expr, Format, FormatError, Literal, Shape};

/// A tensor in a storage format.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_tensor::{DType, Device, Format, Tensor};
///
/// let device = Device::open("cpu")?;
/// let weight = Tensor::from_vec((0..64).map(|i| i as f32 - 32.0).collect(), [2, 32], &device);
/// let quantized = weight.quantize(Format::Q4_0)?;
/// assert_eq!(quantized.to_bytes()?.len(), 2 * 18);
/// let x = Tensor::from_vec(vec![1.0f32; 32], [1, 32], &device);
/// let y = x.matmul(&quantized.dequantize(DType::F32).transpose(0, 1));
/// assert_eq!(y.to_vec::<f32>()?, [-512.0, 496.0]);
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Quantized {
    format: Format,
    shape: Shape,
    /// Plain: elements of the format's dtype, in the shape. Blocks: bytes, `[.., blocks, bytes of a block]`.
    stored: Tensor,
}

#[track_caller]
fn wrong(op: &str, error: FormatError) -> crate::Error {
    graph_error(&Expr::fail(ErrorKind::Shape, op, error.cause, &error.help, &[]))
}

impl Tensor {
    /// The values in a storage format, each rounded as the format has it; see [`Quantized`]. Evaluates: blocks are made on the host, by the
    /// format's own definition.
    ///
    /// # Errors
    /// The tensor is not of floats, its last axis is no multiple of the format's block, or its evaluation fails.
    #[track_caller]
    pub fn quantize(&self, format: Format) -> Result<Quantized> {
        let expr = self.valid()?;
        if !expr.dtype().is_float() {
            let (message, help) = (format!("wants floats, got {}", expr.dtype()), "cast the tensor first");
            return Err(graph_error(&Expr::fail(ErrorKind::DType, "quantize", message, help, &[&expr])));
        }
        let n_bytes = match format.bytes_for(expr.shape()) {
            Ok(n_bytes) => n_bytes,
            Err(error) => return Err(wrong("quantize", error)),
        };
        let block = match format {
            Format::Plain(dtype) => return Ok(Quantized { format, shape: expr.shape().clone(), stored: self.detach().cast(dtype) }),
            Format::Blocks(block) => block,
        };
        let values = self.detach().cast(DType::F32).to_vec::<f32>()?;
        let bytes = block.encode(&values).filter(|bytes| bytes.len() == n_bytes);
        let bytes = bytes.ok_or_else(|| crate::Error::Internal(format!("{} values are no blocks of {}", values.len(), block.name)))?;
        Quantized::from_bytes(&bytes, expr.shape().as_slice(), format, &self.device()?)
    }
}

impl Quantized {
    /// A tensor from its bytes, as files have them.
    ///
    /// # Errors
    /// The last axis is no multiple of the format's block, or the bytes are not as many as the shape has.
    #[track_caller]
    pub fn from_bytes(bytes: &[u8], shape: impl Dims, format: Format, device: &Device) -> Result<Quantized> {
        let shape = shape.dims();
        let n_bytes = match format.bytes_for(&shape) {
            Ok(n_bytes) => n_bytes,
            Err(error) => return Err(wrong("from_bytes", error)),
        };
        if n_bytes != bytes.len() {
            let cause = format!("{shape:?} {format} has {n_bytes} bytes, and {} were given", bytes.len());
            return Err(wrong("from_bytes", FormatError { cause, help: "give the bytes of the whole tensor, in this format".to_owned() }));
        }
        let stored = match format {
            Format::Plain(dtype) => Tensor::from_bytes(bytes, shape.as_slice(), dtype, device),
            Format::Blocks(block) => {
                let mut blocks = shape.clone();
                if let Some(last) = blocks.last_mut() {
                    *last /= block.len;
                }
                blocks.push(block.bytes());
                Tensor::from_bytes(bytes, blocks.as_slice(), DType::U8, device)
            }
        };
        stored.valid()?;
        Ok(Quantized { format, shape, stored })
    }

    /// The format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Sizes of what it stands for.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The bytes, as [`Quantized::from_bytes`] takes them. Evaluates.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.stored.to_bytes()
    }

    /// The values, in this dtype. What reads them unpacks them, if that is a matrix product or an elementwise op.
    #[track_caller]
    pub fn dequantize(&self, dtype: DType) -> Tensor {
        match self.format {
            Format::Plain(_) => self.stored.cast(dtype),
            Format::Blocks(block) => Tensor::from_expr(unpack(&self.stored.expr(), &block, &self.shape).cast(dtype)),
        }
    }
}

/// The values of blocks of bytes `[.., blocks, bytes]`, in `F32`.
#[track_caller]
fn unpack(bytes: &Expr, block: &Block, shape: &[usize]) -> Expr {
    use BinaryOp::{And, Mul, Or, Shl, Shr, Sub};
    let axis = shape.len();
    let byte = |at: usize| bytes.narrow(axis, at, 1).cast(DType::U16);
    let eight = byte(1).literal_like(Literal::int(DType::U16, 8));
    let scale = byte(0).binary(Or, &byte(1).binary(Shl, &eight)).bitcast(block.scale).cast(DType::F32);
    // Byte `i` of a block has element `i` below element `i + len / 2`.
    let half = block.len / 2;
    let mut codes = bytes.shape().clone();
    codes[axis] = 1;
    codes.push(half);
    let packed = bytes.narrow(axis, block.scale.size(), half).reshape(&codes);
    codes[axis] = 2;
    let packed = packed.expand(&codes);
    let integer = |value: u32| packed.literal_like(Literal::int(DType::U8, value.into()));
    let shift = Expr::iota(&codes, axis, DType::U8, bytes.device()).binary(Mul, &integer(block.bits));
    let code = packed.binary(Shr, &shift).binary(And, &integer(block.max_code().into()));
    let value = code.cast(DType::F32).binary_const(Sub, f64::from(block.zero));
    let mut scales = scale.shape().clone();
    scales.push(1);
    value.binary(Mul, &scale.reshape(&scales).expand(&codes)).reshape(shape)
}
