//! Scalar operations of two arguments and reductions, and what each one means: the definition that every interpreter, driver and reference
//! follows. Functions of one argument: [`crate::UnaryOp`]; running reductions: [`crate::ScanOp`].

use std::fmt;

macro_rules! scalar_ops {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[allow(missing_docs)]
        pub enum $name { $($(#[$vdoc])* $variant),* }
        impl $name {
            /// Every operation of the family.
            pub const ALL: &[$name] = &[$($name::$variant),*];
            /// Its name in plans and messages.
            pub const fn name(self) -> &'static str { match self { $($name::$variant => $text),* } }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(self.name()) }
        }
    };
}

scalar_ops! {
    /// Operations of two arguments of one dtype. Comparisons give `Bool`, the others the arguments' dtype.
    BinaryOp {
        Add = "add", Sub = "sub", Mul = "mul",
        /// Floats only; integers divide with `IDiv` or are cast first.
        Div = "div",
        /// Division rounded toward negative infinity; of integers by zero: 0. Of floats: what [`BinaryOp::Rem`] leaves, divided, as Python's
        /// `//`, so that `1 // 0.1` is 9; by zero as `/`.
        IDiv = "idiv",
        /// Remainder with the divisor's sign (Python's `%`, `torch.remainder`); integers by zero: 0.
        Rem = "rem",
        Pow = "pow", Atan2 = "atan2",
        /// NaN if either is NaN.
        Max = "max",
        /// NaN if either is NaN.
        Min = "min",
        Eq = "eq", Ne = "ne", Lt = "lt", Le = "le", Gt = "gt", Ge = "ge",
        /// Logical on `Bool`, bitwise on integers.
        And = "and",
        Or = "or", Xor = "xor",
        /// Shifts of integers; a count of the width or more gives 0 (or the sign, for `Shr` of a negative number).
        Shl = "shl",
        Shr = "shr",
    }
}

scalar_ops! {
    /// Associative reductions. Identity: 0, 1, least, greatest. `Max` and `Min` give NaN if any element is NaN.
    /// On `Bool`, `Max` is *any* and `Min` is *all*. Half types accumulate in `f32`, integers in their own width.
    ReduceOp { Sum = "sum", Prod = "prod", Max = "max", Min = "min" }
}

scalar_ops! {
    /// The index (`I64`) of the first greatest or least element; a NaN counts as both.
    ArgReduceOp { ArgMax = "argmax", ArgMin = "argmin" }
}

scalar_ops! {
    /// What `scatter` does where a source element meets its target. `Set` with a repeated target keeps the last source in row-major order.
    ScatterMode { Set = "set", Add = "add", Max = "max", Min = "min", Mul = "mul" }
}

impl BinaryOp {
    /// Whether the result is `Bool`.
    #[inline]
    pub const fn is_comparison(self) -> bool {
        matches!(self, BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge)
    }

    /// Whether the arguments may be swapped.
    pub const fn is_commutative(self) -> bool {
        use BinaryOp::*;
        matches!(self, Add | Mul | Max | Min | Eq | Ne | And | Or | Xor)
    }

    /// The meaning on floats, in `f64`. Boolean results are 0 or 1.
    pub fn eval(self, a: f64, b: f64) -> f64 {
        let truth = |t: bool| f64::from(u8::from(t));
        match self {
            BinaryOp::Add => a + b,
            BinaryOp::Sub => a - b,
            BinaryOp::Mul => a * b,
            BinaryOp::Div => a / b,
            BinaryOp::IDiv => {
                if b == 0.0 {
                    return a / b;
                }
                let r = a % b;
                let less = if r != 0.0 && (r < 0.0) != (b < 0.0) { 1.0 } else { 0.0 };
                let quotient = (a - r) / b - less;
                if quotient == 0.0 {
                    return 0f64.copysign(a / b);
                }
                // The division may have rounded a whole number down.
                let floor = quotient.floor();
                if quotient - floor > 0.5 { floor + 1.0 } else { floor }
            }
            BinaryOp::Rem => {
                let r = a % b;
                if r != 0.0 && (r < 0.0) != (b < 0.0) { r + b } else { r }
            }
            BinaryOp::Pow => a.powf(b),
            BinaryOp::Atan2 => a.atan2(b),
            BinaryOp::Max => {
                if a.is_nan() || a > b {
                    a
                } else {
                    b
                }
            }
            BinaryOp::Min => {
                if a.is_nan() || a < b {
                    a
                } else {
                    b
                }
            }
            BinaryOp::Eq => truth(a == b),
            BinaryOp::Ne => truth(a != b),
            BinaryOp::Lt => truth(a < b),
            BinaryOp::Le => truth(a <= b),
            BinaryOp::Gt => truth(a > b),
            BinaryOp::Ge => truth(a >= b),
            BinaryOp::And => truth(a != 0.0 && b != 0.0),
            BinaryOp::Or => truth(a != 0.0 || b != 0.0),
            BinaryOp::Xor => truth((a != 0.0) != (b != 0.0)),
            BinaryOp::Shl | BinaryOp::Shr => self.eval_int(a as i64, b as i64, 64, true) as f64,
        }
    }

    /// The meaning on integers of `width` bits, before wrapping to the dtype. Unsigned 64-bit values travel as their bits.
    pub fn eval_int(self, a: i64, b: i64, width: u32, signed: bool) -> i64 {
        let (ua, ub) = (a as u64, b as u64);
        let less = if signed { a < b } else { ua < ub };
        match self {
            BinaryOp::Add => a.wrapping_add(b),
            BinaryOp::Sub => a.wrapping_sub(b),
            BinaryOp::Mul => a.wrapping_mul(b),
            BinaryOp::Div | BinaryOp::IDiv | BinaryOp::Rem if b == 0 => 0,
            BinaryOp::Div | BinaryOp::IDiv if !signed => (ua / ub) as i64,
            BinaryOp::Div | BinaryOp::IDiv => {
                let q = a.wrapping_div(b);
                if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { q - 1 } else { q }
            }
            BinaryOp::Rem if !signed => (ua % ub) as i64,
            BinaryOp::Rem => {
                let r = a.wrapping_rem(b);
                if r != 0 && (r < 0) != (b < 0) { r + b } else { r }
            }
            BinaryOp::Pow if signed && b < 0 => match a {
                1 => 1,
                -1 => 1 - 2 * (b & 1).abs(),
                _ => 0,
            },
            BinaryOp::Pow => {
                let (mut base, mut exponent, mut result) = (a, ub, 1i64);
                while exponent > 0 {
                    if exponent & 1 == 1 {
                        result = result.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    exponent >>= 1;
                }
                result
            }
            BinaryOp::Atan2 => (a as f64).atan2(b as f64) as i64,
            BinaryOp::Max => {
                if less {
                    b
                } else {
                    a
                }
            }
            BinaryOp::Min => {
                if less {
                    a
                } else {
                    b
                }
            }
            BinaryOp::Eq => i64::from(a == b),
            BinaryOp::Ne => i64::from(a != b),
            BinaryOp::Lt => i64::from(less),
            BinaryOp::Ge => i64::from(!less),
            BinaryOp::Gt => i64::from(!less && a != b),
            BinaryOp::Le => i64::from(less || a == b),
            BinaryOp::And => a & b,
            BinaryOp::Or => a | b,
            BinaryOp::Xor => a ^ b,
            BinaryOp::Shl => {
                if ub >= u64::from(width) {
                    0
                } else {
                    a << b
                }
            }
            BinaryOp::Shr => {
                if ub >= u64::from(width) {
                    if signed && a < 0 { -1 } else { 0 }
                } else if signed {
                    a >> b
                } else {
                    (ua >> b) as i64
                }
            }
        }
    }
}
