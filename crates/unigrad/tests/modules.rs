//! Parameter trees: paths are PyTorch's, loading checks everything before it changes anything, modes reach every layer.

use std::sync::{Mutex, MutexGuard, PoisonError};
use unigrad::{
    nn::{Archive, BatchNorm, Conv2d, Dropout, Embedding, Gru, HostTensor, Linear, Lstm, MultiHeadAttention, Relu, Sequential},
    prelude::*,
};

/// Tests share the process's generator and counters, so they run one at a time.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn device() -> Device {
    Device::open("cpu").unwrap()
}

#[derive(Module)]
struct Block {
    attn: MultiHeadAttention,
    norm: BatchNorm,
    #[module(name = "mlp.fc")]
    feed: Option<Linear>,
    nothing: Option<Linear>,
    rate: f64,
    sizes: Vec<usize>,
}

#[derive(Module)]
struct Net {
    emb: Embedding,
    layers: Vec<Block>,
    head: Sequential,
    rnn: Lstm,
    #[module(buffer)]
    positions: Tensor,
    #[module(skip)]
    options: ConvOptions,
    dropout: Dropout,
}

fn net(seed: u64) -> Net {
    let d = device();
    manual_seed(seed);
    let block = || Block {
        attn: MultiHeadAttention::new(8, 2, &d),
        norm: BatchNorm::new(8, &d),
        feed: Some(Linear::no_bias(8, 8, &d)),
        nothing: None,
        rate: 0.5,
        sizes: vec![1],
    };
    Net {
        emb: Embedding::new(5, 8, &d),
        layers: vec![block(), block()],
        head: Sequential::new().add(Linear::new(8, 4, &d)).add(Relu).add(Linear::new(4, 2, &d)),
        rnn: Lstm::stacked(8, 4, 1, true, &d),
        positions: Tensor::from_vec(vec![0i64, 1, 2], 3, &d),
        options: ConvOptions::default(),
        dropout: Dropout::new(0.5),
    }
}

#[test]
fn paths_are_those_of_pytorch() {
    let _alone = alone();
    let net = net(0);
    let names: Vec<String> = net.state_dict().into_iter().map(|(name, _)| name).collect();
    let block = |i: usize| {
        [
            "attn.in_proj_weight",
            "attn.in_proj_bias",
            "attn.out_proj.weight",
            "attn.out_proj.bias",
            "norm.weight",
            "norm.bias",
            "norm.running_mean",
            "norm.running_var",
            "norm.num_batches_tracked",
            "mlp.fc.weight",
        ]
        .map(|name| format!("layers.{i}.{name}"))
    };
    let mut expected = vec!["emb.weight".to_owned()];
    expected.extend(block(0));
    expected.extend(block(1));
    expected.extend(["head.0.weight", "head.0.bias", "head.2.weight", "head.2.bias"].map(str::to_owned));
    for suffix in ["_l0", "_l0_reverse"] {
        expected.extend(["weight_ih", "weight_hh", "bias_ih", "bias_hh"].map(|name| format!("rnn.{name}{suffix}")));
    }
    expected.push("positions".to_owned());
    assert_eq!(names, expected);
    assert_eq!(net.named_buffers().len(), 7);
    assert_eq!(net.parameters().len() + 7, names.len());
    assert_eq!((net.layers[0].rate, net.layers[0].sizes.len(), net.options.groups), (0.5, 1, 1));
    assert!(net.layers[0].nothing.is_none());
}

#[test]
fn initial_values_are_within_their_bounds() {
    let _alone = alone();
    let d = device();
    manual_seed(3);
    let linear = Linear::new(64, 100, &d);
    let values = linear.weight.to_vec::<f32>().unwrap();
    assert!(values.iter().all(|v| v.abs() <= 0.125));
    let mean = values.iter().map(|v| v.abs()).sum::<f32>() / values.len() as f32;
    assert!((mean - 0.0625).abs() < 0.005, "{mean}");
    assert_ne!(values, Linear::new(64, 100, &d).weight.to_vec::<f32>().unwrap());
    let conv = Conv2d::new(4, 6, 3, ConvOptions::new(1, 1), &d);
    assert_eq!(conv.weight.shape(), [6, 4, 3, 3]);
    assert!(conv.weight.to_vec::<f32>().unwrap().iter().all(|v| v.abs() <= 1.0 / 6.0));
}

