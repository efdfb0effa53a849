//! Event files that TensorBoard shows.
//!
//! A record is its length (8 bytes), that length's masked CRC-32C, the data, the data's masked CRC-32C (TensorFlow's `record_writer.h`); the data is a protobuf
//! message `Event` (TensorFlow's `event.proto`) with a wall time, a step, and scalars by tag.
//!
//! Always: a file is written anew when the run begins or continues, and then appended to: what a run that was killed wrote after its last checkpoint is
//! gone, and written again as the steps are taken again.

use crate::callback::{Callback, Context};
use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};
use unigrad_nn::{Error, Result, files};

/// Writes the losses of steps and the figures of epochs to an event file in the run's folder.
#[derive(Debug, Default)]
pub struct TensorBoard {
    file: Option<(File, PathBuf)>,
    n_steps: usize,
    n_epochs: usize,
}

/// As TensorBoard looks for it, by its beginning.
const NAME: &str = "events.out.tfevents.0.unigrad";

impl TensorBoard {
    /// Into the run's folder.
    pub fn new() -> TensorBoard {
        TensorBoard::default()
    }

    /// What of the history is not in the file yet.
    fn news(&mut self, run: &Context<'_>) -> Vec<u8> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
        let mut records = Vec::new();
        for (at, loss) in run.history.step_losses.iter().enumerate().skip(self.n_steps) {
            records.extend(record(&event(now, at as u64 + 1, &[("loss/step".to_owned(), *loss)])));
        }
        self.n_steps = run.history.step_losses.len();
        for row in run.history.rows().into_iter().skip(self.n_epochs) {
            let train = row.train.iter().map(|(name, value)| (format!("{name}/train"), *value as f32));
            let val = row.val.iter().map(|(name, value)| (format!("{name}/val"), *value as f32));
            let scalars: Vec<(String, f32)> = train.chain(val).chain([("lr".to_owned(), row.lr as f32)]).collect();
            records.extend(record(&event(now, row.step, &scalars)));
            self.n_epochs = row.epoch;
        }
        records
    }
}

impl Callback for TensorBoard {
    fn on_run_begin(&mut self, run: &mut Context<'_>) -> Result<()> {
        if run.folder.is_none() {
            return Err(Error::argument("event files have no folder", "name the run's folder with `folder`"));
        }
        (self.file, self.n_steps, self.n_epochs) = (None, 0, 0);
        Ok(())
    }

    fn on_epoch_end(&mut self, run: &mut Context<'_>) -> Result<()> {
        let Some(folder) = run.folder else { return Ok(()) };
        let path = folder.join(NAME);
        let news = self.news(run);
        if self.file.is_none() {
            let mut version = vec![9]; // field 1, the wall time: 8 bytes
            version.extend(0f64.to_le_bytes());
            bytes_field(&mut version, 3, b"brain.Event:2");
            files::replace(&path, |file| file.write_all(&record(&version)))?;
            let file = OpenOptions::new().append(true).open(&path).map_err(|error| Error::write(&path, error))?;
            self.file = Some((file, path));
        }
        match &mut self.file {
            Some((file, path)) => file.write_all(&news).map_err(|error| Error::write(path, error)),
            None => Ok(()),
        }
    }
}

/// A number of protobuf: seven bits a byte, the least first.
fn varint(out: &mut Vec<u8>, mut x: u64) {
    while x >= 0x80 {
        out.push(x as u8 | 0x80);
        x >>= 7;
    }
    out.push(x as u8);
}

fn bytes_field(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    varint(out, field << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend(bytes);
}

fn event(wall_time: f64, step: u64, scalars: &[(String, f32)]) -> Vec<u8> {
    let mut summary = Vec::new();
    for (tag, value) in scalars {
        let mut one = Vec::new();
        bytes_field(&mut one, 1, tag.as_bytes());
        one.push(2 << 3 | 5);
        one.extend(value.to_le_bytes());
        bytes_field(&mut summary, 1, &one);
    }
    let mut event = vec![1 << 3 | 1];
    event.extend(wall_time.to_le_bytes());
    event.push(2 << 3);
    varint(&mut event, step);
    bytes_field(&mut event, 5, &summary);
    event
}

fn record(data: &[u8]) -> Vec<u8> {
    let len = (data.len() as u64).to_le_bytes();
    let mut record = len.to_vec();
    record.extend(masked_crc(&len).to_le_bytes());
    record.extend(data);
    record.extend(masked_crc(data).to_le_bytes());
    record
}

/// CRC-32C (Castagnoli), turned and shifted as record files want it, so that a checksum of checksums is no constant.
fn masked_crc(data: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0x82F6_3B78 } else { crc >> 1 };
    let crc = !data.iter().fold(!0u32, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step));
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// A scalar of an event file: step, tag, value.
pub type Scalar = (u64, String, f32);

