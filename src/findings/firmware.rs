//! What drives report of themselves: firmware with known faults, errors and resets.

use super::{
    Check, Detection, Evidence, Inputs, Row, Subject,
    inputs::{drives, names},
};
use crate::{
    machine::{Drive, DriverMessage, MessageKind, driver_message::summary},
    model::{FindingId, Severity},
    text::Label,
};

pub(super) const FIRMWARE_ADVISORY: Row = Row {
    id: FindingId("firmware-advisory"),
    title: "drive firmware with a known fault",
    fires: "model and firmware of a drive are in iodyno's table of known faults: information, a warning where the drive shows the \
            symptom; or the temperature of a drive stays at 75 °C or more to the degree during a test",
    why: "Some firmware slows the drive down without a cause that the host can see.",
    remedy: "{remedy}",
    generally: "Look for newer firmware; the finding says what helps until then.",
    wrong_if: "The vendor changed the firmware without a new revision.",
    check: Check::Many(firmware_advisory),
    ..Row::PLAIN
};

pub(super) const NVME_ERRORS: Row = Row {
    id: FindingId("nvme-errors"),
    title: "errors, retries or resets of an NVMe drive",
    fires: "a counter below the controller's or namespace's diag folder is above 0 (kernels that have it); or the \
            kernel log has timeouts or resets of the controller; a warning when a counter, error log entries or media errors \
            grow during a test, and for timeouts and controllers that went down",
    why: "A retried or requeued command takes its time again; a reset stops all I/O for seconds.",
    remedy: "Read the kernel log around them (journalctl -k -g nvme), then check cable, slot, power saving and firmware.",
    wrong_if: "They date from a suspend, a reset by hand or a path that was pulled, or another drive had the controller's name before a \
               rebind; error log entries also count commands that the drive does not know.",
    check: Check::Many(nvme_errors),
    ..Row::PLAIN
};

/// Firmware with a known fault.
struct Advisory {
    /// Start of the model.
    model: &'static str,
    firmware: &'static [&'static str],
    symptom: &'static str,
    /// The temperature at which the drive is stuck, degrees Celsius.
    stuck_at: Option<f64>,
    remedy: &'static str,
    source: &'static str,
}

const ADVISORIES: &[Advisory] = &[
    Advisory {
        model: "Samsung SSD 990 PRO",
        firmware: &["0B2QJXD7", "1B2QJXD7", "2B2QJXD7", "3B2QJXD7"],
        symptom: "may report 84 °C for good and throttle",
        stuck_at: Some(84.0),
        remedy: "Update to 4B2QJXD7 or later; a power cycle helps until then.",
        source: "openzfs/zfs issue 16658: eight 990 PRO",
    },
    Advisory {
        model: "Samsung SSD 980 ",
        firmware: &["2B4QFXO7"],
        symptom: "may report 84 °C until a restart",
        stuck_at: Some(84.0),
        remedy: "Restart the machine when it happens, and look for newer firmware.",
        source: "smartmontools issue 637",
    },
    Advisory {
        model: "INTEL SSDPE2K",
        firmware: &["QDV101D1"],
        symptom: "is slow with large I/O queues",
        stuck_at: None,
        remedy: "Use smaller I/O queues (kernel argument nvme.io_queue_depth=255); the vendor plans no fix.",
        source: "spdk issues 1272 and 968: P4500 and P4600",
    },
];

fn advisory(drive: &Drive) -> Option<&'static Advisory> {
    let (model, firmware) = (drive.model.value()?, drive.firmware.value()?);
    ADVISORIES.iter().find(|known| {
        model.as_str().starts_with(known.model) && known.firmware.contains(&firmware.as_str().trim())
    })
}

fn firmware_advisory(inputs: &Inputs) -> Vec<Detection> {
    let mut found = Vec::new();
    for known in ADVISORIES {
        let affected: Vec<(&Drive, Vec<Evidence>)> = inputs
            .machine
            .hardware_drives()
            .filter(|drive| advisory(drive).is_some_and(|own| std::ptr::eq(own, known)))
            .map(|drive| {
                (drive, Evidence::of(&drive.firmware).into_iter().chain(stuck(drive, known)).collect())
            })
            .collect();
        let is_shown = affected.iter().any(|(drive, _)| stuck(drive, known).is_some());
        let severity = if is_shown { Severity::Warning } else { Severity::Info };
        let drives = drives(&affected);
        let title = format!("{}: this firmware {}", names(&drives), known.symptom);
        found.extend(Detection::of_drives(severity, title, affected).map(|detection| {
            detection.fill("remedy", known.remedy).with_gain(super::Gain::unknown(known.source))
        }));
    }
    found.extend(
        inputs.nvme().filter(|drive| advisory(drive).is_none()).filter_map(|drive| unmoved(inputs, drive)),
    );
    found
}

