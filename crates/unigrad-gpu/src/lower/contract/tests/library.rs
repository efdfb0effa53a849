//! Contractions as a library's products: what a naive library computes from a [`Product`] alone, and the step after it, against the oracle.

use super::super::inside::Factor;
use super::super::library::{Library, library};
use super::*;
use crate::{Activation, Matrix, Product};
use unigrad_scalar::{Term, UnaryOp};

/// The memory of a product, in the order of [`crate::Operands`]; what shares an argument is the same.
struct Parts {
    a: Memory,
    b: Memory,
    c: Memory,
    residual: Option<Memory>,
    bias: Option<Memory>,
    before: Option<Memory>,
}

/// `c = activation(scale * a b + residual + bias)`, as the text of `crate::product` says it.
fn multiply(p: &Product, scale: f64, parts: &mut Parts) {
    for (matrix, rows, cols) in [(&p.a, p.m, p.k), (&p.b, p.k, p.n), (&p.c, p.m, p.n)] {
        let (run, count) = if matrix.transposed { (rows, cols) } else { (cols, rows) };
        assert!(matrix.ld >= run && run > 0 && count > 0, "{p:?}");
    }
    assert!(!p.c.transposed && p.a.dtype == p.b.dtype && [p.a.dtype, p.compute].contains(&p.c.dtype), "{p:?}");
    assert!(p.inside.scaled || scale == 1.0, "{p:?}");
    let at = |matrix: &Matrix, item: u32, row: u32, col: u32| {
        let (outer, inner) = if matrix.transposed { (col, row) } else { (row, col) };
        (matrix.offset + u64::from(item) * matrix.batch_stride + u64::from(outer) * u64::from(matrix.ld) + u64::from(inner)) as usize
    };
    for item in 0..p.batch {
        for row in 0..p.m {
            for col in 0..p.n {
                let product = |k| parts.a.get(at(&p.a, item, row, k)).as_f64() * parts.b.get(at(&p.b, item, k, col)).as_f64();
                let mut sum = (0..p.k).map(product).sum::<f64>() * scale;
                if let (Some(matrix), Some(memory)) = (&p.inside.residual, &parts.residual) {
                    sum += memory.get(at(matrix, item, row, col)).as_f64();
                }
                if let (Some(offset), Some(memory)) = (p.inside.bias, &parts.bias) {
                    sum += memory.get(offset as usize + col as usize).as_f64();
                }
                let argument = match (&p.inside.before, &parts.before) {
                    (Some(matrix), Some(memory)) => memory.get(at(matrix, item, row, col)).as_f64(),
                    _ => f64::NAN,
                };
                if let (Some(matrix), Some(memory), true) =
                    (&p.inside.before, &mut parts.before, p.inside.activation != Activation::GeluTanhSlope)
                {
                    memory.set(at(matrix, item, row, col), Literal::float(matrix.dtype, sum));
                }
                let value = match p.inside.activation {
                    Activation::None => sum,
                    Activation::Relu => sum.max(0.0),
                    Activation::GeluTanhSlope => UnaryOp::GeluTanh.slope(false).unwrap().eval(&[argument, f64::NAN, sum]),
                    Activation::GeluTanh => {
                        0.5 * sum * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (sum + 0.044715 * sum.powi(3))).tanh())
                    }
                };
                parts.c.set(at(&p.c, item, row, col), Literal::float(p.c.dtype, value));
            }
        }
    }
}

/// Runs what comes before the product, the product, and what comes after.
fn run(found: &Library, args: &mut [Memory], scalars: &[u64]) {
    let target = &targets()[0].1;
    let n_args = args.len();
    let mut memory: Vec<Vec<u8>> = args.iter().map(|arg| arg.bytes().to_vec()).collect();
    memory.extend(found.steps.scratch.iter().map(|bytes| vec![0xab; *bytes]));
    let (before, after) = found.steps.steps.split_at(found.before);
    launch(before, target, &mut memory, n_args, scalars).unwrap();
    let unchanged = args.iter().zip(&memory).all(|(arg, now)| arg.bytes() == now);
    assert!(unchanged, "a step before a product changes an argument");
    let place = |place: &ProgramArg| match place {
        ProgramArg::Arg(at) => *at,
        ProgramArg::Scratch(at) => n_args + at,
        other => panic!("{other:?}"),
    };
    let of = |memory: &[Vec<u8>], at: &ProgramArg, dtype: DType| {
        let bytes = &memory[place(at)];
        let mut of = Memory::new(dtype, bytes.len() / dtype.size());
        of.bytes_mut().copy_from_slice(bytes);
        of
    };
    let (p, places) = (&found.words, &found.places);
    let maybe = |at: &Option<ProgramArg>, dtype: DType| at.as_ref().map(|at| of(&memory, at, dtype));
    let mut parts = Parts {
        a: of(&memory, &places.a, p.a.dtype),
        b: of(&memory, &places.b, p.b.dtype),
        c: of(&memory, &places.c, p.c.dtype),
        residual: maybe(&places.residual, p.c.dtype),
        bias: maybe(&places.bias, p.c.dtype),
        before: maybe(&places.before, p.c.dtype),
    };
    let scale = match found.scale {
        Factor::One => 1.0,
        Factor::Number(scale) => scale,
        Factor::Scalar(at, dtype) => Literal::from_raw(dtype, scalars[at]).as_f64(),
    };
    multiply(p, scale, &mut parts);
    if let (Some(at), Some(before)) = (&places.before, &parts.before) {
        memory[place(at)] = before.bytes().to_vec();
    }
    memory[place(&places.c)] = parts.c.bytes().to_vec();
    launch(after, target, &mut memory, n_args, scalars).unwrap();
    for (arg, bytes) in args.iter_mut().zip(memory) {
        arg.bytes_mut().copy_from_slice(&bytes);
    }
}

