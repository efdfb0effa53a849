//! Maps: one result per element, from the elements at the same place.

use crate::{Expr, Op, autograd::Vjp, node::foldable_scalar};
use unigrad_scalar::{BinaryOp, DType, Formula, Term, UnaryClass, UnaryOp};

impl Expr {
    /// An elementwise op of one argument.
    #[track_caller]
    pub fn unary(&self, op: UnaryOp) -> Expr {
        self.clone().unary_with(op)
    }

    /// As [`Expr::unary`], of a handle that nothing else needs.
    #[track_caller]
    pub fn unary_with(self, op: UnaryOp) -> Expr {
        // Most: an invalid one among the inputs is found where the node is made.
        if self.dtype().is_float() && matches!(op.class(), UnaryClass::Real | UnaryClass::Number) {
            return Expr::of_one(op, self);
        }
        self.unary_by_rule(op)
    }

    #[inline(never)]
    #[track_caller]
    fn unary_by_rule(self, op: UnaryOp) -> Expr {
        let dtype = self.dtype();
        let class = op.class();
        if self.is_invalid() {
            return self;
        }
        if class == UnaryClass::Rounding && dtype.is_int() {
            return self.identity();
        }
        if !class.takes(dtype) {
            return Expr::dtype_error(op.name(), format!("wants {}, got {dtype}", class.wants()), &[&self]);
        }
        if class.gives_bool() && dtype != DType::Bool {
            let of = self.tensor_type().clone();
            return Expr::like(Op::Unary(op), [self], &of, DType::Bool);
        }
        Expr::of_one(op, self)
    }

    /// An elementwise op of two arguments of one shape and dtype.
    #[track_caller]
    pub fn binary(&self, op: BinaryOp, other: &Expr) -> Expr {
        self.clone().binary_with(op, other.clone())
    }

    /// As [`Expr::binary`], of handles that nothing else needs.
    #[track_caller]
    pub fn binary_with(self, op: BinaryOp, other: Expr) -> Expr {
        use BinaryOp::*;
        // Most: an invalid one among the inputs is found where the node is made.
        if self.is_same_type(&other) && self.dtype().is_float() && matches!(op, Add | Sub | Mul | Div | Max | Min | Pow) {
            return Expr::of_two(op, [self, other]);
        }
        self.binary_by_rule(op, other)
    }

    #[inline(never)]
    #[track_caller]
    #[expect(clippy::wildcard_enum_match_arm, reason = "most operations have no rule of their own")]
    fn binary_by_rule(self, op: BinaryOp, other: Expr) -> Expr {
        use BinaryOp::*;
        let dtype = self.dtype();
        let is_same = self.is_same_type(&other);
        if !is_same || self.is_invalid() || other.is_invalid() {
            if let Some(invalid) = Expr::check_inputs(op.name(), &[&self, &other]) {
                return invalid;
            }
            if self.shape() != other.shape() {
                let message = format!("shapes differ: {:?} and {:?}", self.shape(), other.shape());
                return Expr::shape_error(op.name(), message, &[&self, &other]);
            }
            if dtype != other.dtype() {
                return Expr::dtype_error(op.name(), format!("dtypes differ: {dtype} and {}", other.dtype()), &[&self, &other]);
            }
        }
        let differs = !is_same && (self.is_named() || other.is_named());
        let rule = match op {
            Add | Sub | Mul | Rem | Pow | IDiv if dtype == DType::Bool => "numbers",
            Div | Atan2 if !dtype.is_float() => "floats",
            And | Or | Xor if dtype.is_float() => "bools or integers",
            Shl | Shr if !dtype.is_int() => "integers",
            _ => "",
        };
        if !rule.is_empty() {
            return Expr::dtype_error(op.name(), format!("wants {rule}, got {dtype}"), &[&self, &other]);
        }
        let result = if op.is_comparison() { DType::Bool } else { dtype };
        if differs {
            // One has names that the other has not.
            let shape = self.shape().clone();
            return Expr::new(Op::Binary(op), [self, other], shape, result);
        }
        if result != dtype {
            let of = self.tensor_type().clone();
            return Expr::like(Op::Binary(op), [self, other], &of, result);
        }
        Expr::of_two(op, [self, other])
    }

