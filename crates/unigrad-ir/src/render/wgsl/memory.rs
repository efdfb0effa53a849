//! Buffers and arrays: how each is declared, and how elements and vectors of it are read and written.
//!
//! Always: a store touches no byte but its own. Elements narrower than a word are read out of words, and written with one atomic
//! exclusive-or of what is there and what shall be there, unless every store covers whole words.

use super::{Rep, Writer, halves, rep, v};
use crate::{Op, Param, Place, RenderError, Stmt, Type, Value, render::each_stmt};
use std::fmt::Write;
use unigrad_scalar::DType;

/// How a buffer, or an array that a workgroup shares, is declared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Store {
    pub(super) form: Form,
    pub(super) dtype: DType,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// `array<T>`, or with groups of 2 or 4 `array<vecN<T>>`.
    Plain { group: usize },
    /// `array<atomic<u32>>` or `array<atomic<i32>>`.
    Atomic,
    /// Elements of 8 or 16 bits in `array<u32>`, or in groups of words.
    Packed { group: usize },
    /// The same, written by atomics.
    PackedAtomic,
    /// `array<u16>`.
    Short,
    /// A shared array of which each element takes a word, whatever its type.
    Word,
    /// `array<f16>`, or with groups of 4 `array<vec4<f16>>`: where fragments are.
    Halves { group: usize },
}

/// What a program does with one place.
#[derive(Clone, Copy, Default)]
pub(super) struct Uses {
    atomic: bool,
    /// Whether fragments are loaded from it or stored to it, which counts as 16 bytes.
    pub(super) fragments: bool,
    /// The widest vector, in bytes.
    load_bytes: usize,
    /// The narrowest and the widest store, in bytes.
    store_bytes: Option<(usize, usize)>,
}

