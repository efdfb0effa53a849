//! Every optimizer with state or numbers of its own kind: resumed to the last bit, unchanged by a step that fails, planned once; launches for the 148
//! tensors of GPT-2; state of 8 bits; groups with rules of their own; other devices.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use unigrad::{
    device::testing::{Failure, Faults, FaultyDriver, Operation},
    nn::{
        Adafactor, Adagrad, Adam, AdamW, AdamW8bit, AdamWScheduleFree, Adamax, Adan, Asgd, Group, HostTensor, Lamb, Lars, Layer, Lbfgs,
        Linear, Lion, Muon, NAdam, Optimize, Optimizer, RAdam, RmsProp, Rprop, Rule, Sam, Sgd, SgdScheduleFree, Shampoo, Sophia,
        SparseAdam,
    },
    prelude::*,
    tensor::eval,
};

/// The generator and the counters are the process's.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

type State = BTreeMap<String, HostTensor>;

/// An optimizer of any rule.
trait Any {
    fn minimize(&mut self, loss: &mut dyn FnMut() -> Result<Tensor>) -> Result<()>;
    fn step_with(&mut self, gradients: Vec<Option<Tensor>>) -> Result<()>;
    fn state(&self) -> State;
    fn load(&mut self, state: &State, steps: u64) -> Result<()>;
    fn n_steps(&self) -> u64;
    fn bytes(&self) -> usize;
}

impl<R: Rule> Any for Optimizer<R> {
    fn minimize(&mut self, loss: &mut dyn FnMut() -> Result<Tensor>) -> Result<()> {
        Optimizer::minimize(self, &loss()?, &[])
    }
    fn step_with(&mut self, gradients: Vec<Option<Tensor>>) -> Result<()> {
        Optimizer::step_with(self, gradients, &[])
    }
    fn state(&self) -> State {
        self.state_dict().unwrap()
    }
    fn load(&mut self, state: &State, steps: u64) -> Result<()> {
        self.load_state_dict(state, steps)
    }
    fn n_steps(&self) -> u64 {
        Optimizer::n_steps(self)
    }
    fn bytes(&self) -> usize {
        self.state_bytes()
    }
}

impl<R: Rule> Any for Sam<R> {
    fn minimize(&mut self, loss: &mut dyn FnMut() -> Result<Tensor>) -> Result<()> {
        Sam::minimize(self, loss, &[]).map(|_| ())
    }
    fn step_with(&mut self, gradients: Vec<Option<Tensor>>) -> Result<()> {
        Any::step_with(self.optimizer_mut(), gradients)
    }
    fn state(&self) -> State {
        self.state_dict().unwrap()
    }
    fn load(&mut self, state: &State, steps: u64) -> Result<()> {
        self.load_state_dict(state, steps)
    }
    fn n_steps(&self) -> u64 {
        self.optimizer().n_steps()
    }
    fn bytes(&self) -> usize {
        self.optimizer().state_bytes()
    }
}

type Make = fn(Vec<Tensor>) -> Result<Box<dyn Any>>;

fn boxed(optimizer: impl Any + 'static) -> Box<dyn Any> {
    Box::new(optimizer)
}

/// Elementwise rules, of which all parameters are a launch.
const ELEMENTWISE: &[(&str, Make)] = &[
    ("Sgd", |p| Ok(boxed(Sgd::new(p, 0.01)?.momentum(0.9)?))),
    ("Adam", |p| Ok(boxed(Adam::new(p, 0.01)?.amsgrad()?))),
    ("AdamW", |p| Ok(boxed(AdamW::new(p, 0.01)?))),
    ("Adamax", |p| Ok(boxed(Adamax::new(p, 0.01)?))),
    ("NAdam", |p| Ok(boxed(NAdam::new(p, 0.01)?))),
    ("RAdam", |p| Ok(boxed(RAdam::new(p, 0.01)?))),
    ("Adagrad", |p| Ok(boxed(Adagrad::new(p, 0.01)?))),
    ("RmsProp", |p| Ok(boxed(RmsProp::new(p, 0.01)?.momentum(0.5)?.centered()?))),
    ("Rprop", |p| Ok(boxed(Rprop::new(p, 0.01)?))),
    ("Asgd", |p| Ok(boxed(Asgd::new(p, 0.01)?))),
    ("Lion", |p| Ok(boxed(Lion::new(p, 0.001)?))),
    ("Adan", |p| Ok(boxed(Adan::new(p, 0.01)?))),
    ("Sophia", |p| Ok(boxed(Sophia::new(p, 0.001)?))),
    ("AdamWScheduleFree", |p| Ok(boxed(AdamWScheduleFree::new(p, 0.01)?.warmup_steps(3)))),
    ("SgdScheduleFree", |p| Ok(boxed(SgdScheduleFree::new(p, 0.1)?))),
    ("Lookahead AdamW", |p| Ok(boxed(AdamW::new(p, 0.01)?.lookahead(3, 0.5)?))),
    ("AdamW, clipped by value, L1", |p| Ok(boxed(AdamW::new(p, 0.01)?.clip_value(0.1).l1_penalty(1e-3)))),
];