#[test]
fn a_file_goes_there_and_back() {
    let _alone = alone();
    let path = std::env::temp_dir().join(format!("unigrad-net-{}.safetensors", std::process::id()));
    let (a, b) = (net(1), net(2));
    a.save(&path).unwrap();
    assert_ne!(a.to_archive().unwrap(), b.to_archive().unwrap());
    b.load(&path).unwrap();
    assert_eq!(a.to_archive().unwrap(), b.to_archive().unwrap());
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_checkpoint_of_another_model_is_refused_by_name_and_changes_nothing() {
    let _alone = alone();
    let a = net(1);
    let before = a.to_archive().unwrap();
    let mut other = before.clone();
    other.tensors.remove("emb.weight");
    let moved = other.tensors.remove("head.0.bias").unwrap();
    other.tensors.insert("head.9.bias".to_owned(), moved.clone());
    other.tensors.insert("head.2.weight".to_owned(), moved);
    other.tensors.values_mut().filter(|t| t.dtype == DType::F32).for_each(|t| t.bytes.fill(0));
    let error = a.load_state_dict(&other.tensors).unwrap_err().to_string();
    assert!(error.contains("missing: emb.weight, head.0.bias"), "{error}");
    assert!(error.contains("unexpected: head.9.bias"), "{error}");
    assert!(error.contains("head.2.weight (model [2, 4], file [4])"), "{error}");
    assert_eq!(a.to_archive().unwrap(), before);
}

#[test]
fn modes_reach_every_layer() {
    let _alone = alone();
    let mut net = net(4);
    let x = Tensor::ones([2, 8], DType::F32, &device());
    assert!(net.dropout.forward(&x).to_vec::<f32>().unwrap().contains(&0.0));
    net.eval();
    assert_eq!(net.dropout.forward(&x).to_vec::<f32>().unwrap(), [1.0; 16]);
    let before = net.layers[0].norm.running_mean.as_ref().unwrap().to_vec::<f32>().unwrap();
    net.layers[0].norm.forward(&x).realize().unwrap();
    assert_eq!(net.layers[0].norm.running_mean.as_ref().unwrap().to_vec::<f32>().unwrap(), before);
    net.train(true);
    net.layers[0].norm.forward(&x).realize().unwrap();
    assert_eq!(net.layers[0].norm.running_mean.as_ref().unwrap().to_vec::<f32>().unwrap(), [0.1; 8]);
    assert_eq!(net.layers[0].norm.num_batches_tracked.as_ref().unwrap().item::<i64>().unwrap(), 1);
    // Biased variance of a constant is 0, so the running one goes from 1 to 0.9.
    assert_eq!(net.layers[0].norm.running_var.as_ref().unwrap().to_vec::<f32>().unwrap(), [0.9; 8]);
}

#[test]
fn recurrent_layers_follow_their_definition() {
    let _alone = alone();
    let d = device();
    manual_seed(5);
    let (n, t, i, h) = (2, 3, 4, 5);
    let x = Tensor::randn([n, t, i], DType::F32, &d).realize().unwrap();
    let xs = x.to_vec::<f32>().unwrap();
    let sigmoid = |v: f64| 1.0 / (1.0 + (-v).exp());
    let product = |w: &[f32], v: &[f64], row: usize| (0..v.len()).map(|k| f64::from(w[row * v.len() + k]) * v[k]).sum::<f64>();

    let lstm = Lstm::new(i, h, &d);
    let p: Vec<Vec<f32>> = lstm.parameters().iter().map(|p| p.to_vec::<f32>().unwrap()).collect();
    let (y, (last_h, last_c)) = lstm.run(&x, None);
    let (y, last_h, last_c) = (y.to_vec::<f32>().unwrap(), last_h.to_vec::<f32>().unwrap(), last_c.to_vec::<f32>().unwrap());
    for b in 0..n {
        let (mut hidden, mut cell) = (vec![0.0; h], vec![0.0; h]);
        for s in 0..t {
            let input: Vec<f64> = (0..i).map(|k| f64::from(xs[(b * t + s) * i + k])).collect();
            let gate = |g: usize, u: usize| {
                let row = g * h + u;
                product(&p[0], &input, row) + product(&p[1], &hidden, row) + f64::from(p[2][row]) + f64::from(p[3][row])
            };
            let new_cell: Vec<f64> = (0..h).map(|u| sigmoid(gate(1, u)) * cell[u] + sigmoid(gate(0, u)) * gate(2, u).tanh()).collect();
            let new_hidden: Vec<f64> = (0..h).map(|u| sigmoid(gate(3, u)) * new_cell[u].tanh()).collect();
            (hidden, cell) = (new_hidden, new_cell);
            for u in 0..h {
                assert!((f64::from(y[(b * t + s) * h + u]) - hidden[u]).abs() < 1e-5);
            }
        }
        assert!((0..h).all(|u| (f64::from(last_h[b * h + u]) - hidden[u]).abs() < 1e-5));
        assert!((0..h).all(|u| (f64::from(last_c[b * h + u]) - cell[u]).abs() < 1e-5));
    }

    let gru = Gru::new(i, h, &d);
    let p: Vec<Vec<f32>> = gru.parameters().iter().map(|p| p.to_vec::<f32>().unwrap()).collect();
    let y = gru.forward(&x).to_vec::<f32>().unwrap();
    for b in 0..n {
        let mut hidden = vec![0.0; h];
        for s in 0..t {
            let input: Vec<f64> = (0..i).map(|k| f64::from(xs[(b * t + s) * i + k])).collect();
            let from_x = |g: usize, u: usize| product(&p[0], &input, g * h + u) + f64::from(p[2][g * h + u]);
            let from_h = |g: usize, u: usize| product(&p[1], &hidden, g * h + u) + f64::from(p[3][g * h + u]);
            let new: Vec<f64> = (0..h)
                .map(|u| {
                    let (r, z) = (sigmoid(from_x(0, u) + from_h(0, u)), sigmoid(from_x(1, u) + from_h(1, u)));
                    let n = (from_x(2, u) + r * from_h(2, u)).tanh();
                    (1.0 - z) * n + z * hidden[u]
                })
                .collect();
            hidden = new;
            assert!((0..h).all(|u| (f64::from(y[(b * t + s) * h + u]) - hidden[u]).abs() < 1e-5));
        }
    }
    let both = Lstm::stacked(i, h, 2, true, &d);
    assert_eq!(both.forward(&x).dims().unwrap(), [n, t, 2 * h]);
    assert_eq!(both.run(&x, None).1.0.dims().unwrap(), [4, n, h]);
}

/// No elements, and an axis that no loop comes to the end of: whatever a file of it is made into is refused at once.
#[test]
fn an_endless_axis_beside_an_empty_one_is_no_loop() {
    let device = Device::open("cpu").unwrap();
    let header = r#"{"x":{"dtype":"F32","shape":[0,9223372036854775808],"data_offsets":[0,0]}}"#;
    let file = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat();
    let begin = std::time::Instant::now();
    match Archive::from_bytes(&file, "some.safetensors") {
        Err(error) => assert!(error.to_string().contains("help: "), "{error}"),
        Ok(archive) => {
            let HostTensor { dtype, shape, bytes } = &archive.tensors["x"];
            let x = Tensor::from_bytes(bytes, shape.as_slice(), *dtype, &device);
            for y in [&x + 1.0, x.sum(()), x.softmax(-1), x.t(), x.reshape([-1]), x.argmax(0)] {
                assert!(y.to_bytes().is_err());
            }
        }
    }
    assert!(begin.elapsed() < std::time::Duration::from_secs(10));
}
