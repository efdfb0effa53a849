//! Which prologues are those of 8-bit floats, and the products of their codes.

use super::super::codes::{Codes, codes};
use super::super::library::library;
use super::*;
use unigrad_scalar::Float8;

/// A map of 6 rows of 16 codes that decodes them as the planner does, with what is to come after: a factor in memory, a constant one, a half type.
#[derive(Clone, Copy, Debug)]
struct Map {
    dtype: DType,
    factor: Option<f64>,
    scaled: bool,
    to: DType,
}

fn map(what: Map) -> Region {
    let mut insts: Vec<Inst> = Vec::new();
    let mut then = |op, dtype| {
        insts.push(Inst { op, dtype });
        Value(insts.len() as u32 - 1)
    };
    let whole = || Index { offset: 0, strides: smallvec![16, 1], dynamic: smallvec![] };
    let code = then(InstOp::Load { arg: 0, index: whole(), mask: None }, DType::U8);
    let wide = then(InstOp::Cast(code), DType::U16);
    let mut with = |op, value: Value, number: i64| {
        let number = then(InstOp::Const(Literal::int(DType::U16, number)), DType::U16);
        then(InstOp::Binary(op, value, number), DType::U16)
    };
    let mut value = if what.dtype == DType::F8E5M2 {
        let bits = with(BinaryOp::Shl, wide, 8);
        let half = then(InstOp::Bitcast(bits), DType::F16);
        then(InstOp::Cast(half), DType::F32)
    } else {
        let sign = with(BinaryOp::And, wide, 0x80);
        let sign = with(BinaryOp::Shl, sign, 8);
        let magnitude = with(BinaryOp::And, wide, 0x7f);
        let bits = with(BinaryOp::Shl, magnitude, 7);
        let nan = then(InstOp::Const(Literal::int(DType::U16, 0x7f)), DType::U16);
        let is_nan = then(InstOp::Binary(BinaryOp::Eq, magnitude, nan), DType::Bool);
        let bits = then(InstOp::Binary(BinaryOp::Or, bits, sign), DType::U16);
        let half = then(InstOp::Bitcast(bits), DType::F16);
        let half = then(InstOp::Cast(half), DType::F32);
        let unit = then(InstOp::Const(Literal::float(DType::F32, 256.0)), DType::F32);
        let value = then(InstOp::Binary(BinaryOp::Mul, half, unit), DType::F32);
        let nan = then(InstOp::Const(Literal::float(DType::F32, f64::NAN)), DType::F32);
        then(InstOp::Where(is_nan, nan, value), DType::F32)
    };
    if let Some(factor) = what.factor {
        let factor = then(InstOp::Const(Literal::float(DType::F32, factor)), DType::F32);
        value = then(InstOp::Binary(BinaryOp::Mul, value, factor), DType::F32);
    }
    let arg = |dtype, len, write| Arg { dtype, len, write };
    let mut args = vec![arg(DType::U8, 96, false)];
    if what.scaled {
        let third = Index { offset: 2, strides: smallvec![0, 0], dynamic: smallvec![] };
        let scale = then(InstOp::Load { arg: 1, index: third, mask: None }, DType::F32);
        value = then(InstOp::Binary(BinaryOp::Mul, value, scale), DType::F32);
        args.push(arg(DType::F32, 3, false));
    }
    if what.to != DType::F32 {
        value = then(InstOp::Cast(value), what.to);
    }
    then(InstOp::Store { arg: args.len() as u32, index: whole(), value }, what.to);
    args.push(arg(what.to, 96, true));
    Region { name: "decode".into(), axes: smallvec![6, 16], n_parallel: 2, args, scalars: Vec::new(), insts }
}

const PLAIN: Map = Map { dtype: DType::F8E4M3, factor: None, scaled: false, to: DType::F32 };

#[test]
fn maps_that_decode_are_known_by_what_they_do() {
    for dtype in DType::STORED {
        for (factor, scaled, to) in [
            (None, false, DType::F32),
            (None, false, DType::BF16),
            (None, false, DType::F16),
            (None, true, DType::F32),
            (None, true, DType::BF16),
            (Some(0.375), false, DType::F32),
            (Some(f64::from(-0.1f32)), true, DType::F32),
        ] {
            let what = Map { dtype, factor, scaled, to };
            let wanted = Codes { dtype, factor: factor.unwrap_or(1.0), scale: scaled.then_some((1, 2)) };
            assert_eq!(codes(&map(what)), Some(wanted), "{what:?}");
        }
        assert!(Float8::of(dtype).is_some());
    }
}

