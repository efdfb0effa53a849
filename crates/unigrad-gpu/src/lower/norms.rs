//! Regions as a library's norms and softmaxes: what each instruction is of their formulas.
//!
//! In: a region with rows. Out: its words, and which of the kernel's arguments they are about; none if an instruction is of no formula.
//! Always: what the region rounds, the library rounds. Never: a guess, or a part of what the region does.

use super::ProgramArg;
use crate::{Activation, Formula, Norm, ROW_AXES, Rows};
use unigrad_kernel::{Index, InstOp, Region, Value};
use unigrad_scalar::{BinaryOp, DType, Literal, ReduceOp, UnaryOp};

/// A region that a library can do as a norm, and the kernel's arguments.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct NormWay {
    pub(crate) norm: Norm,
    pub(crate) places: NormPlaces,
}

/// Where a norm's memory is.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub(crate) struct NormPlaces {
    pub(crate) x: ProgramArg,
    pub(crate) weight: Option<ProgramArg>,
    pub(crate) bias: Option<ProgramArg>,
    pub(crate) y: Option<ProgramArg>,
    pub(crate) normed: Option<ProgramArg>,
    pub(crate) mean: Option<ProgramArg>,
    pub(crate) variance: Option<ProgramArg>,
    pub(crate) root: Option<ProgramArg>,
}

/// An argument, and where it is read or written.
type At<'a> = (u32, &'a Index);

/// What a value is of a formula; `bool` says whether `x` has been centered.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Form<'a> {
    X,
    Number(Literal),
    Loaded(At<'a>),
    Max,
    Shifted,
    Exponential,
    Total,
    Logarithm,
    Sum,
    Mean,
    Centered,
    Square(bool),
    SquareSum(bool),
    Variance(bool),
    Shaken(bool, f64),
    Root(bool, f64),
    Normed(Normed<'a>),
}

/// What has been done with a normalized value so far.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Normed<'a> {
    formula: Formula,
    epsilon: f64,
    rounded: Option<DType>,
    weight: Option<At<'a>>,
    bias: Option<At<'a>>,
    activation: Activation,
    /// The dtype that it has been rounded to, with nothing after that.
    last: Option<DType>,
}

impl<'a> Normed<'a> {
    fn begin(formula: Formula, epsilon: f64) -> Form<'a> {
        let activation = Activation::None;
        Form::Normed(Normed { formula, epsilon, rounded: None, weight: None, bias: None, activation, last: None })
    }

    fn is_plain(&self) -> bool {
        self.weight.is_none() && self.bias.is_none() && self.activation == Activation::None
    }

    /// With what comes next; a rounding is said before the weight and after everything.
    fn goes_on(self) -> Option<Normed<'a>> {
        match self.last {
            None => Some(self),
            Some(dtype) if self.is_plain() && self.rounded.is_none() => Some(Normed { rounded: Some(dtype), last: None, ..self }),
            Some(_) => None,
        }
    }
}

fn is_known(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F64 | DType::F16 | DType::BF16)
}

