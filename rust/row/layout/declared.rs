//! The form in which the job's columns arrive: JSON made from Flink's logical types.

use serde::Deserialize;

use crate::error::{ErrorKind, Result};
use crate::row::layout::{FlinkType, UNBOUNDED};

/// A column as the job declares it. `type` is Flink's name of it, short (`INT`, `STRING`, `TIMESTAMP_LTZ`) or that of
/// its `LogicalTypeRoot` (`INTEGER`, `VARCHAR`, `TIMESTAMP_WITH_LOCAL_TIME_ZONE`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredColumn {
    /// Its name.
    pub name: String,
    /// Its type's name.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Digits in all of a DECIMAL (10 if left out), digits behind the second of a TIME (0) or a timestamp (6).
    #[serde(default)]
    pub precision: Option<u8>,
    /// Digits behind the point of a DECIMAL (0).
    #[serde(default)]
    pub scale: Option<u8>,
    /// Length of a text or a binary (unbounded).
    #[serde(default)]
    pub length: Option<u32>,
    /// Whether NULL is allowed.
    #[serde(default = "yes")]
    pub nullable: bool,
    /// The metadata key, for a metadata column.
    #[serde(default)]
    pub metadata: Option<String>,
}

fn yes() -> bool {
    true
}

impl DeclaredColumn {
    /// The declared type.
    ///
    /// # Errors
    /// `Declaration` for a type that no column can become, or for an impossible precision.
    pub fn kind(&self) -> Result<FlinkType> {
        let length = self.length.unwrap_or(UNBOUNDED);
        let kind = match self.type_name.to_ascii_uppercase().as_str() {
            "BOOLEAN" => FlinkType::Boolean,
            "TINYINT" => FlinkType::TinyInt,
            "SMALLINT" => FlinkType::SmallInt,
            "INT" | "INTEGER" => FlinkType::Int,
            "BIGINT" => FlinkType::BigInt,
            "FLOAT" => FlinkType::Float,
            "DOUBLE" => FlinkType::Double,
            "DECIMAL" => FlinkType::Decimal {
                precision: self.precision.unwrap_or(10),
                scale: self.scale.unwrap_or(0),
            },
            "CHAR" => FlinkType::Char { length },
            "VARCHAR" | "STRING" => FlinkType::VarChar { length },
            "BINARY" => FlinkType::Binary { length },
            "VARBINARY" | "BYTES" => FlinkType::VarBinary { length },
            "DATE" => FlinkType::Date,
            "TIME" | "TIME_WITHOUT_TIME_ZONE" => FlinkType::Time {
                precision: self.precision.unwrap_or(0),
            },
            "TIMESTAMP" | "TIMESTAMP_WITHOUT_TIME_ZONE" => FlinkType::Timestamp {
                precision: self.precision.unwrap_or(6),
            },
            "TIMESTAMP_LTZ" | "TIMESTAMP_WITH_LOCAL_TIME_ZONE" => FlinkType::TimestampLtz {
                precision: self.precision.unwrap_or(6),
            },
            other => return Err(self.refused(format!("no column of a table can be read as {other}"))),
        };
        match kind {
            FlinkType::Decimal { precision, scale } if !(1..=38).contains(&precision) || scale > precision => {
                Err(self.refused(format!("{kind} is not a type; 1 to 38 digits, the scale among them")))
            }
            FlinkType::Time { precision }
            | FlinkType::Timestamp { precision }
            | FlinkType::TimestampLtz { precision }
                if precision > 9 =>
            {
                Err(self.refused(format!("{kind} is not a type; at most 9 digits behind the second")))
            }
            _ => Ok(kind),
        }
    }

    fn refused(&self, reason: String) -> crate::error::Error {
        ErrorKind::Declaration(format!("column '{}': {reason}", self.name)).into()
    }
}