const OTHERS: &[(&str, Make)] = &[
    ("Lars", |p| Ok(boxed(Lars::new(p, 0.1)?))),
    ("Lamb", |p| Ok(boxed(Lamb::new(p, 0.01)?))),
    ("Adafactor", |p| Ok(boxed(Adafactor::new(p, 0.01)?))),
    ("Shampoo", |p| Ok(boxed(Shampoo::new(p, 0.01)?.momentum(0.9)?))),
    ("SparseAdam", |p| Ok(boxed(SparseAdam::new(p, 0.01)?))),
    ("AdamW8bit", |p| Ok(boxed(AdamW8bit::new(p, 0.01)?.least_size(1)?))),
    ("Lookahead Lamb", |p| Ok(boxed(Lamb::new(p, 0.01)?.lookahead(2, 0.5)?))),
    ("Sam", |p| Ok(boxed(Sgd::new(p, 0.01)?.momentum(0.9)?.sam(0.05)))),
    ("AdamW, clipped by norm", |p| Ok(boxed(AdamW::new(p, 0.01)?.clip_norm(0.5)))),
    ("AdamW, treated", |p| {
        let o = AdamW::new(p, 0.01)?.clip_adaptively(0.01, 1e-3).centralize_gradients().gradient_noise(0.01, 0.55);
        Ok(boxed(o.elastic_penalty(1e-3, 0.5).max_norm(1.0)))
    }),
    ("AdamW and AdamW", |p| {
        let (a, b) = p.split_at(p.len() / 2);
        Ok(boxed(AdamW::new(a.to_vec(), 0.01)?.join(AdamW::new(b.to_vec(), 0.02)?.betas(0.5, 0.9).eps(1e-4))?))
    }),
    ("NAdam and NAdam", |p| {
        let (a, b) = p.split_at(p.len() / 2);
        Ok(boxed(NAdam::new(a.to_vec(), 0.01)?.join(NAdam::new(b.to_vec(), 0.02)?.betas(0.5, 0.9))?))
    }),
    ("Sgd with and without momentum", |p| {
        let (a, b) = p.split_at(p.len() / 2);
        Ok(boxed(Sgd::new(a.to_vec(), 0.01)?.join(Sgd::new(b.to_vec(), 0.02)?.momentum(0.9)?)?))
    }),
];

/// For matrices only.
const MATRICES: &[(&str, Make)] = &[("Muon", |p| Ok(boxed(Muon::new(p, 0.01)?)))];

/// A model of two layers, its data, and an optimizer.
struct Run {
    layers: [Linear; 2],
    x: Tensor,
    y: Tensor,
    optimizer: Box<dyn Any>,
}

impl Run {
    fn new(make: Make, matrices: bool, device: &Device) -> Run {
        manual_seed(11);
        let layer = |i, o| if matrices { Linear::no_bias(i, o, device) } else { Linear::new(i, o, device) };
        let layers = [layer(6, 16), layer(16, 3)];
        let x = Tensor::randn([20, 6], DType::F32, device).realize().unwrap();
        let y = Tensor::from_vec((0..20).map(|i| i % 3).collect::<Vec<i64>>(), 20, device);
        let optimizer = make(layers.iter().flat_map(|layer| layer.parameters()).collect()).unwrap();
        Run { layers, x, y, optimizer }
    }

    fn step(&mut self, scale: f64) -> Result<()> {
        let [first, second] = &self.layers;
        let (x, y) = (&self.x, &self.y);
        self.optimizer.minimize(&mut || Ok(second.forward(&first.forward(&(x * scale)).relu().dropout(0.2)).cross_entropy(y)))
    }

    /// Everything that a step changes.
    fn state(&self) -> (Vec<Vec<u8>>, State, u64) {
        let parameters = self.layers.iter().flat_map(|layer| layer.parameters());
        (parameters.map(|p| p.to_bytes().unwrap()).collect(), self.optimizer.state(), self.optimizer.n_steps())
    }
}

fn table() -> impl Iterator<Item = (&'static str, Make, bool)> {
    let all = ELEMENTWISE.iter().chain(OTHERS).map(|(name, make)| (*name, *make, false));
    all.chain(MATRICES.iter().map(|(name, make)| (*name, *make, true)))
}

