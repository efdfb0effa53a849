//! Small grey pictures as PNG in a data URI.
//!
//! Pixels are stored, not compressed: at 28x28 that costs less than a compressor's table, and needs no library.

/// A picture of `width` times `height` grey values; missing pixels are 0, surplus ones are dropped.
pub(super) fn grey_data_uri(pixels: &[u8], width: usize, height: usize) -> String {
    // PNG has no empty picture, and these are thumbnails: a larger one would need more than one stored block.
    let (width, height) = (width.clamp(1, 200), height.clamp(1, 200));
    let mut rows = Vec::with_capacity((width + 1) * height);
    for y in 0..height {
        rows.push(0); // this row has no filter
        rows.extend((0..width).map(|x| pixels.get(y * width + x).copied().unwrap_or(0)));
    }
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = [(width as u32).to_be_bytes(), (height as u32).to_be_bytes()].concat();
    header.extend([8, 0, 0, 0, 0]); // 8 bits, grey, the only compression, filter set and no interlace
    chunk(&mut png, b"IHDR", &header);
    chunk(&mut png, b"IDAT", &stored(&rows));
    chunk(&mut png, b"IEND", &[]);
    format!("data:image/png;base64,{}", base64(&png))
}

fn chunk(png: &mut Vec<u8>, name: &[u8; 4], data: &[u8]) {
    png.extend((data.len() as u32).to_be_bytes());
    let start = png.len();
    png.extend(name);
    png.extend(data);
    let sum = crc32(&png[start..]);
    png.extend(sum.to_be_bytes());
}

/// A zlib stream of one stored block; `data` is at most 65,535 bytes.
fn stored(data: &[u8]) -> Vec<u8> {
    let len = data.len() as u16;
    let mut stream = vec![0x78, 0x01, 1];
    stream.extend(len.to_le_bytes());
    stream.extend((!len).to_le_bytes());
    stream.extend(data);
    stream.extend(adler32(data).to_be_bytes());
    stream
}

fn crc32(data: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
    !data.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

fn adler32(data: &[u8]) -> u32 {
    let (a, b) = data.iter().fold((1, 0), |(a, b): (u32, u32), byte| {
        let a = (a + u32::from(*byte)) % 65_521;
        (a, (a + b) % 65_521)
    });
    b << 16 | a
}

fn base64(data: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(data.len().div_ceil(3) * 4);
    for group in data.chunks(3) {
        let bits = group.iter().fold(0, |bits: u32, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let letter = ALPHABET[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= group.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_have_their_published_values() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(adler32(b"Wikipedia"), 0x11E6_0398);
    }

    #[test]
    fn base64_follows_the_rfc() {
        let cases = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE=")];
        for (plain, coded) in cases {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn any_size_and_any_number_of_pixels_is_a_picture() {
        for (pixels, width, height) in [(0, 0, 0), (3, 2, 2), (100, 3, 3), (40_000, 200, 200), (10, 5000, 5000)] {
            assert!(grey_data_uri(&vec![7; pixels], width, height).starts_with("data:image/png;base64,iVBORw0KGgo"));
        }
    }
}
