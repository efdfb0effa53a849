//! First and second derivatives at PyTorch's own samples and at special points, on every device; gradients with respect to any node of random
//! graphs. `UNIGRAD_OP=norm` runs the cases of one op.
//! Runs beside other programs: its seconds are printed.

use unigrad_tensor::{DType, Tensor, registry};
use unigrad_testing::{Values, cases, derivatives, fast_devices, fuzz, on_slow_devices, oracle, selection::Share, without_f64};

fn check(test: &str, golden: &str) {
    let wanted = std::env::var("UNIGRAD_OP").ok();
    let mut cases = cases::parse(golden).unwrap();
    cases.retain(|case| wanted.as_ref().is_none_or(|op| *op == case.op));
    let mut failures = 0;
    for device in fast_devices() {
        let (start, mut ran) = (std::time::Instant::now(), 0);
        let step = match Share::of(&device) {
            Share::All => 1,
            Share::Some | Share::Few => 96,
            Share::Least | Share::Thin => 192,
        };
        let wide = without_f64(&device).is_none();
        for (i, case) in cases.iter().enumerate().step_by(step) {
            // The sample has both dtypes.
            let both = if step == 1 { [true, true] } else { [i / step % 2 == 0 && wide, i / step % 2 == 1 || !wide] };
            for dtype in [DType::F64, DType::F32].into_iter().zip(both).filter(|(_, on)| *on).map(|(d, _)| d) {
                if dtype == DType::F64 && !wide {
                    continue;
                }
                let wrong = derivatives::check(case, dtype, &device);
                wrong.iter().for_each(|line| println!("{line}"));
                failures += wrong.len();
                ran += 1;
            }
        }
        println!("{ran} of {} cases on {} in {:.1} s", 2 * cases.len(), device.name(), start.elapsed().as_secs_f64());
    }
    let apart = on_slow_devices(test);
    assert!(failures == 0 && apart, "see the {failures} FAIL lines above");
}

#[test]
fn samples() {
    check("samples", include_str!("../goldens/samples.txt"));
}

#[test]
fn points() {
    check("points", include_str!("../goldens/points.txt"));
}

/// How many random graphs are differentiated at one of their nodes.
const GRAPHS: u64 = 250;

#[test]
fn any_node() {
    let device = &fast_devices()[0];
    let (mut compared, mut failures) = (0, 0);
    for seed in 0..GRAPHS {
        match fuzz::check_at_node(&fuzz::generate(seed), &mut fuzz::Rng(seed), device) {
            Ok(n) => compared += n,
            Err(error) => {
                println!("FAIL seed {seed}: {error}");
                failures += 1;
            }
        }
    }
    println!("{compared} gradients at nodes of {GRAPHS} random graphs");
    assert!(failures == 0 && compared as u64 > 3 * GRAPHS, "see the {failures} FAIL lines above");
}

/// An op that returned its argument would make two tensors one, and a gradient with respect to either that of both.
#[test]
fn an_op_gives_a_tensor_of_its_own() {
    let goldens = [
        include_str!("../goldens/unary.txt"),
        include_str!("../goldens/binary.txt"),
        include_str!("../goldens/view.txt"),
        include_str!("../goldens/reduce.txt"),
        include_str!("../goldens/index.txt"),
        include_str!("../goldens/linalg.txt"),
        include_str!("../goldens/conv.txt"),
        include_str!("../goldens/norm.txt"),
        include_str!("../goldens/loss.txt"),
        include_str!("../goldens/special.txt"),
        include_str!("../goldens/math.txt"),
        include_str!("../goldens/activation.txt"),
        include_str!("../goldens/statistics.txt"),
        include_str!("../goldens/arrange.txt"),
        include_str!("../goldens/select.txt"),
        include_str!("../goldens/networks.txt"),
        include_str!("../goldens/margins.txt"),
    ];
    let device = &fast_devices()[0];
    let (mut ran, mut failures) = (0, 0);
    for case in goldens.iter().flat_map(|golden| cases::parse(golden).unwrap()) {
        let Some(entry) = registry::find(&case.op) else { continue };
        // Those read values, or are documented to be the tensor itself, or to be cut off from gradients.
        if entry.reads || ["cast", "instance_norm_stats"].contains(&case.op.as_str()) {
            continue;
        }
        let leaf = |values: &Values| Tensor::from_expr(oracle::leaf(values.clone(), device.id()));
        let variable = |tensor: Tensor| if tensor.dtype().is_float() { tensor.requires_grad() } else { tensor };
        let inputs: Vec<Tensor> = case.inputs.iter().map(|input| variable(leaf(&input.values))).collect();
        let outputs = entry.call(&inputs, &case.args, device).unwrap();
        ran += 1;
        let same = |output: &&Tensor| output.dtype().is_float() && inputs.iter().any(|input| input.expr().same(&output.expr()));
        if outputs.iter().any(|output| same(&output)) {
            println!("FAIL {case}: the result is its argument");
            failures += 1;
        }
        // A result without a way back would make a backward pass an error where a gradient of zeros is due.
        let cut = |output: &&Tensor| output.dtype().is_float() && !output.needs_grad();
        if inputs.iter().any(Tensor::needs_grad) && outputs.iter().any(|output| cut(&output)) {
            println!("FAIL {case}: the result depends on no input");
            failures += 1;
        }
    }
    assert!(failures == 0 && ran > 1000, "{ran} calls, see the {failures} FAIL lines above");
}
