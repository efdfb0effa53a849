//! `vmap` of every op of the registry and of its gradient, with the attributes and inputs of the op table, against the op on each slice; and
//! gradients through all of it.

use std::collections::{BTreeMap, BTreeSet};
use unigrad_tensor::{
    DType, Device, Randomness, Tensor, VmapOptions, grad_allow_unused,
    registry::{self, Op},
    vmap_with,
};
use unigrad_testing::{
    Values,
    cases::{self, Case, weight},
    compare::{Tolerance, close},
    devices, functions,
    run::values_of,
};

/// The input's values for slice `i`: the same elements at other places, so that indices stay in range.
fn slice(values: &Values, i: usize) -> Values {
    let n = values.len();
    values.pick(&values.shape, (0..n).map(|at| Some((at + i) % n)), unigrad_tensor::Literal::zero(values.dtype))
}

fn on(values: &Values, device: &Device) -> Tensor {
    Tensor::from_bytes(&values.to_bytes(), values.shape.as_slice(), values.dtype, device)
}

/// An op, its case, and which inputs differ between slices.
struct Mapped<'a> {
    case: &'a Case,
    op: &'static Op,
    which: Vec<bool>,
    /// How many slices.
    size: usize,
    device: &'a Device,
}

type Results = (Vec<Tensor>, Vec<Option<Tensor>>);

