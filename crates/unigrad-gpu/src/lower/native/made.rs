//! Loops of stages as statements, between which the threads make elements of an operand: what a prologue makes is put into a stage, not copied.
//!
//! In: a loop's pieces, as C. Out: statements of one program, and those that put vectors of elements into shared memory.
//! Always: a piece's elements lie in the stage where a copy would have put them.

use unigrad_ir::{Dialect, Place, Raw, Value};

/// What a loop is made of, as C.
pub(super) struct Pieces {
    /// Declarations, which the others need.
    pub(super) setup: String,
    /// Of a stage: before the next copies are begun, and after.
    pub(super) before: String,
    pub(super) after: String,
    /// After the last stage.
    pub(super) end: String,
    /// Stages whose copies are under way at once.
    pub(super) ahead: u32,
}

/// A loop as statements: `setup`; then for each of the first `ahead` stages `copy`, the elements, which are put, and `commit`; then for each stage `before`,
/// `copy` and the elements of the stage that is `ahead` of it, if it is there, `commit`, `after`, and the elements are put; then `end`.
pub(in crate::lower) struct Statements {
    pub(in crate::lower) setup: Raw,
    pub(in crate::lower) copy: Raw,
    pub(in crate::lower) commit: Raw,
    pub(in crate::lower) before: Raw,
    pub(in crate::lower) after: Raw,
    pub(in crate::lower) end: Raw,
    pub(in crate::lower) ahead: u32,
}

/// Ends a group of copies.
pub(super) const COMMIT: &str = "asm volatile(\"cp.async.commit_group;\" ::: \"memory\");";

impl Statements {
    /// With the same values and places for each, and preludes.
    pub(super) fn new(pieces: Pieces, preludes: &[String], values: [Value; 5], places: [Place; 4]) -> Statements {
        let raw = |text: String| Raw {
            texts: vec![(Dialect::Cuda, text)],
            preludes: preludes.iter().map(|prelude| (Dialect::Cuda, prelude.clone())).collect(),
            values: values.to_vec(),
            places: places.to_vec(),
        };
        Statements {
            setup: raw(pieces.setup),
            copy: raw("copy();".to_owned()),
            commit: raw(COMMIT.to_owned()),
            before: raw(pieces.before),
            after: raw(pieces.after),
            end: raw(pieces.end),
            ahead: pieces.ahead,
        }
    }
}

/// Where in a stage the pieces of the first `threads` threads are, each of `each` elements in a row: the first one at `each` times the thread's number modulo `across`
/// along the direction in which the operand runs, and at the number divided by `across` along the other; from piece to piece, `step` along that one.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower) struct Spread {
    /// Whether the operand runs along `k` in a stage.
    pub(in crate::lower) k_major: bool,
    /// Lanes of a tile, and lanes that there are.
    pub(in crate::lower) tile: u32,
    pub(in crate::lower) lanes: u64,
    pub(in crate::lower) each: u32,
    pub(in crate::lower) pieces: u32,
    pub(in crate::lower) across: u32,
    pub(in crate::lower) step: u32,
    pub(in crate::lower) threads: u32,
}

/// A statement that puts a thread's pieces, `made`, to the byte `to + made_to` of shared memory, and so many bytes further for each.
pub(super) fn put(to: &str, spread: &Spread, step: u32, made: Place) -> Raw {
    let Spread { each, pieces, .. } = spread;
    let (line, store) = match each {
        // A float.
        1 => ("unsigned", "st.shared.u32 [%0], %1;\" :: \"r\"(at), \"r\"(line)"),
        // Eight halves or four floats.
        _ => (
            "uint4",
            "st.shared.v4.u32 [%0], {{%1, %2, %3, %4}};\" :: \"r\"(at), \"r\"(line.x), \"r\"(line.y), \"r\"(line.z), \"r\"(line.w)",
        ),
    };
    let text = format!(
        "#pragma unroll\nfor (unsigned i = 0; i < {pieces}u; ++i) {{{{\n  const unsigned at = {to} + made_to + i * {step}u;\n  \
         {line} line;\n  memcpy(&line, {{p0}} + i, sizeof(line));\n  asm volatile(\"{store} : \"memory\");\n}}}}"
    );
    Raw { texts: vec![(Dialect::Cuda, text)], preludes: Vec::new(), values: Vec::new(), places: vec![made] }
}
