//! Programs from text.

use super::ParseError;
use std::{collections::HashMap, str::FromStr};

use unigrad_scalar::{BinaryOp, DType, Literal, ReduceOp, UnaryOp};

use super::{
    lex::{Kind, Token, tokens},
    print::AXES,
};
use crate::{
    Dialect,
    ir::{
        Array, AtomicOp, Block, Fragment, FragmentRole, FragmentShape, Inst, MAX_NESTING, MapDim, Op, Param, Place, Prefetch, Program, Raw,
        Stmt, SubgroupOp, TensorMap, Type, Value,
    },
};

/// A program and where its lines come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parsed {
    /// The program.
    pub program: Program,
    /// Per line of the program's text form, the line (from 1) that it was read from.
    pub lines: Vec<usize>,
}

impl FromStr for Program {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Program, ParseError> {
        parse(text).map(|parsed| parsed.program)
    }
}

/// Reads one program. Blocks that stand deeper in each other than [`MAX_NESTING`] are an error, like any other text that is no program.
pub fn parse(text: &str) -> Result<Parsed, ParseError> {
    let mut all = parse_all(text)?;
    match (all.pop(), all.is_empty()) {
        (Some(parsed), true) => Ok(parsed),
        _ => Err(ParseError::new((1, 1), "the text is not one kernel", "write `kernel name(..) threads(..) { .. }` once")),
    }
}

/// Reads all programs of a text.
pub fn parse_all(text: &str) -> Result<Vec<Parsed>, ParseError> {
    let tokens = tokens(text)?;
    let (mut at, mut all) = (0, Vec::new());
    while tokens[at].kind != Kind::End {
        let mut parser = Parser {
            tokens: &tokens,
            at,
            program: Program {
                name: String::new(),
                params: Vec::new(),
                shared: Vec::new(),
                locals: Vec::new(),
                block: [1; 3],
                insts: Vec::new(),
                body: Vec::new(),
                mistakes: Vec::new(),
                prefetch: None,
                tensor_maps: Vec::new(),
                at_once: None,
                cluster: None,
            },
            names: HashMap::new(),
            order: Vec::new(),
            lines: Vec::new(),
            depth: 0,
        };
        parser.kernel()?;
        at = parser.at;
        all.push(parser.finish());
    }
    Ok(all)
}

/// A program whose raw words for [`Dialect::Ir`] are what they say: each an instruction (without its result), or a statement.
pub(crate) fn expand_raw(program: &Program) -> Result<Program, ParseError> {
    let mut expanded = program.clone();
    for inst in &mut expanded.insts {
        if let Op::Raw(raw) = &inst.op {
            let (op, mut block) = one(program, raw, |parser, block| parser.instruction(block))?;
            if op.ty != inst.ty || block.pop().is_some() {
                return Err(ParseError::new(
                    (1, 1),
                    "raw words of the IR are one instruction of the stated type",
                    "pass numbers as values",
                ));
            }
            inst.op = op.op;
        }
    }
    expand_block(program, &mut expanded.body)?;
    Ok(expanded)
}

fn expand_block(program: &Program, block: &mut Block) -> Parse<()> {
    for stmt in block {
        match stmt {
            Stmt::Raw(raw) => {
                let ((), made) = one(program, raw, |parser, block| parser.statement(block))?;
                match <[Stmt; 1]>::try_from(made) {
                    Ok([only]) if !matches!(only, Stmt::Let(_)) => *stmt = only,
                    _ => {
                        let help = "pass numbers as values, and make values by raw instructions";
                        return Err(ParseError::new((1, 1), "raw words of the IR are one statement that makes no value", help));
                    }
                }
            }
            Stmt::If { then, otherwise, .. } => {
                expand_block(program, then)?;
                expand_block(program, otherwise)?;
            }
            Stmt::For { body, .. } => expand_block(program, body)?,
            Stmt::While { check, body, .. } => {
                expand_block(program, check)?;
                expand_block(program, body)?;
            }
            Stmt::Let(_) | Stmt::Store { .. } | Stmt::FragmentStore { .. } | Stmt::Barrier => {}
        }
    }
    Ok(())
}