/// The region in words, if there are some for all that it does.
pub(crate) fn norm(region: &Region) -> Option<NormWay> {
    let n_rows = region.n_parallel;
    let n_columns = region.axes.len() - n_rows;
    if n_columns == 0 || n_rows > ROW_AXES || n_columns > ROW_AXES || !region.scalars.is_empty() {
        return None;
    }
    let sizes = |axes: &[usize]| -> Option<[u32; ROW_AXES]> {
        let mut sizes = [1; ROW_AXES];
        for (size, axis) in sizes.iter_mut().zip(axes) {
            *size = u32::try_from(*axis).ok().filter(|size| (1..1 << 31).contains(size))?;
        }
        Some(sizes)
    };
    let (rows, columns) = (sizes(&region.axes[..n_rows])?, sizes(&region.axes[n_rows..])?);
    let x = argument(region)?;
    let dtype = region.args[x.0 as usize].dtype;
    let reader = Reader { region, x, compute: dtype.compute() };
    let mut forms: Vec<Option<Form<'_>>> = Vec::with_capacity(region.insts.len());
    let mut stores: Vec<(Form<'_>, At<'_>)> = Vec::new();
    for inst in &region.insts {
        if let InstOp::Store { arg, index, value } = &inst.op {
            let form = reader.stored(forms[value.index()]?, *arg)?;
            stores.push((form, (*arg, index)));
            forms.push(None);
        } else {
            forms.push(Some(reader.form(&inst.op, inst.dtype, &forms)?));
        }
    }
    let lie = |(arg, index): At<'_>| -> Option<Rows> {
        let number = |number: &i64| u64::try_from(*number).ok();
        let along = |strides: &[i64]| -> Option<[u64; ROW_AXES]> {
            let mut along = [0; ROW_AXES];
            for (along, stride) in along.iter_mut().zip(strides) {
                *along = number(stride)?;
            }
            Some(along)
        };
        let dtype = Some(region.args[arg as usize].dtype).filter(|dtype| is_known(*dtype) && index.dynamic.is_empty())?;
        Some(Rows {
            dtype,
            offset: number(&index.offset)?,
            rows: along(&index.strides[..n_rows])?,
            columns: along(&index.strides[n_rows..])?,
        })
    };
    // The result is what most has been done with.
    let mut last: Option<(Normed<'_>, At<'_>)> = None;
    let mut norm = Norm {
        formula: Formula::Statistics,
        epsilon: 0.0,
        rows,
        columns,
        x: lie(x)?,
        weight: None,
        bias: None,
        activation: Activation::None,
        rounded: None,
        y: None,
        normed: None,
        mean: None,
        variance: None,
        root: None,
        compute: dtype.compute(),
    };
    let place = |at: At<'_>| ProgramArg::Arg(at.0 as usize);
    let mut places = NormPlaces { x: place(x), weight: None, bias: None, y: None, normed: None, mean: None, variance: None, root: None };
    let mut plain: Option<(Normed<'_>, At<'_>)> = None;
    for (form, at) in &stores {
        let Form::Normed(normed) = form else { continue };
        if normed.is_plain() && normed.rounded.is_none() && plain.is_none() {
            plain = Some((*normed, *at));
        } else if last.is_none() {
            last = Some((*normed, *at));
        }
    }
    if last.is_none() {
        last = plain.take();
    }
    if let Some((normed, at)) = last {
        (norm.formula, norm.epsilon, norm.activation, norm.rounded) = (normed.formula, normed.epsilon, normed.activation, normed.rounded);
        (norm.y, places.y) = (Some(lie(at)?), Some(place(at)));
        if let Some(weight) = normed.weight {
            (norm.weight, places.weight) = (Some(lie(weight)?), Some(place(weight)));
        }
        if let Some(bias) = normed.bias {
            (norm.bias, places.bias) = (Some(lie(bias)?), Some(place(bias)));
        }
    }
    if let Some((_, at)) = plain {
        (norm.normed, places.normed) = (Some(lie(at)?), Some(place(at)));
    }
    let mut said = usize::from(norm.y.is_some()) + usize::from(norm.normed.is_some());
    for (form, at) in &stores {
        let is_own = |centered: bool| centered == (norm.formula != Formula::Rms);
        let (to, where_to) = if *form == Form::Mean {
            (&mut norm.mean, &mut places.mean)
        } else if let Form::Variance(centered) = form
            && is_own(*centered)
        {
            (&mut norm.variance, &mut places.variance)
        } else if let Form::Root(centered, epsilon) = form
            && is_own(*centered)
            && *epsilon == norm.epsilon
        {
            (&mut norm.root, &mut places.root)
        } else {
            // Another result of the formula, or one that there is no word for: it is not counted.
            continue;
        };
        if to.is_some() {
            return None;
        }
        (*to, *where_to) = (Some(lie(*at)?), Some(place(*at)));
        said += 1;
    }
    let softmax = matches!(norm.formula, Formula::Softmax | Formula::LogSoftmax) && (norm.variance.is_some() || norm.root.is_some());
    let whole = said == stores.len() && said > 0 && !softmax && distinct(region, &stores);
    // What is written is read as the argument alone.
    let read = [&last.and_then(|(normed, _)| normed.weight), &last.and_then(|(normed, _)| normed.bias)];
    let apart = read.into_iter().flatten().all(|(arg, _)| !region.args[*arg as usize].write);
    // The plain value is of the same formula as the result.
    let same = match (&last, &plain) {
        (Some((last, _)), Some((plain, _))) => last.formula == plain.formula && last.epsilon == plain.epsilon,
        _ => true,
    };
    (whole && same && apart).then_some(NormWay { norm, places })
}

/// Whether each store goes to a buffer of its own, which nothing but the argument's element is read from.
fn distinct(region: &Region, stores: &[(Form<'_>, At<'_>)]) -> bool {
    let once = |at: u32| stores.iter().filter(|(_, (arg, _))| *arg == at).count() == 1;
    stores.iter().all(|(_, (arg, _))| once(*arg)) && region.args.iter().filter(|arg| arg.write).count() == stores.len()
}

