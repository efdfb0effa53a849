//! Text to program and back: random programs, literals, shorthands, and errors with their place.

use unigrad_scalar::{BinaryOp, DType, Literal, ReduceOp, UnaryOp};

use super::*;
use crate::{
    AtomicOp, Builder, Dialect, Fragment, FragmentRole, FragmentShape, MapDim, Op, Place, Program, Raw, Stmt, SubgroupOp, TensorMap, Type,
    Value,
};

/// Random numbers (xorshift).
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn literal(&mut self) -> Literal {
        let dtype = self.of(&DType::ALL);
        let raw = (self.below(1 << 30) as u64) << 34 | (self.below(1 << 30) as u64) << 10 | self.below(1 << 10) as u64;
        if dtype == DType::Bool { Literal::int(dtype, (raw & 1) as i64) } else { Literal::from_raw(dtype, raw) }
    }
}

/// Programs that use every construct; not valid ones.
struct Generator {
    rng: Rng,
    b: Builder,
    places: Vec<Place>,
    tables: [u32; 2],
    values: Vec<Value>,
    /// Statements still to be made.
    left: usize,
}

impl Generator {
    fn program(seed: u64) -> Program {
        let mut b = Builder::new("random", [8, 4, 1]);
        let places = vec![
            b.buffer("x", DType::F32),
            b.buffer_mut("y", DType::BF16),
            b.buffer_atomic("count", DType::U32),
            b.shared("tile", DType::I8, 16),
            b.local("v", Type::Vector(DType::F16, 4), 3),
            b.local("x", Type::Scalar(DType::I64), 1),
        ];
        let tables = [b.table("xs", DType::F64, 3, true), b.scalar_table("rates", DType::F32, 4)];
        let values = vec![b.scalar("n", DType::U32), b.scalar("alpha", DType::F32)];
        let mut generator = Generator { rng: Rng(seed * 2 + 1), b, places, tables, values, left: 40 };
        generator.statements(0);
        if seed.is_multiple_of(3) {
            let numbers = [(); 4].map(|()| generator.rng.below(1 << 20) as u32);
            generator.b.prefetch(Place::Param(generator.rng.below(3) as u32), numbers);
        }
        for _ in 0..seed % 4 {
            let place = Place::Param(generator.rng.below(3) as u32);
            let dim =
                |rng: &mut Rng| MapDim { size: rng.below(1 << 33) as u64, stride: rng.below(1 << 33) as u64, boxed: rng.below(257) as u32 };
            let dims = (0..generator.rng.below(6)).map(|_| dim(&mut generator.rng)).collect();
            let (offset, rounded) = (generator.rng.below(1 << 40) as u64, generator.rng.below(2) == 1);
            generator.b.tensor_map(place, TensorMap { param: 0, offset, rounded, dims });
        }
        if seed.is_multiple_of(5) {
            generator.b.at_once(seed as u32);
        }
        if seed.is_multiple_of(7) {
            generator.b.cluster(seed as u32);
        }
        generator.b.finish()
    }

    fn value(&mut self) -> Value {
        self.rng.of(&self.values)
    }

    fn place(&mut self) -> Place {
        if self.rng.below(6) == 0 { Place::Table(self.tables[0], self.value()) } else { self.rng.of(&self.places) }
    }

    fn ty(&mut self) -> Type {
        let dtype = self.rng.of(&DType::ALL);
        match self.rng.below(6) {
            0 => Type::Vector(dtype, self.rng.of(&[2, 4, 8])),
            1 => {
                let shape = FragmentShape { m: 16, n: 8, k: 16, input: dtype, sum: DType::F32 };
                Type::Fragment(Fragment { shape, role: self.rng.of(&[FragmentRole::A, FragmentRole::B, FragmentRole::C]) })
            }
            _ => Type::Scalar(dtype),
        }
    }

    fn raw(&mut self) -> Raw {
        let texts = vec![(Dialect::Cuda, "asm(\"bar; \\\n{v0}\");".to_owned()), (Dialect::Ir, "ß \u{1}".to_owned())];
        let (values, places) =
            ((0..self.rng.below(3)).map(|_| self.value()).collect(), (0..self.rng.below(3)).map(|_| self.place()).collect());
        Raw { texts, preludes: vec![(Dialect::Msl, "int f();".to_owned())], values, places }
    }

