//! Texts whose lines could be taken for those of another function, drive or machine: what is not known of them stays out, and is
//! named with its lines.

use serde_json::Value;

use crate::{
    damaged::{drives, functions, printed},
    stated::{check, document, finding, link},
};

/// The lines that were not used, with their reasons.
fn unused(content: &str) -> Vec<(u64, String)> {
    let tree = document(content, "tree");
    let rows = tree["source"]["unused_lines"].as_array().unwrap().iter();
    rows.map(|row| (row["line"].as_u64().unwrap(), row["reason"].as_str().unwrap().to_owned())).collect()
}

fn unused_lines(content: &str) -> Vec<u64> {
    unused(content).into_iter().map(|(line, _)| line).collect()
}

/// Addresses of functions.
fn addresses(content: &str) -> Vec<String> {
    functions(content).into_keys().filter(|address| address.contains('.')).collect()
}

#[test]
fn a_namespace_has_the_controller_of_its_subsystem() {
    let text = r"looking different:

root@target:~# nvme list-subsys                                       
nvme-subsys0 - NQN=nqn.2014.08.org.nvmexpress:80861af4bar                 QEMU NVMe Ctrl
\                                                                                       
 +- nvme1 pcie 0000:00:05.0 live                                                        
nvme-subsys1 - NQN=nqn.2014.08.org.nvmexpress:80861af4foo                 QEMU NVMe Ctrl
\                                                                                       
 +- nvme0 pcie 0000:00:04.0 live                                                        
nvme-subsys2 - NQN=nqn.2014.08.org.nvmexpress:80861af4zoo                 QEMU NVMe Ctrl
\                                                                                       
 +- nvme2 pcie 0000:00:06.0 live                                                        

root@target:~# nvme list                                                                                                   
Node             SN                   Model                                    Namespace Usage                      Format           FW Rev  
---------------- -------------------- ---------------------------------------- --------- -------------------------- ---------------- --------
/dev/nvme0n1     bar                  QEMU NVMe Ctrl                           1         536.87  MB / 536.87  MB    512   B +  0 B   1.0     
/dev/nvme1n1     foo                  QEMU NVMe Ctrl                           1         536.87  MB / 536.87  MB    512   B +  0 B   1.0     
/dev/nvme2n1     zoo                  QEMU NVMe Ctrl                           1         536.87  MB / 536.87  MB    512   B +  0 B   1.0     
";
    let found = drives(text);
    let at = |name: &str| found[name]["address"].as_str().unwrap_or_default().to_owned();
    assert_eq!(at("nvme0n1"), "0000:00:05.0");
    assert_eq!(at("nvme1n1"), "0000:00:04.0");
    assert_eq!(at("nvme2n1"), "0000:00:06.0");
    // Several controllers, none of them of the namespace's number.
    let two = text.replace(
        " +- nvme1 pcie 0000:00:05.0 live",
        " +- nvme1 pcie 0000:00:05.0 live\n +- nvme3 pcie 0000:00:07.0 live",
    );
    assert_eq!(drives(&two)["nvme0n1"]["address"], Value::Null);
}

#[test]
fn virtual_functions_are_no_drives_beside_their_own() {
    let text = r"00:00.0 PCI bridge: Renesas Technology Corp. Device 0031 (prog-if 00 [Normal decode])
	Bus: primary=00, secondary=01, subordinate=01, sec-latency=0
	Capabilities: [70] Express (v2) Root Port (Slot-), MSI 00
		DevCap:	MaxPayload 128 bytes, PhantFunc 0
		DevCtl:	CorrErr+ NonFatalErr+ FatalErr+ UnsupReq+
			MaxPayload 128 bytes, MaxReadReq 512 bytes
		LnkCap:	Port #0, Speed 16GT/s, Width x4, ASPM L0s L1
		LnkSta:	Speed 16GT/s (ok), Width x4 (ok)

01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd Device a824 (prog-if 02 [NVM Express])
	Capabilities: [70] Express (v2) Endpoint, MSI 00
		DevCap:	MaxPayload 512 bytes, PhantFunc 0
		DevCtl:	CorrErr+ NonFatalErr+ FatalErr+ UnsupReq+
			MaxPayload 128 bytes, MaxReadReq 512 bytes
		LnkCap:	Port #0, Speed 16GT/s, Width x4, ASPM not supported
		LnkSta:	Speed 16GT/s (ok), Width x4 (ok)
	Capabilities: [188 v1] Single Root I/O Virtualization (SR-IOV)
		IOVCtl:	Enable+ Migration- Interrupt- MSE+ ARIHierarchy-
		Initial VFs: 32, Total VFs: 32, Number of VFs: 1, Function Dependency Link: 00
		VF offset: 2, stride: 1, Device ID: a824
	Kernel driver in use: nvme

01:00.2 Non-Volatile memory controller: Samsung Electronics Co Ltd Device a824 (prog-if 02 [NVM Express])
	Capabilities: [70] Express (v2) Endpoint, MSI 00
		DevCap:	MaxPayload 512 bytes, PhantFunc 0
		DevCtl:	CorrErr- NonFatalErr- FatalErr- UnsupReq-
			MaxPayload 128 bytes, MaxReadReq 128 bytes
		LnkCap:	Port #0, Speed 16GT/s, Width x4, ASPM not supported
		LnkSta:	Speed 16GT/s (ok), Width x4 (ok)
	Kernel driver in use: nvme
";
    assert_eq!(drives(text).len(), 2);
    assert_eq!(finding(text, "oversubscribed-hop"), Value::Null);
    let other = text.replace("01:00.2", "02:00.0");
    assert_eq!(drives(&other).len(), 2);
}

