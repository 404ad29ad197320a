//! Drawings and lists of several machines in one text, and lines that a mail joined, cut or moved.

use serde_json::Value;

use crate::{
    damaged::functions,
    relisted::{parent, source, unused},
    stated::{document, link},
};

const FIRST: &str = r"-[0000:00]-+-02.0-[02-05]----00.0-[03-05]--+-08.0-[04]----00.0
           |                               \-10.0-[05]----00.0
           \-03.0-[06-09]----00.0-[07-09]--+-08.0-[08]----00.0
                                           \-10.0-[09]----00.0

FWIW, I have access to another system:

";

#[test]
fn a_second_drawing_with_other_buses_adds_nothing() {
    let alone = functions(FIRST).len();
    let second = r"-[0000:00]-+-03.0-[04-07]----00.0-[05-07]--+-08.0-[06]----00.0
                                           \-10.0-[07]----00.0
";
    let text = format!("{FIRST}{second}");
    assert_eq!((functions(&text).len(), unused(&text)), (alone, vec![6, 8, 9]));
    let rooted = r"+-[0000:40]-+-02.0-[42-47]----00.0-[43-47]--+-08.0-[44]----00.0
|                                           +-09.0-[45]----00.0
|                                           +-10.0-[46]----00.0
|                                           \-11.0-[47]----00.0
\-[0000:00]-+-03.0-[04-07]----00.0-[05-07]--+-08.0-[06]----00.0
                                            \-10.0-[07]----00.0
";
    let text = format!("{FIRST}{rooted}");
    assert_eq!((functions(&text).len(), unused(&text)), (alone, vec![6, 8, 9, 10, 11, 12, 13]));
    assert!(!source(&text).contains("lost its indentation"), "{}", source(&text));
}

#[test]
fn a_path_of_bridges_is_binding() {
    let paths = "lspci -PP:
00:06.0 PCI bridge: Intel Corporation 12th Gen Core Processor PCI Express x4 Controller #0 (rev 02)
00:06.0/02:00.0 Non-Volatile memory controller: SK hynix Platinum P41/PC801 NVMe Solid State Drive

Another system, lspci -tv:
";
    let drawing = r"-[0000:00]-+-00.0  Intel Corporation 12th Gen Core Processor Host Bridge
           +-01.0-[01-02]----00.0-[02]--
           +-06.0-[03]----00.0  Sandisk Corp WD Blue SN550 NVMe SSD
           \-1f.0  Intel Corporation Device 7a06
";
    let text = format!("{paths}{drawing}");
    assert_eq!(parent(&text, "0000:02:00.0"), "0000:00:06.0");
    assert_eq!(unused(&text), [5, 6, 7, 8, 9]);
    assert!(!functions(&text).contains_key("0000:03:00.0"));
    // A drawing that agrees completes them.
    let same = text
        .replace("-[03]----00.0  Sandisk", "-[02]----00.0  Sandisk")
        .replace("01.0-[01-02]----00.0-[02]--", "01.0-[01]----00.0");
    let same = same
        .replace("Sandisk Corp WD Blue SN550 NVMe SSD", "SK hynix Platinum P41/PC801 NVMe Solid State Drive");
    assert_eq!(unused(&same), [5], "{same}");
}