/// The element that the first reduction is about.
fn argument(region: &Region) -> Option<At<'_>> {
    let is_reduced = |inst: &unigrad_kernel::Inst| if let InstOp::Reduce(_, value) = &inst.op { Some(*value) } else { None };
    let mut value = region.insts.iter().find_map(is_reduced)?;
    for _ in 0..region.insts.len() {
        let inst = &region.insts[value.index()];
        if let InstOp::Load { arg, index, mask: None } = &inst.op {
            let is_read = index.dynamic.is_empty() && is_known(region.args[*arg as usize].dtype);
            return is_read.then_some((*arg, index));
        }
        value = match &inst.op {
            InstOp::Cast(from) => *from,
            InstOp::Binary(BinaryOp::Mul, a, b) if a == b => *a,
            InstOp::Binary(..) | InstOp::Unary(..) | InstOp::Load { .. } | InstOp::Const(_) | InstOp::Scalar(_) => return None,
            InstOp::AxisIndex(_) | InstOp::Acc | InstOp::Where(..) | InstOp::Bitcast(_) | InstOp::Bounded { .. } => return None,
            InstOp::Philox { .. } | InstOp::Reduce(..) | InstOp::ArgReduce(..) | InstOp::Store { .. } => return None,
        };
    }
    None
}

/// What instructions are of formulas over the argument `x`.
struct Reader<'a> {
    region: &'a Region,
    x: At<'a>,
    compute: DType,
}