    fn op(&mut self) -> Op {
        let [a, b, c] = [self.value(), self.value(), self.value()];
        let n = self.rng.below(40) as u32;
        match self.rng.below(22) {
            0 => Op::Const(self.rng.literal()),
            1 => Op::TableScalar(self.tables[1], a),
            2 => self.rng.of(&[Op::Thread as fn(u8) -> Op, Op::Group, Op::GroupCount])(n as u8 % 3),
            3 => Op::Lane,
            4 => Op::ApproxExp2(a),
            5 => Op::Unary(self.rng.of(UnaryOp::ALL), a),
            6..=9 => Op::Binary(self.rng.of(BinaryOp::ALL), a, b),
            10 => Op::Fma(a, b, c),
            11 => Op::MulHi(a, b),
            12 => Op::Select(a, b, c),
            13 => Op::Cast(a),
            14 => Op::Bitcast(a),
            15 => Op::Load(self.place(), a),
            16 => Op::Compose([a, b, c, a].into_iter().take(2 + n as usize % 3).collect()),
            17 => Op::Extract(a, n as u8 % 4),
            18 => {
                use AtomicOp::*;
                if n == 0 {
                    Op::CompareExchange(self.place(), a, b, c)
                } else {
                    Op::Atomic(self.rng.of(&[Add, Max, Min, And, Or, Xor, Exchange]), self.place(), a, b)
                }
            }
            19 => {
                use SubgroupOp::*;
                let reduce = Reduce(self.rng.of(ReduceOp::ALL));
                Op::Subgroup(self.rng.of(&[reduce, ShuffleXor(n), ShuffleDown(n), ShuffleUp(n), Broadcast(n)]), a)
            }
            20 => match n % 3 {
                0 => Op::FragmentFill(a),
                1 => Op::FragmentLoad { place: self.place(), index: a, stride: b, transposed: n > 20 },
                _ => Op::FragmentMma(a, b, c),
            },
            _ => Op::Raw(Box::new(self.raw())),
        }
    }

    fn statements(&mut self, depth: usize) {
        let outer = self.values.len();
        for _ in 0..3 + self.rng.below(8) {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            match self.rng.below(if depth < 3 { 20 } else { 16 }) {
                0 => self.b.barrier(),
                1 | 2 => {
                    let (place, index, value) = (self.place(), self.value(), self.value());
                    self.b.store(place, index, value);
                }
                3 => {
                    let (place, index, stride, value) = (self.place(), self.value(), self.value(), self.value());
                    self.b.stmt(Stmt::FragmentStore { place, index, stride, value });
                }
                4 => {
                    let raw = self.raw();
                    self.b.raw(raw);
                }
                5..16 => {
                    let (op, ty) = (self.op(), self.ty());
                    // The type before a comparison's arguments is the first one's.
                    let value = self.b.inst(op, ty);
                    self.values.push(value);
                }
                16 | 17 => {
                    let condition = self.value();
                    let then = self.block(depth);
                    let otherwise = if self.rng.below(2) == 0 { self.block(depth) } else { Vec::new() };
                    self.b.stmt(Stmt::If { condition, then, otherwise });
                }
                18 => {
                    let [start, end, step] = [self.value(), self.value(), self.value()];
                    let unroll = self.rng.below(2) == 0;
                    let ty = self.rng.of(&[DType::U32, DType::I64]);
                    // The builder's own way to a counter, with a block of ours.
                    let mut counter = Value(0);
                    let made = self.b.block(|b| counter = b.inst(Op::Counter, Type::Scalar(ty)));
                    assert_eq!(made, [Stmt::Let(counter)]);
                    self.values.push(counter);
                    let body = self.block(depth);
                    self.values.retain(|v| *v != counter);
                    self.b.stmt(Stmt::For { counter, start, end, step, unroll, body });
                }
                _ => {
                    let check = self.block(depth);
                    let condition = self.value();
                    let body = self.block(depth);
                    self.b.stmt(Stmt::While { check, condition, body });
                }
            }
        }
        self.values.truncate(outer);
    }

    fn block(&mut self, depth: usize) -> crate::Block {
        let mut taken = std::mem::replace(&mut self.b, Builder::new("", [1; 3]));
        let block = taken.block(|b| {
            std::mem::swap(b, &mut self.b);
            self.statements(depth + 1);
            std::mem::swap(b, &mut self.b);
        });
        self.b = taken;
        block
    }
}