#[test]
fn each_resumes_to_the_last_bit_and_is_planned_once() {
    let _alone = alone();
    let device = Device::open("cpu").unwrap();
    for (name, make, matrices) in table() {
        let mut whole = Run::new(make, matrices, &device);
        let mut saved = None;
        for step in 0..9 {
            let before = eval::stats().plans_built;
            whole.step(1.0).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(step < 3 || eval::stats().plans_built == before, "{name}: step {step} planned");
            if step == 3 {
                saved = Some((whole.state(), nn_generator()));
            }
        }
        let ((parameters, state, steps), generator) = saved.unwrap();
        assert_eq!(steps, 4, "{name}");
        let mut resumed = Run::new(make, matrices, &device);
        for (parameter, bytes) in resumed.layers.iter().flat_map(|layer| layer.parameters()).zip(parameters) {
            let value = Tensor::from_bytes(&bytes, parameter.shape(), parameter.dtype(), &device);
            no_grad(|| parameter.assign(&value)).unwrap();
        }
        resumed.optimizer.load(&state, steps).unwrap();
        unigrad::tensor::Generator::global().set(generator.0, generator.1);
        for _ in 4..9 {
            resumed.step(1.0).unwrap();
        }
        assert!(resumed.state() == whole.state(), "{name}: a resumed run differs");
        // Another's state is refused, and changes nothing.
        let before = resumed.state();
        let mut wrong = state.clone();
        wrong.insert("state.0.another".to_owned(), HostTensor { dtype: DType::F32, shape: vec![], bytes: vec![0; 4] });
        assert!(resumed.optimizer.load(&wrong, 1).is_err(), "{name}");
        assert!(resumed.state() == before, "{name}: a refused state changed something");
    }
}

fn nn_generator() -> (u64, u64) {
    unigrad::tensor::Generator::global().state()
}

#[test]
fn a_step_that_fails_changes_nothing() {
    let _alone = alone();
    let faults = Faults::default();
    unigrad::device::register(FaultyDriver::new("optim-faulty", unigrad_cpu::CpuDriver, faults.clone()));
    let device = Device::open("optim-faulty").unwrap();
    for (name, make, matrices) in table() {
        let mut reference = Run::new(make, matrices, &device);
        let mut run = Run::new(make, matrices, &device);
        unigrad::tensor::manual_seed(5);
        (0..4).for_each(|_| reference.step(1.0).unwrap());
        let want = reference.state();
        unigrad::tensor::manual_seed(5);
        (0..2).for_each(|_| run.step(1.0).unwrap());
        let before = run.state();
        let mut failed = 0;
        for n in [0, 1, 2, 5] {
            faults.fail(Operation::Launch, n, Failure::Refused);
            failed += usize::from(run.step(1.0).is_err());
            let struck = faults.is_empty();
            faults.clear();
            if !struck {
                // It came to its end: the run is another one from here.
                break;
            }
            assert!(run.state() == before, "{name}: a step whose launch {n} failed changed something");
        }
        assert!(failed > 0, "{name}: no fault struck");
        if failed == 4 {
            // What is no number changes nothing either.
            run.step(f64::NAN).unwrap();
            assert!(run.state() == before, "{name}: a loss that is no number changed something");
            unigrad::tensor::manual_seed(5);
            let mut again = Run::new(make, matrices, &device);
            unigrad::tensor::manual_seed(5);
            (0..4).for_each(|_| again.step(1.0).unwrap());
            assert!(again.state() == want, "{name}: the next steps differ");
        }
    }
}

/// The tensors of GPT-2, with 16 instead of 768 features.
fn gpt2(device: &Device) -> Vec<Tensor> {
    gpt2_of(16, device)
}

/// The same with `d` features.
fn gpt2_of(d: usize, device: &Device) -> Vec<Tensor> {
    let mut shapes: Vec<Vec<usize>> = vec![vec![52, d], vec![32, d]];
    for _ in 0..12 {
        let layer: [&[usize]; 12] =
            [&[d], &[d], &[d, 3 * d], &[3 * d], &[d, d], &[d], &[d], &[d], &[d, 4 * d], &[4 * d], &[4 * d, d], &[d]];
        shapes.extend(layer.iter().map(|shape| shape.to_vec()));
    }
    shapes.extend([vec![d], vec![d]]);
    assert_eq!(shapes.len(), 148);
    manual_seed(1);
    shapes.iter().map(|shape| (Tensor::randn(shape.as_slice(), DType::F32, device) * 0.1).requires_grad()).collect()
}

