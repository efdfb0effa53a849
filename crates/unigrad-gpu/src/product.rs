//! Matrix products that a vendor's library can do in place of a kernel: what is asked of it, and with which memory.
//!
//! In: a contraction that is a strided, batched product. Out: [`Product`]s, of which [`crate::Backend::take`] takes one on or none, and
//! [`crate::Backend::perform`] queues it.
//! Always: `c[i] = activation(scale * scales * a[i] b[i] + residual[i] + bias)`, or that sum times a slope ([`Activation::GeluTanhSlope`]), for every item `i` of the batch, every size 1 or more; what `c` held does
//! not count. Sums and what is done with them are in [`Product::compute`], rounded once, to the dtype of `c`. The same product gives the same bits
//! each time: a library's modes that add in no fixed order (atomics) or in fewer bits (f16 sums) are off; [`Product::tf32`] allows TF32.
//! Never: an epilogue that [`Inside`] has no words for. Where there is one, `c` is scratch memory in the compute dtype, and a kernel finishes it.
//!
//! All matrices are row-major. A library that is column-major, as BLAS, sees each as its transpose, so it is asked for
//! `cᵀ = bᵀ aᵀ`: `gemm(op(b), op(a), n, m, k, b, b.ld, a, a.ld, c, c.ld)`, where `op` is `T` for [`Matrix::transposed`], else `N`.

use crate::Range;
use unigrad_scalar::DType;

/// Where a matrix lies in its buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Matrix {
    /// `F32`, `F64`, `F16` or `BF16`; of an operand also `F8E4M3` or `F8E5M2`, whose codes it holds.
    pub dtype: DType,
    /// The first element, in elements from where the range begins.
    pub offset: u64,
    /// Elements from one stored row to the next: at least a row's length, below 2^31.
    pub ld: u32,
    /// Whether columns are stored, one after the other, instead of rows.
    pub transposed: bool,
    /// Elements from one item of the batch to the next; 0 where all items share it (not of `c`, but for a batch of one).
    pub batch_stride: u64,
}

impl Matrix {
    /// Bytes from where the range begins to the end of a matrix of so many rows and columns, in a batch of so many.
    pub fn bytes(&self, [rows, cols]: [u32; 2], batch: u32) -> u64 {
        let (run, count) = if self.transposed { (rows, cols) } else { (cols, rows) };
        let last = |count: u32, step: u64| u64::from(count.saturating_sub(1)).saturating_mul(step);
        let elements = last(batch, self.batch_stride).saturating_add(last(count, self.ld.into())).saturating_add(run.into());
        self.offset.saturating_add(elements).saturating_mul(self.dtype.size() as u64)
    }
}

/// What is applied to each element before it is stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Activation {
    /// Nothing.
    #[default]
    None,
    /// `max(x, 0)`; NaN stays NaN.
    Relu,
    /// GELU by its formula with `tanh` (Hendrycks and Gimpel, arXiv:1606.08415).
    GeluTanh,
    /// The slope of that GELU at [`Inside::before`], by which it is multiplied.
    GeluTanhSlope,
}

/// What a library does with the sums: its words for epilogues. A library that takes a product on does all of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Inside {
    /// Whether the product is multiplied by [`Operands::scale`].
    pub scaled: bool,
    /// A number in memory, in `F32`, that `a` is multiplied by, and one for `b`: offset in elements. Only of 8-bit floats.
    pub scales: [Option<u64>; 2],
    /// A matrix that is added. It may be `c` itself, lying alike.
    pub residual: Option<Matrix>,
    /// A number for each column of `c` that is added, the same for all items: offset in elements; dtype of `c`; one after the other.
    pub bias: Option<u64>,
    /// What comes last.
    pub activation: Activation,
    /// Where the activation's argument is stored too; with [`Activation::GeluTanhSlope`] it is there, and read.
    pub before: Option<Matrix>,
}

/// `c = a b` for each item of a batch, and what is done with it; see the module's text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Product {
    /// Items.
    pub batch: u32,
    /// Rows of `a` and `c`.
    pub m: u32,
    /// Columns of `b` and `c`.
    pub n: u32,
    /// Columns of `a`, rows of `b`.
    pub k: u32,
    /// The left matrix.
    pub a: Matrix,
    /// The right matrix, of the dtype of `a`, or both are of 8-bit floats.
    pub b: Matrix,
    /// The result, of that dtype or of the compute dtype, of 8-bit floats `F32`, `F16` or `BF16`; never transposed.
    pub c: Matrix,
    /// What sums are in: `F64` for `F64`, else `F32`.
    pub compute: DType,
    /// Whether products of `F32` may round their operands to TF32 (10 bits of mantissa); of 8-bit floats whether sums may be kept in fewer bits than
    /// `F32` has, as units for them do.
    pub tf32: bool,
    /// What the library does with the sums.
    pub inside: Inside,
    /// Bytes that steps before the product read and write, because an operand is not in memory as the product needs it. The driver's own kernel may
    /// make it on the way.
    pub made: u64,
    /// Whether a kernel reads `c` afterwards, which the driver's own kernel would have done on the way: the library has to win by more.
    pub after: bool,
}

impl Product {
    /// Multiplications.
    pub fn work(&self) -> f64 {
        [self.batch, self.m, self.n, self.k].into_iter().map(f64::from).product()
    }

    /// Whether it is a product that every library knows: of floats of 16 bits or more, with nothing inside.
    pub fn is_plain(&self) -> bool {
        self.inside == Inside::default() && ![self.a, self.b].iter().any(|matrix| matrix.dtype.only_stores())
    }

    /// The shortest of `m`, `n` and `k`.
    pub fn shortest(&self) -> u32 {
        self.m.min(self.n).min(self.k)
    }
}

/// The memory of a product.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Operands {
    /// Of `a`.
    pub a: Range,
    /// Of `b`.
    pub b: Range,
    /// Of `c`.
    pub c: Range,
    /// Of [`Inside::residual`].
    pub residual: Option<Range>,
    /// Of [`Inside::bias`].
    pub bias: Option<Range>,
    /// Of [`Inside::before`].
    pub before: Option<Range>,
    /// Of [`Inside::scales`].
    pub scales: [Option<Range>; 2],
    /// The factor, where [`Inside::scaled`] says so, else 1.
    pub scale: f64,
}
