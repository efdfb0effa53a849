//! Memory that a launch reads and writes, as its owner hands it over.
//!
//! In: bytes, or the address of bytes. Out: elements in them.
//! Always: an access lies within the bytes, and is atomic if it is aligned: threads of a program that races read an old or a new element,
//! and the process stays sound.

use std::{
    marker::PhantomData,
    sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed},
};

/// Bytes that the workgroups of a launch share.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a> {
    start: *mut u8,
    len: usize,
    owner: PhantomData<&'a mut [u8]>,
}

// SAFETY: all accesses are atomic.
unsafe impl Send for Bytes<'_> {}
// SAFETY: as above.
unsafe impl Sync for Bytes<'_> {}

impl<'a> From<&'a mut [u8]> for Bytes<'a> {
    fn from(bytes: &'a mut [u8]) -> Bytes<'a> {
        Bytes { start: bytes.as_mut_ptr(), len: bytes.len(), owner: PhantomData }
    }
}

impl Bytes<'_> {
    /// Bytes at an address.
    ///
    /// # Safety
    /// For as long as the result lives, `len` bytes from `start` can be read, and written if the program that gets them writes there; and
    /// nothing else writes them, or reads what the program writes, except through `Bytes`.
    pub unsafe fn at(start: *mut u8, len: usize) -> Self {
        Bytes { start, len, owner: PhantomData }
    }

    /// How many there are.
    pub(super) fn len(self) -> usize {
        self.len
    }

    #[inline(always)]
    fn place(self, at: usize, size: usize) -> *mut u8 {
        assert!(at <= self.len && size <= self.len - at, "{size} bytes at {at} of {}", self.len);
        self.start.wrapping_add(at)
    }

    /// The word of 1, 2, 4 or 8 bytes at a byte offset.
    #[inline(always)]
    pub(super) fn read(self, at: usize, size: usize) -> u64 {
        let place = self.place(at, size);
        if !place.addr().is_multiple_of(size) {
            return self.read_unaligned(at, size);
        }
        // SAFETY: the place has `size` bytes and is aligned to them; others access it through `Bytes` only, that is, atomically.
        unsafe {
            match size {
                1 => AtomicU8::from_ptr(place).load(Relaxed).into(),
                2 => AtomicU16::from_ptr(place.cast()).load(Relaxed).into(),
                4 => AtomicU32::from_ptr(place.cast()).load(Relaxed).into(),
                _ => AtomicU64::from_ptr(place.cast()).load(Relaxed),
            }
        }
    }

    /// Writes a word of 1, 2, 4 or 8 bytes at a byte offset.
    #[inline(always)]
    pub(super) fn write(self, at: usize, size: usize, word: u64) {
        let place = self.place(at, size);
        if !place.addr().is_multiple_of(size) {
            return self.write_unaligned(at, size, word);
        }
        // SAFETY: as in `read`.
        unsafe {
            match size {
                1 => AtomicU8::from_ptr(place).store(word as u8, Relaxed),
                2 => AtomicU16::from_ptr(place.cast()).store(word as u16, Relaxed),
                4 => AtomicU32::from_ptr(place.cast()).store(word as u32, Relaxed),
                _ => AtomicU64::from_ptr(place.cast()).store(word, Relaxed),
            }
        }
    }

    #[cold]
    fn read_unaligned(self, at: usize, size: usize) -> u64 {
        let mut raw = [0; 8];
        (0..size).for_each(|i| raw[i] = self.read(at + i, 1) as u8);
        match size {
            2 => u16::from_ne_bytes([raw[0], raw[1]]).into(),
            4 => u32::from_ne_bytes([raw[0], raw[1], raw[2], raw[3]]).into(),
            _ => u64::from_ne_bytes(raw),
        }
    }

    #[cold]
    fn write_unaligned(self, at: usize, size: usize, word: u64) {
        let (two, four, eight) = ((word as u16).to_ne_bytes(), (word as u32).to_ne_bytes(), word.to_ne_bytes());
        let raw: &[u8] = match size {
            2 => &two,
            4 => &four,
            _ => &eight,
        };
        raw.iter().enumerate().for_each(|(i, byte)| self.write(at + i, 1, (*byte).into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_every_size_at_every_offset() {
        let mut memory = [0u8; 24];
        let bytes = Bytes::from(&mut memory[..]);
        for size in [1, 2, 4, 8] {
            for at in 0..=24 - size {
                let word = 0x0123_4567_89ab_cdef >> (64 - 8 * size);
                bytes.write(at, size, word);
                assert_eq!(bytes.read(at, size), word, "{size} bytes at {at}");
                bytes.write(at, size, 0);
            }
        }
        assert_eq!(memory, [0; 24]);
    }

    #[test]
    #[should_panic(expected = "4 bytes at 21 of 24")]
    fn nothing_lies_outside() {
        Bytes::from(&mut [0u8; 24][..]).read(21, 4);
    }
}
