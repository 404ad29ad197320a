//! Redacts a [`Machine`] and lines of text, for sheets, which are made of data, not of files.

use std::collections::BTreeSet;

use super::{Redactor, arguments, boot_files, forms::is_in, kernel_tables, pseudonyms::Shape, tables};
use crate::{
    machine::{
        Drive, DriveKind, Host, LayerKind, Layers, Machine, Measured, Process, Processors, Queue, Use, User,
        queue::Choice,
    },
    model::{DriveName, Problem, Reading},
    text::Label,
};

/// Replaces in the rules of a machine what sets nothing: other arguments, words and values that no setting takes may be secrets.
/// Names and paths stay: these are the owner's outputs. No finding is lost: the kernel refuses such a value.
pub(crate) fn hide_unknown_values(machine: &mut Machine) {
    let schedulers = machine.drives.iter().filter_map(|drive| drive.queue.scheduler.value());
    let of_drives = schedulers.flat_map(|choice| &choice.choices);
    let of_cpus = machine.processors.cpus.iter().flat_map(|cpu| {
        [&cpu.governors, &cpu.energy_preferences].into_iter().filter_map(Reading::value).flatten()
    });
    let offered: BTreeSet<Label> = of_drives.chain(of_cpus).cloned().collect();
    let mut redactor = Redactor::new();
    for rule in &mut machine.rules {
        let is_offered = |word: &str| offered.iter().any(|offer| *offer == *word);
        boot_files::words_of_rule(&mut redactor, rule, is_offered);
    }
}

impl Redactor {
    /// Learns the machine's serials, host name and users.
    pub(crate) fn of_machine(machine: &Machine) -> Self {
        let mut redactor = Self::new();
        let mut learn = |path: &str, text: &Label| redactor.learn(path, text.as_str().as_bytes());
        machine.host.name.value().into_iter().for_each(|name| learn("/proc/sys/kernel/hostname", name));
        machine.host.command_line.value().into_iter().for_each(|line| learn("/proc/cmdline", line));
        let names = machine.drives.iter().map(|drive| &drive.name).chain(machine.layers.devices.keys());
        for name in names {
            redactor.learn_device(name.as_str());
        }
        for drive in &machine.drives {
            redactor.learn_drive(drive);
        }
        redactor
    }

    fn learn_drive(&mut self, drive: &Drive) {
        let mut learn = |path: &str, text: &Label| self.learn(path, text.as_str().as_bytes());
        drive.serial.value().into_iter().for_each(|serial| learn("serial", serial));
        drive.backing_file.iter().for_each(|file| learn("backing_file", file));
        for device in drive.used_by.iter().flat_map(|used| &used.chain) {
            self.learn_device(device.as_str());
        }
        let mut learn = |path: &str, text: &Label| self.learn(path, text.as_str().as_bytes());
        for used in &drive.used_by {
            let seen = match &used.by {
                User::Mount { point, .. } | User::HiddenMount { seen: Some((point, _)), .. } => Some(point),
                User::SwapFile(file) => Some(file),
                _ => None,
            };
            if let Some(path) = seen {
                learn("backing_file", path);
            }
        }
    }

    /// The machine with pseudonyms.
    #[must_use]
    pub(crate) fn machine(&mut self, machine: &Machine) -> Machine {
        let mut machine = machine.clone();
        self.host(&mut machine.host);
        for node in &mut machine.pci.nodes {
            node.path = self.sweep(&node.path).into();
            node.slot = node.slot.take().map(|slot| self.outside(&slot));
            for text in [&mut node.local_cpus, &mut node.iommu_type, &mut node.power_control] {
                self.words(text);
            }
            node.aer_correctable = node.aer_correctable.clone().map(|errors| {
                let mut name = |name: &Label| Label::new(&kernel_tables::attribute(self, name.as_str()));
                errors.iter().map(|(error, count)| (name(error), *count)).collect()
            });
        }
        for drive in machine.drives.iter_mut().chain(&mut machine.paths) {
            self.drive(drive);
        }
        self.layers(&mut machine.layers);
        self.processors(&mut machine.processors);
        machine.cuts = machine.cuts.iter().map(|cut| self.problem(cut)).collect();
        for rule in &mut machine.rules {
            boot_files::rule(self, rule);
        }
        for found in &mut machine.measured {
            let run = match found {
                Measured::RootComplex(limit) => &mut limit.run,
                Measured::Reads(cost) => &mut cost.run,
                Measured::Exceeded(exceeded) => &mut exceeded.run,
                Measured::Alone(alone) => {
                    alone.model = Label::new(&self.sweep(alone.model.as_str()));
                    alone.serial = Label::new(&self.whole(alone.serial.as_str(), Shape::Text));
                    &mut alone.run
                }
            };
            *run = self.outside(run);
        }
        machine
    }

