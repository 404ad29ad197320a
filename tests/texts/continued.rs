//! Texts that go on behind a gap, a reply or a line break: the rest is of the function, machine or branch before it.

use serde_json::Value;

use crate::{
    damaged::{drives, functions},
    relisted::{parent, source, unused},
    stated::{finding, link},
};

const SNIPPED: &str = r"06:01.0 PCI bridge [0604]: Pericom Semiconductor PI7C9X2G304 EL/SL PCIe2 3-Port/4-Lane Packet Switch [12d8:2304] (rev 05) (prog-if 00 [Normal decode])
[...]
	Capabilities: [c0] Express (v2) Downstream Port (Slot+), MSI 00
[...]
		LnkCap:	Port #1, Speed 2.5GT/s, Width x1, ASPM not supported
			ClockPM- Surprise- LLActRep- BwNot+ ASPMOptComp-
<snip>
		LnkSta:	Speed 2.5GT/s (ok), Width x1 (ok)
			TrErr- Train- SlotClk+ DLActive- BWMgmt- ABWMgmt-
...
		LnkCtl2: Target Link Speed: 5GT/s, EnterCompliance- SpeedDis-, Selectable De-emphasis: -3.5dB
";

const DRIVE: &str = "01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller SM981 (prog-if 02 [NVM Express])\n";

#[test]
fn what_follows_a_cut_within_a_function_is_its_own() {
    assert_eq!(link(SNIPPED, "0000:06:01.0"), (2.5.into(), 1.into()));
    assert_eq!(functions(SNIPPED)["0000:06:01.0"]["link"]["target_speed_gts"], 5.0);
    let selected = format!(
        "$ lspci -vvs 01:00.0\n{DRIVE}\t...\n\t\tLnkCap: Port #0, Speed 8GT/s, Width x4, ASPM L1\n\t\tLnkSta: Speed 8GT/s, Width x2 (downgraded)\n"
    );
    assert_eq!(link(&selected, "0000:01:00.0"), (8.0.into(), 2.into()));
    // One of several functions too.
    let network = "02:00.0 Ethernet controller: Intel Corporation I210 Gigabit Network Connection (rev 03)\n\tCapabilities: [a0] Express (v2) Endpoint, MSI 00\n\t\tLnkCap:\tPort #0, Speed 2.5GT/s, Width x1\n\t\tLnkSta:\tSpeed 2.5GT/s, Width x1\n";
    let several = format!("{selected}\n{network}");
    assert_eq!(link(&several, "0000:01:00.0"), (8.0.into(), 2.into()));
    assert_eq!(link(&several, "0000:02:00.0"), (2.5.into(), 1.into()));
}

#[test]
fn a_cut_before_another_function_is_known_by_its_words() {
    let first = "\tSubsystem: Samsung Electronics Co Ltd SSD 970 EVO\n\tControl: I/O- Mem+ BusMaster+\n\tCapabilities: [70] Express (v2) Endpoint, MSI 00\n\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x4, ASPM L1\n[...]\n";
    let status = "\t\tLnkSta:\tSpeed 2.5GT/s (ok), Width x1 (ok)\n";
    let (own, other) = ((2.5.into(), 1.into()), (Value::Null, Value::Null));
    for (words, found) in [
        ("\t\tLnkCtl:\tASPM Disabled\n", &own),
        ("\tCapabilities: [50] MSI: Enable- Count=1/32\n", &own),
        ("\tSubsystem: Intel Corporation Device 0000\n", &other),
        ("\tControl: I/O- Mem+ BusMaster+\n", &other),
        ("\tFlags: bus master, fast devsel, latency 0\n", &other),
        ("\t\tLnkCap:\tPort #1, Speed 2.5GT/s, Width x1\n", &other),
        ("\tCapabilities: [70] Express (v2) Endpoint, MSI 00\n", &other),
        ("\tCapabilities: [40] Express (v2) Root Port (Slot+), MSI 00\n", &other),
        ("\t\tSltCap:\tAttnBtn- PwrCtrl-\n", &other),
    ] {
        let text = format!("{DRIVE}{first}{words}{status}");
        let stated = functions(&text)["0000:01:00.0"]["link"].clone();
        let state = if stated["speed_gts"].is_null() { other.clone() } else { link(&text, "0000:01:00.0") };
        assert_eq!(&state, found, "{text}");
    }
}

#[test]
fn a_driver_behind_a_cut_in_a_list_of_drivers_may_be_of_any_function() {
    let text = "00:00.0 Host bridge: Intel Corporation 440BX/ZX/DX - 82443BX/ZX/DX Host\n...\n...\n\tKernel driver in use: ehci-pci\n02:04.0 SATA controller: VMware SATA AHCI controller\n\tKernel driver in use: ahci\n";
    let found = functions(text);
    assert_eq!(found["0000:00:00.0"]["driver"], Value::Null);
    assert_eq!(found["0000:02:04.0"]["driver"], "ahci");
}

