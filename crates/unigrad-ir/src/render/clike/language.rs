//! What a C-like dialect differs in: a table of texts over one base.
//!
//! Texts are templates. `{t}` stands for a type, `{n}` for a name, `{p}` for a pointer, `{i}` for a number, `{s}` for an address space with
//! its blank, `{a}` for an axis; a field says which of them it knows. Helper functions use `$name`, see [`super::helpers`].

use super::Writer;
use crate::{AtomicOp, Dialect, Fragment, RenderError, Target, Value};
use unigrad_scalar::DType;

/// Address spaces, each with a blank behind, or empty.
pub(in crate::render) struct Spaces {
    pub(in crate::render) global: &'static str,
    pub(in crate::render) shared: &'static str,
    pub(in crate::render) private: &'static str,
}

/// How vectors are spelled.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::render) enum Vectors {
    /// A struct around `array` (of `{n}` elements `{t}`, named `v`), aligned by `align`; `{i}` bytes.
    Struct { align: &'static str, array: &'static str },
    /// The dialect's own: `float4` with parts `.s0` to `.s7`.
    Native,
}

/// How parameters are declared. All know `{t}`, `{n}` and the parameter's position `{i}`.
pub(in crate::render) struct Params {
    pub(in crate::render) read: &'static str,
    pub(in crate::render) write: &'static str,
    /// Like `write`, without the promise that nothing else points there.
    pub(in crate::render) atomic: &'static str,
    pub(in crate::render) scalar: &'static str,
    /// A statement for each buffer, before everything else; empty where there is nothing to say.
    pub(in crate::render) begin: &'static str,
    pub(in crate::render) tables: Tables,
    /// What stands behind the last one.
    pub(in crate::render) builtin: &'static str,
}

