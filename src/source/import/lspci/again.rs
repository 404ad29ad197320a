//! A function that a text lists again: without root first and then with it, or with other options.

use super::super::facts::{ExpressWords, Function, Known, LinkWords};

/// Takes what the first listing of a function lacks from a later one; whether there was any. Each register is of the first
/// listing that states it.
pub(super) fn complete(known: &mut Function, again: Function) -> bool {
    // An excerpt of `-v` shows capabilities without their registers: a dump has all of them.
    let has_words = known.express.as_ref().is_some_and(has_registers);
    let has_dump = known.config.is_some();
    let mut any = false;
    if !has_dump && let Some(express) = again.express {
        any |= match &mut known.express {
            Some(known) => registers(known, &express),
            unknown => unknown.replace(express).is_none(),
        };
    }
    if !has_words {
        any |= fill(&mut known.config, again.config);
    }
    known.has_capabilities |= again.has_capabilities;
    let is_readable = known.has_capabilities || known.config.is_some();
    any |= is_readable && known.denied.take().is_some();
    any |= fill(&mut known.class, again.class);
    // Ids of a line are more exact than those found by a name.
    if again.has_exact_ids && !known.has_exact_ids {
        (known.vendor, known.device, known.has_exact_ids) = (None, None, true);
    }
    any |= fill(&mut known.vendor, again.vendor);
    any |= fill(&mut known.device, again.device);
    any |= fill(&mut known.subsystem, again.subsystem);
    any |= fill(&mut known.class_name, again.class_name);
    any |= fill(&mut known.name, again.name);
    any |= fill(&mut known.buses, again.buses);
    any |= fill(&mut known.driver, again.driver);
    any |= fill(&mut known.numa_node, again.numa_node);
    any |= fill(&mut known.iommu_group, again.iommu_group);
    any |= fill(&mut known.slot, again.slot);
    known.has_body |= again.has_body;
    known.has_registers |= again.has_registers;
    any
}

/// Whether both listings state one thing in two ways, as two machines or two times have it: the first value, its line and the
/// line of the other. Nothing of the later listing is then used.
pub(super) fn other(known: &Function, again: &Function) -> Option<(&'static str, usize, usize)> {
    let port = |function: &Function| {
        let express = function.express.as_ref()?;
        Some(Known::new(express.port_type?, express.line))
    };
    lines("Subsystem", known.subsystem, again.subsystem)
        .or_else(|| lines("bus numbers", known.buses, again.buses))
        .or_else(|| lines("port type", port(known), port(again)))
}

fn lines<T: PartialEq>(
    what: &'static str,
    first: Option<Known<T>>,
    second: Option<Known<T>>,
) -> Option<(&'static str, usize, usize)> {
    let (first, second) = first.zip(second).filter(|(first, second)| first.value != second.value)?;
    Some((what, first.line, second.line))
}

/// The first register of the link that both state, with other values.
pub(super) fn other_link(
    known: &ExpressWords,
    again: &ExpressWords,
) -> Option<(&'static str, Known<LinkWords>, Known<LinkWords>)> {
    let registers = [
        ("LnkSta", known.link_status, again.link_status),
        ("LnkCap", known.link_capabilities, again.link_capabilities),
    ];
    registers.into_iter().find_map(|(register, first, second)| {
        let (first, second) = first.zip(second).filter(|(first, second)| first.value != second.value)?;
        Some((register, first, second))
    })
}

fn has_registers(express: &ExpressWords) -> bool {
    let ExpressWords { payload_supported, sizes, link_capabilities, link_status, .. } = express;
    payload_supported.is_some() || sizes.is_some() || link_capabilities.is_some() || link_status.is_some()
}

fn registers(known: &mut ExpressWords, again: &ExpressWords) -> bool {
    // Registers that `grep` left have no capability around them.
    if known.at == 0 && again.at != 0 {
        (known.at, known.version, known.line) = (again.at, again.version, again.line);
    }
    let mut any = fill(&mut known.port_type, again.port_type);
    any |= fill(&mut known.slot, again.slot);
    any |= fill(&mut known.payload_supported, again.payload_supported);
    any |= fill(&mut known.tags_supported, again.tags_supported);
    any |= fill(&mut known.sizes, again.sizes);
    any |= fill(&mut known.control, again.control);
    any |= fill(&mut known.correctable_error, again.correctable_error);
    any |= fill(&mut known.link_error, again.link_error);
    any |= fill(&mut known.link_capabilities, again.link_capabilities);
    any |= fill(&mut known.link_status, again.link_status);
    any |= fill(&mut known.aspm, again.aspm);
    any | fill(&mut known.target_speed, again.target_speed)
}

fn fill<T>(slot: &mut Option<T>, value: Option<T>) -> bool {
    let is_new = slot.is_none() && value.is_some();
    if is_new {
        *slot = value;
    }
    is_new
}
