//! Heights and widths, as the headers of image files give them: to be checked before a decoder takes memory for them.
//!
//! In: a file's bytes. Out: height and width, or `None` where the header ends too early. A decoder that finds other sizes has another file: the
//! caller compares.

fn u16_be(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1]))
}

fn u32_be(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u16_be(bytes, at)? << 16 | u16_be(bytes, at + 2)?)
}

fn u24_le(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 3).map(|three| u32::from(three[0]) | u32::from(three[1]) << 8 | u32::from(three[2]) << 16)
}

/// Of the chunk IHDR, which is the first.
pub(super) fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    (bytes.get(12..16)? == b"IHDR").then_some((u32_be(bytes, 20)?, u32_be(bytes, 16)?))
}

/// Of the frame headers before the scan; of several the largest.
pub(super) fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut found: Option<(u32, u32)> = None;
    let mut at = 2;
    while at + 1 < bytes.len() {
        let (mark, kind) = (bytes[at], bytes[at + 1]);
        match (mark, kind) {
            // Not a marker, fill, or a marker without content.
            (0..=0xfe, _) | (_, 0xff) => at += 1,
            (_, 0x00 | 0x01 | 0xd0..=0xd8) => at += 2,
            (_, 0xda | 0xd9) => break,
            _ => {
                if matches!(kind, 0xc0..=0xcf) && !matches!(kind, 0xc4 | 0xc8 | 0xcc) {
                    let (height, width) = (u16_be(bytes, at + 5)?, u16_be(bytes, at + 7)?);
                    let area = |size: (u32, u32)| u64::from(size.0) * u64::from(size.1);
                    if found.is_none_or(|before| area(before) <= area((height, width))) {
                        found = Some((height, width));
                    }
                }
                at += 2 + u16_be(bytes, at + 2)?.max(2) as usize;
            }
        }
    }
    found
}

/// Of the first chunk: a lossy or a lossless picture, or the canvas of what has more to it.
pub(super) fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8 " => {
            let fourteen = |at: usize| bytes.get(at..at + 2).map(|two| (u32::from(two[0]) | u32::from(two[1]) << 8) & 0x3fff);
            Some((fourteen(28)?, fourteen(26)?))
        }
        b"VP8L" => {
            let packed = u24_le(bytes, 21)? | u32::from(*bytes.get(24)?) << 24;
            Some(((packed >> 14 & 0x3fff) + 1, (packed & 0x3fff) + 1))
        }
        b"VP8X" => Some((u24_le(bytes, 27)? + 1, u24_le(bytes, 24)? + 1)),
        _ => None,
    }
}