#[test]
fn a_drawing_that_lost_columns_of_its_first_line_keeps_its_parents() {
    let drawing = r"+-[0001:00]---00.0-[01-0a]--+-00.0-[02-0a]--+-00.0-[03-07]--
  |                           |               +-01.0-[08]--+-00.0  Broadcom Inc. and subsidiaries NetXtreme BCM5719
  |                           |               |            \-00.1  Broadcom Inc. and subsidiaries NetXtreme BCM5719
  |                           |               +-02.0-[09]----00.0  Broadcom / LSI SAS3216 PCI-Express Fusion-MPT SAS-3
  |                           |               \-03.0-[0a]----00.0  IBM PCI-E IPR SAS Adapter (ASIC)
  |                           \-00.1  PMC-Sierra Inc. Device 4052
  \-[0000:00]---00.0-[01]----00.0  Samsung Electronics Co Ltd Device a80a
";
    for (address, above) in [
        ("0001:08:00.0", "0001:02:01.0"),
        ("0001:08:00.1", "0001:02:01.0"),
        ("0001:0a:00.0", "0001:02:03.0"),
        ("0001:02:01.0", "0001:01:00.0"),
        ("0001:01:00.1", "0001:00:00.0"),
        ("0000:01:00.0", "0000:00:00.0"),
    ] {
        assert_eq!(parent(drawing, address), above, "{address}");
    }
    assert_eq!(unused(drawing), [0; 0]);
    let bare = r"[0000:00]-+-00.0  Intel Corporation Xeon E7 v3/Xeon E5 v3/Core i7 DMI2
          +-02.0-[06]--+-00.0  Emulex Corporation OneConnect NIC (Skyhawk)
          |            \-00.1  Emulex Corporation OneConnect NIC (Skyhawk)
          \-02.2-[07]----00.0  Hewlett-Packard Company Smart Array Gen9 Controllers
";
    assert_eq!(parent(bare, "0000:06:00.1"), "0000:00:02.0");
    assert_eq!((parent(bare, "0000:07:00.0"), unused(bare)), ("0000:00:02.2".to_owned(), vec![]));
}

#[test]
fn a_flowed_line_goes_on_in_no_line_of_its_own() {
    const SM981: &str = "Samsung Electronics Co Ltd NVMe SSD Controller SM981/PM981/PM983 [144d:a808]";
    let has = |text: &str, addresses: &[&str]| {
        let found = functions(text);
        for address in addresses {
            assert!(found.contains_key(*address), "{address} of {:?}\n{text}", found.keys());
        }
    };
    let head = "Content-Type: text/plain; charset=utf-8; format=flowed\n\n";
    let text = format!(
        "{head}$ lspci -nn\n00:04.0 Signal processing controller [1180]: Intel Corporation Thermal Subsystem [8086:1903] (rev 02) \n01:00.0 Non-Volatile memory controller [0108]: {SM981}\n02:00.0 Non-Volatile memory controller [0108]: {SM981}\n"
    );
    has(&text, &["0000:00:04.0", "0000:01:00.0", "0000:02:00.0"]);
    let groups = format!(
        "{head}IOMMU Group 1 00:01.0 PCI bridge [0604]: Intel Corporation Port 1a [8086:3c02] (rev 07)   \nIOMMU Group 2 01:00.0 Non-Volatile memory controller [0108]: {SM981}   \nIOMMU Group 3 02:00.0 Non-Volatile memory controller [0108]: {SM981}\n"
    );
    has(&groups, &["0000:00:01.0", "0000:01:00.0", "0000:02:00.0"]);
    // Its first line is cut before the colon: no name takes it up.
    let cut = "00:04.0 Signal processing controller [1180]: Intel Corporation Thermal\n01:00.0 Non-Volatile memory\n02:00.0 Non-Volatile memory controller: Foo\n";
    assert!(unused(cut).contains(&2), "{:?}", unused(cut));
    let body = format!(
        "{head}01:00.0 Non-Volatile memory controller [0108]: {SM981}\n\tCapabilities: [70] Express (v2) Endpoint, MSI 00, and other words behind \n\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x4, ASPM L1, Exit Latency L1 <64us \n\t\tLnkSta:\tSpeed 8GT/s, Width x2\n"
    );
    assert_eq!(link(&body, "0000:01:00.0"), (8.0.into(), 2.into()));
    // Blanks alone are no beginning of a drawing's line.
    let quoted = format!(
        "{head}>                                                                      \n>       +-[0000:15]-+-00.0  Intel Corporation Ice Lake Memory Map/VT-d\n>       |           +-00.1  Intel Corporation Ice Lake Mesh 2 PCIe\n>       |           \\-01.0-[16]----00.0  Samsung Electronics Co Ltd Device a80a\n"
    );
    assert_eq!(parent(&quoted, "0000:16:00.0"), "0000:15:01.0");
    has(&quoted, &["0000:15:00.1"]);
}

