//! Operations and conversions as expressions.

use super::{Rep, Writer, rep};
use crate::RenderError;
use unigrad_scalar::{BinaryOp, DType, UnaryOp};

/// `expr`, which is as wide as its representation, cut to the dtype.
pub(super) fn wrap(dtype: DType, expr: &str) -> String {
    match dtype {
        DType::U8 | DType::F8E4M3 | DType::F8E5M2 => format!("({expr} & 0xffu)"),
        DType::U16 | DType::F16 | DType::BF16 => format!("({expr} & 0xffffu)"),
        DType::I8 => format!("(({expr} << 24u) >> 24u)"),
        DType::I16 => format!("(({expr} << 16u) >> 16u)"),
        DType::Bool | DType::U32 | DType::I32 | DType::U64 | DType::I64 | DType::F32 | DType::F64 => expr.to_owned(),
    }
}

fn infix(op: BinaryOp) -> Option<&'static str> {
    Some(match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::And => "&",
        BinaryOp::Or => "|",
        BinaryOp::Xor => "^",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::Div
        | BinaryOp::IDiv
        | BinaryOp::Rem
        | BinaryOp::Pow
        | BinaryOp::Atan2
        | BinaryOp::Max
        | BinaryOp::Min
        | BinaryOp::Shl
        | BinaryOp::Shr => return None,
    })
}

/// On `f32`.
pub(super) fn binary_f32(op: BinaryOp, a: &str, b: &str) -> String {
    match op {
        BinaryOp::Div => format!("({a} / {b})"),
        // True for NaN, which `!=` need not be.
        BinaryOp::Ne => format!("!({a} == {b})"),
        BinaryOp::And => format!("f32({a} != 0.0 && {b} != 0.0)"),
        BinaryOp::Or => format!("f32({a} != 0.0 || {b} != 0.0)"),
        BinaryOp::Xor => format!("f32(({a} != 0.0) != ({b} != 0.0))"),
        BinaryOp::Shl | BinaryOp::Shr => a.to_owned(),
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::IDiv
        | BinaryOp::Rem
        | BinaryOp::Pow
        | BinaryOp::Atan2
        | BinaryOp::Max
        | BinaryOp::Min
        | BinaryOp::Eq
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge => match infix(op) {
            Some(sign) => format!("({a} {sign} {b})"),
            None => format!("{op}_f32({a}, {b})"),
        },
    }
}