/// The way with nothing of the epilogue inside.
fn parted(contract: &Contract) -> Option<Library> {
    library(contract, &targets()[0].1).pop()
}

fn check(case: &mut Case, what: &str) -> Option<Product> {
    let found = parted(&case.contract)?;
    let want = oracle(&case.contract, &case.args[0], &case.args[1]);
    let untouched = Literal::int(case.args[2].dtype, 1);
    (0..case.args[2].len()).for_each(|i| case.args[2].set(i, untouched));
    run(&found, &mut case.args, &[]);
    assert_eq!(first_difference(&case.args[2], &want, untouched), None, "{what}: {:?}", case.contract);
    Some(found.words)
}

#[test]
fn plain_products_in_every_layout_and_dtype() {
    let mut rng = Rng(11);
    for [m, n, k] in [[5, 7, 9], [1, 8, 3], [8, 1, 3], [1, 1, 6], [4, 6, 1], [1, 1, 1]] {
        for (ta, tb) in [(false, false), (true, false), (false, true), (true, true)] {
            for dtype in FLOATS {
                for out in [dtype, if dtype == DType::F64 { dtype } else { DType::F32 }] {
                    let mut case = matmul(&mut rng, [m, n, k], ta, tb, [dtype, dtype, out]);
                    let product = check(&mut case, &format!("{m} {n} {k} {ta} {tb} {dtype}")).expect("a plain product");
                    assert_eq!((product.a.dtype, product.c.dtype, product.after), (dtype, out, false));
                    if m > 1 && n > 1 && k > 1 {
                        assert_eq!((product.a.transposed, product.b.transposed, product.m), (ta, tb, m as u32));
                    }
                }
            }
        }
    }
}

#[test]
fn batches_may_share_an_operand_and_lie_between_rows() {
    let mut rng = Rng(12);
    let mut case = matmul(&mut rng, [4, 5, 6], false, true, [DType::F32; 3]);
    // [row, item, column] for `a` and `c`, one `b`.
    case.contract.batch = smallvec![BatchDim { size: 3, a: 6, b: 0, c: 5 }];
    (case.contract.m[0].a, case.contract.m[0].c) = (18, 15);
    (case.contract.a.len, case.contract.c.len) = (72, 60);
    case.args[0] = Memory::new(DType::F32, 72);
    (0..72).for_each(|i| case.args[0].set(i, Literal::int(DType::F32, i as i64 % 7)));
    case.args[2] = Memory::new(DType::F32, 60);
    let product = check(&mut case, "interleaved").expect("strides that a library takes");
    assert_eq!((product.a.ld, product.c.ld, product.b.batch_stride, product.c.batch_stride), (18, 15, 0, 5));
}

#[test]
fn whatever_is_taken_for_a_product_is_one() {
    let mut rng = Rng(13);
    let mut taken = 0;
    for round in 0..1500 {
        let [batch, m, n, k] = [&[1, 2, 3][..], &[1, 2, 5], &[1, 3, 8], &[0, 1, 2, 7]].map(|sizes| list(&mut rng, 2, sizes));
        let dtype = rng.pick(&[DType::F32, DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32]);
        let dtypes = [dtype, rng.pick(&[dtype, dtype, DType::F32]), rng.pick(&[dtype, DType::F32, DType::F64])];
        let found = check(&mut random_case(&mut rng, [&batch, &m, &n, &k], dtypes), &format!("round {round}"));
        taken += usize::from(found.is_some());
    }
    // Most of the random layouts overlap, run backwards or leave gaps.
    assert!(taken > 100, "{taken}");
}