/// The scalars of an event file. An error names the byte where it is not what it should be.
pub fn read_scalars(path: &Path) -> Result<Vec<Scalar>> {
    const MAX_BYTES: u64 = 1 << 30;
    let bytes = files::read_at_most(path, MAX_BYTES)?;
    let mut scalars = Vec::new();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let at = bytes.len() - rest.len();
        let data = take_record(&mut rest).ok_or_else(|| wrong(path, at, "no whole record with its checksums"))?;
        read_event(data, &mut scalars).ok_or_else(|| wrong(path, at, "no event"))?;
    }
    Ok(scalars)
}

fn wrong(path: &Path, at: usize, what: &str) -> Error {
    Error::format(path, format!("at byte {at} there is {what}"), "use a whole event file")
}

fn take<'a>(rest: &mut &'a [u8], n: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(n)?;
    *rest = left;
    Some(taken)
}

fn take_u32(rest: &mut &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(take(rest, 4)?.try_into().ok()?))
}

fn take_record<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = take(rest, 8)?;
    if take_u32(rest)? != masked_crc(len) {
        return None;
    }
    let data = take(rest, usize::try_from(u64::from_le_bytes(len.try_into().ok()?)).ok()?)?;
    (take_u32(rest)? == masked_crc(data)).then_some(data)
}

fn take_varint(rest: &mut &[u8]) -> Option<u64> {
    let mut x = 0;
    for shift in (0..64).step_by(7) {
        let byte = *take(rest, 1)?.first()?;
        x |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(x);
        }
    }
    None
}

/// A field: its number, and its bytes or its number's bytes.
fn take_field<'a>(rest: &mut &'a [u8]) -> Option<(u64, &'a [u8], u64)> {
    let key = take_varint(rest)?;
    let (bytes, number): (&[u8], u64) = match key & 7 {
        0 => (&[], take_varint(rest)?),
        1 => (take(rest, 8)?, 0),
        2 => {
            let len = usize::try_from(take_varint(rest)?).ok()?;
            (take(rest, len)?, 0)
        }
        5 => (take(rest, 4)?, 0),
        _ => return None,
    };
    Some((key >> 3, bytes, number))
}

fn read_event(mut data: &[u8], scalars: &mut Vec<Scalar>) -> Option<()> {
    let (mut step, mut summary): (u64, &[u8]) = (0, &[]);
    while !data.is_empty() {
        match take_field(&mut data)? {
            (2, _, number) => step = number,
            (5, bytes, _) => summary = bytes,
            _ => {}
        }
    }
    while !summary.is_empty() {
        let (1, mut value, _) = take_field(&mut summary)? else { continue };
        let (mut tag, mut scalar) = (String::new(), None);
        while !value.is_empty() {
            match take_field(&mut value)? {
                (1, bytes, _) => tag = String::from_utf8(bytes.to_vec()).ok()?,
                (2, bytes, _) => scalar = Some(f32::from_le_bytes(bytes.try_into().ok()?)),
                _ => {}
            }
        }
        if let Some(scalar) = scalar {
            scalars.push((step, tag, scalar));
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_have_their_published_values() {
        // RFC 3720, B.4: 32 bytes of zeros, of ones, and counting up.
        let unmasked = |data: &[u8]| masked_crc(data).wrapping_sub(0xa282_ead8).rotate_left(15);
        assert_eq!(unmasked(&[0; 32]), 0x8A91_36AA);
        assert_eq!(unmasked(&[0xff; 32]), 0x62A8_AB43);
        assert_eq!(unmasked(&(0..32).collect::<Vec<u8>>()), 0x46DD_794E);
        assert_eq!(unmasked(b"123456789"), 0xE306_9283);
    }

    #[test]
    fn what_is_written_is_read() {
        let path = std::env::temp_dir().join(format!("unigrad-events-{}", std::process::id()));
        let scalars = [("loss".to_owned(), 0.5f32), ("a/b".to_owned(), f32::NEG_INFINITY)];
        let steps = [0, 1, 127, 128, 1 << 40];
        let bytes: Vec<u8> = steps.iter().flat_map(|step| record(&event(1e9, *step, &scalars))).collect();
        std::fs::write(&path, &bytes).unwrap();
        let wanted: Vec<Scalar> = steps.iter().flat_map(|step| scalars.iter().map(|(tag, value)| (*step, tag.clone(), *value))).collect();
        assert_eq!(read_scalars(&path).unwrap(), wanted);
        // A byte that changed, wherever it is, and a file that was cut.
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1 << (at % 8);
            std::fs::write(&path, &other).unwrap();
            assert!(read_scalars(&path).unwrap_err().to_string().contains("at byte"), "byte {at}");
        }
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(read_scalars(&path).is_err());
        std::fs::remove_file(path).unwrap();
    }
}
