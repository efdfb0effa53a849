//! Which prologues decode 8-bit floats, so that a library that multiplies these can be asked with the codes as they lie.
//!
//! In: an operand's prologue. Out: the dtype of its codes, and the factor that is the same for all of them.
//! Always: by what the map does, not by how it is written: it is run on all 256 codes, and gives the numbers of an 8-bit float times one factor.
//! Never: a guess. A map that reads the codes in another order, or anything but them and one factor, is none.

use super::super::{ProgramArg, region};
use unigrad_ir::{
    Target,
    interpret::{Argument, Span, run},
};
use unigrad_kernel::{Arg, Index, Inst, InstOp, Region, Value};
use unigrad_scalar::{BinaryOp, DType, Float8, Literal};

/// Codes, and what their numbers are multiplied by.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Codes {
    /// `F8E4M3` or `F8E5M2`.
    pub(super) dtype: DType,
    pub(super) factor: f64,
    /// The argument of the prologue that holds another factor, in `F32`, and which element it is.
    pub(super) scale: Option<(usize, u64)>,
}

/// The prologue as codes, if it decodes some.
pub(super) fn codes(prologue: &Region) -> Option<Codes> {
    let to = prologue.args.last()?;
    let floats = [DType::F32, DType::F16, DType::BF16];
    if prologue.args.first()?.dtype != DType::U8 || !floats.contains(&to.dtype) || prologue.n_parallel != prologue.axes.len() {
        return None;
    }
    let stored = prologue.only_stored()?;
    let scaled = scaled(prologue, stored);
    let value = scaled.map_or(stored, |(value, _)| value);
    let dtype = prologue.insts[value.index()].dtype;
    let table = table(prologue, value, scaled.map(|(_, factor)| factor)).filter(|_| floats.contains(&dtype))?;
    let known = |dtype: DType| {
        let format = Float8::of(dtype)?;
        let factor = f64::from(*table.get(usize::from(format.encode(1.0)))?);
        let same = |(code, got): (u8, &f32)| {
            let want = (f64::from(format.decode(code)) * factor) as f32;
            want == *got || want.is_nan() && got.is_nan()
        };
        (factor.is_finite() && factor != 0.0 && (0..=u8::MAX).zip(&table).all(same)).then_some(factor)
    };
    let (dtype, factor) = DType::STORED.into_iter().find_map(|dtype| Some((dtype, known(dtype)?)))?;
    let scale = match scaled {
        None => None,
        Some((_, factor)) => {
            let InstOp::Load { arg, index, .. } = &prologue.insts[factor.index()].op else { return None };
            Some((*arg as usize, u64::try_from(index.offset).ok()?))
        }
    };
    Some(Codes { dtype, factor, scale })
}

/// A value that is multiplied by one number that lies in memory, last of all but a rounding: what is multiplied, and the number.
fn scaled(prologue: &Region, stored: Value) -> Option<(Value, Value)> {
    let at = |value: Value| &prologue.insts[value.index()];
    let mut last = at(stored);
    if let InstOp::Cast(from) = &last.op
        && at(*from).dtype == DType::F32
    {
        last = at(*from);
    }
    let InstOp::Binary(BinaryOp::Mul, x, y) = &last.op else { return None };
    let is_factor = |value: &Value| {
        let InstOp::Load { arg, index, mask: None } = &at(*value).op else { return false };
        let still = index.dynamic.is_empty() && index.strides.iter().zip(&prologue.axes).all(|(stride, size)| *stride == 0 || *size == 1);
        still && *arg > 0 && prologue.args[*arg as usize].dtype == DType::F32
    };
    match (is_factor(x), is_factor(y)) {
        (false, true) => Some((*x, *y)),
        (true, false) => Some((*y, *x)),
        _ => None,
    }
}

/// What the map makes of each code; `without` is left out.
fn table(prologue: &Region, value: Value, without: Option<Value>) -> Option<Vec<f32>> {
    let store = prologue.insts.iter().find_map(|inst| if let InstOp::Store { index, .. } = &inst.op { Some(index) } else { None })?;
    let line = || Index { offset: 0, strides: [1].into_iter().collect(), dynamic: Default::default() };
    // What comes after the value cannot change it.
    let mut insts: Vec<Inst> = prologue.insts[..=value.index()].to_vec();
    for (at, inst) in insts.iter_mut().enumerate() {
        let is_left_out = without.is_some_and(|without| without.index() == at);
        match &mut inst.op {
            // A number that would show, were it read by anything but the product that is left out.
            InstOp::Load { .. } if is_left_out => inst.op = InstOp::Const(Literal::float(DType::F32, f64::NAN)),
            InstOp::Load { arg: 0, index, mask: None } if index == store => *index = line(),
            InstOp::Load { .. } => return None,
            InstOp::Const(_) | InstOp::Unary(..) | InstOp::Binary(..) | InstOp::Where(..) | InstOp::Cast(_) | InstOp::Bitcast(_) => {}
            InstOp::Scalar(_) | InstOp::AxisIndex(_) | InstOp::Acc | InstOp::Bounded { .. } | InstOp::Philox { .. } => return None,
            InstOp::Reduce(..) | InstOp::ArgReduce(..) | InstOp::Store { .. } => return None,
        }
    }
    insts.push(Inst { op: InstOp::Store { arg: 1, index: line(), value }, dtype: DType::F32 });
    let arg = |dtype, write| Arg { dtype, len: 256, write };
    let map = Region {
        name: "codes".into(),
        axes: [256].into_iter().collect(),
        n_parallel: 1,
        args: vec![arg(DType::U8, false), arg(DType::F32, true)],
        scalars: Vec::new(),
        insts,
    };
    let target = Target::interpreter();
    let mut memory: Vec<Vec<u8>> = vec![(0..=u8::MAX).collect(), vec![0; 256 * 4]];
    for step in region::region(&map, &target).ok()?.steps {
        let bound = |arg: &ProgramArg| match arg {
            ProgramArg::Arg(at) => Some(Argument::Buffer(Span { allocation: *at, offset: 0, len: memory.get(*at)?.len() })),
            ProgramArg::Word(word) => Some(Argument::Scalar(*word)),
            ProgramArg::Scratch(_) | ProgramArg::Status | ProgramArg::StatusSlot | ProgramArg::Scalar(..) | ProgramArg::Block(_) => None,
            ProgramArg::Table(_) | ProgramArg::ScalarTable(_) | ProgramArg::WordTable(_) => None,
        };
        let arguments: Vec<Argument> = step.args.iter().map(bound).collect::<Option<_>>()?;
        run(&step.program, &target, step.grid, &mut memory, &arguments).ok()?;
    }
    Some(memory[1].chunks_exact(4).map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])).collect())
}