/// Operands that are made first; what is there is what the driver's own programs compute.
#[test]
fn operands_that_prologues_make_are_made_before_the_product() {
    let mut rng = Rng(16);
    let mut sides = [0; 3];
    for round in 0..400 {
        let dtype = rng.pick(&FLOATS);
        let [batch, m, n, k] = [&[1, 2, 3][..], &[1, 2, 5], &[1, 3, 8], &[1, 2, 7]].map(|sizes| list(&mut rng, 1, sizes));
        let mut case = match rng.below(2) {
            0 => random_case(&mut rng, [&batch, &m, &n, &k], [dtype, dtype, dtype.compute()]),
            _ => {
                let turned = [rng.below(2) == 0, rng.below(2) == 0];
                matmul(&mut rng, [6, 5, 7], turned[0], turned[1], [dtype, dtype, dtype])
            }
        };
        let want = oracle(&case.contract, &case.args[0], &case.args[1]);
        with_prologues(&mut rng, &mut case);
        let bytes = |side: usize| {
            let args = case.contract.prologues[side].iter().flat_map(|region| region.args.iter());
            args.map(|arg| arg.len * arg.dtype.size()).sum::<usize>() as u64
        };
        let Some(found) = parted(&case.contract) else { continue };
        assert_eq!((found.words.made, found.before > 0), (bytes(0) + bytes(1), true), "round {round}");
        let untouched = Literal::int(case.args[2].dtype, 1);
        (0..case.args[2].len()).for_each(|i| case.args[2].set(i, untouched));
        run(&found, &mut case.args, &[]);
        assert_eq!(first_difference(&case.args[2], &want, untouched), None, "round {round}: {:?}", case.contract);
        let made = case.contract.prologues.each_ref().map(Option::is_some);
        sides[usize::from(made[0]) + usize::from(made[1])] += 1;
    }
    assert!(sides[0] == 0 && sides[1] > 40 && sides[2] > 40, "{sides:?}");
}

#[test]
fn epilogues_follow_the_product() {
    let mut rng = Rng(14);
    for turned in [false, true] {
        for (input, acc) in [(DType::F32, DType::F32), (DType::BF16, DType::F32), (DType::F16, DType::F32), (DType::F64, DType::F64)] {
            let mut case = matmul(&mut rng, [6, 9, 4], turned, false, [input, input, acc]);
            let axes: SmallVec<[usize; 6]> = smallvec![6, 9];
            let run_it = |case: &Case, args: &mut [Memory], scalars: &[u64]| {
                let found = parted(&case.contract).expect("a plain product");
                assert!(found.words.after && found.words.c.dtype == found.words.compute);
                run(&found, args, scalars);
            };
            check_epilogue(&mut rng, &mut case, &axes, 1, turned, &format!("{input} {turned}"), &run_it);
        }
    }
}

/// What an epilogue is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Said {
    scale: Option<f64>,
    /// A number for each column, from the second on.
    bias: bool,
    residual: bool,
    /// The residual is what the result overwrites.
    in_place: bool,
    activation: Activation,
    before: bool,
}