const PARTED: &str = r"00:01.0 PCI bridge: Intel Corporation Sky Lake-E PCI Express Root Port A (rev 07) (prog-if 00 [Normal decode])
	Bus: primary=00, secondary=01, subordinate=01, sec-latency=0
	Capabilities: [40] Subsystem: Intel Corporation Device 0000
	Capabilities: [70] Express (v2) Root Port (Slot+), MSI 00
		LnkCap:	Port #0, Speed 16GT/s, Width x4, ASPM L1, Exit Latency L1 <64us

	Subsystem: Samsung Electronics Co Ltd Device a801
	Control: I/O- Mem+ BusMaster+
	NUMA node: 1
	Region 0: Memory at dfc00000 (64-bit, non-prefetchable) [size=16K]
	Capabilities: [70] Express (v2) Endpoint, MSI 00
		DevCap:	MaxPayload 128 bytes
		LnkCap:	Port #0, Speed 8GT/s, Width x2, ASPM L1, Exit Latency L1 <64us
		LnkSta:	Speed 2.5GT/s (downgraded), Width x1
	Kernel driver in use: nvme

02:00.0 Ethernet controller: Intel Corporation I210 Gigabit Network Connection (rev 03)
	Capabilities: [a0] Express (v2) Endpoint, MSI 00
		LnkCap:	Port #0, Speed 2.5GT/s, Width x1
		LnkSta:	Speed 2.5GT/s, Width x1
";

#[test]
fn lines_behind_an_empty_one_are_of_no_function_before_it() {
    let bridge = &functions(PARTED)["0000:00:01.0"];
    assert_eq!(link(PARTED, "0000:00:01.0"), (Value::Null, Value::Null), "{bridge}");
    assert_eq!(bridge["driver"], Value::Null);
    assert_eq!(unused_lines(PARTED), (7..=15).collect::<Vec<u64>>());
    // With an empty line behind each line the words tell where another function begins.
    let spaced = PARTED.replace('\n', "\n\n");
    assert_eq!(link(&spaced, "0000:00:01.0"), (Value::Null, Value::Null));
    assert_eq!(link(&spaced, "0000:02:00.0").1, 1);
}

#[test]
fn lines_behind_a_cut_are_of_no_function_before_it() {
    let text = r"01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller PM9A1/PM9A3/980PRO (prog-if 02 [NVM Express])
	Subsystem: Samsung Electronics Co Ltd SSD 980 PRO
	Control: I/O- Mem+ BusMaster+
	Capabilities: [70] Express (v2) Endpoint, MSI 00
		DevCap:	MaxPayload 256 bytes, PhantFunc 0
[...]
		LnkCap:	Port #2, Speed 2.5GT/s, Width x1, ASPM L0s L1
		LnkSta:	Speed 2.5GT/s (ok), Width x0 (downgraded)
		SltCap:	AttnBtn- PwrCtrl- MRL- AttnInd- PwrInd- HotPlug- Surprise-
		RootCap: CRSVisible-
	Kernel driver in use: pcieport

02:00.0 Ethernet controller: Intel Corporation I210 Gigabit Network Connection (rev 03)
	Capabilities: [a0] Express (v2) Endpoint, MSI 00
		LnkCap:	Port #0, Speed 2.5GT/s, Width x1
		LnkSta:	Speed 2.5GT/s, Width x1
";
    assert_eq!(link(text, "0000:01:00.0"), (Value::Null, Value::Null));
    assert_eq!(functions(text)["0000:01:00.0"]["driver"], Value::Null);
    assert_eq!(link(text, "0000:02:00.0").1, 1);
    assert_eq!(unused_lines(text), (6..=11).collect::<Vec<u64>>());
}

