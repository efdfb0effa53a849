//! The maximum of each pooling window, and where it is: a thread per window.
//!
//! Always: the first of equal elements wins, NaN wins over numbers, padding is never read.

use super::{
    Lowered, Signature, Unsupported,
    distribute::{Operand, accumulator, check_dtype, for_each, index_dtype, mul_const_add, threads, too_large},
};
use unigrad_ir::{Builder, Target, Value};
use unigrad_kernel::{Arg, MaxPool};
use unigrad_scalar::{BinaryOp, DType, PoolSpec, UnaryOp};

pub(super) fn lower(kernel: &MaxPool, target: &Target) -> Result<Lowered, Unsupported> {
    check_dtype(target, kernel.dtype)?;
    let rank = kernel.input.len();
    let lists = [&kernel.output, &kernel.spec.kernel, &kernel.spec.stride, &kernel.spec.pad, &kernel.spec.dilation];
    if lists.iter().any(|list| list.len() != rank) {
        let cause = format!("max pooling whose lists are not all of {rank} dimensions");
        return Err(Unsupported { cause, help: "this is an error in the compiler: please report it".to_owned() });
    }
    let plane: usize = kernel.input.iter().product();
    let windows: usize = kernel.output.iter().product();
    let n = kernel.outer * windows;
    if n == 0 {
        return Ok(Lowered::default());
    }
    if let Some(window) = (0..rank).find_map(|d| kernel.spec.first_outside(d, kernel.input[d], kernel.output[d])) {
        let cause = format!("max pooling whose window {window} has nothing but padding");
        return Err(Unsupported { cause, help: "use less padding, or a smaller dilation".to_owned() });
    }
    // Positions in a plane are signed: windows start in the padding.
    let reach =
        (0..rank).map(|d| kernel.output[d] * kernel.spec.stride[d] + kernel.spec.kernel[d] * kernel.spec.dilation[d] + kernel.spec.pad[d]);
    if plane >= 1 << 31 || reach.clone().any(|reach| reach >= 1 << 31) {
        return Err(too_large(plane.max(reach.max().unwrap_or(0))));
    }
    let index = index_dtype(target, n.max(kernel.outer * plane))?;
    let mut sig = Signature::new("max_pool", [threads(target, 128), 1, 1]);
    let arg = |dtype, len, write| Arg { dtype, len, write };
    let x = Operand::Arg(0, arg(kernel.dtype, kernel.outer * plane, false)).open(&mut sig, "x", false);
    let maxima = Operand::Arg(1, arg(kernel.dtype, n, true)).open(&mut sig, "maxima", true);
    let indices = Operand::Arg(2, arg(DType::I64, n, true)).open(&mut sig, "indices", true);
    let compute = accumulator(kernel.dtype);
    let step = for_each(sig, target, n, index, |b, item| {
        let outer = b.div_const(item, windows as i64);
        let window = b.rem_const(item, windows as i64);
        let mut window = b.cast(window, DType::I32);
        let base = b.mul_const(outer, plane as i64);
        let mut starts = vec![window; rank];
        for d in (0..rank).rev() {
            let at = b.rem_const(window, kernel.output[d] as i64);
            window = b.div_const(window, kernel.output[d] as i64);
            let start = b.mul_const(at, kernel.spec.stride[d] as i64);
            starts[d] = b.add_const(start, -(kernel.spec.pad[d] as i64));
        }
        // Any element: the first of the window takes its place.
        let first = b.load(x, base);
        let first = b.cast(first, compute);
        let best = b.variable("best", first);
        let none = b.int(DType::I32, -1);
        let place = b.variable("place", none);
        let zero = b.int(DType::I32, 0);
        let taps = Taps { kernel, starts: &starts };
        taps.each(b, 0, zero, &mut |b, at| {
            let offset = b.cast(at, index);
            let position = b.add(base, offset);
            let value = b.load(x, position);
            let value = b.cast(value, compute);
            let (old, old_place) = (b.get(best), b.get(place));
            let mut better = b.lt(old, value);
            if compute.is_float() {
                let (is_nan, was_nan) = (b.unary(UnaryOp::IsNan, value), b.unary(UnaryOp::IsNan, old));
                let was_number = b.unary(UnaryOp::Not, was_nan);
                let turns = b.and(is_nan, was_number);
                better = b.binary(BinaryOp::Or, better, turns);
            }
            let is_first = b.lt(old_place, zero);
            let better = b.binary(BinaryOp::Or, better, is_first);
            b.when(better, |b| {
                b.set(best, value);
                b.set(place, at);
            });
        });
        let (best, place) = (b.get(best), b.get(place));
        let place = b.binary(BinaryOp::Max, place, zero);
        let best = b.cast(best, kernel.dtype);
        let place = b.cast(place, DType::I64);
        b.store(maxima, item, best);
        b.store(indices, item, place);
    })?;
    Ok(Lowered { steps: vec![step], scratch: Vec::new() })
}

struct Taps<'a> {
    kernel: &'a MaxPool,
    /// Where the window starts, per dimension.
    starts: &'a [Value],
}

impl Taps<'_> {
    /// Loops over dimension `d` and those after it; `line` is the row-major position so far.
    fn each(&self, b: &mut Builder, d: usize, line: Value, body: &mut dyn FnMut(&mut Builder, Value)) {
        let MaxPool { input, spec: PoolSpec { kernel, dilation, pad, .. }, .. } = self.kernel;
        if d == input.len() {
            return body(b, line);
        }
        let [zero, one, end] = [0, 1, kernel[d] as i64].map(|n| b.int(DType::I32, n));
        b.repeat(zero, end, one, |b, k| {
            let at = mul_const_add(b, k, dilation[d] as i64, self.starts[d]);
            let line = mul_const_add(b, line, input[d] as i64, at);
            let size = b.int(DType::I32, input[d] as i64);
            let mut inside = b.lt(at, size);
            if pad[d] > 0 {
                let above = b.binary(BinaryOp::Ge, at, zero);
                inside = b.and(inside, above);
            }
            b.when(inside, |b| self.each(b, d + 1, line, body));
        });
    }
}