/// The epilogue as a region over `[batch, m, n]`, and its arguments' memory after `a` and `b`.
fn epilogue(rng: &mut Rng, axes: [usize; 3], dtype: DType, acc: DType, turned: bool, said: Said) -> (Region, Vec<Memory>) {
    let [batch, m, n] = axes.map(|size| size as i64);
    let strides: SmallVec<[i64; 6]> = if turned { smallvec![m * n, 1, m] } else { smallvec![m * n, n, 1] };
    let index = |offset, strides: &SmallVec<[i64; 6]>| Index { offset, strides: strides.clone(), dynamic: smallvec![] };
    let columns: SmallVec<[i64; 6]> = if turned { smallvec![0, 1, 0] } else { smallvec![0, 0, 1] };
    let points = (batch * m * n) as usize;
    let arg = |len, write| Arg { dtype, len, write };
    let (mut args, mut insts, mut memory) = (Vec::new(), vec![Inst { op: InstOp::Acc, dtype: acc }], Vec::new());
    let mut filled = |len: usize| {
        let mut filled = Memory::new(dtype, len);
        filled.fill(rng);
        filled
    };
    let then = |insts: &mut Vec<Inst>, op, dtype| {
        insts.push(Inst { op, dtype });
        Value(insts.len() as u32 - 1)
    };
    let mut value = Value(0);
    if let Some(scale) = said.scale {
        let factor = then(&mut insts, InstOp::Const(Literal::float(acc, scale)), acc);
        value = then(&mut insts, InstOp::Binary(BinaryOp::Mul, factor, value), acc);
    }
    if said.bias {
        let len = if turned { m } else { n } as usize + 1;
        args.push(arg(len, false));
        memory.push(filled(len));
        let at = args.len() as u32 - 1;
        let bias = then(&mut insts, InstOp::Load { arg: at, index: index(1, &columns), mask: None }, dtype);
        value = then(&mut insts, InstOp::Binary(BinaryOp::Add, value, bias), acc);
    }
    let mut out = None;
    if said.residual {
        args.push(arg(points, said.in_place));
        memory.push(filled(points));
        let at = args.len() as u32 - 1;
        out = said.in_place.then_some(at);
        let residual = then(&mut insts, InstOp::Load { arg: at, index: index(0, &strides), mask: None }, dtype);
        value = then(&mut insts, InstOp::Binary(BinaryOp::Add, residual, value), acc);
    }
    if said.before {
        args.push(arg(points, true));
        memory.push(filled(points));
        then(&mut insts, InstOp::Store { arg: args.len() as u32 - 1, index: index(0, &strides), value }, dtype);
    }
    match said.activation {
        Activation::None => {}
        Activation::Relu => value = then(&mut insts, InstOp::Unary(UnaryOp::Relu, value), acc),
        Activation::GeluTanh => value = then(&mut insts, InstOp::Unary(UnaryOp::GeluTanh, value), acc),
        Activation::GeluTanhSlope => {
            args.push(arg(points, false));
            memory.push(filled(points));
            let load = InstOp::Load { arg: args.len() as u32 - 1, index: index(0, &strides), mask: None };
            let argument = then(&mut insts, load, dtype);
            let mut values = Vec::new();
            for term in UnaryOp::GeluTanh.slope(false).unwrap().terms() {
                values.push(match *term {
                    Term::Input(0) => argument,
                    Term::Input(_) => value,
                    Term::Constant(number) => then(&mut insts, InstOp::Const(Literal::float(dtype, number)), dtype),
                    Term::Unary(op, a) => then(&mut insts, InstOp::Unary(op, values[a]), dtype),
                    // Operands the other way round, as a user may write them.
                    Term::Binary(op, a, b) if op.is_commutative() => then(&mut insts, InstOp::Binary(op, values[b], values[a]), dtype),
                    Term::Binary(op, a, b) => then(&mut insts, InstOp::Binary(op, values[a], values[b]), dtype),
                    Term::Select(a, b, c) => then(&mut insts, InstOp::Where(values[a], values[b], values[c]), dtype),
                });
            }
            value = values[values.len() - 1];
        }
    }
    let out = out.unwrap_or_else(|| {
        args.push(arg(points, true));
        memory.push(filled(points));
        args.len() as u32 - 1
    });
    then(&mut insts, InstOp::Store { arg: out, index: index(0, &strides), value }, dtype);
    let axes: SmallVec<[usize; 6]> = axes.into_iter().collect();
    (Region { name: "said".into(), n_parallel: 3, axes, args, scalars: vec![], insts }, memory)
}

/// What words say is what the driver's own programs compute.
#[test]
fn what_is_said_of_an_epilogue_is_what_it_does() {
    let mut rng = Rng(15);
    let target = &targets()[0].1;
    let flags = [false, true];
    let mut said = 0;
    for activation in [Activation::None, Activation::Relu, Activation::GeluTanh, Activation::GeluTanhSlope] {
        for (scale, bias, residual) in
            [None, Some(0.5)].into_iter().flat_map(|scale| flags.map(|bias| flags.map(|residual| (scale, bias, residual)))).flatten()
        {
            for (in_place, before) in flags.into_iter().flat_map(|in_place| flags.map(|before| (in_place, before))) {
                if (in_place && !residual) || (before && activation != Activation::GeluTanh) {
                    continue;
                }
                let what = Said { scale, bias, residual, in_place, activation, before };
                for ((input, dtype), turned) in
                    [(DType::F32, DType::F32), (DType::BF16, DType::BF16), (DType::F16, DType::F32), (DType::F64, DType::F64)]
                        .into_iter()
                        .flat_map(|dtypes| flags.map(|turned| (dtypes, turned)))
                {
                    let acc = input.compute();
                    let mut case = matmul(&mut rng, [6, 5, 4], turned, false, [input, input, acc]);
                    case.contract.batch = smallvec![BatchDim { size: 1, a: 0, b: 0, c: 0 }];
                    let (region, memory) = epilogue(&mut rng, [1, 6, 5], dtype, acc, turned, what);
                    case.contract.epilogue = Some(Box::new(region));
                    let mut want = [case.args[..2].to_vec(), memory].concat();
                    let mut got = want.clone();
                    let own = lower(&case.contract, target).unwrap();
                    execute(&own, target, &mut want, &[], &[]).unwrap();
                    let found = library(&case.contract, target);
                    assert_eq!(found.len(), 2, "{what:?} {input} {turned}: no words");
                    assert!(found[0].words.inside.activation == activation && !found[0].words.after, "{what:?}");
                    run(&found[0], &mut got, &[]);
                    for (at, (want, got)) in want.iter().zip(&got).enumerate() {
                        for i in 0..want.len() {
                            let (want, got) = (want.get(i).as_f64(), got.get(i).as_f64());
                            let is_gelu = matches!(activation, Activation::GeluTanh | Activation::GeluTanhSlope);
                            let bound = if is_gelu { 0.01 * want.abs().max(0.01) } else { 0.0 };
                            assert!((want - got).abs() <= bound, "{what:?} {input} {turned}, argument {at}, {i}: {got} not {want}");
                        }
                    }
                    said += 1;
                }
            }
        }
    }
    assert!(said > 200, "{said}");
}