impl Writer<'_> {
    pub(super) fn uses(&self, wanted: Place) -> Uses {
        let mut uses = Uses::default();
        let is = |place: &Place| match (place, wanted) {
            (Place::Table(place, _), Place::Table(wanted, _)) => *place == wanted,
            _ => *place == wanted,
        };
        let bytes = |ty: Type| ty.lanes() * ty.dtype().size();
        for inst in &self.program.insts {
            match &inst.op {
                Op::Load(place, _) if is(place) => uses.load_bytes = uses.load_bytes.max(bytes(inst.ty)),
                Op::FragmentLoad { place, .. } if is(place) => (uses.fragments, uses.load_bytes) = (true, 16),
                Op::Atomic(_, place, ..) | Op::CompareExchange(place, ..) if is(place) => uses.atomic = true,
                // A dialect's own words take the memory as it is.
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
                | Op::Load(..)
                | Op::Compose(_)
                | Op::Extract(..)
                | Op::Atomic(..)
                | Op::CompareExchange(..)
                | Op::Subgroup(..)
                | Op::FragmentFill(_)
                | Op::FragmentLoad { .. }
                | Op::FragmentMma(..)
                | Op::Raw(_) => {}
            }
        }
        each_stmt(&self.program.body, &mut |stmt| {
            let size = match stmt {
                Stmt::Store { place, value, .. } if is(place) => bytes(self.program.ty(*value)),
                Stmt::FragmentStore { place, .. } if is(place) => {
                    uses.fragments = true;
                    16
                }
                Stmt::Let(_)
                | Stmt::Store { .. }
                | Stmt::FragmentStore { .. }
                | Stmt::Barrier
                | Stmt::If { .. }
                | Stmt::For { .. }
                | Stmt::While { .. }
                | Stmt::Raw(_) => return,
            };
            let (low, high) = uses.store_bytes.unwrap_or((size, size));
            uses.store_bytes = Some((low.min(size), high.max(size)));
        });
        uses
    }

    /// How many words lie together so that the widest accesses are one, and no store writes a part.
    fn group(uses: Uses) -> usize {
        let widest = uses.load_bytes.max(uses.store_bytes.map_or(0, |s| s.1));
        match widest.min(uses.store_bytes.map_or(16, |s| s.0)) / 4 {
            words @ (2 | 4) => words,
            _ => 1,
        }
    }

    /// How halves lie together where fragments are.
    fn halves(uses: Uses) -> Form {
        Form::Halves { group: if uses.store_bytes.is_none_or(|s| s.0 >= 8) { 4 } else { 1 } }
    }

    /// Declares buffers and shared arrays.
    pub(super) fn declare(&mut self) -> Result<(), RenderError> {
        let mut binding = 1;
        for (i, param) in self.program.params.iter().enumerate() {
            let (dtype, atomic, name, place) = match param {
                Param::Buffer { dtype, atomic, name, .. } => (dtype, atomic, name, Place::Param(i as u32)),
                Param::Table { dtype, name, .. } => (dtype, &false, name, Place::Table(i as u32, Value(0))),
                Param::Scalar { .. } | Param::ScalarTable { .. } => continue,
            };
            let uses = self.uses(place);
            self.shares_buffers |= *atomic || uses.atomic || uses.load_bytes > 0 && uses.store_bytes.is_some();
            let form = match dtype.size() {
                4 if *atomic || uses.atomic => Form::Atomic,
                4 => Form::Plain { group: Self::group(uses) },
                8 if uses.atomic => return Err(self.error(None, "WGSL has no 64-bit atomics", "use 32-bit ones")),
                8 => Form::Plain { group: 1 },
                2 if uses.fragments => Self::halves(uses),
                _ if uses.store_bytes.is_none_or(|s| s.0 >= 4) => Form::Packed { group: Self::group(uses) },
                2 if self.options.int16 => Form::Short,
                _ => Form::PackedAtomic,
            };
            let store = Store { form, dtype: *dtype };
            let element = self.element(&store);
            // Read-only bindings of a buffer that the same dispatch also writes (another part of it) are refused, so there are none.
            for entry in 0..Self::n_bindings(param) {
                let entry = if matches!(place, Place::Table(..)) { format!("_{entry}") } else { String::new() };
                let _ = writeln!(
                    self.declarations,
                    "@group(0) @binding({binding}) var<storage, read_write> b{i}{entry}: array<{element}>; // {name}"
                );
                binding += 1;
            }
            self.params[i] = Some(store);
        }
        for (i, array) in self.program.shared.iter().enumerate() {
            let Type::Scalar(dtype) = array.ty else {
                return Err(self.error(None, "a shared array holds vectors", "shared arrays hold scalars"));
            };
            let uses = self.uses(Place::Shared(i as u32));
            let form = match dtype.size() {
                4 if uses.atomic => Form::Atomic,
                _ if uses.atomic => return Err(self.error(None, "WGSL has 32-bit atomics only", "use 32-bit ones")),
                4 if array.len.is_multiple_of(4) => Form::Plain { group: Self::group(uses) },
                4 | 8 => Form::Plain { group: 1 },
                _ if uses.fragments && array.len.is_multiple_of(4) => Self::halves(uses),
                _ if uses.fragments => Form::Halves { group: 1 },
                _ => Form::Word,
            };
            let store = Store { form, dtype };
            let element = self.element(&store);
            let len = match &store.form {
                Form::Plain { group } | Form::Halves { group } => array.len as usize / group,
                Form::Atomic | Form::Packed { .. } | Form::PackedAtomic | Form::Short | Form::Word => array.len as usize,
            };
            let _ = writeln!(self.declarations, "var<workgroup> s{i}: array<{element}, {len}>; // {}", array.name);
            self.shared.push(store);
        }
        self.declarations.push('\n');
        Ok(())
    }

    fn element(&self, store: &Store) -> String {
        let scalar = self.scalar_type(store.dtype);
        match &store.form {
            Form::Plain { group: 1 } => scalar.to_owned(),
            Form::Plain { group } => format!("vec{group}<{scalar}>"),
            Form::Atomic if rep(store.dtype) == Rep::I32 => "atomic<i32>".to_owned(),
            Form::Atomic | Form::PackedAtomic => "atomic<u32>".to_owned(),
            Form::Packed { group: 1 } => "u32".to_owned(),
            Form::Packed { group } => format!("vec{group}<u32>"),
            Form::Short => "u16".to_owned(),
            Form::Halves { group: 1 } => "f16".to_owned(),
            Form::Halves { group } => format!("vec{group}<f16>"),
            Form::Word if scalar == "i32" => "i32".to_owned(),
            Form::Word => "u32".to_owned(),
        }
    }

    pub(super) fn store_of(&self, place: Place) -> Result<Store, RenderError> {
        let found = match place {
            Place::Param(i) | Place::Table(i, _) => self.params.get(i as usize).cloned().flatten(),
            Place::Shared(i) => self.shared.get(i as usize).cloned(),
            Place::Local(_) => None,
        };
        found.ok_or_else(|| self.error(None, "a place that is no buffer", "validate the program first"))
    }

    /// An index into a place, with where a buffer begins added.
    pub(super) fn position(&self, place: Place, index: Value) -> String {
        match place {
            Place::Param(i) if self.options.offsets => {
                format!("({} + {})", self.index(index), Self::word(self.offset_at[i as usize]))
            }
            Place::Table(i, which) if self.options.offsets => format!("({} + {})", self.index(index), self.table_offset(i, which)),
            Place::Param(_) | Place::Table(..) | Place::Shared(_) | Place::Local(_) => self.index(index),
        }
    }

    /// Writes a function once; `text` follows its name.
    pub(super) fn accessor(&mut self, name: String, text: impl FnOnce(&str) -> String) -> String {
        if !self.accessors.contains(&name) {
            let _ = writeln!(self.declarations, "fn {name}{}\n", text(&name));
            self.accessors.push(name.clone());
        }
        name
    }

    /// Word `at` of a packed buffer.
    fn packed_word(name: &str, form: &Form, at: &str) -> String {
        match form {
            Form::Packed { group: 2 } => format!("{name}[({at}) >> 1u][({at}) & 1u]"),
            Form::Packed { group: 4 } => format!("{name}[({at}) >> 2u][({at}) & 3u]"),
            Form::PackedAtomic => format!("atomicLoad(&{name}[{at}])"),
            Form::Packed { .. } | Form::Plain { .. } | Form::Atomic | Form::Short | Form::Word | Form::Halves { .. } => {
                format!("{name}[{at}]")
            }
        }
    }

    /// A narrow number out of a word, `shift` bits up.
    fn unpack(dtype: DType, word: &str, shift: &str) -> String {
        let mask = if dtype.size() == 1 { "0xffu" } else { "0xffffu" };
        match rep(dtype) {
            Rep::Bool => format!("((({word} >> {shift}) & {mask}) != 0u)"),
            Rep::I32 => {
                let up = 32 - 8 * dtype.size();
                format!("(bitcast<i32>(({word} >> {shift}) << {up}u) >> {up}u)")
            }
            Rep::U32 | Rep::F32 | Rep::I64 | Rep::U64 | Rep::F64 => format!("(({word} >> {shift}) & {mask})"),
        }
    }

    /// A narrow number as bits in the low end of a word.
    fn bits(dtype: DType, value: &str) -> String {
        match (rep(dtype), dtype.size()) {
            (Rep::Bool, _) => format!("u32({value})"),
            (Rep::I32, 1) => format!("(bitcast<u32>({value}) & 0xffu)"),
            (Rep::I32, _) => format!("(bitcast<u32>({value}) & 0xffffu)"),
            _ => value.to_owned(),
        }
    }

    fn half_at(name: &str, group: usize, at: &str) -> String {
        if group == 1 { format!("{name}[{at}]") } else { format!("{name}[{at} >> 2u][{at} & 3u]") }
    }

    /// The element at `at` (an expression of `u32`).
    fn load_scalar(&mut self, place: Place, at: &str) -> Result<String, RenderError> {
        let name = self.place_name(place);
        if let Place::Local(i) = place {
            let single = self.program.locals.get(i as usize).is_some_and(|a| a.len == 1);
            return Ok(if single { name } else { format!("{name}[{at}]") });
        }
        let store = self.store_of(place)?;
        let dtype = store.dtype;
        Ok(match &store.form {
            Form::Plain { group: 1 } => format!("{name}[{at}]"),
            Form::Plain { group } => format!("{name}[{at} >> {}u][{at} & {}u]", group.trailing_zeros(), group - 1),
            Form::Atomic if dtype == DType::F32 => format!("bitcast<f32>(atomicLoad(&{name}[{at}]))"),
            Form::Atomic => format!("atomicLoad(&{name}[{at}])"),
            Form::Short => match rep(dtype) {
                Rep::I32 => format!("(bitcast<i32>(u32({name}[{at}]) << 16u) >> 16u)"),
                Rep::Bool | Rep::U32 | Rep::F32 | Rep::I64 | Rep::U64 | Rep::F64 => format!("u32({name}[{at}])"),
            },
            Form::Halves { group } => format!("pack2x16float(vec2<f32>(f32({}), 0.0))", Self::half_at(&name, *group, at)),
            Form::Word if dtype == DType::Bool => format!("({name}[{at}] != 0u)"),
            Form::Word => format!("{name}[{at}]"),
            form @ (Form::Packed { .. } | Form::PackedAtomic) => {
                let (ty, per_word) = (self.scalar_type(dtype), 4 / dtype.size());
                let word = Self::packed_word(&name, form, &format!("i >> {}u", per_word.trailing_zeros()));
                let shift = format!("((i & {}u) * {}u)", per_word - 1, 8 * dtype.size());
                let value = Self::unpack(dtype, &word, &shift);
                let load = self.accessor(format!("load_{name}"), |_| format!("(i: u32) -> {ty} {{\n    return {value};\n}}"));
                format!("{load}({at})")
            }
        })
    }

    /// What an [`Op::Load`] gives.
    pub(super) fn load(&mut self, place: Place, index: Value, ty: Type) -> Result<String, RenderError> {
        if let Some(variable) = self.local_variable(place, index)? {
            return Ok(variable);
        }
        if let Place::Local(i) = place
            && self.program.locals.get(i as usize).is_some_and(|a| a.ty == ty)
        {
            return self.load_scalar(place, &self.index(index));
        }
        if let Place::Table(table, which) = place {
            return self.load_of_table(table, which, index, ty);
        }
        let at = self.position(place, index);
        self.load_at(place, &at, ty)
    }

    /// What is at `at` (an expression of `u32`).
    pub(super) fn load_at(&mut self, place: Place, at: &str, ty: Type) -> Result<String, RenderError> {
        let Type::Vector(dtype, lanes) = ty else { return self.load_scalar(place, at) };
        let lanes = usize::from(lanes);
        let name = self.place_name(place);
        let vector = self.vector_type(dtype, lanes);
        if !matches!(place, Place::Local(_)) {
            let store = self.store_of(place)?;
            match &store.form {
                Form::Plain { group } if (2..=lanes).contains(group) => {
                    let shift = group.trailing_zeros();
                    if *group == lanes {
                        return Ok(format!("{name}[{at} >> {shift}u]"));
                    }
                    let parts: Vec<String> = (0..lanes / group).map(|k| format!("{name}[({at} >> {shift}u) + {k}u]")).collect();
                    return Ok(format!("{vector}({})", parts.join(", ")));
                }
                Form::Packed { group } if halves::is_half(dtype) && 2 * group == lanes => {
                    return Ok(format!("{name}[{at} >> {}u]", lanes.trailing_zeros()));
                }
                form @ (Form::Packed { .. } | Form::PackedAtomic) if lanes * dtype.size() >= 4 => {
                    let text = Self::load_words(&name, form, dtype, lanes, &vector);
                    let load = self.accessor(format!("load{lanes}_{name}"), |_| text);
                    return Ok(format!("{load}({at})"));
                }
                // Lane by lane.
                Form::Plain { .. }
                | Form::Atomic
                | Form::Packed { .. }
                | Form::PackedAtomic
                | Form::Short
                | Form::Word
                | Form::Halves { .. } => {}
            }
        }
        let parts: Result<Vec<String>, RenderError> =
            (0..lanes).map(|lane| self.load_scalar(place, &format!("({at} + {lane}u)"))).collect();
        let parts = parts?;
        Ok(if halves::is_half(dtype) { halves::of_lanes(&parts) } else { format!("{vector}({})", parts.join(", ")) })
    }

    /// A function that loads the words of a vector of narrow numbers, without its name.
    fn load_words(name: &str, form: &Form, dtype: DType, lanes: usize, vector: &str) -> String {
        let (n_words, per_word) = (lanes * dtype.size() / 4, 4 / dtype.size());
        let mut text = format!("(i: u32) -> {vector} {{\n    let at = i >> {}u;\n", per_word.trailing_zeros());
        let whole = matches!(form, Form::Packed { group } if *group == n_words && n_words > 1);
        if whole {
            let _ = writeln!(text, "    let w = {name}[at >> {}u];", n_words.trailing_zeros());
        }
        let word = |k: usize| if whole { format!("w[{k}]") } else { Self::packed_word(name, form, &format!("at + {k}u")) };
        let result = if halves::is_half(dtype) {
            halves::of_words(&(0..n_words).map(word).collect::<Vec<_>>())
        } else {
            let each = |lane: usize| Self::unpack(dtype, &word(lane / per_word), &format!("{}u", lane % per_word * 8 * dtype.size()));
            format!("{vector}({})", (0..lanes).map(each).collect::<Vec<_>>().join(", "))
        };
        let _ = write!(text, "    return {result};\n}}");
        text
    }

    fn store_scalar(&mut self, place: Place, at: &str, value: &str) -> Result<(), RenderError> {
        let name = self.place_name(place);
        if let Place::Local(_) = place {
            let target = self.load_scalar(place, at)?;
            self.line(format!("{target} = {value};"));
            return Ok(());
        }
        let store = self.store_of(place)?;
        let dtype = store.dtype;
        match &store.form {
            Form::Plain { group: 1 } => self.line(format!("{name}[{at}] = {value};")),
            Form::Plain { group } => self.line(format!("{name}[{at} >> {}u][{at} & {}u] = {value};", group.trailing_zeros(), group - 1)),
            Form::Atomic if dtype == DType::F32 => self.line(format!("atomicStore(&{name}[{at}], bitcast<u32>({value}));")),
            Form::Atomic => self.line(format!("atomicStore(&{name}[{at}], {value});")),
            Form::Short => match rep(dtype) {
                Rep::I32 => self.line(format!("{name}[{at}] = u16(bitcast<u32>({value}) & 0xffffu);")),
                Rep::Bool | Rep::U32 | Rep::F32 | Rep::I64 | Rep::U64 | Rep::F64 => self.line(format!("{name}[{at}] = u16({value});")),
            },
            Form::Halves { group } => self.line(format!("{} = f16(unpack2x16float({value}).x);", Self::half_at(&name, *group, at))),
            Form::Word if dtype == DType::Bool => self.line(format!("{name}[{at}] = u32({value});")),
            Form::Word => self.line(format!("{name}[{at}] = {value};")),
            Form::PackedAtomic | Form::Packed { .. } => {
                let bits = Self::bits(dtype, value);
                let (per_word, width) = (4 / dtype.size(), 8 * dtype.size());
                let store = self.masked_store(&name, width);
                self.line(format!("{store}({at} >> {0}u, ({at} & {1}u) * {width}u, {bits});", per_word.trailing_zeros(), per_word - 1));
            }
        }
        Ok(())
    }

    /// A function that writes `width` bits of a word.
    fn masked_store(&mut self, name: &str, width: usize) -> String {
        let mask = (1u64 << width) - 1;
        self.accessor(format!("store{width}_{name}"), |_| {
            format!(
                "(at: u32, shift: u32, bits: u32) {{
    // Nothing else writes these bits, so what is read here is what the exclusive-or meets.
    let old = (atomicLoad(&{name}[at]) >> shift) & {mask:#x}u;
    atomicXor(&{name}[at], (old ^ bits) << shift);
}}"
            )
        })
    }

    /// A [`Stmt::Store`].
    pub(super) fn store(&mut self, place: Place, index: Value, value: Value) -> Result<(), RenderError> {
        if let Some(variable) = self.local_variable(place, index)? {
            self.line(format!("{variable} = {};", v(value)));
            return Ok(());
        }
        let ty = self.program.ty(value);
        let whole_local = matches!(place, Place::Local(i) if self.program.locals.get(i as usize).is_some_and(|a| a.ty == ty));
        if let Place::Table(table, which) = place {
            return self.store_to_table(table, which, index, value);
        }
        let at = self.position(place, index);
        if whole_local {
            return self.store_scalar(place, &at, &v(value));
        }
        self.store_at(place, &at, value)
    }

    /// Stores at `at` (an expression of `u32`).
    pub(super) fn store_at(&mut self, place: Place, at: &str, value: Value) -> Result<(), RenderError> {
        let Type::Vector(dtype, lanes) = self.program.ty(value) else { return self.store_scalar(place, at, &v(value)) };
        let lanes = usize::from(lanes);
        let name = self.place_name(place);
        if !matches!(place, Place::Local(_)) {
            let store = self.store_of(place)?;
            let (per_word, width) = (4 / dtype.size().min(4), 8 * dtype.size());
            let word = |first: usize, n: usize| -> String {
                if halves::is_half(dtype) {
                    return halves::word(&v(value), lanes, first / 2);
                }
                let parts = (0..n).map(|k| format!("({} << {}u)", Self::bits(dtype, &format!("{}[{}]", v(value), first + k)), k * width));
                parts.collect::<Vec<_>>().join(" | ")
            };
            match &store.form {
                Form::Plain { group } if (2..=lanes).contains(group) => {
                    let shift = group.trailing_zeros();
                    if *group == lanes {
                        self.line(format!("{name}[{at} >> {shift}u] = {};", v(value)));
                        return Ok(());
                    }
                    for (k, part) in ["xy", "zw"].into_iter().enumerate() {
                        self.line(format!("{name}[({at} >> {shift}u) + {k}u] = {}.{part};", v(value)));
                    }
                    return Ok(());
                }
                Form::Halves { group: 4 } if lanes >= 4 => {
                    for k in 0..lanes / 4 {
                        let [low, high] = [2 * k, 2 * k + 1].map(|k| format!("unpack2x16float({})", halves::word(&v(value), lanes, k)));
                        self.line(format!("{name}[({at} >> 2u) + {k}u] = vec4<f16>(vec4<f32>({low}, {high}));"));
                    }
                    return Ok(());
                }
                form @ (Form::Packed { .. } | Form::PackedAtomic) => {
                    if lanes < per_word {
                        let store = self.masked_store(&name, lanes * width);
                        let (shift, part) = (per_word.trailing_zeros(), per_word - 1);
                        self.line(format!("{store}({at} >> {shift}u, ({at} & {part}u) * {width}u, {});", word(0, lanes)));
                        return Ok(());
                    }
                    let n_words = lanes / per_word;
                    let words: Vec<String> = (0..n_words).map(|k| word(k * per_word, per_word)).collect();
                    let shift = per_word.trailing_zeros();
                    if let Form::Packed { group } = form {
                        let shift = shift + group.trailing_zeros();
                        if *group == n_words && n_words > 1 {
                            let all = if halves::is_half(dtype) { v(value) } else { halves::of_words(&words) };
                            self.line(format!("{name}[{at} >> {shift}u] = {all};"));
                        } else {
                            for (k, words) in words.chunks(*group).enumerate() {
                                self.line(format!("{name}[({at} >> {shift}u) + {k}u] = {};", halves::of_words(words)));
                            }
                        }
                    } else {
                        for (k, word) in words.iter().enumerate() {
                            self.line(format!("atomicStore(&{name}[({at} >> {shift}u) + {k}u], {word});"));
                        }
                    }
                    return Ok(());
                }
                // Lane by lane.
                Form::Plain { .. } | Form::Atomic | Form::Short | Form::Word | Form::Halves { .. } => {}
            }
        }
        for lane in 0..lanes {
            let one = if halves::is_half(dtype) { halves::lane(&v(value), lanes, lane) } else { format!("{}[{lane}]", v(value)) };
            self.store_scalar(place, &format!("({at} + {lane}u)"), &one)?;
        }
        Ok(())
    }
}
