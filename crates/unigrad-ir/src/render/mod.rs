//! Renderers: a program's text in a dialect, ready for that dialect's run-time compiler.
//!
//! In: a program, the target it was validated for. Out: a [`Source`], or a [`RenderError`] that names what the dialect lacks.
//! Always: the text includes no header and is a function of program and target alone, so it can be a cache key.
//! Never: optimizes; what is rendered is what the program says, in its order.

mod clike;
mod collect;
mod cuda;
mod hip;
mod msl;
mod opencl;
mod targets;
pub mod wgsl;

pub use collect::collect;
pub use targets::offline_targets;

use crate::{Dialect, MAX_NESTING, Program, Stmt, Target, Value};

/// A program as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// The whole translation unit.
    pub text: String,
    /// The name of the entry point in it.
    pub entry: String,
    /// What the compiler must be told for the text to mean what the program means.
    pub options: Vec<String>,
    /// Bytes of shared memory that the launch must ask for, where the text does not declare them itself.
    pub dynamic_shared: usize,
    /// Whether the program waits for what was launched before it, ahead of its first access to memory, so that it may be launched early.
    pub waits: bool,
}

/// Why a program has no text in a dialect.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}: {program}{}: {cause}\n help: {help}", dialect.name(), at.map(|v| format!(" at %{}", v.0)).unwrap_or_default())]
pub struct RenderError {
    /// The language.
    pub dialect: Dialect,
    /// The program's name.
    pub program: String,
    /// The instruction, where it is one.
    pub at: Option<Value>,
    /// What is not there.
    pub cause: String,
    /// What to do instead.
    pub help: String,
}

/// The program in the target's dialect.
pub fn render(program: &Program, target: &Target) -> Result<Source, RenderError> {
    let refuse = |cause: String, help: &str| RenderError {
        dialect: target.dialect,
        program: program.name.clone(),
        at: None,
        cause,
        help: help.to_owned(),
    };
    if program.is_too_deep() {
        return Err(refuse(format!("blocks stand more than {MAX_NESTING} deep in each other"), "join conditions, or make two kernels"));
    }
    match target.dialect {
        Dialect::OpenCl if opencl::takes_ptx(target) => clike::render(program, target, &opencl::OPENCL_PTX),
        Dialect::OpenCl => clike::render(program, target, &opencl::OPENCL),
        Dialect::Cuda => clike::render(program, target, &cuda::CUDA),
        Dialect::Hip => clike::render(program, target, &hip::HIP),
        Dialect::Msl => clike::render(program, target, &msl::MSL),
        Dialect::Wgsl => wgsl::source(program, target),
        Dialect::Ir => Err(refuse("no renderer of this dialect".to_owned(), "run the program in the interpreter")),
    }
}

/// Calls `f` with every statement of a block and of those in it.
fn each_stmt(block: &[Stmt], f: &mut dyn FnMut(&Stmt)) {
    for stmt in block {
        f(stmt);
        match stmt {
            Stmt::If { then, otherwise, .. } => [then, otherwise].into_iter().for_each(|block| each_stmt(block, f)),
            Stmt::For { body, .. } => each_stmt(body, f),
            Stmt::While { check, body, .. } => [check, body].into_iter().for_each(|block| each_stmt(block, f)),
            Stmt::Let(_) | Stmt::Store { .. } | Stmt::FragmentStore { .. } | Stmt::Barrier | Stmt::Raw(_) => {}
        }
    }
}

/// A [`crate::Raw`] text with its placeholders filled in; or what is wrong with it.
pub(crate) fn fill_raw(text: &str, values: &[String], places: &[String]) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let brace = &after[..1];
        if after[1..].starts_with(brace) {
            out.push_str(brace);
            rest = &after[2..];
            continue;
        }
        let end = after.find('}').filter(|_| brace == "{").ok_or_else(|| format!("a lone `{brace}` in raw text"))?;
        let name = &after[1..end];
        let found = name.strip_prefix('v').map(|n| (values, n)).or_else(|| name.strip_prefix('p').map(|n| (places, n)));
        let found = found.and_then(|(list, n)| list.get(n.parse::<usize>().ok()?));
        out.push_str(found.ok_or_else(|| format!("`{{{name}}}` in raw text, of which there is none"))?);
        rest = &after[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}