/// What there are no words for is left to the driver's own programs.
#[test]
fn no_words_for_what_a_library_would_do_otherwise() {
    let target = &targets()[0].1;
    let plain = Said { scale: None, bias: true, residual: true, in_place: true, activation: Activation::Relu, before: false };
    let spoken = |change: &dyn Fn(&mut Region), said: Said| {
        let mut case = matmul(&mut Rng(1), [6, 5, 4], false, false, [DType::BF16, DType::BF16, DType::F32]);
        case.contract.batch = smallvec![BatchDim { size: 1, a: 0, b: 0, c: 0 }];
        let (mut region, _) = epilogue(&mut Rng(2), [1, 6, 5], DType::BF16, DType::F32, false, said);
        change(&mut region);
        case.contract.epilogue = Some(Box::new(region));
        library(&case.contract, target).len() == 2
    };
    assert!(spoken(&|_| {}, plain));
    let first = |region: &Region, wanted: fn(&InstOp) -> bool| region.insts.iter().position(|inst| wanted(&inst.op)).unwrap();
    let load = |op: &InstOp| matches!(op, InstOp::Load { .. });
    type Change<'a> = (&'a str, &'a dyn Fn(&mut Region));
    let changes: [Change<'_>; 8] = [
        ("a rounding before the sum is added to", &|r| {
            r.insts[1] = Inst { op: InstOp::Cast(Value(0)), dtype: DType::BF16 };
            r.insts[2] = Inst { op: InstOp::Binary(BinaryOp::Add, Value(1), Value(1)), dtype: DType::F32 };
        }),
        ("a difference", &|r| {
            let at = first(r, |op| matches!(op, InstOp::Binary(..)));
            r.insts[at].op = InstOp::Binary(BinaryOp::Sub, Value(0), Value(1));
        }),
        ("another activation", &|r| {
            let at = first(r, |op| matches!(op, InstOp::Unary(..)));
            r.insts[at].op = InstOp::Unary(UnaryOp::Silu, Value(at as u32 - 1));
        }),
        ("a masked load", &|r| {
            let at = first(r, load);
            let InstOp::Load { mask, .. } = &mut r.insts[at].op else { unreachable!() };
            *mask = Some(Value(0));
        }),
        ("a bias of another dtype", &|r| r.args[0].dtype = DType::F16),
        ("a bias with gaps", &|r| {
            let at = first(r, load);
            let InstOp::Load { index, .. } = &mut r.insts[at].op else { unreachable!() };
            index.strides[2] = 2;
        }),
        ("a residual that is read elsewhere than the result is written", &|r| {
            let at = r.insts.iter().rposition(|inst| load(&inst.op)).unwrap();
            let InstOp::Load { index, .. } = &mut r.insts[at].op else { unreachable!() };
            index.strides = smallvec![30, 1, 6];
        }),
        ("a result that runs the other way, where only one role fits the bias", &|r| {
            let at = r.insts.iter().rposition(|inst| matches!(inst.op, InstOp::Store { .. })).unwrap();
            let InstOp::Store { index, .. } = &mut r.insts[at].op else { unreachable!() };
            index.strides = smallvec![30, 1, 6];
        }),
    ];
    for (what, change) in changes {
        assert!(!spoken(change, plain), "{what}");
    }
    // The argument of an activation that the library does not keep.
    assert!(!spoken(&|_| {}, Said { before: true, in_place: false, ..plain }));
}
