//! Products in 8-bit floats: what a scope of automatic mixed precision with an [`Fp8Recipe`] makes of matrix products.
//!
//! In: the two factors of a product, floats of at most 32 bits, and the recipe. Out: the product in the recipe's half type, with its gradients.
//!
//! Each factor is multiplied by its scale, rounded to `e4m3` and stored so, a byte an element; the product reads the codes, each decoded and divided
//! by the scale, and keeps its sums in `f32`. The gradient that arrives is rounded to `e5m2` in the same way, and both gradients are products of it and
//! of the codes that the forward pass has made.
//!
//! A scale is one number for a tensor, the greatest power of two with which the greatest absolute value (*amax*) is not beyond the format's: so a
//! multiplication by it is exact, a decoded value is a `bf16`, and codes have the same bits on every device. It comes from the tensor itself
//! ([`Fp8Scaling::Current`]) or from those of steps before ([`Fp8Scaling::Delayed`]). What rounds, in order:
//!
//! 1. a factor to `e4m3`, from the dtype that it has (parameters from `f32`, not by way of the half type), to the nearest, ties to even;
//! 2. the sums to the half type, where they are stored;
//! 3. the gradient that arrives to `e5m2`, to the nearest or, if the recipe says so, up or down at random with probabilities by distance;
//! 4. each factor's gradient to the half type where it is stored, and to the factor's dtype.
//!
//! Always: the gradient of rounding is that of the identity (straight through), so that gradients of gradients are those of the rounded numbers; a
//! finite number that is too large becomes the format's greatest; NaN stays NaN, an infinity becomes NaN in `e4m3`, which has none, and stays one in
//! `e5m2`: what has overflowed shows in the loss. Of a tensor whose amax is 0, infinite or NaN the scale is 1.
//! Never: touches `f64`, integers, or what is added to a product; waits for the device.

mod delayed;

pub use delayed::DelayedScaling;

use crate::{Generator, Tensor, linalg::try_matmul, promotion::promote};
use delayed::Pass;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use unigrad_graph::{BinaryOp, CustomGradient, DType, Error, Expr, Float8, Literal, ReduceOp, UnaryOp, no_grad_guard};

/// Where the scales of [`Fp8Recipe`] come from.
#[derive(Clone, Debug, Default)]
pub enum Fp8Scaling {
    /// From the amax of the tensor that is rounded.
    #[default]
    Current,
    /// From the greatest amax of the steps before: the tensor is read once, and what exceeds it saturates.
    Delayed(DelayedScaling),
}

/// How the products of a scope are computed in 8-bit floats: factors in `e4m3`, gradients in `e5m2`. The default is current scaling beside `BF16`.
#[derive(Clone, Debug)]
pub struct Fp8Recipe {
    /// The half type of results, and of everything else in the scope: `BF16` or `F16`.
    pub half: DType,
    /// Where scales come from.
    pub scaling: Fp8Scaling,
    /// Scales are smaller by so many powers of two: room for what grows. At most [`Fp8Recipe::MAX_MARGIN`].
    pub margin: u32,
    /// Gradients are rounded up or down at random, by numbers of the process's generator: right on the average.
    pub stochastic_rounding: bool,
}

impl Default for Fp8Recipe {
    fn default() -> Fp8Recipe {
        Fp8Recipe { half: DType::BF16, scaling: Fp8Scaling::Current, margin: 0, stochastic_rounding: false }
    }
}

impl Fp8Recipe {
    /// With it the scale of the greatest `f32` is still a normal number.
    pub const MAX_MARGIN: u32 = 6;

    /// An error if the half type is none, or the margin is too great.
    pub fn check(&self) -> crate::Result<()> {
        if !matches!(self.half, DType::BF16 | DType::F16) {
            return Err(crate::Error::argument(format!("the half type of 8-bit floats is {}", self.half), "give BF16 or F16"));
        }
        if self.margin > Fp8Recipe::MAX_MARGIN {
            let help = format!("give at most {}: each halves scales once more", Fp8Recipe::MAX_MARGIN);
            return Err(crate::Error::argument(format!("a margin of {}", self.margin), help));
        }
        Ok(())
    }

    /// With scales of steps before.
    pub fn delayed(scaling: &DelayedScaling) -> Fp8Recipe {
        Fp8Recipe { scaling: Fp8Scaling::Delayed(scaling.clone()), ..Fp8Recipe::default() }
    }
}

/// A scope's recipe on its way: how many of its products have been recorded, and the scales that they take.
#[derive(Clone, Debug)]
pub(crate) struct Fp8Scope {
    pass: Arc<Pass>,
    next: Arc<AtomicUsize>,
}

impl Fp8Scope {
    pub(crate) fn new(recipe: &Fp8Recipe) -> Fp8Scope {
        Fp8Scope { pass: Arc::new(Pass::new(recipe.clone())), next: Arc::default() }
    }

