//! An epilogue in a library's words: what of the form `activation(scale * sum + residual + bias)` it is, or times the slope of GELU somewhere else.
//!
//! In: a contraction with an epilogue, its roles. Out: the words, and which of the kernel's arguments they are about.
//! Always: what the epilogue rounds, the library rounds: a value is narrowed when it is stored, and nowhere before.
//! Never: a guess. An instruction, an index or a dtype that there is no word for, and there is none.

use super::super::ProgramArg;
use super::library::matrix;
use super::problem::{Dims, Problem};
use crate::{Activation, Inside, Matrix};
use unigrad_kernel::{Contract, Index, InstOp, Region, Value};
use unigrad_scalar::{BinaryOp, DType, UnaryOp};

/// A factor of the product.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Factor {
    One,
    Number(f64),
    /// The kernel's scalar at this position.
    Scalar(usize, DType),
}

/// An epilogue that a library can do, and where its memory is.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Words {
    pub(super) inside: Inside,
    pub(super) c: Matrix,
    pub(super) scale: Factor,
    pub(super) places: Places,
}

/// Which arguments of the kernel the words are about.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Places {
    pub(super) c: ProgramArg,
    pub(super) residual: Option<ProgramArg>,
    pub(super) bias: Option<ProgramArg>,
    pub(super) before: Option<ProgramArg>,
}

/// What has been done with the sums so far.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Sum<'a> {
    pub(super) scale: Factor,
    /// What is added to it, in order.
    pub(super) added: [Option<Added<'a>>; 2],
    pub(super) activation: Activation,
    /// Where [`Activation::GeluTanhSlope`] has its argument.
    pub(super) slope_at: Option<Added<'a>>,
    /// The dtype that an instruction has rounded it to.
    rounded: Option<DType>,
}

/// An argument of the epilogue, and where it is read.
pub(super) type Added<'a> = (u32, &'a Index);

/// What is stored, in which argument of the epilogue, and where.
pub(super) type Stored<'a> = (Sum<'a>, u32, &'a Index);

