//! Every program that the renderers are tested with is accepted by naga and by the device's compiler, in every variation of the text;
//! and what is wrong with a program is said.

#[path = "../../../unigrad-ir/tests/programs/mod.rs"]
mod programs;
mod support;

use unigrad_device::Error;
use unigrad_gpu::{Backend, lower};
use unigrad_ir::{Builder, Dialect, FragmentShape, Op, Place, Raw, Target, Type, wgsl};
use unigrad_kernel::{Arg, Contract, KDim, Kernel, MDim, NDim};
use unigrad_scalar::{BinaryOp, DType, Literal};

#[test]
fn all_programs_compile() {
    for (what, backend) in support::backends() {
        let target = Target { i64: true, f64: false, ..backend.target().clone() };
        let errors = programs::all(&target).into_iter().filter_map(|program| backend.load(&program).err());
        let failures: Vec<String> = errors.map(|error| format!("{what}: {error}")).collect();
        assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    }
}

/// The text in SPIR-V, without a device: naga alone.
fn translate(text: &str) -> Vec<u32> {
    use naga::valid::{Capabilities, ValidationFlags, Validator};
    let module = naga::front::wgsl::parse_str(text).unwrap_or_else(|error| panic!("{}\n{text}", error.emit_to_string(text)));
    let valid = Validator::new(ValidationFlags::all(), Capabilities::all()).validate(&module);
    let info = valid.unwrap_or_else(|error| panic!("{}\n{text}", error.emit_to_string(text)));
    let options = naga::back::spv::Options { lang_version: (1, 6), ..naga::back::spv::Options::default() };
    naga::back::spv::write_vec(&module, &info, &options, None).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

const OP_COOPERATIVE_MATRIX_MUL_ADD: u32 = 4459;

/// The operations of a module, in order.
fn operations(words: &[u32]) -> Vec<u32> {
    let (mut at, mut found) = (5, Vec::new());
    while let Some(word) = words.get(at) {
        found.push(word & 0xffff);
        at += (word >> 16) as usize;
    }
    found
}

#[test]
fn all_programs_are_valid() {
    for i64 in [true, false] {
        for options in [wgsl::Options::default(), wgsl::Options { int16: true, offsets: true, browser: false, unrolls: true }] {
            let shapes = [(16, DType::F16), (8, DType::F16), (8, DType::F32)];
            let fragments = shapes.map(|(n, input)| FragmentShape { m: n, n, k: n, input, sum: DType::F32 }).to_vec();
            let target = Target { dialect: Dialect::Wgsl, i64, f64: i64, atomic_i64: false, fragments, ..Target::interpreter() };
            // Programs may use 64-bit integers whether or not the device has them.
            let wide = Target { i64: true, ..target.clone() };
            for program in programs::all(&wide) {
                let shader = wgsl::render(&program, &target, options).unwrap();
                let words = translate(&shader.text);
                let multiplies = operations(&words).contains(&OP_COOPERATIVE_MATRIX_MUL_ADD);
                assert_eq!(multiplies, program.name.starts_with("fragments"), "{}", program.name);
            }
        }
    }
}

#[test]
fn choices_by_order_ask_for_nan() {
    let target = Target { dialect: Dialect::Wgsl, f64: false, ..Target::interpreter() };
    let text = |chooses_compared: bool| {
        let mut b = Builder::new("choice", [16, 1, 1]);
        let (x, y) = (b.buffer("x", DType::F32), b.buffer_mut("y", DType::F32));
        let thread = b.thread(0);
        let (number, zero, one) = (b.load(x, thread), b.constant(Literal::zero(DType::F32)), b.constant(Literal::float(DType::F32, 1.0)));
        let is_positive = b.binary(BinaryOp::Ge, number, zero);
        let other = if chooses_compared { number } else { one };
        let chosen = b.inst(Op::Select(is_positive, zero, other), Type::Scalar(DType::F32));
        b.store(y, thread, chosen);
        let text = wgsl::render(&b.finish(), &target, wgsl::Options::default()).unwrap().text;
        translate(&text);
        text
    };
    assert!(text(true).contains("&& !is_nan("), "{}", text(true));
    assert!(!text(false).contains("is_nan("), "{}", text(false));
}

#[test]
fn errors_name_kernel_and_line() {
    if support::is_missing() {
        return;
    }
    let backend = unigrad_wgpu::WgpuBackend::open(0).unwrap();
    let mut b = Builder::new("broken", [1, 1, 1]);
    let y = b.buffer_mut("y", DType::F32);
    let raw = Raw {
        texts: vec![(Dialect::Wgsl, "no_such_function(1.0)".to_owned())],
        preludes: Vec::new(),
        values: Vec::new(),
        places: Vec::new(),
    };
    let v = b.inst(Op::Raw(Box::new(raw)), Type::Scalar(DType::F32));
    let zero = b.u32(0);
    b.store(y, zero, v);
    let Err(Error::Compile { kernel, cause, .. }) = backend.load(&b.finish()) else { panic!("accepted") };
    assert_eq!(kernel, "broken");
    assert!(cause.contains("no_such_function") && cause.contains("wgsl:"), "{cause}");
    // And the device goes on.
    assert!(backend.load(&programs::row_sum()).is_ok());
}

#[test]
fn what_cannot_be_said_is_refused() {
    let target = Target { dialect: Dialect::Wgsl, f64: false, ..Target::interpreter() };
    let refused = |program, target: &Target| wgsl::render(&program, target, wgsl::Options::default()).unwrap_err().to_string();
    assert!(refused(programs::binary(DType::F64), &target).contains("64-bit floats"));
    assert!(refused(programs::tables(DType::F32), &Target { tables: false, ..target.clone() }).contains("arrays of buffers"));
    let in_words = |b: &mut Builder, place| {
        let texts = vec![(Dialect::Wgsl, "{p0}[0] = 1.0;".to_owned())];
        b.raw(Raw { texts, preludes: Vec::new(), values: Vec::new(), places: vec![place] });
    };
    let mut b = Builder::new("words", [1, 1, 1]);
    let (table, which) = (b.table("ys", DType::F32, 2, true), b.group(0));
    in_words(&mut b, Place::Table(table, which));
    assert!(refused(b.finish(), &target).contains("more than loads and stores"));
    assert!(refused(programs::much_shared(100 << 10), &target).contains("shared memory"));
    assert!(refused(programs::atomics(DType::U64), &target).contains("64-bit atomics"));
    let none = Target { subgroup: None, ..target };
    assert!(refused(programs::subgroups(DType::F32), &none).contains("subgroups"));
}

/// No device here has matrix instructions: the text of a product by them is what can be checked.
#[test]
fn products_by_matrices_are_valid() {
    let shape = FragmentShape { m: 16, n: 16, k: 16, input: DType::F16, sum: DType::F32 };
    let fragments = vec![shape];
    let target =
        Target { dialect: Dialect::Wgsl, f16: false, f64: false, tables: false, atomic_i64: false, fragments, ..Target::interpreter() };
    let (m, n, k) = (200, 136, 96);
    // Rows of both one after another; columns of both; rows that begin anywhere.
    for [am, ak, bk, bn] in [[k, 1, n, 1], [1, m, 1, k], [k + 3, 1, n + 1, 1]] {
        let arg = |len: i64, write| Arg { dtype: DType::F16, len: len as usize, write };
        let contract = Contract {
            batch: [].into_iter().collect(),
            m: [MDim { size: m as usize, a: am, c: n }].into_iter().collect(),
            n: [NDim { size: n as usize, b: bn, c: 1 }].into_iter().collect(),
            k: [KDim { size: k as usize, a: ak, b: bk }].into_iter().collect(),
            a_offset: 0,
            b_offset: 0,
            a: arg((m - 1) * am + (k - 1) * ak + 1, false),
            b: arg((n - 1) * bn + (k - 1) * bk + 1, false),
            c: arg(m * n, true),
            tf32: false,
            epilogue: None,
            prologues: [None, None],
        };
        let lowered = lower(&Kernel::Contract(contract), &target).unwrap();
        let program = &lowered.steps[0].program;
        assert_eq!(program.name, "contract_fragment");
        for options in [wgsl::Options::default(), wgsl::Options { int16: true, offsets: true, browser: false, unrolls: true }] {
            let text = wgsl::render(program, &target, options).unwrap().text;
            let multiplies = operations(&translate(&text)).into_iter().filter(|op| *op == OP_COOPERATIVE_MATRIX_MUL_ADD).count();
            assert!(multiplies > 0, "{text}");
            // Tiles move into shared memory four numbers at a time where rows are aligned.
            let whole = am != k + 3;
            assert_eq!(text.contains("var<workgroup> s0: array<vec4<f16>"), whole, "{text}");
        }
    }
}
