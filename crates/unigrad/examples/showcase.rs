//! What a device does: rates of scalar operations, a small network, matrix products, elementwise and row kernels, an optimizer of one's own choice; with the
//! processor beside it, power where it is told, and where the time of one training step goes.
//!
//! `cargo run --release --example showcase [SECONDS FOR EACH]`

use unigrad::bench::{Benchmark, BenchmarkConfig};
use unigrad::device::profile::{Profiler, Sections, scope};
use unigrad::prelude::*;

fn main() -> Result<()> {
    let quick = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let device = Device::best()?;
    let processor = Device::open("cpu")?;
    let devices = if device == processor { vec![device] } else { vec![device, processor] };

    let config = BenchmarkConfig { seconds: quick.unwrap_or(1.0), ..BenchmarkConfig::default() };
    let benchmark = Benchmark::new().with_config(config).with_optimizer("sgd_4M_in_8", |parameters| nn::Sgd::new(parameters, 0.1));
    let beside = benchmark.run_beside(&devices)?;
    for results in &beside.results {
        println!("{results}");
    }
    println!("{beside}");

    // Sections of the program by the host's clock, and single kernels by the device's.
    let layers = [nn::Linear::new(256, 512, &device), nn::Linear::new(512, 10, &device)];
    let mut optimizer = nn::AdamW::new(layers.iter().flat_map(Module::parameters).collect(), 1e-3)?;
    let mut sections = Sections::default();
    let profiler = Profiler::start()?;
    for _ in 0..5 {
        sections.start("data");
        let x = Tensor::rand([64, 256], DType::F32, &device).realize()?;
        let y = Tensor::randint(0, 10, [64], DType::I64, &device).realize()?;
        sections.end_on("data", device)?;
        sections.start("step");
        let _scope = scope("step");
        let loss = layers[1].forward(&layers[0].forward(&x).relu()).cross_entropy(&y);
        optimizer.minimize(&loss, &[])?;
        sections.end_on("step", device)?;
    }
    println!("{sections}");
    println!("{}", profiler.stop()?.summary());
    Ok(())
}
