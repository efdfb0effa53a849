//! Calls of any op of the registry by its name: a new op is called by being there.
//!
//! Always: attributes come to be as the op's own errors ask for them, so most calls get as far as the op.

use super::{Draw, Entry, Outputs, calls};
use unigrad_tensor::{
    Tensor,
    registry::{self, Attribute, Attributes},
};

/// A call is given up after so many attributes.
const MOST: usize = 16;

calls! {
    any_op_0 |d| any_op(d);
    any_op_1 |d| any_op(d);
    any_op_2 |d| any_op(d);
    any_op_3 |d| any_op(d);
    any_op_4 |d| any_op(d);
    any_op_5 |d| any_op(d);
    any_op_6 |d| any_op(d);
    any_op_7 |d| any_op(d);
    any_op_8 |d| any_op(d);
    any_op_9 |d| any_op(d);
}

fn any_op(d: &mut Draw) -> Vec<Tensor> {
    let ops: Vec<&registry::Op> = registry::ops().collect();
    let op = d.pick(&ops);
    d.said(op.name);
    let x = d.x();
    let (mut inputs, mut attributes) = (vec![x], Attributes::new());
    let device = d.device;
    for _ in 0..MOST {
        let error = match op.call(&inputs, &attributes, &device) {
            Ok(outputs) => return outputs,
            Err(error) => error,
        };
        assert!(!error.help.is_empty() && error.op == op.name, "no remedy, or of another op: {error}");
        let named = error.cause.split('`').nth(1).map(str::to_owned);
        match named {
            None if error.cause.starts_with("input ") => {
                let x = inputs[0].clone();
                let shape = x.shape();
                let most = shape.first().copied().unwrap_or(1);
                inputs.push(if d.once_in(3) { d.index(&shape, most) } else { d.near(&x) });
            }
            Some(name) if error.cause.starts_with("the attribute") => {
                let value = attribute(d, &error.help, inputs[0].rank());
                d.said(format!("{name}={value}"));
                attributes = attributes.with(&name, value);
            }
            // Refused for what it says, as a choice that there is not.
            _ => return Vec::new(),
        }
    }
    Vec::new()
}

/// A value of the kind that an error asks for, or of any.
fn attribute(d: &mut Draw, help: &str, rank: usize) -> Attribute {
    let kinds = ["an integer", "a number", "a text", "a list of integers", "true or false"];
    let kind = kinds.into_iter().find(|kind| help.contains(kind)).unwrap_or("an integer");
    match kind {
        "a number" => d.float().into(),
        "a text" => {
            Attribute::Text(d.pick(&["sum", "mean", "none", "i32", "f16", "ij,jk->ik", "1:2;::-1", "reflect", "\u{fc}"]).to_owned())
        }
        "a list of integers" => {
            let n = d.pick(&[0, 1, 2, rank, 2 * rank]);
            Attribute::Ints((0..n).map(|_| d.int()).collect())
        }
        "true or false" => d.flag().into(),
        _ if d.once_in(3) => (d.axis(rank) as i64).into(),
        _ if d.once_in(2) => d.int().into(),
        _ => (d.size() as i64).into(),
    }
}
