//! Searching bytes: eight at a time for what is near, memchr for what is far.

/// How far the eight-byte steps go before memchr takes over; calling it costs about as much as these steps.
const NEAR: usize = 32;
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// The first place of `needle` in `bytes` at or after `from`.
#[inline(always)]
pub(super) fn find(bytes: &[u8], from: usize, needle: u8) -> Option<usize> {
    let pattern = ONES * u64::from(needle);
    let mut at = from;
    while at < from + NEAR {
        let Some(word) = word_at(bytes, at) else {
            return find_bytewise(bytes, at, needle);
        };
        let differing = word ^ pattern;
        // The lowest set bit marks the first equal byte; bits above it may be wrong, and are not looked at.
        let equal = differing.wrapping_sub(ONES) & !differing & HIGHS;
        if equal != 0 {
            return Some(at + (equal.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    find_far(bytes, at, needle)
}

#[inline(always)]
fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    let chunk = bytes.get(at..at + 8)?;
    chunk.try_into().ok().map(u64::from_le_bytes)
}

#[inline(always)]
fn find_bytewise(bytes: &[u8], from: usize, needle: u8) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.iter().position(|&byte| byte == needle).map(|place| from + place)
}

#[cold]
#[inline(never)]
fn find_far(bytes: &[u8], from: usize, needle: u8) -> Option<usize> {
    memchr::memchr(needle, bytes.get(from..)?).map(|place| from + place)
}

/// Whether `bytes` begins with `piece`. Pieces are short names: comparing words in place beats calling memcmp.
#[inline(always)]
pub(super) fn starts_with(bytes: &[u8], piece: &[u8]) -> bool {
    let length = piece.len();
    if bytes.len() < length {
        return false;
    }
    if length < 8 {
        return piece.iter().zip(bytes).all(|(expected, found)| expected == found);
    }
    let mut at = 0;
    while at + 8 <= length {
        if word_at(bytes, at) != word_at(piece, at) {
            return false;
        }
        at += 8;
    }
    at == length || word_at(bytes, length - 8) == word_at(piece, length - 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first_place_wherever_it_lies() {
        for length in 0..80 {
            for place in 0..=length {
                for from in 0..=length {
                    let mut bytes = vec![0x26_u8; length];
                    for byte in bytes.iter_mut().skip(place) {
                        *byte = b'\'';
                    }
                    let expected = (place.max(from) < length).then_some(place.max(from));
                    assert_eq!(find(&bytes, from, b'\''), expected, "{length} {place} {from}");
                }
            }
        }
    }

    #[test]
    fn every_neighbour_of_the_needle_is_told_apart() {
        for other in 0..=255_u8 {
            for place in 0..8 {
                let mut bytes = [other; 9];
                bytes[place] = b'\'';
                let expected = if other == b'\'' { 0 } else { place };
                assert_eq!(find(&bytes, 0, b'\''), Some(expected));
            }
        }
    }

    #[test]
    fn a_piece_is_compared_to_its_last_byte() {
        for length in 0..40_usize {
            let piece: Vec<u8> = (0..length as u8).collect();
            let mut bytes = piece.clone();
            bytes.push(99);
            assert!(starts_with(&bytes, &piece) && starts_with(&piece, &piece));
            for place in 0..length {
                let mut other = bytes.clone();
                other[place] ^= 0x80;
                assert!(!starts_with(&other, &piece), "{length} {place}");
                assert!(!starts_with(&bytes[..place], &piece), "{length} {place}");
            }
        }
    }
}
