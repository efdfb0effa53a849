//! A compiler that refuses matrix instructions gets the kernel without them; one that refuses everything is believed.

use super::GpuDevice;
use crate::{Backend, Bound, Range};
use unigrad_device::{Error, Info, OpenDevice};
use unigrad_ir::{FragmentShape, Program, Target};
use unigrad_kernel::{Arg, Contract, KDim, Kernel, MDim, NDim};
use unigrad_scalar::DType;

struct Picky {
    target: Target,
    takes_nothing: bool,
}

impl Picky {
    fn device(takes_nothing: bool) -> GpuDevice<Picky> {
        let fragments = vec![FragmentShape { m: 16, n: 16, k: 16, input: DType::F16, sum: DType::F32 }];
        GpuDevice::new(Picky { target: Target { fragments, ..Target::interpreter() }, takes_nothing })
    }
}

impl Backend for Picky {
    /// Whether it has matrix instructions.
    type Module = bool;
    type Mark = ();

    fn info(&self) -> Info {
        Info { backend: "picky", ..Info::default() }
    }
    fn target(&self) -> &Target {
        &self.target
    }
    fn allocate(&self, _: usize) -> Result<u64, Error> {
        Ok(1)
    }
    fn free(&self, _: u64) {}
    fn upload(&self, _: &[u8], _: Range) -> Result<(), Error> {
        Ok(())
    }
    fn download(&self, _: Range, _: &mut [u8]) -> Result<(), Error> {
        Ok(())
    }
    fn copy(&self, _: Range, _: Range) -> Result<(), Error> {
        Ok(())
    }
    fn load(&self, program: &Program) -> Result<bool, Error> {
        if self.takes_nothing || !program.is_plain() {
            return Err(Error::Compile { device: "picky:0".to_owned(), kernel: program.name.clone(), cause: "no".to_owned() });
        }
        Ok(false)
    }
    fn launch(&self, _: &bool, _: [u32; 3], _: &[Bound]) -> Result<(), Error> {
        Ok(())
    }
    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }
}

fn product() -> Kernel {
    let arg = |write| Arg { dtype: DType::F16, len: 64 * 64, write };
    Kernel::Contract(Contract {
        batch: [].into_iter().collect(),
        m: [MDim { size: 64, a: 64, c: 64 }].into_iter().collect(),
        n: [NDim { size: 64, b: 1, c: 1 }].into_iter().collect(),
        k: [KDim { size: 64, a: 1, b: 64 }].into_iter().collect(),
        a_offset: 0,
        b_offset: 0,
        a: arg(false),
        b: arg(false),
        c: arg(true),
        epilogue: None,
    })
}

#[test]
fn what_does_not_compile_with_matrices_is_compiled_without() {
    let device = Picky::device(false);
    let lowered = crate::lower(&product(), device.backend().target()).unwrap();
    assert!(!lowered.steps[0].program.is_plain(), "the case has no matrices to refuse");
    assert!(device.compile(&product()).is_ok());
    let Err(Error::Compile { cause, .. }) = Picky::device(true).compile(&product()) else { panic!("accepted") };
    assert_eq!(cause, "no");
}
