//! Runs the op table: every case against PyTorch's answer, by the oracle and on every device, in every dtype and layout.
//!
//! Out: a [`Report`] with one line per failure, `FAIL softmax#2 f16 [3, 70] axis=-1 on cpu:0: 3.1e-2 off at [0, 17], allowed 2e-3`,
//! and one per case that could not run, `SKIPPED: ..: reason`.

use crate::{
    Data, Values,
    cases::{Array, Case, weight},
    compare::{Tolerance, close},
    oracle,
    selection::Share,
    values::each_index,
};
use rustc_hash::FxHashSet;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, PoisonError},
};
use unigrad_graph::{DType, Dim, Expr};
use unigrad_tensor::{
    Device, Tensor, eval,
    registry::{self, Op},
};

/// What happened.
#[derive(Debug, Default)]
pub struct Report {
    /// Rows of the table.
    pub cases: usize,
    /// Variants of the rows that ran, and that are no part of their device's [`Share`].
    pub ran: usize,
    /// See `ran`.
    pub left_out: usize,
    /// Results that a device cannot have, for it lacks 64-bit floats.
    pub lacking: usize,
    /// Comparisons made.
    pub checks: usize,
    /// Results that are wrong.
    pub failures: Vec<String>,
    /// What could not run, and why.
    pub skipped: Vec<String>,
    /// Variants with a named axis that ran, and those that an op refused.
    pub named: (usize, usize),
}

impl Report {
    /// Prints what is wrong or missing, and tells whether nothing is wrong.
    pub fn print(&self) -> bool {
        self.skipped.iter().chain(&self.failures).for_each(|line| println!("{line}"));
        let (failed, skipped) = (self.failures.len(), self.skipped.len());
        println!("{} cases, {} variants, {} checks, {failed} failures, {skipped} skipped", self.cases, self.ran, self.checks);
        if self.lacking > 0 {
            println!("SKIPPED: {} variants of the table need 64-bit floats, which the device lacks", self.lacking);
        }
        if self.named.0 > 0 {
            println!("{} variants have a named axis, {} more are of ops that have no rule for it there", self.named.0, self.named.1);
        }
        if self.left_out > 0 {
            println!("a sample: {} variants are left out, UNIGRAD_TEST_FULL=1 runs them too", self.left_out);
        }
        self.failures.is_empty()
    }
}

/// How an input lies in memory before the op sees it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Layout {
    Contiguous,
    /// Stored with its axes in reverse order.
    Permuted,
    /// Stored backwards along every axis.
    Flipped,
    /// Every second element of something larger.
    Strided,
    /// With a name for this axis of every input that has it, and padding of NaN behind it.
    Named(usize),
}

/// One way to run a case.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Variant {
    /// With its floats in this dtype.
    In(DType),
    /// Every op a kernel of its own.
    Unfused,
    /// Inputs that lie in memory so.
    Laid(Layout),
    /// With its integers in this dtype.
    Integers(DType),
}

/// All that there is to run of a case, `In(F32)` first where it is there.
pub(crate) fn variants(case: &Case) -> Vec<Variant> {
    let dtypes: &[DType] = if case.any_float() { &[DType::F32, DType::F64, DType::F16, DType::BF16] } else { &[DType::F32] };
    let mut variants: Vec<Variant> = dtypes.iter().map(|dtype| Variant::In(*dtype)).collect();
    variants.push(Variant::Unfused);
    if case.inputs.iter().any(|input| input.values.len() > 1) {
        variants.extend([Layout::Permuted, Layout::Flipped, Layout::Strided].map(Variant::Laid));
    }
    let reads = registry::find(&case.op).is_some_and(|op| op.reads);
    if !reads && !case.inputs.is_empty() && case.inputs.iter().all(|input| input.values.dtype.is_int()) {
        variants
            .extend(DType::ALL.into_iter().filter(|dtype| dtype.is_int() && in_integers(case, *dtype).is_some()).map(Variant::Integers));
    }
    variants
}