#[test]
fn launches_for_the_tensors_of_gpt2() {
    let _alone = alone();
    unigrad::device::register(unigrad_interpreter::InterpreterDriver::default());
    let device = Device::open("interpreter:0").unwrap();
    let measure = |make: Make, parameters: Vec<Tensor>| -> u64 {
        let gradients: Vec<Tensor> = parameters.iter().map(|p| p.detach() * 0.5).collect();
        Tensor::realize_all(&gradients.iter().chain(&parameters).collect::<Vec<_>>()).unwrap();
        let mut optimizer = make(parameters).unwrap();
        let mut launches = 0;
        for _ in 0..2 {
            let before = eval::stats().launches;
            optimizer.step_with(gradients.iter().cloned().map(Some).collect()).unwrap();
            launches = eval::stats().launches - before;
        }
        launches
    };
    let mut wrong = Vec::new();
    for (name, make) in ELEMENTWISE {
        let launches = measure(*make, gpt2(&device));
        println!("{name}: {launches} launches");
        wrong.extend((launches > 2).then_some((name, launches)));
    }
    for (name, make) in OTHERS {
        if *name == "Shampoo" {
            continue;
        }
        let launches = measure(*make, gpt2(&device));
        println!("{name}: {launches} launches");
        let most = match *name {
            // Norms, and the update.
            "Lars" | "Lamb" | "Lookahead Lamb" => 2,
            // Sums of all gradients; these side by side; their sum, with the rule's numbers; the update.
            "AdamW, clipped by norm" => 4,
            // Numbers of three kinds, for one reads another; parameters, by the rows that treatments look at.
            "AdamW, treated" => 4,
            // Numbers; means along rows, and along columns; what is made of both; the size of a step; the step.
            "Adafactor" => 5,
            // The rule's numbers; and parameters of all kinds: blocks of several lengths, tensors that are one block, rows of several lengths.
            _ => 2,
        };
        wrong.extend((launches > most).then_some((name, launches)));
    }
    // Blocks of 256 values, where a state is worth them.
    let wide: Vec<Tensor> = gpt2_of(64, &device);
    let launches = measure(|p| Ok(boxed(AdamW8bit::new(p, 0.01)?)), wide);
    println!("AdamW8bit, tensors of 4096 values and more: {launches} launches");
    // Beside small ones, whose state is whole.
    wrong.extend((launches > 2).then_some((&"AdamW8bit, tensors of 4096 values and more", launches)));
    let launches = measure(|p| Ok(boxed(AdamW8bit::new(p, 0.01)?)), gpt2(&device));
    println!("AdamW8bit, small tensors: {launches} launches");
    wrong.extend((launches > 2).then_some((&"AdamW8bit, small tensors", launches)));
    let matrices: Vec<Tensor> = gpt2_of(64, &device).into_iter().filter(|p| p.numel() >= 4096).collect();
    let launches = measure(|p| Ok(boxed(AdamW8bit::new(p, 0.01)?)), matrices);
    println!("AdamW8bit, matrices alone: {launches} launches");
    wrong.extend((launches > 2).then_some((&"AdamW8bit, matrices alone", launches)));
    // Whether a row has a gradient is found by the launch that updates it.
    let tables: Vec<Tensor> = gpt2(&device).into_iter().filter(|p| p.rank() == 2 && p.shape()[1] == 16).collect();
    let launches = measure(|p| Ok(boxed(SparseAdam::new(p, 0.01)?)), tables);
    println!("SparseAdam, tables of one width: {launches} launches");
    wrong.extend((launches > 2).then_some((&"SparseAdam, tables of one width", launches)));
    let matrices: Vec<Tensor> = gpt2(&device).into_iter().filter(|p| p.shape() == [16, 16]).collect();
    for ((name, make), n) in
        MATRICES.iter().map(|rule| (rule, 4)).chain(OTHERS.iter().filter(|(name, _)| *name == "Shampoo").map(|rule| (rule, 1)))
    {
        println!("{name}: {} launches for {n} matrices", measure(*make, matrices[..n].to_vec()));
    }
    // Rules that look at the loss in several places: all of a step, the losses and their gradients too. Beside it, that of a rule that looks once.
    let whole = |make: fn(Vec<Tensor>) -> Result<Box<dyn Optimize>>| -> u64 {
        let parameters = gpt2(&device);
        let mut optimizer = make(parameters.clone()).unwrap();
        let mut launches = 0;
        for _ in 0..3 {
            let before = eval::stats().launches;
            let mut loss = || {
                let sums = parameters.iter().map(|p| p.square().sum(()));
                Ok((sums.reduce(|a, b| a + b).unwrap(), Vec::new()))
            };
            optimizer.minimize_by(&mut loss).unwrap();
            launches = eval::stats().launches - before;
        }
        launches
    };
    let plain = whole(|p| Ok(Box::new(Sgd::new(p, 0.01)?.momentum(0.9)?)));
    let sam = whole(|p| Ok(Box::new(Sgd::new(p, 0.01)?.momentum(0.9)?.sam(0.05))));
    println!("Sgd, a whole step: {plain} launches");
    println!("Sam of Sgd, a whole step: {sam} launches");
    for (name, iterations, strong_wolfe) in
        [("Lbfgs, one iteration", 1, false), ("Lbfgs, four", 4, false), ("Lbfgs, four, strong Wolfe", 4, true)]
    {
        let parameters = gpt2(&device);
        let mut optimizer = Lbfgs::new(parameters.clone(), 0.1).unwrap().max_iter(iterations).strong_wolfe(strong_wolfe);
        let mut counts = Vec::new();
        for _ in 0..3 {
            let (before, mut n_losses) = (eval::stats().launches, 0);
            let mut loss = || {
                n_losses += 1;
                let sums = parameters.iter().map(|p| p.square().sum(()));
                Ok((sums.reduce(|a, b| a + b).unwrap(), Vec::new()))
            };
            Optimize::minimize_by(&mut optimizer, &mut loss).unwrap();
            counts.push((eval::stats().launches - before, n_losses));
        }
        println!("{name}, a whole step: launches and losses {counts:?}");
    }
    assert!(wrong.is_empty(), "more launches than promised: {wrong:?}");
}

