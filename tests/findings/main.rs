//! Findings from captures: for every row of the catalogue a machine on which it fires and one on which it does not,
//! and the findings of the demos.
//!
//! Machines are the built-in demos with single files changed, so that tests cover the path from a file's text to the
//! finding.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not there")]

mod scene;
mod demos;
mod captures;
mod silence;
mod links;
mod flow;
mod topology;
mod drives;
mod queues;
mod layers;
mod cases;
mod host;
mod load;
mod screen;

use iodyno::findings::{FINDINGS, Risk};
use scene::ROWS;

#[test]
fn every_row_has_a_test_that_fires_and_one_that_stays_silent() {
    let mut tested: Vec<_> = ROWS.iter().flat_map(|family| family.iter()).copied().collect();
    tested.push("defaults"); // tests of its own below
    let mut rows: Vec<_> = FINDINGS.iter().map(|row| row.id.0).collect();
    tested.sort_unstable();
    rows.sort_unstable();
    assert_eq!(tested, rows);
}

/// The ids of the catalogue, in its order.
const CATALOGUE: &str = "link-downtrained slot-limited link-below-drive link-capped-by-software link-errors shared-root-complex oversubscribed-hop \
     chipset-uplink bifurcation-missing behind-vmd-or-raid payload-size relaxed-ordering-off ext-tags-off read-request aspm-on \
     lba-512 drive-hot drive-worn few-queues no-poll-queues remote-numa in-use multipath apst-latency \
     firmware-advisory nvme-errors md-resync md-degraded md-bitmap md-raid5-lock md-members-differ md-queue \
     dm-crypt-workqueues memory-copies \
     scheduler readahead max-sectors hw-sectors-below-mdts nr-requests iostats nomerges rq-affinity wbt misaligned \
     interrupt-load posted-msi-off iommu-translating governor deep-c-states memory-bandwidth io-uring-disabled ring-features \
     mitigations smt memory-below-rating rule-reverts test-not-valid defaults";

#[test]
fn the_table_is_the_catalogue() {
    let rows: Vec<_> = FINDINGS.iter().map(|row| row.id.0).collect();
    assert_eq!(rows, CATALOGUE.split_whitespace().collect::<Vec<_>>());
}

#[test]
fn every_row_is_documented() {
    for row in FINDINGS {
        let id = row.id.0;
        assert!(id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'), "{id}");
        assert!(!row.title.is_empty() && !row.title.ends_with('.'), "{id}: title");
        assert!(row.fires.len() > 20 && !row.fires.ends_with('.'), "{id}: fires, a clause after `when`");
        assert!(!row.fires.starts_with("wh"), "{id}: when while, when when");
        for (what, text) in [("why", row.why), ("remedy", row.remedy), ("wrong_if", row.wrong_if)] {
            assert!(text.len() > 10 || text.starts_with('{'), "{id}: {what}");
            assert!(text.ends_with(['.', '}', '?']), "{id}: {what} is a sentence");
        }
        assert!(!row.source.ends_with('.'), "{id}: source");
        let prints_a_command_to_lose_data = row.remedy.contains("nvme format");
        assert!(!prints_a_command_to_lose_data || row.risk == Risk::DestroysData, "{id}");
    }
}
