//! NVMe controllers and namespaces: sysfs, queue settings, Identify and SMART records, and their interrupt vectors.

use std::fmt::Write as _;

use super::{
    Everything,
    description::{Model, Mount},
    files::Files,
    records,
    tree::Function,
};

/// Reads, merges, sectors and milliseconds, then the same of writes, then in flight and busy: a drive that was looked at
/// and left alone.
const STATISTICS: &str =
    "     312        0    14816       41        0        0        0        0        0       52       41";

/// One interrupt vector: its number, its name and the CPUs that serve it.
pub struct Vector {
    pub number: u32,
    pub name: String,
    pub cpus: String,
}

/// One drive.
struct Drive<'a> {
    all: &'a Everything<'a>,
    function: &'a Function,
    model: &'a Model,
    number: u32,
    serial: String,
    /// `nvme3`, `nvme3n1`.
    controller: String,
    namespace: String,
}

/// Writes the files of all drives; gives back their vectors.
pub fn write(files: &mut Files, all: &Everything, tree: &[Function]) -> anyhow::Result<Vec<Vector>> {
    let mut vectors = Vec::new();
    let mut statistics = String::new();
    for function in tree {
        let Some((number, model)) = &function.drive else { continue };
        let model = all.model(model)?;
        let drive = Drive {
            all,
            function,
            model,
            number: *number,
            serial: format!(
                "{}{:0width$}",
                model.serial,
                4096 + 37 * number,
                width = 15 - model.serial.len()
            ),
            controller: format!("nvme{number}"),
            namespace: format!("nvme{number}n1"),
        };
        let folder = format!("{}/nvme/{}", function.path, drive.controller);
        drive.controller_files(files, &folder);
        drive.namespace_files(files, &format!("{folder}/{}", drive.namespace));
        drive.temperature(files, &format!("{folder}/hwmon{}", number + 1));
        drive.records(files);
        drive.partitions(files, &format!("{folder}/{}", drive.namespace));
        drive.vectors(files, &mut vectors);
        drive.diskstats(&mut statistics);
    }
    files.bytes("/proc/diskstats", statistics.into_bytes());
    Ok(vectors)
}