#[derive(Clone, Copy)]
enum Form<'a> {
    Sum(Sum<'a>),
    Loaded(u32, &'a Index),
    Factor(Factor),
    /// What is made of loads and numbers alone.
    Made,
}

/// How one index runs over a matrix.
struct View {
    offset: i64,
    batch: Dims,
    rows: Dims,
    cols: Dims,
}

/// The epilogue's words, for matrices of `[batch, m, n]`, rows and columns as in `p`.
pub(super) fn words(contract: &Contract, p: &Problem, [batch, m, n]: [u32; 3]) -> Option<Words> {
    let region = contract.epilogue.as_deref()?;
    let (before, (sum, arg, index)) = stored(region, p.compute)?;
    let dtype = region.args[arg as usize].dtype;
    let takes = |dtype: DType| dtype == p.a.dtype || dtype == p.compute;
    let view = |index: &Index| View::new(contract, p, index);
    let whole = |arg: u32, index: &Index| {
        let (view, arg) = (view(index)?, region.args[arg as usize]);
        let made = matrix(arg.dtype, view.offset, [(m, &view.rows), (n, &view.cols)], (batch, &view.batch))?;
        (!made.transposed && arg.dtype == dtype && (batch == 1 || made.batch_stride > 0)).then_some(made)
    };
    let c = whole(arg, index).filter(|_| takes(dtype))?;
    let mut inside = Inside { scaled: sum.scale != Factor::One, activation: sum.activation, ..Inside::default() };
    let place = |arg: u32| ProgramArg::Arg(2 + arg as usize);
    let mut places = Places { c: place(arg), residual: None, bias: None, before: None };
    let (mut residual, mut bias) = (None, None);
    for added in sum.added.into_iter().flatten() {
        // Which of the two it is follows from how it runs; a number for each row or element of a batch is a matrix without a stride for columns.
        let moves = added.1.strides.iter().filter(|stride| **stride != 0).count();
        if (if moves <= 1 { &mut bias } else { &mut residual }).replace(added).is_some() {
            return None;
        }
    }
    if let Some((arg, index)) = residual {
        inside.residual = Some(whole(arg, index)?);
        places.residual = Some(place(arg));
        // Read where the result is written: only each element by itself.
        if places.residual == Some(places.c.clone()) && inside.residual != Some(c) {
            return None;
        }
    }
    if let Some((arg, index)) = bias {
        let view = view(index)?;
        let along = view.rows.is_still() && view.batch.is_still() && (n == 1 || view.cols.single() == Some(1));
        let offset = u64::try_from(view.offset).ok()?;
        if !along || region.args[arg as usize].dtype != dtype {
            return None;
        }
        inside.bias = Some(offset);
        places.bias = Some(place(arg));
    }
    if let Some((arg, index)) = before.or(sum.slope_at) {
        inside.before = Some(whole(arg, index)?);
        places.before = Some(place(arg));
    }
    places.are_apart(sum.slope_at.is_some()).then_some(Words { inside, c, scale: sum.scale, places })
}

impl Places {
    /// Whether what is written is nothing else that is read or written; of an activation's argument, `is_read` says which it is.
    pub(super) fn are_apart(&self, is_read: bool) -> bool {
        let written = [Some(&self.c), self.before.as_ref().filter(|_| !is_read)];
        let residual = self.residual.as_ref().filter(|residual| *residual != &self.c);
        let read = [self.bias.as_ref(), residual, self.before.as_ref().filter(|_| is_read)];
        written[0] != written[1] && read.iter().flatten().all(|read| !written.contains(&Some(*read)))
    }
}

/// What an epilogue of words stores last, and where it stores the argument of its activation, if it does. It does nothing else.
pub(super) fn stored(region: &Region, compute: DType) -> Option<(Option<Added<'_>>, Stored<'_>)> {
    match stores(region, compute)?[..] {
        [last] => Some((None, last)),
        [(earlier, arg, index), last] => {
            // The library keeps the argument of GELU, as training needs it.
            let sum = last.0;
            let is_argument = sum.activation == Activation::GeluTanh && earlier == (Sum { activation: Activation::None, ..sum });
            is_argument.then_some((Some((arg, index)), last))
        }
        _ => None,
    }
}

/// What is stored, and where, if the region does nothing else.
#[allow(clippy::wildcard_enum_match_arm, reason = "a function without a rule here is like any other")]
fn stores<'a>(region: &'a Region, compute: DType) -> Option<Vec<Stored<'a>>> {
    let mut forms: Vec<Option<Form<'a>>> = Vec::with_capacity(region.insts.len());
    let mut stores = Vec::new();
    let sum_of = |forms: &[Option<Form<'a>>], value: Value| match forms[value.index()] {
        Some(Form::Sum(sum)) => Some(sum),
        _ => None,
    };
    for inst in &region.insts {
        // Half types are computed in `F32`; 64-bit floats only among themselves.
        let computes = inst.dtype.is_float() && inst.dtype.compute() == compute;
        let form = match &inst.op {
            InstOp::Acc => {
                Form::Sum(Sum { scale: Factor::One, added: [None; 2], activation: Activation::None, slope_at: None, rounded: None })
            }
            InstOp::Const(literal) if computes => Form::Factor(Factor::Number(literal.as_f64())),
            InstOp::Scalar(slot) if computes => Form::Factor(Factor::Scalar(*slot as usize, region.scalars[*slot as usize])),
            InstOp::Load { arg, index, mask: None } if computes && index.dynamic.is_empty() => Form::Loaded(*arg, index),
            InstOp::Cast(from) if computes => cast(forms[from.index()]?, inst.dtype, compute)?,
            InstOp::Unary(_, from) if computes && is_made(&forms, &[*from]) => Form::Made,
            InstOp::Binary(op, a, b) if computes && !op.is_comparison() && is_made(&forms, &[*a, *b]) => Form::Made,
            InstOp::Unary(op, from) if computes => {
                let sum = sum_of(&forms, *from).filter(|sum| sum.activation == Activation::None && sum.rounded.is_none())?;
                let activation = match op {
                    UnaryOp::Relu => Activation::Relu,
                    UnaryOp::GeluTanh => Activation::GeluTanh,
                    _ => return None,
                };
                Form::Sum(Sum { activation, ..sum })
            }
            InstOp::Binary(BinaryOp::Mul, a, b)
                if computes && [a, b].iter().any(|value| matches!(forms[value.index()], Some(Form::Made))) =>
            {
                Form::Sum(sloped(region, &forms, Value(forms.len() as u32))?)
            }
            InstOp::Binary(op, a, b) if computes => binary(*op, forms[a.index()]?, forms[b.index()]?)?,
            InstOp::Store { arg, index, value } => {
                let sum = sum_of(&forms, *value).filter(|_| index.dynamic.is_empty())?;
                if sum.rounded.is_some_and(|dtype| dtype != region.args[*arg as usize].dtype) {
                    return None;
                }
                stores.push((Sum { rounded: None, ..sum }, *arg, index));
                // Has no value.
                forms.push(None);
                continue;
            }
            InstOp::Const(_) | InstOp::Scalar(_) | InstOp::Load { .. } | InstOp::Cast(_) | InstOp::Unary(..) | InstOp::Binary(..) => {
                return None;
            }
            InstOp::AxisIndex(_) | InstOp::Where(..) | InstOp::Bitcast(_) | InstOp::Bounded { .. } | InstOp::Philox { .. } => return None,
            InstOp::Reduce(..) | InstOp::ArgReduce(..) => return None,
        };
        forms.push(Some(form));
    }
    Some(stores)
}

