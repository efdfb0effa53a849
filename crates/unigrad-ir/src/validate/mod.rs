//! What holds for every program that is rendered or executed.
//!
//! Checked: the type of every instruction and of what it uses; that values are made once, before they are used, and visible where they are;
//! how deep blocks stand in each other; kinds and names of parameters and arrays, and that stores and atomics go where they may; constant indices against array lengths; the
//! target's limits on threads, shared memory, parameters and buffers, and its `F64`, subgroups, atomics, tables and fragments;
//! that all threads of a group reach its barriers, and all threads of a subgroup its operations (see [`spread`]).
//! Not checked: indices computed at run time, races, reads of memory that was not written, whether loops end. The interpreter does.
//! Always: all errors are gathered, each points at its statement and says the remedy.

mod limits;
mod rules;
mod spread;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::{
    Target,
    ir::{Block, MAX_NESTING, Op, Program, Stmt, Type, Value},
    text,
};
use spread::{Level, Spreads};

/// What is wrong with a program, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invalid {
    /// The program's name.
    pub program: String,
    /// The line of the program's text form, from 1.
    pub line: usize,
    /// That line.
    pub statement: String,
    /// The columns of it that the arrow points at: first (from 0) and number.
    pub columns: (usize, usize),
    /// What is wrong.
    pub cause: String,
    /// What to do.
    pub help: String,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Invalid { program, line, statement, columns: (first, count), cause, help } = self;
        let number = format!("{program}:{line}: ");
        writeln!(f, "{number}{statement}")?;
        writeln!(f, "{:1$}{2} {cause}", "", number.len() + first, "^".repeat((*count).max(1)))?;
        write!(f, " help: {help}")
    }
}

impl std::error::Error for Invalid {}

impl Invalid {
    /// Raw words for the IR that are none of its text.
    pub(crate) fn of_raw(program: &Program, error: &text::ParseError) -> Invalid {
        Invalid::of_all(program, format!("raw words of the dialect ir: {}", error.cause), error.help.clone())
    }

    /// Blocks within blocks beyond the limit.
    pub(crate) fn of_nesting(program: &Program) -> Invalid {
        let cause = format!("blocks stand more than {MAX_NESTING} deep in each other");
        Invalid::of_all(program, cause, "join conditions, or make two kernels".to_owned())
    }

    /// What the program's maker found that cannot be.
    fn of_mistake(program: &Program, cause: &str) -> Invalid {
        Invalid::of_all(program, cause.to_owned(), "this is a mistake of the compiler; please report it".to_owned())
    }

    /// About the program as a whole.
    fn of_all(program: &Program, cause: String, help: String) -> Invalid {
        let statement = format!("kernel {}", program.name);
        let columns = (0, statement.len());
        Invalid { program: program.name.clone(), line: 1, statement, columns, cause, help }
    }
}

/// Checks a program against the rules of the IR and the limits of a target.
///
/// ```
/// use unigrad_ir::{Builder, Target, validate};
/// use unigrad_scalar::DType;
/// let mut b = Builder::new("halve", [32, 1, 1]);
/// let y = b.buffer("y", DType::F32);
/// let (i, two) = (b.global_index(), b.u32(2));
/// b.store(y, i, two);
/// let errors = validate(&b.finish(), &Target::interpreter()).unwrap_err();
/// assert_eq!(errors.len(), 2); // `y` is read only, and holds `f32`
/// ```
pub fn validate(program: &Program, target: &Target) -> Result<(), Vec<Invalid>> {
    // Before anything walks the blocks.
    if program.is_too_deep() {
        return Err(vec![Invalid::of_nesting(program)]);
    }
    let mut checker = Checker {
        program,
        target,
        spreads: spread::analyse(program, target),
        made: vec![false; program.insts.len()],
        visible: vec![false; program.insts.len()],
        line: 1,
        statement: String::new(),
        errors: program.mistakes.iter().map(|cause| Invalid::of_mistake(program, cause)).collect(),
    };
    checker.signature();
    checker.block(&program.body, Level::Uniform);
    if checker.errors.is_empty() { Ok(()) } else { Err(checker.errors) }
}

/// What an error points at.
#[derive(Clone, Copy)]
enum At<'a> {
    /// The whole line.
    Line,
    /// A value in it.
    Value(Value),
    /// Words in it.
    Words(&'a str),
}

struct Checker<'a> {
    program: &'a Program,
    target: &'a Target,
    spreads: Spreads,
    /// Per value: whether a statement so far made it, and whether it is visible here.
    made: Vec<bool>,
    visible: Vec<bool>,
    /// Line of the text form, and what stands there.
    line: usize,
    statement: String,
    errors: Vec<Invalid>,
}

