//! Kernel tests that are text: every `tests/programs/*.ir`.
//!
//! A file holds kernels, and directives in comments:
//! - `; test validate, interpret, render(cuda, opencl)`: what is done with every kernel of the file. `parse` alone: it is text that is none.
//! - `; run: name([1, 2], [0, 0], n=2) grid 2 == [3, 7]`: one argument per parameter (`[..]` a buffer, `[[..], [..]]` a table), then what the
//!   written buffers hold afterwards; or `== fault words` for what the interpreter must report.
//! - `; error: words` at the end of a line: the validator (or the parser) must report this there. All errors must be announced.

use std::{fs, path::Path};

use unigrad_ir::{
    Dialect, Param, Parsed, Target,
    interpret::{self, Argument, Span},
    offline_targets, parse_all, render, validate,
};
use unigrad_scalar::{DType, Literal};

/// The directive of this name in a line.
fn directive<'t>(line: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = line.split_once(&format!("; {name}"))?;
    Some(rest.trim())
}

struct File<'t> {
    name: String,
    text: &'t str,
    failures: Vec<String>,
}

impl File<'_> {
    fn fail(&mut self, line: usize, message: impl AsRef<str>) {
        self.failures.push(format!("{}:{line}: {}", self.name, message.as_ref()));
    }

    /// Lines with `; error:`, and the words.
    fn expected(&self) -> Vec<(usize, &str)> {
        self.text.lines().enumerate().filter_map(|(n, line)| Some((n + 1, directive(line, "error:")?))).collect()
    }

    /// Holds what was reported (line and words) against what the file announces.
    fn compare(&mut self, found: &[(usize, String)]) {
        let expected: Vec<(usize, String)> = self.expected().into_iter().map(|(line, words)| (line, words.to_owned())).collect();
        for (line, words) in &expected {
            if !found.iter().any(|(at, cause)| at == line && cause.contains(words.as_str())) {
                let here: Vec<_> = found.iter().filter(|(at, _)| at == line).map(|(_, cause)| cause).collect();
                self.fail(*line, format!("no error `{words}`, only {here:?}"));
            }
        }
        for (line, cause) in found {
            if !expected.iter().any(|(at, words)| at == line && cause.contains(words.as_str())) {
                self.fail(*line, format!("unexpected: {cause}"));
            }
        }
    }

    fn run(&mut self) {
        let Some(tests) = self.text.lines().find_map(|line| directive(line, "test ").map(str::to_owned)) else {
            return self.fail(1, "no `; test` line");
        };
        let kernels = match parse_all(self.text) {
            Ok(_) if tests == "parse" => return self.fail(1, "it parses"),
            Ok(kernels) => kernels,
            Err(error) if tests == "parse" => return self.compare(&[(error.line, error.cause)]),
            Err(error) => return self.fail(error.line, error.to_string()),
        };
        let shape = unigrad_ir::FragmentShape { m: 16, n: 16, k: 16, input: DType::F16, sum: DType::F32 };
        let target = Target { fragments: vec![shape], ..Target::interpreter() };
        let mut found = Vec::new();
        for Parsed { program, lines } in &kernels {
            let again = program.to_string().parse();
            if again.as_ref() != Ok(program) {
                self.fail(lines[0], format!("it reads back as something else: {again:?}"));
            }
            let errors = validate(program, &target).err().unwrap_or_default();
            found.extend(errors.into_iter().map(|error| (lines[error.line - 1], error.cause)));
        }
        if tests.contains("validate") {
            self.compare(&found);
        }
        if let Some((_, dialects)) = tests.split_once("render(") {
            let dialects: Vec<&str> = dialects.trim_end_matches(')').split(',').map(str::trim).collect();
            for dialect in dialects {
                let Some(dialect) = Dialect::ALL.into_iter().find(|d| d.name() == dialect) else {
                    self.fail(1, format!("no dialect `{dialect}`"));
                    continue;
                };
                for target in targets(dialect) {
                    for Parsed { program, lines } in &kernels {
                        let errors = validate(program, &target).err().unwrap_or_default();
                        errors.into_iter().for_each(|error| self.fail(lines[error.line - 1], format!("{}: {error}", dialect.name())));
                        match render(program, &target) {
                            Ok(source) if source.text.contains(&source.entry) => {}
                            Ok(_) => self.fail(lines[0], format!("{}: no entry point", dialect.name())),
                            Err(error) => self.fail(lines[0], error.to_string()),
                        }
                    }
                }
            }
        }
        let runs: Vec<(usize, String)> =
            self.text.lines().enumerate().filter_map(|(n, line)| Some((n + 1, directive(line, "run:")?.to_owned()))).collect();
        if tests.contains("interpret") == runs.is_empty() {
            self.fail(1, "`interpret` and `; run:` lines go together");
        }
        for (line, call) in runs {
            if let Err(error) = execute(&call, &kernels, &target) {
                self.fail(line, error);
            }
        }
    }
}

