use unigrad::prelude::*;
fn main() -> Result<()> {
    for (q, d, e, causal) in [
        (16, 8, 16, false),
        (17, 8, 16, false),
        (20, 8, 16, false),
        (20, 8, 8, false),
        (20, 16, 16, false),
        (32, 8, 16, true),
        (33, 8, 16, false),
        (48, 8, 16, false),
        (64, 8, 16, false),
    ] {
        let mut all: Vec<Vec<f32>> = Vec::new();
        for name in ["cpu", "opencl:0"] {
            let dev = Device::open(name)?;
            let cpu = Device::open("cpu")?;
            manual_seed(1);
            let draw = |s: [usize; 4]| Tensor::uniform(s, -1., 1., DType::F32, &cpu).to(&dev).realize().unwrap().detach().requires_grad();
            let (a, b, c) = (draw([2, 2, q, d]), draw([2, 2, q, d]), draw([2, 2, q, e]));
            let out = a.attention(&b, &c, &AttentionOptions { causal, ..Default::default() });
            let g = grad(&out.square().sum(()), &[&a, &b, &c])?;
            let mut v = out.to_vec::<f32>()?;
            for x in &g {
                v.extend(x.to_vec::<f32>()?);
            }
            all.push(v);
        }
        let worst = all[0].iter().zip(&all[1]).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max);
        println!("q {q} d {d} e {e} causal {causal}: worst {worst:e}");
    }
    Ok(())
}
