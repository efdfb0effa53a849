//! Which loops are written out, so that arrays of the thread are indexed by constants and stay in registers: WGSL has no word for it.

use super::Options;
use crate::{Block, Op, Program, Stmt, Type, Value};
use unigrad_scalar::Literal;

/// Statements that one loop may become.
const LIMIT: usize = 1024;
/// The same where the compiler does it by itself ([`Options::unrolls`]).
const FEW: usize = 64;

/// The counter's values, if the loop is to be written out.
pub(super) fn steps(program: &Program, options: Options, stmt: &Stmt) -> Option<Vec<Literal>> {
    let Stmt::For { counter, start, end, step, unroll: true, body } = stmt else { return None };
    let dtype = program.ty(*counter).dtype();
    let (start, end, step) = (constant(program, *start)?, constant(program, *end)?, constant(program, *step)?);
    let limit = if options.unrolls && !holds_fragments(program, body) { FEW } else { LIMIT };
    if step <= 0 || trips(start, end, step).saturating_mul(size(program, body)) > limit {
        return None;
    }
    Some((0..).map(|i| start + i * step).take_while(|at| *at < end).map(|at| Literal::int(dtype, at)).collect())
}

/// Whether a block works on fragments: arrays of them have no indices but constants.
fn holds_fragments(program: &Program, block: &Block) -> bool {
    let is_fragment = |value: Value| matches!(program.ty(value), Type::Fragment(_));
    block.iter().any(|stmt| match stmt {
        Stmt::Let(value) | Stmt::Store { value, .. } => is_fragment(*value),
        Stmt::FragmentStore { .. } => true,
        Stmt::If { then, otherwise, .. } => holds_fragments(program, then) || holds_fragments(program, otherwise),
        Stmt::While { check, body, .. } => holds_fragments(program, check) || holds_fragments(program, body),
        Stmt::For { body, .. } => holds_fragments(program, body),
        Stmt::Barrier | Stmt::Raw(_) => false,
    })
}

fn constant(program: &Program, value: Value) -> Option<i64> {
    if let Op::Const(literal) = program.insts[value.index()].op { Some(literal.as_i64()) } else { None }
}

fn trips(start: i64, end: i64, step: i64) -> usize {
    if end <= start { 0 } else { (end - start).div_euclid(step).saturating_add(1).try_into().unwrap_or(usize::MAX / LIMIT / 2) }
}

/// Statements of a block, with what is written out in it.
fn size(program: &Program, block: &Block) -> usize {
    let each = block.iter().map(|stmt| match stmt {
        Stmt::If { then, otherwise, .. } => 1 + size(program, then) + size(program, otherwise),
        Stmt::While { check, body, .. } => 1 + size(program, check) + size(program, body),
        Stmt::For { start, end, step, unroll, body, .. } => {
            let inner = size(program, body);
            let bounds = (constant(program, *start), constant(program, *end), constant(program, *step));
            match bounds {
                (Some(start), Some(end), Some(step)) if *unroll && step > 0 => match trips(start, end, step).saturating_mul(inner) {
                    whole if whole <= LIMIT => whole,
                    _ => 1 + inner,
                },
                _ => 1 + inner,
            }
        }
        Stmt::Let(_) | Stmt::Store { .. } | Stmt::FragmentStore { .. } | Stmt::Barrier | Stmt::Raw(_) => 1,
    });
    each.fold(0, usize::saturating_add)
}