impl Mapped<'_> {
    fn input(&self, i: usize, at: usize) -> Tensor {
        let input = &self.case.inputs[i];
        let dtype = if input.any_float { DType::F32 } else { input.values.dtype };
        let values =
            if input.any_float { Values::from_f64(dtype, &input.values.shape, &input.values.to_f64()) } else { input.values.clone() };
        if !self.which[i] {
            return on(&values, self.device);
        }
        let mut values = slice(&values, at);
        if self.op.name == "embedding_bag" && i == 2 && dtype.is_int() {
            // Offsets begin at 0, and none is less than the one before it.
            let mut offsets = values.to_f64();
            offsets.sort_by(f64::total_cmp);
            offsets.iter_mut().take(1).for_each(|first| *first = 0.0);
            values = Values::from_f64(dtype, &values.shape, &offsets);
        }
        on(&values, self.device)
    }

    /// The weighted sum of all results, for gradients.
    fn loss(outputs: &[Tensor]) -> Option<Tensor> {
        let floats = outputs.iter().filter(|output| output.dtype().is_float());
        floats
            .map(|output| {
                let weights: Vec<f64> = (0..output.numel()).map(weight).collect();
                let device = output.device().unwrap();
                (output * &on(&Values::from_f64(output.dtype(), &output.shape(), &weights), &device)).sum(())
            })
            .reduce(|a, b| a + b)
    }

    fn gradients(&self, outputs: &[Tensor], inputs: &[Tensor]) -> Result<Vec<Option<Tensor>>, String> {
        let wanted: Vec<&Tensor> = inputs.iter().filter(|input| input.dtype().is_float()).collect();
        if self.case.grads.is_empty() || wanted.is_empty() {
            return Ok(Vec::new());
        }
        match Self::loss(outputs) {
            Some(loss) => grad_allow_unused(&loss, None, &wanted).map_err(|error| error.to_string()),
            None => Ok(Vec::new()),
        }
    }

    /// The op's results for a slice, and their gradients, taken within the mapped function: and how many are results.
    fn call(&self, x: &[Tensor]) -> Result<(Vec<Tensor>, usize), String> {
        let mut results = self.op.call(x, &self.case.args, self.device).map_err(|error| error.to_string())?;
        let n = results.len();
        if results.iter().any(Tensor::is_invalid) {
            return Ok((results, n));
        }
        let gradients = self.gradients(&results, x)?;
        results.extend(gradients.into_iter().flatten());
        Ok((results, n))
    }

    /// One slice after another, put together.
    fn one_by_one(&self) -> Result<Results, String> {
        let n = self.case.inputs.len();
        let inputs: Vec<Tensor> = (0..n)
            .map(|i| match self.which[i] {
                true => Tensor::stack(&(0..self.size).map(|at| self.input(i, at)).collect::<Vec<_>>().iter().collect::<Vec<_>>(), 0),
                false => self.input(i, 0),
            })
            .collect();
        let mut each: Vec<Vec<Tensor>> = Vec::new();
        let mut n_outputs = 0;
        for at in 0..self.size {
            let here: Vec<Tensor> =
                (0..n).map(|i| if self.which[i] { inputs[i].select(0, at as i64) } else { inputs[i].clone() }).collect();
            let (results, n) = self.call(&here)?;
            n_outputs = n;
            each.push(results);
        }
        let outputs: Vec<Tensor> =
            (0..each[0].len()).map(|k| Tensor::stack(&each.iter().map(|slice| &slice[k]).collect::<Vec<_>>(), 0)).collect();
        if let Some(error) = outputs.iter().find_map(Tensor::error) {
            return Err(error.to_string());
        }
        let gradients = self.gradients(&outputs[..n_outputs], &inputs)?;
        Ok((outputs, gradients))
    }

    /// All at once, with the slices along some axis of each input.
    fn at_once(&self) -> Result<Results, String> {
        let mut inputs = Vec::new();
        let mut turned = Vec::new();
        let mut in_axes = Vec::new();
        for i in 0..self.case.inputs.len() {
            if !self.which[i] {
                inputs.push(self.input(i, 0));
                turned.push(inputs[i].clone());
                in_axes.push(None);
                continue;
            }
            let slices: Vec<Tensor> = (0..self.size.max(1)).map(|at| self.input(i, at)).collect();
            let all = Tensor::stack(&slices.iter().collect::<Vec<_>>(), 0).narrow(0, 0, self.size);
            let rank = all.shape().len() as isize;
            // From the front, and from the end.
            let axis = (self.case.number as isize + i as isize) % rank;
            turned.push(all.movedim(0, axis));
            inputs.push(all);
            in_axes.push(Some(if i % 2 == 0 { axis } else { axis - rank }));
        }
        let options = VmapOptions { in_axes, randomness: Randomness::Same, ..VmapOptions::default() };
        let mut refused = None;
        let mut n_outputs = 0;
        let function = |x: &[Tensor]| match self.call(x) {
            Ok((results, n)) => {
                n_outputs = n;
                results
            }
            Err(error) => {
                refused = Some(error);
                Vec::new()
            }
        };
        let outputs = vmap_with(function, &turned.iter().collect::<Vec<_>>(), &options);
        if let Some(error) = refused {
            return Err(error);
        }
        let outputs = outputs.map_err(|error| error.to_string())?;
        let gradients = self.gradients(&outputs[..n_outputs], &inputs)?;
        Ok((outputs, gradients))
    }

    /// Without slices: no elements, of the right shapes, and gradients of 0.
    fn check_empty(&self) -> Result<(), String> {
        let one = Mapped { which: self.which.clone(), size: 1, ..*self }.at_once()?;
        let none = self.at_once()?;
        Tensor::realize_all(&none.0.iter().chain(none.1.iter().flatten()).collect::<Vec<_>>()).map_err(|error| error.to_string())?;
        if one.0.len() != none.0.len() || one.1.iter().map(Option::is_some).ne(none.1.iter().map(Option::is_some)) {
            return Err("other results or gradients than of one slice".into());
        }
        for (one, none) in one.0.iter().zip(&none.0) {
            if none.shape()[0] != 0 || none.shape()[1..] != one.shape()[1..] || none.dtype() != one.dtype() {
                return Err(format!("{:?} {} without slices, {:?} {} of one", none.shape(), none.dtype(), one.shape(), one.dtype()));
            }
        }
        for gradient in none.1.iter().flatten() {
            if values_of(gradient)?.to_f64().into_iter().any(|value| value != 0.0) {
                return Err("a gradient of nothing is not 0".into());
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        if self.size == 0 {
            return self.check_empty();
        }
        let want = self.one_by_one();
        let got = self.at_once();
        let ((want, want_grads), (got, got_grads)) = match (want, got) {
            (Err(error), Err(_)) => return Err(format!("refused, mapped or not: {error}")),
            (Err(error), Ok(_)) => return Err(format!("only the slices are refused: {error}")),
            (Ok(_), Err(error)) => return Err(error),
            (Ok(want), Ok(got)) => (want, got),
        };
        if want.len() != got.len() || want_grads.len() != got_grads.len() {
            return Err(format!(
                "{} results and {} gradients, expected {} and {}",
                got.len(),
                got_grads.len(),
                want.len(),
                want_grads.len()
            ));
        }
        let mut pairs: Vec<(Tensor, Tensor, f64)> = got.into_iter().zip(want).map(|(got, want)| (got, want, 8.0)).collect();
        for (got, want) in got_grads.into_iter().zip(want_grads) {
            match (got, want) {
                (Some(got), Some(want)) => pairs.push((got, want, 8.0)),
                (None, None) => {}
                (got, _) => return Err(format!("a gradient is {}", if got.is_some() { "there" } else { "missing" })),
            }
        }
        let all: Vec<&Tensor> = pairs.iter().flat_map(|(got, want, _)| [got, want]).collect();
        Tensor::realize_all(&all).map_err(|error| error.to_string())?;
        let len = self.case.inputs.iter().map(|input| input.values.len()).max().unwrap_or(1) * self.size;
        for (got, want, times) in &pairs {
            let (got, want) = (values_of(got)?, values_of(want)?);
            let scale = want.to_f64().into_iter().filter(|x| x.is_finite()).fold(1.0, |scale: f64, x| scale.max(x.abs()));
            let times = if *times > 1.0 && want.dtype.is_float() { times * scale } else { *times };
            close(&got, &want, Tolerance::new(want.dtype, len).times(times))?;
        }
        Ok(())
    }
}

/// Which inputs are mapped: all, and each alone.
fn choices(n: usize) -> Vec<Vec<bool>> {
    let mut all = vec![vec![true; n]];
    if n > 1 {
        all.extend((0..n).map(|one| (0..n).map(|i| i == one).collect()));
    }
    all
}

fn all_cases() -> Vec<Case> {
    let wanted = std::env::var("UNIGRAD_OP").ok();
    cases::all().into_iter().chain(functions::cases()).filter(|case| wanted.as_ref().is_none_or(|op| *op == case.op)).collect()
}

fn check(device: &Device, cases: &[Case], size: usize) {
    let mut failures = Vec::new();
    let (mut n, mut without) = (0, BTreeSet::new());
    for case in cases {
        let op = registry::find(&case.op).unwrap();
        if case.inputs.is_empty() || op.reads {
            without.insert(op.name);
            continue;
        }
        for which in choices(case.inputs.len()) {
            n += 1;
            if let Err(error) = (Mapped { case, op, which: which.clone(), size, device }).check() {
                failures.push(format!("FAIL {case} mapped {which:?}, {size} slices on {}: {}", device.name(), error.replace('\n', " | ")));
            }
        }
    }
    failures.iter().for_each(|line| println!("{line}"));
    println!(
        "{n} maps of {} cases, {size} slices each, on {}, {} failures; no tensors to map, or reads: {without:?}",
        cases.len(),
        device.name(),
        failures.len()
    );
    assert!(failures.is_empty(), "see the FAIL lines above");
}

#[test]
fn every_op_is_mapped_as_slice_by_slice() {
    let cases = all_cases();
    // The interpreter runs a case of each op. For the others it is a graph like any other.
    let mut first: BTreeMap<String, Case> = BTreeMap::new();
    for case in &cases {
        first.entry(case.op.clone()).or_insert_with(|| case.clone());
    }
    let few: Vec<Case> = first.into_values().collect();
    for device in devices() {
        match device.info().backend {
            "cpu" => {
                check(&device, &cases, 3);
                [0, 1].into_iter().for_each(|size| check(&device, &few, size));
            }
            "interpreter" => check(&device, &few, 2),
            _ => {}
        }
    }
}

#[test]
fn ops_that_read_say_that_they_cannot_be_mapped() {
    let device = &devices()[0];
    let reading: Vec<Case> = all_cases().into_iter().filter(|case| registry::find(&case.op).is_some_and(|op| op.reads)).collect();
    for case in reading.iter().filter(|case| case.inputs.iter().any(|input| !input.values.is_empty())) {
        let op = registry::find(&case.op).unwrap();
        let mapped = Mapped { case, op, which: vec![true; case.inputs.len()], size: 2, device };
        let error = mapped.at_once().err().unwrap_or_else(|| panic!("{case} reads a stand-in"));
        assert!(error.contains("stands for an argument"), "{case}: {error}");
    }
}