    /// A finished sheet, which contains no names but may contain ids and addresses.
    #[must_use]
    pub(crate) fn finished(&mut self, text: &str) -> String {
        let text = self.sweep(text);
        super::patterns::addresses(&mut self.pseudonyms, &text)
    }

    /// A problem without names in its path and without what it quotes of a file.
    #[must_use]
    pub(crate) fn problem(&mut self, problem: &Problem) -> Problem {
        let (path, reason) = (self.sweep(&problem.path), self.reason(&problem.reason));
        Problem { path: path.into(), reason: reason.into(), kind: problem.kind }
    }

    fn processors(&mut self, processors: &mut Processors) {
        let mut words = |text: &Label| Label::new(&kernel_tables::attribute(self, text.as_str()));
        for cpu in &mut processors.cpus {
            for text in [&mut cpu.governor, &mut cpu.driver, &mut cpu.energy_preference] {
                *text = text.clone().map(|text| words(&text));
            }
            for choices in [&mut cpu.governors, &mut cpu.energy_preferences] {
                *choices = choices.clone().map(|choices| choices.iter().map(&mut words).collect());
            }
        }
        for state in &mut processors.idle_states {
            state.name = state.name.clone().map(|name| words(&name));
        }
        for state in processors.vulnerabilities.values_mut() {
            let sentence = |text: Label| Label::new(&kernel_tables::vulnerability(self, text.as_str()));
            *state = state.clone().map(sentence);
        }
    }

    fn host(&mut self, host: &mut Host) {
        let left_out = |reading: &Reading<Label>| Reading::absent(reading.path(), "left out");
        host.name = left_out(&host.name);
        host.boot_id = left_out(&host.boot_id);
        let line = |line: Label| Label::new(&arguments::command_line(self, line.as_str()));
        host.command_line = host.command_line.clone().map(line);
        let name = |name: Label| Label::new(&kernel_tables::distribution_name(self, name.as_str()));
        host.distribution = host.distribution.clone().map(name);
        for text in [&mut host.kernel, &mut host.board, &mut host.product, &mut host.bios] {
            *text = text.clone().map(|text| self.outside(&text));
        }
        for limit in &mut host.io_limits {
            limit.path = kernel_tables::control_groups(self, &limit.path).into();
        }
        if let Some(problem) = host.io_uring.problem() {
            host.io_uring = self.problem(&problem).into();
        }
        host.module_parameters.values_mut().for_each(|parameter| self.words(parameter));
        host.modules = host.modules.clone().map(|mut modules| {
            for module in &mut modules {
                module.locator = self.outside(&module.locator);
                module.bank = self.outside(&module.bank);
            }
            modules
        });
    }

    fn drive(&mut self, drive: &mut Drive) {
        drive.name = self.device(&drive.name);
        for partition in &mut drive.partitions {
            partition.name = self.outside(&partition.name);
        }
        self.queue(&mut drive.queue);
        drive.path = self.sweep(&drive.path).into();
        drive.serial =
            drive.serial.clone().map(|serial| Label::new(&self.whole(serial.as_str(), Shape::Text)));
        drive.wwid = Reading::absent(drive.wwid.path(), "left out");
        for text in [&mut drive.model, &mut drive.firmware] {
            *text = text.clone().map(|text| Label::new(&self.sweep(text.as_str())));
        }
        if drive.kind == DriveKind::Md {
            // The model of an array is its level.
            let level = |level: Label| Label::new(&kernel_tables::attribute(self, level.as_str()));
            drive.model = drive.model.clone().map(level);
        }
        if drive.kind == DriveKind::Dm {
            // The model of device mapper is the volume's name.
            let volume = |name: Label| Label::new(&tables::volume(self, name.as_str()));
            drive.model = drive.model.clone().map(volume);
        }
        for text in [&mut drive.device_number, &mut drive.latency_tolerance_us] {
            self.words(text);
        }
        if let Some(nvme) = &mut drive.nvme {
            self.words(&mut nvme.state);
            nvme.controller_path = self.sweep(&nvme.controller_path).into();
        }
        drive.backing_file = drive.backing_file.take().map(|file| self.path(&file));
        drive.users_unread = drive.users_unread.iter().map(|unread| self.problem(unread)).collect();
        for used in &mut drive.used_by {
            let chain = used.chain.iter().map(|device| self.outside(device)).collect();
            *used = Use { chain, by: self.user(&used.by) };
        }
    }