    /// `if self { yes } else { no }`; `self` is `Bool`.
    #[track_caller]
    pub fn select(&self, yes: &Expr, no: &Expr) -> Expr {
        if let Some(invalid) = Expr::check_inputs("where", &[self, yes, no]) {
            return invalid;
        }
        if self.shape() != yes.shape() || yes.shape() != no.shape() {
            let message = format!("shapes differ: {:?}, {:?}, {:?}", self.shape(), yes.shape(), no.shape());
            return Expr::shape_error("where", message, &[self, yes, no]);
        }
        if self.dtype() != DType::Bool || yes.dtype() != no.dtype() {
            let message = format!("wants a bool and two of one dtype, got {}, {}, {}", self.dtype(), yes.dtype(), no.dtype());
            return Expr::dtype_error("where", message, &[self, yes, no]);
        }
        Expr::new(Op::Where, [self.clone(), yes.clone(), no.clone()], yes.shape(), yes.dtype())
    }

    /// To another dtype; the node itself if it has it already.
    #[track_caller]
    pub fn cast(&self, dtype: DType) -> Expr {
        self.clone().cast_with(dtype)
    }

    /// As [`Expr::cast`], of a handle that nothing else needs.
    #[inline]
    #[track_caller]
    pub fn cast_with(self, dtype: DType) -> Expr {
        if self.dtype() == dtype || self.is_invalid() { self } else { self.cast_to_other(dtype) }
    }

    /// As [`Expr::cast`], to a dtype that it has not.
    #[track_caller]
    fn cast_to_other(self, dtype: DType) -> Expr {
        // Between floats a gradient may be asked for: there it is a node like any other.
        if !(self.dtype().is_float() && dtype.is_float()) {
            if let Op::Const(value) = self.op() {
                return self.literal_like(value.cast(dtype));
            }
            if let Some(value) = foldable_scalar(&self) {
                return self.scalar_like(value.cast(dtype));
            }
        }
        let of = self.tensor_type().clone();
        Expr::like(Op::Cast, [self], &of, dtype)
    }

    /// The same bits as another dtype of the same size.
    #[track_caller]
    pub fn bitcast(&self, dtype: DType) -> Expr {
        if self.error().is_some() || self.dtype() == dtype {
            return self.clone();
        }
        if self.dtype().size() != dtype.size() || dtype == DType::Bool {
            return Expr::dtype_error("bitcast", format!("{} and {dtype} differ in size, or the target is bool", self.dtype()), &[self]);
        }
        Expr::like(Op::Bitcast, [self.clone()], self.tensor_type(), dtype)
    }

    /// An `I64` index checked against `size` when it runs, negative ones counted from the end.
    #[track_caller]
    pub fn bounded(&self, size: usize) -> Expr {
        self.checked_index(size, true)
    }

    /// As [`Expr::bounded`], but negative ones are out of range: they stand for no class.
    #[track_caller]
    pub fn label(&self, classes: usize) -> Expr {
        self.checked_index(classes, false)
    }

    #[track_caller]
    fn checked_index(&self, size: usize, from_end: bool) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        if self.dtype() != DType::I64 {
            return Expr::dtype_error("index", format!("an index is i64 here, got {}", self.dtype()), &[self]);
        }
        Expr::like(Op::Bounded { size, from_end }, [self.clone()], self.tensor_type(), DType::I64)
    }

    /// With a constant of the same dtype.
    #[track_caller]
    pub fn binary_const(&self, op: BinaryOp, value: f64) -> Expr {
        self.clone().binary_with(op, self.constant_like(value))
    }
}

macro_rules! unary_shorthands {
    ($($name:ident = $op:ident),*) => { impl Expr { $(
        #[doc = concat!("Elementwise [`UnaryOp::", stringify!($op), "`].")]
        #[track_caller]
        pub fn $name(&self) -> Expr { self.unary(UnaryOp::$op) }
    )* } };
}
unary_shorthands!(
    neg = Neg,
    abs = Abs,
    sign = Sign,
    exp = Exp,
    exp2 = Exp2,
    log = Log,
    sin = Sin,
    cos = Cos,
    sinh = Sinh,
    cosh = Cosh,
    tanh = Tanh,
    sqrt = Sqrt,
    rsqrt = Rsqrt,
    recip = Recip,
    sigmoid = Sigmoid,
    not = Not
);

macro_rules! binary_shorthands {
    ($($name:ident = $op:ident),*) => { impl Expr { $(
        #[doc = concat!("Elementwise [`BinaryOp::", stringify!($op), "`].")]
        #[track_caller]
        pub fn $name(&self, other: &Expr) -> Expr { self.binary(BinaryOp::$op, other) }
    )* } };
}
binary_shorthands!(
    add = Add,
    sub = Sub,
    mul = Mul,
    div = Div,
    pow = Pow,
    max = Max,
    min = Min,
    eq = Eq,
    ne = Ne,
    lt = Lt,
    le = Le,
    gt = Gt,
    ge = Ge,
    and = And,
    or = Or
);

