//! What is printed reads back; what is no region is an error that helps.

use super::{MAX_AXES, ParseError, parse_regions};
use crate::{Arg, Index, Inst, InstOp, Region, Value};
use smallvec::smallvec;
use unigrad_scalar::{ArgReduceOp, BinaryOp, DType, Literal, ReduceOp, UnaryOp};

const SOFTMAX: &str = r#"region "softmax" parallel [64] reduce [256] {
    a0: f32[16384]
    a1: mut f32[16384]
    %0 = load f32 a0[256*i0 + i1]
    %1 = max f32 %0
    %2 = sub f32 %0, %1
    %3 = exp f32 %2
    %4 = sum f32 %3
    %5 = div f32 %3, %4
    store f32 a1[256*i0 + i1], %5
}
"#;

#[test]
fn a_printed_text_reads_back() {
    let region: Region = SOFTMAX.parse().unwrap();
    assert_eq!(region.to_string(), SOFTMAX);
    assert_eq!((region.rows(), region.row_len(), region.insts.len()), (64, 256, 7));
    let twice = format!("; two of them\n{SOFTMAX} ; and a comment ; in it\n\n{SOFTMAX}");
    assert_eq!(parse_regions(&twice).unwrap(), [region.clone(), region]);
    assert_eq!(parse_regions(" ; nothing").unwrap(), []);
}

/// Every operation, and numbers at their ends.
#[test]
fn every_instruction_reads_back() {
    let mut insts: Vec<Inst> = Vec::new();
    let mut push = |op: InstOp, dtype: DType| {
        insts.push(Inst { op, dtype });
        Value(insts.len() as u32 - 1)
    };
    let [x, y] = [0, 1].map(|slot| push(InstOp::Scalar(slot), DType::F64));
    let axis = push(InstOp::AxisIndex(1), DType::I64);
    push(InstOp::Acc, DType::F32);
    for dtype in DType::ALL {
        for value in [Literal::zero(dtype), Literal::one(dtype), Literal::min_value(dtype), Literal::max_value(dtype)] {
            push(InstOp::Const(value), dtype);
        }
        let values = [-0.0, 0.1, -1e-30, 1e30, f64::NAN, f64::MIN_POSITIVE, 5e-324, 1.0 / 3.0];
        values.iter().for_each(|x| _ = push(InstOp::Const(Literal::float(dtype, *x)), dtype));
        push(InstOp::Cast(x), dtype);
        push(InstOp::Bitcast(x), dtype);
        push(InstOp::Const(Literal::one(DType::U8)), dtype);
    }
    // NaNs of other bits.
    for (dtype, raw) in [(DType::F64, 0xfff8_0000_0000_0001), (DType::F32, 0xffc0_0001), (DType::F16, 0xfe01), (DType::BF16, 0xffc1)] {
        push(InstOp::Const(Literal::from_raw(dtype, raw)), dtype);
    }
    UnaryOp::ALL.iter().for_each(|op| _ = push(InstOp::Unary(*op, x), DType::F64));
    BinaryOp::ALL.iter().for_each(|op| _ = push(InstOp::Binary(*op, x, y), DType::Bool));
    ReduceOp::ALL.iter().for_each(|op| _ = push(InstOp::Reduce(*op, x), DType::F64));
    ArgReduceOp::ALL.iter().for_each(|op| _ = push(InstOp::ArgReduce(*op, x), DType::I64));
    push(InstOp::Where(x, y, x), DType::F64);
    push(InstOp::Bounded { index: axis, size: i64::MAX, from_end: true, check: 31 }, DType::I64);
    push(InstOp::Bounded { index: axis, size: 0, from_end: false, check: 255 }, DType::I64);
    push(InstOp::Philox { seed: x, offset: y, index: axis, word: 3 }, DType::U32);
    let ends = [i64::MIN, -1, 0, 1, i64::MAX];
    for offset in ends {
        for stride in ends {
            let index =
                Index { offset, strides: smallvec![stride, 0, -stride.max(-5)], dynamic: smallvec![(axis, stride), (x, 0), (axis, -1)] };
            push(InstOp::Load { arg: 1, index: index.clone(), mask: None }, DType::F32);
            push(InstOp::Load { arg: 0, index: Index { dynamic: smallvec![], ..index.clone() }, mask: Some(y) }, DType::F32);
            push(InstOp::Store { arg: 1, index, value: x }, DType::F64);
        }
    }
    let region = Region {
        name: "a \"name\" \\ with\n\t\r\0 {signs} ; and \u{1f600}\u{7f}'".into(),
        axes: smallvec![0, 1, usize::MAX / 4],
        n_parallel: 1,
        args: vec![Arg { dtype: DType::Bool, len: 0, write: false }, Arg { dtype: DType::F16, len: usize::MAX, write: true }],
        scalars: vec![DType::F64, DType::F64],
        insts,
    };
    let text = region.to_string();
    let again: Region = text.parse().unwrap_or_else(|error: ParseError| panic!("{error}\n{text}"));
    let first = again.insts.iter().zip(&region.insts).find(|(a, b)| a != b);
    assert_eq!(first, None);
    assert_eq!(again, region);
}