    /// The kernel's name of a device: of an array it may contain the user's.
    pub(super) fn device(&mut self, name: &DriveName) -> DriveName {
        // Of a stored run it may be one that is gone.
        self.learn_device(name.as_str());
        DriveName(Label::new(&self.sweep(name.as_str())))
    }

    fn queue(&mut self, queue: &mut Queue) {
        let mut words = |text: &Label| Label::new(&kernel_tables::attribute(self, text.as_str()));
        queue.scheduler = queue.scheduler.clone().map(|Choice { current, choices }| Choice {
            current: words(&current),
            choices: choices.iter().map(&mut words).collect(),
        });
        queue.write_cache = queue.write_cache.clone().map(|text| words(&text));
        for other in queue.others.values_mut() {
            *other = other.clone().map(|text| words(&text));
        }
    }

    fn layers(&mut self, layers: &mut Layers) {
        layers.devices = std::mem::take(&mut layers.devices)
            .into_iter()
            .map(|(name, layer)| (self.device(&name), layer))
            .collect();
        for layer in layers.devices.values_mut() {
            self.layer(&mut layer.kind);
            for below in &mut layer.below {
                *below = self.outside(below);
            }
        }
        for mount in &mut layers.file_systems {
            for device in &mut mount.devices {
                *device = self.outside(device);
            }
            mount.kind = Label::new(&tables::file_system(self, mount.kind.as_str()));
            mount.point = self.path(&mount.point);
            for option in &mut mount.options {
                *option = Label::new(&tables::mount_option(self, option.as_str()));
            }
        }
    }

    fn layer(&mut self, kind: &mut LayerKind) {
        match kind {
            LayerKind::Md(md) => {
                for text in [&mut md.level, &mut md.state, &mut md.sync_action, &mut md.bitmap] {
                    self.words(text);
                }
                md.members.iter_mut().for_each(|member| self.words(&mut member.state));
                for member in &mut md.members {
                    member.name = self.outside(&member.name);
                }
            }
            LayerKind::Dm(dm) => {
                dm.name = dm.name.clone().map(|name| Label::new(&tables::volume(self, name.as_str())));
                dm.maker = dm.maker.take().filter(|maker| is_in(tables::MAKERS, maker.as_str()));
                dm.targets = dm.targets.clone().map(|mut targets| {
                    let word =
                        |text: &mut Label| *text = Label::new(&kernel_tables::dm_table(self, text.as_str()));
                    let words = targets.iter_mut();
                    words
                        .flat_map(|target| [&mut target.kind].into_iter().chain(&mut target.options))
                        .for_each(word);
                    targets
                });
            }
            LayerKind::Bcache { mode, state } => [mode, state].into_iter().for_each(|text| self.words(text)),
            LayerKind::Zram { algorithm } => self.words(algorithm),
            LayerKind::Loop { .. } | LayerKind::Other => {}
        }
    }

    fn user(&mut self, user: &User) -> User {
        match user.clone() {
            User::Mount { point, filesystem } => {
                let filesystem = Label::new(&tables::file_system(self, filesystem.as_str()));
                User::Mount { point: self.path(&point), filesystem }
            }
            User::HiddenMount { filesystem, seen } => {
                let filesystem = Label::new(&tables::file_system(self, filesystem.as_str()));
                let seen = seen.map(|(point, process)| (self.path(&point), self.process(&process)));
                User::HiddenMount { filesystem, seen }
            }
            User::SwapFile(file) => User::SwapFile(self.path(&file)),
            // The kind of the target is a fixed word.
            User::Export(target) => User::Export(match target.as_str().split_once(' ') {
                Some((kind, name)) => Label::new(&format!("{kind} {}", tables::words(self, name))),
                None => self.path(&target),
            }),
            User::Pool(pool) => User::Pool(self.path(&pool)),
            User::Open(process) => User::Open(self.process(&process)),
            plain @ (User::Swap | User::Holder) => plain,
        }
    }

    fn process(&mut self, process: &Process) -> Process {
        Process { id: process.id, command: Label::new(&tables::program(self, process.command.as_str())) }
    }

    /// Words of the kernel.
    fn words(&mut self, reading: &mut Reading<Label>) {
        *reading = reading.clone().map(|text| Label::new(&kernel_tables::attribute(self, text.as_str())));
    }

    /// Free text.
    fn outside(&mut self, text: &Label) -> Label {
        Label::new(&self.worldly(text.as_str()))
    }

    fn path(&mut self, path: &Label) -> Label {
        Label::new(&tables::words(self, path.as_str()))
    }
}
