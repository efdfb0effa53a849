//! Out of the graph: slices, scalars, text.

use crate::{Error, Result, Tensor, eval};
use std::{borrow::Cow, fmt};
use unigrad_device::Background;
use unigrad_graph::{DType, Element, ErrorKind, Expr, F8E4M3, F8E5M2, Format, bf16, f16};

impl Tensor {
    /// All elements in row-major order, of exactly this type. Evaluates.
    #[track_caller]
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let expr = self.of_type::<T>()?;
        elements(&eval::download(&expr)?, expr.numel())
    }

    /// The node, if its elements are of this type.
    #[track_caller]
    fn of_type<T: Element>(&self) -> Result<Expr> {
        let expr = self.valid()?;
        if expr.dtype() != T::DTYPE {
            let message = format!("the tensor is {}, asked for {}", expr.dtype(), T::DTYPE);
            let help = "cast the tensor first";
            return Err(crate::error::graph_error(&Expr::fail(ErrorKind::DType, "to_vec", message, help, &[&expr])));
        }
        Ok(expr)
    }

    /// As [`Tensor::to_vec`], for `async` programs: evaluation and read begin at once, on another thread. In a browser there is none: the work is
    /// queued before this returns.
    #[track_caller]
    pub fn to_vec_async<T: Element>(&self) -> Background<Result<Vec<T>>> {
        let checked = self.of_type::<T>();
        eval::download_async(move || checked, |expr, bytes| elements(&bytes, expr.numel()))
    }

    /// The rows of a matrix. Evaluates.
    #[track_caller]
    pub fn to_vec2<T: Element>(&self) -> Result<Vec<Vec<T>>> {
        let expr = self.valid()?;
        if expr.rank() != 2 {
            let message = format!("wants a matrix, got {:?}", expr.shape());
            return Err(crate::error::graph_error(&Expr::fail(
                ErrorKind::Shape,
                "to_vec2",
                message,
                "use `to_vec`, or `reshape` to two axes",
                &[&expr],
            )));
        }
        let (rows, columns) = (expr.shape()[0], expr.shape()[1]);
        let all = self.to_vec::<T>()?;
        Ok((0..rows).map(|row| all[row * columns..(row + 1) * columns].to_vec()).collect())
    }

    /// The value of a tensor with one element. Evaluates.
    #[track_caller]
    pub fn item<T: Element>(&self) -> Result<T> {
        let expr = self.one()?.of_type::<T>()?;
        only(&expr, eval::download(&expr)?)
    }

    /// The tensor, if it has one element.
    #[track_caller]
    fn one(&self) -> Result<&Tensor> {
        let expr = self.valid()?;
        if expr.numel() != 1 {
            let message = format!("wants one element, got {:?}", expr.shape());
            let help = "reduce it, or index one element";
            return Err(crate::error::graph_error(&Expr::fail(ErrorKind::Shape, "item", message, help, &[&expr])));
        }
        Ok(self)
    }

    /// The value of a tensor with one element, whatever its dtype. Evaluates.
    #[track_caller]
    pub fn to_f64(&self) -> Result<f64> {
        let expr = self.valid()?;
        if expr.numel() != 1 {
            return self.item::<f64>();
        }
        self.to_f64_vec()?.pop().ok_or_else(|| Error::Internal("an empty read".into()))
    }

    /// As [`Tensor::item`], for `async` programs; see [`Tensor::to_vec_async`].
    #[track_caller]
    pub fn item_async<T: Element>(&self) -> Background<Result<T>> {
        // Not in a closure: an error's place would be this line.
        let checked = match self.one() {
            Ok(one) => one.of_type::<T>(),
            Err(error) => Err(error),
        };
        eval::download_async(move || checked, only)
    }

    /// All elements as `f64`, whatever the dtype (64-bit integers may round). Evaluates.
    pub fn to_f64_vec(&self) -> Result<Vec<f64>> {
        let expr = self.valid()?;
        let bytes = eval::download(&expr)?;
        if Format::Plain(expr.dtype()).bytes_for(expr.shape()) != Ok(bytes.len()) {
            return Err(Error::Internal(format!("{} bytes read for {:?} {}", bytes.len(), expr.shape(), expr.dtype())));
        }
        macro_rules! widen {
            ($ty:ty, $convert:expr) => {
                bytes
                    .chunks_exact(size_of::<$ty>())
                    .map(|chunk| {
                        let mut raw = [0; size_of::<$ty>()];
                        raw.copy_from_slice(chunk);
                        $convert(<$ty>::from_ne_bytes(raw))
                    })
                    .collect()
            };
        }
        Ok(match expr.dtype() {
            DType::Bool => bytes.iter().map(|b| f64::from(u8::from(*b != 0))).collect(),
            DType::U8 => bytes.iter().map(|b| f64::from(*b)).collect(),
            DType::I8 => bytes.iter().map(|b| f64::from(*b as i8)).collect(),
            DType::U16 => widen!(u16, f64::from),
            DType::I16 => widen!(i16, f64::from),
            DType::U32 => widen!(u32, f64::from),
            DType::I32 => widen!(i32, f64::from),
            DType::U64 => widen!(u64, |x: u64| x as f64),
            DType::I64 => widen!(i64, |x: i64| x as f64),
            DType::F16 => widen!(f16, f64::from),
            DType::BF16 => widen!(bf16, f64::from),
            DType::F32 => widen!(f32, f64::from),
            DType::F64 => widen!(f64, |x: f64| x),
            DType::F8E4M3 => bytes.iter().map(|code| f64::from(F8E4M3::from_bits(*code))).collect(),
            DType::F8E5M2 => bytes.iter().map(|code| f64::from(F8E5M2::from_bits(*code))).collect(),
        })
    }

    /// The elements' bytes, row-major. Evaluates.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        eval::download(&self.valid()?)
    }
}

