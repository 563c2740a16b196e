//! Bytes in and out for the state files (`position`, `offset`, `split`): variable-length integers, byte strings and
//! options. What they are put together to is for those files to say.

use crate::error::{ErrorKind, Result};

/// Collects bytes.
#[derive(Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    /// A writer that begins with a version.
    pub(crate) fn versioned(version: u8) -> Self {
        Writer(vec![version])
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    /// LEB128: seven bits a byte, low ones first.
    pub(crate) fn u64(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) {
        self.u64(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    pub(crate) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        match value {
            None => self.u8(0),
            Some(value) => {
                self.u8(1);
                write(self, value);
            }
        }
    }

    pub(crate) fn list<T>(&mut self, values: impl ExactSizeIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.u64(values.len() as u64);
        for value in values {
            write(self, value);
        }
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Takes bytes apart; every read past the end is an error, never a panic.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// A reader behind the version byte, which must be one of `1..=newest`; returns the version too.
    pub(crate) fn versioned(bytes: &'a [u8], newest: u8) -> Result<(u8, Self)> {
        let mut reader = Reader(bytes);
        let version = reader.u8()?;
        if version == 0 || version > newest {
            return Err(ErrorKind::State(format!(
                "version {version} is not known, this build reads 1 to {newest}"
            ))
            .into());
        }
        Ok((version, reader))
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        let (&first, rest) = self.0.split_first().ok_or_else(truncated)?;
        self.0 = rest;
        Ok(first)
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(ErrorKind::State("a number is too long".into()).into())
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        u32::try_from(self.u64()?).map_err(|_| ErrorKind::State("a number is too large".into()).into())
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = usize::try_from(self.u64()?).map_err(|_| truncated())?;
        if length > self.0.len() {
            return Err(truncated());
        }
        let (head, rest) = self.0.split_at(length);
        self.0 = rest;
        Ok(head)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| ErrorKind::State("a name is not UTF-8".into()).into())
    }

    pub(crate) fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        match self.u8()? {
            0 => Ok(None),
            1 => read(self).map(Some),
            other => Err(ErrorKind::State(format!("an option is marked {other}")).into()),
        }
    }

    pub(crate) fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let length = self.u64()?;
        // Each item has one byte at least: a damaged length must not ask for memory that its bytes cannot fill.
        if length > self.0.len() as u64 {
            return Err(truncated());
        }
        (0..length).map(|_| read(self)).collect()
    }

    /// Nothing may be left over.
    pub(crate) fn finish(self) -> Result<()> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(ErrorKind::State(format!("{} bytes are left over", self.0.len())).into())
        }
    }
}

fn truncated() -> crate::error::Error {
    ErrorKind::State("the bytes end too early".into()).into()
}
