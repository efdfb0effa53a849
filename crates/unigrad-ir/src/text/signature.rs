//! Programs written elsewhere, against the call that they are for.

use unigrad_scalar::DType;

use super::parse;
use crate::{
    Builder,
    ir::{Param, Program},
};

/// A program that does nothing, with the parameters that a call passes: buffers (and whether they are written), then numbers.
pub fn signature(name: &str, block: [u32; 3], buffers: &[(DType, bool)], scalars: &[DType]) -> Program {
    let mut b = Builder::new(name, block);
    for (at, (dtype, write)) in buffers.iter().enumerate() {
        let name = format!("arg{at}");
        if *write {
            b.buffer_mut(&name, *dtype)
        } else {
            b.buffer(&name, *dtype)
        };
    }
    for (at, dtype) in scalars.iter().enumerate() {
        b.scalar(&format!("scalar{at}"), *dtype);
    }
    let mut program = b.finish();
    program.body.clear();
    program
}

/// Reads one program, which must have the workgroup of `signature` and parameters of its kinds, in its order; names may differ.
pub fn parse_as(text: &str, signature: &Program) -> Result<Program, String> {
    let program = parse(text).map_err(|error| error.to_string())?.program;
    let kind = |param: &Param| match param {
        Param::Buffer { dtype, write: false, .. } => format!("[{dtype}]"),
        Param::Buffer { dtype, write: true, .. } => format!("mut [{dtype}]"),
        Param::Scalar { dtype, .. } => dtype.to_string(),
        Param::Table { dtype, count, .. } => format!("[{dtype}] * {count}"),
        Param::ScalarTable { dtype, count, .. } => format!("{dtype} * {count}"),
    };
    let kinds = |program: &Program| {
        let [x, y, z] = program.block;
        format!("({}) threads({x}, {y}, {z})", program.params.iter().map(kind).collect::<Vec<_>>().join(", "))
    };
    let (has, wanted) = (kinds(&program), kinds(signature));
    if has == wanted {
        return Ok(program);
    }
    let help = "its parameters are the inputs, the output (which alone is `mut`), then the numbers, each of the dtype given";
    Err(format!("the kernel IR has another signature than the call: {has}, not {wanted}\n help: {help}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_fits_its_call() {
        let call = signature("k", [64, 1, 1], &[(DType::F32, false), (DType::F16, true)], &[DType::U32]);
        let read = |text: &str| parse_as(text, &call);
        assert!(read("kernel any(x: [f32], y: mut [f16], n: u32) threads(64, 1, 1) {\n}").is_ok());
        for (wrong, told) in [
            ("kernel k(x: [f32], y: mut [f16], n: u32) threads(32, 1, 1) {\n}", "threads(32, 1, 1)"),
            ("kernel k(x: mut [f32], y: mut [f16], n: u32) threads(64, 1, 1) {\n}", "(mut [f32], mut [f16], u32)"),
            ("kernel k(x: [f32], y: [f16], n: u32) threads(64, 1, 1) {\n}", "([f32], [f16], u32)"),
            ("kernel k(x: [f32], y: mut [f16]) threads(64, 1, 1) {\n}", "([f32], mut [f16])"),
            ("kernel k(x: [f32], n: u32, y: mut [f16]) threads(64, 1, 1) {\n}", "([f32], u32, mut [f16])"),
        ] {
            let error = read(wrong).unwrap_err();
            assert!(error.contains("another signature") && error.contains(told) && error.contains("help: "), "{error}");
        }
        assert!(read("kernel k(x: [f32]").is_err());
    }
}