/// The one element.
fn only<T: Element>(expr: &Expr, bytes: Vec<u8>) -> Result<T> {
    elements(&bytes, expr.numel())?.pop().ok_or_else(|| Error::Internal("an empty read".into()))
}

/// `count` elements from bytes.
fn elements<T: Element>(bytes: &[u8], count: usize) -> Result<Vec<T>> {
    if bytes.len() != count * size_of::<T>() {
        return Err(Error::Internal(format!("{} bytes read for {count} elements of {}", bytes.len(), T::DTYPE)));
    }
    let mut bytes = Cow::Borrowed(bytes);
    if T::DTYPE == DType::Bool {
        // A byte other than 0 and 1 is not a `bool`.
        bytes = bytes.iter().map(|byte| u8::from(*byte != 0)).collect::<Vec<u8>>().into();
    }
    let mut all = vec![T::default(); count];
    // SAFETY: `all` has `count * size_of::<T>()` bytes, as `bytes` has; every bit pattern of the number types is a value, and bools are 0 or 1.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), all.as_mut_ptr().cast::<u8>(), bytes.len()) };
    Ok(all)
}

/// Elements shown at each end of a long axis, and the size that makes a tensor long.
const EDGE: usize = 3;
const LONG: usize = 1000;

/// Columns of a line.
const LINE: usize = 80;

/// What printing shows of a tensor.
struct Shown {
    shape: Vec<usize>,
    /// By row-major position; empty where nothing is shown.
    values: Vec<String>,
    width: usize,
    /// The middle of long axes is left out.
    long: bool,
}

impl Shown {
    fn value(&self, at: usize) -> String {
        format!("{:>width$}", self.values.get(at).map_or("", String::as_str), width = self.width)
    }

    /// The elements from position `at` on along `axis`, whose bracket is at column `column`.
    fn write(&self, f: &mut fmt::Formatter<'_>, axis: usize, at: usize, column: usize) -> fmt::Result {
        let Some(&size) = self.shape.get(axis) else { return f.write_str(&self.value(at)) };
        let inner = &self.shape[axis + 1..];
        let stride: usize = inner.iter().product();
        let left_out = self.long && size > 2 * EDGE;
        let per_line = (LINE.saturating_sub(column) / (self.width + 2)).max(1);
        let shown = if left_out { (0..EDGE).chain(size - EDGE..size).collect::<Vec<usize>>() } else { (0..size).collect() };
        f.write_str("[")?;
        // Where the middle is left out, three dots stand as one more.
        let mut place = 0;
        let mut separate = |f: &mut fmt::Formatter<'_>| {
            if place > 0 {
                f.write_str(",")?;
                let breaks = if inner.is_empty() { usize::from(place % per_line == 0) } else { inner.len() };
                let spaces = if breaks == 0 { 1 } else { column + 1 };
                write!(f, "{}{}", "\n".repeat(breaks), " ".repeat(spaces))?;
            }
            place += 1;
            Ok(())
        };
        for i in shown {
            if left_out && i == size - EDGE {
                separate(f)?;
                f.write_str(if inner.is_empty() { " ..." } else { "..." })?;
            }
            separate(f)?;
            self.write(f, axis + 1, at + i * stride, column + 1)?;
        }
        f.write_str("]")
    }
}

/// What is shown of values: of whole numbers all digits, which `f64` has not.
enum Read {
    Floats(Vec<f64>),
    Signed(Vec<i64>),
    Unsigned(Vec<u64>),
}

