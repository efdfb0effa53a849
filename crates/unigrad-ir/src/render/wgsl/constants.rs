//! Integers that are known when the text is written: constants, counters of loops that are written out, and what follows from them.
//!
//! They are for arrays of the thread: where every index is known, the elements become variables, which every compiler keeps in registers.
//! An array that is indexed by `i * 8 + 3` in a loop that was written out is, to some, memory.

use super::{Options, unroll};
use crate::{Block, Op, Place, Program, Stmt, Type, Value};
use std::collections::HashMap;
use unigrad_scalar::BinaryOp;

/// Elements of an array that becomes variables, at most.
const MOST: u32 = 256;

/// The known integers, as far as the text is written.
#[derive(Debug, Default)]
pub(super) struct Known(HashMap<Value, i64>);

impl Known {
    pub(super) fn get(&self, value: Value) -> Option<i64> {
        self.0.get(&value).copied()
    }

    pub(super) fn set(&mut self, value: Value, number: i64) {
        self.0.insert(value, number);
    }

    /// At the definition of a value: whether it is known now.
    pub(super) fn learn(&mut self, program: &Program, value: Value) {
        match self.number(program, value) {
            Some(number) => self.0.insert(value, number),
            None => self.0.remove(&value),
        };
    }

    fn number(&self, program: &Program, value: Value) -> Option<i64> {
        let inst = &program.insts[value.index()];
        let Type::Scalar(dtype) = inst.ty else { return None };
        if !dtype.is_int() {
            return None;
        }
        let number = match &inst.op {
            Op::Const(literal) => literal.as_i64(),
            Op::Cast(a) => self.get(*a)?,
            Op::Binary(BinaryOp::Add, a, b) => self.get(*a)?.checked_add(self.get(*b)?)?,
            Op::Binary(BinaryOp::Sub, a, b) => self.get(*a)?.checked_sub(self.get(*b)?)?,
            Op::Binary(BinaryOp::Mul, a, b) => self.get(*a)?.checked_mul(self.get(*b)?)?,
            Op::Scalar(_)
            | Op::TableScalar(..)
            | Op::Thread(_)
            | Op::Group(_)
            | Op::GroupCount(_)
            | Op::Lane
            | Op::Counter
            | Op::Unary(..)
            | Op::ApproxExp2(_)
            | Op::Binary(..)
            | Op::Fma(..)
            | Op::MulHi(..)
            | Op::Select(..)
            | Op::Bitcast(_)
            | Op::Load(..)
            | Op::Compose(_)
            | Op::Extract(..)
            | Op::Atomic(..)
            | Op::CompareExchange(..)
            | Op::Subgroup(..)
            | Op::FragmentFill(_)
            | Op::FragmentLoad { .. }
            | Op::FragmentMma(..)
            | Op::Raw(_) => return None,
        };
        // All integers of 32 bits hold these, so nothing has wrapped; the narrow ones are no indices.
        (dtype.size() >= 4 && (0..i64::from(i32::MAX)).contains(&number)).then_some(number)
    }
}

/// Per local array, whether its elements become variables.
pub(super) fn split(program: &Program, options: Options) -> Vec<bool> {
    let mut walk = Walk {
        program,
        options,
        known: Known::default(),
        split: program.locals.iter().map(|array| (2..=MOST).contains(&array.len) && !matches!(array.ty, Type::Fragment(_))).collect(),
    };
    if walk.split.contains(&true) {
        walk.block(&program.body);
    }
    walk.split
}

struct Walk<'a> {
    program: &'a Program,
    options: Options,
    known: Known,
    split: Vec<bool>,
}

impl Walk<'_> {
    /// An access to one element, or to something that must stay an array.
    fn visit(&mut self, place: Place, element: Option<(Value, Type)>) {
        let Place::Local(at) = place else { return };
        let Some(array) = self.program.locals.get(at as usize) else { return };
        let is_one = element.is_some_and(|(index, ty)| {
            ty == array.ty && self.known.get(index).is_some_and(|index| (0..i64::from(array.len)).contains(&index))
        });
        if !is_one && let Some(split) = self.split.get_mut(at as usize) {
            *split = false;
        }
    }

    fn block(&mut self, block: &Block) {
        for stmt in block {
            match stmt {
                Stmt::Let(value) => {
                    self.known.learn(self.program, *value);
                    let inst = &self.program.insts[value.index()];
                    match &inst.op {
                        Op::Load(place, index) => self.visit(*place, Some((*index, inst.ty))),
                        Op::Atomic(_, place, ..) | Op::CompareExchange(place, ..) | Op::FragmentLoad { place, .. } => {
                            self.visit(*place, None)
                        }
                        Op::Raw(raw) => raw.places.iter().for_each(|place| self.visit(*place, None)),
                        Op::Const(_)
                        | Op::Scalar(_)
                        | Op::TableScalar(..)
                        | Op::Thread(_)
                        | Op::Group(_)
                        | Op::GroupCount(_)
                        | Op::Lane
                        | Op::Counter
                        | Op::Unary(..)
                        | Op::ApproxExp2(_)
                        | Op::Binary(..)
                        | Op::Fma(..)
                        | Op::MulHi(..)
                        | Op::Select(..)
                        | Op::Cast(_)
                        | Op::Bitcast(_)
                        | Op::Compose(_)
                        | Op::Extract(..)
                        | Op::Subgroup(..)
                        | Op::FragmentFill(_)
                        | Op::FragmentMma(..) => {}
                    }
                }
                Stmt::Store { place, index, value } => self.visit(*place, Some((*index, self.program.ty(*value)))),
                Stmt::FragmentStore { place, .. } => self.visit(*place, None),
                Stmt::Raw(raw) => raw.places.iter().for_each(|place| self.visit(*place, None)),
                Stmt::If { then, otherwise, .. } => [then, otherwise].into_iter().for_each(|block| self.block(block)),
                Stmt::While { check, body, .. } => [check, body].into_iter().for_each(|block| self.block(block)),
                Stmt::For { counter, body, .. } => match unroll::steps(self.program, self.options, stmt) {
                    Some(steps) => {
                        for step in steps {
                            self.known.set(*counter, step.as_i64());
                            self.block(body);
                        }
                    }
                    None => self.block(body),
                },
                Stmt::Barrier => {}
            }
        }
    }
}