/// The case with its integers in another dtype, if that holds them.
fn in_integers(case: &Case, dtype: DType) -> Option<Case> {
    let mut variant = case.clone();
    for input in &mut variant.inputs {
        input.values = Values::from_f64(dtype, &input.values.shape, &input.values.to_f64());
    }
    let fits = variant.inputs.iter().zip(&case.inputs).all(|(new, old)| new.values.to_f64() == old.values.to_f64());
    fits.then_some(variant)
}

/// Where leaves live.
#[derive(Clone, Copy)]
enum Host<'a> {
    Oracle,
    Device(&'a Device),
}

/// Values of a case: its outputs, then its gradients.
type Results = Vec<Values>;

/// What an op says that has no rule for a named axis.
const NO_RULE: &str = "takes an axis's name away";

/// What is wrong and not ours to mend: the hardware's name, how the failure's line begins, what it says, and why it is so.
const KNOWN: &[(&str, &str, &str, &str)] = &[];

/// Runs the cases by the oracle and on the devices, each its share. One call at a time: the counters that it reads are the process's.
pub fn run(cases: &[Case], devices: &[Device]) -> Report {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut report = Report { cases: cases.len(), ..Report::default() };
    let all: Vec<Vec<Variant>> = cases.iter().map(variants).collect();
    let shares: Vec<(Device, Share)> = devices.iter().map(|device| (*device, Share::of(device))).collect();
    let lacking: Vec<bool> = devices.iter().map(|device| crate::without_f64(device).is_some()).collect();
    let chosen: Vec<FxHashSet<(usize, Variant)>> = shares.iter().map(|(_, share)| share.of_table(cases, &all)).collect();
    for (i, (case, all)) in cases.iter().zip(&all).enumerate() {
        let Some(entry) = registry::find(&case.op) else {
            report.failures.push(format!("FAIL {case}: the registry has no such op"));
            continue;
        };
        // What the oracle says is the same beside a device that runs everything.
        if shares.iter().any(|(_, share)| *share == Share::All) {
            check_oracle(case, entry, devices, &mut report);
        }
        for ((device, chosen), lacking) in devices.iter().zip(&chosen).zip(&lacking) {
            let here: Vec<Variant> = all.iter().copied().filter(|variant| chosen.contains(&(i, *variant))).collect();
            report.ran += here.len();
            report.left_out += all.len() - here.len();
            let mut results = Report::default();
            check_device(case, entry, device, &here, &mut results);
            let is_lacking = |failure: &String| *lacking && failure.contains(crate::NO_F64);
            report.lacking += results.failures.iter().filter(|failure| is_lacking(failure)).count();
            let hardware = device.info().name;
            for failure in results.failures.into_iter().filter(|failure| !is_lacking(failure)) {
                match KNOWN
                    .iter()
                    .find(|(name, start, what, _)| hardware.contains(name) && failure.starts_with(start) && failure.contains(what))
                {
                    Some((_, _, _, reason)) => report.skipped.push(format!("SKIPPED: known failure, {reason}: {failure}")),
                    None => report.failures.push(failure),
                }
            }
            report.checks += results.checks;
            report.named = (report.named.0 + results.named.0, report.named.1 + results.named.1);
        }
    }
    report
}

/// Runs the cases on a device once more for every axis, which has a name in all inputs and padding of NaN behind it: values and gradients are those
/// without names, or the op says that it has no rule.
pub fn run_named(cases: &[Case], device: &Device) -> Report {
    let mut report = Report { cases: cases.len(), ..Report::default() };
    for case in cases {
        let Some(entry) = registry::find(&case.op) else {
            report.failures.push(format!("FAIL {case}: the registry has no such op"));
            continue;
        };
        let rank = case.inputs.iter().map(|input| input.values.shape.len()).max().unwrap_or(0);
        let named = |axis: &usize| case.inputs.iter().any(|input| input.values.shape.get(*axis).is_some_and(|size| *size > 0));
        let axes = (0..rank).filter(named).map(|axis| Variant::Laid(Layout::Named(axis)));
        check_device(case, entry, device, &axes.collect::<Vec<_>>(), &mut report);
    }
    report
}