/// `value * x`, with a constant.
fn times(x: &Expr, value: f64) -> Expr {
    x.binary_const(BinaryOp::Mul, value)
}

fn plus(x: &Expr, value: f64) -> Expr {
    x.binary_const(BinaryOp::Add, value)
}

/// What a formula says of these arguments, as nodes.
pub(super) fn applied(formula: &Formula, inputs: &[&Expr]) -> Expr {
    let mut nodes: Vec<Expr> = Vec::with_capacity(formula.terms().len());
    for term in formula.terms() {
        let node = match *term {
            Term::Input(i) => inputs[i].clone(),
            Term::Constant(value) => inputs[0].constant_like(value),
            Term::Unary(op, a) => nodes[a].unary(op),
            Term::Binary(op, a, b) => nodes[a].binary(op, &nodes[b]),
            Term::Select(condition, yes, no) => nodes[condition].select(&nodes[yes], &nodes[no]),
        };
        nodes.push(node);
    }
    // The result is the last term, and there are at least the inputs.
    nodes.pop().unwrap_or_else(|| inputs[0].clone())
}

pub(super) fn unary_vjp(v: &mut Vjp<'_>, op: UnaryOp) {
    v.send(0, |v| match op.slope(v.node.dtype() == DType::F64) {
        Some(slope) => applied(slope, &[&v.x(0), v.node, v.dy]),
        // A step has gradient 0, and what is no float has none.
        None => v.dy.zeros_like(),
    });
}

pub(super) fn binary_vjp(v: &mut Vjp<'_>, op: BinaryOp) {
    use BinaryOp::*;
    match op {
        Add => {
            v.send(0, |v| v.dy.clone());
            v.send(1, |v| v.dy.clone());
        }
        Sub => {
            v.send(0, |v| v.dy.clone());
            v.send(1, |v| v.dy.neg());
        }
        Mul => {
            v.send(0, |v| v.dy.mul(&v.x(1)));
            v.send(1, |v| v.dy.mul(&v.x(0)));
        }
        Div => {
            v.send(0, |v| v.dy.div(&v.x(1)));
            v.send(1, |v| v.dy.mul(v.node).div(&v.x(1)).neg());
        }
        Rem => {
            v.send(0, |v| v.dy.clone());
            v.send(1, |v| v.dy.mul(&v.x(0).binary(IDiv, &v.x(1)).detach()).neg());
        }
        Pow => {
            v.send(0, |v| {
                let (a, b) = (&v.x(0), &v.x(1));
                // a^0 is 1 everywhere, where the formula would be 0 times infinity or NaN.
                let lost = a.binary_const(Eq, 0.0).or(&a.unary(UnaryOp::IsNan)).and(&b.binary_const(Eq, 0.0));
                let a = lost.select(&a.constant_like(1.0), a);
                v.dy.mul(&b.mul(&a.pow(&plus(b, -1.0))))
            });
            v.send(1, |v| {
                let (a, b) = (&v.x(0), &v.x(1));
                let share = v.dy.mul(&v.node.mul(&a.log()));
                let flat = a.binary_const(Eq, 0.0).and(&b.binary_const(Ge, 0.0));
                flat.select(&share.zeros_like(), &share)
            });
        }
        Atan2 => {
            // At the origin, where there is no direction, it is 0.
            let per_square = |v: &Vjp<'_>| {
                let square = v.x(0).mul(&v.x(0)).add(&v.x(1).mul(&v.x(1)));
                let origin = square.binary_const(Eq, 0.0);
                origin.select(&square.zeros_like(), &origin.select(&square.constant_like(1.0), &square).recip())
            };
            v.send(0, |v| v.dy.mul(&v.x(1).mul(&per_square(v))));
            v.send(1, |v| v.dy.mul(&v.x(0).mul(&per_square(v))).neg());
        }
        // Equal ones share; the loser gets nothing.
        Max | Min => {
            for (i, other) in [(0, 1), (1, 0)] {
                v.send(i, |v| {
                    let (a, b) = (&v.x(i), &v.x(other));
                    let loses = if op == Max { a.lt(b) } else { a.gt(b) };
                    let share = a.eq(b).select(&times(v.dy, 0.5), v.dy);
                    loses.select(&share.zeros_like(), &share)
                });
            }
        }
        // Steps, integers and bools.
        IDiv | Eq | Ne | Lt | Le | Gt | Ge | And | Or | Xor | Shl | Shr => {}
    }
}

pub(super) fn where_vjp(v: &mut Vjp<'_>) {
    v.send(1, |v| v.x(0).select(v.dy, &v.dy.zeros_like()));
    v.send(2, |v| v.x(0).select(&v.dy.zeros_like(), v.dy));
}