    /// The same scales, of the products from here on: for a block that is recorded again, later.
    pub(crate) fn resumed(&self) -> Fp8Scope {
        Fp8Scope { pass: self.pass.clone(), next: Arc::new(AtomicUsize::new(self.next.load(Ordering::Relaxed))) }
    }
}

/// What is rounded: a product's first or second factor, or the gradient that arrives at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Role {
    First,
    Second,
    Gradient,
}

impl Role {
    pub(crate) const ALL: [Role; 3] = [Role::First, Role::Second, Role::Gradient];

    fn dtype(self) -> DType {
        match self {
            Role::First | Role::Second => DType::F8E4M3,
            Role::Gradient => DType::F8E5M2,
        }
    }

    fn format(self) -> Float8 {
        match self {
            Role::First | Role::Second => Float8::E4M3,
            Role::Gradient => Float8::E5M2,
        }
    }
}

/// `a @ turned(b)` in the scope of a recipe; as it is, where it is not of floats of at most 32 bits. What is turned is rounded before, so that its gradient
/// ends as the product does.
#[track_caller]
pub(crate) fn matmul(scope: &Fp8Scope, a: &Expr, b: &Expr, turned: impl Fn(&Expr) -> Expr) -> Result<Expr, Expr> {
    let of_scope = |dtype: DType| matches!(dtype, DType::F32 | DType::F16 | DType::BF16);
    let is_plain = [a, b].iter().any(|x| x.error().is_some() || x.rank() == 0 || x.dtype().only_stores());
    if is_plain || !of_scope(promote(a, b)) {
        return try_matmul(a, &turned(b));
    }
    let recipe = &scope.pass.recipe;
    if let Err(error) = recipe.check() {
        return Err(Tensor::from_error(&error).into_expr());
    }
    let number = scope.next.fetch_add(1, Ordering::Relaxed);
    // What is decoded is a bf16, but beyond the range of f16.
    let wide = if recipe.half == DType::BF16 { DType::BF16 } else { DType::F32 };
    let [a, b] = [(a, Role::First), (b, Role::Second)].map(|(x, role)| scope.pass.rounded(x, number, role, wide));
    let y = try_matmul(&a, &turned(&b))?;
    if !y.needs_grad() {
        return Ok(y.cast(recipe.half));
    }
    let gradient = RoundedGradient { pass: scope.pass.clone(), number, wide };
    Ok(Expr::custom(Arc::new(gradient), &y.detach(), &[y]).cast(recipe.half))
}

/// Lets a value through and rounds the gradient that arrives.
#[derive(Debug)]
struct RoundedGradient {
    pass: Arc<Pass>,
    number: usize,
    wide: DType,
}

impl CustomGradient for RoundedGradient {
    fn name(&self) -> &str {
        "fp8_gradient"
    }

    fn backward(&self, _inputs: &[Expr], _output: &Expr, dy: &Expr) -> Result<Vec<Option<Expr>>, Error> {
        Ok(vec![Some(self.pass.rounded(dy, self.number, Role::Gradient, self.wide))])
    }
}

/// The gradient of what is rounded is that of the identity.
#[derive(Debug)]
struct StraightThrough;

impl CustomGradient for StraightThrough {
    fn name(&self) -> &str {
        "fp8"
    }

    fn backward(&self, inputs: &[Expr], _output: &Expr, dy: &Expr) -> Result<Vec<Option<Expr>>, Error> {
        Ok(inputs.iter().map(|x| Some(dy.cast(x.dtype()))).collect())
    }
}

/// The greatest absolute value, in `F32`; 0 of nothing.
pub(crate) fn amax(x: &Expr) -> Expr {
    if x.numel() == 0 {
        return x.literal_like(Literal::float(DType::F32, 0.0)).reduce(ReduceOp::Sum, all(x));
    }
    let x = if x.dtype().is_float() { x.clone() } else { x.cast(DType::F32) };
    x.unary(UnaryOp::Abs).reduce(ReduceOp::Max, all(&x)).cast(DType::F32)
}

fn all(x: &Expr) -> u32 {
    (1u32 << x.rank()) - 1
}

/// An integer constant beside `x`.
fn with(x: &Expr, op: BinaryOp, value: u32) -> Expr {
    x.binary(op, &x.literal_like(Literal::int(DType::U32, value.into())))
}