#[cfg(feature = "testing")]
#[test]
fn random_regions_read_back() {
    for seed in 0..3000 {
        let (region, ..) = crate::testing::regions::region(seed);
        let text = region.to_string();
        let again: Region = text.parse().unwrap_or_else(|error: ParseError| panic!("{error}\n{text}"));
        assert_eq!(again, region, "{text}");
    }
}

/// One word stands for one thing, but for the reductions that share a name with an operation of two values.
#[test]
fn words_are_not_taken_twice() {
    let own = ["const", "scalar", "axis", "acc", "load", "select", "cast", "bitcast", "bounded", "philox", "store", "where"];
    let one: Vec<&str> = UnaryOp::ALL.iter().map(|op| op.name()).chain(ReduceOp::ALL.iter().map(|op| op.name())).collect();
    let one: Vec<&str> = one.into_iter().chain(ArgReduceOp::ALL.iter().map(|op| op.name())).collect();
    let mut seen = std::collections::HashSet::new();
    assert!(own.iter().chain(&one).all(|word| seen.insert(*word)), "a word of one value is taken twice");
    let two = BinaryOp::ALL.iter().map(|op| op.name());
    assert!(two.into_iter().all(|name| !own.contains(&name) && !UnaryOp::ALL.iter().any(|op| op.name() == name)));
}

