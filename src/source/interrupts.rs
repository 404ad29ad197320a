//! Parses `/proc/interrupts`: 5 MB every second on a machine with 256 CPUs and 2 000 vectors.

use super::{
    fields,
    root::{self, SysRoot, is_numbered},
};
use crate::model::Reading;

const PATH: &str = "/proc/interrupts";

/// A count of 0 as the kernel pads it (`seq_put_decimal_ull_width`, kernel/irq/proc.c): nearly all of a large machine's.
const ZERO: &[u8] = b"          0";

/// Whether the table has a row of posted MSI.
pub(super) fn posted_msi_row(root: &dyn SysRoot) -> Reading<bool> {
    root::bytes(root, PATH).map(|text| {
        let mut found = false;
        rows(&text, &mut Vec::new(), |row, _| found |= row.is_posted_msi());
        found
    })
}

/// A row without its counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    /// An interrupt number, or the architecture's letters: `NMI`, `PMN`.
    label: &'a [u8],
    /// Chip, hardware number, names of the handlers.
    description: &'a [u8],
}

/// The CPU numbers of the header (`CPU0 CPU2`): offline CPUs have no column.
pub(super) fn columns(text: &[u8]) -> impl Iterator<Item = Option<u32>> {
    let head = fields::lines(text).next().unwrap_or_default();
    fields::words(head).map(|word| u32::try_from(fields::number(word.strip_prefix(b"CPU")?)?).ok())
}

/// Calls `each` with every row and its counts by column; `ERR` and `MIS` have a single one. Lines that are no rows are skipped. `counts` is
/// memory to use again.
pub(super) fn rows(text: &[u8], counts: &mut Vec<u64>, mut each: impl FnMut(Row<'_>, &[u64])) {
    let columns = columns(text).count();
    for line in fields::lines(text).skip(1) {
        if let Some(row) = row(line, columns, counts) {
            each(row, counts);
        }
    }
}

fn row<'a>(line: &'a [u8], columns: usize, counts: &mut Vec<u64>) -> Option<Row<'a>> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (label, mut rest) = (line[..colon].trim_ascii(), &line[colon + 1..]);
    counts.clear();
    while counts.len() < columns {
        if let Some(behind) = rest.strip_prefix(ZERO).filter(|behind| behind.first() == Some(&b' ')) {
            counts.push(0);
            rest = behind;
            continue;
        }
        let blank = rest.iter().take_while(|byte| **byte == b' ').count();
        let word = &rest[blank..];
        let mut count: u64 = 0;
        let mut length = 0;
        while let Some(digit) =
            word.get(length).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10)
        {
            count = count.saturating_mul(10).saturating_add(u64::from(digit));
            length += 1;
        }
        if length == 0 || word.get(length).is_some_and(|next| *next != b' ') {
            break;
        }
        counts.push(count);
        rest = &word[length..];
    }
    (!label.is_empty() && !counts.is_empty()).then_some(Row { label, description: rest })
}

impl<'a> Row<'a> {
    /// Posted-MSI notifications.
    pub(super) fn is_posted_msi(&self) -> bool {
        self.label == b"PMN"
    }

    /// The interrupt number; `None` in rows of the architecture.
    pub(super) fn number(&self) -> Option<u64> {
        fields::number(self.label)
    }

    /// The queue this vector belongs to: `nvme0q3`, `virtio1-req.0` of virtio-blk.
    pub(super) fn queue(&self) -> Option<&'a str> {
        self.handlers()
            .filter(|word| word.starts_with(b"nvme") || word.starts_with(b"virtio"))
            .filter_map(|word| str::from_utf8(word).ok())
            .find(|word| {
                let parts = |between| word.split_once(between);
                let is = |(controller, queue), word| is_numbered(controller, word) && is_numbered(queue, "");
                parts("q").is_some_and(|parts| is(parts, "nvme"))
                    || parts("-req.").is_some_and(|parts| is(parts, "virtio"))
            })
    }

    /// Whether it reports changes of a virtio device's configuration, no completions.
    pub(super) fn is_virtio_config(&self) -> bool {
        self.handlers().any(|word| word.starts_with(b"virtio") && word.ends_with(b"-config"))
    }

    fn handlers(&self) -> impl Iterator<Item = &'a [u8]> {
        self.description.split(|byte| matches!(byte, b' ' | b'\t' | b','))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &[u8] = b"            CPU0       CPU2\n\
          0:         69          0   IO-APIC   2-edge      timer\n\
         35:         16          7   PCI-MSI 51380224-edge      nvme1q0\n\
         36:          1          2   IR-PCI-MSIX-0000:01:00.0   1-edge      nvme10q12, shared\n\
         37:          0          4   PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n\
         38:          0          5   PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0\n\
        NMI:          3          4   Non-maskable interrupts\n\
        ERR:          9\n\
        PMN:          0          0   Posted MSI notification event\n\
        junk\n";

    fn all(text: &[u8]) -> Vec<(String, Vec<u64>, Option<String>)> {
        let mut found = Vec::new();
        rows(text, &mut vec![7; 3], |row, counts| {
            let label = String::from_utf8_lossy(row.label).into_owned();
            found.push((label, counts.to_vec(), row.queue().map(str::to_owned)));
        });
        found
    }

    #[test]
    fn vectors_are_told_by_the_queue_they_serve() {
        let found = all(TEXT);
        let queues: Vec<_> = found.iter().filter_map(|(.., queue)| queue.as_deref()).collect();
        assert_eq!(queues, ["nvme1q0", "nvme10q12", "virtio1-req.0"]);
        assert_eq!(found[1].1, [16, 7]);
        assert_eq!(
            found.iter().map(|(label, ..)| label.as_str()).collect::<Vec<_>>(),
            ["0", "35", "36", "37", "38", "NMI", "ERR", "PMN"]
        );
        assert_eq!(found[6].1, [9], "a row without columns");
    }

    #[test]
    fn columns_are_the_cpus_of_the_header() {
        assert_eq!(columns(TEXT).collect::<Vec<_>>(), [Some(0), Some(2)]);
        assert_eq!(columns(b"").count(), 0);
        assert_eq!(columns(b" CPU0 CPUx\n").collect::<Vec<_>>(), [Some(0), None]);
    }

    fn count() -> impl Strategy<Value = u32> {
        prop_oneof![Just(0), any::<u32>()]
    }

    proptest! {
        #[test]
        fn a_table_is_read_as_it_is_written(table in prop::collection::vec(prop::array::uniform3(count()), 0..8)) {
            let mut text = String::from("      CPU0  CPU1 CPU9\n");
            for (number, counts) in table.iter().enumerate() {
                let [a, b, c] = counts;
                let counts = format!("{a:>10} {b:>10} {c:>10}");
                text = format!("{text}{number:>4}: {counts}  PCI-MSIX-0000:01:00.0 {number}-edge nvme3q{number}\n");
            }
            let expected: Vec<_> = table.iter().enumerate().map(|(number, counts)| {
                (number.to_string(), counts.map(u64::from).to_vec(), Some(format!("nvme3q{number}")))
            }).collect();
            prop_assert_eq!(all(text.as_bytes()), expected);
        }

        #[test]
        fn any_bytes_are_read(text in prop::collection::vec(prop::sample::select(b"C0 1PU:\nnvmeq9\xff".to_vec()), 0..200)) {
            let columns = columns(&text).count();
            for (label, counts, _) in all(&text) {
                prop_assert!(!label.is_empty() && (1..=columns).contains(&counts.len()));
            }
        }
    }
}
