//! Arguments that share memory, for systems that refuse a launch whose bindings overlap: browsers do.
//!
//! Always: what overlaps is copied aside before the launch, and back where the kernel writes it; what a kernel only reads is moved first.
//! Bindings are wider than their arguments, so neighbours in one buffer overlap too. Never: needed where the system takes a launch as it is.

use crate::{Module, WgpuBackend, memory::Binding};
use unigrad_device::Error;
use unigrad_gpu::{Backend, Bound, Range};

/// Whether two bindings have a byte in common. Those that stand for nothing are told apart where they are bound.
pub(crate) fn overlap(a: &Binding, b: &Binding) -> bool {
    a.handle != 0 && a.handle == b.handle && a.offset < b.offset + b.size && b.offset < a.offset + a.size
}

/// An argument that was moved aside.
struct Aside {
    param: usize,
    from: Range,
    to: Range,
}

impl WgpuBackend {
    /// Launches with every argument that overlaps another one moved aside.
    pub(crate) fn launch_apart(&self, module: &Module, grid: [u32; 3], args: &[Bound]) -> Result<(), Error> {
        let mut aside = Vec::new();
        let launched = self.move_aside(module, args, &mut aside).and_then(|()| {
            let mut args = args.to_vec();
            for Aside { param, to, .. } in &aside {
                args[*param] = Bound::Buffer(*to);
            }
            self.launch_bound(module, grid, &args)?;
            aside.iter().filter(|moved| module.writes[moved.param]).try_for_each(|moved| self.copy_within(moved.to, moved.from))
        });
        aside.iter().for_each(|moved| self.free(moved.to.handle));
        launched
    }

    fn move_aside(&self, module: &Module, args: &[Bound], aside: &mut Vec<Aside>) -> Result<(), Error> {
        let (mut written, read): (Vec<usize>, Vec<usize>) =
            module.bindings.buffers.iter().map(|(param, _)| *param).partition(|param| module.writes[*param]);
        written.extend(read);
        let mut taken: Vec<Binding> = Vec::with_capacity(written.len());
        for param in written {
            let Some(&Bound::Buffer(from)) = args.get(param) else { continue };
            let (binding, _) = self.binding(module, &self.queued().memory, from)?;
            if !taken.iter().any(|other| overlap(other, &binding)) {
                taken.push(binding);
                continue;
            }
            let to = Range { handle: self.allocate(from.len)?, offset: 0, len: from.len };
            aside.push(Aside { param, from, to });
            self.copy_within(from, to)?;
        }
        Ok(())
    }
}