/// Reads raw words where `program` is known, up to their end.
fn one<T>(program: &Program, raw: &Raw, read: impl FnOnce(&mut Parser<'_>, &mut Block) -> Parse<T>) -> Parse<(T, Block)> {
    let words = raw.texts.iter().find(|(dialect, _)| *dialect == Dialect::Ir).map(|(_, words)| words.as_str()).unwrap_or_default();
    let values: Vec<String> = raw.values.iter().map(Value::to_string).collect();
    let places: Vec<String> = raw.places.iter().map(|place| super::place_name(program, *place)).collect();
    let text = crate::render::fill_raw(words, &values, &places)
        .map_err(|cause| ParseError::new((1, 1), cause, "name values `{v0}` and places `{p0}`"))?;
    let tokens = tokens(&text)?;
    let names = (0..program.insts.len() as u32).map(|at| (at.to_string(), Value(at))).collect();
    let mut parser = Parser { tokens: &tokens, at: 0, program: program.clone(), names, order: Vec::new(), lines: Vec::new(), depth: 0 };
    let mut block = Block::new();
    let found = read(&mut parser, &mut block)?;
    if *parser.peek() == Kind::End { Ok((found, block)) } else { parser.wanted("the end") }
}

type Parse<T> = Result<T, ParseError>;

struct Parser<'t> {
    tokens: &'t [Token],
    at: usize,
    program: Program,
    names: HashMap<String, Value>,
    /// Per instruction: its number in the text, if it has one.
    order: Vec<Option<u32>>,
    lines: Vec<usize>,
    /// Blocks that are open.
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> &Kind {
        &self.tokens[self.at].kind
    }

    fn place_now(&self) -> (usize, usize) {
        let token = &self.tokens[self.at];
        (token.line, token.column)
    }

    fn fail<T>(&self, cause: impl Into<String>, help: impl Into<String>) -> Parse<T> {
        Err(ParseError::new(self.place_now(), cause, help))
    }

    fn wanted<T>(&self, what: &str) -> Parse<T> {
        self.fail(format!("{} where {what} should be", self.peek().show()), format!("write {what}"))
    }

    /// The next word; the last one is never passed.
    fn next(&mut self) -> Kind {
        let kind = self.tokens[self.at].kind.clone();
        if kind != Kind::End {
            self.at += 1;
        }
        kind
    }

    fn takes_sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Kind::Sign(s) if *s == sign);
        self.at += usize::from(found);
        found
    }

    fn sign(&mut self, sign: &str) -> Parse<()> {
        if self.takes_sign(sign) { Ok(()) } else { self.wanted(&format!("`{sign}`")) }
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Kind::Word(w) if w == word);
        self.at += usize::from(found);
        found
    }

    fn keyword(&mut self, word: &str) -> Parse<()> {
        if self.takes_word(word) { Ok(()) } else { self.wanted(&format!("`{word}`")) }
    }

    fn word(&mut self, what: &str) -> Parse<String> {
        let Kind::Word(word) = self.peek() else { return self.wanted(what) };
        let word = word.clone();
        self.at += 1;
        Ok(word)
    }

    fn number<T: FromStr>(&mut self, what: &str) -> Parse<T> {
        let Kind::Number(text) = self.peek() else { return self.wanted(what) };
        let Ok(number) = text.parse() else { return self.wanted(what) };
        self.at += 1;
        Ok(number)
    }

    // --- the signature

    fn kernel(&mut self) -> Parse<()> {
        self.lines.push(self.place_now().0);
        self.keyword("kernel")?;
        self.program.name = self.word("the kernel's name")?;
        self.sign("(")?;
        while !self.takes_sign(")") {
            let param = self.param()?;
            self.program.params.push(param);
            if !self.takes_sign(",") {
                self.sign(")")?;
                break;
            }
        }
        self.keyword("threads")?;
        self.sign("(")?;
        for axis in 0..3 {
            if axis > 0 {
                self.sign(",")?;
            }
            self.program.block[axis] = self.number("a number of threads")?;
        }
        self.sign(")")?;
        self.sign("{")?;
        loop {
            let line = self.place_now().0;
            let is_shared = self.takes_word("shared");
            if !is_shared && !self.takes_word("local") {
                break;
            }
            let name = self.word("the array's name")?;
            self.sign(":")?;
            self.sign("[")?;
            let ty = self.ty()?;
            self.sign(";")?;
            let len = self.number("the array's length")?;
            self.sign("]")?;
            self.lines.push(line);
            let arrays = if is_shared { &mut self.program.shared } else { &mut self.program.locals };
            arrays.push(Array { name, ty, len });
        }
        if matches!(self.peek(), Kind::Word(word) if word == "prefetch") {
            self.lines.push(self.place_now().0);
            self.program.prefetch = Some(self.prefetch()?);
        }
        while matches!(self.peek(), Kind::Word(word) if word == "tensor_map") {
            self.lines.push(self.place_now().0);
            let map = self.tensor_map()?;
            self.program.tensor_maps.push(map);
        }
        if matches!(self.peek(), Kind::Word(word) if word == "at_once") {
            self.lines.push(self.place_now().0);
            self.at += 1;
            self.program.at_once = Some(self.number("a number of workgroups")?);
        }
        if matches!(self.peek(), Kind::Word(word) if word == "cluster") {
            self.lines.push(self.place_now().0);
            self.at += 1;
            self.program.cluster = Some(self.number("a number of workgroups")?);
        }
        self.program.body = self.statements()?;
        Ok(())
    }

    /// A buffer by its name: a parameter's position.
    fn buffer(&mut self) -> Parse<u32> {
        let here = self.at;
        let name = self.word("a buffer's name")?;
        let is_it = |param: &Param| matches!(param, Param::Buffer { name: of, .. } if *of == name);
        let Some(param) = self.program.params.iter().position(is_it) else {
            self.at = here;
            return self.wanted("a buffer's name");
        };
        Ok(param as u32)
    }

    fn tensor_map(&mut self) -> Parse<TensorMap> {
        self.keyword("tensor_map")?;
        let param = self.buffer()?;
        self.sign(":")?;
        self.keyword("from")?;
        let offset = self.number("a number of elements")?;
        let rounded = matches!(self.peek(), Kind::Word(word) if word == "rounded");
        if rounded {
            self.at += 1;
        }
        let mut dims = Vec::new();
        while self.takes_sign(",") {
            let boxed = self.number("a number of indices")?;
            self.keyword("of")?;
            let size = self.number("a number of indices")?;
            self.keyword("by")?;
            dims.push(MapDim { size, stride: self.number("a number of elements")?, boxed });
        }
        Ok(TensorMap { param, offset, rounded, dims })
    }

    fn prefetch(&mut self) -> Parse<Prefetch> {
        self.keyword("prefetch")?;
        let param = self.buffer()?;
        self.sign(":")?;
        let rows = self.number("a number of rows")?;
        self.keyword("of")?;
        let count = self.number("a number of rows")?;
        self.keyword("rows")?;
        self.sign(",")?;
        let width = self.number("a number of bytes")?;
        self.keyword("of")?;
        let pitch = self.number("a number of bytes")?;
        self.keyword("bytes")?;
        Ok(Prefetch { param, rows, count, width, pitch })
    }

    fn param(&mut self) -> Parse<Param> {
        let name = self.word("a parameter's name")?;
        self.sign(":")?;
        let is_const = self.takes_word("const");
        let write = self.takes_word("mut");
        let atomic = self.takes_word("atomic");
        let buffer = self.takes_sign("[");
        let dtype = self.dtype()?;
        if buffer {
            self.sign("]")?;
        }
        let count = if self.takes_sign("*") { Some(self.number("a number of entries")?) } else { None };
        Ok(match (buffer, count) {
            (true, None) => Param::Buffer { name, dtype, write: write || (atomic && !is_const), atomic },
            (true, Some(count)) => Param::Table { name, dtype, count, write },
            (false, None) => Param::Scalar { name, dtype },
            (false, Some(count)) => Param::ScalarTable { name, dtype, count },
        })
    }

    fn dtype(&mut self) -> Parse<DType> {
        let here = self.at;
        let word = self.word("a type of elements")?;
        if let Some(dtype) = DType::ALL.into_iter().find(|d| d.name() == word) {
            return Ok(dtype);
        }
        self.at = here;
        self.wanted("a type of elements")
    }

    fn ty(&mut self) -> Parse<Type> {
        if self.takes_word("frag") {
            self.sign("<")?;
            let role = match self.word("a, b or c")?.as_str() {
                "a" => FragmentRole::A,
                "b" => FragmentRole::B,
                "c" => FragmentRole::C,
                _ => return self.fail("a fragment's role is a, b or c", "write one of them"),
            };
            self.sign(",")?;
            let sizes = self.word("sizes such as 16x16x16")?;
            let numbers: Vec<u8> = sizes.split('x').filter_map(|n| n.parse().ok()).collect();
            let [m, n, k] = numbers[..] else { return self.fail(format!("`{sizes}` are not three sizes"), "write 16x16x16") };
            self.sign(",")?;
            let input = self.dtype()?;
            self.sign(",")?;
            let sum = self.dtype()?;
            self.sign(">")?;
            return Ok(Type::Fragment(Fragment { shape: FragmentShape { m, n, k, input, sum }, role }));
        }
        let here = self.at;
        let word = self.word("a type")?;
        let vector = word.split_once('x').and_then(|(dtype, lanes)| Some((dtype, lanes.parse().ok()?)));
        let (name, lanes) = vector.unwrap_or((&word, 0));
        match DType::ALL.into_iter().find(|d| d.name() == name) {
            Some(dtype) if lanes == 0 => Ok(Type::Scalar(dtype)),
            Some(dtype) => Ok(Type::Vector(dtype, lanes)),
            None => {
                self.at = here;
                self.wanted("a type")
            }
        }
    }

    // --- values and places

    fn define(&mut self, name: Option<&str>, inst: Inst) -> Parse<Value> {
        let value = Value(self.program.insts.len() as u32);
        if let Some(name) = name
            && self.names.insert(name.to_owned(), value).is_some()
        {
            return self.fail(format!("%{name} is made a second time"), "choose another name");
        }
        self.program.insts.push(inst);
        self.order.push(name.and_then(|name| name.parse().ok()));
        Ok(value)
    }

    fn literal(&mut self, dtype: DType) -> Parse<Literal> {
        let literal = match self.peek() {
            Kind::Word(word) if dtype == DType::Bool && (word == "true" || word == "false") => {
                Some(Literal::int(dtype, i64::from(word == "true")))
            }
            Kind::Number(text) => match (text.strip_prefix("0x"), dtype) {
                (Some(hex), _) => u64::from_str_radix(hex, 16).ok().map(|raw| Literal::from_raw(dtype, raw)),
                (None, DType::F64) => text.parse().ok().map(|x: f64| Literal::float(dtype, if x.is_nan() { f64::NAN } else { x })),
                (None, d) if d.is_float() => {
                    text.parse().ok().map(|x: f32| Literal::float(dtype, if x.is_nan() { f64::NAN } else { x.into() }))
                }
                (None, DType::U64) => text.parse().ok().map(|n: u64| Literal::int(dtype, n as i64)),
                (None, DType::Bool) => None,
                (None, _) => text.parse().ok().map(|n: i64| (n, Literal::int(dtype, n))).filter(|(n, l)| l.as_i64() == *n).map(|(_, l)| l),
            },
            Kind::Word(_) | Kind::Value(_) | Kind::Quoted(_) | Kind::Sign(_) | Kind::End => None,
        };
        match literal {
            Some(literal) => {
                self.at += 1;
                Ok(literal)
            }
            None => self.wanted(&format!("a number of {dtype}")),
        }
    }

    /// A value; or a number, of `dtype` if that is known, which becomes a constant in front of the statement.
    fn value(&mut self, dtype: Option<DType>, block: &mut Block) -> Parse<Value> {
        if let Kind::Value(name) = self.peek() {
            if let Some(value) = self.names.get(name).copied() {
                self.at += 1;
                return Ok(value);
            }
            return self.fail(format!("there is no value %{name} so far"), "make it first");
        }
        let Some(dtype) = dtype else { return self.wanted("a value") };
        let line = self.place_now().0;
        let literal = self.literal(dtype)?;
        let value = self.define(None, Inst { op: Op::Const(literal), ty: Type::Scalar(dtype) })?;
        self.lines.push(line);
        block.push(Stmt::Let(value));
        Ok(value)
    }

    fn values<const N: usize>(&mut self, dtype: DType, block: &mut Block) -> Parse<[Value; N]> {
        let mut values = [Value(0); N];
        for (at, value) in values.iter_mut().enumerate() {
            if at > 0 {
                self.sign(",")?;
            }
            *value = self.value(Some(dtype), block)?;
        }
        Ok(values)
    }

    /// A place without an index.
    fn memory(&mut self, block: &mut Block) -> Parse<Place> {
        let here = self.at;
        let name = self.word("a buffer or an array")?;
        let position = |arrays: &[Array]| arrays.iter().position(|array| array.name == name).map(|at| at as u32);
        if let Some(at) = self.program.params.iter().position(|p| p.name() == name) {
            if let Param::Table { .. } = self.program.params[at] {
                self.sign("[")?;
                let which = self.value(Some(DType::U32), block)?;
                self.sign("]")?;
                return Ok(Place::Table(at as u32, which));
            }
            return Ok(Place::Param(at as u32));
        }
        let array = position(&self.program.shared).map(Place::Shared).or_else(|| position(&self.program.locals).map(Place::Local));
        match array {
            Some(place) => Ok(place),
            None => {
                self.at = here;
                self.fail(format!("there is no parameter or array `{name}`"), "declare it")
            }
        }
    }

    /// A place and an index.
    fn element(&mut self, block: &mut Block) -> Parse<(Place, Value)> {
        let place = self.memory(block)?;
        self.sign("[")?;
        let index = self.value(Some(DType::U32), block)?;
        self.sign("]")?;
        Ok((place, index))
    }

    fn element_dtype(&self, place: Place) -> Option<DType> {
        self.program.place_type(place).map(Type::dtype)
    }

    // --- statements

    /// Statements up to a closing brace, which is taken.
    fn statements(&mut self) -> Parse<Block> {
        if self.depth == MAX_NESTING {
            return self
                .fail(format!("blocks stand {MAX_NESTING} deep in each other here already"), "join conditions, or make two kernels");
        }
        self.depth += 1;
        let mut block = Block::new();
        loop {
            // A closing brace is a line of the text form, but the one that `while` or `else` follows is theirs.
            let line = self.place_now().0;
            if self.takes_sign("}") {
                let continued = matches!(self.peek(), Kind::Word(word) if word == "while" || word == "else");
                if !continued {
                    self.lines.push(line);
                }
                self.depth -= 1;
                return Ok(block);
            }
            self.statement(&mut block)?;
        }
    }

    fn statement(&mut self, block: &mut Block) -> Parse<()> {
        let line = self.place_now().0;
        let stmt = match self.peek().clone() {
            Kind::Value(name) => {
                self.at += 1;
                self.sign("=")?;
                let mut inst = self.instruction(block)?;
                if self.takes_sign("->") {
                    inst.ty = self.ty()?;
                }
                Stmt::Let(self.define(Some(&name), inst)?)
            }
            Kind::Word(word) => {
                self.at += 1;
                match word.as_str() {
                    "store" => {
                        let (place, index) = self.element(block)?;
                        self.sign(",")?;
                        let value = self.value(self.element_dtype(place), block)?;
                        Stmt::Store { place, index, value }
                    }
                    "store_fragment" => {
                        let (place, index) = self.element(block)?;
                        self.sign(",")?;
                        let stride = self.value(Some(DType::U32), block)?;
                        self.sign(",")?;
                        let value = self.value(None, block)?;
                        Stmt::FragmentStore { place, index, stride, value }
                    }
                    "barrier" => Stmt::Barrier,
                    "if" => return self.branch(line, block),
                    "for" => return self.count(line, block),
                    "loop" => return self.repeat(line, block),
                    "raw" => Stmt::Raw(Box::new(self.raw(block)?)),
                    _ => {
                        self.at -= 1;
                        return self.wanted("a statement");
                    }
                }
            }
            Kind::Number(_) | Kind::Quoted(_) | Kind::Sign(_) | Kind::End => return self.wanted("a statement"),
        };
        self.lines.push(line);
        block.push(stmt);
        Ok(())
    }

    fn branch(&mut self, line: usize, block: &mut Block) -> Parse<()> {
        let condition = self.value(Some(DType::Bool), block)?;
        self.lines.push(line);
        self.sign("{")?;
        let then = self.statements()?;
        let mut otherwise = Block::new();
        let line = self.place_now().0;
        if self.takes_word("else") {
            self.lines.push(line);
            self.sign("{")?;
            otherwise = self.statements()?;
            if otherwise.is_empty() {
                // Such a line is not printed.
                let end = self.lines.len() - 2;
                self.lines.remove(end);
            }
        }
        block.push(Stmt::If { condition, then, otherwise });
        Ok(())
    }

    fn count(&mut self, line: usize, block: &mut Block) -> Parse<()> {
        let Kind::Value(name) = self.next() else {
            self.at -= 1;
            return self.wanted("the counter");
        };
        self.sign(":")?;
        let ty = self.ty()?;
        self.keyword("in")?;
        let start = self.value(Some(ty.dtype()), block)?;
        self.sign("..")?;
        let end = self.value(Some(ty.dtype()), block)?;
        self.keyword("step")?;
        let step = self.value(Some(ty.dtype()), block)?;
        let unroll = self.takes_word("unroll");
        self.lines.push(line);
        self.sign("{")?;
        let counter = self.define(Some(&name), Inst { op: Op::Counter, ty })?;
        let body = self.statements()?;
        block.push(Stmt::For { counter, start, end, step, unroll, body });
        Ok(())
    }

    fn repeat(&mut self, line: usize, block: &mut Block) -> Parse<()> {
        self.lines.push(line);
        self.sign("{")?;
        let mut check = self.statements()?;
        let line = self.place_now().0;
        self.keyword("while")?;
        let condition = self.value(Some(DType::Bool), &mut check)?;
        self.lines.push(line);
        self.sign("{")?;
        let body = self.statements()?;
        block.push(Stmt::While { check, condition, body });
        Ok(())
    }

    fn raw(&mut self, block: &mut Block) -> Parse<Raw> {
        let mut raw = Raw { texts: Vec::new(), preludes: Vec::new(), values: Vec::new(), places: Vec::new() };
        self.sign("(")?;
        while !self.takes_sign(";") {
            raw.values.push(self.value(None, block)?);
            if !self.takes_sign(",") {
                self.sign(";")?;
                break;
            }
        }
        while !self.takes_sign(")") {
            raw.places.push(self.memory(block)?);
            if !self.takes_sign(",") {
                self.sign(")")?;
                break;
            }
        }
        self.sign("{")?;
        while !self.takes_sign("}") {
            let prelude = self.takes_word("prelude");
            let here = self.at;
            let name = self.word("a dialect")?;
            let Some(dialect) = Dialect::ALL.into_iter().find(|d| d.name() == name) else {
                self.at = here;
                return self.wanted("a dialect");
            };
            let Kind::Quoted(text) = self.next() else {
                self.at -= 1;
                return self.wanted("words in quotes");
            };
            if prelude { raw.preludes.push((dialect, text)) } else { raw.texts.push((dialect, text)) }
        }
        Ok(raw)
    }

    // --- instructions

    fn instruction(&mut self, block: &mut Block) -> Parse<Inst> {
        let here = self.at;
        let word = self.word("an instruction")?;
        let bool_type = Type::Scalar(DType::Bool);
        let index_type = Type::Scalar(DType::U32);
        if let Some(op) = UnaryOp::ALL.iter().copied().find(|op| op.name() == word) {
            let ty = self.ty()?;
            let [a] = self.values(ty.dtype(), block)?;
            self.agrees(&word, ty, a)?;
            return Ok(Inst { op: Op::Unary(op, a), ty: if op.gives_bool() { bool_type } else { ty } });
        }
        if let Some(op) = BinaryOp::ALL.iter().copied().find(|op| op.name() == word) {
            let ty = self.ty()?;
            let [a, b] = self.values(ty.dtype(), block)?;
            self.agrees(&word, ty, a)?;
            return Ok(Inst { op: Op::Binary(op, a, b), ty: if op.is_comparison() { bool_type } else { ty } });
        }
        Ok(match word.as_str() {
            "const" => {
                let dtype = self.dtype()?;
                Inst { op: Op::Const(self.literal(dtype)?), ty: Type::Scalar(dtype) }
            }
            "approx_exp2" => {
                let ty = self.ty()?;
                let [a] = self.values(ty.dtype(), block)?;
                self.agrees(&word, ty, a)?;
                Inst { op: Op::ApproxExp2(a), ty }
            }
            "param" => self.read_param(block)?,
            "thread" | "group" | "group_count" => {
                self.sign(".")?;
                let name = self.word("x, y or z")?;
                let Some(axis) = AXES.iter().position(|axis| *axis == name) else {
                    self.at -= 1;
                    return self.wanted("x, y or z");
                };
                let axis = axis as u8;
                let op = match word.as_str() {
                    "thread" => Op::Thread(axis),
                    "group" => Op::Group(axis),
                    _ => Op::GroupCount(axis),
                };
                Inst { op, ty: index_type }
            }
            "lane" => Inst { op: Op::Lane, ty: index_type },
            "atomic" => {
                self.sign(".")?;
                let name = self.word("an atomic operation")?;
                let all = [AtomicOp::Add, AtomicOp::Max, AtomicOp::Min, AtomicOp::And, AtomicOp::Or, AtomicOp::Xor, AtomicOp::Exchange];
                let Some(op) = all.into_iter().find(|op| format!("{op:?}").to_lowercase() == name) else {
                    self.at -= 1;
                    return self.wanted("an atomic operation");
                };
                let ty = self.ty()?;
                let (place, index) = self.element(block)?;
                self.sign(",")?;
                let value = self.value(Some(ty.dtype()), block)?;
                Inst { op: Op::Atomic(op, place, index, value), ty }
            }
            "subgroup" => self.subgroup(block)?,
            "extract" => {
                let ty = self.ty()?;
                let vector = self.value(None, block)?;
                self.sign(",")?;
                Inst { op: Op::Extract(vector, self.number("a lane")?), ty }
            }
            "raw" => {
                let ty = self.ty()?;
                Inst { op: Op::Raw(Box::new(self.raw(block)?)), ty }
            }
            "counter" => Inst { op: Op::Counter, ty: self.ty()? },
            _ => return self.typed(&word, here, block),
        })
    }

    /// Instructions of the form `word type arguments`.
    fn typed(&mut self, word: &str, here: usize, block: &mut Block) -> Parse<Inst> {
        const WORDS: [&str; 11] =
            ["fma", "mul_hi", "select", "cast", "bitcast", "load", "compose", "compare_exchange", "fill", "load_fragment", "mma"];
        if !WORDS.contains(&word) {
            self.at = here;
            return self.wanted("an instruction");
        }
        let ty = self.ty()?;
        let dtype = ty.dtype();
        let op = match word {
            "fma" => {
                let [a, b, c] = self.values(dtype, block)?;
                Op::Fma(a, b, c)
            }
            "mul_hi" => {
                let [a, b] = self.values(dtype, block)?;
                Op::MulHi(a, b)
            }
            "select" => {
                let condition = self.value(Some(DType::Bool), block)?;
                self.sign(",")?;
                let [a, b] = self.values(dtype, block)?;
                Op::Select(condition, a, b)
            }
            "cast" => Op::Cast(self.value(None, block)?),
            "bitcast" => Op::Bitcast(self.value(None, block)?),
            "load" => {
                let (place, index) = self.element(block)?;
                Op::Load(place, index)
            }
            "compose" => {
                let mut values = smallvec::SmallVec::new();
                loop {
                    values.push(self.value(Some(dtype), block)?);
                    if !self.takes_sign(",") {
                        break Op::Compose(values);
                    }
                }
            }
            "compare_exchange" => {
                let (place, index) = self.element(block)?;
                self.sign(",")?;
                let [expected, new] = self.values(dtype, block)?;
                Op::CompareExchange(place, index, expected, new)
            }
            "fill" => Op::FragmentFill(self.value(Some(dtype), block)?),
            "load_fragment" => {
                let (place, index) = self.element(block)?;
                self.sign(",")?;
                let stride = self.value(Some(DType::U32), block)?;
                let transposed = self.takes_sign(",");
                if transposed {
                    self.keyword("transposed")?;
                }
                Op::FragmentLoad { place, index, stride, transposed }
            }
            _ => {
                let [a, b, c] = self.values(dtype, block)?;
                Op::FragmentMma(a, b, c)
            }
        };
        Ok(Inst { op, ty })
    }

    /// The type that stands before an argument is the argument's.
    fn agrees(&self, word: &str, ty: Type, a: Value) -> Parse<()> {
        let found = self.program.ty(a);
        let explicit = !word.is_empty() && found != ty;
        // Where the result has that type, an argument of another one is the validator's to find.
        let result_is_bool = UnaryOp::ALL.iter().any(|op| op.name() == word && op.gives_bool())
            || BinaryOp::ALL.iter().any(|op| op.name() == word && op.is_comparison());
        if explicit && result_is_bool {
            return self
                .fail(format!("`{word} {ty}` of an argument that is {found}"), format!("write `{word} {found}`, or cast the argument"));
        }
        Ok(())
    }

    fn read_param(&mut self, block: &mut Block) -> Parse<Inst> {
        let here = self.at;
        let name = self.word("a parameter")?;
        let Some(at) = self.program.params.iter().position(|p| p.name() == name) else {
            self.at = here;
            return self.fail(format!("there is no parameter `{name}`"), "declare it");
        };
        let (Param::Scalar { dtype, .. } | Param::ScalarTable { dtype, .. } | Param::Buffer { dtype, .. } | Param::Table { dtype, .. }) =
            self.program.params[at];
        let ty = Type::Scalar(dtype);
        if !self.takes_sign("[") {
            return Ok(Inst { op: Op::Scalar(at as u32), ty });
        }
        let which = self.value(Some(DType::U32), block)?;
        self.sign("]")?;
        Ok(Inst { op: Op::TableScalar(at as u32, which), ty })
    }

    fn subgroup(&mut self, block: &mut Block) -> Parse<Inst> {
        self.sign(".")?;
        let here = self.at;
        let name = self.word("a subgroup operation")?;
        let reduce = ReduceOp::ALL.iter().copied().find(|op| op.name() == name);
        let make: Option<fn(u32) -> SubgroupOp> = match name.as_str() {
            "shuffle_xor" => Some(SubgroupOp::ShuffleXor),
            "shuffle_down" => Some(SubgroupOp::ShuffleDown),
            "shuffle_up" => Some(SubgroupOp::ShuffleUp),
            "broadcast" => Some(SubgroupOp::Broadcast),
            _ => None,
        };
        if reduce.is_none() && make.is_none() {
            self.at = here;
            return self.wanted("a subgroup operation");
        }
        let ty = self.ty()?;
        let a = self.value(Some(ty.dtype()), block)?;
        let op = match (reduce, make) {
            (Some(op), _) => SubgroupOp::Reduce(op),
            (None, Some(make)) => {
                self.sign(",")?;
                make(self.number("a lane or a distance")?)
            }
            (None, None) => return self.wanted("a subgroup operation"),
        };
        Ok(Inst { op: Op::Subgroup(op, a), ty })
    }

    // --- the end

    /// Values get the numbers that the text gives them, the others those after.
    fn finish(self) -> Parsed {
        let mut order: Vec<usize> = (0..self.program.insts.len()).collect();
        order.sort_by_key(|at| (self.order[*at].is_none(), self.order[*at], *at));
        let mut new = vec![0; order.len()];
        order.iter().enumerate().for_each(|(to, from)| new[*from] = to as u32);
        let mut program = self.program;
        let insts = std::mem::take(&mut program.insts);
        program.insts = order.iter().map(|from| insts[*from].clone()).collect();
        let mut renumber = |value: &mut Value| value.0 = new[value.index()];
        program.insts.iter_mut().for_each(|inst| inst.op.visit_values_mut(&mut renumber));
        renumber_block(&mut program.body, &mut renumber);
        Parsed { program, lines: self.lines }
    }
}

