//! The bytes of a recording: in a file, which is read in pieces, or in memory.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::RecordError;
use crate::named_file::{self, Kinds};
use crate::text::Text;

/// Bytes that can be read at any offset, and their name in messages.
#[derive(Debug)]
pub(super) struct Storage {
    pub name: Text,
    /// Length at the time of opening, bytes. What a writer adds later is not read.
    pub len: u64,
    backing: Backing,
}

#[derive(Debug)]
enum Backing {
    Memory(Cow<'static, [u8]>),
    File(File),
}

impl Storage {
    pub fn memory(name: Text, bytes: Cow<'static, [u8]>) -> Self {
        Self { name, len: bytes.len() as u64, backing: Backing::Memory(bytes) }
    }

    pub fn file(path: &Path) -> Result<Self, RecordError> {
        let name = Text::name(&path.to_string_lossy());
        match named_file::open(path, Kinds::File).and_then(|file| Ok((file.metadata()?.len(), file))) {
            Ok((len, file)) => Ok(Self { name, len, backing: Backing::File(file) }),
            Err(why) if why.kind() == io::ErrorKind::InvalidInput => Err(RecordError::NotAFile { file: name }),
            Err(why) => Err(RecordError::Open { file: name, why }),
        }
    }

    /// Fills `buffer` from offset `at`.
    ///
    /// # Errors
    /// [`RecordError::Read`], also when the file was truncated after opening.
    pub fn read_exact(&self, at: u64, buffer: &mut [u8]) -> Result<(), RecordError> {
        let result = match &self.backing {
            Backing::File(file) => file.read_exact_at(buffer, at),
            Backing::Memory(bytes) => usize::try_from(at)
                .ok()
                .and_then(|at| bytes.get(at..)?.get(..buffer.len()))
                .map(|found| buffer.copy_from_slice(found))
                .ok_or_else(|| io::ErrorKind::UnexpectedEof.into()),
        };
        result.map_err(|why| RecordError::Read { file: self.name.clone(), at, why })
    }

    /// Reads into `buffer` from offset `at`. Returns less than a full buffer only at the end.
    ///
    /// # Errors
    /// [`RecordError::Read`].
    pub fn read<'b>(&self, at: u64, buffer: &'b mut [u8]) -> Result<&'b [u8], RecordError> {
        let left = self.len.saturating_sub(at);
        let len = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let Some(buffer) = buffer.get_mut(..len).filter(|b| !b.is_empty()) else { return Ok(&[]) };
        self.read_exact(at, buffer)?;
        Ok(buffer)
    }
}