impl Read {
    fn of(tensor: &Tensor, dtype: DType) -> Result<Read> {
        if dtype.is_float() || dtype == DType::Bool {
            return tensor.to_f64_vec().map(Read::Floats);
        }
        if dtype == DType::U64 { tensor.to_vec().map(Read::Unsigned) } else { tensor.to_dtype(DType::I64).to_vec().map(Read::Signed) }
    }

    fn len(&self) -> usize {
        match self {
            Read::Floats(values) => values.len(),
            Read::Signed(values) => values.len(),
            Read::Unsigned(values) => values.len(),
        }
    }

    /// The elements at these positions, as text, and how wide each is shown.
    fn texts(&self, kept: &[usize], dtype: DType) -> (Vec<String>, usize) {
        let texts: Vec<String> = match self {
            Read::Floats(values) if dtype == DType::Bool => kept.iter().map(|at| (values[*at] != 0.0).to_string()).collect(),
            Read::Floats(values) => return floats(&kept.iter().map(|at| values[*at]).collect::<Vec<_>>()),
            Read::Signed(values) => kept.iter().map(|at| values[*at].to_string()).collect(),
            Read::Unsigned(values) => kept.iter().map(|at| values[*at].to_string()).collect(),
        };
        let width = texts.iter().map(String::len).max().unwrap_or(0);
        (texts, width)
    }
}

/// Floats by PyTorch's rule: all with a point, four digits or an exponent. What is finite and not 0 says which, and how wide they are.
fn floats(values: &[f64]) -> (Vec<String>, usize) {
    let counts = |x: &f64| x.is_finite() && *x != 0.0;
    let sizes = || values.iter().filter(|x| counts(x)).map(|x| x.abs());
    let (least, most) = sizes().fold((f64::INFINITY, 0.0_f64), |(least, most), x| (least.min(x), most.max(x)));
    let whole = sizes().all(|x| x.fract() == 0.0);
    let scientific = most > 0.0 && (most / least > 1000.0 || most > 1e8 || least < 1e-4);
    let one = |x: &f64| match () {
        () if !x.is_finite() => x.to_string().to_lowercase(),
        () if scientific => exponential(*x),
        () if whole => format!("{x:.0}."),
        () => format!("{x:.4}"),
    };
    let texts: Vec<String> = values.iter().map(one).collect();
    let width = texts.iter().zip(values).filter(|(_, x)| counts(x)).map(|(text, _)| text.len()).max().unwrap_or(1);
    (texts, width)
}

/// `1.5000e+10`: four digits, and an exponent with a sign and two digits or more.
fn exponential(x: f64) -> String {
    let text = format!("{x:.4e}");
    match text.split_once('e') {
        Some((digits, exponent)) => match exponent.strip_prefix('-') {
            Some(exponent) => format!("{digits}e-{exponent:0>2}"),
            None => format!("{digits}e+{exponent:0>2}"),
        },
        None => text,
    }
}

impl fmt::Display for Tensor {
    /// Evaluates, and shows values as PyTorch does, in lines of 80 columns; an error is shown as its text. `{:7}` is for text that begins at
    /// column 7.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expr = self.expr();
        let values = match Read::of(self, expr.dtype()) {
            Ok(values) => values,
            Err(error) => return write!(f, "{error}"),
        };
        if values.len() == 0 {
            return f.write_str("[]");
        }
        let long = values.len() > LONG;
        let kept: Vec<usize> = if long { kept_positions(expr.shape()) } else { (0..values.len()).collect() };
        let (few, width) = values.texts(&kept, expr.dtype());
        let mut texts = vec![String::new(); values.len()];
        for (at, text) in kept.into_iter().zip(few) {
            texts[at] = text;
        }
        Shown { shape: expr.shape().to_vec(), values: texts, width, long }.write(f, 0, 0, f.width().unwrap_or(0))
    }
}

/// Positions of the elements that a long tensor shows.
fn kept_positions(shape: &[usize]) -> Vec<usize> {
    let mut positions = vec![0];
    for &size in shape {
        let kept: Vec<usize> = (0..size).filter(|i| size <= 2 * EDGE || *i < EDGE || *i >= size - EDGE).collect();
        positions = positions.iter().flat_map(|at| kept.iter().map(move |i| at * size + i)).collect();
    }
    positions
}

impl fmt::Debug for Tensor {
    /// Values with shape and dtype; evaluates.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expr = self.expr();
        match expr.error() {
            Some(error) => write!(f, "Tensor(invalid: {error})"),
            None => write!(f, "Tensor({self}, shape={:?}, dtype={})", expr.shape().as_slice(), expr.dtype()),
        }
    }
}