fn renumber_block(block: &mut Block, renumber: &mut dyn FnMut(&mut Value)) {
    fn place(place: &mut Place, renumber: &mut dyn FnMut(&mut Value)) {
        if let Place::Table(_, which) = place {
            renumber(which);
        }
    }
    for stmt in block {
        match stmt {
            Stmt::Let(value) => renumber(value),
            Stmt::Store { place: p, index, value } => {
                place(p, renumber);
                [index, value].into_iter().for_each(&mut *renumber);
            }
            Stmt::FragmentStore { place: p, index, stride, value } => {
                place(p, renumber);
                [index, stride, value].into_iter().for_each(&mut *renumber);
            }
            Stmt::Barrier => {}
            Stmt::If { condition, then, otherwise } => {
                renumber(condition);
                renumber_block(then, renumber);
                renumber_block(otherwise, renumber);
            }
            Stmt::For { counter, start, end, step, body, .. } => {
                [counter, start, end, step].into_iter().for_each(&mut *renumber);
                renumber_block(body, renumber);
            }
            Stmt::While { check, condition, body } => {
                renumber_block(check, renumber);
                renumber(condition);
                renumber_block(body, renumber);
            }
            Stmt::Raw(raw) => {
                raw.values.iter_mut().for_each(&mut *renumber);
                raw.places.iter_mut().for_each(|p| place(p, renumber));
            }
        }
    }
}