impl Writer<'_> {
    fn impossible(&self, op: &str, dtype: DType) -> RenderError {
        self.error(None, format!("{op} of {dtype}"), "cast to a type that has the operation first: half types compute in f32")
    }

    /// `(a + b)`, of operations that have a sign between their arguments.
    fn infixed(&self, op: BinaryOp, dtype: DType, a: &str, b: &str) -> Result<String, RenderError> {
        let sign = infix(op).ok_or_else(|| self.impossible(op.name(), dtype))?;
        Ok(format!("({a} {sign} {b})"))
    }

    fn needs_bits(&self, op: &str) -> RenderError {
        self.error(None, format!("{op} of f64 without 64-bit integers"), "cast to f32 for it, or use another device, such as the CPU")
    }

    /// One argument; `a` is a name.
    pub(super) fn unary(&self, op: UnaryOp, dtype: DType, a: &str) -> Result<String, RenderError> {
        use UnaryOp::*;
        if matches!(dtype, DType::F16 | DType::BF16) {
            let exponent = if dtype == DType::F16 { "0x7c00u" } else { "0x7f80u" };
            if op == IsNan {
                return Ok(format!("(({a} & 0x7fffu) > {exponent})"));
            }
            if op == IsFinite {
                return Ok(format!("(({a} & {exponent}) != {exponent})"));
            }
            return Err(self.impossible(op.name(), dtype));
        }
        Ok(match (rep(dtype), op) {
            (Rep::F32, Neg) => format!("(-{a})"),
            (Rep::F32, Abs | Sqrt | Floor | Ceil | Round | Trunc) => format!("{op}({a})"),
            (Rep::F32, Recip) => format!("(1.0 / {a})"),
            (Rep::F32, IsNan) => format!("is_nan({a})"),
            (Rep::F32, IsFinite) => format!("is_finite({a})"),
            (Rep::F32, Not) => format!("({a} == 0.0)"),
            (Rep::F32, BitNot) => return Err(self.impossible(op.name(), dtype)),
            (Rep::F32, _) => format!("{op}_f32({a})"),
            (Rep::F64, Neg) => format!("(-{a})"),
            (Rep::F64, Abs | Sqrt | Floor | Ceil) => format!("{op}({a})"),
            (Rep::F64, Recip) => format!("(1.0lf / {a})"),
            (Rep::F64, Rsqrt) => format!("(1.0lf / sqrt({a}))"),
            (Rep::F64, IsNan) => format!("is_nan_f64({a})"),
            (Rep::F64, IsFinite) => format!("is_finite_f64({a})"),
            (Rep::F64, Sign | Relu | Round | Trunc) => format!("{op}_f64({a})"),
            (Rep::F64, Not) => format!("({a} == 0.0lf)"),
            (Rep::F64, BitNot) => return Err(self.impossible(op.name(), dtype)),
            (Rep::F64, _) if self.target.i64 => format!("{op}_f64({a})"),
            (Rep::F64, _) => return Err(self.needs_bits(op.name())),
            (_, IsNan) => "false".to_owned(),
            (_, IsFinite) => "true".to_owned(),
            (Rep::Bool, Not | BitNot) => format!("(!{a})"),
            (Rep::Bool, _) => a.to_owned(),
            (Rep::U32, Neg) => wrap(dtype, &format!("(0u - {a})")),
            (Rep::U32, Sign) => format!("min({a}, 1u)"),
            (Rep::U32, BitNot) => wrap(dtype, &format!("(~{a})")),
            (Rep::U32, Not) => format!("({a} == 0u)"),
            (Rep::I32, Neg) => wrap(dtype, &format!("(0i - {a})")),
            (Rep::I32, Abs) => wrap(dtype, &format!("select({a}, 0i - {a}, {a} < 0i)")),
            (Rep::I32, Sign) => format!("clamp({a}, -1i, 1i)"),
            (Rep::I32, Relu) => format!("max({a}, 0i)"),
            (Rep::I32, BitNot) => format!("(~{a})"),
            (Rep::I32, Not) => format!("({a} == 0i)"),
            (Rep::I64 | Rep::U64, Not) => format!("(!{})", self.truth_64(dtype, a)),
            (Rep::I64 | Rep::U64, BitNot) => format!("(~{a})"),
            (Rep::I64 | Rep::U64, Neg) if !self.target.i64 => format!("neg_64({a})"),
            (Rep::I64, Neg) => format!("(0li - {a})"),
            (Rep::U64, Neg) => format!("(0lu - {a})"),
            (Rep::I64, Abs | Sign | Relu) => format!("{op}_i64({a})"),
            (Rep::U64, Sign) => format!("{op}_u64({a})"),
            (Rep::U32 | Rep::I32 | Rep::I64 | Rep::U64, _) => a.to_owned(),
        })
    }

    fn truth_64(&self, dtype: DType, a: &str) -> String {
        match (self.target.i64, dtype) {
            (false, _) => format!("(({a}.x | {a}.y) != 0u)"),
            (true, DType::I64) => format!("({a} != 0li)"),
            (true, _) => format!("({a} != 0lu)"),
        }
    }

    /// Two arguments of one type, which are names.
    pub(super) fn binary(&self, op: BinaryOp, dtype: DType, a: &str, b: &str) -> Result<String, RenderError> {
        use BinaryOp::*;
        if matches!(dtype, DType::F16 | DType::BF16) {
            return Err(self.impossible(op.name(), dtype));
        }
        Ok(match rep(dtype) {
            Rep::F32 => binary_f32(op, a, b),
            Rep::F64 => match op {
                Div => format!("({a} / {b})"),
                Ne => format!("!({a} == {b})"),
                Max | Min => format!("{op}_f64({a}, {b})"),
                Add | Sub | Mul | Eq | Lt | Le | Gt | Ge => self.infixed(op, dtype, a, b)?,
                And | Or | Xor | Shl | Shr => return Err(self.impossible(op.name(), dtype)),
                IDiv | Rem | Pow | Atan2 if self.target.i64 => format!("{op}_f64({a}, {b})"),
                IDiv | Rem | Pow | Atan2 => return Err(self.needs_bits(op.name())),
            },
            Rep::Bool => match op {
                Add | Max | Or => format!("({a} || {b})"),
                Mul | Min | And => format!("({a} && {b})"),
                Sub | Xor | Ne => format!("({a} != {b})"),
                Eq => format!("({a} == {b})"),
                Lt => format!("(!{a} && {b})"),
                Le => format!("(!{a} || {b})"),
                Gt => format!("({a} && !{b})"),
                Ge => format!("({a} || !{b})"),
                // The quotient of 1 by 1; of a remainder by 1 nothing stays; a shift by the width loses everything.
                Div | IDiv => format!("({a} && {b})"),
                Rem => "false".to_owned(),
                Pow => format!("({a} || !{b})"),
                Shl => format!("({a} && !{b})"),
                Shr => format!("({a} && !{b})"),
                Atan2 => format!("({a} && !{b})"),
            },
            Rep::U32 | Rep::I32 => {
                let signed = rep(dtype) == Rep::I32;
                let class = if signed { "i32" } else { "u32" };
                match op {
                    Add | Sub | Mul => wrap(dtype, &self.infixed(op, dtype, a, b)?),
                    Max | Min => format!("{op}({a}, {b})"),
                    Div | IDiv => wrap(dtype, &format!("idiv_{class}({a}, {b})")),
                    Rem => format!("rem_{class}({a}, {b})"),
                    Pow => wrap(dtype, &format!("pow_{class}({a}, {b})")),
                    Atan2 => format!("{class}(atan2_f32(f32({a}), f32({b})))"),
                    Shl if signed => wrap(dtype, &format!("bitcast<i32>(shl_u32(bitcast<u32>({a}), bitcast<u32>({b})))")),
                    Shl => wrap(dtype, &format!("shl_u32({a}, {b})")),
                    Shr if signed => format!("shr_i32({a}, bitcast<u32>({b}))"),
                    Shr => format!("shr_u32({a}, {b})"),
                    Eq | Ne | Lt | Le | Gt | Ge | And | Or | Xor => self.infixed(op, dtype, a, b)?,
                }
            }
            Rep::I64 | Rep::U64 => {
                let class = if dtype == DType::I64 { "i64" } else { "u64" };
                match op {
                    Add | Sub | Mul | Eq | Ne | Lt | Le | Gt | Ge if self.target.i64 => self.infixed(op, dtype, a, b)?,
                    And | Or | Xor => self.infixed(op, dtype, a, b)?,
                    Add | Sub | Mul | Eq => format!("{op}_64({a}, {b})"),
                    Ne => format!("(!eq_64({a}, {b}))"),
                    Lt => format!("lt_{class}({a}, {b})"),
                    Gt => format!("lt_{class}({b}, {a})"),
                    Le => format!("(!lt_{class}({b}, {a}))"),
                    Ge => format!("(!lt_{class}({a}, {b}))"),
                    Div | IDiv => format!("idiv_{class}({a}, {b})"),
                    Shl if !self.target.i64 => format!("shl_64({a}, {b})"),
                    Rem | Pow | Max | Min | Shl | Shr => format!("{op}_{class}({a}, {b})"),
                    Atan2 => {
                        let angle = format!("atan2_f32(f32_of_{class}({a}), f32_of_{class}({b}))");
                        self.number_of_f32(dtype, &angle)
                    }
                }
            }
        })
    }

    /// A number as `f32`; `a` is a name.
    fn as_f32(&self, from: DType, a: &str) -> String {
        match from {
            DType::F32 => a.to_owned(),
            DType::F16 => format!("f32_of_f16({a})"),
            DType::BF16 => format!("f32_of_bf16({a})"),
            DType::I64 => format!("f32_of_i64({a})"),
            DType::U64 => format!("f32_of_u64({a})"),
            DType::Bool | DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::U32 | DType::I32 | DType::F64 => format!("f32({a})"),
            // Codes, which the validator lets no program have.
            DType::F8E4M3 | DType::F8E5M2 => format!("f32({a})"),
        }
    }

    /// An `f32` as another type.
    fn number_of_f32(&self, to: DType, a: &str) -> String {
        match to {
            DType::F32 => a.to_owned(),
            DType::F16 => format!("f16_of_f32({a})"),
            DType::BF16 => format!("bf16_of_f32({a})"),
            DType::F64 => format!("f64({a})"),
            DType::Bool => format!("((bitcast<u32>({a}) & 0x7fffffffu) != 0u)"),
            DType::I64 => format!("i64_of_words(words_of_f32({a}))"),
            DType::U64 => format!("u64_of_words(unsigned_words_of_f32({a}))"),
            DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::U32 | DType::I32 => self.saturated(to, "f32", a),
            // Codes, which the validator lets no program have.
            DType::F8E4M3 | DType::F8E5M2 => self.saturated(to, "f32", a),
        }
    }

    /// An integer of up to 32 bits from a float of type `from`.
    fn saturated(&self, to: DType, from: &str, a: &str) -> String {
        match to {
            DType::I8 => format!("clamp(i32_of_{from}({a}), -128i, 127i)"),
            DType::I16 => format!("clamp(i32_of_{from}({a}), -32768i, 32767i)"),
            DType::U8 => format!("min(u32_of_{from}({a}), 255u)"),
            DType::U16 => format!("min(u32_of_{from}({a}), 65535u)"),
            DType::I32 => format!("i32_of_{from}({a})"),
            // Only integers of up to 32 bits come here.
            DType::Bool
            | DType::U32
            | DType::U64
            | DType::I64
            | DType::F16
            | DType::BF16
            | DType::F32
            | DType::F64
            | DType::F8E4M3
            | DType::F8E5M2 => format!("u32_of_{from}({a})"),
        }
    }

    /// An integer of up to 32 bits from a `u32` that holds its bits.
    fn number_of_low_word(&self, to: DType, word: &str) -> String {
        match rep(to) {
            Rep::I32 => wrap(to, &format!("bitcast<i32>({word})")),
            Rep::Bool | Rep::U32 | Rep::F32 | Rep::I64 | Rep::U64 | Rep::F64 => wrap(to, word),
        }
    }

    /// [`crate::Op::Cast`]; `a` is a name.
    pub(super) fn cast(&self, from: DType, to: DType, a: &str) -> String {
        if from == to {
            return a.to_owned();
        }
        let to_words = |words: String| format!("{to}_of_words({words})");
        match (from, to) {
            (DType::F64, DType::F32) => format!("f32({a})"),
            (DType::F64, DType::F16 | DType::BF16) => self.number_of_f32(to, &format!("f32_sticky({a})")),
            (DType::F64, DType::Bool) => format!("!({a} == 0.0lf)"),
            (DType::F64, DType::I64) => to_words(format!("words_of_f64({a})")),
            (DType::F64, DType::U64) => to_words(format!("unsigned_words_of_f64({a})")),
            (DType::F64, _) => self.saturated(to, "f64", a),
            (DType::F16 | DType::BF16, DType::Bool) => format!("(({a} & 0x7fffu) != 0u)"),
            (_, DType::F64) => match from {
                DType::I64 => format!("f64_of_i64_words(words_of_i64({a}))"),
                DType::U64 => format!("f64_of_words(words_of_u64({a}))"),
                DType::Bool => format!("f64(u32({a}))"),
                DType::F32 | DType::F16 | DType::BF16 => format!("f64({})", self.as_f32(from, a)),
                DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::U32 | DType::I32 | DType::F64 => format!("f64({a})"),
                // Codes, which the validator lets no program have.
                DType::F8E4M3 | DType::F8E5M2 => format!("f64({a})"),
            },
            _ if from.is_float() => self.number_of_f32(to, &self.as_f32(from, a)),
            _ if to.is_float() => self.number_of_f32(to, &self.as_f32(from, a)),
            // Integers and Bool from here on.
            (DType::I64 | DType::U64, DType::Bool) => self.truth_64(from, a),
            (DType::I64, DType::U64) | (DType::U64, DType::I64) => self.bitcast_64(to, a),
            (DType::I64, _) => self.number_of_low_word(to, &format!("words_of_i64({a}).x")),
            (DType::U64, _) => self.number_of_low_word(to, &format!("words_of_u64({a}).x")),
            (_, DType::I64 | DType::U64) => to_words(match rep(from) {
                Rep::I32 => format!("vec2<u32>(bitcast<u32>({a}), bitcast<u32>({a} >> 31u))"),
                Rep::Bool => format!("vec2<u32>(u32({a}), 0u)"),
                Rep::U32 | Rep::F32 | Rep::I64 | Rep::U64 | Rep::F64 => format!("vec2<u32>({a}, 0u)"),
            }),
            (_, DType::Bool) => format!("({a} != {})", if rep(from) == Rep::I32 { "0i" } else { "0u" }),
            (DType::Bool, _) => format!("{}({a})", self.scalar_type(to)),
            _ => match (rep(from), rep(to)) {
                (Rep::I32, Rep::U32) => wrap(to, &format!("bitcast<u32>({a})")),
                (Rep::U32, Rep::I32) => wrap(to, &format!("bitcast<i32>({a})")),
                _ => wrap(to, a),
            },
        }
    }

    fn bitcast_64(&self, to: DType, a: &str) -> String {
        if self.target.i64 { format!("bitcast<{}>({a})", self.scalar_type(to)) } else { a.to_owned() }
    }

    /// [`crate::Op::Bitcast`]; `a` is a name.
    pub(super) fn bitcast(&self, from: DType, to: DType, a: &str) -> Result<String, RenderError> {
        if from == to {
            return Ok(a.to_owned());
        }
        if from.size() != to.size() {
            return Err(self.error(None, format!("a bit cast from {from} to {to}"), "the sizes must be equal"));
        }
        Ok(match from.size() {
            8 if (from == DType::F64 || to == DType::F64) && !self.target.i64 => {
                return Err(self.error(None, "the bits of f64 without 64-bit integers", "cast instead"));
            }
            8 if from == DType::F64 || to == DType::F64 => format!("bitcast<{}>({a})", self.scalar_type(to)),
            8 => self.bitcast_64(to, a),
            4 => format!("bitcast<{}>({a})", self.scalar_type(to)),
            _ => match (rep(from), rep(to)) {
                (Rep::Bool, Rep::I32) => format!("i32({a})"),
                (Rep::Bool, _) => format!("u32({a})"),
                (Rep::I32, Rep::U32) => wrap(to, &format!("bitcast<u32>({a})")),
                (Rep::U32, Rep::I32) => wrap(to, &format!("bitcast<i32>({a})")),
                (Rep::I32, Rep::Bool) => format!("({a} != 0i)"),
                (_, Rep::Bool) => format!("({a} != 0u)"),
                _ => a.to_owned(),
            },
        })
    }
}
