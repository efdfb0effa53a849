//! WGSL, as naga and browsers take it.
//!
//! In: a program, the target, what the text's compiler wants ([`Options`]). Out: a [`Shader`]: the text, and how a launch passes arguments.
//! Always: every dtype works. What the language has no type for is kept in words (`Bool`, 8- and 16-bit numbers, and 64-bit integers where
//! [`Target::i64`] is false); only `F64` needs the device's own. Mathematics is ours (`library/`), since WGSL's may be off by thousands of units.
//! Never: infinities or NaN as constants, which WGSL forbids: they come from bits that only the running program sees.
//!
//! All arguments are in bind group 0: numbers in the uniform buffer at binding 0 as [`Shader::slots`] says, buffers from binding 1 on in the
//! order of the parameters, those of a table one after another. Words 0, 1 and 2 are the grid's extents. Word 3 is 0, or the dispatched grid's
//! first extent, where the dispatched grid is not the one meant: then groups are counted through, x first, and those past the end do nothing. Word 4 is 0, which the compiler of
//! the text does not know.
//! Stores of less than a word go through atomics, so that neighbouring threads do not overwrite each other.

mod atomics;
mod composed;
mod constants;
mod emit;
mod fragments;
mod halves;
mod library;
mod memory;
mod ops;
mod tables;
mod unroll;

use super::{RenderError, Source};
use crate::{Array, Dialect, Param, Place, Program, Target, Type, Value};
use constants::Known;
use memory::Store;
use unigrad_scalar::{DType, Literal};

/// What the compiler of the text wants.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Options {
    /// Browsers demand `enable subgroups;`, which naga refuses.
    pub browser: bool,
    /// There are 16-bit integers in storage (naga's `wgpu_int16`): no atomics for them.
    pub int16: bool,
    /// Buffers are bound from an address below their first element; each has a slot with the difference.
    pub offsets: bool,
    /// The driver's compiler writes loops out by itself and keeps what they index in registers, and does less well with loops that were written out
    /// before (NVIDIA's: products of `f32` were half as fast).
    pub unrolls: bool,
}

/// A number in the uniform buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// The scalar of this parameter, or all of its table: as words of 32 bits, lower first; 64-bit types take two.
    Scalar {
        /// Which parameter.
        param: usize,
        /// Its first word.
        at: usize,
    },
    /// How far a buffer begins after where it is bound, in elements; only with [`Options::offsets`].
    Offset {
        /// Which of [`Shader::buffers`].
        binding: usize,
        /// Its word.
        at: usize,
    },
}

/// A program as WGSL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shader {
    /// The whole module.
    pub text: String,
    /// The entry point.
    pub entry: &'static str,
    /// What goes into the uniform buffer after its first five words.
    pub slots: Vec<Slot>,
    /// Words of the uniform buffer, a multiple of 4.
    pub words: usize,
    /// The buffers, binding 1 being the first: which parameter each is, and which of its table.
    pub buffers: Vec<(usize, usize)>,
}

/// The program as WGSL.
pub fn render(program: &Program, target: &Target, options: Options) -> Result<Shader, RenderError> {
    let mut writer = Writer::new(program, target, options)?;
    writer.block(&program.body)?;
    writer.finish()
}

/// The text alone, for naga on a device whose buffers are bound where they begin.
pub(super) fn source(program: &Program, target: &Target) -> Result<Source, RenderError> {
    let shader = render(program, target, Options::default())?;
    Ok(Source { text: shader.text, entry: shader.entry.to_owned(), options: Vec::new(), dynamic_shared: 0, waits: false })
}

/// What a value is in the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rep {
    Bool,
    /// Unsigned integers of up to 32 bits, and the bits of half types.
    U32,
    I32,
    F32,
    I64,
    U64,
    F64,
}

fn rep(dtype: DType) -> Rep {
    match dtype {
        DType::Bool => Rep::Bool,
        DType::U8 | DType::U16 | DType::U32 | DType::F16 | DType::BF16 | DType::F8E4M3 | DType::F8E5M2 => Rep::U32,
        DType::I8 | DType::I16 | DType::I32 => Rep::I32,
        DType::F32 => Rep::F32,
        DType::I64 => Rep::I64,
        DType::U64 => Rep::U64,
        DType::F64 => Rep::F64,
    }
}

