//! [`Symbols`]: functions of the kernel and its modules by address, from `/proc/kallsyms`.

use crate::source::fields::{lines, words};

/// Functions in the order of their addresses.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Symbols {
    functions: Vec<Symbol>,
    names: String,
    modules: Vec<Box<str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Symbol {
    address: u64,
    /// Where its name is in `names`.
    name: (u32, u16),
    /// One more than its index in `modules`; 0 is the kernel.
    module: u16,
    /// Of several at one address the one with the lowest rank stays.
    rank: u8,
}

/// No function is longer: beyond it an address belongs to code without symbols.
const LONGEST: u64 = 1 << 20;

impl Symbols {
    /// Functions of the text; none where the kernel hides addresses (all are 0). Lines that are no symbols are skipped.
    pub(super) fn parse(text: &[u8]) -> Self {
        let mut all = Self::default();
        for line in lines(text) {
            all.take(line);
        }
        all.functions.sort_by_key(|symbol| (symbol.address, symbol.rank));
        all.functions.dedup_by_key(|symbol| symbol.address);
        all.functions.shrink_to_fit();
        all
    }

    pub(super) fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Which function is at an address: the same for all its addresses.
    pub(super) fn index(&self, address: u64) -> Option<usize> {
        let next = self.functions.partition_point(|symbol| symbol.address <= address);
        let at = next.checked_sub(1)?;
        (address - self.functions[at].address < LONGEST).then_some(at)
    }

    /// The function at an address, and its module.
    pub(super) fn at(&self, address: u64) -> Option<(&str, Option<&str>)> {
        self.name(self.index(address)?)
    }

    /// Its name and its module.
    pub(super) fn name(&self, index: usize) -> Option<(&str, Option<&str>)> {
        let symbol = self.functions.get(index)?;
        let (from, length) = (symbol.name.0 as usize, usize::from(symbol.name.1));
        let module = usize::from(symbol.module).checked_sub(1).and_then(|at| self.modules.get(at));
        Some((self.names.get(from..from + length)?, module.map(|name| &**name)))
    }

    /// `ffffffff81000010 T name` or `... t name [module]`.
    fn take(&mut self, line: &[u8]) -> Option<()> {
        let mut fields = words(line).map(|word| str::from_utf8(word).ok());
        let address = u64::from_str_radix(fields.next()??, 16).ok().filter(|address| *address != 0)?;
        let kind = fields.next()??;
        let name = fields.next()??;
        // The paddings before functions have symbols of their own.
        if !matches!(kind, "t" | "T" | "w" | "W") || name.starts_with("__pfx_") || name.starts_with("__cfi_")
        {
            return None;
        }
        let module = match fields.next() {
            Some(module) => self.module(module?.trim_start_matches('[').trim_end_matches(']'))?,
            None => 0,
        };
        let underscores = name.bytes().take_while(|byte| *byte == b'_').count().min(100);
        let rank = u8::from(!matches!(kind, "T")) + 2 * u8::try_from(underscores).ok()?;
        let place = (u32::try_from(self.names.len()).ok()?, u16::try_from(name.len()).ok()?);
        self.names.push_str(name);
        self.functions.push(Symbol { address, name: place, module, rank });
        Some(())
    }

    /// Modules follow each other: the last one is the likeliest.
    fn module(&mut self, name: &str) -> Option<u16> {
        let known = self.modules.iter().rposition(|known| **known == *name);
        let at = known.unwrap_or_else(|| {
            self.modules.push(name.into());
            self.modules.len() - 1
        });
        u16::try_from(at + 1).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Parts of the file of a virtual machine with Linux 6.18.
    const CAPTURED: &[u8] = include_bytes!("../../../tests/fixtures/kallsyms.txt");

    #[test]
    fn addresses_within_a_function_have_its_name() {
        let symbols = Symbols::parse(CAPTURED);
        assert_eq!(symbols.at(0xffff_ffff_81b6_cc30), Some(("_copy_to_iter", None)));
        assert_eq!(symbols.at(0xffff_ffff_81b6_cc30 + 0x1b0), Some(("_copy_to_iter", None)));
        // One of five names of that address.
        assert_eq!(symbols.at(0xffff_ffff_8100_0000), Some(("srso_alias_untrain_ret", None)));
        assert_eq!(symbols.at(0x1000), None);
    }

    #[test]
    fn functions_of_modules_have_their_module() {
        let text = b"ffffffffc04a2000 t nvme_queue_rqs\t[nvme]\nffffffffc04a2640 t __pfx_nvme_irq\t[nvme]\n\
            ffffffffc04a2650 t nvme_irq\t[nvme]\nffffffffc04b0000 t ext4_iget\t[ext4]\n";
        let symbols = Symbols::parse(text);
        assert_eq!(symbols.at(0xffff_ffff_c04a_2649), Some(("nvme_queue_rqs", Some("nvme"))));
        assert_eq!(symbols.at(0xffff_ffff_c04a_2650), Some(("nvme_irq", Some("nvme"))));
        assert_eq!(symbols.at(0xffff_ffff_c04b_0000), Some(("ext4_iget", Some("ext4"))));
        assert_eq!(symbols.at(0xffff_ffff_c04b_0000 + LONGEST), None);
    }

    #[test]
    fn of_several_names_the_plainest_global_one_stays() {
        let text =
            b"ff10 t __pi_memcpy\nff10 T memcpy\nff10 W __memcpy\nff20 T __x64_sys_read\nff20 t ksys\n";
        let symbols = Symbols::parse(text);
        assert_eq!(symbols.at(0xff11), Some(("memcpy", None)));
        assert_eq!(symbols.at(0xff20), Some(("ksys", None)));
    }

    #[test]
    fn hidden_addresses_leave_nothing() {
        let hidden: String = "0000000000000000 T _stext\n0000000000000000 t nvme_irq\t[nvme]\n".repeat(3);
        assert!(Symbols::parse(hidden.as_bytes()).is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_any_address_looked_up(
            text in prop::collection::vec(any::<u8>(), 0..400), address in any::<u64>(),
        ) {
            let symbols = Symbols::parse(&text);
            let _ = symbols.at(address);
        }

        #[test]
        fn mangled_lines_never_give_a_name_that_is_not_in_the_text(
            lines in prop::collection::vec(
                "[0-9a-f]{0,18}[ \t]?[tTdwW]?[ \t]?[a-z_.\u{e9}]{0,12}(\t\\[[a-z]{0,4}\\]?)?", 0..20,
            ),
            address in 0_u64..0x10_0000,
        ) {
            let text = lines.join("\n");
            let symbols = Symbols::parse(text.as_bytes());
            if let Some((name, module)) = symbols.at(address) {
                prop_assert!(text.contains(name) && module.is_none_or(|module| text.contains(module)));
            }
        }

        #[test]
        fn every_address_belongs_to_the_last_function_at_or_before_it(
            starts in prop::collection::btree_set(1_u64..5000, 1..60), address in 0_u64..6000,
        ) {
            let lines: Vec<String> = starts.iter().rev().map(|start| format!("{start:x} t f{start}")).collect();
            let expected = starts.range(..=address).next_back().map(|start| format!("f{start}"));
            let symbols = Symbols::parse(lines.join("\n").as_bytes());
            prop_assert_eq!(symbols.at(address).map(|(name, _)| name.to_owned()), expected);
        }
    }
}
