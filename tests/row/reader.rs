//! Reads the layout back, written after Flink's `BinaryRowData` and not after the writer.

use tidemark::row::layout::FlinkType;

/// A field as Flink's getters give it.
#[derive(Clone, Debug, PartialEq)]
pub enum Read {
    /// `isNullAt`
    Null,
    /// `getBoolean`
    Boolean(bool),
    /// `getByte` to `getLong`, and `getInt` of dates and times.
    Integer(i64),
    /// `getFloat`, by its bits.
    Float(u32),
    /// `getDouble`, by its bits.
    Double(u64),
    /// `getDecimal`, unscaled.
    Decimal(i128),
    /// `getString`, `getBinary`
    Bytes(Vec<u8>),
    /// `getTimestamp`: milliseconds and nanoseconds of the millisecond.
    Timestamp(i64, u32),
}

/// Row kind and fields; also checks that nothing stands where nothing belongs.
pub fn read(row: &[u8], kinds: &[FlinkType]) -> (u8, Vec<Read>) {
    let null_bits = (kinds.len() + 63 + 8) / 64 * 8;
    let fixed = null_bits + 8 * kinds.len();
    let mut end = fixed;
    let mut fields = Vec::new();
    for bit in 8 + kinds.len()..8 * null_bits {
        assert_eq!(row[bit / 8] >> (bit % 8) & 1, 0, "stray null bit {bit}");
    }
    for (field, kind) in kinds.iter().enumerate() {
        let at = null_bits + 8 * field;
        let slot: [u8; 8] = row[at..at + 8].try_into().expect("a slot");
        let bit = field + 8;
        if row[bit / 8] >> (bit % 8) & 1 == 1 {
            assert_eq!(slot, [0; 8], "the slot of a NULL is empty");
            fields.push(Read::Null);
            continue;
        }
        fields.push(match kind {
            FlinkType::Boolean => {
                assert_eq!(slot[1..], [0; 7]);
                Read::Boolean(slot[0] == 1)
            }
            FlinkType::TinyInt => {
                assert_eq!(slot[1..], [0; 7]);
                Read::Integer(i64::from(slot[0] as i8))
            }
            FlinkType::SmallInt => {
                assert_eq!(slot[2..], [0; 6]);
                Read::Integer(i64::from(i16::from_le_bytes([slot[0], slot[1]])))
            }
            FlinkType::Int | FlinkType::Date | FlinkType::Time { .. } => Read::Integer(i64::from(low(slot) as i32)),
            FlinkType::BigInt => Read::Integer(i64::from_le_bytes(slot)),
            FlinkType::Float => Read::Float(low(slot)),
            FlinkType::Double => Read::Double(u64::from_le_bytes(slot)),
            FlinkType::Decimal { precision: ..=18, .. } => Read::Decimal(i64::from_le_bytes(slot).into()),
            FlinkType::Decimal { .. } => {
                let (start, length) = (high(slot), low(slot) as usize);
                assert_eq!(start, end);
                let bytes = &row[start..start + length];
                let mut wide = [if bytes[0] & 0x80 == 0 { 0 } else { 0xff }; 16];
                wide[16 - length..].copy_from_slice(bytes);
                assert!(row[start + length..start + 16].iter().all(|byte| *byte == 0));
                end += 16;
                Read::Decimal(i128::from_be_bytes(wide))
            }
            FlinkType::Timestamp { precision: ..=3 } | FlinkType::TimestampLtz { precision: ..=3 } => {
                Read::Timestamp(i64::from_le_bytes(slot), 0)
            }
            FlinkType::Timestamp { .. } | FlinkType::TimestampLtz { .. } => {
                let start = high(slot);
                assert_eq!(start, end);
                end += 8;
                let millis = row[start..end].try_into().expect("eight bytes");
                Read::Timestamp(i64::from_le_bytes(millis), low(slot))
            }
            FlinkType::Char { .. }
            | FlinkType::VarChar { .. }
            | FlinkType::Binary { .. }
            | FlinkType::VarBinary { .. } => {
                if slot[7] & 0x80 != 0 {
                    let length = usize::from(slot[7] & 0x7f);
                    assert!(slot[length..7].iter().all(|byte| *byte == 0));
                    Read::Bytes(slot[..length].to_vec())
                } else {
                    let (start, length) = (high(slot), low(slot) as usize);
                    assert!(length > 7);
                    assert_eq!(start, end);
                    end = start + length.div_ceil(8) * 8;
                    assert!(row[start + length..end].iter().all(|byte| *byte == 0));
                    Read::Bytes(row[start..start + length].to_vec())
                }
            }
        });
    }
    assert_eq!(end, row.len(), "the row ends with its last value");
    (row[0], fields)
}

fn low(slot: [u8; 8]) -> u32 {
    u32::from_le_bytes([slot[0], slot[1], slot[2], slot[3]])
}

fn high(slot: [u8; 8]) -> usize {
    u32::from_le_bytes([slot[4], slot[5], slot[6], slot[7]]) as usize
}
