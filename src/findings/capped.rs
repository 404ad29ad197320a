//! Who lowered the target speed of a port: cooling, the kernel after a failed training, or the firmware.

use super::{Detection, Evidence, Inputs, Risk};
use crate::{machine::PciNode, units::TransferRate};

/// The part of the kernel or firmware that set a target speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Capper {
    /// The port's cooling device (PCIe bandwidth control, Linux 6.13) is above 0.
    Cooling,
    /// 2.5 GT/s after a training that failed (`pcie_failed_link_retrain` of drivers/pci/quirks.c, Linux 6.5).
    Retrain,
    /// No cooling, another speed: the firmware's setting.
    Firmware,
}

/// First kernel that lowers a port to 2.5 GT/s when its link does not train.
const LOWERS_SINCE: (u32, u32) = (6, 5);

fn capper(inputs: &Inputs, port: &PciNode, cap: TransferRate) -> Capper {
    let kernel = inputs.machine.host.kernel.value().and_then(|kernel| super::release(kernel.as_str()));
    match port.cooling.get() {
        Some((state, _)) if state > 0 => Capper::Cooling,
        _ if Some(cap) == TransferRate::from_code(1)
            && kernel.is_some_and(|kernel| kernel >= LOWERS_SINCE) =>
        {
            Capper::Retrain
        }
        _ => Capper::Firmware,
    }
}

/// Adds who capped the port, with the evidence and the remedy for that.
pub(super) fn blamed(inputs: &Inputs, detection: Detection, port: &PciNode, cap: TransferRate) -> Detection {
    let path = port.cooling_path.as_deref().unwrap_or_default();
    let cooling = port
        .cooling
        .get()
        .map(|(state, most)| Evidence::new(format!("{path}/cur_state"), format!("{state} of {most}")));
    let detection = detection.with_evidence(cooling);
    match capper(inputs, port, cap) {
        Capper::Cooling => detection
            .with_remedy("The port's cooling device slows it down: set it to 0.", Risk::Live)
            .with_command(Some(format!("echo 0 | sudo tee {path}/cur_state"))),
        Capper::Retrain => detection
            .with_evidence(Evidence::of(&inputs.machine.host.kernel))
            .with_remedy(
                "Linux 6.5 or later lowers a port to 2.5 GT/s when its link fails to train, and some kernels leave it there. Use a \
                 kernel with commit 72780f796468, which lifts the limit, then reseat the device. Firmware can set the same limit.",
                Risk::Reboot,
            ),
        Capper::Firmware => detection.with_remedy(
            "Set the slot's link speed in the BIOS to Auto or the highest generation: no cooling device and no failed training \
             explains this speed. If errors made somebody lower it, fix those first.",
            Risk::Firmware,
        ),
    }
}