/// The graph of the case is right: by the oracle, in `f64`, its values and gradients are PyTorch's.
fn check_oracle(case: &Case, entry: &Op, devices: &[Device], report: &mut Report) {
    let Some(device) = devices.first().filter(|_| !entry.reads) else { return };
    let name = format!("{case} by the oracle");
    let results = caught(|| {
        let (outputs, grads) = build(case, entry, DType::F64, Layout::Contiguous, Host::Oracle, device)?;
        let nodes: Vec<Expr> = outputs.iter().chain(&grads).map(Tensor::expr).collect();
        oracle::evaluate(&nodes)
    });
    compare(case, DType::F64, results, &name, report);
}

fn check_device(case: &Case, entry: &Op, device: &Device, variants: &[Variant], report: &mut Report) {
    for variant in variants {
        let plain = matches!(variant, Variant::In(DType::F32));
        let (dtype, layout, shown) = match variant {
            Variant::In(dtype) => (*dtype, Layout::Contiguous, String::new()),
            Variant::Unfused => (DType::F32, Layout::Contiguous, ", unfused".to_owned()),
            Variant::Laid(layout) => (DType::F32, *layout, format!(", {layout:?}").to_lowercase()),
            Variant::Integers(dtype) => {
                check_integers(case, entry, *dtype, device, report);
                continue;
            }
        };
        let float = if case.any_float() { format!(" {dtype}") } else { String::new() };
        let name = format!("{case}{float} on {}{shown}", device.name());
        let fusion = eval::set_fusion(*variant != Variant::Unfused);
        let first = caught(|| evaluate(case, entry, dtype, layout, device));
        eval::set_fusion(fusion);
        let again = plain.then(|| first.clone());
        if matches!(layout, Layout::Named(_)) {
            if first.as_ref().is_err_and(|error| error.contains(NO_RULE)) {
                report.named.1 += 1;
                continue;
            }
            report.named.0 += 1;
        }
        compare(case, dtype, first, &name, report);
        match again {
            Some(Ok(again)) => check_again(case, entry, device, &again, &name, report),
            // It has been reported; other layouts and dtypes would fail alike.
            Some(Err(_)) => return,
            None => {}
        }
    }
}

/// The same once more: the same bits, and nothing is planned anew.
fn check_again(case: &Case, entry: &Op, device: &Device, first: &Results, name: &str, report: &mut Report) {
    let before = eval::stats();
    let second = caught(|| evaluate(case, entry, DType::F32, Layout::Contiguous, device));
    let built = eval::stats().plans_built - before.plans_built;
    report.checks += 2;
    match second {
        Ok(second) if first.iter().zip(&second).all(|(a, b)| bits(a) == bits(b)) => {}
        Ok(_) => report.failures.push(format!("FAIL {name}: a second run gives other bits")),
        Err(error) => report.failures.push(format!("FAIL {name}: a second run fails: {}", error.replace('\n', " | "))),
    }
    if built > 0 && !entry.reads {
        report.failures.push(format!("FAIL {name}: a second run plans {built} graphs again"));
    }
}

/// An op of integers does the same in every integer dtype that holds the inputs: by the oracle, since PyTorch lacks some.
fn check_integers(case: &Case, entry: &Op, dtype: DType, device: &Device, report: &mut Report) {
    let Some(variant) = in_integers(case, dtype) else { return };
    let expected = caught(|| {
        let (outputs, _) = build(&variant, entry, dtype, Layout::Contiguous, Host::Oracle, device)?;
        oracle::evaluate(&outputs.iter().map(Tensor::expr).collect::<Vec<_>>())
    });
    let got = caught(|| evaluate(&variant, entry, dtype, Layout::Contiguous, device));
    report.checks += 1;
    let (expected, got) = match (expected, got) {
        (Ok(expected), Ok(got)) => (expected, got),
        // A dtype that an op refuses, it refuses everywhere.
        (Err(_), Err(_)) => return,
        (expected, got) => {
            let error = expected.err().or(got.err()).unwrap_or_default().replace('\n', " | ");
            report.failures.push(format!("FAIL {variant} on {}: {error}", device.name()));
            return;
        }
    };
    for (got, expected) in got.iter().zip(&expected) {
        if let Err(difference) = close(got, expected, Tolerance::new(expected.dtype, expected.len())) {
            report.failures.push(format!("FAIL {variant} on {}: {difference}", device.name()));
        }
    }
}

