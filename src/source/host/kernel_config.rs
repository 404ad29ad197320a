//! Options of the kernel's configuration that findings read.
//!
//! The file has some 10 000 lines: the live machine answers `/probe/kernel-config` with the relevant options, and
//! captures contain those alone. In a folder `/proc/config.gz` and `/boot/config-RELEASE` are read.

use std::{collections::BTreeMap, io::Read, sync::Arc};

use crate::{
    model::Reading,
    source::{
        RootError, SysRoot,
        root::{self, MOST_BYTES},
    },
    text::Label,
};

const PROBE: &str = "/probe/kernel-config";
const PACKED: &str = "/proc/config.gz";

/// Options that are read; `*` at the end is a wildcard.
const OPTIONS: [&str; 19] = [
    "CONFIG_BLK_WBT_MQ",
    "CONFIG_HZ",
    "CONFIG_INTEL_IOMMU_DEFAULT_ON",
    "CONFIG_IO_URING",
    "CONFIG_IOMMU_DEFAULT_*",
    "CONFIG_MQ_IOSCHED_*",
    "CONFIG_NO_HZ_FULL",
    "CONFIG_NUMA",
    "CONFIG_NVME_MULTIPATH",
    "CONFIG_PCIE_DPC",
    "CONFIG_PCIE_THERMAL",
    "CONFIG_PCIEAER",
    "CONFIG_PCIEASPM*",
    "CONFIG_PREEMPT",
    "CONFIG_PREEMPT_DYNAMIC",
    "CONFIG_PREEMPT_NONE",
    "CONFIG_PREEMPT_VOLUNTARY",
    "CONFIG_VMD",
    "CONFIG_X86_POSTED_MSI",
];

/// The options that are set, `CONFIG_X` and its value.
pub(super) fn read(root: &dyn SysRoot) -> Reading<BTreeMap<Label, Label>> {
    let answer = match root.read(PROBE) {
        Ok(answer) => split(&String::from_utf8_lossy(&answer)),
        Err(error) if error.is_absent() => from_files(root),
        Err(error) => return error.into_reading(PROBE),
    };
    match answer {
        Some((path, lines)) => Reading::known(path, options(&lines)),
        None => Reading::absent(PACKED, "neither /proc/config.gz nor /boot/config-RELEASE"),
    }
}

/// The answer to `/probe/kernel-config` from `root`'s files: the file's path, then lines of options.
pub(in crate::source) fn probe(root: &dyn SysRoot) -> Result<Vec<u8>, RootError> {
    let (path, lines) = from_files(root).ok_or(RootError::Errno(libc::ENOENT))?;
    Ok(options(&lines)
        .into_iter()
        .fold(format!("# {path}\n"), |text, (name, value)| text + &format!("{name}={value}\n"))
        .into_bytes())
}

fn split(answer: &str) -> Option<(Arc<str>, String)> {
    let (head, lines) = answer.split_once('\n')?;
    Some((Label::new(head.strip_prefix("# ")?).as_str().into(), lines.to_owned()))
}

fn from_files(root: &dyn SysRoot) -> Option<(Arc<str>, String)> {
    if let Some(text) = root.read(PACKED).ok().and_then(|packed| unpack(&packed)) {
        return Some((PACKED.into(), text));
    }
    let release = root::label(root, "/proc/sys/kernel/osrelease");
    let path = format!("/boot/config-{}", release.value()?);
    let text = root.read(&path).ok()?;
    Some((path.into(), String::from_utf8_lossy(&text).into_owned()))
}

fn unpack(packed: &[u8]) -> Option<String> {
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(packed).take(MOST_BYTES as u64).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Filters lines `CONFIG_X=value` by [`OPTIONS`].
fn options(text: &str) -> BTreeMap<Label, Label> {
    let wanted = |name: &str| {
        OPTIONS.iter().any(|option| match option.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == *option,
        })
    };
    text.lines()
        .filter(|line| line.starts_with("CONFIG_"))
        .filter_map(|line| line.split_once('='))
        .filter(|(name, _)| wanted(name))
        .map(|(name, value)| (Label::new(name), Label::new(value.trim_matches('"'))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_asked_for_is_kept() {
        let options =
            options("# a\nCONFIG_HZ=250\nCONFIG_FOO=y\n# CONFIG_IO_URING is not set\nCONFIG_PCIEASPM=y\n");
        let options: Vec<_> = options.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(options, ["CONFIG_HZ=250", "CONFIG_PCIEASPM=y"]);
        assert_eq!(unpack(b"not packed"), None);
    }

    #[test]
    fn an_answer_names_the_file_it_came_from() {
        assert_eq!(split("# /proc/config.gz\nCONFIG_HZ=250\n").unwrap().0.as_ref(), "/proc/config.gz");
        assert_eq!(split("CONFIG_HZ=250\n"), None);
        assert_eq!(split(""), None);
    }
}