impl Drive<'_> {
    fn controller_files(&self, files: &mut Files, folder: &str) {
        let lines = [
            ("address", self.function.address.to_string()),
            ("cntlid", "6".to_owned()),
            ("dev", format!("240:{}", self.number)),
            ("firmware_rev", format!("{:<8}", self.model.firmware)),
            ("model", format!("{:<40}", self.model.name)),
            ("serial", format!("{:<20}", self.serial)),
            ("numa_node", self.all.machine.numa_node.to_string()),
            ("queue_count", (self.all.cpus() + 1).to_string()),
            ("sqsize", "1023".to_owned()),
            ("state", "live".to_owned()),
            ("subsysnqn", records::subsystem_name(&self.serial)),
            ("transport", "pcie".to_owned()),
            ("power/control", "auto".to_owned()),
            ("power/pm_qos_latency_tolerance_us", "100000".to_owned()),
            ("power/runtime_status", "unsupported".to_owned()),
        ];
        for (name, content) in lines {
            files.line(format!("{folder}/{name}"), content);
        }
        files.link(format!("{folder}/device"), &self.function.path);
        files.link(format!("{folder}/subsystem"), "/sys/class/nvme");
        files.link(format!("/sys/class/nvme/{}", self.controller), folder);
        if self.all.machine.queue.generic {
            let generic = format!("ng{}n1", self.number);
            files.line(format!("{folder}/{generic}/dev"), format_args!("235:{}", self.number));
            files.link(format!("/sys/class/nvme-generic/{generic}"), &format!("{folder}/{generic}"));
        }
    }

    fn block(&self) -> u64 {
        self.model.formats[usize::from(self.all.lba_format)].0
    }

    fn namespace_files(&self, files: &mut Files, folder: &str) {
        let lines = [
            ("alignment_offset", "0".to_owned()),
            ("dev", format!("259:{}", self.number * 8)),
            ("discard_alignment", "0".to_owned()),
            ("hidden", "0".to_owned()),
            ("inflight", "       0        0".to_owned()),
            ("nsid", "1".to_owned()),
            ("removable", "0".to_owned()),
            ("ro", "0".to_owned()),
            ("size", (self.model.size / 512).to_string()),
            ("stat", format!("{STATISTICS}        0        0        0        0        0        0")),
            ("wwid", format!("eui.00253{:011x}", 0x8b1_0000 + u64::from(self.number))),
        ];
        for (name, content) in lines {
            files.line(format!("{folder}/{name}"), content);
        }
        if self.all.machine.queue.diskseq {
            files.line(format!("{folder}/diskseq"), self.number + 1);
        }
        files.folder(format!("{folder}/holders"));
        files.folder(format!("{folder}/slaves"));
        files.link(format!("{folder}/device"), root_of(folder));
        files.link(format!("{folder}/subsystem"), "/sys/class/block");
        files.link(format!("/sys/class/block/{}", self.namespace), folder);
        files.link(format!("/sys/block/{}", self.namespace), folder);
        self.queue(files, &format!("{folder}/queue"));
        for cpu in 0..self.all.cpus() {
            files.line(format!("{folder}/mq/{cpu}/cpu_list"), cpu);
            files.line(format!("{folder}/mq/{cpu}/nr_tags"), 1023);
        }
    }

    /// The drive's row of `/proc/diskstats`, then those of its partitions.
    fn diskstats(&self, text: &mut String) {
        let first = self.number * 8;
        let fields = STATISTICS.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(text, " 259 {first:>7} {} {fields} 0 0 0 0 0 0", self.namespace);
        for mount in self.mounts() {
            let _ = writeln!(text, " 259 {:>7} {} {fields} 0 0 0 0 0 0", first + mount.number, mount.part);
        }
    }

    fn mounts(&self) -> impl Iterator<Item = &Mount> {
        let prefix = format!("{}p", self.namespace);
        self.all.machine.mounts.iter().filter(move |mount| mount.part.starts_with(&prefix))
    }

    fn queue(&self, files: &mut Files, folder: &str) {
        let queue = &self.all.machine.queue;
        let block = self.block().to_string();
        let lines = [
            ("scheduler", queue.scheduler.clone()),
            ("read_ahead_kb", "128".to_owned()),
            ("nr_requests", queue.nr_requests.to_string()),
            ("max_sectors_kb", queue.max_sectors_kb.to_string()),
            ("max_hw_sectors_kb", queue.max_hw_sectors_kb.to_string()),
            ("max_segments", "127".to_owned()),
            ("nomerges", "0".to_owned()),
            ("rq_affinity", "1".to_owned()),
            ("wbt_lat_usec", "2000".to_owned()),
            ("iostats", "1".to_owned()),
            ("add_random", "0".to_owned()),
            ("io_poll", "0".to_owned()),
            ("io_poll_delay", "-1".to_owned()),
            ("write_cache", "write back".to_owned()),
            ("rotational", "0".to_owned()),
            ("logical_block_size", block.clone()),
            ("physical_block_size", block.clone()),
            ("minimum_io_size", block.clone()),
            ("optimal_io_size", if block == "512" { "0".to_owned() } else { block.clone() }),
            ("hw_sector_size", block),
            ("zoned", "none".to_owned()),
        ];
        for (name, content) in lines {
            files.line(format!("{folder}/{name}"), content);
        }
    }

    fn temperature(&self, files: &mut Files, folder: &str) {
        let celsius = u32::from(self.celsius());
        let lines = [
            ("name", "nvme".to_owned()),
            ("temp1_alarm", "0".to_owned()),
            ("temp1_crit", (u32::from(self.model.critical) * 1000 - 150).to_string()),
            ("temp1_input", (celsius * 1000 - 150).to_string()),
            ("temp1_label", "Composite".to_owned()),
            ("temp1_max", (u32::from(self.model.warning) * 1000 - 150).to_string()),
            ("temp1_min", "-273150".to_owned()),
        ];
        for (name, content) in lines {
            files.line(format!("{folder}/{name}"), content);
        }
        let controller = folder.rsplit_once('/').map_or("", |(controller, _)| controller);
        files.link(format!("{folder}/device"), controller);
        files.link(format!("/sys/class/hwmon/hwmon{}", self.number + 1), folder);
    }

    fn celsius(&self) -> u16 {
        43 + u16::try_from(self.number * 3 % 7).unwrap_or(0)
    }

    fn records(&self, files: &mut Files) {
        let Self { model, namespace, controller, .. } = self;
        let format = self.all.lba_format.min(u8::try_from(model.formats.len() - 1).unwrap_or(0));
        let identity = records::identify_controller(model, &self.serial, self.function.id);
        files.bytes(format!("/ioctl/{namespace}/identify-ns"), records::identify_namespace(model, format));
        files.bytes(format!("/ioctl/{namespace}/identify-ctrl"), identity);
        files
            .bytes(format!("/ioctl/{controller}/smart-log"), records::smart_log(self.celsius(), self.number));
    }

    fn partitions(&self, files: &mut Files, folder: &str) {
        for mount in self.mounts() {
            let part = format!("{folder}/{}", mount.part);
            let lines = [
                ("partition", mount.number.to_string()),
                ("start", mount.start.to_string()),
                ("size", mount.sectors.to_string()),
                ("dev", format!("259:{}", self.number * 8 + mount.number)),
                ("alignment_offset", "0".to_owned()),
                ("ro", "0".to_owned()),
            ];
            for (name, content) in lines {
                files.line(format!("{part}/{name}"), content);
            }
            files.folder(format!("{part}/holders"));
            files.link(format!("/sys/class/block/{}", mount.part), &part);
        }
    }

    /// One vector for the admin queue, one for each CPU.
    fn vectors(&self, files: &mut Files, vectors: &mut Vec<Vector>) {
        for queue in 0..=self.all.cpus() {
            let number = 60 + self.number * 40 + queue;
            let cpus =
                if queue == 0 { format!("0-{}", self.all.cpus() - 1) } else { (queue - 1).to_string() };
            files.line(format!("{}/msi_irqs/{number}", self.function.path), "msix");
            let served = if queue == 0 { "0".to_owned() } else { cpus };
            files.line(format!("/proc/irq/{number}/effective_affinity_list"), &served);
            vectors.push(Vector { number, name: format!("{}q{queue}", self.controller), cpus: served });
        }
    }
}

fn root_of(folder: &str) -> &str {
    folder.rsplit_once('/').map_or("/", |(above, _)| above)
}