#[test]
fn the_size_of_a_region_alone_on_a_line_ends_no_function() {
    let text = r"00:1c.0 PCI bridge: Intel Corporation C610/X99 series chipset PCI Express Root Port #1 (rev d5)
	Bus: primary=00, secondary=01, subordinate=01, sec-latency=0
	I/O behind bridge: 00003000-00003fff
[size=8]
	Prefetchable memory behind bridge: 00000000f3800000-00000000f39fffff
[size=2M]
	Capabilities: [40] Express (v2) Root Port (Slot+), MSI 00
		LnkCap:	Port #1, Speed 5GT/s, Width x1, ASPM L0s L1, Exit Latency L0s <1us, L1 <4us
		LnkSta:	Speed 2.5GT/s, Width x1

01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller SM981 (prog-if 02 [NVM Express])
	Region 0: Memory at f3600000 (64-bit, non-prefetchable)
[size=16K]
	Expansion ROM at f3700000
[virtual]
[disabled] [size=64K]
	Capabilities: [70] Express (v2) Endpoint, MSI 00
		LnkCap:	Port #0, Speed 8GT/s, Width x4, ASPM L1
		LnkSta:	Speed 2.5GT/s (downgraded), Width x1 (downgraded)
";
    for address in ["0000:00:1c.0", "0000:01:00.0"] {
        assert_eq!(link(text, address), (2.5.into(), 1.into()), "{address}");
    }
    assert_eq!(finding(text, "link-below-drive"), Value::Null);
}

#[test]
fn registers_of_power_management_begin_no_function() {
    let body = "\tSubsystem: Samsung Electronics Co Ltd SSD 970 EVO\n\tControl: I/O- Mem+ BusMaster+\n\tStatus: Cap+ 66MHz- UDF-\n\tCapabilities: [40] Power Management version 3\n\t\tFlags: PMEClk- DSI- D1- D2- AuxCurrent=0mA\n\t\tStatus: D0 NoSoftRst+ PME-Enable-\n\tCapabilities: [70] Express (v2) Endpoint, MSI 00\n\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x4, ASPM L1\n\t\tLnkSta:\tSpeed 8GT/s (ok), Width x4 (ok)\n\tKernel driver in use: nvme\n";
    let text = format!("{DRIVE}{body}").replace('\n', "\n\n");
    assert_eq!(link(&text, "0000:01:00.0"), (8.0.into(), 4.into()));
    assert_eq!(functions(&text)["0000:01:00.0"]["driver"], "nvme");
    assert_eq!(unused(&text), [0; 0]);
    let slot = "\t\tSltCtl:\tEnable: AttnBtn- PwrFlt-\n\t\t\tControl: AttnInd Unknown, PwrInd Unknown, Power- Interlock-\n\tKernel driver in use: pcieport\n";
    let text =
        format!("{}{slot}", SNIPPED.replace("[...]\n", "").replace("<snip>\n", "").replace("...\n", ""));
    let text = text.replace('\n', "\n\n");
    assert_eq!(functions(&text)["0000:06:01.0"]["driver"], "pcieport");
}

#[test]
fn quoted_lines_go_on_behind_a_reply() {
    let text = "> 00:02.0 PCI bridge [0604]: Device [0e8d:0801] (rev 01) (prog-if 00 [Normal decode])\n> \tBus: primary=00, secondary=01, subordinate=01, sec-latency=0\n\nHm, the device address is 02.\n\n> \tCapabilities: [70] Express (v2) Root Port (Slot-), MSI 00\n> \t\tLnkCap:\tPort #0, Speed 2.5GT/s, Width x1, ASPM L0s L1\n> \t\tLnkSta:\tSpeed 2.5GT/s (ok), Width x1 (ok)\n";
    assert_eq!(link(text, "0000:00:02.0"), (2.5.into(), 1.into()));
    let usb = format!("{text}\n> Bus 003 Device 008: ID 0480:a20c Toshiba America Inc\n>   bLength 18\n");
    assert_eq!(unused(&usb), [10, 11]);
    let several = format!("{text}>\n> {DRIVE}> \tKernel driver in use: nvme\n");
    assert_eq!(link(&several, "0000:00:02.0"), (2.5.into(), 1.into()));
}

/// A kernel log with other lines between two messages about a port's buses.
fn log(between: usize, last: &str) -> String {
    let other = |at: usize| format!("[    1.0000{at:02}] usb 1-{at}: new USB device number {at}\n");
    let others = (0..between).map(other).collect::<Vec<_>>().concat();
    format!(
        "[    0.400000] pci 0000:00:1c.0: [8086:a110] type 01 class 0x060400
[    0.400100] pci 0000:17:00.0: [8086:15ef] type 01 class 0x060400
[    0.400200] pci 0000:18:04.0: [8086:15ef] type 01 class 0x060400
[    0.504880] pci 0000:00:1c.0: PCI bridge to [bus 17-2a]
[    0.504885] pci 0000:18:04.0: PCI bridge to [bus 1a]
[    0.504909] pci 0000:17:00.0: PCI bridge to [bus 18-1a]
{others}[   50.240585] pci 0000:18:04.0: PCI bridge to [bus 1a-2a]
[   50.242575] pci 0000:17:00.0: PCI bridge to [bus 18-2a]
{last}"
    )
}