#[test]
fn errors_name_line_cause_and_remedy() {
    let wrong = |from: &str, to: &str| {
        assert_eq!(SOFTMAX.matches(from).count().min(1), 1, "{from}");
        SOFTMAX.replacen(from, to, 1).parse::<Region>().expect_err(to)
    };
    for (from, to, line, cause, help) in [
        ("region", "kernel", 1, "`kernel` where `region` should be", "write `region`"),
        ("\"softmax\"", "softmax", 1, "`softmax` where the region's name", "in quotes"),
        ("\"softmax\"", "\"softmax", 1, "has no end", "close it"),
        ("[64]", "[64.5]", 1, "`64.5` is not an extent", "write an extent"),
        ("[64]", "[99999999999999999999]", 1, "is not an extent", "write an extent"),
        ("[256]", "[18446744073709551615]", 1, "more points than can be counted", "smaller extents"),
        ("a0: f32", "a1: f32", 2, "`a1` where `a0` comes next", "number them"),
        ("a0: f32", "a0: float", 2, "`float` is not a dtype", "f32"),
        ("a1: mut f32[16384]", "a1: mut f32", 4, "`%0` where `[`", "write `[`"),
        ("load f32 a0", "load f32 a2", 4, "`a2` is not a buffer of the region", "`a0` to `a1`"),
        ("load f32 a0", "load f32 a01", 4, "`a01` is not a buffer", "`a0` to `a1`"),
        ("256*i0 + i1]", "256*i0 + i2]", 4, "`i2` is not an axis of the region", "`i0` to `i1`"),
        ("256*i0 + i1]", "]", 4, "`]` is not an axis", "`i0` to `i1`"),
        ("256*i0", "256*", 4, "`+` is not an axis", "an axis"),
        ("256*i0", "9223372036854775808*i0", 4, "beyond 64 bits", "smaller"),
        ("256*i0", "9223372036854775807*i0 + i0", 4, "beyond 64 bits", "smaller"),
        ("max f32 %0", "max f32 %9", 5, "`%9` is not made before", "after the line"),
        ("max f32 %0", "max f32 %1", 5, "`%1` is not made before", "after the line"),
        ("max f32 %0", "largest f32 %0", 5, "no operation is named `largest`", "scalar operation"),
        ("%2 = sub f32 %0, %1", "%2 = sub f32 %0", 6, "`sub` takes two values", "after a comma"),
        ("exp f32 %2", "exp f32 %2, %1", 7, "`exp` takes one value", "leave the second"),
        ("%4 = sum", "%3 = sum", 8, "`%3` is made twice", "of its own"),
        ("%5 = div", "5 = div", 9, "`5` where `%0 = ..`", "write"),
        ("store f32 a1[256*i0 + i1], %5", "store f32 a1[256*i0 + i1]", 11, "`}` where `,`", "write `,`"),
        ("], %5\n}", "], %5\n", 12, "the end where", "write"),
        ("exp f32 %2", "exp f32 %2 ?", 7, "'?' means nothing here", "printed"),
        ("exp f32 %2", "exp f32 %", 7, "`%` without a name", "as `%0`"),
        ("exp f32 %2", "const f32 one", 7, "`one` is not a number of f32", "write a f32"),
        ("exp f32 %2", "const u8 256", 7, "`256` is not a number of u8", "write a u8"),
        ("exp f32 %2", "const i32 -2147483649", 7, "is not a number of i32", "write a i32"),
        ("exp f32 %2", "const f16 0x10000", 7, "`0x10000` is not a number of f16", "write a f16"),
        ("exp f32 %2", "const f32 infinity", 7, "`infinity` is not a number", "write a f32"),
        ("exp f32 %2", "scalar f32 s0", 7, "`s0` is not a run-time scalar", "declare"),
        ("exp f32 %2", "philox u32 %0, %0, %0, word 300", 7, "`300` is not a number, 0 to 3", "0 to 3"),
    ] {
        let error = wrong(from, to);
        assert_eq!(error.line, line, "{to}: {error}");
        assert!(error.cause.contains(cause) && error.help.contains(help), "{to}: {error}");
        assert!(
            error.column > 0
                && error.to_string().starts_with(&format!("{line}:{}: ", error.column))
                && error.to_string().contains("\n help: ")
        );
    }
    assert!(format!("{SOFTMAX}{SOFTMAX}").parse::<Region>().is_err() && "".parse::<Region>().is_err());
    let many = |n: usize| SOFTMAX.replace("[64]", &format!("[{}]", vec!["1"; n].join(","))).parse::<Region>();
    assert_eq!(many(MAX_AXES).unwrap_err().cause, format!("more than {MAX_AXES} axes"));
    assert!(many(MAX_AXES - 1).is_ok());
}

/// A region of any length is read in a small stack; a text cut anywhere, or with anything changed in it, is read or refused.
#[test]
fn long_and_broken_texts_are_read_or_refused() {
    let mut text = String::from("region \"long\" parallel [4] {\n    a0: f32[4]\n    %0 = load f32 a0[i0]\n");
    (1..100_000).for_each(|i| text += &format!("    %{i} = neg f32 %{}\n", i - 1));
    text += "}\n";
    let read = text.clone();
    let region = std::thread::Builder::new().stack_size(64 << 10).spawn(move || read.parse::<Region>().unwrap()).unwrap().join().unwrap();
    assert_eq!((region.insts.len(), region.to_string() == text), (100_000, true));
    for cut in (0..SOFTMAX.len()).filter(|cut| SOFTMAX.is_char_boundary(*cut)) {
        let (before, after) = SOFTMAX.split_at(cut);
        let _ = parse_regions(before);
        let _ = parse_regions(after);
        for sign in ["\"", "%", "[", "]", "{", "}", "-", "*", "9", "é", "\u{0}", "\\", ";", "0x", "e", "."] {
            let _ = parse_regions(&format!("{before}{sign}{after}"));
        }
    }
    for brackets in ["[", "{", "region \"\" parallel [1] {", "- "] {
        assert!(brackets.repeat(100_000).parse::<Region>().is_err());
    }
}