/// The temperature at which the drive is stuck, if it shows that now.
fn stuck(drive: &Drive, known: &Advisory) -> Option<Evidence> {
    let (now, at) = (&drive.temperature.as_ref()?.now, known.stuck_at?);
    now.get()
        .filter(|now| (now - at).abs() < 0.5)
        .map(|celsius| Evidence::at(now, format!("{celsius:.0} °C")))
}

/// A temperature that a test does not move.
fn unmoved(inputs: &Inputs, drive: &Drive) -> Option<Detection> {
    let celsius = inputs.load?.watch?.unmoved_celsius(inputs.machine, &drive.name)?;
    let log = drive.nvme.as_ref()?.smart.path();
    let title = format!("{}: its temperature stays at {celsius} °C", drive.name);
    Some(
        Detection::new(Severity::Info, title)
            .about([Subject::drive(drive)])
            .with_evidence([Evidence::new(&*log, format!("{celsius} °C before and during the test"))])
            .with_gain(super::Gain::words("unknown", ""))
            .fill(
                "remedy",
                "Power-cycle the drive and look for newer firmware; a stuck sensor makes it throttle.",
            ),
    )
}

/// Messages of the kernel log that are shown, the newest ones.
const MOST_MESSAGES: usize = 3;

fn nvme_errors(inputs: &Inputs) -> Vec<Detection> {
    inputs.nvme().filter_map(|drive| errors(inputs, drive)).collect()
}

fn errors(inputs: &Inputs, drive: &Drive) -> Option<Detection> {
    let nvme = drive.nvme.as_ref()?;
    let counted: Vec<(&Label, u64)> = nvme
        .diagnostics
        .iter()
        .filter_map(|(name, count)| Some((name, count.get().filter(|count| *count > 0)?)))
        .collect();
    let watch = inputs.load.and_then(|load| load.watch);
    let grown = watch.map_or_else(Vec::new, |watch| watch.new_errors(inputs.machine, &drive.name));
    let messages: Vec<&DriverMessage> = inputs.machine.messages_of(drive).collect();
    (!counted.is_empty() || !grown.is_empty() || !messages.is_empty()).then_some(())?;
    let words = |(name, count): &(&Label, u64)| format!("{} {count}", name.as_str().replace('_', " "));
    let all: Vec<String> = counted.iter().map(words).collect();
    let (severity, what) = if grown.is_empty() {
        let stalled = messages.iter().any(|message| message.kind != MessageKind::Reset);
        let counters = (!all.is_empty()).then(|| format!("since boot {}", all.join(", ")));
        let log = (!messages.is_empty()).then(|| {
            format!(
                "{} in the kernel log",
                summary(messages.iter().copied(), inputs.machine.has_cut_messages())
            )
        });
        let what: Vec<String> = counters.into_iter().chain(log).collect();
        (if stalled { Severity::Warning } else { Severity::Info }, what.join("; "))
    } else {
        (Severity::Warning, format!("during the test {}", grown.join(", ")))
    };
    let path = inputs.machine.driver_messages.path();
    let newest = messages.iter().rev().take(MOST_MESSAGES).map(|message| {
        let at = message.at.map_or_else(String::new, |at| format!("[{:.1} s] ", at.as_secs_f64()));
        let words = format!("{at}{}: {}", message.controller, message.text);
        match inputs.machine.pasted {
            Some(_) => Evidence::new(format!("{path} {}", message.words()), words),
            None => Evidence::new(&*path, words),
        }
    });
    let counters = counted.iter().filter_map(|(name, _)| Evidence::of(nvme.diagnostics.get(*name)?));
    let log = nvme.smart.path();
    Some(
        Detection::new(severity, format!("{}: {what}", drive.name))
            .about([Subject::drive(drive)])
            .with_evidence(counters)
            .with_evidence(newest)
            .with_evidence(grown.into_iter().map(|what| Evidence::new(&*log, what))),
    )
}
