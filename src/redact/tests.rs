//! Planted secrets are replaced, and every file keeps its form.

use super::*;

const SERIAL: &str = "S4EWNX0R123456";
const UUID: &str = "6b1dcb5e-00aa-4d3c-9c1e-0123456789ab";

fn redact(files: &[(&str, &[u8])]) -> Vec<Vec<u8>> {
    let mut redactor = Redactor::new();
    for (path, content) in files {
        redactor.learn(path, content);
    }
    files
        .iter()
        .map(|(path, content)| {
            let replaced = redactor.content(path, content);
            let is_canonical =
                path.ends_with("/cmdline") || is_rules_file(path) || path.ends_with("/boot-rules");
            assert!(is_canonical || replaced.len() == content.len(), "{path}");
            replaced
        })
        .collect()
}

fn text(path: &str, content: &str) -> String {
    String::from_utf8(redact(&[(path, content.as_bytes())]).remove(0)).unwrap()
}

/// A record of `length` bytes with fields at offsets.
fn record(length: usize, fields: &[(usize, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0; length];
    for (at, field) in fields {
        bytes[*at..*at + field.len()].copy_from_slice(field);
    }
    bytes
}

#[test]
fn addresses_of_plain_numbers_are_replaced_in_mount_tables() {
    let line = |rest: &str| text("/proc/self/mountinfo", &format!("36 1 0:30 / /mnt rw - {rest}\n"));
    for (rest, secret) in [
        (
            "nfs4 [2001:1234:5678::9012]:/export rw,addr=2001:1234:5678::9012,clientaddr=2001:1234::9013",
            "1234:",
        ),
        ("nfs4 [2001:db8:1234:5678::12]:/export rw,mountaddr=2a02:8071:1234:5600::17", "1234:"),
        ("cifs //2001-1234-5678--9012.ipv6-literal.net/share rw,ip=fe80::21b:2134:5678:9012", "5678"),
        ("9p 52:54:00:12:34:56 rw,m=52-54-00-12-34-56", "12"),
    ] {
        let out = line(rest);
        assert!(!out.contains(secret), "{out}");
    }
}

#[test]
fn a_serial_in_measured_limits_goes_and_still_names_its_drive() {
    let line = |serial: &str| {
        format!("alone Fast_1TB {serial} large 6600000000 6294 1 drive, 1m read, 2026-11-21\n")
    };
    let lines = line("S1") + &line(SERIAL) + "beyond model Fast_1TB 5 5 x\n";
    let out = redact(&[
        ("/sys/class/nvme/nvme0/serial", SERIAL.as_bytes()),
        ("/probe/measured-limits", lines.as_bytes()),
    ]);
    let [serial, limits] =
        out.into_iter().map(|text| String::from_utf8(text).unwrap()).collect::<Vec<_>>().try_into().unwrap();
    assert!(!limits.contains("S1 ") && !limits.contains(SERIAL), "{limits}");
    assert!(limits.contains(&line(&serial)) && limits.ends_with("beyond model Fast_1TB 5 5 x\n"), "{limits}");
}

#[test]
fn a_serial_goes_wherever_it_stands() {
    let padded = format!("{SERIAL:20}");
    let in_hex = records::hex(padded.as_bytes());
    let controller = record(
        4096,
        &[
            (4, padded.as_bytes()),
            (24, b"Samsung SSD 980 PRO 1TB"),
            (768, b"nqn.1994-11.com.samsung:nvme:980PRO:S4EWNX0R123456"),
            (3100, SERIAL.as_bytes()),
        ],
    );
    let out = redact(&[
        ("/sys/class/nvme/nvme0/serial", format!("{padded}\n").as_bytes()),
        (
            "/sys/class/nvme/nvme0/subsysnqn",
            format!("nqn.2014.08.org.nvmexpress:144d144d{padded}Model\n").as_bytes(),
        ),
        ("/sys/block/nvme0n1/wwid", format!("nvme.144d-{in_hex}-4d6f64656c-00000001\n").as_bytes()),
        ("/ioctl/nvme0n1/identify-ctrl", &controller),
        ("/probe/other", format!("x={SERIAL};").as_bytes()),
        ("/sys/block/sda/device/vpd_pg80", &record(24, &[(1, b"\x80\0\x14"), (4, padded.as_bytes())])),
    ]);
    for content in &out {
        let shown = String::from_utf8_lossy(content);
        assert!(!shown.contains(SERIAL) && !shown.contains(&in_hex), "{shown}");
    }
    assert_eq!(out[0], b"X0XXXX0X000001      \n", "padding stays");
    assert_eq!(out[3][4..24], out[0][..20], "the same in the record as in the file");
    assert_eq!(out[5][4..24], out[0][..20]);
    assert_eq!(out[3][24..47], *b"Samsung SSD 980 PRO 1TB");
    let pseudonym_in_hex = records::hex(&out[0][..20]);
    assert!(String::from_utf8_lossy(&out[2]).contains(&pseudonym_in_hex));
}

#[test]
fn a_world_wide_id_of_no_known_form_is_a_pseudonym_as_a_whole() {
    for id in ["nvme.LinuxA1B2C3D4", "nvme.marlin-quokka-34", "nvme.144d-41-quokka-1", "quokka", "x.quokka"] {
        let shown = text("/sys/block/nvme0n1/wwid", &format!("{id}\n"));
        assert!(!shown.contains("Linux") && !shown.contains("quokka"), "{id}: {shown}");
    }
}

#[test]
fn of_the_kernel_log_only_known_words_remain() {
    let log = format!(
        "nvme nvme0: I/O 1 QID 1 timeout {SERIAL}\nsshd: {SERIAL}\n[    1.000000] nvme nvme0: 8/0/0 x\n"
    );
    let out = Redactor::new().content("/probe/nvme-messages", log.as_bytes());
    assert_eq!(String::from_utf8(out).unwrap(), "nvme nvme0: I/O 1 QID 1 timeout <redacted>\n");
}

#[test]
fn a_serial_that_sits_inside_a_longer_word_of_a_name_goes_too() {
    let nqn = format!("nqn.2014.08.org.nvmexpress:uuid:{UUID}");
    assert!(!text("/sys/class/nvme/nvme0/subsysnqn", &nqn).contains("6b1dcb5e"));
    let out = redact(&[
        ("/sys/class/nvme/nvme0/serial", b"LAB000A\n"),
        ("/sys/class/nvme/nvme0/subsysnqn", b"nqn.2019-08.org.qemu:LAB000A\n"),
        ("/sys/class/nvme/nvme0/model", b"LAB000AB\n"),
    ]);
    assert_eq!(String::from_utf8_lossy(&out[1]), "xx2.2019-08.xx3.xxx4:XXX0001\n");
    assert_eq!(out[2], b"LAB000AB\n");
}

#[test]
fn ids_agree_between_text_and_records() {
    let eui = [0x00, 0x25, 0x38, 0x5b, 0x71, 0xb0, 0x1e, 0x26];
    let namespace =
        record(4096, &[(25, &[1]), (104, &[0xab; 16]), (120, &eui), (128, &[0, 0, 9, 0]), (400, b"mine")]);
    let out = redact(&[
        ("/ioctl/nvme0n1/identify-ns", &namespace),
        ("/sys/block/nvme0n1/wwid", b"eui.0025385b71b01e26\n"),
        ("/sys/block/nvme0n1/eui", b"00 25 38 5b 71 b0 1e 26\n"),
        ("/sys/block/nvme0n1/nguid", b"abababab-abab-abab-abab-abababababab\n"),
    ]);
    assert_eq!(out[0][120..128], [0, 0, 0, 0, 0, 0, 0, 2]);
    assert_eq!(out[1], b"eui.0000000000000002\n");
    assert_eq!(out[2], b"00 00 00 00 00 00 00 02\n");
    assert_eq!(out[3], b"00000000-0000-0000-0000-000000000001\n");
    assert_eq!(out[0][..104], namespace[..104]);
    assert_eq!(out[0][128..384], namespace[128..384]);
    assert!(out[0][384..].iter().all(|byte| *byte == 0), "the vendor's own part");
}

#[test]
fn smbios_tables_keep_their_structure_without_serials() {
    let mut table = Vec::new();
    let mut add = |kind: u8, fields: &[u8], strings: &[&str]| {
        table.extend([kind, u8::try_from(4 + fields.len()).unwrap(), 0, 0]);
        table.extend(fields);
        for string in strings {
            table.extend(string.bytes().chain([0]));
        }
        table.extend(if strings.is_empty() { vec![0, 0] } else { vec![0] });
    };
    let uuid =
        [0x5e, 0xcb, 0x1d, 0x6b, 0xaa, 0x00, 0x3c, 0x4d, 0x9c, 0x1e, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab];
    add(1, &[&[1, 2, 0, 3][..], &uuid, &[6, 0, 0]].concat(), &["Dell Inc.", "Precision", "7XYZ123"]);
    let mut module = [0; 0x24];
    (module[0x10 - 4], module[0x18 - 4], module[0x19 - 4]) = (1, 2, 3);
    add(17, &module, &["DIMM_A1", "F00DBEEF77", "Tag-4711"]);
    add(11, &[1], &["Owner: Bob Smith"]);
    add(200, &[1, 2, 3, 4], &[]);
    add(127, &[], &[]);

    let path = "/sys/firmware/dmi/tables/DMI";
    let out = redact(&[
        (path, &table),
        ("/sys/class/dmi/id/product_uuid", format!("{UUID}\n").as_bytes()),
        ("/sys/class/dmi/id/product_serial", b"7XYZ123\n"),
        ("/sys/class/dmi/id/board_serial", b"Default string\n"),
    ]);
    let shown = String::from_utf8_lossy(&out[0]);
    for gone in ["7XYZ123", "F00DBEEF77", "Tag-4711", "Bob", "Smith"] {
        assert!(!shown.contains(gone), "{gone}");
    }
    for kept in ["Dell Inc.", "Precision", "DIMM_A1"] {
        assert!(shown.contains(kept), "{kept}");
    }
    assert!(!out[0].windows(16).any(|window| window == uuid));
    let zeros_then_end = [200, 8, 0, 0, 0, 0, 0, 0, 0, 0, 127, 4, 0, 0, 0, 0];
    assert!(out[0].ends_with(&zeros_then_end), "vendors' structures are emptied, not removed");
    let id_in_table = &out[0][8..24];
    let id_in_file = String::from_utf8_lossy(&out[1]);
    assert!(id_in_file.starts_with("00000000-0000-0000-0000-00000000000") && id_in_table[15] != 0);
    assert_eq!(out[2], b"0XXX001\n".to_vec());
    assert_eq!(out[3], b"Default string\n");
}

#[test]
fn configuration_space_loses_its_serial_number_capability_only() {
    let mut config = record(4096, &[(0, &[0x86, 0x80]), (0x100, &[0x01, 0, 0x02, 0x15])]);
    config[0x150..0x160].copy_from_slice(&[0x03, 0, 0x01, 0x00, 1, 2, 3, 0xff, 0xfe, 4, 5, 6, 9, 9, 9, 9]);
    let out = redact(&[("/sys/devices/pci0000:00/0000:00:1f.6/config", &config)]).remove(0);
    assert_eq!(out[..0x154], config[..0x154]);
    assert_eq!(out[0x154..0x15c], [0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(out[0x15c..], config[0x15c..]);
    let circular = record(4096, &[(0x100, &[1, 0, 0x02, 0x10])]);
    assert_eq!(redact(&[("/sys/a/config", &circular)]).remove(0), circular);
}

#[test]
fn configuration_space_loses_the_bodies_of_vendor_specific_capabilities() {
    let mut config = record(4096, &[(6, &[0x10]), (0x34, &[0x40])]);
    config[0x40..0x100].fill(0x5a);
    // Express lies between two of the vendor's, the second one of which has no length.
    config[0x40..0x43].copy_from_slice(&[0x09, 0xe0, 0x10]);
    config[0xe0..0xe3].copy_from_slice(&[0x09, 0x80, 0x00]);
    config[0x80..0x82].copy_from_slice(&[0x10, 0x00]);
    for (at, header) in [
        (0x100, [0x0b, 0, 0x01, 0x20, 0x34, 0x12, 0x00, 0x02]),
        (0x200, [0x23, 0, 0x01, 0x00, 0x98, 0x1e, 0x00, 0x02]),
    ] {
        config[at..at + 0x30].fill(0x5a);
        config[at..at + 8].copy_from_slice(&header);
    }
    let mut expected = config.clone();
    for own in [0x43..0x80, 0xe3..0x100, 0x108..0x120, 0x20a..0x220] {
        expected[own].fill(0);
    }
    let path = "/sys/devices/pci0000:00/0000:00:1f.6/config";
    assert_eq!(redact(&[(path, &config)]).remove(0), expected);
    // As a capture has it: without extended capabilities, or cut.
    for length in [64, 66, 72, 256] {
        assert_eq!(redact(&[(path, &config[..length])]).remove(0), expected[..length], "{length}");
    }
}

#[test]
fn users_of_devices_keep_their_form_without_names() {
    let lines = "open nvme0n1 7 fio\nmount nvme0n1p2 ext4 /home/bob/secret\\040files 812 dockerd\n\
                 export nvme0n1p2 LIO iblock_0/bobsdisk\nexport-file /srv/vault.img nvmet customer\npool sda1 wonderland\n\
                 stack nvme0n1p2 loop0\nunread /proc/1/fd EACCES: permission denied; run as root\n";
    let out = text(open_files::PROBE, lines);
    for gone in ["bob", "secret", "files", "vault", "customer", "wonderland"] {
        assert!(!out.contains(gone), "{gone} in {out}");
    }
    let kept = "open nvme0n1 7 fio\nmount nvme0n1p2 ext4 /home/";
    assert!(out.starts_with(kept) && out.contains(" 812 dockerd\nexport nvme0n1p2 LIO "), "{out}");
    assert!(
        out.ends_with("stack nvme0n1p2 loop0\nunread /proc/1/fd EACCES: permission denied; run as root\n"),
        "{out}"
    );
    assert!(lines.lines().map(str::len).eq(out.lines().map(str::len)), "as long as before: {out}");
}

#[test]
fn host_and_user_names_go_from_mounts_and_lines() {
    let mountinfo = "27 1 254:0 / / rw - ext4 /dev/vda rw,discard=async,resgid=65534,resv_strict\n\
        28 27 8:1 /@home /home/bob\\040smith/Secret rw - btrfs /dev/mapper/luks-6b1dcb5e-00aa-4d3c-9c1e-0123456789ab rw,subvol=/@home\n\
        29 27 0:50 / /mnt/nas rw - nfs4 attic.example.org:/export/bob rw,addr=10.1.2.3,vers=4.2\n\
        30 27 0:51 / /run/media/alice/USBSTICK rw - vfat /dev/sdb1 rw,uid=1000\n\
        31 27 0:22 / /sys rw,relatime - sysfs sysfs rw\n\
        32 27 8:17 / /mnt rw - ext4 /dev/sdc1 rw,x-hunter2.foo=bar,hunter2=1,size=5%\n";
    let out = redact(&[
        ("/proc/self/mountinfo", mountinfo.as_bytes()),
        ("/proc/sys/kernel/hostname", b"bobs-desk.example.org\n"),
        ("/probe/host", b"name=bobs-desk\ndistribution=Debian\nkernel=6.1.0\n"),
        ("/proc/version", b"Linux version 6.1 (alice@bobs-desk) #1\n"),
        ("/sys/devices/virtual/block/loop0/loop/backing_file", b"/home/alice/disk image.img\n"),
        (
            "/proc/swaps",
            b"Filename Type Size Used Priority\n/dev/vda2 partition 10 0 -2\n/srv/alice/swap1 file 1 0 -3\n",
        ),
    ]);
    let all: Vec<String> = out.iter().map(|content| String::from_utf8(content.clone()).unwrap()).collect();
    for text in &all {
        for gone in [
            "bob", "smith", "Secret", "alice", "USBSTICK", "attic", "example", "10.1.2.3", "desk",
            "6b1dcb5e", "image", "hunter2",
        ] {
            assert!(!text.contains(gone), "{gone} in {text}");
        }
    }
    let mounts: Vec<&str> = all[0].lines().collect();
    assert_eq!(mounts[0], "27 1 254:0 / / rw - ext4 /dev/vda rw,discard=async,resgid=65534,resv_strict");
    assert!(mounts[1].contains(" /@home /home/xx1\\040"), "{}", mounts[1]);
    assert!(mounts[1].ends_with("rw,subvol=/@home"), "{}", mounts[1]);
    assert!(mounts[2].contains("vers=4.2"), "{}", mounts[2]);
    assert!(mounts[3].contains(" /run/media/") && mounts[3].ends_with("vfat /dev/sdb1 rw,uid=1000"));
    assert_eq!(mounts[4], "31 27 0:22 / /sys rw,relatime - sysfs sysfs rw");
    assert!(mounts[5].contains(" ext4 /dev/sdc1 rw,") && mounts[5].ends_with("=1,size=5%"), "{}", mounts[5]);
    assert!(all[2].ends_with("distribution=Debian\nkernel=6.1.0\n"));
    assert!(all[5].starts_with("Filename Type Size Used Priority\n"));
    assert!(all[5].contains("/dev/vda2 partition 10 0 -2\n/srv/"));
}

#[test]
fn versions_of_kernels_that_look_like_addresses_stay_and_addresses_beside_them_go() {
    let probe = text("/probe/host", "name=desk\ndistribution=Debian 10.1.2.3\nkernel=6.1.0.18\n");
    assert!(probe.ends_with("kernel=6.1.0.18\n") && !probe.contains("10.1.2.3"), "{probe}");
    let version = text("/proc/version", "Linux version 6.1.0.18 built at 10.1.2.3\n");
    assert!(version.starts_with("Linux version 6.1.0.18 ") && !version.contains("10.1.2.3"), "{version}");
    assert_eq!(text("/sys/module/x/version", "6.1.0.18\n"), "6.1.0.18\n");
}

#[test]
fn the_kernel_command_line_keeps_what_tunes_and_loses_who_it_is() {
    let line = "BOOT_IMAGE=/boot/vmlinuz-6.1 root=UUID=6b1dcb5e-00aa-4d3c-9c1e-0123456789ab ro nvme.poll_queues=4 \
        resume=PARTUUID=1a2b3c4d-01 root=LABEL=bobroot rd.luks.uuid=luks-6b1dcb5e-00aa-4d3c-9c1e-0123456789ab \
        ip=10.0.0.9::10.0.0.254:255.255.255.0:bobs-desk:eth0:off iommu=pt init=/home/bob/init pcie_aspm=off\n";
    let out = text("/proc/cmdline", line);
    for gone in ["6b1dcb5e", "1a2b3c4d", "bob", "10.0.0"] {
        assert!(!out.contains(gone), "{gone} in {out}");
    }
    for kept in [
        "BOOT_IMAGE=/boot/vmlinuz-6.1 root=UUID=<redacted> ro nvme.poll_queues=4 ",
        " rd.luks.uuid=<redacted> ip=<redacted> iommu=pt init=<redacted> pcie_aspm=off\n",
    ] {
        assert!(out.contains(kept), "{kept} in {out}");
    }
}

#[test]
fn figures_and_versions_are_left_alone() {
    for (path, content) in [
        ("/sys/class/nvme/nvme0/firmware_rev", "1.2.3.4 \n"),
        ("/sys/class/dmi/id/bios_version", "10.0.0.1\n"),
        ("/proc/meminfo", "MemTotal:       24684092 kB\n"),
        ("/proc/interrupts", "           CPU0\n  0:         36   IO-APIC   2-edge      timer\n"),
        ("/sys/block/nvme0n1/size", "1953525168\n"),
        ("/sys/class/dmi/id/board_asset_tag", "Not Specified\n"),
        ("/sys/devices/pci0000:00/0000:00:01.0/current_link_speed", "16.0 GT/s PCIe\n"),
        ("/sys/devices/pci0000:00/0000:00:01.0/aer_dev_correctable", "RxErr 12\nTOTAL_ERR_COR 12\n"),
        ("/sys/devices/system/cpu/vulnerabilities/retbleed", "Mitigation: Safe RET\n"),
        ("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1,8\n"),
        ("/sys/block/sda/dev", "8:0\n"),
        ("/ioctl/dm-0/table", "0 3906960000 crypt aes-xts-plain64 allow_discards\n"),
        ("/probe/io_uring", "flag SQE128_CQE32 refused EINVAL\nfeatures 57343\n"),
        ("/proc/vmstat", "pgscan_direct 12\n"),
    ] {
        assert_eq!(text(path, content), content);
    }
}

#[test]
fn of_the_probe_of_io_uring_only_known_flags_and_errors_pass() {
    let said = text("/probe/io_uring", "flag HUNTER2 refused EINVAL\nflag IOPOLL refused ESECRET\n");
    assert!(said.contains("EINVAL") && said.contains("flag IOPOLL refused "), "{said}");
    assert!(!said.contains("HUNTER2") && !said.contains("ESECRET"), "{said}");
}

mod anything {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whatever_a_file_holds_it_keeps_its_length(
            path in prop_oneof![
                Just("/proc/self/mountinfo"), Just("/proc/cmdline"), Just("/sys/a/serial"), Just("/sys/a/wwid"),
                Just("/ioctl/nvme0n1/identify-ctrl"), Just("/ioctl/nvme0n1/identify-ns"), Just("/ioctl/a.rules"), Just("/ioctl/cmdline"), Just("/sys/a/config"),
                Just("/sys/firmware/dmi/tables/DMI"), Just("/sys/a/vpd_pg80"), Just("/probe/host"), Just("/sys/a/eui"),
            ],
            content in prop_oneof![
                any::<Vec<u8>>(),
                any::<String>().prop_map(String::into_bytes),
                proptest::collection::vec(0_u8..40, 0..600),
                "([a-f0-9:./=, -]|/home/|uuid|\\\\040|\u{e4}){0,80}".prop_map(String::into_bytes),
            ],
        ) {
            let out = redact(&[(path, &content)]).remove(0);
            prop_assert!(path.ends_with("/cmdline") || out.len() == content.len());
            let is_text = ["/proc/", "/sys/a/serial", "/sys/a/wwid", "/sys/a/eui", "/probe/"];
            if is_text.iter().any(|prefix| path.starts_with(prefix))
                && let Ok(text) = std::str::from_utf8(&content)
            {
                prop_assert_eq!(String::from_utf8(out).map(|out| out.lines().count()), Ok(text.lines().count()));
            }
        }
    }
}
