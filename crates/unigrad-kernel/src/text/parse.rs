//! Regions from text.

use super::{
    ParseError,
    lex::{Lexer, Token},
};
use crate::{Arg, Index, Inst, InstOp, Region, Value};
use smallvec::SmallVec;
use std::{collections::HashMap, str::FromStr};
use unigrad_scalar::{ArgReduceOp, BinaryOp, DType, Literal, ReduceOp, UnaryOp};

/// Most axes of a region that is read: every index has a stride for each of them.
pub const MAX_AXES: usize = 64;

impl FromStr for Region {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Region, ParseError> {
        let mut all = parse_regions(text)?;
        match (all.pop(), all.is_empty()) {
            (Some(region), true) => Ok(region),
            _ => Err(ParseError::new((1, 1), "the text is not one region", "write `region \"name\" parallel [..] { .. }` once")),
        }
    }
}

/// Reads all regions of a text, in order.
pub fn parse_regions(text: &str) -> Result<Vec<Region>, ParseError> {
    let mut lexer = Lexer::new(text);
    let (token, at) = lexer.next()?;
    let mut parser = Parser { lexer, token, at };
    let mut all = Vec::new();
    while parser.token != Token::End {
        all.push(parser.region()?);
    }
    Ok(all)
}

type Parse<T> = Result<T, ParseError>;

struct Parser<'t> {
    lexer: Lexer<'t>,
    /// What is read next, and where it is.
    token: Token,
    at: (usize, usize),
}

/// A region so far, and where its values are.
struct Known {
    region: Region,
    values: HashMap<String, Value>,
}