impl<'a> Reader<'a> {
    fn form(&self, op: &'a InstOp, dtype: DType, forms: &[Option<Form<'a>>]) -> Option<Form<'a>> {
        let of = |value: &Value| forms[value.index()];
        // Half types are computed in `F32`; 64-bit floats only among themselves.
        if !dtype.is_float() || dtype.compute() != self.compute {
            return None;
        }
        match op {
            InstOp::Const(literal) => Some(Form::Number(*literal)),
            InstOp::Load { arg, index, mask: None } if index.dynamic.is_empty() => {
                let is_x = *arg == self.x.0 && index == self.x.1;
                Some(if is_x { Form::X } else { Form::Loaded((*arg, index)) })
            }
            InstOp::Cast(from) => self.cast(of(from)?, dtype),
            InstOp::Unary(op, from) => unary(*op, of(from)?),
            InstOp::Binary(op, a, b) => self.binary(*op, of(a)?, of(b)?, a == b),
            InstOp::Reduce(op, from) => match (op, of(from)?) {
                (ReduceOp::Max, Form::X) => Some(Form::Max),
                (ReduceOp::Sum, Form::X) => Some(Form::Sum),
                (ReduceOp::Sum, Form::Exponential) => Some(Form::Total),
                (ReduceOp::Sum, Form::Square(centered)) => Some(Form::SquareSum(centered)),
                (ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Max | ReduceOp::Min, _) => None,
            },
            InstOp::Load { .. } | InstOp::Scalar(_) | InstOp::AxisIndex(_) | InstOp::Acc | InstOp::Where(..) => None,
            InstOp::Bitcast(_) | InstOp::Bounded { .. } | InstOp::Philox { .. } | InstOp::ArgReduce(..) | InstOp::Store { .. } => None,
        }
    }

    /// A conversion: to the dtype it is computed in none at all; to a narrower one a rounding.
    fn cast(&self, from: Form<'a>, to: DType) -> Option<Form<'a>> {
        if to == self.compute {
            return Some(from);
        }
        let Form::Normed(normed) = from else { return None };
        // Twice to one dtype is once.
        Some(Form::Normed(Normed { last: Some(to), ..normed })).filter(|_| normed.last.is_none_or(|last| last == to))
    }

    fn binary(&self, op: BinaryOp, a: Form<'a>, b: Form<'a>, same: bool) -> Option<Form<'a>> {
        // What commutes has its number, or what is loaded, second.
        let commutes = matches!(op, BinaryOp::Add | BinaryOp::Mul);
        let (a, b) = match (commutes, &a) {
            (true, Form::Number(_) | Form::Loaded(_) | Form::Root(..)) => (b, a),
            _ => (a, b),
        };
        match (op, a, b) {
            (BinaryOp::Sub, Form::X, Form::Max) => Some(Form::Shifted),
            (BinaryOp::Sub, Form::Shifted, Form::Logarithm) => Some(Normed::begin(Formula::LogSoftmax, 0.0)),
            (BinaryOp::Div, Form::Exponential, Form::Total) => Some(Normed::begin(Formula::Softmax, 0.0)),
            (BinaryOp::Mul, Form::Sum, Form::Number(factor)) if self.is_mean(factor, true) => Some(Form::Mean),
            (BinaryOp::Div, Form::Sum, Form::Number(factor)) if self.is_mean(factor, false) => Some(Form::Mean),
            (BinaryOp::Mul, Form::SquareSum(centered), Form::Number(factor)) if self.is_mean(factor, true) => {
                Some(Form::Variance(centered))
            }
            (BinaryOp::Div, Form::SquareSum(centered), Form::Number(factor)) if self.is_mean(factor, false) => {
                Some(Form::Variance(centered))
            }
            (BinaryOp::Sub, Form::X, Form::Mean) => Some(Form::Centered),
            (BinaryOp::Mul, Form::Centered, Form::Centered) if same => Some(Form::Square(true)),
            (BinaryOp::Mul, Form::X, Form::X) if same => Some(Form::Square(false)),
            (BinaryOp::Add, Form::Variance(centered), Form::Number(epsilon)) => Some(Form::Shaken(centered, epsilon.as_f64())),
            (BinaryOp::Mul, Form::Centered, Form::Root(true, epsilon)) => Some(Normed::begin(Formula::Layer, epsilon)),
            (BinaryOp::Mul, Form::X, Form::Root(false, epsilon)) => Some(Normed::begin(Formula::Rms, epsilon)),
            (BinaryOp::Mul, Form::Normed(normed), Form::Loaded(at)) => {
                let normed = normed.goes_on().filter(Normed::is_plain)?;
                Some(Form::Normed(Normed { weight: Some(at), ..normed }))
            }
            (BinaryOp::Add, Form::Normed(normed), Form::Loaded(at)) => {
                let normed = normed.goes_on().filter(|normed| normed.bias.is_none() && normed.activation == Activation::None)?;
                Some(Form::Normed(Normed { bias: Some(at), ..normed }))
            }
            _ => None,
        }
    }

    /// Whether a sum times a number, or divided by it, is a row's mean.
    fn is_mean(&self, number: Literal, is_factor: bool) -> bool {
        let len = self.region.row_len() as f64;
        number == Literal::float(number.dtype(), if is_factor { 1.0 / len } else { len })
    }

    /// What a store writes, if that is a result that there is a word for.
    fn stored(&self, form: Form<'a>, arg: u32) -> Option<Form<'a>> {
        match form {
            Form::Normed(normed) => {
                let right = normed.last.is_none_or(|last| last == self.region.args[arg as usize].dtype);
                right.then_some(Form::Normed(Normed { last: None, ..normed }))
            }
            Form::Mean | Form::Variance(_) | Form::Root(..) => Some(form),
            Form::X | Form::Number(_) | Form::Loaded(_) | Form::Max | Form::Shifted | Form::Exponential | Form::Total => None,
            Form::Logarithm | Form::Sum | Form::Centered | Form::Square(_) | Form::SquareSum(_) | Form::Shaken(..) => None,
        }
    }
}

#[allow(clippy::wildcard_enum_match_arm, reason = "a function without a rule here is like any other")]
fn unary(op: UnaryOp, from: Form<'_>) -> Option<Form<'_>> {
    let activation = match (op, from) {
        (UnaryOp::Exp, Form::Shifted) => return Some(Form::Exponential),
        (UnaryOp::Log, Form::Total) => return Some(Form::Logarithm),
        (UnaryOp::Rsqrt, Form::Variance(centered)) => return Some(Form::Root(centered, 0.0)),
        (UnaryOp::Rsqrt, Form::Shaken(centered, epsilon)) => return Some(Form::Root(centered, epsilon)),
        (UnaryOp::Relu, Form::Normed(_)) => Activation::Relu,
        (UnaryOp::GeluTanh, Form::Normed(_)) => Activation::GeluTanh,
        _ => return None,
    };
    let Form::Normed(normed) = from else { return None };
    // To round before `max(x, 0)` or after it is one.
    let normed = if activation == Activation::Relu { Some(normed) } else { normed.goes_on() };
    let normed = normed.filter(|normed| normed.activation == Activation::None)?;
    Some(Form::Normed(Normed { activation, ..normed }))
}
