//! The registry against the public methods.

use super::*;
use std::collections::BTreeSet;

#[test]
fn every_method_is_an_op_or_says_why_not() {
    let known: BTreeSet<&str> = ops().map(|op| op.method).chain(NOT_OPS.iter().flat_map(|(_, names)| names.iter().copied())).collect();
    let there: BTreeSet<&str> = METHODS.iter().map(|method| method.name).collect();
    let unknown: Vec<_> = there.difference(&known).collect();
    assert!(unknown.is_empty(), "methods without a row in the registry: {unknown:?}");
    let gone: Vec<_> = known.difference(&there).collect();
    assert!(gone.is_empty(), "rows of methods that are not there: {gone:?}");
    for op in ops().map(|op| op.method) {
        assert!(!NOT_OPS.iter().any(|(_, names)| names.contains(&op)), "{op} is an op, and is listed as none");
    }
}

#[test]
fn names_are_used_once() {
    let mut names = BTreeSet::new();
    ops().for_each(|op| assert!(names.insert(op.name), "two ops are named {}", op.name));
}

#[test]
fn every_op_is_described() {
    for op in ops() {
        let method = op.describe().unwrap_or_else(|| panic!("{} calls {}, which is not described", op.name, op.method));
        assert!(!method.doc.is_empty() && method.signature.starts_with(method.name), "{method:?}");
    }
}

#[test]
fn every_op_is_in_the_python_stub() {
    let stub = include_str!("ops.pyi");
    for method in ops().map(|op| op.method) {
        // `keepdim` is a keyword there, and a word of Python's ends with `_`.
        let names = [method, method.trim_end_matches("_keepdim")].map(|name| [format!("def {name}("), format!("def {name}_(")]);
        assert!(names.iter().flatten().any(|name| stub.contains(name.as_str())), "{method} is not in ops.pyi: run `cargo xtask generate`");
    }
}

#[test]
fn a_call_that_lacks_something_says_what() {
    unigrad_device::register(unigrad_cpu::CpuDriver);
    let device = Device::open("cpu").unwrap();
    let x = Tensor::new([1.0f32, 2.0], &device);
    let call = |name: &str, inputs: &[Tensor], attributes: Attributes| {
        find(name).unwrap().call(inputs, &attributes, &device).unwrap_err().to_string()
    };
    assert!(call("softmax", &[], Attributes::new()).contains("softmax: input 0 is missing: there are 0\n help: "));
    assert!(call("softmax", std::slice::from_ref(&x), Attributes::new()).contains("the attribute `axis` is missing"));
    let text = call("softmax", std::slice::from_ref(&x), Attributes::new().with("axis", "last"));
    assert!(text.contains("the attribute `axis` is a text (last)") && text.contains("an integer"), "{text}");
    let text = call("pad", std::slice::from_ref(&x), Attributes::new().with("pads", vec![1, 1]).with("mode", "mirror"));
    assert!(text.contains("`mode` is mirror") && text.contains("reflect"), "{text}");
    for (name, bad) in [("pad", vec![1, 2, 3]), ("pad", vec![1, 1, 1, 1]), ("expand", vec![-1, -1]), ("narrow", vec![])] {
        let attributes = Attributes::new().with("pads", bad.clone()).with("shape", bad).with("axis", 0).with("start", -1).with("len", 1);
        assert!(call(name, std::slice::from_ref(&x), attributes).contains("help: "));
    }
}
