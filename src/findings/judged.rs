//! [`Judged`]: a link with true registers and what both of its ends report.

use super::{Evidence, Inputs, inputs::place};
use crate::{
    capacity::{chipset, link},
    machine::{
        HopLink, Link, PciNode,
        hop::{Pair, short},
    },
    model::NodeIndex,
    units::TransferRate,
};

/// One link: the device below, the port above, its state and the capability of its ends.
#[derive(Debug, Clone)]
pub(super) struct Judged<'a> {
    pub child: NodeIndex,
    pub device: &'a PciNode,
    pub port: &'a PciNode,
    pub now: Pair,
    /// The capability of both ends together.
    pub most: Pair,
    pub device_most: Pair,
    pub port_most: Pair,
}

impl Judged<'_> {
    pub(crate) fn is_below(&self) -> bool {
        self.now.0 < self.most.0 || self.is_narrow()
    }

    /// Whether it has fewer lanes than both ends could have, and than the board wires.
    pub(crate) fn is_narrow(&self) -> bool {
        self.now.1 < self.most.1 && !chipset::is_wired(self.device, self.now.1)
    }

    /// The port's target speed, if below the capability of both ends; `None` too where it cannot be read.
    pub(crate) fn cap(&self) -> Option<TransferRate> {
        self.port.express.value()?.target_speed.filter(|target| *target < self.most.0)
    }

    /// Readings of both ends for the slow part: speed, width, or both.
    pub(crate) fn shortfall(&self) -> Vec<Evidence> {
        let (speed, width) = (self.now.0 < self.most.0, self.is_narrow());
        let mut proofs = self.proofs();
        proofs.retain(|proof| {
            (speed && proof.path.ends_with("_speed")) || (width && proof.path.ends_with("_width"))
        });
        proofs
    }

    pub(crate) fn proofs(&self) -> Vec<Evidence> {
        let values = |link: &Link| {
            [
                ("current_link_speed", link.speed.get().map(|speed| speed.to_string())),
                ("max_link_speed", link.max_speed.get().map(|speed| speed.to_string())),
                ("current_link_width", link.width.get().map(|width| width.to_string())),
                ("max_link_width", link.max_width.get().map(|width| width.to_string())),
            ]
        };
        let end = |node: &PciNode| -> Vec<Evidence> {
            let values = node.link.iter().flat_map(values);
            values
                .filter_map(|(name, value)| Some(Evidence::new(format!("{}/{name}", node.path), value?)))
                .collect()
        };
        [end(self.device), end(self.port)].concat()
    }
}

pub(super) fn raw((speed, width): Pair) -> f64 {
    speed.lane_bytes_per_second().0 * f64::from(width.0)
}

/// The link above `child`, if its registers are true and both ends report their capability: not emulated, not inside
/// a chip or a tunnel, and not with a limit that a test exceeded.
pub(super) fn judged<'a>(inputs: &Inputs<'a>, child: NodeIndex) -> Option<Judged<'a>> {
    let tree = &inputs.machine.pci;
    let device = tree.node(child);
    let port = tree.node(device.parent?);
    if !link::is_real(tree, child) || inputs.limits.refuted.contains_key(&child) {
        return None;
    }
    let link = HopLink::above(inputs.machine, child)?;
    Some(Judged {
        child,
        device,
        port,
        now: link.now?,
        most: link.most?,
        device_most: link.device_most?,
        port_most: link.port_most?,
    })
}

/// What the registers of both ends show, and that a fault shows in none of them.
pub(super) fn blame(end: &str, link: &Judged, has_errors: bool) -> String {
    let errors = if has_errors { "; its corrected errors point to a bad signal" } else { "" };
    format!(
        "{end} reports {} and port {} {}: registers do not show a fault of drive, contacts or cable{errors}.",
        short(link.device_most),
        place(link.port),
        short(link.port_most)
    )
}

/// Correctable errors since boot of each end that counted any.
pub(super) fn error_counts(ends: &[&PciNode]) -> Vec<Evidence> {
    ends.iter()
        .filter_map(|node| {
            let total =
                node.aer_correctable.value()?.get("TOTAL_ERR_COR").copied().filter(|total| *total > 0)?;
            Some(Evidence::at(&node.aer_correctable, format!("TOTAL_ERR_COR {total} since boot")))
        })
        .collect()
}