#[test]
fn ports_whose_buses_grow_are_of_one_machine() {
    let drive = "[   50.240000] pci 0000:1a:00.0: [144d:a808] type 00 class 0x010802\n[   50.300000] nvme nvme1: pci function 0000:1a:00.0\n";
    for between in [5, 25] {
        let text = log(between, drive);
        assert_eq!(source(&text).find("other devices"), None, "{}", source(&text));
        assert_eq!(parent(&text, "0000:1a:00.0"), "0000:18:04.0");
    }
    // Other ids are another machine's.
    let other = "[   60.0] pci 0000:17:00.0: [1b21:2824] type 01 class 0x060400\n[   60.0] pci 0000:18:04.0: [1b21:2824] type 01 class 0x060400\n";
    assert!(source(&log(25, other)).contains("The kernel log in line 32 has other devices"));
}

#[test]
fn a_stated_class_is_used_before_that_of_a_name() {
    let drawing = "-[0000:00]-+-00.0  Intel Corporation Mobile 4 Series Chipset Memory Controller Hub\n           \\-1a.0  Intel Corporation 82801I (ICH9 Family) USB UHCI Controller #4\n";
    let log = "[    0.100000] pci 0000:00:1a.0: [8086:2937] type 00 class 0x0c0300\n";
    let list = "00:1a.0 USB controller [0c03]: Intel Corporation 82801I (ICH9 Family) USB UHCI Controller #4 [8086:2937] (rev 03)\n";
    for stated in [log, list] {
        for text in [format!("{drawing}\n{stated}"), format!("{stated}\n{drawing}")] {
            assert_eq!(functions(&text)["0000:00:1a.0"]["class"], "0x0c0300", "{text}");
        }
    }
}

#[test]
fn an_excerpt_of_a_drawing_has_its_branches_by_columns() {
    for mark in ['\\', '+'] {
        let text = format!(
            " {mark}-[0000:5d]-+-00.0-[5e-61]----00.0-[5f-61]--+-01.0-[60]----00.0  Intel Corporation DG2 [Arc A380]\n{}\\-04.0-[61]----00.0  Intel Corporation DG2 Audio Controller\n",
            " ".repeat(45)
        );
        assert_eq!(parent(&text, "0000:61:00.0"), "0000:5f:04.0", "{text}");
        assert_eq!(parent(&text, "0000:5f:04.0"), "0000:5e:00.0", "{text}");
        assert_eq!(unused(&text), [0; 0]);
    }
}

#[test]
fn a_command_in_backticks_is_no_row_of_lsblk() {
    let text = "`lsblk`:\n```\nNAME        MAJ:MIN RM   SIZE RO TYPE MOUNTPOINTS\nnvme0n1     259:0    0 476.9G  0 disk\n`-nvme0n1p1 259:1    0   512M  0 part /boot/efi\n```\n\n`sudo lspci -vv`:\n```\n";
    let found = drives(text);
    assert_eq!(found.keys().collect::<Vec<_>>(), ["nvme0n1"]);
    assert!(!found["nvme0n1"].to_string().contains("sudo"), "{}", found["nvme0n1"]);
}

#[test]
fn a_part_of_a_wrapped_name_gives_no_id() {
    let list = "00:01.0 PCI bridge: Intel Corporation Mobile 4 Series Chipset PCI Express Graphics Port (rev 07)\n01:00.1 Audio device: NVIDIA Corporation High Definition Audio Controller (rev a1)\n";
    let drawing = "-[0000:00]-+-00.0  Intel Corporation Mobile 4 Series Chipset Memory\nController Hub\n           +-01.0-[01]--+-00.0  NVIDIA Corporation GT215M [GeForce GT\n335M]\n           |            \\-00.1  NVIDIA Corporation High Definition Audio\nController\n           \\-02.0  Intel Corporation Mobile 4 Series Chipset Integrated\nGraphics Controller\n";
    for text in [drawing.to_owned(), format!("{list}\n{drawing}"), format!("{drawing}\n{list}")] {
        let found = &functions(&text)["0000:01:00.1"];
        assert_eq!(found["device"], Value::Null, "{text}");
        assert_eq!(found["name"], "NVIDIA Corporation High Definition Audio Controller", "{text}");
    }
}

#[test]
fn the_rest_of_a_wrapped_name_makes_no_other_device() {
    let text = "$ lspci -n\n00:01.0 0604: 8086:2a41 (rev 07)\n01:00.1 0403: 10de:0be4 (rev a1)\n\n$ lspci -D\n0000:00:01.0 PCI bridge: Intel Corporation Mobile 4 Series Chipset PCI\nExpress Graphics Port (rev 07)\n0000:01:00.1 Audio device: NVIDIA Corporation High Definition Audio\nController (rev a1)\n";
    assert_eq!(functions(text)["0000:01:00.1"]["device"], "0x0be4");
    assert!(!source(text).contains("01:00.1 is"), "{}", source(text));
    assert_eq!(unused(text), [0; 0]);
}