#[test]
fn a_broken_message_about_a_link_is_one() {
    let text = r"[Tue Jan 20 10:17:47 2026] pci 0000:01:00.0: 8.000 Gb/s available PCIe bandwidth
, limited by 2.5 GT/s PCIe x4 link at 0000:00:00.0 (capable of 31.504 Gb/s with 
8.0 GT/s PCIe x4 link)
[Tue Jan 20 10:17:47 2026] usb 1-1.5: Manufacturer: VIA Labs, Inc.         
[Tue Jan 20 10:17:47 2026] nvme nvme0: pci function 0000:01:00.0
";
    assert_eq!(link(text, "0000:01:00.0"), (2.5.into(), 4.into()));
    let found = finding(text, "link-below-drive");
    assert!(found["title"].as_str().unwrap().contains("could do Gen3 x4"), "{found}");
    let port = &functions(text)["0000:00:00.0"]["link"];
    assert_eq!(port["max_speed_gts"], Value::Null, "the capability is the drive's: {port}");
    // The evidence has the words of the kernel.
    assert!(!found["evidence"].to_string().contains("LnkSta"), "{found}");
    // Broken at words.
    let words = text.replace("at 0000:00:00.0 (", "at\n0000:00:00.0 (");
    assert_eq!(link(&words, "0000:01:00.0"), (2.5.into(), 4.into()));
}

#[test]
fn a_port_that_limits_two_buses_says_nothing_of_their_links() {
    let text = r"[    1.5] pci 0000:3c:00.0: [144d:a808] type 00 class 0x010802
[    1.5] pci 0000:3c:00.0: 8.000 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x4 link at 0000:00:1c.4 (capable of 31.504 Gb/s with 8.0 GT/s PCIe x4 link)
[    1.5] pci 0000:3d:00.0: [144d:a808] type 00 class 0x010802
[    1.5] pci 0000:3d:00.0: 8.000 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x4 link at 0000:00:1c.4 (capable of 31.504 Gb/s with 8.0 GT/s PCIe x4 link)
";
    assert_eq!(link(text, "0000:00:1c.4"), (2.5.into(), 4.into()));
    for drive in ["0000:3c:00.0", "0000:3d:00.0"] {
        assert_eq!(link(text, drive), (Value::Null, Value::Null), "{drive}");
    }
    assert_eq!(finding(text, "link-below-drive"), Value::Null);
    assert!(check(text).contains("The bridge above 0000:3c, 0000:3d is unknown"), "{}", check(text));
}

#[test]
fn of_a_difference_the_newer_file_is_read() {
    let text = r"$ diff dell.txt lenovo.txt
2c2
< 00:01.0 PCI bridge: Intel Corporation Mobile 4 Series Chipset PCI Express Graphics Port (rev 07)
---
> 00:02.0 VGA compatible controller: Intel Corporation Mobile 4 Series Chipset Integrated Graphics Controller (rev 07)
9,10c9,10
< 01:00.0 VGA compatible controller: NVIDIA Corporation GT215M [GeForce GT 335M] (rev a2)
< 1a:00.0 System peripheral: JMicron Technology Corp. SD/MMC Host Controller
---
> 03:00.0 Network controller: Intel Corporation PRO/Wireless 5100 AGN [Shiloh] Network Connection
> 15:00.0 CardBus bridge: Ricoh Co Ltd RL5c476 II (rev ba)
";
    assert_eq!(addresses(text), ["0000:00:02.0", "0000:03:00.0", "0000:15:00.0"]);
    let old: Vec<(u64, String)> =
        unused(text).into_iter().filter(|(_, why)| why.contains("older file")).collect();
    assert_eq!(old.iter().map(|(line, _)| *line).collect::<Vec<u64>>(), [3, 7, 8], "{old:?}");
    let unified = "--- before\n+++ after\n@@ -1,3 +1,3 @@\n 01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd Device a80a\n-\t\tLnkSta:\tSpeed 8GT/s, Width x4\n+\t\tLnkSta:\tSpeed 16GT/s, Width x4\n \tKernel driver in use: nvme\n@@ -90,2 +90,2 @@\n-\t\tLnkSta:\tSpeed 2.5GT/s, Width x1\n+\t\tLnkSta:\tSpeed 5GT/s, Width x1\n \tKernel driver in use: xhci_hcd\n";
    assert_eq!(link(unified, "0000:01:00.0"), (16.0.into(), 4.into()));
    assert_eq!(functions(unified)["0000:01:00.0"]["driver"], "nvme");
    assert_eq!(unused_lines(unified), [1, 2, 3, 5, 8, 9, 10, 11]);
}