/// What a tensor becomes does not depend on the others that share its launches: steps of all parameters together, on every device, against those of
/// each alone on the CPU.
#[test]
fn parameters_do_not_see_each_other() {
    let _alone = alone();
    const RULES: &[(&str, Make)] = &[
        ("Lamb", |p| Ok(boxed(Lamb::new(p, 0.01)?))),
        ("Lars", |p| Ok(boxed(Lars::new(p, 0.1)?.weight_decay(0.01)))),
        ("Sgd, clipped each", |p| Ok(boxed(Sgd::new(p, 0.1)?.clip_each_norm(0.3)))),
        ("Adafactor", |p| Ok(boxed(Adafactor::new(p, 0.01)?))),
        ("AdamW8bit", |p| Ok(boxed(AdamW8bit::new(p, 0.01)?.least_size(512)?))),
    ];
    // Of one value, of a few, of blocks and a part, equal ones, and two that several workgroups share. The norm of the third is 0.
    const SHAPES: [&[usize]; 10] = [&[], &[1], &[2], &[255], &[257], &[16, 48], &[16, 48], &[4, 128], &[150, 256], &[171, 256]];
    let tensors = |device: &Device, dtype: DType, seed: usize| -> Vec<Tensor> {
        let tensor = |(at, shape): (usize, &&[usize])| {
            let scale = if at == 2 { 0.0 } else { 0.3 };
            let value = |i: usize| (((i * 37 + at * 11 + seed * 5) % 101) as f32 / 50.0 - 1.0) * scale;
            let values: Vec<f32> = (0..shape.iter().product()).map(value).collect();
            Tensor::from_slice(&values, *shape, device).cast(dtype).realize().unwrap()
        };
        SHAPES.iter().enumerate().map(tensor).collect()
    };
    let trained = |device: &Device, dtype| tensors(device, dtype, 1).into_iter().map(|p| p.requires_grad()).collect::<Vec<_>>();
    let cpu = Device::open("cpu").unwrap();
    let all = unigrad_testing::fast_devices().into_iter().chain(["opencl", "wgpu"].iter().filter_map(|name| Device::open(name).ok()));
    let all: Vec<Device> = all.collect();
    for dtype in [DType::F32, DType::BF16] {
        for (name, make) in RULES {
            let alone = trained(&cpu, dtype);
            let mut each: Vec<Box<dyn Any>> = alone.iter().map(|p| make(vec![p.clone()]).unwrap()).collect();
            for (optimizer, gradient) in each.iter_mut().zip(tensors(&cpu, dtype, 2)) {
                (0..2).for_each(|_| optimizer.step_with(vec![Some(gradient.clone())]).unwrap());
            }
            for device in &all {
                if *device != cpu && (dtype != DType::F32 || !["Lamb", "Adafactor"].contains(name)) {
                    // Programs are what takes long there.
                    continue;
                }
                let together = trained(device, dtype);
                let mut one = make(together.clone()).unwrap();
                (0..2).for_each(|_| one.step_with(tensors(device, dtype, 2).into_iter().map(Some).collect()).unwrap());
                for ((got, want), shape) in together.iter().zip(&alone).zip(SHAPES) {
                    let (got, want) = (got.to_f64_vec().unwrap(), want.to_f64_vec().unwrap());
                    let is_exact = *device == cpu && got == want;
                    for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                        let near = is_exact || *device != cpu && (got - want).abs() <= 2e-5 * want.abs().max(0.3);
                        assert!(near, "{device}, {name}, {dtype} {shape:?}: {i} is {got}, alone {want}");
                    }
                }
            }
        }
    }
}

