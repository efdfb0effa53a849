//! The signature against the target: names, parameters, arrays, threads.

use unigrad_scalar::DType;

use super::{At, Checker};
use crate::ir::{FragmentShape, Param, Prefetch, TensorMap, Type};

/// Threads that any compute unit has at once.
const MOST_AT_ONCE: u64 = 2048;
/// Bytes of the innermost dimension of a tensor map's boxes.
const MAP_LINE: u64 = 128;

fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_') && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl Checker<'_> {
    pub(super) fn signature(&mut self) {
        let (program, target) = (self.program, self.target);
        let text = program.to_string();
        let mut lines = text.lines();
        self.statement = lines.next().unwrap_or_default().to_owned();
        let mut names = vec![program.name.as_str()];
        self.name(&program.name, &[]);
        let (mut buffers, mut bytes) = (0u32, 0u32);
        for param in &program.params {
            let (Param::Buffer { name, dtype, .. }
            | Param::Table { name, dtype, .. }
            | Param::Scalar { name, dtype }
            | Param::ScalarTable { name, dtype, .. }) = param;
            self.name(name, &names);
            names.push(name);
            self.available(*dtype, At::Words(name));
            match param {
                Param::Buffer { write, atomic, .. } => {
                    if *atomic && !*write {
                        self.error(At::Words(name), format!("{name} is atomic but not written"), "let it be written too");
                    }
                    (buffers, bytes) = (buffers + 1, bytes.saturating_add(target.buffer_param_bytes()));
                }
                Param::Table { count, .. } => {
                    self.tables(name, *count);
                    buffers = buffers.saturating_add(*count);
                    bytes = bytes.saturating_add(count.saturating_mul(target.buffer_param_bytes()));
                }
                Param::Scalar { .. } => {
                    if dtype.compute() != *dtype {
                        self.error(At::Words(name), format!("{name} is {dtype}, a storage format"), "pass it as f32");
                    }
                    bytes = bytes.saturating_add(dtype.size().max(4) as u32);
                }
                Param::ScalarTable { count, .. } => {
                    self.tables(name, *count);
                    if dtype.size() < 4 {
                        self.error(At::Words(name), format!("{name} has entries of {dtype}"), "use a type of 4 or 8 bytes");
                    }
                    bytes = bytes.saturating_add(count.saturating_mul(dtype.size() as u32));
                }
            }
        }
        let threads = program.block.iter().fold(1, |threads: u64, n| threads.saturating_mul((*n).into()));
        if threads == 0 || threads > target.max_threads.into() {
            let cause = format!("{threads} threads in a group, the target takes 1 to {}", target.max_threads);
            self.error(At::Words("threads"), cause, "let a group have fewer threads that each do more");
        }
        if buffers > target.max_buffers {
            let cause = format!("{buffers} buffers, the target takes {}", target.max_buffers);
            self.error(At::Line, cause, "divide the kernel, or put buffers next to each other in one");
        }
        if bytes > target.max_param_bytes {
            let cause = format!("{bytes} bytes of parameters, the target takes {}", target.max_param_bytes);
            self.error(At::Line, cause, "divide the kernel, or pass numbers in a buffer");
        }
        let mut shared_bytes = 0usize;
        let arrays = program.shared.iter().map(|array| (array, true)).chain(program.locals.iter().map(|array| (array, false)));
        for (array, is_shared) in arrays {
            self.next_line();
            self.statement = lines.next().unwrap_or_default().trim().to_owned();
            self.name(&array.name, &names);
            names.push(&array.name);
            if array.len == 0 {
                self.error(At::Words(&array.name), format!("{} has no elements", array.name), "leave it out, or give it 1");
            }
            if is_shared && !matches!(array.ty, Type::Scalar(_)) {
                let cause = format!("a shared array holds scalars, not {}", array.ty);
                self.error(At::Words(&array.name), cause, "share the scalars, and load vectors of them");
            }
            self.type_available(array.ty, At::Words(&array.name));
            if is_shared {
                let bytes = (array.len as usize).saturating_mul(array.ty.dtype().size() * array.ty.lanes());
                shared_bytes = shared_bytes.saturating_add(bytes);
                if shared_bytes > target.shared_bytes {
                    let cause = format!("{shared_bytes} bytes of shared arrays with this one, the target has {}", target.shared_bytes);
                    self.error(At::Words(&array.name), cause, "use smaller tiles");
                }
            }
        }
        if let Some(Prefetch { param, rows, width, pitch, .. }) = program.prefetch {
            self.next_line();
            self.statement = lines.next().unwrap_or_default().trim().to_owned();
            if !matches!(program.params.get(param as usize), Some(Param::Buffer { .. })) {
                self.error(At::Line, "what is asked for ahead is no buffer", "name one of the parameters");
            }
            if width == 0 || width > pitch || rows == 0 {
                let cause = format!("{width} bytes of each of {rows} rows, which have {pitch}");
                self.error(At::Line, cause, "ask for rows, and for a part of each");
            }
        }
        for map in &program.tensor_maps {
            self.next_line();
            self.statement = lines.next().unwrap_or_default().trim().to_owned();
            self.tensor_map(map);
        }
        if let Some(workgroups) = program.at_once {
            self.next_line();
            self.statement = lines.next().unwrap_or_default().trim().to_owned();
            if workgroups == 0 || u64::from(workgroups) * threads > MOST_AT_ONCE {
                let cause = format!("{workgroups} workgroups of {threads} threads at once");
                self.error(At::Line, cause, format!("ask for 1 at least, and for {MOST_AT_ONCE} threads at most"));
            }
        }
        if let Some(workgroups) = program.cluster {
            self.next_line();
            self.statement = lines.next().unwrap_or_default().trim().to_owned();
            let most = target.clusters();
            if workgroups == 0 || workgroups > most {
                let cause = format!("a cluster of {workgroups} workgroups, the target takes up to {most}");
                self.error(At::Line, cause, "let workgroups meet between launches instead");
            }
        }
    }

    /// What the driver's `cuTensorMapEncodeTiled` refuses.
    fn tensor_map(&mut self, map: &TensorMap) {
        if !self.target.tensor_maps() {
            self.error(At::Line, "the target has no tensor maps", "copy with loads and stores");
        }
        let Some(Param::Buffer { dtype: dtype @ (DType::F16 | DType::BF16 | DType::F32), .. }) =
            self.program.params.get(map.param as usize)
        else {
            return self.error(At::Line, "a tensor map of what is no buffer of f16, bf16 or f32", "name one of the parameters");
        };
        if map.rounded && *dtype != DType::F32 {
            self.error(At::Line, format!("{dtype} rounded to TF32"), "round f32");
        }
        let bytes = |elements: u64| elements.saturating_mul(dtype.size() as u64);
        let [inner, outer @ ..] = map.dims.as_slice() else {
            return self.error(At::Line, "a tensor map without dimensions", "give 1 to 5");
        };
        if outer.len() > 4 || inner.stride != 1 || bytes(inner.boxed.into()) != MAP_LINE {
            let cause =
                format!("{} dimensions, the innermost with a stride of {} and boxes of {}", map.dims.len(), inner.stride, inner.boxed);
            self.error(At::Line, cause, format!("give 1 to 5, the innermost with a stride of 1 and boxes of {MAP_LINE} bytes"));
        }
        if map.dims.iter().any(|dim| dim.size == 0 || dim.size > 1 << 32 || dim.boxed == 0 || dim.boxed > 256) {
            self.error(At::Line, "a dimension's size or box is 0 or too large", "sizes go up to 2^32, boxes to 256");
        }
        let is_odd = |elements: u64| !bytes(elements).is_multiple_of(16) || bytes(elements) >= 1 << 40;
        if is_odd(map.offset) || outer.iter().any(|dim| is_odd(dim.stride)) {
            self.error(At::Line, "an offset or a stride that is no multiple of 16 bytes, or 2^40 bytes", "copy with loads and stores");
        }
    }

    fn name(&mut self, name: &str, names: &[&str]) {
        if !is_identifier(name) {
            self.error(At::Words(name), format!("`{name}` is not an identifier"), "use letters, digits and `_`, and begin with no digit");
        }
        if names.contains(&name) {
            self.error(At::Words(name), format!("the name `{name}` is taken"), "give every parameter and array a name of its own");
        }
    }

    fn tables(&mut self, name: &str, count: u32) {
        if !self.target.tables {
            self.error(At::Words(name), "the target has no tables", "pass each entry as a parameter, or make one launch for each");
        }
        if count == 0 {
            self.error(At::Words(name), format!("the table {name} is empty"), "leave it out");
        }
    }

    /// Whether the target has a type.
    pub(super) fn available(&mut self, dtype: DType, at: At<'_>) {
        if dtype == DType::F64 && !self.target.f64 {
            self.error(at, "the target has no f64", "compute in f32, or choose another device");
        }
        if dtype.only_stores() {
            self.error(at, format!("programs have no {dtype}"), "load codes as u8, and make numbers of them by shifts and a bitcast");
        }
    }

    /// Whether a type is well formed, and the target has it.
    pub(super) fn type_available(&mut self, ty: Type, at: At<'_>) {
        self.available(ty.dtype(), at);
        match ty {
            Type::Scalar(_) => {}
            Type::Vector(dtype, lanes) => {
                if !matches!(lanes, 2 | 4 | 8) || usize::from(lanes) * dtype.size() > 16 {
                    self.error(at, format!("there is no vector {ty}"), "use 2, 4 or 8 lanes and at most 16 bytes");
                }
            }
            Type::Fragment(fragment) => {
                if !self.target.fragments.contains(&fragment.shape) {
                    let FragmentShape { m, n, k, input, sum } = fragment.shape;
                    let cause = format!("the target multiplies no fragments {m}x{n}x{k} of {input} with sums in {sum}");
                    self.error(at, cause, "choose one of its `fragments`, or multiply without them");
                }
            }
        }
    }
}
