//! The base of all dialects that look like C: a [`Language`] table says how they differ.
//!
//! In: a program, a target, a table. Out: a [`Source`].
//! Always: one statement per instruction, in the program's order; constants and parameters are written where they are used. Values of half
//! types are their bits. Names of the program get a prefix, so that no reserved word of a dialect can meet them.
//! Never: relies on a compiler's choice where C leaves one: signed arithmetic wraps through the unsigned type.

mod fragments;
mod helpers;
mod language;
mod memory;
mod ops;
mod subgroup;
mod tables;

pub(super) use language::{C_LIKE, FragmentMemory, Fragments, Language, Params, PrefetchWords, Shuffles, Spaces, Tables, Vectors};

use super::{RenderError, Source};
use crate::{Block, Op, Param, Place, Prefetch, Program, Raw, Stmt, Target, Type, Value};
use std::{collections::BTreeMap, fmt::Write as _};
use unigrad_scalar::{DType, Literal};

/// A text under construction.
pub(super) struct Writer<'a> {
    pub(super) program: &'a Program,
    pub(super) target: &'a Target,
    pub(super) language: &'static Language,
    body: String,
    depth: usize,
    /// Declarations before the kernel, in order, by name.
    preludes: Vec<(String, String)>,
    /// Lines that features used want at the top.
    headers: Vec<&'static str>,
    /// Tables that a value, once made, must choose from.
    choices: BTreeMap<Value, Vec<u32>>,
    /// The first thing that the dialect lacks.
    error: Option<RenderError>,
}

/// The program in a C-like dialect.
pub(super) fn render(program: &Program, target: &Target, language: &'static Language) -> Result<Source, RenderError> {
    let choices = tables::choices(program, language.params.tables);
    let mut writer = Writer {
        program,
        target,
        language,
        body: String::new(),
        depth: 1,
        preludes: Vec::new(),
        headers: Vec::new(),
        choices,
        error: None,
    };
    let entry = format!("k_{}", identifier(&program.name));
    for inst in &program.insts {
        if let Op::Const(literal) = inst.op
            && literal.dtype().size() >= 4
            && !literal.as_f64().is_finite()
        {
            // Written by their bits.
            writer.function("from_bits", literal.dtype());
        }
    }
    let params = writer.params();
    let wait = (language.wait)(target);
    if !wait.is_empty() {
        writer.prefetch();
    }
    wait.iter().for_each(|line| writer.line(line));
    writer.begin();
    let dynamic_shared = writer.shared();
    writer.locals();
    writer.block(&program.body);
    if program.insts.iter().any(|inst| inst.ty.dtype() == DType::F64) || program.params.iter().any(|p| p.dtype() == DType::F64) {
        writer.f64_needed();
    }
    if let Some(error) = writer.error {
        return Err(error);
    }
    let [x, y, z] = program.block.map(|n| n.to_string());
    let bounds = match program.at_once {
        Some(workgroups) if language.at_once => format!("{}, {workgroups}", program.threads()),
        _ => program.threads().to_string(),
    };
    let cluster = program.cluster.map(|workgroups| language.cluster.replace("{i}", &workgroups.to_string())).unwrap_or_default();
    let head = language
        .entry
        .replace("{c}", &cluster)
        .replace("{n}", &entry)
        .replace("{i}", &bounds)
        .replace("{x}", &x)
        .replace("{y}", &y)
        .replace("{z}", &z);
    let mut text = language.header.to_owned();
    writer.headers.iter().for_each(|header| text.push_str(header));
    for (dtype, name) in language.types {
        if *dtype != DType::F64 || writer.headers.contains(&language.f64_header) {
            // INVARIANT: writing to a String does not fail.
            let _ = writeln!(text, "typedef {name} {};", dtype.name());
        }
    }
    writer.preludes.iter().for_each(|(_, prelude)| text.push_str(prelude));
    let _ = write!(text, "{head}({params}) {{\n{}}}\n", writer.body);
    let options = language.options.iter().map(|&o| o.to_owned()).collect();
    Ok(Source { text, entry, options, dynamic_shared, waits: !wait.is_empty() })
}

/// A name as an identifier of C: what is not a letter or digit becomes an underscore.
fn identifier(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

fn param_name(at: usize, param: &Param) -> String {
    format!("p{at}_{}", identifier(param.name()))
}

/// The type of an element in memory: bits for halves, a byte for `Bool`.
pub(super) fn stored(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool | DType::F8E4M3 | DType::F8E5M2 => "u8",
        DType::F16 | DType::BF16 => "u16",
        DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::U32 | DType::I32 | DType::U64 | DType::I64 | DType::F32 | DType::F64 => {
            dtype.name()
        }
    }
}