#[test]
fn state_of_8_bits_is_small_and_trains_alike() {
    let _alone = alone();
    let device = Device::open("cpu").unwrap();
    let train = |make: Make| -> (Vec<f32>, usize) {
        manual_seed(5);
        let layers = [Linear::new(32, 160, &device), Linear::new(160, 10, &device)];
        let x = Tensor::randn([256, 32], DType::F32, &device).realize().unwrap();
        let y = (x.narrow(1, 0, 10) + x.narrow(1, 10, 10) * x.narrow(1, 20, 10)).argmax(1).realize().unwrap();
        let mut optimizer = make(layers.iter().flat_map(|layer| layer.parameters()).collect()).unwrap();
        let mut losses = Vec::new();
        for _ in 0..150 {
            let mut computed = None;
            optimizer
                .minimize(&mut || {
                    let loss = layers[1].forward(&layers[0].forward(&x).relu()).cross_entropy(&y);
                    computed = Some(loss.clone());
                    Ok(loss)
                })
                .unwrap();
            losses.push(computed.unwrap().item::<f32>().unwrap());
        }
        (losses, optimizer.bytes())
    };
    let (whole, whole_bytes) = train(|p| Ok(boxed(AdamW::new(p, 2e-3)?)));
    let (small, small_bytes) = train(|p| Ok(boxed(AdamW8bit::new(p, 2e-3)?.least_size(1)?)));
    println!("losses {:?} and {:?}, state of {small_bytes} and {whole_bytes} bytes", small.last(), whole.last());
    assert!(whole[149] < 0.5 * whole[0], "{whole:?}");
    for (step, (small, whole)) in small.iter().zip(&whole).enumerate() {
        assert!((small - whole).abs() <= 0.01 * whole, "step {step}: {small} and not {whole}");
    }
    // Whole where blocks are not filled: weights of 5120 and 1600 values, biases of 160 and 10.
    assert!(small_bytes * 10 <= whole_bytes * 3, "{small_bytes} of {whole_bytes} bytes");
    // Values of all sizes in one block, and blocks of nothing.
    let d = &device;
    let w = Tensor::zeros(600, DType::F32, d).requires_grad();
    let mut optimizer = AdamW8bit::new(vec![w.clone()], 0.1).unwrap().least_size(1).unwrap().weight_decay(0.0);
    let gradient = Tensor::from_vec((0..600).map(|i| if i < 300 { 10f32.powi(-(i % 12)) } else { 0.0 }).collect::<Vec<_>>(), 600, d);
    for _ in 0..3 {
        optimizer.step_with(vec![Some(gradient.clone())], &[]).unwrap();
    }
    let values = w.to_vec::<f32>().unwrap();
    assert!(values.iter().all(|value| value.is_finite() && value.abs() < 1.0), "{values:?}");
    assert!(values[300..].iter().all(|value| *value == 0.0) && (values[0] + 0.3).abs() < 0.01, "{values:?}");
}

#[test]
fn only_touched_rows_of_an_embedding_change() {
    let _alone = alone();
    let device = Device::open("cpu").unwrap();
    let table = Tensor::randn([6, 3], DType::F32, &device).realize().unwrap().requires_grad();
    let before = table.to_vec2::<f32>().unwrap();
    let mut optimizer = SparseAdam::new(vec![table.clone()], 0.1).unwrap();
    for rows in [vec![0i64, 2], vec![2, 5], vec![0]] {
        let rows = Tensor::from_vec(rows.clone(), rows.len(), &device);
        optimizer.minimize(&table.embedding(&rows).square().sum(()), &[]).unwrap();
    }
    let after = table.to_vec2::<f32>().unwrap();
    for row in 0..6 {
        assert_eq!(before[row] == after[row], ![0, 2, 5].contains(&row), "row {row}");
    }
    let second = optimizer.state_named("exp_avg_sq")[0].to_vec2::<f32>().unwrap();
    assert!(second[1].iter().chain(&second[3]).all(|v| *v == 0.0) && second[2].iter().all(|v| *v > 0.0));
}

