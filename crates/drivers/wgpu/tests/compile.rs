//! Every program that the renderers are tested with is accepted by naga and by the device's compiler, in every variation of the text;
//! and what is wrong with a program is said.

#[path = "../../../unigrad-ir/tests/programs/mod.rs"]
mod programs;
mod support;

use unigrad_device::Error;
use unigrad_gpu::Backend;
use unigrad_ir::{Builder, Dialect, Op, Raw, Target, Type, wgsl};
use unigrad_scalar::DType;

#[test]
fn all_programs_compile() {
    for (what, backend) in support::backends() {
        let target = Target { i64: true, f64: false, ..backend.target().clone() };
        let errors = programs::all(&target).into_iter().filter_map(|program| backend.load(&program).err());
        let failures: Vec<String> = errors.map(|error| format!("{what}: {error}")).collect();
        assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    }
}

/// Without a device: naga alone.
#[test]
fn all_programs_are_valid() {
    use naga::valid::{Capabilities, ValidationFlags, Validator};
    for i64 in [true, false] {
        for options in [wgsl::Options::default(), wgsl::Options { int16: true, offsets: true, browser: false }] {
            let target = Target { dialect: Dialect::Wgsl, i64, f64: i64, tables: false, atomic_i64: false, ..Target::interpreter() };
            // Programs may use 64-bit integers whether or not the device has them.
            let wide = Target { i64: true, ..target.clone() };
            for program in programs::all(&wide) {
                let shader = wgsl::render(&program, &target, options).unwrap();
                let module =
                    naga::front::wgsl::parse_str(&shader.text).unwrap_or_else(|error| panic!("{}", error.emit_to_string(&shader.text)));
                let valid = Validator::new(ValidationFlags::all(), Capabilities::all()).validate(&module);
                assert!(valid.is_ok(), "{}", valid.unwrap_err().emit_to_string(&shader.text));
            }
        }
    }
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
    assert!(refused(programs::tables(DType::F32), &target).contains("arrays of buffers"));
    assert!(refused(programs::much_shared(100 << 10), &target).contains("shared memory"));
    assert!(refused(programs::atomics(DType::U64), &target).contains("64-bit atomics"));
    let none = Target { subgroup: None, ..target };
    assert!(refused(programs::subgroups(DType::F32), &none).contains("subgroups"));
}
