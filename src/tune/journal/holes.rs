//! [`Holes`]: reads a long file without its holes, gigabytes of which a loss of power may leave.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::FileExt,
};

use rustix::{
    fs::{SeekFrom, seek},
    io::Errno,
};

/// Bytes up to which a file is read as it is: no file system is to be trusted with holes in a journal of a usual length.
const USUAL: u64 = 16 << 20;

/// A file, of whose holes a read gives no more zeros than it has room for.
pub(super) struct Holes<'a> {
    file: &'a File,
    /// Bytes read, holes included.
    at: u64,
    /// Where the known data begins and ends; before it is a hole.
    data: (u64, u64),
}

impl<'a> Holes<'a> {
    /// From the beginning of the file.
    pub(super) fn of(file: &'a File) -> io::Result<Self> {
        let is_usual = file.metadata()?.len() <= USUAL;
        Ok(Self { file, at: 0, data: (0, if is_usual { u64::MAX } else { 0 }) })
    }

    /// Finds the next data.
    fn look(&mut self) -> io::Result<()> {
        self.data = match seek(self.file, SeekFrom::Data(self.at)) {
            Ok(data) => (data, seek(self.file, SeekFrom::Hole(data)).unwrap_or(u64::MAX)),
            // A hole up to the end.
            Err(Errno::NXIO) => {
                let length = self.file.metadata()?.len().max(self.at);
                (length, length)
            }
            // This file system knows no holes.
            Err(_) => (self.at, u64::MAX),
        };
        Ok(())
    }
}

impl Read for Holes<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.data.1 {
            self.look()?;
        }
        let (begin, end) = self.data;
        let room = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX).min(into.len());
        if let Some(hole) = begin.checked_sub(self.at).filter(|hole| *hole > 0) {
            let zeros = room(hole);
            into[..zeros].fill(0);
            self.at = begin;
            return Ok(zeros);
        }
        let most = room(end - self.at);
        let read = self.file.read_at(&mut into[..most], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_hole_is_read_as_some_zeros_and_what_stands_around_it_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let file = File::options().create_new(true).read(true).write(true).open(path).unwrap();
        let (front, middle) = (b"front\n".repeat(20_000), b"middle\n".repeat(20_000));
        (&file).write_all(&front).unwrap();
        file.write_at(&middle, 3 << 30).unwrap();
        file.set_len(5 << 30).unwrap();
        let mut all = Vec::new();
        io::BufReader::with_capacity(4096, Holes::of(&file).unwrap()).read_to_end(&mut all).unwrap();
        let text: Vec<u8> = all.iter().copied().filter(|byte| *byte != 0).collect();
        assert_eq!(text, [front, middle].concat());
        assert!(all.len() < text.len() + (1 << 20), "{} bytes were read", all.len());
    }

    #[test]
    fn a_short_file_is_read_as_it_is() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(USUAL).unwrap();
        let mut all = Vec::new();
        Holes::of(&file).unwrap().read_to_end(&mut all).unwrap();
        assert_eq!(all.len() as u64, USUAL);
    }
}