#[test]
fn schedule_free_switches_between_averages_and_points() {
    let _alone = alone();
    let device = Device::open("cpu").unwrap();
    let w = Tensor::new([1.0f64, -2.0], &device).requires_grad();
    let mut optimizer = AdamWScheduleFree::new(vec![w.clone()], 0.1).unwrap();
    let loss = || (w.square() * 0.5).sum(());
    (0..7).for_each(|_| optimizer.minimize(&loss(), &[]).unwrap());
    let y = w.to_vec::<f64>().unwrap();
    let z = optimizer.state_named("z")[0].to_vec::<f64>().unwrap();
    optimizer.eval().unwrap();
    optimizer.eval().unwrap();
    for ((x, y), z) in w.to_vec::<f64>().unwrap().iter().zip(&y).zip(&z) {
        assert!((0.9 * x + 0.1 * z - y).abs() < 1e-12, "y is not between x and z");
    }
    let error = optimizer.minimize(&loss(), &[]).unwrap_err().to_string();
    assert!(error.contains("train()"), "{error}");
    // Which of them it is, is saved too.
    let (state, steps) = (optimizer.state_dict().unwrap(), optimizer.n_steps());
    let mut other = AdamWScheduleFree::new(vec![w.clone()], 0.1).unwrap();
    other.load_state_dict(&state, steps).unwrap();
    assert!(!other.is_training());
    other.train().unwrap();
    for (now, y) in w.to_vec::<f64>().unwrap().iter().zip(&y) {
        assert!((now - y).abs() < 1e-12);
    }
    other.minimize(&loss(), &[]).unwrap();
}

#[test]
fn state_follows_parameters_to_another_device_and_dtype() {
    let _alone = alone();
    unigrad::device::register(unigrad_interpreter::InterpreterDriver::default());
    let (cpu, other) = (Device::open("cpu").unwrap(), Device::open("interpreter:0").unwrap());
    let start = Tensor::new([1.0f32, -2.0, 0.5], &cpu);
    let run = |moves: &[&Device]| -> Vec<f32> {
        let mut w = start.requires_grad();
        let mut optimizer = NAdam::new(vec![w.clone()], 0.1).unwrap();
        for device in moves {
            w = w.detach().to(device).requires_grad();
            optimizer.follow(vec![w.clone()]).unwrap();
            (0..2).for_each(|_| optimizer.minimize(&w.square().sum(()), &[]).unwrap());
        }
        assert_eq!(optimizer.n_steps(), 2 * moves.len() as u64);
        w.to_vec().unwrap()
    };
    let (stayed, moved) = (run(&[&cpu, &cpu, &cpu]), run(&[&cpu, &other, &cpu]));
    assert!(stayed.iter().zip(&moved).all(|(a, b)| (a - b).abs() < 1e-6), "{stayed:?} and {moved:?}");
    let w = start.requires_grad();
    let mut optimizer = AdamW::new(vec![w.clone()], 0.1).unwrap();
    optimizer.minimize(&w.square().sum(()), &[]).unwrap();
    let wide = w.detach().cast(DType::F64).requires_grad();
    optimizer.follow(vec![wide.clone()]).unwrap();
    optimizer.minimize(&wide.square().sum(()), &[]).unwrap();
    assert_eq!(optimizer.state_named("exp_avg")[0].dtype(), DType::F64);
    assert!(optimizer.follow(vec![]).is_err() && optimizer.follow(vec![Tensor::ones(4, DType::F32, &cpu).requires_grad()]).is_err());
    assert!(Muon::new(vec![w], 0.1).unwrap_err().to_string().contains("AdamW"));
}

#[test]
fn batches_one_by_one_are_one_step() {
    let _alone = alone();
    let device = Device::open("cpu").unwrap();
    let x = Tensor::randn([8, 4], DType::F64, &device).realize().unwrap();
    let run = |accumulated: bool| -> Vec<f64> {
        let w = Tensor::ones([4], DType::F64, &device).requires_grad();
        let mut optimizer = AdamW::new(vec![w.clone()], 0.1).unwrap();
        let loss = |x: &Tensor| x.matmul(&w).square().mean(());
        for _ in 0..3 {
            if accumulated {
                let got = optimizer.minimize_batches(4, |i| Ok(loss(&x.narrow(0, 2 * i, 2)))).unwrap();
                assert!(got.is_realized());
            } else {
                optimizer.minimize(&loss(&x), &[]).unwrap();
            }
        }
        let before = w.to_vec::<f64>().unwrap();
        let fails = |i| if i == 1 { Err(unigrad::Error::argument("a test", "none")) } else { Ok(loss(&x)) };
        assert!(optimizer.minimize_batches(2, fails).is_err() && optimizer.minimize_batches(0, |_| Ok(loss(&x))).is_err());
        assert_eq!((w.to_vec::<f64>().unwrap(), optimizer.n_steps()), (before.clone(), 3));
        before
    };
    assert!(run(true).iter().zip(run(false)).all(|(a, b)| (a - b).abs() < 1e-12));
}

