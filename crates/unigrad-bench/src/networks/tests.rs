//! Small siblings of the networks beside PyTorch's, from weights and data by a formula: the same losses, the same scores. `scripts/golden_bench.py` has the formula.
//! Runs beside other programs: measurements are run by hand.

use super::{
    Network,
    decoder::{self, Decoder},
    gpt2, resnet, small,
};
use crate::record::Work;
use serde_json::Value;
use unigrad_device::Device;
use unigrad_nn::{self as nn, models::GptConfig};
use unigrad_tensor::{DType, Error, Fp8Recipe, Result, Tensor, autocast, autocast_fp8, eval, grad, no_grad};

/// Where data are numbered from.
const DATA: u32 = 1000;
/// Losses of f32 differ by so much of themselves at most, as sums in another order do.
const NEAR: f64 = 2e-4;
/// And losses of bf16, whose products differ in their last bits and are rounded to eight.
const NEAR_BF16: f64 = 2e-2;
/// Norms over a batch of three make more of them.
const NEAR_RESNET_BF16: f64 = 0.2;

fn device() -> Device {
    unigrad_device::register(unigrad_cpu::CpuDriver);
    Device::open("cpu").unwrap()
}

fn golden() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../goldens/bench_losses.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn word(number: u32, element: u32) -> u32 {
    let mut x = element.wrapping_add(number.wrapping_mul(0x9e37_79b9));
    x ^= x >> 16;
    x = x.wrapping_mul(0x85eb_ca6b);
    x ^= x >> 13;
    x = x.wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

fn unit(number: u32, element: u32) -> f64 {
    f64::from(word(number, element) >> 8) / f64::from(1 << 23) - 1.0
}

/// The value of a parameter.
fn parameter(number: usize, shape: &[usize], device: &Device) -> Tensor {
    let n = shape.iter().product::<usize>() as u32;
    let fan = shape[1..].iter().product::<usize>() as f64;
    let of = |value: f64| if shape.len() == 1 { 0.5 + 0.4 * value } else { value / fan.sqrt() };
    let values: Vec<f32> = (0..n).map(|e| of(unit(number as u32, e)) as f32).collect();
    Tensor::from_vec(values, shape.to_vec(), device)
}

/// Inputs or targets of the shape of what is there: floats, or numbers below `n`.
fn data(i: usize, like: &Tensor, n: usize, device: &Device) -> Tensor {
    let elements = 0..like.numel() as u32;
    let shape = like.dims().unwrap();
    if like.dtype() == DType::F32 {
        return Tensor::from_vec(elements.map(|e| unit(DATA, e) as f32).collect::<Vec<_>>(), shape, device);
    }
    let numbers: Vec<i64> = elements.map(|e| i64::from(word(DATA + i as u32, e) % n as u32)).collect();
    Tensor::from_vec(numbers, shape, device)
}

/// The network with the formula's weights and data, whose integers are below `n`.
fn filled(mut network: Network, n: usize, device: &Device) -> Network {
    for (number, tensor) in network.parameters.iter().enumerate() {
        let value = parameter(number, &tensor.dims().unwrap(), device);
        no_grad(|| tensor.assign(&value)).unwrap();
    }
    network.data = network.data.iter().enumerate().map(|(i, like)| data(i, like, n, device).realize().unwrap()).collect();
    network
}

fn size(of: &Value, name: &str) -> usize {
    of[name].as_u64().unwrap_or_else(|| panic!("no {name}")) as usize
}

fn sizes<const N: usize>(of: &Value, name: &str) -> [usize; N] {
    std::array::from_fn(|i| of[name][i].as_u64().unwrap() as usize)
}

fn numbers(of: &Value, name: &str) -> Vec<f64> {
    of[name].as_array().unwrap_or_else(|| panic!("no {name}")).iter().map(|number| number.as_f64().unwrap()).collect()
}

/// Losses of steps, each before its update.
fn losses<R: nn::Rule>(network: &Network, n: usize, mut optimizer: nn::Optimizer<R>) -> Vec<f64> {
    let step = |_| {
        let loss = network.loss();
        optimizer.minimize(&loss, &[]).unwrap();
        f64::from(loss.item::<f32>().unwrap())
    };
    (0..n).map(step).collect()
}

fn check(name: &str, found: &[f64], expected: &[f64], near: f64) {
    assert!(!expected.is_empty() && found.len() == expected.len(), "{name}: {found:?} {expected:?}");
    for (step, (found, expected)) in found.iter().zip(expected).enumerate() {
        let far = (found - expected).abs() / expected.abs();
        assert!(far <= near, "{name}, step {step}: {found} and not {expected}, {far:.1e} off");
    }
    // What the check stands for: steps that do something.
    assert!((expected[0] - expected[expected.len() - 1]).abs() > 2.0 * NEAR * expected[0].abs(), "{name}: {expected:?}");
}

#[test]
fn losses_are_pytorchs() {
    let (d, golden) = (device(), golden());
    let adam = |network: &Network| nn::Adam::new(network.parameters.clone(), 1e-3).unwrap();
    let of = &golden["mlp"];
    let layers: [usize; 4] = sizes(of, "sizes");
    let network = filled(small::perceptron(&d, layers, size(of, "batch")).unwrap(), layers[3], &d);
    let expected = numbers(of, "losses");
    check("mlp", &losses(&network, expected.len(), adam(&network)), &expected, NEAR);

    let of = &golden["cnn"];
    let cnn =
        small::Cnn { image: size(of, "image"), channels: sizes(of, "channels"), hidden: size(of, "hidden"), classes: size(of, "classes") };
    let network = filled(small::cnn(&d, cnn, size(of, "batch")).unwrap(), cnn.classes, &d);
    assert_eq!(cnn.parameters(), network.parameters.iter().map(Tensor::numel).sum::<usize>() as f64);
    let expected = numbers(of, "losses");
    check("cnn", &losses(&network, expected.len(), adam(&network)), &expected, NEAR);

    let of = &golden["lstm"];
    let lstm =
        small::Recurrent { inputs: size(of, "inputs"), hidden: size(of, "hidden"), steps: size(of, "steps"), classes: size(of, "classes") };
    let network = filled(small::lstm(&d, lstm, size(of, "batch")).unwrap(), lstm.classes, &d);
    assert_eq!(lstm.parameters(), network.parameters.iter().map(Tensor::numel).sum::<usize>() as f64);
    let expected = numbers(of, "losses");
    check("lstm", &losses(&network, expected.len(), adam(&network)), &expected, NEAR);

    let of = &golden["gpt_char"];
    let [vocab, ctx, layers, heads, dim] = ["vocabulary", "context", "layers", "heads", "dim"].map(|name| size(of, name));
    let config = GptConfig { vocab, ctx, layers, heads, dim };
    let network = filled(small::characters(&d, config, size(of, "batch")).unwrap(), vocab, &d);
    assert_eq!(small::characters_parameters(config), network.parameters.iter().map(Tensor::numel).sum::<usize>() as f64);
    let optimizer = nn::AdamW::new(network.parameters.clone(), 1e-3).unwrap().betas(0.9, 0.99).weight_decay(0.1);
    let expected = numbers(of, "losses");
    check("gpt_char", &losses(&network, expected.len(), optimizer), &expected, NEAR);
}

#[test]
fn losses_of_large_networks_are_pytorchs_in_f32_and_bf16() {
    let (d, golden) = (device(), golden());
    let of = &golden["gpt2"];
    let [vocabulary, context, layers, heads, width] = ["vocabulary", "context", "layers", "heads", "width"].map(|name| size(of, name));
    let gpt2 = gpt2::Sizes { layers, heads, width, context, vocabulary, tokens: vocabulary };
    let made = || filled(gpt2::network(&d, gpt2, size(of, "batch")).unwrap(), vocabulary, &d);
    let adamw = |network: &Network| nn::AdamW::new(network.parameters.clone(), 1e-4).unwrap();
    let network = made();
    assert_eq!(gpt2.parameters(), network.parameters.iter().map(Tensor::numel).sum::<usize>() as f64);
    let expected = numbers(of, "losses");
    check("gpt2", &losses(&network, expected.len(), adamw(&network)), &expected, NEAR);
    let network = made().within(|loss| autocast(DType::BF16, loss));
    let half = numbers(of, "losses_bf16");
    check("gpt2 in bf16", &losses(&network, half.len(), adamw(&network)), &half, NEAR_BF16);
    // The 8-bit floats of the rows: near bf16's, and not bf16's.
    let network = made().within(|loss| autocast_fp8(&Fp8Recipe::default(), loss));
    let first = losses(&network, 1, adamw(&network))[0];
    assert!((first - half[0]).abs() < 0.1 * half[0] && first != half[0], "{first} beside {}", half[0]);

    let of = &golden["resnet"];
    let resnet =
        resnet::Sizes { stages: sizes(of, "stages"), width: size(of, "width"), image: size(of, "image"), classes: size(of, "classes") };
    let made = || filled(resnet::network(&d, resnet, size(of, "batch")).unwrap(), resnet.classes, &d);
    let sgd = |network: &Network| nn::Sgd::new(network.parameters.clone(), 0.1).unwrap().momentum(0.9).unwrap();
    let network = made();
    let expected = numbers(of, "losses");
    check("resnet", &losses(&network, expected.len(), sgd(&network)), &expected, NEAR);
    let network = made().within(|loss| autocast(DType::BF16, loss));
    let half = numbers(of, "losses_bf16");
    check("resnet in bf16", &losses(&network, half.len(), sgd(&network)), &half, NEAR_RESNET_BF16);
}

/// What a training step costs by the formulas that the rows use.
#[test]
fn costs_are_the_networks_own() {
    let d = device();
    // ResNet-50 has 4.09 billion multiplications and 25.6 million parameters, as torchvision's documentation says.
    let flops = resnet::FIFTY.forward_flops();
    assert!((flops / 2.0 / 4.09e9 - 1.0).abs() < 0.01, "{flops}");
    assert!((gpt2::SMALL.parameters() - 124.5e6).abs() < 1e6, "{}", gpt2::SMALL.parameters());
    assert!((decoder::SEVEN_B.weight_bytes(DType::BF16) / 2.0 - 7.24e9).abs() < 1e7);
    let stages = resnet::Sizes { stages: [1, 1, 1, 1], width: 4, image: 32, classes: 3 };
    assert!(stages.forward_flops() > 0.0 && resnet::network(&d, stages, 1).is_ok());
}

#[test]
fn a_replayed_step_trains_as_a_recorded_one() {
    let d = device();
    let made = || filled(small::perceptron(&d, [12, 9, 8, 5], 6).unwrap(), 5, &d);
    let adam = |network: &Network| nn::Adam::new(network.parameters.clone(), 1e-3).unwrap();
    let run = |is_replayed: bool| {
        let network = made();
        let parameters = network.parameters.clone();
        let optimizer = adam(&network);
        let work = Work::Items(1.0, "samples");
        let mut case = if is_replayed { network.replayed(work, optimizer) } else { network.train(work, optimizer) }.unwrap();
        (0..6).try_for_each(|_| (case.step)()).unwrap();
        let note = (case.note)().unwrap();
        (parameters.iter().map(|parameter| parameter.to_vec::<f32>().unwrap()).collect::<Vec<_>>(), note)
    };
    let ((replayed, note), (recorded, other)) = (run(true), run(false));
    assert_eq!(replayed, recorded);
    assert!(note.contains("loss 1.") && other.contains("loss 1."), "{note} {other}");
}

fn small_decoder(of: &Value, dtype: DType, d: &Device) -> (decoder::Sizes, Decoder) {
    let [layers, width, heads, groups, hidden, vocabulary, context] =
        ["layers", "width", "heads", "groups", "hidden", "vocabulary", "context"].map(|name| size(of, name));
    let sizes = decoder::Sizes { layers, width, heads, groups, hidden, vocabulary, context };
    let (mut number, mut bytes) = (0, 0);
    let weight = |shape: &[usize]| {
        number += 1;
        bytes += shape.iter().product::<usize>() * dtype.size();
        parameter(number - 1, shape, d).cast(dtype)
    };
    let made = Decoder::new(sizes, size(of, "batch"), dtype, d, weight).unwrap();
    assert_eq!(bytes as f64, sizes.weight_bytes(dtype));
    (sizes, made)
}

#[test]
fn a_decoders_scores_are_pytorchs() -> Result<()> {
    let (d, golden) = (device(), golden());
    let of = &golden["decoder"];
    let (batch, length) = (size(of, "batch"), size(of, "length"));
    for (dtype, near) in [(DType::F32, 1e-4), (DType::BF16, 0.03)] {
        let (sizes, decoder) = small_decoder(of, dtype, &d);
        let all: Vec<i64> = (0..batch * (length + 1)).map(|e| i64::from(word(DATA, e as u32) % sizes.vocabulary as u32)).collect();
        let tokens = |from: usize, n: usize| {
            let rows: Vec<i64> = all.chunks(length + 1).flat_map(|row| row[from..from + n].to_vec()).collect();
            Tensor::from_vec(rows, [batch, n], &d)
        };
        let near = |name: &str, scores: &Tensor| {
            let expected = numbers(of, name);
            let found = scores.cast(DType::F32).to_vec::<f32>().unwrap();
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                assert!((f64::from(*found) - expected).abs() < near, "{name} in {dtype}: {found} and not {expected}");
            }
            // Far more than the tolerance lies between the scores.
            let spread = expected.iter().fold(0.0f64, |far, score| far.max((score - expected[0]).abs()));
            assert!(spread > 5.0 * near, "{name}: {spread}");
        };
        let at = |position: usize| Tensor::scalar(position as f64, DType::I64, &d);
        near("prefill", &decoder.step(&tokens(0, length), &at(0))?);
        near("decode", &decoder.step(&tokens(length, 1), &at(length))?);
    }
    Ok(())
}

