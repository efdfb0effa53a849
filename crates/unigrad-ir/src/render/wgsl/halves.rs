//! Vectors of half types: they stay in words of two numbers, and their numbers become `f32` and come from it without a word of their own.
//!
//! Always: what is left out as a line of its own (see [`unsaid`]) is said where it is used.

use super::{Writer, v};
use crate::{Op, Program, Stmt, Type, Value, render::each_stmt};
use unigrad_scalar::DType;

pub(super) fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16)
}

/// The vector, its lanes and the lane, of a half that is taken out of a vector.
fn extracted(program: &Program, value: Value) -> Option<(Value, usize, u8)> {
    let Op::Extract(vector, lane) = program.insts[value.index()].op else { return None };
    match program.ty(vector) {
        Type::Vector(dtype, lanes) if is_half(dtype) => Some((vector, lanes.into(), lane)),
        Type::Scalar(_) | Type::Vector(..) | Type::Fragment(_) => None,
    }
}

/// The `f32` that a half comes from; the first one, if it has been rounded to the type before.
fn rounded(program: &Program, half: Value) -> Option<Value> {
    let dtype = program.ty(half).dtype();
    let cast = |value: Value, from: DType| {
        let Op::Cast(source) = program.insts[value.index()].op else { return None };
        (program.ty(source) == Type::Scalar(from)).then_some(source)
    };
    let mut number = is_half(dtype).then(|| cast(half, DType::F32)).flatten()?;
    while let Some(before) = cast(number, dtype).and_then(|half| cast(half, DType::F32)) {
        number = before;
    }
    Some(number)
}

/// Per value, whether it needs no line: a half that only conversions take out of a vector, or that only a vector is composed of.
pub(super) fn unsaid(program: &Program) -> Vec<bool> {
    let n = program.insts.len();
    let (mut uses, mut elsewhere) = (vec![0; n], vec![0; n]);
    for inst in &program.insts {
        inst.op.visit_values(|value| uses[value.index()] += 1);
        if let Op::Cast(half) = &inst.op
            && inst.ty == Type::Scalar(DType::F32)
            && extracted(program, *half).is_some()
        {
            elsewhere[half.index()] += 1;
        }
        if let Op::Compose(values) = &inst.op
            && is_half(inst.ty.dtype())
        {
            for pair in values.chunks(2).filter(|pair| pair.iter().all(|half| rounded(program, *half).is_some())) {
                pair.iter().for_each(|half| elsewhere[half.index()] += 1);
            }
        }
    }
    each_stmt(&program.body, &mut |stmt| {
        let mut used = |value: &Value| uses[value.index()] += 1;
        match stmt {
            Stmt::Store { index, value, .. } => [index, value].into_iter().for_each(used),
            Stmt::FragmentStore { index, stride, value, .. } => [index, stride, value].into_iter().for_each(used),
            Stmt::If { condition, .. } | Stmt::While { condition, .. } => used(condition),
            Stmt::For { start, end, step, .. } => [start, end, step].into_iter().for_each(used),
            Stmt::Raw(raw) => raw.values.iter().for_each(used),
            Stmt::Let(_) | Stmt::Barrier => {}
        }
    });
    uses.iter().zip(&elsewhere).map(|(uses, elsewhere)| *uses > 0 && uses == elsewhere).collect()
}

/// Word `k` of a vector of halves with this name.
pub(super) fn word(vector: &str, lanes: usize, k: usize) -> String {
    if lanes == 2 { vector.to_owned() } else { format!("{vector}[{k}]") }
}

/// One half of a vector with this name, as bits.
pub(super) fn lane(vector: &str, lanes: usize, lane: usize) -> String {
    let word = word(vector, lanes, lane / 2);
    if lane.is_multiple_of(2) { format!("({word} & 0xffffu)") } else { format!("({word} >> 16u)") }
}

/// A vector of these words.
pub(super) fn of_words(words: &[String]) -> String {
    match words {
        [one] => one.clone(),
        words => format!("vec{}<u32>({})", words.len(), words.join(", ")),
    }
}

/// A vector of these halves.
pub(super) fn of_lanes(halves: &[String]) -> String {
    let words: Vec<String> = halves.chunks(2).map(|pair| format!("({} | ({} << 16u))", pair[0], pair[pair.len() - 1])).collect();
    of_words(&words)
}

impl Writer<'_> {
    /// An [`Op::Compose`] of halves.
    pub(super) fn compose_halves(&self, dtype: DType, values: &[Value]) -> String {
        let words: Vec<String> = values
            .chunks(2)
            .map(|pair| match pair.iter().map(|half| rounded(self.program, *half)).collect::<Option<Vec<Value>>>().as_deref() {
                Some([low, high]) => format!("{dtype}_pair({}, {})", v(*low), v(*high)),
                _ => of_lanes(&pair.iter().map(|half| v(*half)).collect::<Vec<_>>()),
            })
            .collect();
        of_words(&words)
    }

    /// A half of a vector as `f32`, if that is what is to be cast.
    pub(super) fn extracted_as_f32(&self, half: Value) -> Option<String> {
        let (vector, lanes, lane) = extracted(self.program, half)?;
        let word = word(&v(vector), lanes, usize::from(lane) / 2);
        let high = lane % 2 == 1;
        Some(if self.program.ty(vector).dtype() == DType::F16 {
            format!("unpack2x16float({word}).{}", if high { "y" } else { "x" })
        } else if high {
            format!("bitcast<f32>({word} & 0xffff0000u)")
        } else {
            format!("bitcast<f32>({word} << 16u)")
        })
    }
}