impl Checker<'_> {
    fn error(&mut self, at: At<'_>, cause: impl Into<String>, help: impl Into<String>) {
        let words = match at {
            At::Line => String::new(),
            At::Value(value) => value.to_string(),
            At::Words(words) => words.to_owned(),
        };
        let columns = find(&self.statement, &words).unwrap_or((0, self.statement.chars().count()));
        self.errors.push(Invalid {
            program: self.program.name.clone(),
            line: self.line,
            statement: self.statement.clone(),
            columns,
            cause: cause.into(),
            help: help.into(),
        });
    }

    fn next_line(&mut self) {
        self.line += 1;
    }

    /// The type of a value that may be used here; an error and `None` otherwise.
    fn used(&mut self, value: Value) -> Option<Type> {
        let Some(inst) = self.program.insts.get(value.index()) else {
            self.error(At::Value(value), "there is no such value", "use values that the builder gave");
            return None;
        };
        if !self.visible[value.index()] {
            let (cause, help) = if self.made[value.index()] {
                ("is not visible here: the block that made it has ended", "make it in a block around both, or store it to a local array")
            } else {
                ("is used before it is made", "put the statement that makes it in front of this one")
            };
            self.error(At::Value(value), format!("{value} {cause}"), help);
        }
        Some(inst.ty)
    }

    /// A value comes into being; `within` collects what its block makes.
    fn make(&mut self, value: Value, within: &mut Vec<Value>) {
        if let Some(made) = self.made.get_mut(value.index()) {
            if std::mem::replace(made, true) {
                self.error(At::Value(value), format!("{value} is made a second time"), "make a new value, or use a local array");
            }
            self.visible[value.index()] = true;
            within.push(value);
        } else {
            self.error(At::Value(value), "there is no such value", "use values that the builder gave");
        }
    }

    fn block(&mut self, block: &Block, control: Level) {
        let within = self.open_block(block, control);
        self.close(within);
    }

    fn close(&mut self, within: Vec<Value>) {
        within.into_iter().for_each(|value| self.visible[value.index()] = false);
    }

    /// Checks a block; what it made stays visible until the caller closes it.
    fn open_block(&mut self, block: &Block, control: Level) -> Vec<Value> {
        let mut within = Vec::new();
        for stmt in block {
            self.statement = text::one_line(self.program, stmt);
            self.next_line();
            match stmt {
                Stmt::Let(value) => {
                    if let Some(inst) = self.program.insts.get(value.index()) {
                        self.instruction(inst, control);
                    }
                    self.make(*value, &mut within);
                }
                Stmt::Store { place, index, value } => self.store(*place, *index, *value),
                Stmt::FragmentStore { place, index, stride, value } => self.fragment_store(*place, [*index, *stride, *value], control),
                Stmt::Barrier => {
                    if control > Level::Uniform {
                        let help = "hoist the barrier out of the branch or loop and mask the loads and stores instead";
                        self.error(At::Line, "not all threads of the group reach this barrier", help);
                    }
                }
                Stmt::If { condition, then, otherwise } => {
                    self.condition(*condition);
                    let control = control.max(self.spreads.value(*condition));
                    self.block(then, control);
                    if !otherwise.is_empty() {
                        self.next_line();
                        self.block(otherwise, control);
                    }
                    self.next_line();
                }
                Stmt::For { counter, start, end, step, unroll, body } => {
                    self.bounds(*counter, [*start, *end, *step], *unroll);
                    let mut around = Vec::new();
                    self.make(*counter, &mut around);
                    let control = [start, end, step].into_iter().fold(control, |level, v| level.max(self.spreads.value(*v)));
                    self.block(body, control);
                    self.close(around);
                    self.next_line();
                }
                Stmt::While { check, condition, body } => {
                    let control = control.max(self.spreads.value(*condition));
                    let made = self.open_block(check, control);
                    self.next_line();
                    self.statement = format!("}} while {condition} {{");
                    self.condition(*condition);
                    self.close(made);
                    self.block(body, control);
                    self.next_line();
                }
                Stmt::Raw(raw) => self.raw(raw),
            }
        }
        within
    }

    fn condition(&mut self, condition: Value) {
        if let Some(ty) = self.used(condition)
            && ty != Type::Scalar(unigrad_scalar::DType::Bool)
        {
            self.error(At::Value(condition), format!("{condition} is {ty}, and a condition is bool"), "compare it with something");
        }
    }

    fn bounds(&mut self, counter: Value, bounds: [Value; 3], unroll: bool) {
        let Some(inst) = self.program.insts.get(counter.index()) else { return };
        if inst.op != Op::Counter {
            self.error(
                At::Value(counter),
                format!("{counter} is not a counter"),
                "let the loop have an instruction `Op::Counter` of its own",
            );
        }
        let ty = inst.ty;
        if !matches!(ty, Type::Scalar(dtype) if dtype.is_int()) {
            self.error(At::Value(counter), format!("a counter is an integer, not {ty}"), "count in u32 or i32");
        }
        for bound in bounds {
            if let Some(found) = self.used(bound)
                && found != ty
            {
                self.error(At::Value(bound), format!("{bound} is {found}, the counter {ty}"), "cast it to the counter's type");
            }
            if unroll && self.constant(bound).is_none() {
                self.error(At::Value(bound), format!("{bound} is not a constant"), "unroll only loops with constant bounds");
            }
        }
        let [_, _, step] = bounds;
        if self.constant(step).is_some_and(|step| step <= 0) {
            self.error(At::Value(step), "the step is not greater than 0", "count upwards, and take the distance from the end");
        }
        if self.spreads.value(step) > Level::Uniform {
            self.error(At::Value(step), "the step differs between threads", "let all threads of the group count in the same steps");
        }
    }

    /// The integer constant that a value is.
    fn constant(&self, value: Value) -> Option<i64> {
        let Op::Const(literal) = self.program.insts.get(value.index())?.op else { return None };
        literal.dtype().is_int().then(|| literal.as_i64())
    }
}

/// First column and number of columns of `words` in `line`, as whole words.
fn find(line: &str, words: &str) -> Option<(usize, usize)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    // A value's own definition is not where it is used, so the right side comes first.
    let from = line.find(" = ").map_or(0, |at| at + 3);
    let search = |from: usize| {
        line[from..].match_indices(words).map(|(at, _)| from + at).find(|at| {
            let after = line[at + words.len()..].chars().next();
            let before = line[..*at].chars().next_back();
            !words.is_empty() && !after.is_some_and(is_word) && (words.starts_with('%') || !before.is_some_and(is_word))
        })
    };
    let at = search(from).or_else(|| search(0))?;
    Some((line[..at].chars().count(), words.chars().count()))
}
