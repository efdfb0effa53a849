//! A device that is lost in the middle of training: the program opens it again, or goes on elsewhere, from the last good state, and ends with the weights of
//! a run that nothing happened to, bit for bit.

use unigrad::device::{
    self, Config,
    testing::{Failure, Faults, FaultyDriver, Operation},
};
use unigrad::nn::Checkpoint;
use unigrad::prelude::*;

const STEPS: u64 = 24;
/// Steps from one good state to the next.
const EVERY: u64 = 5;

struct Run {
    device: Device,
    layer: nn::Linear,
    optimizer: nn::AdamW,
}

impl Run {
    fn new(device: Device) -> Result<Run> {
        let layer = nn::Linear::new(6, 3, &device);
        let optimizer = nn::AdamW::new(layer.parameters(), 1e-2)?;
        Ok(Run { device, layer, optimizer })
    }

    /// With random numbers of the step's own: the state of their generator is part of the good state.
    fn step(&mut self) -> Result<()> {
        let x = Tensor::randn([8, 6], DType::F32, &self.device);
        let loss = self.layer.forward(&x).dropout(0.25).square().mean(());
        self.optimizer.minimize(&loss, &[])?;
        // Asynchronous errors are told here.
        Ok(self.device.synchronize()?)
    }

    fn weights(&self) -> Result<Vec<u32>> {
        let parameters = self.layer.parameters();
        let values: Result<Vec<Vec<f32>>> = parameters.iter().map(Tensor::to_vec::<f32>).collect();
        Ok(values?.into_iter().flatten().map(f32::to_bits).collect())
    }
}

/// Trains, and begins again at the last good state whenever the device is lost; how often that was, the weights, and where they are. `trouble` is made
/// once there is a state to go back to.
fn train(name: &str, trouble: impl FnOnce()) -> Result<(usize, Vec<u32>, &'static str)> {
    manual_seed(11);
    let mut run = Run::new(Device::open(name)?)?;
    // In the host's memory, so that it outlives the device.
    let mut good = Checkpoint::of(&run.layer, &run.optimizer)?;
    trouble();
    let mut losses = 0;
    loop {
        let result = (|| {
            while run.optimizer.n_steps() < STEPS {
                run.step()?;
                if run.optimizer.n_steps().is_multiple_of(EVERY) {
                    good = Checkpoint::of(&run.layer, &run.optimizer)?;
                }
            }
            run.weights()
        })();
        match result {
            Ok(weights) => return Ok((losses, weights, run.device.name())),
            Err(error) if error.is_device_lost() => {
                losses += 1;
                assert!(run.device.is_lost() && losses < 10);
                run = Run::new(Device::open(name)?)?;
                good.restore(&run.layer, &mut run.optimizer)?;
            }
            Err(error) => return Err(error),
        }
    }
}

/// One test, for the generator and the settings are the process's.
#[test]
fn training_goes_on_from_the_last_good_state() -> Result<()> {
    let faults = Faults::default();
    device::register(FaultyDriver::new("mortal", unigrad_cpu::CpuDriver, faults.clone()));
    let wanted = train("cpu", || {})?.1;
    assert_eq!(train("mortal", || {})?, (0, wanted.clone(), "mortal:0"));
    let mut lost = 0;
    for operation in
        [Operation::Launch, Operation::Download, Operation::Synchronize, Operation::Allocate, Operation::Compile, Operation::Upload]
    {
        for n in [0, 3, 17, 41] {
            unigrad::tensor::eval::clear_plans();
            let opened = Device::open("mortal")?;
            opened.clear_programs();
            opened.clear_cache();
            let (times, weights, name) = train("mortal", || faults.fail(operation, n, Failure::Lost))?;
            assert!(weights == wanted && name == "mortal:0", "{operation:?} {n}: after {times} losses");
            lost += times;
            faults.clear();
        }
    }
    assert!(lost >= 8, "devices were lost {lost} times only");

    // Where it cannot be opened again, the fallback that the program asked for takes over, and is remembered.
    Config { fallback: Some("cpu".to_owned()), ..(*Config::current()?).clone() }.apply();
    let seen = Device::fallbacks().len();
    let (times, weights, name) = train("mortal", || {
        faults.fail(Operation::Launch, 20, Failure::Lost);
        faults.fail(Operation::Open, 0, Failure::Refused);
    })?;
    assert_eq!((times, name), (1, "cpu:0"));
    assert!(weights == wanted);
    let fallbacks = Device::fallbacks();
    assert!(fallbacks.len() == seen + 1 && fallbacks[seen].asked == "mortal" && fallbacks[seen].cause.contains("a test made it fail"));
    Ok(())
}