#[test]
fn random_programs_read_back() {
    for seed in 0..2000 {
        let program = Generator::program(seed);
        let text = program.to_string();
        let parsed = parse(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        assert_eq!(parsed.program, program, "seed {seed}\n{text}\n{}", parsed.program);
        assert_eq!(parsed.lines, (1..=text.lines().count()).collect::<Vec<_>>(), "seed {seed}\n{text}");
    }
}

#[test]
fn literals_keep_their_bits() {
    let mut rng = Rng(99);
    let specials = [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 0.1, 1e-45, 65504.0, 1e300, f64::MIN_POSITIVE];
    let floats = specials.iter().flat_map(|x| [DType::F16, DType::BF16, DType::F32, DType::F64].map(|d| Literal::float(d, *x)));
    for literal in floats.chain((0..20_000).map(|_| rng.literal())) {
        let text = format!("kernel k() threads(1, 1, 1) {{ %0 = const {} {} }}", literal.dtype(), print::literal(literal));
        let program = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}")).program;
        assert_eq!(program.insts[0].op, Op::Const(literal), "{text}");
    }
}

#[test]
fn numbers_stand_for_constants_and_names_for_numbers() {
    let text = "
        kernel clamp(x: mut [f32], n: u32) threads(64, 1, 1) { ; all of it
            local best: [f32; 1]
            %t = thread.x
            %n = param n
            store best[0], -1.5
            %in = lt u32 %t, %n
            if %in {                 ; a trailing remark
                %v = load f32 x[%t]
                %r = max f32 %v, 0.0
                for %i: u32 in 0..4 step 1 unroll { barrier }
                store x[%t], %r
            }
        }";
    let parsed = parse(text).unwrap();
    let printed = parsed.program.to_string();
    assert_eq!(parse(&printed).unwrap().program, parsed.program);
    assert!(printed.contains("const f32 -1.5") && printed.contains("const u32 4"), "{printed}");
    // Every printed line knows where it came from.
    let at = printed.lines().position(|line| line.contains("load f32")).unwrap();
    assert_eq!(parsed.lines[at], 9);
    assert_eq!(parsed.lines.len(), printed.lines().count());
}

#[test]
fn errors_say_where_and_why() {
    let error = |body: &str| {
        let error = parse(&format!("kernel k(x: [f32], n: u32) threads(1, 1, 1) {{\n{body}\n}}")).unwrap_err();
        format!("{}:{}: {}", error.line, error.column, error.cause)
    };
    assert_eq!(error("    %1 = ad u32 1, 2"), "2:10: `ad` where an instruction should be");
    assert_eq!(error("%1 = add u32 %0, 2"), "2:14: there is no value %0 so far");
    assert_eq!(error("%1 = load f32 z[0]"), "2:15: there is no parameter or array `z`");
    assert_eq!(error("%1 = const u8 256"), "2:15: `256` where a number of u8 should be");
    assert_eq!(error("%1 = const f33 2"), "2:12: `f33` where a type of elements should be");
    assert_eq!(error("store x[0] 1.0"), "2:12: `1.0` where `,` should be");
    assert_eq!(error("%1 = thread.w"), "2:13: `w` where x, y or z should be");
    assert_eq!(error("%1 = param n\n%1 = lane"), "4:1: %1 is made a second time");
    assert_eq!(error("%1 = param n\n%2 = lt f32 %1, %1"), "4:1: `lt f32` of an argument that is u32");
    assert_eq!(error("if true { barrier"), "3:1: the end where a statement should be");
    assert_eq!(error("barrier $"), "2:9: `$` means nothing here");
    assert!(parse("").is_err() && parse("kernel").is_err() && parse("kernel k(").is_err());
    assert_eq!(parse_all("kernel a() threads(1, 1, 1) {}\nkernel b() threads(2, 1, 1) {}").unwrap().len(), 2);
}

#[test]
fn no_text_makes_the_parser_panic() {
    let text = Generator::program(7).to_string();
    let mut rng = Rng(5);
    for _ in 0..3000 {
        let mut bytes = text.clone().into_bytes();
        for _ in 0..1 + rng.below(4) {
            let at = rng.below(bytes.len());
            if rng.below(2) == 0 { bytes.truncate(at + 1) } else { bytes[at] = rng.of(b"%{}[];:.,\"\\-0x9af \n") }
        }
        let _ = parse(&String::from_utf8_lossy(&bytes));
    }
}