#[test]
fn quoted_printable_has_line_breaks_and_characters_in_several_parts() {
    let text = "Content-Type: text/plain; charset=\"iso-8859-1\"
Content-Transfer-Encoding: quoted-printable

[root@box ~]# lspci -vv -s 01:00.0=0A=
01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD=
 Controller SM981/PM981/PM983 (prog-if 02 [NVM Express])=0A=
\tCapabilities: [70] Express (v2) Endpoint, MSI 00=0A=
\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x4=0A=
\t\tLnkSta:\tSpeed 8GT/s (ok), Width x2 (ok)=0A=
\tKernel driver in use: nvme=0A=
";
    assert_eq!(link(text, "0000:01:00.0"), (8.0.into(), 2.into()));
    let marks = &document(&text.replace("x2 (ok)", "x2 (downgraded)"), "tree")["source"]["downgraded"];
    assert_eq!(marks[0]["line"], 9);
    let split = "Content-Type: text/plain; charset=UTF-8
Content-Transfer-Encoding: quoted-printable

> -[0000:00]-+-00.0
>=C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=A0 +-01.0-[01]--+-00.0
>=C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=A0 |=C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=
=A0 =C2=A0 \\-00.1
>=C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=A0 =C2=A0 \\-02.0
";
    assert_eq!(parent(split, "0000:01:00.1"), "0000:00:01.0");
}

#[test]
fn a_name_that_ends_before_its_ids_is_joined_or_not_used() {
    let text = "00:00.0 Host bridge [0600]: Intel Corporation Xeon E3-1200 v6/7th Gen

Core Processor Host Bridge/DRAM Registers [8086:5904] (rev 02)

00:02.0 VGA compatible controller [0300]: Intel Corporation HD Graphics

620 [8086:5916] (rev 02) (prog-if 00 [VGA controller])

\tControl: I/O+ Mem+ BusMaster+

";
    let found = functions(text);
    assert_eq!(found["0000:00:02.0"]["name"], "Intel Corporation HD Graphics 620");
    assert_eq!(
        (&found["0000:00:02.0"]["device"], &found["0000:00:00.0"]["device"]),
        (&"0x5916".into(), &"0x5904".into())
    );
    assert_eq!(unused(text), [0; 0]);
    let cut = "00:00.0 Host bridge [0600]: Intel Corporation Xeon E3-1200 [8086:5904]\n00:02.0 VGA compatible controller [0300]: Intel Corporation HD Graphics\n\nHello\n";
    let node = &functions(cut)["0000:00:02.0"];
    assert_eq!((&node["vendor"], &node["device"]), (&"0x8086".into(), &Value::Null), "{node:#}");
    assert_eq!(unused(cut), [2, 4]);
    // A plain list has the numbers of classes without a name.
    let plain = "02:00.0 Unassigned class [ff00]: Realtek Semiconductor Co., Ltd. RTS522A PCI Express Card Reader (rev 01)\n";
    assert_eq!(functions(plain)["0000:02:00.0"]["device"], "0x522a");
}

#[test]
fn a_port_above_several_buses_is_at_the_link_of_none_of_them() {
    let device = |bus: &str| {
        format!(
            "[    1.5] pci 0000:{bus}:00.0: [144d:a808] type 00 class 0x010802\n[    1.5] pci 0000:{bus}:00.0: 8.000 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x4 link at 0000:00:1c.4 (capable of 31.504 Gb/s with 8.0 GT/s PCIe x4 link)\n"
        )
    };
    let text = device("3c") + &device("3d");
    assert_eq!(link(&text, "0000:3c:00.0").0, Value::Null);
    assert_eq!(parent(&text, "0000:3d:00.0"), "0000:00:1c.4");
    assert!(source(&text).contains("The bridge above 0000:3c, 0000:3d is unknown"), "{}", source(&text));
    assert_eq!(link(&device("3c"), "0000:3c:00.0"), (2.5.into(), 4.into()));
}