#[test]
fn a_second_list_with_names_of_other_makers_is_named() {
    let text = r"00:00.0 Ethernet controller: Intel Corporation Gizmo 0
01:00.0 Ethernet controller: Intel Corporation Gizmo 1
02:00.0 Ethernet controller: Intel Corporation Gizmo 2
03:00.0 Ethernet controller: Intel Corporation Gizmo 3
00:00.0 Ethernet controller: Broadcom Inc. Gizmo 4
01:00.0 Ethernet controller: Broadcom Inc. Gizmo 5
02:00.0 Ethernet controller: Broadcom Inc. Gizmo 6
03:00.0 Ethernet controller: Broadcom Inc. Gizmo 7
";
    assert_eq!(unused_lines(text), [5, 6, 7, 8]);
    assert!(check(text).contains("The list in line 5 has other devices"), "{}", check(text));
}

const JOURNAL: &str = r"NAME                       MAJ:MIN RM  SIZE RO TYPE  MOUNTPOINTS
nvme0n1                    259:1    0   50G  0 disk
└─md0                        9:0    0  100G  0 raid5
nvme1n1                    259:2    0   50G  0 disk
└─md0                        9:0    0  100G  0 raid5
nvme2n1                    259:0    0   50G  0 disk
└─md0                        9:0    0  100G  0 raid5
nvme3n1                    259:4    0   50G  0 disk
└─vg--data-lv--journal     250:0    0  512M  0 lvm
  └─md0                      9:0    0  100G  0 raid5

# cat /proc/mdstat
md0 : active raid5 nvme2n1[4] dm-0[3](J) nvme1n1[1] nvme0n1[0]
      104790016 blocks super 1.2 level 5, 512k chunk, algorithm 2 [3/3] [UUU]
";

#[test]
fn a_journal_is_no_member_of_an_array() {
    assert_eq!(finding(JOURNAL, "md-members-differ"), Value::Null);
    // Without the marks of the kernel it may be one; the text has a line of it.
    let (table, _) = JOURNAL.split_once("\n# cat").unwrap();
    let found = finding(table, "md-members-differ");
    let proofs = found["evidence"].as_array().unwrap();
    assert!(proofs.iter().all(|proof| proof["path"].as_str().unwrap().starts_with("line ")), "{found}");
    for (mark, is_found) in [("(S)", false), ("(R)", false), ("(W)", false), ("", true)] {
        let text = JOURNAL.replace("(J)", mark);
        assert_eq!(finding(&text, "md-members-differ") != Value::Null, is_found, "{mark}");
    }
}

#[test]
fn numbers_of_lines_are_no_domains() {
    let text = r#"<table>
<tr><td class="ln">1</td><td class="code">0000:00:1c.0 PCI bridge: Intel Corporation Sunrise Point-LP PCI Express Root Port #5 (rev f1)</td></tr>
<tr><td class="ln">2</td><td class="code">0000:01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller SM981/PM981/PM983</td></tr>
</table>
"#;
    assert_eq!(addresses(text), ["0000:00:1c.0", "0000:01:00.0"]);
    assert_eq!(finding(text, "behind-vmd-or-raid"), Value::Null);
}

