//! [`Use`]: one user of a drive, with every block device between the two.

use std::fmt;

use crate::text::Label;

/// One user of a drive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    /// Block devices from the drive up: the drive or its partition, what is stacked on that (`dm-0`, `loop0`), and last
    /// the device that is used. Of a process that opened an NVMe character device, that device alone: `nvme0`, `ng0n1`.
    pub chain: Vec<Label>,
    /// How the last device of the chain is used.
    pub by: User,
}

/// A user of a block device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum User {
    /// A file system, mounted.
    Mount {
        /// Mount point.
        point: Label,
        /// File system type.
        filesystem: Label,
    },
    /// A file system, mounted where this process' mount table does not show it.
    HiddenMount {
        /// File system type.
        filesystem: Label,
        /// A mount point, and a process that sees it.
        seen: Option<(Label, Process)>,
    },
    /// Swap on the whole device.
    Swap,
    /// This swap file on the device's file system.
    SwapFile(Label),
    /// Another device is stacked on it, and no user of that is known.
    Holder,
    /// A target that exports it to other hosts: `LIO iblock_0/disk`.
    Export(Label),
    /// An imported ZFS pool.
    Pool(Label),
    /// This process has it open.
    Open(Process),
}

/// A process.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process {
    /// Process id.
    pub id: u32,
    /// Its command (`comm`).
    pub command: Label,
}

impl Use {
    /// A direct user of a drive or partition.
    pub fn of(part: impl Into<Label>, by: User) -> Self {
        Self { chain: vec![part.into()], by }
    }

    /// The mount point, if it is in this process' mount table.
    pub fn mount_point(&self) -> Option<&Label> {
        match &self.by {
            User::Mount { point, .. } => Some(point),
            _ => None,
        }
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (process {})", self.command, self.id)
    }
}

impl fmt::Display for Use {
    /// `nvme0n1p2 mounted at /home (ext4)`, `dm-1 is swap on dm-0 on nvme0n1p3`, `nvme0n1p3 held by md0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((used, mut below)) = self.chain.split_last() else { return Ok(()) };
        match &self.by {
            User::Mount { point, filesystem } => write!(f, "{used} mounted at {point} ({filesystem})")?,
            User::HiddenMount { filesystem, seen: None } => {
                write!(f, "{used} mounted in another mount namespace ({filesystem})")?;
            }
            User::HiddenMount { filesystem, seen: Some((point, process)) } => {
                write!(f, "{used} mounted at {point} ({filesystem}) for {process}")?;
            }
            User::Swap => write!(f, "{used} is swap")?,
            User::SwapFile(file) => write!(f, "swap file {file} on {used}")?,
            User::Holder => match below.split_last() {
                Some((held, rest)) => {
                    below = rest;
                    write!(f, "{held} held by {used}")?;
                }
                None => write!(f, "{used} is held")?,
            },
            User::Export(target) => write!(f, "{used} exported by {target}")?,
            User::Pool(pool) => write!(f, "{used} in ZFS pool {pool}")?,
            User::Open(process) => write!(f, "{used} opened by {process}")?,
        }
        below.iter().rev().try_for_each(|device| write!(f, " on {device}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_names_its_chain_from_the_user_down() {
        let said = |chain: &[&str], by: User| {
            Use { chain: chain.iter().map(|name| Label::new(name)).collect(), by }.to_string()
        };
        let mount = || User::Mount { point: "/mnt".into(), filesystem: "xfs".into() };
        let fio = || Process { id: 7, command: "fio".into() };
        assert_eq!(said(&["nvme0n1p1"], mount()), "nvme0n1p1 mounted at /mnt (xfs)");
        assert_eq!(said(&["nvme0n1p1", "loop0"], mount()), "loop0 mounted at /mnt (xfs) on nvme0n1p1");
        assert_eq!(said(&["sda2", "md0", "dm-1"], User::Swap), "dm-1 is swap on md0 on sda2");
        assert_eq!(said(&["sda2", "md0"], User::Holder), "sda2 held by md0");
        assert_eq!(said(&["sda2", "md0", "dm-1"], User::Holder), "md0 held by dm-1 on sda2");
        assert_eq!(said(&["nvme0"], User::Open(fio())), "nvme0 opened by fio (process 7)");
        let seen = User::HiddenMount { filesystem: "xfs".into(), seen: Some(("/srv".into(), fio())) };
        assert_eq!(said(&["sda1"], seen), "sda1 mounted at /srv (xfs) for fio (process 7)");
    }
}