/// The scale of an amax, and 1 by it: powers of two, made of bits, so that they are the same everywhere.
pub(crate) fn scale(amax: &Expr, role: Role, margin: u32) -> [Expr; 2] {
    use BinaryOp::{And, Gt, Lt, Min, Shl, Shr, Sub};
    const FRACTION: u32 = (1 << 23) - 1;
    const INFINITE: u32 = 0xff << 23;
    // The format's greatest number is a fraction and a power of two; an amax of a greater fraction takes the next power.
    let greatest = role.format().decode(role.format().max_code).to_bits();
    let bits = amax.bitcast(DType::U32);
    let power = with(&with(&bits, BinaryOp::Add, FRACTION - (greatest & FRACTION)), Shr, 23);
    // As biased exponents: both the scale and 1 by it are normal numbers.
    let top = bits.literal_like(Literal::int(DType::U32, i64::from((greatest >> 23) + 127 - margin)));
    let exponent = with(&top.binary(Sub, &power), Min, 253);
    let is_number = with(&bits, Gt, 0).binary(And, &with(&bits, Lt, INFINITE));
    let exponent = is_number.select(&exponent, &bits.literal_like(Literal::int(DType::U32, 127)));
    let turned = bits.literal_like(Literal::int(DType::U32, 254)).binary(Sub, &exponent);
    [exponent, turned].map(|exponent| with(&exponent, Shl, 23).bitcast(DType::F32))
}

/// `x` as the codes of its role, scaled; `by_chance` says whether it is rounded at random.
fn codes(x: &Expr, scale: &Expr, role: Role, by_chance: bool) -> Expr {
    let x = x.cast(DType::F32);
    let greatest = f64::from(role.format().decode(role.format().max_code));
    let scaled = x.binary(BinaryOp::Mul, &spread(scale, &x));
    let scaled = if by_chance { dithered(&scaled, role.format()) } else { scaled };
    let is_infinite = x.unary(UnaryOp::Abs).binary_const(BinaryOp::Eq, f64::INFINITY);
    let (least, most) = (scaled.constant_like(-greatest), scaled.constant_like(greatest));
    let finite = scaled.binary(BinaryOp::Max, &least).binary(BinaryOp::Min, &most);
    let beyond = match role {
        Role::First | Role::Second => x.constant_like(f64::NAN),
        Role::Gradient => x.clone(),
    };
    is_infinite.select(&beyond, &finite).cast(role.dtype())
}

/// What codes stand for.
fn decoded(codes: &Expr, turned: &Expr, wide: DType) -> Expr {
    let value = codes.cast(DType::F32);
    value.binary(BinaryOp::Mul, &spread(turned, &value)).cast(wide)
}

/// One number in the shape of a tensor.
fn spread(number: &Expr, like: &Expr) -> Expr {
    number.reshape(&vec![1; like.rank()]).expand_like(like)
}

/// Rounded to a number of the format at random, with probabilities by distance: the format's own rounding does nothing to it any more.
fn dithered(x: &Expr, format: Float8) -> Expr {
    use BinaryOp::{Add, And, Lt, Mul, Or, Shr};
    const SIGN: u32 = 1 << 31;
    let bits = x.bitcast(DType::U32);
    let (sign, magnitude) = (with(&bits, And, SIGN), with(&bits, And, !SIGN));
    let (seed, offset) = Generator::global().take_scalars(x.numel(), x.device());
    let word = x.random_like(0, &seed, &offset);
    // Bits that the format does not have are filled at random and cut off.
    let lost = 23 - format.mantissa;
    let normal = with(&magnitude.binary(Add, &with(&word, Shr, 32 - lost)), And, !((1 << lost) - 1)).bitcast(DType::F32);
    // Below the least normal number, steps are the same everywhere.
    let unit = 2f64.powi(format.least_exponent() - format.mantissa as i32);
    let chance = with(&word, Shr, 8).cast(DType::F32).binary_const(Mul, 2f64.powi(-24));
    let steps = magnitude.bitcast(DType::F32).binary_const(Mul, 1.0 / unit).binary(Add, &chance).unary(UnaryOp::Floor);
    let small = steps.binary_const(Mul, unit);
    let least = 2f32.powi(format.least_exponent()).to_bits();
    let rounded = with(&magnitude, Lt, least).select(&small, &normal).bitcast(DType::U32).binary(Or, &sign).bitcast(DType::F32);
    // Not what is no number: filling its bits makes another of it.
    with(&magnitude, Lt, 0xff << 23).select(&rounded, x)
}

/// `x` rounded to the numbers of its role, as a tensor of `wide` whose gradient is that of `x`.
fn rounded(x: &Expr, [scale, turned]: &[Expr; 2], role: Role, by_chance: bool, wide: DType) -> Expr {
    let value = {
        let _guard = no_grad_guard();
        decoded(&codes(x, scale, role, by_chance), turned, wide)
    };
    if !x.needs_grad() || value.error().is_some() {
        return value;
    }
    Expr::custom(Arc::new(StraightThrough), &value, std::slice::from_ref(x))
}

/// The tensor's error of what was given, if it can be in no recipe.
#[track_caller]
pub(crate) fn check(what: &str, shape: &[usize], tensor: &Tensor) -> Option<crate::Error> {
    let fits = tensor.dtype() == DType::F32 && tensor.shape() == shape;
    (!fits && !tensor.is_invalid()).then(|| {
        crate::Error::argument(
            format!("{what} is {:?} of {}", tensor.shape(), tensor.dtype()),
            format!("it is {shape:?} of f32: load what was saved with this length of history"),
        )
    })
}
