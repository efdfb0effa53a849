//! Scalar operations as expressions. Operands are names or literals, so that a text may use one twice.

use super::{Writer, helpers::unsigned, stored};
use crate::Value;
use unigrad_scalar::{BinaryOp, DType, Literal, UnaryOp};

impl Writer<'_> {
    /// A constant; negative ones in parentheses.
    pub(super) fn literal(&self, literal: Literal) -> String {
        let wrap = |negative: bool, text: String| if negative { format!("({text})") } else { text };
        let dtype = literal.dtype();
        match dtype {
            DType::Bool => (literal.as_i64() != 0).to_string(),
            DType::F16 | DType::BF16 => format!("(u16)0x{:04x}u", literal.to_raw()),
            DType::F32 | DType::F64 => {
                let x = literal.as_f64();
                if !x.is_finite() {
                    let raw = literal.to_raw();
                    let bits = if dtype == DType::F32 { format!("0x{raw:08x}u") } else { format!("0x{raw:016x}UL") };
                    return self.float_of_constant_bits(&bits, dtype);
                }
                let text = if dtype == DType::F32 { format!("{:?}f", x as f32) } else { format!("{x:?}") };
                wrap(x.is_sign_negative(), text)
            }
            DType::U32 => format!("{}u", literal.to_raw()),
            DType::I32 if literal.as_i64() == i32::MIN.into() => "(-2147483647 - 1)".to_owned(),
            DType::I32 => wrap(literal.as_i64() < 0, literal.as_i64().to_string()),
            DType::U64 | DType::I64 if i32::try_from(literal.as_i64()).is_err() || (dtype == DType::U64 && literal.as_i64() < 0) => {
                format!("({})0x{:x}UL", dtype.name(), literal.to_raw())
            }
            DType::I64 | DType::I8 | DType::I16 => wrap(true, format!("({})({})", dtype.name(), literal.as_i64())),
            DType::U64 | DType::U8 | DType::U16 => format!("({}){}", dtype.name(), literal.to_raw()),
            // Codes, which the validator lets no program have.
            DType::F8E4M3 | DType::F8E5M2 => format!("(u8){}", literal.to_raw()),
        }
    }

    /// The bits of a float.
    pub(in crate::render) fn bits(&mut self, text: &str, dtype: DType) -> String {
        format!("{}({text})", self.function("bits", dtype))
    }

    /// The float of these bits.
    pub(in crate::render) fn float_of_bits(&mut self, text: &str, dtype: DType) -> String {
        format!("{}({text})", self.function("from_bits", dtype))
    }

    /// As [`Writer::float_of_bits`] for a constant; the function is declared with the first instruction that uses one.
    fn float_of_constant_bits(&self, text: &str, dtype: DType) -> String {
        let native = self.language.natives.iter().find(|(n, ..)| *n == "from_bits");
        let native = native.map(|(_, narrow, wide)| if dtype == DType::F64 { *wide } else { *narrow }).filter(|n| !n.is_empty());
        match native {
            Some(native) => format!("{native}({text})"),
            None => format!("ug_from_bits_{}({text})", dtype.name()),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "of a bool, what is no test is the bool itself")]
    pub(super) fn unary(&mut self, at: Value, op: UnaryOp, a: Value) -> String {
        let (dtype, x) = (self.program.ty(a).dtype(), self.value(a));
        match dtype {
            DType::Bool => match op {
                UnaryOp::Not | UnaryOp::BitNot => format!("!{x}"),
                UnaryOp::IsNan => "false".to_owned(),
                UnaryOp::IsFinite => "true".to_owned(),
                _ => x,
            },
            DType::F32 | DType::F64 => self.unary_float(Some(at), op, dtype, &x),
            DType::F16 | DType::BF16 | DType::F8E4M3 | DType::F8E5M2 => {
                self.refuse(Some(at), format!("{} of {dtype}", op.name()), "cast to f32 first");
                x
            }
            DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::U32 | DType::I32 | DType::U64 | DType::I64 => unary_int(op, dtype, x),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the others go by their names")]
    pub(super) fn unary_float(&mut self, at: Option<Value>, op: UnaryOp, dtype: DType, x: &str) -> String {
        let one = if dtype == DType::F32 { "1.0f" } else { "1.0" };
        let zero = if dtype == DType::F32 { "0.0f" } else { "0.0" };
        let name = match op {
            UnaryOp::Neg => return format!("-{x}"),
            UnaryOp::Sign => return format!("{x} > {zero} ? {one} : ({x} < {zero} ? -{one} : {zero})"),
            UnaryOp::Relu => return format!("{x} > {zero} || {x} != {x} ? {x} : {zero}"),
            UnaryOp::Recip => return format!("{one} / {x}"),
            UnaryOp::Rsqrt => return format!("{one} / {}({x})", self.function("sqrt", dtype)),
            UnaryOp::Not => return format!("{x} == {zero}"),
            UnaryOp::BitNot => {
                self.refuse(at, format!("bitnot of {dtype}"), "bit-cast to an integer first");
                return x.to_owned();
            }
            UnaryOp::Abs => "fabs",
            UnaryOp::Round => "rint",
            // A function of the language's library, a helper's, or the row's own.
            op => op.name(),
        };
        format!("{}({x})", self.function(name, dtype))
    }

    pub(super) fn binary(&mut self, at: Value, op: BinaryOp, a: Value, b: Value) -> String {
        let (x, y) = (self.value(a), self.value(b));
        self.binary_text(Some(at), op, self.program.ty(a).dtype(), &x, &y, self.constant(b))
    }

    /// An operation on texts; `constant` is the second one's value where that is known.
    pub(super) fn binary_text(
        &mut self,
        at: Option<Value>,
        op: BinaryOp,
        dtype: DType,
        x: &str,
        y: &str,
        constant: Option<Literal>,
    ) -> String {
        if let Some(sign) = comparison(op) {
            if matches!(dtype, DType::F16 | DType::BF16) {
                self.refuse(at, format!("{} of {dtype}", op.name()), "cast to f32 first");
            }
            return format!("{x} {sign} {y}");
        }
        match dtype {
            DType::Bool => match op {
                BinaryOp::And | BinaryOp::Min | BinaryOp::Mul => format!("{x} && {y}"),
                BinaryOp::Or | BinaryOp::Max | BinaryOp::Add => format!("{x} || {y}"),
                BinaryOp::Xor => format!("{x} != {y}"),
                BinaryOp::Sub
                | BinaryOp::Div
                | BinaryOp::IDiv
                | BinaryOp::Rem
                | BinaryOp::Pow
                | BinaryOp::Atan2
                | BinaryOp::Shl
                | BinaryOp::Shr
                // Comparisons were answered before.
                | BinaryOp::Eq
                | BinaryOp::Ne
                | BinaryOp::Lt
                | BinaryOp::Le
                | BinaryOp::Gt
                | BinaryOp::Ge => {
                    self.refuse(at, format!("{} of bool", op.name()), "cast to an integer first");
                    x.to_owned()
                }
            },
            DType::F32 | DType::F64 => self.binary_float(at, op, dtype, x, y),
            DType::F16 | DType::BF16 | DType::F8E4M3 | DType::F8E5M2 => {
                self.refuse(at, format!("{} of {dtype}", op.name()), "cast to f32 first");
                x.to_owned()
            }
            DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::U32 | DType::I32 | DType::U64 | DType::I64 => {
                self.binary_int(op, dtype, x, y, constant.map(Literal::as_i64))
            }
        }
    }

    fn binary_float(&mut self, at: Option<Value>, op: BinaryOp, dtype: DType, x: &str, y: &str) -> String {
        let function = match op {
            BinaryOp::Add => return format!("{x} + {y}"),
            BinaryOp::Sub => return format!("{x} - {y}"),
            BinaryOp::Mul => return format!("{x} * {y}"),
            BinaryOp::Div => return format!("{x} / {y}"),
            BinaryOp::IDiv => "floordiv",
            BinaryOp::Rem => "floorrem",
            BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Max | BinaryOp::Min => op.name(),
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr => {
                self.refuse(at, format!("{} of {dtype}", op.name()), "cast to an integer or to bool first");
                return x.to_owned();
            }
            // Comparisons were answered before.
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => return x.to_owned(),
        };
        format!("{}({x}, {y})", self.function(function, dtype))
    }

    fn binary_int(&mut self, op: BinaryOp, dtype: DType, x: &str, y: &str, constant: Option<i64>) -> String {
        let name = dtype.name();
        let bits = 8 * dtype.size() as u64;
        // Narrow integers compute in 32 bits and wrap.
        let wide = match (dtype.size(), dtype.is_signed_int()) {
            (8, true) => DType::I64,
            (8, false) => DType::U64,
            (_, true) => DType::I32,
            (_, false) => DType::U32,
        };
        let through = unsigned(wide).name();
        let (signed, narrow) = (dtype.is_signed_int(), wide != dtype);
        let wrapped = |sign: &str| {
            if signed || narrow { format!("({name})(({through}){x} {sign} ({through}){y})") } else { format!("{x} {sign} {y}") }
        };
        let called = |this: &mut Self, function: &str| {
            let function = this.function(function, wide);
            if narrow { format!("({name}){function}({x}, {y})") } else { format!("{function}({x}, {y})") }
        };
        match op {
            BinaryOp::Add => wrapped("+"),
            BinaryOp::Sub => wrapped("-"),
            BinaryOp::Mul => wrapped("*"),
            BinaryOp::And => format!("{x} & {y}"),
            BinaryOp::Or => format!("{x} | {y}"),
            BinaryOp::Xor => format!("{x} ^ {y}"),
            BinaryOp::Max => format!("{x} > {y} ? {x} : {y}"),
            BinaryOp::Min => format!("{x} < {y} ? {x} : {y}"),
            BinaryOp::Div | BinaryOp::IDiv | BinaryOp::Rem if !signed => {
                let sign = if op == BinaryOp::Rem { "%" } else { "/" };
                match constant {
                    Some(0) => format!("({name})0"),
                    Some(_) => format!("{x} {sign} {y}"),
                    None => format!("{y} == 0 ? ({name})0 : ({name})({x} {sign} {y})"),
                }
            }
            BinaryOp::Div | BinaryOp::IDiv => called(self, "idiv"),
            BinaryOp::Rem => called(self, "irem"),
            BinaryOp::Pow => called(self, "ipow"),
            BinaryOp::Atan2 => {
                let function = self.function("atan2", DType::F32);
                format!("({name})(i32){function}((f32){x}, (f32){y})")
            }
            BinaryOp::Shl => {
                let shifted = format!("({name})(({through}){x} << {y})");
                match constant.map(|c| c as u64) {
                    Some(count) if count < bits => shifted,
                    Some(_) => format!("({name})0"),
                    None => format!("({}){y} < {bits}u ? {shifted} : ({name})0", unsigned(dtype).name()),
                }
            }
            BinaryOp::Shr => {
                let past = if signed { format!("({name})({x} >> {})", bits - 1) } else { format!("({name})0") };
                match constant.map(|c| c as u64) {
                    Some(count) if count < bits => format!("({name})({x} >> {y})"),
                    Some(_) => past,
                    None => format!("({}){y} < {bits}u ? ({name})({x} >> {y}) : {past}", unsigned(dtype).name()),
                }
            }
            // Comparisons were answered before.
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => x.to_owned(),
        }
    }

    // --- conversions

    pub(super) fn cast(&mut self, x: &str, from: DType, to: DType) -> String {
        if from == to {
            return x.to_owned();
        }
        match (from, to) {
            (DType::F16 | DType::BF16, DType::Bool) => format!("({x} & 0x7fff) != 0"),
            (_, DType::Bool) => format!("{x} != 0"),
            (DType::Bool, DType::F16) => format!("{x} ? (u16)0x3c00 : (u16)0"),
            (DType::Bool, DType::BF16) => format!("{x} ? (u16)0x3f80 : (u16)0"),
            (DType::F16 | DType::BF16, _) => {
                let name = if from == DType::F16 { "f16_to_f32" } else { "bf16_to_f32" };
                let wide = format!("{}({x})", self.function(name, DType::U16));
                self.cast(&wide, DType::F32, to)
            }
            (_, DType::F16 | DType::BF16) => {
                let wide = self.cast(x, from, DType::F32);
                let name = if to == DType::F16 { "f32_to_f16" } else { "f32_to_bf16" };
                format!("{}({wide})", self.function(name, DType::U16))
            }
            (DType::F32 | DType::F64, DType::F32 | DType::F64) => format!("({})({x})", to.name()),
            (DType::F32 | DType::F64, _) => {
                let text = format!("{}({x})", self.function(&format!("to_{}", to.name()), from));
                if to.size() >= 4 { text } else { format!("({}){text}", to.name()) }
            }
            _ => format!("({}){x}", stored(to)),
        }
    }

    pub(super) fn bitcast(&mut self, a: Value, to: DType) -> String {
        let (from, x) = (self.program.ty(a).dtype(), self.value(a));
        match (from, to) {
            (DType::F32 | DType::F64, DType::F32 | DType::F64) => x,
            (DType::F32 | DType::F64, _) => {
                let bits = self.bits(&x, from);
                format!("({}){bits}", stored(to))
            }
            (_, DType::F32 | DType::F64) => {
                let bits = format!("({}){x}", unsigned(from).name());
                self.float_of_bits(&bits, to)
            }
            (_, DType::Bool) => format!("{x} != 0"),
            _ => format!("({}){x}", stored(to)),
        }
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "it asks whether it compares")]
fn comparison(op: BinaryOp) -> Option<&'static str> {
    Some(match op {
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        _ => return None,
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "what rounds, or what only floats have, is the integer itself")]
fn unary_int(op: UnaryOp, dtype: DType, x: String) -> String {
    let (name, signed) = (dtype.name(), dtype.is_signed_int());
    let through = if dtype.size() == 8 { "u64" } else { "u32" };
    let negated = format!("({name})(({through})0 - ({through}){x})");
    match op {
        UnaryOp::Neg => negated,
        UnaryOp::Abs if signed => format!("{x} < 0 ? {negated} : {x}"),
        UnaryOp::Sign if signed => format!("({name})({x} > 0 ? 1 : ({x} < 0 ? -1 : 0))"),
        UnaryOp::Sign => format!("({name})({x} > 0 ? 1 : 0)"),
        UnaryOp::Relu if signed => format!("{x} > 0 ? {x} : ({name})0"),
        UnaryOp::BitNot => format!("({name})~{x}"),
        UnaryOp::Not => format!("{x} == 0"),
        UnaryOp::IsNan => "false".to_owned(),
        UnaryOp::IsFinite => "true".to_owned(),
        // What rounds, or what only floats have: the integer itself.
        _ => x,
    }
}