#[test]
fn a_decoders_steps_are_replayed() {
    let (d, golden) = (device(), golden());
    let of = &golden["decoder"];
    let (sizes, decoder) = small_decoder(of, DType::BF16, &d);
    let (position, batch) = (sizes.context / 2, size(of, "batch"));
    let mut case = decoder.steps(batch, position, 1, &d).unwrap();
    let note = |case: &crate::Case| (case.note)().unwrap();
    assert_eq!(note(&case), "replayed");
    let mut seen = Vec::new();
    for _ in 0..6 {
        (case.step)().unwrap();
        seen.push(note(&case));
    }
    // The same token at the same position: the same scores.
    assert!(seen.iter().all(|text| *text == seen[0] && text.contains("score") && !text.contains("NaN")), "{seen:?}");
    // And random weights do, on the device.
    let mut case = Decoder::random(sizes, batch, DType::BF16, &d).unwrap().steps(batch, 0, sizes.context, &d).unwrap();
    (0..3).try_for_each(|_| (case.step)()).unwrap();
    assert!(!note(&case).contains("NaN"), "{}", note(&case));
}

/// What a step of the smallest GPT-2 in bf16, 32 sequences of 1,024, keeps between its launches within limits, and how many of its operations are done again;
/// it is planned and not run.
///
/// `cargo test --release -p unigrad-bench --lib plans_of_gpt2 -- --ignored --nocapture`; with `UNIGRAD_DEBUG=plan` also whole steps, with their updates.
#[test]
#[ignore = "takes 2 GB"]
fn plans_of_gpt2_within_limits() {
    let device = device();
    let network = gpt2::network(&device, gpt2::SMALL, 32).unwrap().within(|loss| autocast(DType::BF16, loss));
    let loss = network.loss();
    let mut all = grad(&loss, &network.parameters.iter().collect::<Vec<_>>()).unwrap();
    all.push(loss);
    let nodes: Vec<_> = all.iter().map(Tensor::expr).collect();
    let mut free = None;
    for limit in [None, Some(13u64 << 30), Some(9 << 30), Some(5 << 30)] {
        let begin = std::time::Instant::now();
        let plan = eval::with_activation_limit(limit, || eval::plan_of(&nodes)).unwrap();
        let (seconds, flops) = (begin.elapsed().as_secs_f64(), plan.launches.iter().map(|launch| launch.kernel.flops()).sum::<f64>());
        let times = flops / *free.get_or_insert(flops);
        println!(
            "within {limit:?} bytes: {} in the arena, {} chunks, {} of {} launches again, {times:.3} times the operations, planned in {seconds:.2} s",
            plan.arena,
            plan.chunks,
            plan.again,
            plan.launches.len()
        );
        println!("{}", plan.peak);
    }
    drop((all, nodes));
    for limit in [None, Some(13u64 << 30), Some(9 << 30)] {
        let mut optimizer = nn::AdamW::new(network.parameters.clone(), 1e-4).unwrap();
        let refuse = |demand: &eval::Demand| Err(Error::argument(demand.intermediates.to_string(), "this is all that was asked"));
        let step = || optimizer.minimize(&network.loss(), &[]);
        let refused = eval::with_activation_limit(limit, || eval::with_demands_checked(refuse, step)).unwrap_err();
        println!("with updates, within {limit:?} bytes: {refused}");
    }
}