/// Whether values are made of loads and numbers.
fn is_made(forms: &[Option<Form<'_>>], values: &[Value]) -> bool {
    values.iter().all(|value| matches!(forms[value.index()], Some(Form::Loaded(..) | Form::Factor(Factor::Number(_)) | Form::Made)))
}

/// The sum that a product with a value that was made is, if that is the slope of GELU at something loaded.
fn sloped<'a>(region: &'a Region, forms: &[Option<Form<'a>>], product: Value) -> Option<Sum<'a>> {
    let [argument, _, sum] = UnaryOp::GeluTanh.slope(false)?.arguments(product, |value| region.definition(value))?[..] else { return None };
    let form = |value: Option<Value>| forms.get(value?.index()).copied().flatten();
    match (form(argument), form(sum)) {
        (Some(Form::Loaded(arg, index)), Some(Form::Sum(sum))) if sum.activation == Activation::None && sum.rounded.is_none() => {
            Some(Sum { activation: Activation::GeluTanhSlope, slope_at: Some((arg, index)), ..sum })
        }
        _ => None,
    }
}

/// A conversion: to the type it is computed in none at all; to a narrower one a rounding, after which only a store may come.
fn cast<'a>(from: Form<'a>, to: DType, compute: DType) -> Option<Form<'a>> {
    match from {
        Form::Sum(sum) if to == compute => Some(Form::Sum(sum)).filter(|_| sum.rounded.is_none()),
        Form::Sum(sum) => Some(Form::Sum(Sum { rounded: Some(to), ..sum })).filter(|_| sum.rounded.is_none()),
        Form::Loaded(arg, index) if to == compute => Some(Form::Loaded(arg, index)),
        Form::Made if to == compute => Some(Form::Made),
        Form::Loaded(..) | Form::Factor(_) | Form::Made => None,
    }
}

fn binary<'a>(op: BinaryOp, a: Form<'a>, b: Form<'a>) -> Option<Form<'a>> {
    let (sum, other) = match (a, b) {
        (Form::Sum(sum), other @ (Form::Loaded(..) | Form::Factor(_))) => (sum, other),
        (other @ (Form::Loaded(..) | Form::Factor(_)), Form::Sum(sum)) => (sum, other),
        _ => return None,
    };
    if sum.activation != Activation::None || sum.rounded.is_some() {
        return None;
    }
    match (op, other) {
        (BinaryOp::Add, Form::Loaded(arg, index)) => {
            let mut added = sum.added;
            *added.iter_mut().find(|place| place.is_none())? = Some((arg, index));
            Some(Form::Sum(Sum { added, ..sum }))
        }
        (BinaryOp::Mul, Form::Factor(scale)) => {
            let first = sum.scale == Factor::One && sum.added == [None; 2];
            first.then_some(Form::Sum(Sum { scale, ..sum }))
        }
        _ => None,
    }
}

impl View {
    fn new(contract: &Contract, p: &Problem, index: &Index) -> Option<View> {
        let mut at = index.strides.iter().copied();
        let mut dims = |sizes: Vec<usize>| -> Option<Dims> {
            let pairs: Option<Vec<(usize, i64)>> = sizes.into_iter().map(|size| Some((size, at.next()?))).collect();
            pairs.map(Dims::new)
        };
        let batch = dims(contract.batch.iter().map(|d| d.size).collect())?;
        let m = dims(contract.m.iter().map(|d| d.size).collect())?;
        let n = dims(contract.n.iter().map(|d| d.size).collect())?;
        let (rows, cols) = if p.swap { (n, m) } else { (m, n) };
        Some(View { offset: index.offset, batch, rows, cols })
    }
}