#[test]
fn a_map_that_does_something_else_is_none() {
    type Change<'a> = (&'a str, &'a dyn Fn(&mut Region), bool);
    let load = |r: &mut Region, at: usize, strides: [i64; 2]| {
        let InstOp::Load { index, .. } = &mut r.insts[at].op else { unreachable!() };
        index.strides = smallvec![strides[0], strides[1]];
    };
    let first = |r: &Region, wanted: &dyn Fn(&Inst) -> bool| r.insts.iter().position(wanted).unwrap();
    let last_load = |r: &Region| r.insts.iter().rposition(|inst| matches!(inst.op, InstOp::Load { .. })).unwrap();
    let changes: [Change<'_>; 7] = [
        ("codes in another order", &|r| load(r, 0, [1, 6]), false),
        ("a scale for each row", &|r| load(r, last_load(r), [1, 0]), true),
        (
            "another bias",
            &|r| {
                let at = first(r, &|inst| inst.op == InstOp::Const(Literal::float(DType::F32, 256.0)));
                r.insts[at].op = InstOp::Const(Literal::float(DType::F32, 0.0));
            },
            false,
        ),
        (
            "no NaN",
            &|r| {
                let at = first(r, &|inst| matches!(inst.op, InstOp::Where(..)));
                let InstOp::Where(_, _, value) = r.insts[at].op else { unreachable!() };
                r.insts[at].op = InstOp::Cast(value);
            },
            false,
        ),
        (
            "a scale that is used twice",
            &|r| {
                let (scale, at) = (Value(last_load(r) as u32), last_load(r) + 1);
                r.insts[at].op = InstOp::Binary(BinaryOp::Mul, scale, scale);
            },
            true,
        ),
        (
            "a sum instead of a product",
            &|r| {
                let at = last_load(r) + 1;
                let InstOp::Binary(_, x, y) = r.insts[at].op else { unreachable!() };
                r.insts[at].op = InstOp::Binary(BinaryOp::Add, x, y);
            },
            true,
        ),
        (
            "a scale of another dtype",
            &|r| {
                let at = last_load(r);
                (r.args[1].dtype, r.insts[at].dtype) = (DType::F16, DType::F16);
            },
            true,
        ),
    ];
    for (what, change, scaled) in changes {
        let mut region = map(Map { scaled, ..PLAIN });
        assert!(codes(&region).is_some(), "{what}: before");
        change(&mut region);
        assert_eq!(codes(&region), None, "{what}");
    }
}

/// `[6, 16]` times `[16, 6]`, the second one as `[6, 16]` turned: with the codes first, then with what is made of them.
#[test]
fn codes_are_offered_before_what_is_made_of_them() {
    let target = &targets()[0].1;
    let offered = |a: Map, b: Map| {
        let mut case = matmul(&mut Rng(3), [6, 6, 16], false, true, [a.to, b.to, DType::F32]);
        case.contract.prologues = [Some(Box::new(map(a))), Some(Box::new(map(b)))];
        library(&case.contract, target)
    };
    let wide = Map { dtype: DType::F8E5M2, ..PLAIN };
    let both = offered(PLAIN, Map { scaled: true, factor: Some(0.5), ..wide });
    assert_eq!(both.len(), 2);
    let (p, places) = (&both[0].words, &both[0].places);
    assert_eq!((p.a.dtype, p.b.dtype, p.c.dtype, p.compute), (DType::F8E4M3, DType::F8E5M2, DType::F32, DType::F32));
    assert_eq!((p.a.transposed, p.b.transposed, p.made, both[0].before, p.tf32), (false, true, 0, 0, false));
    assert_eq!((p.inside.scales, p.inside.scaled), ([None, Some(2)], true));
    // The scale is the one argument beyond `a`, `b` and `c`.
    assert_eq!((&places.a, &places.b, &places.scales), (&ProgramArg::Arg(0), &ProgramArg::Arg(1), &[None, Some(ProgramArg::Arg(3))]));
    assert!(both[1].words.a.dtype == DType::F32 && both[1].words.made > 0 && both[1].before == 2);
    let half = Map { to: DType::BF16, ..PLAIN };
    assert!(offered(half, half)[0].words.tf32, "sums of halves may have fewer bits");
    let mut one = matmul(&mut Rng(3), [6, 6, 16], false, true, [DType::F32; 3]);
    one.contract.prologues = [None, Some(Box::new(map(wide)))];
    let one = library(&one.contract, target);
    assert!(one.len() == 1 && one[0].words.b.dtype == DType::F32, "a library multiplies codes by codes only");
}
