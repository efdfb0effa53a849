//! Functions of one number: all that is known of each stands in one row of [`each_unary!`](crate::each_unary).
//!
//! In: nothing. Out: [`UnaryOp`] and its meaning, dtypes, price, gradient, and how to compute it where a device has no function of its own.
//! Always: a row is enough: the tensor method, the op table and its cases, the fuzzer and every device's code come from it. What a device does
//! better by itself stands with the device.
//! Never: a function without an exact meaning ([`UnaryOp::eval`]), which all others are tested against.

mod formula;
mod rows;
mod special;

pub use formula::{Arg, Definition, Formula, Term, Var};

use crate::DType;
use std::{fmt, sync::OnceLock};

/// What dtypes a function takes, and what it gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryClass {
    /// Numbers: integers and floats, exactly.
    Number,
    /// Floats, rounded to whole numbers; an integer is its own result.
    Rounding,
    /// Floats.
    Real,
    /// Anything; the result is `Bool`.
    Test,
    /// `Bool`.
    Truth,
    /// Integers, bit by bit.
    Bits,
}

impl UnaryClass {
    /// Whether a kernel may ask for the function of this dtype.
    #[inline]
    pub const fn takes(self, dtype: DType) -> bool {
        match self {
            UnaryClass::Number => !matches!(dtype, DType::Bool),
            UnaryClass::Rounding | UnaryClass::Real => dtype.is_float(),
            UnaryClass::Test => true,
            UnaryClass::Truth => matches!(dtype, DType::Bool),
            UnaryClass::Bits => dtype.is_int(),
        }
    }

    /// Whether the result is `Bool` whatever the argument's dtype.
    #[inline]
    pub const fn gives_bool(self) -> bool {
        matches!(self, UnaryClass::Test | UnaryClass::Truth)
    }

    /// What it takes, in words.
    pub const fn wants(self) -> &'static str {
        match self {
            UnaryClass::Number => "a number",
            UnaryClass::Rounding | UnaryClass::Real => "a float",
            UnaryClass::Test => "anything",
            UnaryClass::Truth => "a bool",
            UnaryClass::Bits => "an integer",
        }
    }
}

/// The share of a gradient that goes on to the argument, from the argument, the result and the gradient.
type Slope = for<'f> fn(Var<'f>, Var<'f>, Var<'f>) -> Var<'f>;
/// The function of other functions; `true` for 64-bit floats.
type Form = for<'f> fn(Var<'f>, bool) -> Var<'f>;

/// One function.
struct Row {
    name: &'static str,
    method: &'static str,
    doc: &'static str,
    class: UnaryClass,
    cost: u8,
    eval: fn(f64) -> f64,
    int: fn(i64) -> i64,
    slope: Option<Slope>,
    form: Option<Form>,
    c: Option<&'static str>,
    wgsl: Option<&'static str>,
}

impl Row {
    const fn new(name: &'static str, method: &'static str, doc: &'static str, class: UnaryClass, cost: u8) -> Row {
        const fn same(x: i64) -> i64 {
            x
        }
        const fn nothing(_: f64) -> f64 {
            f64::NAN
        }
        Row { name, method, doc, class, cost, eval: nothing, int: same, slope: None, form: None, c: None, wgsl: None }
    }

    const fn eval(self, eval: fn(f64) -> f64) -> Row {
        Row { eval, ..self }
    }

    const fn int(self, int: fn(i64) -> i64) -> Row {
        Row { int, ..self }
    }

    const fn slope(self, slope: Slope) -> Row {
        Row { slope: Some(slope), ..self }
    }

    const fn form(self, form: Form) -> Row {
        Row { form: Some(form), ..self }
    }

    const fn c(self, text: &'static str) -> Row {
        Row { c: Some(text), ..self }
    }

    const fn wgsl(self, text: &'static str) -> Row {
        Row { wgsl: Some(text), ..self }
    }
}

macro_rules! define {
    ($($(#[doc = $doc:literal])* $op:ident $name:literal $method:ident $class:ident $cost:literal { $($field:ident: $value:expr),* $(,)? })*) => {
        /// Functions of one argument. Which dtypes they take: [`UnaryOp::class`]. The result has the argument's dtype, or is `Bool`.
        ///
        /// ```
        /// use unigrad_scalar::UnaryOp;
        ///
        /// assert_eq!(UnaryOp::Relu.eval(-2.0), 0.0);
        /// assert_eq!(UnaryOp::Digamma.name(), "digamma");
        /// ```
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum UnaryOp { $($(#[doc = $doc])* $op),* }

        impl UnaryOp {
            /// Every function.
            pub const ALL: &[UnaryOp] = &[$(UnaryOp::$op),*];
        }

        static ROWS: [Row; UnaryOp::ALL.len()] =
            [$(Row::new($name, stringify!($method), concat!($($doc, "\n"),*), UnaryClass::$class, $cost)$(.$field($value))*),*];
    };
}
crate::each_unary!(define);

impl UnaryOp {
    #[inline]
    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Its name in plans and messages, and in the op table.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The method of tensors that is this function.
    #[inline]
    pub fn method(self) -> &'static str {
        self.row().method
    }

    /// What it is, as its documentation says.
    pub fn doc(self) -> &'static str {
        self.row().doc.trim()
    }

    /// What it takes and gives.
    #[inline]
    pub fn class(self) -> UnaryClass {
        self.row().class
    }

    /// Whether the result is `Bool` whatever the argument's dtype.
    pub fn gives_bool(self) -> bool {
        self.class().gives_bool()
    }

    /// A rough price, in additions.
    pub fn cost(self) -> usize {
        self.row().cost.into()
    }

    /// The meaning on a float, in `f64`. Boolean results are 0 or 1.
    pub fn eval(self, x: f64) -> f64 {
        (self.row().eval)(x)
    }

    /// The meaning on an integer, before wrapping to its dtype.
    pub fn eval_int(self, x: i64) -> i64 {
        (self.row().int)(x)
    }

    /// The share of a gradient that the argument gets, a formula of the argument, the result and the gradient; `None` if that is 0 everywhere.
    /// `wide` for 64-bit floats.
    pub fn slope(self, wide: bool) -> Option<&'static Formula> {
        static SLOPES: [[OnceLock<Formula>; 2]; UnaryOp::ALL.len()] = [const { [const { OnceLock::new() }; 2] }; UnaryOp::ALL.len()];
        let slope = self.row().slope?;
        Some(SLOPES[self as usize][usize::from(wide)].get_or_init(|| Formula::of(|[x, y, dy], _| slope(x, y, dy), wide)))
    }

    /// The function composed of others, for a device that has none of its own; `wide` for 64-bit floats. `None` where every device has one.
    pub fn form(self, wide: bool) -> Option<&'static Formula> {
        static FORMS: [[OnceLock<Formula>; 2]; UnaryOp::ALL.len()] = [const { [const { OnceLock::new() }; 2] }; UnaryOp::ALL.len()];
        let form = self.row().form?;
        Some(FORMS[self as usize][usize::from(wide)].get_or_init(|| Formula::of(|[x], wide| form(x, wide), wide)))
    }

    /// A helper function in C, with the names that the C renderer fills in.
    pub fn c(self) -> Option<&'static str> {
        self.row().c
    }

    /// A function of `f32` in WGSL, `NAME_f32`.
    pub fn wgsl(self) -> Option<&'static str> {
        self.row().wgsl
    }
}

impl fmt::Display for UnaryOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests;