impl Parser<'_> {
    fn next(&mut self) -> Parse<Token> {
        let (token, at) = self.lexer.next()?;
        self.at = at;
        Ok(std::mem::replace(&mut self.token, token))
    }

    fn fail<T>(&self, cause: impl Into<String>, help: impl Into<String>) -> Parse<T> {
        Err(ParseError::new(self.at, cause, help))
    }

    fn wanted<T>(&self, what: &str) -> Parse<T> {
        self.fail(format!("{} where {what} should be", self.token.show()), format!("write {what}"))
    }

    /// Whether the sign stood here; then it is passed.
    fn sign(&mut self, sign: char) -> Parse<bool> {
        let is = self.token == Token::Sign(sign);
        if is {
            self.next()?;
        }
        Ok(is)
    }

    fn pass(&mut self, sign: char) -> Parse<()> {
        if self.sign(sign)? { Ok(()) } else { self.wanted(&format!("`{sign}`")) }
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(&self.token, Token::Word(found) if found == word)
    }

    /// Whether the word stood here; then it is passed.
    fn word(&mut self, word: &str) -> Parse<bool> {
        let is = self.is_word(word);
        if is {
            self.next()?;
        }
        Ok(is)
    }

    fn expect_word(&mut self, word: &str) -> Parse<()> {
        if self.word(word)? { Ok(()) } else { self.wanted(&format!("`{word}`")) }
    }

    fn integer<T: FromStr>(&mut self, what: &str) -> Parse<T> {
        let Token::Number(text) = &self.token else { return self.wanted(what) };
        let Ok(number) = text.parse() else { return self.fail(format!("{} is not {what}", self.token.show()), format!("write {what}")) };
        self.next()?;
        Ok(number)
    }

    fn dtype(&mut self) -> Parse<DType> {
        let named = |dtype: &DType| self.is_word(dtype.name());
        let Some(dtype) = DType::ALL.into_iter().find(named) else {
            let all: Vec<&str> = DType::ALL.iter().map(|dtype| dtype.name()).collect();
            return self.fail(format!("{} is not a dtype", self.token.show()), format!("write one of {}", all.join(", ")));
        };
        self.next()?;
        Ok(dtype)
    }

    /// `a3`: a letter and a number below `n`, if it is one of that letter.
    fn named(&mut self, letter: char, what: &str, n: usize) -> Parse<u32> {
        let number = self.number_of(letter);
        match number.filter(|number| (*number as usize) < n) {
            Some(number) => {
                self.next()?;
                Ok(number)
            }
            None => {
                let help = match n {
                    0 => format!("declare {what} first"),
                    1 => format!("write {what}: `{letter}0`"),
                    n => format!("write {what}: `{letter}0` to `{letter}{}`", n - 1),
                };
                self.fail(format!("{} is not {what} of the region", self.token.show()), help)
            }
        }
    }

    fn number_of(&self, letter: char) -> Option<u32> {
        let Token::Word(word) = &self.token else { return None };
        let digits = word.strip_prefix(letter)?;
        // `a07` is not another name of `a7`.
        let number: u32 = digits.parse().ok()?;
        (number.to_string() == digits).then_some(number)
    }

    fn region(&mut self) -> Parse<Region> {
        self.expect_word("region")?;
        let Token::Quoted(name) = self.token.clone() else { return self.wanted("the region's name in quotes") };
        self.next()?;
        let begin = self.at;
        self.expect_word("parallel")?;
        let mut axes = SmallVec::new();
        self.extents(&mut axes)?;
        let n_parallel = axes.len();
        if self.word("reduce")? {
            self.extents(&mut axes)?;
        }
        if axes.iter().try_fold(1usize, |points, extent| points.checked_mul((*extent).max(1))).is_none() {
            return Err(ParseError::new(begin, "the domain has more points than can be counted", "write smaller extents"));
        }
        self.pass('{')?;
        let region = Region { name, axes, n_parallel, args: Vec::new(), scalars: Vec::new(), insts: Vec::new() };
        let mut known = Known { region, values: HashMap::new() };
        while !self.sign('}')? {
            self.line(&mut known)?;
        }
        Ok(known.region)
    }

    /// `[64, 256]`.
    fn extents(&mut self, axes: &mut SmallVec<[usize; 6]>) -> Parse<()> {
        self.pass('[')?;
        while self.token != Token::Sign(']') {
            if axes.len() == MAX_AXES {
                return self.fail(format!("more than {MAX_AXES} axes"), "join axes that are walked through as one");
            }
            axes.push(self.integer("an extent")?);
            if !self.sign(',')? {
                break;
            }
        }
        self.pass(']')
    }

    /// A declaration, an instruction or a store.
    fn line(&mut self, known: &mut Known) -> Parse<()> {
        if known.region.insts.len() + 1 > u32::MAX as usize {
            return self.fail("more instructions than there are numbers for", "divide the region");
        }
        if let Token::Value(name) = self.token.clone() {
            let at = self.at;
            self.next()?;
            self.pass('=')?;
            let inst = self.instruction(known)?;
            let value = Value(known.region.insts.len() as u32);
            known.region.insts.push(inst);
            return match known.values.insert(name.clone(), value) {
                None => Ok(()),
                Some(_) => Err(ParseError::new(at, format!("`%{name}` is made twice"), "give each value a name of its own")),
            };
        }
        if self.is_word("store") {
            let inst = self.store(known)?;
            known.region.insts.push(inst);
            return Ok(());
        }
        if let Some(number) = self.number_of('a') {
            self.declared(number, known.region.args.len(), 'a')?;
            let write = self.word("mut")?;
            let dtype = self.dtype()?;
            self.pass('[')?;
            let len = self.integer("the number of elements")?;
            self.pass(']')?;
            known.region.args.push(Arg { dtype, len, write });
            return Ok(());
        }
        if let Some(number) = self.number_of('s') {
            self.declared(number, known.region.scalars.len(), 's')?;
            let dtype = self.dtype()?;
            known.region.scalars.push(dtype);
            return Ok(());
        }
        self.wanted("`%0 = ..`, `store ..`, `a0: ..`, `s0: ..` or `}`")
    }

    /// Buffers and scalars stand in the order of their numbers.
    fn declared(&mut self, number: u32, next: usize, letter: char) -> Parse<()> {
        if number as usize != next {
            return self.fail(format!("`{letter}{number}` where `{letter}{next}` comes next"), "number them from 0, in order");
        }
        self.next()?;
        self.pass(':')
    }

    fn value(&mut self, known: &Known) -> Parse<Value> {
        let Token::Value(name) = &self.token else { return self.wanted("a value, as `%0`") };
        let Some(value) = known.values.get(name).copied() else {
            return self.fail(format!("{} is not made before", self.token.show()), "a value is used after the line that makes it");
        };
        self.next()?;
        Ok(value)
    }

    fn comma_value(&mut self, known: &Known) -> Parse<Value> {
        self.pass(',')?;
        self.value(known)
    }

    fn store(&mut self, known: &Known) -> Parse<Inst> {
        self.next()?;
        let dtype = self.dtype()?;
        let (arg, index) = self.place(known)?;
        let value = self.comma_value(known)?;
        Ok(Inst { op: InstOp::Store { arg, index, value }, dtype })
    }

    /// `a0[256*i0 + i1]`.
    fn place(&mut self, known: &Known) -> Parse<(u32, Index)> {
        let arg = self.named('a', "a buffer", known.region.args.len())?;
        self.pass('[')?;
        let mut index = Index { strides: SmallVec::from_elem(0, known.region.axes.len()), ..Index::default() };
        let mut is_negative = self.sign('-')?;
        loop {
            self.term(known, is_negative, &mut index)?;
            is_negative = self.token == Token::Sign('-');
            if !is_negative && self.token != Token::Sign('+') {
                break;
            }
            self.next()?;
        }
        self.pass(']')?;
        Ok((arg, index))
    }

    /// `3*i0`, `i0`, `3*%4`, `%4` or `3`.
    fn term(&mut self, known: &Known, is_negative: bool, index: &mut Index) -> Parse<()> {
        let at = self.at;
        let mut factor: i128 = 1;
        let mut has_factor = false;
        if let Token::Number(_) = self.token {
            factor = self.integer::<u64>("a whole number")?.into();
            has_factor = true;
        }
        let too_large = || ParseError::new(at, "a stride or offset that is beyond 64 bits", "write a smaller number");
        let factor = i64::try_from(if is_negative { -factor } else { factor }).map_err(|_| too_large())?;
        let is_constant = has_factor && !self.sign('*')?;
        if is_constant {
            index.offset = index.offset.checked_add(factor).ok_or_else(too_large)?;
        } else if let Token::Value(_) = self.token {
            let value = self.value(known)?;
            index.dynamic.push((value, factor));
        } else {
            let axis = self.named('i', "an axis", known.region.axes.len())?;
            let stride = &mut index.strides[axis as usize];
            *stride = stride.checked_add(factor).ok_or_else(too_large)?;
        }
        Ok(())
    }

    fn literal(&mut self, dtype: DType) -> Parse<Literal> {
        let is_negative = self.sign('-')?;
        let (Token::Number(text) | Token::Word(text)) = &self.token else { return self.wanted("a number") };
        let signed = format!("{}{text}", if is_negative { "-" } else { "" });
        let float = |text: &str| match (text, dtype) {
            ("inf", _) => Some(f64::INFINITY),
            ("-inf", _) => Some(f64::NEG_INFINITY),
            ("nan", _) => Some(f64::NAN),
            // No other word is a number, whatever Rust reads.
            _ if !text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit()) => None,
            (_, DType::F64) => text.parse().ok(),
            _ => text.parse::<f32>().ok().map(f64::from),
        };
        let found = match (text.strip_prefix("0x"), dtype) {
            (Some(bits), _) if dtype.is_float() && !is_negative => {
                let bits = u64::from_str_radix(bits, 16).ok().filter(|bits| dtype.size() == 8 || *bits >> (8 * dtype.size()) == 0);
                bits.map(|bits| Literal::from_raw(dtype, bits))
            }
            (Some(_), _) => None,
            (None, DType::Bool) => signed.parse::<bool>().ok().map(|bit| Literal::int(dtype, bit.into())),
            (None, DType::U64) => signed.parse::<u64>().ok().map(|bits| Literal::int(dtype, bits as i64)),
            (None, _) if dtype.is_float() => float(&signed).map(|x| Literal::float(dtype, x)),
            (None, _) => signed
                .parse::<i64>()
                .ok()
                .map(|x| Literal::int(dtype, x))
                .filter(|l| l.as_i64().to_string() == signed.trim_start_matches('+')),
        };
        match found {
            Some(literal) => {
                self.next()?;
                Ok(literal)
            }
            None => self
                .fail(format!("`{}` is not a number of {dtype}", signed.chars().take(40).collect::<String>()), format!("write a {dtype}")),
        }
    }

    /// What follows `%0 = `.
    fn instruction(&mut self, known: &Known) -> Parse<Inst> {
        let at = self.at;
        let Token::Word(name) = self.token.clone() else { return self.wanted("an operation") };
        self.next()?;
        let dtype = self.dtype()?;
        let n_axes = known.region.axes.len();
        let op = match name.as_str() {
            "const" => {
                // A second dtype where the literal's is another than the instruction's.
                let has_own = DType::ALL.into_iter().any(|dtype| self.is_word(dtype.name()));
                let of = if has_own { self.dtype()? } else { dtype };
                InstOp::Const(self.literal(of)?)
            }
            "scalar" => InstOp::Scalar(self.named('s', "a run-time scalar", known.region.scalars.len())?),
            "axis" => InstOp::AxisIndex(self.named('i', "an axis", n_axes)?),
            "acc" => InstOp::Acc,
            "load" => {
                let (arg, index) = self.place(known)?;
                let mask = if self.word("where")? { Some(self.value(known)?) } else { None };
                InstOp::Load { arg, index, mask }
            }
            "select" => InstOp::Where(self.value(known)?, self.comma_value(known)?, self.comma_value(known)?),
            "cast" => InstOp::Cast(self.value(known)?),
            "bitcast" => InstOp::Bitcast(self.value(known)?),
            "bounded" => {
                let index = self.value(known)?;
                self.pass(',')?;
                self.expect_word("size")?;
                let size = self.integer("a size")?;
                self.pass(',')?;
                let from_end = self.word("from_end")?;
                if from_end {
                    self.pass(',')?;
                }
                self.expect_word("check")?;
                InstOp::Bounded { index, size, from_end, check: self.integer("a number below 256")? }
            }
            "philox" => {
                let (seed, offset, index) = (self.value(known)?, self.comma_value(known)?, self.comma_value(known)?);
                self.pass(',')?;
                self.expect_word("word")?;
                InstOp::Philox { seed, offset, index, word: self.integer("a number, 0 to 3")? }
            }
            _ => self.operation(known, &name, at)?,
        };
        Ok(Inst { op, dtype })
    }

    /// A scalar operation by its name. Some names are a reduction's with one value, and another operation's with two.
    fn operation(&mut self, known: &Known, name: &str, at: (usize, usize)) -> Parse<InstOp> {
        let unary = UnaryOp::ALL.iter().find(|op| op.name() == name).copied();
        let binary = BinaryOp::ALL.iter().find(|op| op.name() == name).copied();
        let reduce = ReduceOp::ALL.iter().find(|op| op.name() == name).copied();
        let arg_reduce = ArgReduceOp::ALL.iter().find(|op| op.name() == name).copied();
        if unary.is_none() && binary.is_none() && reduce.is_none() && arg_reduce.is_none() {
            let cause = format!("no operation is named `{}`", name.chars().take(40).collect::<String>());
            return Err(ParseError::new(at, cause, "write the name of a scalar operation, a reduction, or one of the text form's words"));
        }
        let a = self.value(known)?;
        let b = if self.sign(',')? { Some(self.value(known)?) } else { None };
        match (b, unary, binary, reduce, arg_reduce) {
            (Some(b), _, Some(op), _, _) => Ok(InstOp::Binary(op, a, b)),
            (None, Some(op), _, _, _) => Ok(InstOp::Unary(op, a)),
            (None, _, _, Some(op), _) => Ok(InstOp::Reduce(op, a)),
            (None, _, _, _, Some(op)) => Ok(InstOp::ArgReduce(op, a)),
            (Some(_), ..) => Err(ParseError::new(at, format!("`{name}` takes one value"), "leave the second one out")),
            (None, ..) => Err(ParseError::new(at, format!("`{name}` takes two values"), "write the second one after a comma")),
        }
    }
}
