//! Maps: one result per element, from the elements at the same place.

use crate::{Expr, Op};
use unigrad_scalar::{BinaryOp, DType, Literal, UnaryOp};

impl Expr {
    /// An elementwise op of one argument.
    #[track_caller]
    pub fn unary(&self, op: UnaryOp) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        let dtype = self.dtype();
        let rule = match op {
            UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Sign | UnaryOp::Relu if dtype == DType::Bool => "a number",
            UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Sign | UnaryOp::Relu | UnaryOp::IsNan | UnaryOp::IsFinite => "",
            UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round | UnaryOp::Trunc if dtype.is_int() => return self.clone(),
            UnaryOp::Not if dtype != DType::Bool => "a bool",
            UnaryOp::BitNot if !dtype.is_int() => "an integer",
            UnaryOp::Not | UnaryOp::BitNot => "",
            _ if !dtype.is_float() => "a float",
            _ => "",
        };
        if !rule.is_empty() {
            return Expr::dtype_error(op.name(), format!("wants {rule}, got {dtype}"), &[self]);
        }
        Expr::new(Op::Unary(op), [self.clone()], self.shape().clone(), if op.gives_bool() { DType::Bool } else { dtype })
    }

    /// An elementwise op of two arguments of one shape and dtype.
    #[track_caller]
    pub fn binary(&self, op: BinaryOp, other: &Expr) -> Expr {
        if let Some(invalid) = Expr::check_inputs(op.name(), &[self, other]) {
            return invalid;
        }
        if self.shape() != other.shape() {
            return Expr::shape_error(op.name(), format!("shapes differ: {:?} and {:?}", self.shape(), other.shape()), &[self, other]);
        }
        let dtype = self.dtype();
        if dtype != other.dtype() {
            return Expr::dtype_error(op.name(), format!("dtypes differ: {dtype} and {}", other.dtype()), &[self, other]);
        }
        use BinaryOp::*;
        let rule = match op {
            Add | Sub | Mul | Rem | Pow | IDiv if dtype == DType::Bool => "numbers",
            Div | Atan2 if !dtype.is_float() => "floats",
            And | Or | Xor if dtype.is_float() => "bools or integers",
            Shl | Shr if !dtype.is_int() => "integers",
            _ => "",
        };
        if !rule.is_empty() {
            return Expr::dtype_error(op.name(), format!("wants {rule}, got {dtype}"), &[self, other]);
        }
        let result = if op.is_comparison() { DType::Bool } else { dtype };
        Expr::new(Op::Binary(op), [self.clone(), other.clone()], self.shape().clone(), result)
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
        Expr::new(Op::Where, [self.clone(), yes.clone(), no.clone()], yes.shape().clone(), yes.dtype())
    }

    /// To another dtype; the node itself if it has it already.
    #[track_caller]
    pub fn cast(&self, dtype: DType) -> Expr {
        if self.error().is_some() || self.dtype() == dtype {
            return self.clone();
        }
        if let Op::Const(value) = self.op() {
            return Expr::constant(value.cast(dtype), self.shape(), self.device());
        }
        Expr::new(Op::Cast, [self.clone()], self.shape().clone(), dtype)
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
        Expr::new(Op::Bitcast, [self.clone()], self.shape().clone(), dtype)
    }

    /// An `I64` index checked against `size` when it runs, negative ones counted from the end.
    #[track_caller]
    pub fn bounded(&self, size: usize) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        if self.dtype() != DType::I64 {
            return Expr::dtype_error("index", format!("an index is i64 here, got {}", self.dtype()), &[self]);
        }
        Expr::new(Op::Bounded { size }, [self.clone()], self.shape().clone(), DType::I64)
    }

    /// With a constant of the same dtype.
    #[track_caller]
    pub fn binary_const(&self, op: BinaryOp, value: f64) -> Expr {
        let constant = Expr::constant(Literal::float(self.dtype(), value), self.shape(), self.device());
        self.binary(op, &constant)
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