/// Devices of a dialect: those that are compiled for elsewhere, otherwise a plain one.
fn targets(dialect: Dialect) -> Vec<Target> {
    let mut targets = offline_targets();
    targets.retain(|target| target.dialect == dialect);
    if targets.is_empty() {
        targets.push(Target { dialect, subgroup: None, f64: false, atomic_i64: false, tables: false, ..Target::interpreter() });
    }
    targets
}

/// Runs `name(args) grid 2 == results`.
fn execute(call: &str, kernels: &[Parsed], target: &Target) -> Result<(), String> {
    let (call, wanted) = call.split_once("==").ok_or("no `==`")?;
    let (name, rest) = call.split_once('(').ok_or("no arguments")?;
    let (arguments, grid) = rest.rsplit_once(')').ok_or("no `)`")?;
    let program = &kernels.iter().find(|parsed| parsed.program.name == name.trim()).ok_or("no such kernel")?.program;
    let mut extents = [1; 3];
    for (at, n) in grid.trim().trim_start_matches("grid").split('x').map(str::trim).filter(|n| !n.is_empty()).enumerate() {
        extents[at] = n.parse().map_err(|_| format!("`{grid}` is no grid"))?;
    }
    let arguments = split(arguments);
    if arguments.len() != program.params.len() {
        return Err(format!("{} arguments for {} parameters", arguments.len(), program.params.len()));
    }
    let (mut memory, mut passed, mut written) = (Vec::new(), Vec::new(), Vec::new());
    for (param, text) in program.params.iter().zip(&arguments) {
        // `n=2` is 2.
        let text = text.strip_prefix(&format!("{}=", param.name())).unwrap_or(text);
        let mut keep = |dtype: DType, text: &str, write: bool| -> Result<Span, String> {
            let bytes = bytes(dtype, text)?;
            let span = Span { allocation: memory.len(), offset: 0, len: bytes.len() };
            written.extend(write.then_some((dtype, memory.len())));
            memory.push(bytes);
            Ok(span)
        };
        passed.push(match param {
            Param::Buffer { dtype, write, .. } => Argument::Buffer(keep(*dtype, text, *write)?),
            Param::Table { dtype, write, .. } => {
                Argument::Table(split(inside(text)?).iter().map(|text| keep(*dtype, text, *write)).collect::<Result<_, _>>()?)
            }
            Param::Scalar { dtype, .. } => Argument::Scalar(literal(*dtype, text)?.to_raw()),
            Param::ScalarTable { dtype, .. } => {
                let words = split(inside(text)?).iter().map(|text| Ok(literal(*dtype, text)?.to_raw())).collect::<Result<_, String>>()?;
                Argument::ScalarTable(words)
            }
        });
    }
    let result = interpret::run(program, target, extents, &mut memory, &passed);
    if let Some(words) = wanted.trim().strip_prefix("fault ") {
        return match result {
            Ok(()) => Err("no fault".to_owned()),
            Err(fault) if fault.to_string().contains(words.trim()) => Ok(()),
            Err(fault) => Err(fault.to_string()),
        };
    }
    result.map_err(|fault| fault.to_string())?;
    let wanted = split(wanted);
    if wanted.len() != written.len() {
        return Err(format!("{} results for {} written buffers", wanted.len(), written.len()));
    }
    for ((dtype, at), wanted) in written.into_iter().zip(wanted) {
        if memory[at] != bytes(dtype, wanted)? {
            let found = memory[at].chunks(dtype.size()).map(|raw| {
                let mut word = [0; 8];
                word[..raw.len()].copy_from_slice(raw);
                Literal::from_raw(dtype, u64::from_le_bytes(word))
            });
            return Err(format!("{:?}, expected {wanted}", found.collect::<Vec<_>>()));
        }
    }
    Ok(())
}

/// The parts between commas that are in no brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[from..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

fn inside(text: &str) -> Result<&str, String> {
    let inside = text.trim().strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    inside.ok_or_else(|| format!("`{text}` has no brackets"))
}

fn literal(dtype: DType, text: &str) -> Result<Literal, String> {
    let number = |text: &str| text.parse::<f64>().map_err(|_| format!("`{text}` is no {dtype}"));
    Ok(match text {
        "true" => Literal::one(dtype),
        "false" => Literal::zero(dtype),
        _ if dtype.is_float() => Literal::float(dtype, number(text)?),
        _ => Literal::int(dtype, text.parse().map_err(|_| format!("`{text}` is no {dtype}"))?),
    })
}

/// A buffer's bytes from `[1, 2]`.
fn bytes(dtype: DType, text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    for text in split(inside(text)?) {
        bytes.extend_from_slice(&literal(dtype, text)?.to_raw().to_le_bytes()[..dtype.size()]);
    }
    Ok(bytes)
}

#[test]
fn programs_in_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut paths: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "ir"));
    paths.sort();
    let mut failures = Vec::new();
    for path in &paths {
        let text = fs::read_to_string(path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut file = File { name, text: &text, failures: Vec::new() };
        file.run();
        failures.append(&mut file.failures);
    }
    println!("{} files", paths.len());
    assert!(paths.len() >= 12, "the files are gone");
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}