#[test]
fn layers_of_a_drawing_without_indentation_are_unknown() {
    let text = r"NAME             MAJ:MIN RM  SIZE RO TYPE  MOUNTPOINT
sda                8:0    0  3.7T  0 disk
├─sda1             8:1    0  512M  0 part  /boot/efi
├─sda5             8:5    0  512M  0 part  /boot
└─sda6             8:6    0  3.5T  0 part
└─sda6_crypt   254:0    0  3.5T  0 crypt
├─cry-root   254:1    0   28G  0 lvm   /
├─cry-swap   254:2    0   70G  0 lvm   [SWAP]
└─cry-home   254:3    0  2.7T  0 lvm   /home
nvme0n1          259:0    0  119G  0 disk
├─nvme0n1p1      259:1    0  100G  0 part  /mnt/nvme
└─nvme0n1p2      259:2    0   18G  0 part
└─swapcrypt    254:9    0   18G  0 crypt [SWAP]
";
    let tree = printed(text, &["tree"]);
    assert!(tree.contains("has lost its indentation"), "{tree}");
    let document = document(text, "tree").to_string();
    assert!(document.contains("lost its indentation"));
    // No layer is said to lie on a drive.
    let rows = tree.lines().skip_while(|line| !line.starts_with("arrays"));
    let rows: Vec<&str> = rows.take_while(|line| !line.is_empty()).collect();
    assert!(rows.iter().any(|row| row.contains("sda6_crypt")), "{tree}");
    assert!(!rows.iter().any(|row| row.starts_with("    ")), "{tree}");
    let whole = text
        .replace("\u{2514}\u{2500}sda6_crypt", "  \u{2514}\u{2500}sda6_crypt")
        .replace("\u{251c}\u{2500}cry-", "    \u{251c}\u{2500}cry-")
        .replace("\u{2514}\u{2500}cry-", "    \u{2514}\u{2500}cry-")
        .replace("\u{2514}\u{2500}swapcrypt", "  \u{2514}\u{2500}swapcrypt");
    assert!(!printed(&whole, &["tree"]).contains("indentation"));
}

#[test]
fn four_lanes_of_a_chipset_are_all_that_a_board_wires() {
    let text = r"00:01.2 PCI bridge: Advanced Micro Devices, Inc. [AMD] Starship/Matisse GPP Bridge (prog-if 00 [Normal decode])
	Bus: primary=00, secondary=01, subordinate=04, sec-latency=0
	Capabilities: [58] Express (v2) Root Port (Slot+), MSI 00
		LnkCap:	Port #0, Speed 16GT/s, Width x8, ASPM L1, Exit Latency L1 <32us
		LnkSta:	Speed 16GT/s (ok), Width x4 (downgraded)
01:00.0 PCI bridge: Advanced Micro Devices, Inc. [AMD] Matisse Switch Upstream (prog-if 00 [Normal decode])
	Bus: primary=01, secondary=02, subordinate=04, sec-latency=0
	Capabilities: [58] Express (v2) Upstream Port, MSI 00
		LnkCap:	Port #0, Speed 16GT/s, Width x8, ASPM L1, Exit Latency L1 <32us
		LnkSta:	Speed 16GT/s (ok), Width x4 (downgraded)
02:04.0 PCI bridge: Advanced Micro Devices, Inc. [AMD] Matisse PCIe GPP Bridge (prog-if 00 [Normal decode])
	Bus: primary=02, secondary=04, subordinate=04, sec-latency=0
	Capabilities: [58] Express (v2) Downstream Port (Slot+), MSI 00
		LnkCap:	Port #4, Speed 16GT/s, Width x1, ASPM L1
		LnkSta:	Speed 2.5GT/s (downgraded), Width x1 (ok)
04:00.0 Unassigned class [ff00]: Realtek Semiconductor Co., Ltd. Device 816e (rev 1a)
	Capabilities: [70] Express (v2) Endpoint, MSI 01
		LnkCap:	Port #0, Speed 2.5GT/s, Width x1, ASPM L0s L1
		LnkSta:	Speed 2.5GT/s (ok), Width x1 (ok)
";
    assert_eq!(finding(text, "link-downtrained"), Value::Null, "{}", check(text));
    // A slower link is one, of the switch itself.
    let slow = text.replacen("Speed 16GT/s (ok), Width x4", "Speed 5GT/s (downgraded), Width x4", 2);
    let title = finding(&slow, "link-downtrained")["title"].as_str().unwrap().to_owned();
    assert!(title.contains("Matisse Switch Upstream (0000:01:00.0)"), "{title}");
}

#[test]
fn a_character_that_a_mail_program_parted_is_whole() {
    let text = r"Content-Type: text/plain; charset=UTF-8
Content-Transfer-Encoding: quoted-printable

> -[0000:00]-+-00.0
>=C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=A0 +-01.0-[01]--+-00.0
>=C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=A0 |=C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=
=A0 =C2=A0 \-00.1
>=C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=A0 +-02.0
>=C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=A0 +-04.0
>=C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=A0 +-08.0
>=C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=A0 +-12.0
>=C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=A0 +-14.0
>=C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=A0 +-14.2
";
    let found = functions(text);
    assert!(found.contains_key("0000:01:00.1"), "{:?}", found.keys());
    assert_eq!(found["0000:01:00.0"]["parent"], found["0000:01:00.1"]["parent"]);
    assert_eq!(unused_lines(text), [1, 2]);
}