/// A value's name.
fn v(value: Value) -> String {
    format!("v{}", value.0)
}

/// The text under construction.
struct Writer<'a> {
    program: &'a Program,
    target: &'a Target,
    options: Options,
    /// Statements of the entry point.
    body: String,
    depth: usize,
    /// Declarations and accessors of buffers and arrays.
    declarations: String,
    /// Functions written so far, by name.
    accessors: Vec<String>,
    params: Vec<Option<Store>>,
    shared: Vec<Store>,
    slots: Vec<Slot>,
    words: usize,
    /// The first word of each scalar parameter.
    scalar_at: Vec<usize>,
    offset_at: Vec<usize>,
    flatten: bool,
    subgroups: bool,
    /// Whether threads may see through a buffer what others wrote: barriers are then for device memory too, which costs much more.
    shares_buffers: bool,
    /// Per value, whether it has no line of its own.
    unsaid: Vec<bool>,
    /// Integers known so far.
    known: Known,
    /// Per local array, whether its elements are variables.
    split: Vec<bool>,
    /// The buffer of a table that is written about.
    entry: Option<u32>,
    /// The index that what is being written is for, and what it is.
    divided: Option<(Value, u32)>,
}

impl<'a> Writer<'a> {
    fn new(program: &'a Program, target: &'a Target, options: Options) -> Result<Writer<'a>, RenderError> {
        let n = program.params.len();
        let mut writer = Writer {
            program,
            target,
            options,
            body: String::new(),
            depth: 1,
            declarations: String::new(),
            accessors: Vec::new(),
            params: vec![None; n],
            shared: Vec::new(),
            slots: Vec::new(),
            words: 5,
            scalar_at: vec![0; n],
            offset_at: vec![0; n],
            flatten: false,
            subgroups: program.insts.iter().any(|inst| matches!(inst.op, crate::Op::Subgroup(..) | crate::Op::Lane)),
            shares_buffers: program.has_raw(),
            unsaid: halves::unsaid(program),
            known: Known::default(),
            split: constants::split(program, options),
            entry: None,
            divided: None,
        };
        // Only along x is it certain which threads are neighbours in a subgroup.
        writer.flatten = writer.subgroups && (program.block[1] > 1 || program.block[2] > 1);
        writer.check_limits()?;
        writer.check_tables()?;
        writer.lay_out_offsets();
        writer.lay_out_scalars();
        writer.declare()?;
        Ok(writer)
    }

    fn error(&self, at: Option<Value>, cause: impl Into<String>, help: impl Into<String>) -> RenderError {
        RenderError { dialect: Dialect::Wgsl, program: self.program.name.clone(), at, cause: cause.into(), help: help.into() }
    }

    fn check_limits(&self) -> Result<(), RenderError> {
        let buffers: usize = self.program.params.iter().map(Self::n_bindings).sum();
        if buffers > self.target.max_buffers as usize {
            let cause = format!("{buffers} buffers, the device binds {}", self.target.max_buffers);
            return Err(self.error(None, cause, "split the program"));
        }
        let bytes = |(i, a): (usize, &Array)| {
            let least = if self.uses(Place::Shared(i as u32)).fragments { 1 } else { 4 };
            a.len as usize * a.ty.dtype().size().max(least) * a.ty.lanes()
        };
        let shared: usize = self.program.shared.iter().enumerate().map(bytes).sum();
        if shared > self.target.shared_bytes {
            let cause =
                format!("{shared} bytes of shared memory (narrow elements take a word each), the device has {}", self.target.shared_bytes);
            return Err(self.error(None, cause, "use smaller tiles, or f32 in shared memory"));
        }
        let f64_used = self.program.insts.iter().any(|inst| inst.ty.dtype() == DType::F64)
            || self.program.params.iter().any(|param| param.dtype() == DType::F64);
        if f64_used && !self.target.f64 {
            return Err(self.error(None, "the device has no 64-bit floats", "use f32, or another device, such as the CPU"));
        }
        Ok(())
    }

    fn lay_out_scalars(&mut self) {
        for (param, declared) in self.program.params.iter().enumerate() {
            let (dtype, count) = match declared {
                Param::Scalar { dtype, .. } => (*dtype, 1),
                Param::ScalarTable { dtype, count, .. } => (*dtype, *count as usize),
                Param::Buffer { .. } | Param::Table { .. } => continue,
            };
            self.scalar_at[param] = self.words;
            self.slots.push(Slot::Scalar { param, at: self.words });
            self.words += count * dtype.size().div_ceil(4);
        }
        self.words = self.words.next_multiple_of(4);
    }

    /// The type of a value in the text.
    fn scalar_type(&self, dtype: DType) -> &'static str {
        match rep(dtype) {
            Rep::Bool => "bool",
            Rep::U32 => "u32",
            Rep::I32 => "i32",
            Rep::F32 => "f32",
            Rep::F64 => "f64",
            Rep::I64 if self.target.i64 => "i64",
            Rep::U64 if self.target.i64 => "u64",
            Rep::I64 | Rep::U64 => "vec2<u32>",
        }
    }

    fn vector_type(&self, dtype: DType, lanes: usize) -> String {
        let scalar = self.scalar_type(dtype);
        match lanes {
            1 => scalar.to_owned(),
            2 if halves::is_half(dtype) => "u32".to_owned(),
            _ if halves::is_half(dtype) => format!("vec{}<u32>", lanes / 2),
            2..=4 if !scalar.starts_with("vec") => format!("vec{lanes}<{scalar}>"),
            _ => format!("array<{scalar}, {lanes}>"),
        }
    }

    fn type_name(&self, ty: Type) -> Result<String, RenderError> {
        match ty {
            Type::Scalar(dtype) => Ok(self.scalar_type(dtype).to_owned()),
            Type::Vector(dtype, lanes) => Ok(self.vector_type(dtype, lanes.into())),
            Type::Fragment(fragment) => self.fragment_type(None, fragment),
        }
    }

    fn literal(&self, literal: Literal) -> String {
        let dtype = literal.dtype();
        let raw = literal.to_raw();
        match rep(dtype) {
            Rep::Bool => (raw != 0).to_string(),
            Rep::U32 => format!("{raw}u"),
            // Written as abstract numbers: `-2147483648i` is the negation of a number that is too large.
            Rep::I32 => format!("i32({})", literal.as_i64()),
            Rep::F32 => {
                let value = f32::from_bits(raw as u32);
                if value.is_normal() || raw == 0 { format!("{value:e}f") } else { format!("f32_of_bits({raw:#010x}u)") }
            }
            Rep::F64 => {
                let value = f64::from_bits(raw);
                if value.is_nan() {
                    "quotient_f64(0.0lf, 0.0lf)".to_owned()
                } else if value.is_infinite() {
                    format!("quotient_f64({}lf, 0.0lf)", value.signum())
                } else {
                    format!("{value:e}lf")
                }
            }
            Rep::I64 | Rep::U64 if !self.target.i64 => format!("vec2<u32>({}u, {}u)", raw as u32, raw >> 32),
            Rep::I64 if literal.as_i64() == i64::MIN => "(-9223372036854775807li - 1li)".to_owned(),
            Rep::I64 => format!("{}li", literal.as_i64()),
            Rep::U64 => format!("{raw}lu"),
        }
    }

    /// A word of the uniform buffer.
    fn word(at: usize) -> String {
        format!("params[{}].{}", at / 4, ["x", "y", "z", "w"][at % 4])
    }

    /// A number of this type from its words.
    fn number_of_words(&self, dtype: DType, low: &str, high: &str) -> String {
        match dtype {
            DType::Bool => format!("({low} != 0u)"),
            DType::F32 => format!("bitcast<f32>({low})"),
            DType::I64 => format!("i64_of_words(vec2<u32>({low}, {high}))"),
            DType::U64 => format!("u64_of_words(vec2<u32>({low}, {high}))"),
            DType::F64 => format!("bitcast<f64>(u64({low}) | (u64({high}) << 32u))"),
            DType::I32 => format!("bitcast<i32>({low})"),
            DType::I8 | DType::I16 => ops::wrap(dtype, &format!("bitcast<i32>({low})")),
            DType::U8 | DType::U16 | DType::U32 | DType::F16 | DType::BF16 | DType::F8E4M3 | DType::F8E5M2 => ops::wrap(dtype, low),
        }
    }

    /// An index as `u32`.
    fn index(&self, value: Value) -> String {
        match rep(self.program.ty(value).dtype()) {
            Rep::I32 => format!("bitcast<u32>({})", v(value)),
            Rep::I64 | Rep::U64 if self.target.i64 => format!("u32({})", v(value)),
            Rep::I64 | Rep::U64 => format!("{}.x", v(value)),
            Rep::Bool | Rep::U32 | Rep::F32 | Rep::F64 => v(value),
        }
    }

    fn line(&mut self, text: impl AsRef<str>) {
        for _ in 0..self.depth {
            self.body.push_str("    ");
        }
        self.body.push_str(text.as_ref());
        self.body.push('\n');
    }

    fn finish(self) -> Result<Shader, RenderError> {
        let [x, y, z] = self.program.block;
        let mut main = String::new();
        let mut arguments = vec!["@builtin(workgroup_id) dispatched: vec3<u32>"];
        let size = if self.flatten { format!("{}", x * y * z) } else { format!("{x}, {y}, {z}") };
        if self.flatten {
            arguments.push("@builtin(local_invocation_index) linear_thread: u32");
            main +=
                &format!("    let thread = vec3<u32>(linear_thread % {x}u, (linear_thread / {x}u) % {y}u, linear_thread / {}u);\n", x * y);
        } else {
            arguments.push("@builtin(local_invocation_id) thread: vec3<u32>");
        }
        if self.subgroups {
            arguments.push("@builtin(subgroup_invocation_id) lane: u32");
        }
        main += "    let extents = params[0];
    var group = dispatched;
    if (extents.w != 0u) {
        let linear = dispatched.x + extents.w * dispatched.y;
        if (linear >= extents.x * extents.y * extents.z) {
            return;
        }
        group = vec3<u32>(linear, 0u, 0u);
        if (extents.y * extents.z != 1u) {
            group = vec3<u32>(linear % extents.x, (linear / extents.x) % extents.y, linear / (extents.x * extents.y));
        }
    }\n";
        for (i, local) in self.program.locals.iter().enumerate() {
            let ty = self.type_name(local.ty)?;
            main += &match local.len {
                n if matches!(local.ty, Type::Fragment(_)) || self.split[i] => {
                    (0..n).map(|k| format!("    var l{i}_{k}: {ty};\n")).collect()
                }
                1 => format!("    var l{i}: {ty};\n"),
                n => format!("    var l{i}: array<{ty}, {n}>;\n"),
            };
        }
        let code =
            format!("{}@compute @workgroup_size({size})\nfn main({}) {{\n{main}{}}}\n", self.declarations, arguments.join(", "), self.body);
        let mut text = String::new();
        if self.options.browser && self.subgroups {
            text += "enable subgroups;\n";
        }
        if self.has_fragments() {
            text += "enable f16;\nenable wgpu_cooperative_matrix;\n";
        }
        if self.options.int16 && self.shorts() {
            text += "enable wgpu_int16;\n";
        }
        text += &library::functions_used(&code, self.target.i64, |name| self.composed(name))?;
        text += &format!("@group(0) @binding(0) var<uniform> params: array<vec4<u32>, {}>;\n", self.words / 4);
        text += &code;
        let buffers = self.bound();
        Ok(Shader { text, entry: "main", slots: self.slots, words: self.words, buffers })
    }

    fn shorts(&self) -> bool {
        self.params.iter().flatten().any(|store| matches!(store.form, memory::Form::Short))
    }

    fn place_name(&self, place: Place) -> String {
        match place {
            Place::Param(i) => format!("b{i}"),
            Place::Table(i, _) => match self.entry {
                Some(entry) => format!("b{i}_{entry}"),
                // A name that nothing declares: no compiler takes it.
                None => format!("b{i}_of_no_entry"),
            },
            Place::Shared(i) => format!("s{i}"),
            Place::Local(i) => format!("l{i}"),
        }
    }
}