#[test]
fn sam_climbs_and_comes_back() {
    let _alone = alone();
    let device = Device::open("cpu").unwrap();
    let run = |in_two: bool| -> Vec<f64> {
        let w = Tensor::new([1.0f64, -2.0], &device).requires_grad();
        let mut optimizer = Sgd::new(vec![w.clone()], 0.1).unwrap().momentum(0.9).unwrap().sam(0.1);
        let loss = || (w.square() * 0.5).sum(()) + w.exp().sum(());
        for _ in 0..3 {
            if in_two {
                loss().backward().unwrap();
                let climbed = optimizer.climb().unwrap();
                loss().backward().unwrap();
                climbed.step().unwrap();
                w.zero_grad();
            } else {
                optimizer.minimize(|| Ok(loss()), &[]).unwrap();
            }
        }
        let before = w.to_vec::<f64>().unwrap();
        loss().backward().unwrap();
        drop(optimizer.climb().unwrap());
        let mut calls = 0;
        let result = optimizer.minimize(
            || {
                calls += 1;
                if calls == 2 { Err(unigrad::Error::argument("a test", "none")) } else { Ok(loss()) }
            },
            &[],
        );
        assert!(result.is_err());
        assert_eq!((w.to_vec::<f64>().unwrap(), optimizer.optimizer().n_steps()), (before.clone(), 3));
        before
    };
    assert!(run(true).iter().zip(run(false)).all(|(a, b)| (a - b).abs() < 1e-12));
}

#[test]
fn groups_have_rules_of_their_own() {
    let _alone = alone();
    let device = Device::open("cpu").unwrap();
    let run = |joined: bool| -> (Vec<f64>, Vec<f64>) {
        let (a, b) = (Tensor::new([1.0f64], &device).requires_grad(), Tensor::new([-2.0f64], &device).requires_grad());
        let of = |w: &Tensor, lr, b1, b2| AdamW::new(vec![w.clone()], lr).unwrap().betas(b1, b2);
        let loss = || a.square().sum(()) + b.square().sum(()) * 3.0;
        let (mut first, mut second) = (of(&a, 0.1, 0.9, 0.99), of(&b, 0.05, 0.5, 0.8).weight_decay(0.3));
        if joined {
            let mut both = first.join(second).unwrap();
            (0..5).for_each(|_| both.minimize(&loss(), &[]).unwrap());
        } else {
            for _ in 0..5 {
                loss().backward().unwrap();
                first.step().unwrap();
                second.step().unwrap();
                first.zero_grad();
                second.zero_grad();
            }
        }
        (a.to_vec().unwrap(), b.to_vec().unwrap())
    };
    assert_eq!(run(true), run(false));
    let group = Group { parameters: vec![Tensor::new([1.0f64], &device).requires_grad()], lr: 0.1, weight_decay: None };
    assert_eq!(AdamW::new(vec![], 0.1).unwrap().add_group(group).unwrap().groups().len(), 2);
}

#[test]
fn sophia_estimates_by_hutchinson() {
    let _alone = alone();
    let device = Device::open("cpu").unwrap();
    manual_seed(2);
    // Of a function without mixed derivatives the estimate is `u² h`, whose mean is `h`.
    let h = Tensor::new([2.0f64, 0.5, 8.0], &device);
    let w = Tensor::new([1.0f64, -2.0, 0.5], &device).requires_grad();
    let mut optimizer = Sophia::new(vec![w.clone()], 0.1).unwrap().betas(0.9, 0.999);
    for _ in 0..4000 {
        optimizer.update_hessian_hutchinson(&(w.square() * &h * 0.5).sum(())).unwrap();
    }
    let share = 1.0 - 0.999f64.powi(4000);
    let got = optimizer.state_named("hessian")[0].to_vec::<f64>().unwrap();
    for (got, want) in got.iter().zip([2.0, 0.5, 8.0]) {
        assert!((got / share / want - 1.0).abs() < 0.15, "{got:?} and not {want}");
    }
    assert_eq!((w.to_vec::<f64>().unwrap(), optimizer.n_steps()), (vec![1.0, -2.0, 0.5], 0));
    let before = got;
    optimizer.update_hessian(&(w.square() * f64::INFINITY).sum(())).unwrap();
    assert_eq!(optimizer.state_named("hessian")[0].to_vec::<f64>().unwrap(), before);
}