/// How tables of parameters are passed. The texts know `{t}` and `{n}`.
#[derive(Clone, Copy)]
pub(in crate::render) enum Tables {
    /// They are not.
    None,
    /// Each as a struct by value with an array in it, which an index goes into.
    Struct(&'static str),
    /// Each entry by itself, with the pointer to a buffer's first element; see [`super::tables`] for what an index does there.
    Arguments { read: &'static str, write: &'static str, begins: &'static str, number: &'static str },
}

/// How one thread gets another's `u32`: `{v}` the value, `{n}` the distance or lane.
pub(in crate::render) struct Shuffles {
    pub(in crate::render) xor: &'static str,
    pub(in crate::render) down: &'static str,
    pub(in crate::render) up: &'static str,
    pub(in crate::render) index: &'static str,
}

/// How memory is asked for ahead: `line` bytes at once; `text` knows the buffer `{p}`, `{threads}` of a workgroup, `{all}` lines of one, and what
/// [`crate::Prefetch`] has: `{rows}`, `{count}`, `{lines}` of a row, `{line}`, `{pitch}`.
#[derive(Clone, Copy)]
pub(in crate::render) struct PrefetchWords {
    pub(in crate::render) line: u32,
    pub(in crate::render) text: &'static str,
}

/// A statement about the fragment of a value, by its name, and the number to fill it with.
type FillWords = fn(&mut Writer<'_>, (Value, Fragment), &str, &str) -> Result<String, RenderError>;

/// A statement about the fragment of a value, by its name, and memory.
type MoveWords = fn(&mut Writer<'_>, (Value, Fragment), &str, &FragmentMemory) -> Result<String, RenderError>;

/// How matrix fragments are spelled.
pub(in crate::render) struct Fragments {
    /// The name of the type; declares it at first use.
    pub(in crate::render) declare: fn(&mut Writer<'_>, Value, Fragment) -> Result<String, RenderError>,
    /// A statement that fills the fragment of a value, by its name.
    pub(in crate::render) fill: FillWords,
    /// A statement that loads it.
    pub(in crate::render) load: MoveWords,
    /// A statement that stores it.
    pub(in crate::render) store: MoveWords,
    /// A statement: the value, and the names of `d`, `a`, `b` and `c`.
    pub(in crate::render) multiply: fn(&mut Writer<'_>, Value, [&str; 4]) -> Result<String, RenderError>,
}

/// Where a fragment lies in memory.
pub(in crate::render) struct FragmentMemory {
    /// Pointer to its first element.
    pub(in crate::render) pointer: String,
    /// Whether that is in shared memory.
    pub(in crate::render) shared: bool,
    /// Elements from row to row.
    pub(in crate::render) stride: String,
    /// Column by column.
    pub(in crate::render) transposed: bool,
}

/// A dialect.
pub(in crate::render) struct Language {
    pub(in crate::render) dialect: Dialect,
    /// What stands first.
    pub(in crate::render) header: &'static str,
    /// What the compiler must be told.
    pub(in crate::render) options: &'static [&'static str],
    /// What the names `i32`, `f64`, … that the text uses are.
    pub(in crate::render) types: &'static [(DType, &'static str)],
    /// What stands before helper functions.
    pub(in crate::render) function: &'static str,
    /// The entry point up to its parameters: `{n}`, `{i}` threads, `{x}` `{y}` `{z}` threads per axis.
    pub(in crate::render) entry: &'static str,
    pub(in crate::render) params: Params,
    pub(in crate::render) spaces: Spaces,
    /// What a program begins with on a device that launches it before the program ahead of it has ended: it waits for that. Else empty.
    pub(in crate::render) wait: fn(&Target) -> &'static [&'static str],
    /// The function that [`crate::Op::ApproxExp2`] is.
    pub(in crate::render) approx_exp2: &'static str,
    /// Whether the entry's `{i}` may be followed by how many workgroups should fit a compute unit.
    pub(in crate::render) at_once: bool,
    /// What stands in the place of `{c}` in the entry where `{i}` workgroups are there at the same time.
    pub(in crate::render) cluster: &'static str,
    /// The type of tensor maps, and the parameter `{i}` that is one.
    pub(in crate::render) tensor_map: Option<[&'static str; 2]>,
    /// How it asks for memory before it waits, if it can.
    pub(in crate::render) prefetch: Option<PrefetchWords>,
    /// A shared array: `{t}`, `{n}`, `{i}` elements.
    pub(in crate::render) shared: &'static str,
    /// Bytes of shared memory that may be declared so, and the declaration of all of it at once, for more.
    pub(in crate::render) shared_limit: usize,
    pub(in crate::render) shared_dynamic: &'static str,
    pub(in crate::render) vectors: Vectors,
    /// What axes are called; `{a}` in the texts below, which also know the workgroup's extent as `{b}`.
    pub(in crate::render) axes: [&'static str; 3],
    pub(in crate::render) thread: &'static str,
    pub(in crate::render) group: &'static str,
    pub(in crate::render) group_count: &'static str,
    pub(in crate::render) barrier: &'static str,
    pub(in crate::render) unroll: &'static str,
    /// Names of C's mathematical functions for `f32` and `f64`, `{n}` being C's name for `double`.
    pub(in crate::render) math: [&'static str; 2],
    /// The declaration of such a function where the dialect wants one: `{t}`, `{n}`, `{p}` parameters.
    pub(in crate::render) math_declare: &'static str,
    /// Functions with another name: C's name, that for `f32`, that for `f64`.
    pub(in crate::render) natives: &'static [(&'static str, &'static str, &'static str)],
    /// Functions of C that are not there, so that the library's are taken.
    pub(in crate::render) lacks: &'static [&'static str],
    /// Helper functions that differ from the library's.
    pub(in crate::render) helpers: &'static [(&'static str, &'static str)],
    /// The same, where the device decides.
    pub(in crate::render) helpers_for: fn(&Target) -> &'static [(&'static str, &'static str)],
    /// Atomic operations on 32 and on 64 bits: `{s}`, `{t}`, `{p}`, `{v}`. Empty where there is none, `=` where both are the same.
    pub(in crate::render) atomics: &'static [(AtomicOp, &'static str, &'static str)],
    /// Compare and exchange on 32 and on 64 bits, `{e}` being what is expected.
    pub(in crate::render) compare_exchange: [&'static str; 2],
    /// Adding `f32`; empty where a loop of compare and exchange must do.
    pub(in crate::render) atomic_add_f32: &'static str,
    /// What 64-bit atomic operations want in the header.
    pub(in crate::render) atomic_64_header: &'static str,
    /// Reading and writing memory that atomic operations work on; `{s}`, `{t}`, `{p}`, `{v}`.
    pub(in crate::render) atomic_load: &'static str,
    pub(in crate::render) atomic_store: &'static str,
    /// What the type `f64` wants in the header.
    pub(in crate::render) f64_header: &'static str,
    /// What subgroup operations want in the header.
    pub(in crate::render) subgroup_header: &'static str,
    pub(in crate::render) shuffles: Option<Shuffles>,
    pub(in crate::render) fragments: Option<Fragments>,
}

/// The base: standard C's names.
pub(in crate::render) const C_LIKE: Language = Language {
    dialect: Dialect::Ir,
    header: "",
    options: &[],
    types: &[
        (DType::U8, "unsigned char"),
        (DType::I8, "signed char"),
        (DType::U16, "unsigned short"),
        (DType::I16, "short"),
        (DType::U32, "unsigned int"),
        (DType::I32, "int"),
        (DType::U64, "unsigned long long"),
        (DType::I64, "long long"),
        (DType::F32, "float"),
        (DType::F64, "double"),
    ],
    function: "static inline",
    entry: "void {n}",
    params: Params {
        read: "const {t}* {n}",
        write: "{t}* {n}",
        atomic: "{t}* {n}",
        scalar: "const {t} {n}",
        begin: "",
        tables: Tables::Struct("const {t} {n}"),
        builtin: "",
    },
    spaces: Spaces { global: "", shared: "", private: "" },
    shared: "{t} {n}[{i}];",
    shared_limit: usize::MAX,
    shared_dynamic: "",
    vectors: Vectors::Struct { align: "alignas({i})", array: "{t} v[{n}]" },
    axes: ["x", "y", "z"],
    thread: "threadIdx.{a}",
    group: "blockIdx.{a}",
    group_count: "gridDim.{a}",
    barrier: "__syncthreads();",
    unroll: "#pragma unroll",
    math: ["{n}f", "{n}"],
    math_declare: "",
    natives: &[],
    lacks: &[],
    helpers: &[],
    helpers_for: |_| &[],
    wait: |_| &[],
    approx_exp2: "exp2",
    at_once: false,
    cluster: "",
    tensor_map: None,
    prefetch: None,
    atomics: &[],
    compare_exchange: ["", ""],
    atomic_add_f32: "",
    atomic_64_header: "",
    atomic_load: "*(volatile const {s}{t}*)({p})",
    atomic_store: "*(volatile {s}{t}*)({p}) = {v}",
    f64_header: "",
    subgroup_header: "",
    shuffles: None,
    fragments: None,
};