fn bits(values: &Values) -> Vec<u8> {
    // Which of NaN's many bit patterns comes out is not promised.
    let mut values = values.clone();
    if let Data::Float(data) = &mut values.data {
        data.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = f64::NAN);
    }
    values.to_bytes()
}

/// An error or a panic as text.
fn caught<T>(f: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
        Err(format!("panicked: {}", text.unwrap_or_default()))
    })
}

fn compare(case: &Case, dtype: DType, results: Result<Results, String>, name: &str, report: &mut Report) {
    let results = match results {
        Ok(results) => results,
        Err(error) => {
            report.checks += 1;
            report.failures.push(format!("FAIL {name}: {}", error.replace('\n', " | ")));
            return;
        }
    };
    if results.len() != case.outputs.len() + case.grads.len() {
        report.failures.push(format!("FAIL {name}: {} results, expected {}", results.len(), case.outputs.len() + case.grads.len()));
        return;
    }
    let len = case.inputs.iter().map(|input| input.values.len()).max().unwrap_or(1);
    let (outputs, grads) = results.split_at(case.outputs.len());
    for (i, (got, expected)) in outputs.iter().zip(&case.outputs).enumerate() {
        report.checks += 1;
        let wanted = if expected.any_float { dtype } else { expected.values.dtype };
        let result = if got.dtype == wanted {
            close(got, &expected.values, Tolerance::new(wanted, len))
        } else {
            Err(format!("the result is {}, expected {wanted}", got.dtype))
        };
        if let Err(difference) = result {
            let which = if outputs.len() > 1 { format!(" output {i}") } else { String::new() };
            report.failures.push(format!("FAIL {name}:{which} {difference}"));
        }
    }
    for (got, (input, expected)) in grads.iter().zip(&case.grads) {
        report.checks += 1;
        let expected = Values::float(DType::F64, &case.inputs[*input].values.shape, expected.clone());
        // A gradient is computed from rounded values, and adds up what the forward pass has spread.
        let scale = expected.to_f64().into_iter().filter(|x| x.is_finite()).fold(1.0, |scale: f64, x| scale.max(x.abs()));
        let tolerance = Tolerance::new(dtype, len).times(4.0);
        let result = crate::compare::close_by(got, &expected, |_, _| tolerance.allowed(scale));
        if let Err(difference) = result {
            report.failures.push(format!("FAIL {name}: gradient of input {input}: {difference}"));
        }
    }
}

fn evaluate(case: &Case, entry: &Op, dtype: DType, layout: Layout, device: &Device) -> Result<Results, String> {
    let (outputs, grads) = build(case, entry, dtype, layout, Host::Device(device), device)?;
    let tensors: Vec<&Tensor> = outputs.iter().chain(&grads).collect();
    Tensor::realize_all(&tensors).map_err(|error| error.to_string())?;
    tensors.into_iter().map(values_of).collect()
}

/// The elements of a tensor; evaluates it.
pub fn values_of(tensor: &Tensor) -> Result<Values, String> {
    let bytes = tensor.to_bytes().map_err(|error| error.to_string())?;
    Ok(Values::from_bytes(tensor.dtype(), &tensor.shape(), &bytes))
}