impl Writer<'_> {
    // --- what the other files ask for

    /// Remembers what the dialect lacks; the first such thing is the error.
    pub(super) fn refuse(&mut self, at: Option<Value>, cause: impl Into<String>, help: impl Into<String>) {
        self.error.get_or_insert_with(|| RenderError {
            dialect: self.language.dialect,
            program: self.program.name.clone(),
            at,
            cause: cause.into(),
            help: help.into(),
        });
    }

    /// Whether a declaration of this name is there.
    pub(super) fn has_prelude(&self, name: &str) -> bool {
        self.preludes.iter().any(|(n, _)| n == name)
    }

    /// Puts a declaration before the kernel, once.
    pub(super) fn prelude(&mut self, name: &str, text: String) {
        if !self.has_prelude(name) {
            self.preludes.push((name.to_owned(), text));
        }
    }

    /// Puts lines at the top, once.
    pub(super) fn header(&mut self, lines: &'static str) {
        if !self.headers.contains(&lines) {
            self.headers.push(lines);
        }
    }

    fn f64_needed(&mut self) {
        if self.target.f64 && self.language.types.iter().any(|(dtype, _)| *dtype == DType::F64) {
            self.header(self.language.f64_header);
        } else {
            self.refuse(None, "the device has no 64-bit floats", "compute in f32, or choose another device");
        }
    }

    /// A line of the kernel.
    pub(super) fn line(&mut self, text: &str) {
        for _ in 0..self.depth {
            self.body.push_str("    ");
        }
        self.body.push_str(text);
        self.body.push('\n');
    }

    /// The type of a value.
    pub(super) fn type_name(&mut self, value: Value, ty: Type) -> String {
        match ty {
            Type::Scalar(DType::Bool) => "bool".to_owned(),
            Type::Scalar(dtype) => stored(dtype).to_owned(),
            Type::Vector(dtype, lanes) => self.vector_type(dtype, lanes),
            Type::Fragment(fragment) => self.fragment_type(value, fragment),
        }
    }

    /// How a value is written where it is used.
    pub(super) fn value(&self, value: Value) -> String {
        match &self.program.insts[value.index()].op {
            Op::Const(literal) => self.literal(*literal),
            Op::Scalar(at) => {
                let name = param_name(*at as usize, &self.program.params[*at as usize]);
                if self.program.ty(value).dtype() == DType::Bool { format!("({name} != 0)") } else { name }
            }
            Op::TableScalar(..)
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
            | Op::Load(..)
            | Op::Compose(_)
            | Op::Extract(..)
            | Op::Atomic(..)
            | Op::CompareExchange(..)
            | Op::Subgroup(..)
            | Op::FragmentFill(_)
            | Op::FragmentLoad { .. }
            | Op::FragmentMma(..)
            | Op::Raw(_) => format!("v{}", value.0),
        }
    }

    /// The constant that a value is, if it is one.
    pub(super) fn constant(&self, value: Value) -> Option<Literal> {
        if let Op::Const(literal) = self.program.insts[value.index()].op { Some(literal) } else { None }
    }

    // --- declarations

    fn params(&mut self) -> String {
        let params = &self.language.params;
        let mut list = Vec::new();
        for (at, param) in self.program.params.iter().enumerate() {
            let name = param_name(at, param);
            let (template, ty) = match param {
                Param::Buffer { dtype, write, atomic, .. } => {
                    let template = match (write, atomic) {
                        (_, true) => params.atomic,
                        (true, _) => params.write,
                        (false, _) => params.read,
                    };
                    (template, stored(*dtype).to_owned())
                }
                Param::Scalar { dtype, .. } => (params.scalar, stored(*dtype).to_owned()),
                Param::Table { .. } | Param::ScalarTable { .. } => {
                    self.table_params(at, &mut list);
                    continue;
                }
            };
            list.push(template.replace("{t}", &ty).replace("{n}", &name).replace("{i}", &at.to_string()));
        }
        if !params.builtin.is_empty() {
            list.push(params.builtin.to_owned());
        }
        match (self.program.tensor_maps.len(), self.language.tensor_map) {
            (0, _) => {}
            (_, None) => self.refuse(None, "tensor maps, which the dialect does not have", "copy with loads and stores"),
            (count, Some([ty, param])) => {
                self.prelude("ug_tensor_map", ty.to_owned());
                list.extend((0..count).map(|at| param.replace("{i}", &at.to_string())));
            }
        }
        list.join(", ")
    }

    fn begin(&mut self) {
        let template = self.language.params.begin;
        for (at, param) in self.program.params.iter().enumerate() {
            if matches!(param, Param::Buffer { .. }) && !template.is_empty() {
                self.line(&template.replace("{n}", &param_name(at, param)));
            }
        }
        self.choose_by_scalars();
    }

    /// Asks for memory ahead, where the language has words for it.
    fn prefetch(&mut self) {
        let (Some(words), Some(Prefetch { param, rows, count, width, pitch })) = (self.language.prefetch, self.program.prefetch) else {
            return;
        };
        let Some(place) = self.program.params.get(param as usize) else {
            return self.refuse(None, format!("no parameter {param}, of which it asks for memory ahead"), "validate the program first");
        };
        let lines = width.div_ceil(words.line);
        let numbers = [
            ("{all}", rows.saturating_mul(lines)),
            ("{rows}", rows),
            ("{count}", count),
            ("{lines}", lines),
            ("{line}", words.line),
            ("{pitch}", pitch),
            ("{threads}", self.program.block[0]),
        ];
        let named = words.text.replace("{p}", &param_name(param as usize, place));
        let text = numbers.iter().fold(named, |text, (name, number)| text.replace(name, &format!("{number}u")));
        self.line(&text);
    }

    /// Declares shared arrays; gives the bytes that the launch must ask for.
    fn shared(&mut self) -> usize {
        let bytes: usize = self.program.shared.iter().map(|a| (a.len as usize * a.ty.dtype().size()).next_multiple_of(16)).sum();
        if bytes > self.target.shared_bytes {
            let cause = format!("{bytes} bytes of shared memory, where the device has {}", self.target.shared_bytes);
            self.refuse(None, cause, "choose a smaller tile");
        }
        let dynamic = bytes > self.language.shared_limit;
        if dynamic {
            self.line(self.language.shared_dynamic);
        }
        let mut offset = 0;
        for (at, array) in self.program.shared.iter().enumerate() {
            let (ty, name) = (stored(array.ty.dtype()), format!("s{at}_{}", identifier(&array.name)));
            if dynamic {
                self.line(&format!("{ty}* const {name} = ({ty}*)(ug_shared + {offset});"));
                offset += (array.len as usize * array.ty.dtype().size()).next_multiple_of(16);
            } else {
                let length = array.len.max(1).to_string();
                let text = self.language.shared.replace("{t}", ty).replace("{n}", &name).replace("{i}", &length);
                self.line(&text);
            }
        }
        if dynamic { bytes } else { 0 }
    }

    fn locals(&mut self) {
        for at in 0..self.program.locals.len() {
            let array = &self.program.locals[at];
            let name = format!("l{at}_{}", identifier(&array.name));
            let stored_in = self.stored_to(at as u32).first().copied().unwrap_or(Value(0));
            let ty = self.type_name(stored_in, array.ty);
            if array.len == 1 {
                self.line(&format!("{ty} {name};"));
            } else {
                self.line(&format!("{ty} {name}[{}];", array.len.max(1)));
            }
        }
    }

    // --- statements

    fn indented(&mut self, block: &Block) {
        self.depth += 1;
        self.block(block);
        self.depth -= 1;
    }

    fn block(&mut self, block: &Block) {
        for stmt in block {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let(value) => self.instruction(*value),
            Stmt::Store { place, index, value } => {
                let text = self.store(*place, *index, *value);
                self.line(&text);
            }
            Stmt::FragmentStore { place, index, stride, value } => self.fragment_store(*place, *index, *stride, *value),
            Stmt::Barrier => self.line(self.language.barrier),
            Stmt::If { condition, then, otherwise } => {
                let condition = self.value(*condition);
                self.line(&format!("if ({condition}) {{"));
                self.indented(then);
                if !otherwise.is_empty() {
                    self.line("} else {");
                    self.indented(otherwise);
                }
                self.line("}");
            }
            Stmt::For { counter, start, end, step, unroll, body } => {
                if *unroll {
                    self.line(self.language.unroll);
                }
                let ty = self.type_name(*counter, self.program.ty(*counter));
                let name = format!("v{}", counter.0);
                let (start, end, step) = (self.value(*start), self.value(*end), self.value(*step));
                self.line(&format!("for ({ty} {name} = {start}; {name} < {end}; {name} += {step}) {{"));
                self.depth += 1;
                self.choose(*counter);
                self.block(body);
                self.depth -= 1;
                self.line("}");
            }
            Stmt::While { check, condition, body } => {
                self.line("while (true) {");
                self.indented(check);
                self.depth += 1;
                let condition = self.value(*condition);
                self.line(&format!("if (!{condition}) break;"));
                self.block(body);
                self.depth -= 1;
                self.line("}");
            }
            Stmt::Raw(raw) => {
                let text = self.raw(None, raw);
                self.line(&text);
            }
        }
    }

    /// Text in the dialect's own words, filled in.
    pub(super) fn raw(&mut self, at: Option<Value>, raw: &Raw) -> String {
        let dialect = self.language.dialect;
        for (_, text) in raw.preludes.iter().filter(|(d, _)| *d == dialect) {
            // The text is its own name: equal texts are written once.
            let mut lines = text.clone();
            if !lines.ends_with('\n') {
                lines.push('\n');
            }
            self.prelude(text, lines);
        }
        let Some((_, text)) = raw.texts.iter().find(|(d, _)| *d == dialect) else {
            self.refuse(at, "text in another dialect's words", "add this dialect's text to the `Raw`");
            return String::new();
        };
        let values: Vec<String> = raw.values.iter().map(|v| self.value(*v)).collect();
        let pointer = |place: &Place| match place {
            // An array of length 1 is a variable.
            Place::Local(at) if self.program.locals[*at as usize].len == 1 => format!("(&{})", self.pointer(*place)),
            Place::Param(_) | Place::Table(..) | Place::Shared(_) | Place::Local(_) => self.pointer(*place),
        };
        let places: Vec<String> = raw.places.iter().map(pointer).collect();
        match super::fill_raw(text, &values, &places) {
            Ok(text) => text,
            Err(cause) => {
                self.refuse(at, cause, "write {v0}, {p0}, {{ or }}");
                String::new()
            }
        }
    }

    fn instruction(&mut self, value: Value) {
        let program = self.program;
        let inst = &program.insts[value.index()];
        let text = match &inst.op {
            Op::Const(_) | Op::Scalar(_) | Op::Counter => return,
            Op::FragmentFill(_) | Op::FragmentLoad { .. } | Op::FragmentMma(..) => return self.fragment_instruction(value),
            Op::TableScalar(at, which) => self.table_entry(*at, *which),
            Op::Thread(axis) => self.axis(self.language.thread, *axis),
            Op::Group(axis) => self.axis(self.language.group, *axis),
            Op::GroupCount(axis) => self.axis(self.language.group_count, *axis),
            Op::Lane => self.lane(value),
            Op::Unary(op, a) => self.unary(value, *op, *a),
            Op::ApproxExp2(a) => format!("{}({})", self.function(self.language.approx_exp2, inst.ty.dtype()), self.value(*a)),
            Op::Binary(op, a, b) => self.binary(value, *op, *a, *b),
            Op::Fma(a, b, c) => {
                let name = self.function("fma", inst.ty.dtype());
                format!("{name}({}, {}, {})", self.value(*a), self.value(*b), self.value(*c))
            }
            Op::MulHi(a, b) => format!("(u32)(((u64){} * (u64){}) >> 32)", self.value(*a), self.value(*b)),
            Op::Select(c, a, b) => format!("{} ? {} : {}", self.value(*c), self.value(*a), self.value(*b)),
            Op::Cast(a) => {
                let text = self.value(*a);
                self.cast(&text, program.ty(*a).dtype(), inst.ty.dtype())
            }
            Op::Bitcast(a) => self.bitcast(*a, inst.ty.dtype()),
            Op::Load(place, index) => self.load(value, *place, *index),
            Op::Compose(values) => self.compose(inst.ty, values),
            Op::Extract(vector, lane) => self.extract(*vector, *lane),
            Op::Atomic(op, place, index, by) => self.atomic(value, *op, *place, *index, *by),
            Op::CompareExchange(place, index, expected, new) => self.compare_exchange(value, *place, *index, *expected, *new),
            Op::Subgroup(op, a) => self.subgroup(value, *op, *a),
            Op::Raw(raw) => self.raw(Some(value), raw),
        };
        let ty = self.type_name(value, inst.ty);
        self.line(&format!("const {ty} v{} = {text};", value.0));
        self.choose(value);
    }

    fn axis(&self, template: &str, axis: u8) -> String {
        let axis = usize::from(axis).min(2);
        template.replace("{a}", self.language.axes[axis]).replace("{b}", &self.program.block[axis].to_string())
    }
}
