//! Regions as text.

use crate::{Arg, Index, Inst, InstOp, Region, Value};
use std::fmt::{self, Display};
use unigrad_scalar::{DType, Literal};

impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// `mut f32[64]`.
impl Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}[{}]", if self.write { "mut " } else { "" }, self.dtype, self.len)
    }
}

/// `256*i0 + i1 - 3*%4 + 7`.
impl Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut is_first = true;
        let mut term = |f: &mut fmt::Formatter<'_>, factor: i64, of: Option<&dyn Display>| {
            let sign = match (std::mem::replace(&mut is_first, false), factor < 0) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            match (of, factor.unsigned_abs()) {
                (Some(of), 1) => write!(f, "{sign}{of}"),
                (Some(of), factor) => write!(f, "{sign}{factor}*{of}"),
                (None, factor) => write!(f, "{sign}{factor}"),
            }
        };
        for (axis, stride) in self.strides.iter().enumerate().filter(|(_, stride)| **stride != 0) {
            term(f, *stride, Some(&format_args!("i{axis}")))?;
        }
        for (value, stride) in &self.dynamic {
            term(f, *stride, Some(value))?;
        }
        let is_empty = self.dynamic.is_empty() && self.strides.iter().all(|stride| *stride == 0);
        if self.offset != 0 || is_empty { term(f, self.offset, None) } else { Ok(()) }
    }
}

impl Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

impl Region {
    /// Its lines, `depth` levels in.
    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        let (out, within) = ("    ".repeat(depth), "    ".repeat(depth + 1));
        let (parallel, reduce) = self.axes.split_at(self.n_parallel.min(self.axes.len()));
        write!(f, "{out}region {:?} parallel {parallel:?}", self.name)?;
        if !reduce.is_empty() {
            write!(f, " reduce {reduce:?}")?;
        }
        f.write_str(" {\n")?;
        for (at, arg) in self.args.iter().enumerate() {
            writeln!(f, "{within}a{at}: {arg}")?;
        }
        for (at, dtype) in self.scalars.iter().enumerate() {
            writeln!(f, "{within}s{at}: {dtype}")?;
        }
        for (at, inst) in self.insts.iter().enumerate() {
            match matches!(inst.op, InstOp::Store { .. }) {
                true => writeln!(f, "{within}{inst}")?,
                false => writeln!(f, "{within}%{at} = {inst}")?,
            }
        }
        writeln!(f, "{out}}}")
    }
}

/// The right side of a line, or a store.
impl Display for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dtype = self.dtype;
        match &self.op {
            InstOp::Const(value) if value.dtype() == dtype => write!(f, "const {dtype} {}", literal(*value)),
            InstOp::Const(value) => write!(f, "const {dtype} {} {}", value.dtype(), literal(*value)),
            InstOp::Scalar(slot) => write!(f, "scalar {dtype} s{slot}"),
            InstOp::AxisIndex(axis) => write!(f, "axis {dtype} i{axis}"),
            InstOp::Acc => write!(f, "acc {dtype}"),
            InstOp::Load { arg, index, mask } => {
                write!(f, "load {dtype} a{arg}[{index}]")?;
                mask.map_or(Ok(()), |mask| write!(f, " where {mask}"))
            }
            InstOp::Unary(op, a) => write!(f, "{op} {dtype} {a}"),
            InstOp::Binary(op, a, b) => write!(f, "{op} {dtype} {a}, {b}"),
            InstOp::Where(condition, a, b) => write!(f, "select {dtype} {condition}, {a}, {b}"),
            InstOp::Cast(a) => write!(f, "cast {dtype} {a}"),
            InstOp::Bitcast(a) => write!(f, "bitcast {dtype} {a}"),
            InstOp::Bounded { index, size, from_end, check } => {
                write!(f, "bounded {dtype} {index}, size {size}{}, check {check}", if *from_end { ", from_end" } else { "" })
            }
            InstOp::Philox { seed, offset, index, word } => write!(f, "philox {dtype} {seed}, {offset}, {index}, word {word}"),
            InstOp::Reduce(op, a) => write!(f, "{op} {dtype} {a}"),
            InstOp::ArgReduce(op, a) => write!(f, "{op} {dtype} {a}"),
            InstOp::Store { arg, index, value } => write!(f, "store {dtype} a{arg}[{index}], {value}"),
        }
    }
}

/// A number such that it reads back bit for bit.
pub(super) fn literal(value: Literal) -> String {
    let (dtype, x) = (value.dtype(), value.as_f64());
    match dtype {
        DType::Bool => (value.as_i64() != 0).to_string(),
        DType::U64 => (value.as_i64() as u64).to_string(),
        DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::U32 | DType::I32 | DType::I64 => value.as_i64().to_string(),
        DType::F16 | DType::BF16 | DType::F32 | DType::F64 | DType::F8E4M3 | DType::F8E5M2 if x.is_nan() => {
            if value == Literal::float(dtype, f64::NAN) { "nan".to_owned() } else { format!("{:#x}", value.to_raw()) }
        }
        DType::F16 | DType::BF16 | DType::F32 | DType::F8E4M3 | DType::F8E5M2 => format!("{:?}", x as f32),
        DType::F64 => format!("{x:?}"),
    }
}
