//! Buffers: reference-counted device memory.
//!
//! In: a device and a size. Out: a handle whose last drop returns the memory to the device's pool.
//! Always: ranges are checked before a driver sees them. Zero bytes are a buffer like any other, without memory.
//! Memory of another library has an owner, which goes when the last handle and the device's work with it are gone; it is never written.
//! Never: knows what the bytes mean.

use crate::{Background, Device, Error, RawBuffer, Slice, exchange::Owner, in_background};
use std::{fmt, sync::Arc};

/// Device memory, shared by its clones and given back when the last one goes.
#[derive(Clone)]
pub struct Buffer(Arc<Owned>);

struct Owned {
    device: Device,
    /// `None` only while it is dropped.
    raw: Option<RawBuffer>,
    bytes: usize,
    tag: &'static str,
    /// The owner of the memory, where it is not from the device's pool.
    owner: Option<Owner>,
}

/// What a zero-byte buffer points to.
static EMPTY: RawBuffer = RawBuffer { handle: 0, bytes: 0 };

impl Drop for Owned {
    fn drop(&mut self) {
        let raw = self.raw.take();
        match (raw, self.owner.take()) {
            (Some(raw), None) => self.device.release(raw, self.tag),
            (Some(raw), Some(owner)) => self.device.return_to(&raw, owner),
            (None, _) => {}
        }
    }
}

impl Buffer {
    pub(crate) fn new(device: Device, raw: Option<RawBuffer>, bytes: usize, tag: &'static str) -> Buffer {
        Buffer(Arc::new(Owned { device, raw, bytes, tag, owner: None }))
    }

    pub(crate) fn adopted(device: Device, raw: Option<RawBuffer>, bytes: usize, owner: Owner) -> Buffer {
        Buffer(Arc::new(Owned { device, raw, bytes, tag: "adopted", owner: Some(owner) }))
    }

    /// Whether the memory is another library's ([`Device::adopt`]).
    pub fn is_adopted(&self) -> bool {
        self.0.owner.is_some()
    }

    /// Where it is.
    pub fn device(&self) -> Device {
        self.0.device
    }

    /// Bytes, as asked for.
    pub fn len(&self) -> usize {
        self.0.bytes
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.0.bytes == 0
    }

    /// What its memory is accounted to; see [`crate::with_tag`].
    pub fn tag(&self) -> &'static str {
        self.0.tag
    }

    /// Whether two handles share one memory.
    pub fn same(&self, other: &Buffer) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether this is the only handle, so that nothing else can see the memory change; never where it is another library's.
    pub fn is_unique(&self) -> bool {
        Arc::strong_count(&self.0) == 1 && !self.is_adopted()
    }

    /// An integer that identifies the memory among the process's buffers alive (0 for buffers of zero bytes).
    pub fn address(&self) -> u64 {
        self.raw().handle
    }

    fn raw(&self) -> &RawBuffer {
        self.0.raw.as_ref().unwrap_or(&EMPTY)
    }

    /// All of it, as a launch argument.
    pub fn as_slice(&self) -> Slice<'_> {
        Slice { buffer: self.raw(), offset: 0, len: self.0.bytes }
    }

    /// `len` bytes from `offset`, a multiple of 64, as a launch argument.
    pub fn slice(&self, offset: usize, len: usize) -> Result<Slice<'_>, Error> {
        self.check(offset, len)?;
        if !offset.is_multiple_of(64) {
            return Err(self.refuse(format!("offset {offset} is not a multiple of 64")));
        }
        Ok(Slice { buffer: self.raw(), offset, len })
    }

    fn check(&self, offset: usize, len: usize) -> Result<(), Error> {
        if offset.checked_add(len).is_none_or(|end| end > self.0.bytes) {
            return Err(self.refuse(format!("{len} bytes at {offset} do not fit into a buffer of {} bytes", self.0.bytes)));
        }
        Ok(())
    }

    fn refuse(&self, cause: String) -> Error {
        Error::Copy { device: self.0.device.to_string(), cause }
    }

    fn writable(&self) -> Result<(), Error> {
        if self.is_adopted() { Err(self.refuse("the memory is another library's, which is only read".to_owned())) } else { Ok(()) }
    }

    /// Host to device, from `offset`, a multiple of 64.
    pub fn upload(&self, offset: usize, data: &[u8]) -> Result<(), Error> {
        self.writable()?;
        let to = self.slice(offset, data.len())?;
        self.0.device.upload(data, to)
    }

    /// Device to host, from `offset`, a multiple of 64; waits for the work that makes the data.
    pub fn download(&self, offset: usize, data: &mut [u8]) -> Result<(), Error> {
        let from = self.slice(offset, data.len())?;
        self.0.device.download(from, data)
    }

    /// All bytes, on the host.
    pub fn to_vec(&self) -> Result<Vec<u8>, Error> {
        let mut data = Vec::new();
        data.try_reserve_exact(self.len()).map_err(|_| self.refuse(format!("{} bytes do not fit into host memory", self.len())))?;
        data.resize(self.len(), 0);
        self.download(0, &mut data)?;
        Ok(data)
    }

    /// As [`Buffer::to_vec`], without blocking. In a browser its devices can be read in no other way.
    pub fn to_vec_async(&self) -> Background<Result<Vec<u8>, Error>> {
        if cfg!(target_family = "wasm")
            && !self.is_empty()
            && let Some(reading) = self.device().download_async(self.as_slice())
        {
            return Background::of(reading);
        }
        let buffer = self.clone();
        in_background(move || buffer.to_vec())
    }

    /// Copies `len` bytes from `from_offset` of `from` to `offset` here; both are multiples of 64 and the ranges do not overlap.
    /// Between devices the copy goes directly where their backend has a way, else through the host.
    pub fn copy_from(&self, offset: usize, from: &Buffer, from_offset: usize, len: usize) -> Result<(), Error> {
        self.writable()?;
        let (source, target) = (from.slice(from_offset, len)?, self.slice(offset, len)?);
        if self.device() == from.device() {
            if self.same(from) && len > 0 && offset < from_offset + len && from_offset < offset + len {
                return Err(self.refuse(format!("{len} bytes at {from_offset} and at {offset} of one buffer overlap")));
            }
            return self.0.device.copy(source, target);
        }
        if self.device().backend() == from.device().backend() && self.device().copy_from_peer(from.device(), source, target)? {
            return Ok(());
        }
        let mut data = Vec::new();
        data.try_reserve_exact(len).map_err(|_| self.refuse(format!("{len} bytes do not fit into host memory")))?;
        data.resize(len, 0);
        from.0.device.download(source, &mut data)?;
        self.0.device.upload(&data, target)
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({}, {} bytes, {})", self.0.device, self.0.bytes, self.0.tag)
    }
}
