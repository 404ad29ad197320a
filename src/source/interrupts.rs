//! Parses `/proc/interrupts`.

use super::root::{self, SysRoot, is_numbered};
use crate::model::Reading;

const PATH: &str = "/proc/interrupts";

/// Whether the table has a row of posted MSI.
pub(super) fn posted_msi_row(root: &dyn SysRoot) -> Reading<bool> {
    root::text(root, PATH).map(|text| Table::parse(&text).rows.iter().any(|row| row.label == "PMN"))
}

/// `/proc/interrupts`.
#[derive(Debug, Default)]
pub(super) struct Table<'a> {
    columns: usize,
    pub(super) rows: Vec<Row<'a>>,
}

#[derive(Debug)]
pub(super) struct Row<'a> {
    /// An interrupt number, or the architecture's letters: `NMI`, `PMN`.
    pub(super) label: &'a str,
    /// Counts by CPU column; `ERR` and `MIS` have a single one.
    pub(super) counts: Vec<u64>,
    /// Chip, hardware number, names of the handlers.
    description: &'a str,
}

impl<'a> Table<'a> {
    /// Lines that are not rows are skipped.
    pub(super) fn parse(text: &'a str) -> Self {
        let mut lines = text.lines();
        let columns = lines.next().map_or(0, |head| head.split_whitespace().count());
        let rows = lines.filter_map(|line| row(line, columns)).collect();
        Self { columns, rows }
    }

    /// Sum of all rows by CPU column.
    pub(super) fn totals(&self) -> Vec<u64> {
        let mut totals = vec![0_u64; self.columns];
        for row in self.rows.iter().filter(|row| row.counts.len() == self.columns) {
            for (total, count) in totals.iter_mut().zip(&row.counts) {
                *total = total.saturating_add(*count);
            }
        }
        totals
    }
}

fn row(line: &str, columns: usize) -> Option<Row<'_>> {
    let (label, mut rest) = line.split_once(':')?;
    let mut counts = Vec::with_capacity(columns);
    while counts.len() < columns {
        let trimmed = rest.trim_start();
        let (word, behind) = trimmed.split_once(' ').unwrap_or((trimmed, ""));
        let Ok(count) = word.parse() else { break };
        counts.push(count);
        rest = behind;
    }
    let label = label.trim();
    (!label.is_empty() && !counts.is_empty()).then_some(Row { label, counts, description: rest })
}

impl<'a> Row<'a> {
    /// The queue this vector belongs to, `nvme0q3`.
    pub(super) fn nvme_queue(&self) -> Option<&'a str> {
        self.description.split([' ', '\t', ',']).find(|word| {
            word.split_once('q')
                .is_some_and(|(controller, queue)| is_numbered(controller, "nvme") && is_numbered(queue, ""))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "            CPU0       CPU1\n\
          0:         69          0   IO-APIC   2-edge      timer\n\
         35:         16          7   PCI-MSI 51380224-edge      nvme1q0\n\
         36:          1          2   IR-PCI-MSIX-0000:01:00.0   1-edge      nvme10q12, shared\n\
        NMI:          3          4   Non-maskable interrupts\n\
        ERR:          9\n\
        PMN:          0          0   Posted MSI notification event\n\
        junk\n";

    #[test]
    fn vectors_are_told_by_the_queue_they_serve() {
        let table = Table::parse(TEXT);
        let queues: Vec<_> = table.rows.iter().filter_map(Row::nvme_queue).collect();
        assert_eq!(queues, ["nvme1q0", "nvme10q12"]);
        assert_eq!(table.rows.iter().filter(|row| row.label == "PMN").count(), 1);
    }

    #[test]
    fn totals_leave_out_rows_that_no_cpu_counts() {
        assert_eq!(Table::parse(TEXT).totals(), [69 + 16 + 1 + 3, 7 + 2 + 4]);
        assert_eq!(Table::parse("").totals(), [0_u64; 0]);
    }
}