/// The outputs and the gradients, not evaluated.
fn build(case: &Case, entry: &Op, dtype: DType, layout: Layout, host: Host, device: &Device) -> Result<(Vec<Tensor>, Vec<Tensor>), String> {
    let mut inputs = Vec::with_capacity(case.inputs.len());
    for (i, input) in case.inputs.iter().enumerate() {
        let tensor = laid_out(&in_dtype(input, dtype), layout, host, device);
        inputs.push(if case.grads.iter().any(|(wanted, _)| *wanted == i) { tensor.requires_grad() } else { tensor });
    }
    let outputs = entry.call(&inputs, &case.args, device).map_err(|error| error.to_string())?;
    if let Some(error) = outputs.iter().find_map(Tensor::error) {
        return Err(error.to_string());
    }
    let mut grads = Vec::new();
    if !case.grads.is_empty() {
        let mut loss: Option<Tensor> = None;
        for output in outputs.iter().filter(|output| output.dtype().is_float()) {
            let weights: Vec<f64> = (0..output.numel()).map(weight).collect();
            let weights = leaf(&Values::from_f64(output.dtype(), &output.shape(), &weights), host, device);
            let part = (output * &weights).sum(());
            loss = Some(loss.map_or(part.clone(), |loss| loss + part));
        }
        let loss = loss.ok_or("no output is a float, but there are gradients")?;
        let wanted: Vec<&Tensor> = case.grads.iter().filter_map(|(i, _)| inputs.get(*i)).collect();
        grads = unigrad_tensor::grad(&loss, &wanted).map_err(|error| error.to_string())?;
    }
    Ok((outputs, grads))
}

fn in_dtype(input: &Array, dtype: DType) -> Values {
    if input.any_float { Values::from_f64(dtype, &input.values.shape, &input.values.to_f64()) } else { input.values.clone() }
}

/// A tensor with these elements, without any graph behind it.
fn leaf(values: &Values, host: Host, device: &Device) -> Tensor {
    match host {
        Host::Oracle => Tensor::from_expr(oracle::leaf(values.clone(), device.id())),
        Host::Device(device) => Tensor::from_bytes(&values.to_bytes(), values.shape.as_slice(), values.dtype, device),
    }
}

/// The same elements, but as a view of a leaf with another order in memory.
fn laid_out(values: &Values, layout: Layout, host: Host, device: &Device) -> Tensor {
    let rank = values.shape.len();
    let fill = unigrad_graph::Literal::zero(values.dtype);
    let mut picks = Vec::with_capacity(values.len());
    match layout {
        Layout::Contiguous => leaf(values, host, device),
        Layout::Named(axis) => {
            let tensor = leaf(values, host, device);
            match values.shape.get(axis) {
                Some(size) if *size > 0 => {
                    // Longer in memory than any size is.
                    let Ok(dim) = Dim::named(&format!("of {size}"), 1..=4 * size) else { return tensor };
                    let before = eval::set_padding(u8::MAX);
                    let named = tensor.with_dim(axis as isize, &dim.first_bucket(2 * size));
                    eval::set_padding(before);
                    named
                }
                _ => tensor,
            }
        }
        Layout::Permuted => {
            let stored: Vec<usize> = values.shape.iter().rev().copied().collect();
            each_index(&stored, |index| {
                let index: Vec<usize> = index.iter().rev().copied().collect();
                picks.push(Some(crate::values::flat(&index, &values.shape)));
            });
            leaf(&values.pick(&stored, picks.into_iter(), fill), host, device).permute((0..rank).rev().collect::<Vec<_>>())
        }
        Layout::Flipped => {
            let stored = values.pick(&values.shape, (0..values.len()).rev().map(Some), fill);
            leaf(&stored, host, device).flip(())
        }
        Layout::Strided => {
            let stored: Vec<usize> = values.shape.iter().map(|size| 2 * size).collect();
            each_index(&stored, |index| {
                let inside = index.iter().all(|i| i % 2 == 1);
                let index: Vec<usize> = index.iter().map(|i| i / 2).collect();
                picks.push(inside.then(|| crate::values::flat(&index, &values.shape)));
            });
            let every_second = unigrad_tensor::IndexItem::Range { start: Some(1), end: None, step: 2 };
            leaf(&values.pick(&stored, picks.into_iter(), fill), host, device).i(vec![every_second; rank])
        }
    }
}
