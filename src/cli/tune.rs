//! `iodyno tune`: settings listed, set, undone, exported.

mod read_soon;
mod rebind;

use std::{
    io::{self, Write},
    sync::Arc,
};

use clap::{Args, Subcommand, ValueEnum};

pub(super) use read_soon::read_soon;

use super::{Complaint, Failure, Progress, Status, print, print_text, print_toned, say};
use crate::{
    machine::Machine,
    model::SettingId,
    report::tune as report,
    runtime::startup,
    source::{SysRoot, origin::Origin},
    store,
    text::Label,
    tune::{
        Actuator, Change, Device, Live, Outcome, SETTINGS, Setting, SettingsService, Wanted,
        change_log::{ChangeLog, Entry},
        journal::{Journal, JournalError, Purpose},
        persist,
        service::Report,
        settings,
        tuner::{TuneError, foreseen, is_whole, plan_undo},
        undo::{Restored, Step, Which, file_of},
    },
};

#[derive(Debug, Args)]
pub(super) struct TuneArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List settings with current, previous and default values
    List {
        /// Drive name, PCI address or `cpu`; default all drives and the CPUs
        device: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Change settings; print old, requested and actual value
    Set {
        /// Drive name, PCI address or `cpu`
        device: String,
        /// SETTING=VALUE, one or more
        #[arg(required = true, value_name = "SETTING=VALUE")]
        values: Vec<String>,
        /// Print commands and write nothing
        #[arg(long)]
        dry_run: bool,
        /// With `poll_queues`: rebind the drive to its driver; it must not be in use; asks for its name
        #[arg(long)]
        rebind: bool,
    },
    /// Restore settings to their values before iodyno
    Undo {
        /// Only this drive, PCI address or `cpu`; not with --all
        #[arg(conflicts_with = "all")]
        device: Option<String>,
        /// All devices, including kept changes; not with DEVICE
        #[arg(long)]
        all: bool,
        /// Also values that another program has changed since
        #[arg(long)]
        force: bool,
        /// Print commands and write nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Show all recorded changes
    Journal {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print changed settings as configuration that survives a reboot; installs nothing
    Export {
        /// Export format
        form: Form,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    /// udev rules
    Udev,
    /// Kernel command-line arguments
    KernelArgs,
}

struct Context {
    machine: Machine,
    /// `None` except for this machine.
    service: Option<Arc<SettingsService>>,
}

/// Status 1 when a value was not accepted.
pub(super) fn run(args: &TuneArgs, origin: &Origin) -> Result<Status, Failure> {
    let mut recovered = Report::new();
    match args.action {
        Action::List { .. } => note(origin, Need::GoOn)?,
        // With --force it undoes those of killed experiments itself.
        Action::Undo { dry_run: false, force: true, .. } => drop(damage(origin, Need::End)?),
        Action::Set { dry_run: false, .. } | Action::Undo { dry_run: false, .. } => {
            recovered = recover(origin, Need::End)?;
        }
        _ => note(origin, Need::End)?,
    }
    let root = super::open(origin)?;
    let (machine, _) = startup::machine(&*root);
    let service = startup::settings(origin, &root).filter(|_| origin.is_live());
    let context = Context { machine, service };
    match &args.action {
        Action::List { device, json } => context.list(device.as_deref(), *json),
        Action::Set { device, values, dry_run, rebind } => {
            context.set(device, values, *dry_run, rebind.then_some(&*root))
        }
        Action::Undo { device, all, force, dry_run } => {
            context.undo(device.as_deref(), *all, *force, *dry_run, &recovered)
        }
        Action::Journal { json } => context.show_journal(*json),
        Action::Export { form } => context.export(*form),
    }
}

/// A command's need of the journal: its reaction where that cannot be read or is not trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Reports it and goes on, also where reading it would take long.
    GoOnSoon,
    /// Reports it and goes on.
    GoOn,
    /// Ends.
    End,
}

/// Reports settings left changed by a killed experiment, for commands that only read.
pub(super) fn note(origin: &Origin, need: Need) -> Result<(), Failure> {
    let Some(service) = service(origin)? else { return Ok(()) };
    let read = |service: &SettingsService| Ok((service.damage()?, service.leftovers()?));
    let notes = if need == Need::GoOnSoon {
        match read_soon(&service, read) {
            Ok(notes) => notes,
            Err(line) => {
                say(&line);
                return Ok(());
            }
        }
    } else {
        read(&service)
    };
    if let Some((damage, leftovers)) = known(notes, need)? {
        damage.iter().chain(&leftovers).for_each(|line| say(line));
    }
    Ok(())
}

/// The settings of this machine; `None` for others. Reports a state folder that is not used.
fn service(origin: &Origin) -> Result<Option<Arc<SettingsService>>, Failure> {
    if !origin.is_live() {
        return Ok(None);
    }
    if let Some(line) = store::passed_over() {
        say(&line);
    }
    Ok(startup::settings(origin, &origin.open()?))
}

/// The result of reading the journal; `None` where it failed and the command goes on.
fn known<T>(read: Result<T, JournalError>, need: Need) -> Result<Option<T>, Failure> {
    match read {
        Err(error) if need != Need::End => {
            say(&error.to_string());
            Ok(None)
        }
        read => Ok(Some(read?)),
    }
}

/// Reports damaged lines of the journal. The service of this machine, if the journal can be read.
fn damage(origin: &Origin, need: Need) -> Result<Option<Arc<SettingsService>>, Failure> {
    let Some(service) = service(origin)? else { return Ok(None) };
    let Some(damage) = known(service.damage(), need)? else { return Ok(None) };
    for line in damage {
        say(&line);
    }
    Ok(Some(service))
}

/// Restores settings left changed by a killed experiment, for commands that write, and says what became of them.
pub(super) fn recover(origin: &Origin, need: Need) -> Result<Report, Failure> {
    let Some(service) = damage(origin, need)? else { return Ok(Report::new()) };
    let report = service.recover()?;
    if !report.is_empty() {
        // Standard output is for the command's result.
        let _ = write!(io::stderr(), "{}", report::recovered(&report));
    }
    Ok(report)
}

impl Context {
    /// The service, where settings can be changed.
    fn service(&self) -> Result<&SettingsService, Failure> {
        let fix = "leave out --demo, --open and --sysroot";
        let wrong = "only this machine can be tuned, not a demo, capture, text or folder";
        Ok(self.service.as_deref().ok_or_else(|| Complaint::new("tune", wrong, fix))?)
    }

    fn device(&self, name: &str) -> Result<Device, Failure> {
        let Ok(device) = name.parse::<Device>();
        let exists = match &device {
            Device::Drive(drive) => self.machine.drive(drive).is_some(),
            Device::Pci(address) => self.machine.pci.find(*address).is_some(),
            Device::Cpu => true,
        };
        if exists {
            return Ok(device);
        }
        let fix = "`iodyno drives` lists the drives, `iodyno tree` the PCI devices";
        Err(Complaint::new(name, "no such device", fix).into())
    }

    fn list(&self, device: Option<&str>, json: bool) -> Result<Status, Failure> {
        let devices = match device {
            Some(name) => vec![self.device(name)?],
            None => self
                .machine
                .drives
                .iter()
                .flat_map(|drive| [drive].into_iter().chain(self.machine.paths_of(drive)))
                .map(|drive| Device::Drive(drive.name.clone()))
                .chain([Device::Cpu])
                .collect(),
        };
        // Where the journal cannot be read, a list has no previous values.
        let change_log =
            self.service.as_ref().and_then(|service| service.change_log().ok()).unwrap_or_default();
        let rows = report::rows(&self.machine, &change_log, devices, self.service.is_some());
        if json { print(&report::json(&rows)) } else { print_toned(&report::table(&rows)) }
    }

    fn set(
        &self,
        device: &str,
        values: &[String],
        dry_run: bool,
        rebind: Option<&dyn SysRoot>,
    ) -> Result<Status, Failure> {
        let service = self.service()?;
        let device = self.device(device)?;
        let wanted = values.iter().map(|text| assignment(&device, text));
        let mut wanted = wanted.collect::<Result<Vec<_>, Failure>>()?;
        wanted.sort_by_key(|wanted| settings::rank(wanted.setting.id.0));
        // Everything is checked before anything is written.
        let planned = service.plan(&wanted)?;
        let new: Vec<Change> = planned.iter().filter(|change| change.from != change.to).cloned().collect();
        if let Some(root) = rebind {
            let [Wanted { setting: Setting { id: settings::POLL_QUEUES, .. }, value, .. }] = &wanted[..]
            else {
                let fix = "use poll_queues=N alone";
                return Err(Complaint::new("--rebind", "works with poll_queues only", fix).into());
            };
            return self.rebind(root, &device, value, new, dry_run);
        }
        let is_new = !new.is_empty() || !service.unkept(&planned, "")?.is_empty();
        if !dry_run && is_new && service.may_write {
            return apply(service, &self.machine, &wanted, planned);
        }
        for Wanted { device, setting, value } in &wanted {
            let is_its = |change: &&Change| change.setting == setting.id && change.to == *value;
            let commands: Vec<Change> = new.iter().filter(is_its).cloned().collect();
            print_text(&if commands.is_empty() {
                report::already_there(device, setting, value, None)
            } else {
                report::commands(&commands)
            })?;
        }
        if dry_run || new.is_empty() { Ok(Status::Done) } else { Err(needs_root("tune set")) }
    }

    /// A device, also one that is absent and has changes in the journal.
    fn changed_device(&self, name: &str, change_log: &ChangeLog) -> Result<Device, Failure> {
        let Ok(device) = name.parse::<Device>();
        let is_changed = change_log.entries.iter().any(|entry| entry.device.name == device.to_string());
        if is_changed { Ok(device) } else { self.device(name) }
    }

    fn undo(
        &self,
        device: Option<&str>,
        all: bool,
        force: bool,
        dry_run: bool,
        recovered: &Report,
    ) -> Result<Status, Failure> {
        let service = self.service()?;
        let change_log = service.change_log()?;
        let device = device.map(|name| self.changed_device(name, &change_log)).transpose()?;
        let name =
            |entry: &Entry| Label::new(&format!("{} {}", entry.device.name, entry.setting)).to_string();
        let is_meant =
            |entry: &&Entry| device.as_ref().is_none_or(|device| entry.device.name == device.to_string());
        let held: Vec<String> = change_log.held(&service.journal).filter(is_meant).map(name).collect();
        if !held.is_empty() {
            say(&format!("{} changed by an iodyno still running; undo it there or quit it", held.join(", ")));
        }
        let change_log = change_log.without_living(&service.journal, None);
        let change_log = if force { change_log.with_left() } else { change_log };
        let dead: Vec<&str> =
            change_log.sessions.keys().map(String::as_str).filter(|id| service.journal.is_dead(id)).collect();
        let which = match &device {
            Some(device) => Which::On(device),
            None if all => Which::All,
            None => Which::Sessions(&dead),
        };
        let scope = match &which {
            Which::On(device) => format!(" {device}"),
            Which::All => " --all".to_owned(),
            Which::Files(_) | Which::Sessions(_) => String::new(),
        };
        let nothing = || {
            let standing = service.standing(&change_log, &self.machine);
            match &which {
                Which::Sessions(_) if !standing.is_empty() => report::remaining(&standing),
                Which::On(device) => format!("{device}: {}\n", report::nothing_changed(change_log.unread)),
                _ => format!("{}\n", report::nothing_changed(change_log.unread)),
            }
        };
        let (steps, _) = plan_undo(&service.actuator, &change_log, &which, &self.machine, None);
        // What an undo has left to another program before is that one's.
        let is_let_go = |step: &Step| {
            change_log.entries.iter().any(|entry| entry.file == step.recorded && entry.is_let_go)
        };
        let reported = |(step, what): (Step, Restored)| match what {
            Restored::ModifiedExternally(now) if is_let_go(&step) => (step, Restored::LeftBefore(now)),
            what => (step, what),
        };
        if dry_run || !(steps.is_empty() || service.may_write) {
            let mut foreseen = foreseen(&service.actuator, &change_log, &which, &self.machine, None, force);
            foreseen.report = foreseen.report.into_iter().map(reported).collect();
            print_text(&report::undo_commands(&foreseen, &scope))?;
            if foreseen.report.is_empty() && held.is_empty() {
                print_text(&report::comments(&nothing()))?;
            }
            return if dry_run { Ok(Status::Done) } else { Err(needs_root("tune undo")) };
        }
        let tuner = service.open_to_undo(Purpose::Command)?;
        let restored = service.undo(&tuner, &which, force)?;
        let is_undone = restored.iter().any(|(_, what)| what.is_undone());
        if let Some(error) = tuner.unrecorded().filter(|_| is_undone) {
            say(&format!("the undo is not recorded, so the next undo repeats it: {error}"));
        }
        // Without this record, the next undo reports them in its exit status once more.
        let _ = service.leave(&[tuner.session()], &restored);
        // Nothing of an undo is left to keep, so its end needs no record.
        let _ = tuner.close();
        let restored: Vec<_> = restored.into_iter().map(reported).collect();
        print_text(&report::restored(&restored, &scope))
            .map_err(|failure| failure.after("the settings were restored"))?;
        if restored.is_empty() && recovered.is_empty() && held.is_empty() {
            print_text(&nothing())?;
        }
        // A damaged line may be a change that is not restored.
        let is_lost = change_log.lost_change;
        let is_over =
            |(_, what): &(Step, Restored)| what.is_whole() || matches!(what, Restored::LeftBefore(_));
        let is_whole = restored.iter().all(is_over) && is_whole(recovered) && held.is_empty() && !is_lost;
        Ok(if is_whole { Status::Done } else { Status::No })
    }

    fn show_journal(&self, json: bool) -> Result<Status, Failure> {
        let journal = Journal::new(store::folder());
        let contents = journal.contents()?;
        let (unread, records) = (contents.unread(), contents.records);
        let boot = self.machine.host.boot_id.value().map_or("", Label::as_str);
        if json {
            return print(&report::journal_json(&records));
        }
        print_text(&report::journal(&records, unread, boot, &journal.path()))
    }

    fn export(&self, form: Form) -> Result<Status, Failure> {
        let change_log =
            self.service.as_ref().map_or(Ok(ChangeLog::default()), |service| service.change_log())?;
        // Files that are no settings are not read.
        let now = |entry: &Entry| Live.read(&file_of(entry, &self.machine).ok()?).ok();
        let export = match form {
            Form::Udev => persist::udev_rules(&self.machine, &change_log, now),
            Form::KernelArgs => persist::kernel_arguments(&change_log, now),
        };
        print(&report::export(&export, change_log.unread))
    }
}

/// Applies planned changes in order, and keeps them.
fn apply(
    service: &SettingsService,
    machine: &Machine,
    wanted: &[Wanted],
    planned: Vec<Change>,
) -> Result<Status, Failure> {
    let tuner = service.open(Purpose::Command)?;
    let (mut all, mut made, mut failed) = (true, Vec::new(), None);
    let (there, new): (Vec<Change>, Vec<Change>) =
        planned.iter().cloned().partition(|change| change.from == change.to);
    let mut set = Vec::new();
    // Output that cannot be written stops no change in the middle.
    let mut out = Progress::new(false);
    for (change, outcome) in service.apply(&tuner, planned) {
        let Ok(outcome) = outcome.map_err(|error| failed = Some(error)) else { break };
        all &= outcome == Outcome::Accepted;
        out.print(&report::applied(&change, &outcome, &tuner.along()));
        if !outcome.is_without_effect() {
            set.push(change.setting);
        }
        made.push(change);
    }
    let mut taken_over = Vec::new();
    if failed.is_none() {
        let there: Vec<Change> =
            there.into_iter().filter(|change| made.iter().all(|made| made.file != change.file)).collect();
        let mut take_over = || {
            for (change, is_running) in service.unkept(&there, tuner.session())? {
                tuner.apply(machine, change)?;
                taken_over.push((change.setting, is_running));
            }
            Ok(())
        };
        failed = take_over().err();
    }
    if let Some(error) = failed {
        let unrecorded = match &error {
            TuneError::Unrecorded { file, .. } => Some(file),
            _ => None,
        };
        let is_missing = |change: &&Change| {
            let mut written = made.iter().map(|made| &made.file).chain(unrecorded);
            written.all(|file| *file != change.file)
        };
        let missing: Vec<SettingId> = new.iter().filter(is_missing).map(|change| change.setting).collect();
        let is_half = !set.is_empty() || unrecorded.is_some();
        let halves = if is_half { halves(&set, &missing) } else { String::new() };
        // What was set is not kept, so that `tune undo` restores it; the journal may have no room for the end.
        let _ = tuner.close();
        return Err(Failure::from(error).and(&halves));
    }
    tuner.keep()?;
    let is_made = |id: SettingId| made.iter().any(|change| change.setting == id);
    for Wanted { device, setting, value } in wanted.iter().filter(|one| !is_made(one.setting.id)) {
        let taken_over = taken_over.iter().filter(|(id, _)| *id == setting.id).map(|(_, running)| *running);
        out.print(&report::already_there(device, setting, value, taken_over.max()));
    }
    if let Some(failure) = out.failed {
        return Err(failure.after("the settings were changed"));
    }
    Ok(if all { Status::Done } else { Status::No })
}

/// Which settings a command that failed has set before, and which it has not set.
fn halves(set: &[SettingId], missing: &[SettingId]) -> String {
    let names = |ids: &[SettingId]| {
        let mut names: Vec<_> = ids.iter().map(|id| id.0).collect();
        names.dedup();
        (!names.is_empty()).then(|| names.join(" and "))
    };
    let set = names(set).map(|names| format!(", {names} set before (`iodyno tune undo` restores it)"));
    let missing = names(missing).map(|names| format!(", {names} not set"));
    [set, missing].into_iter().flatten().collect()
}

fn needs_root(command: &str) -> Failure {
    let fix = "run it with sudo, or run the printed commands as root";
    Complaint::new(command, "needs root; nothing was changed", fix).into()
}

fn assignment(device: &Device, text: &str) -> Result<Wanted, Failure> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| Complaint::new(text, "is not SETTING=VALUE", "use scheduler=none"))?;
    let row = settings::find(name).ok_or_else(|| {
        let known: Vec<_> = SETTINGS.iter().map(|row| row.id.0).collect();
        Complaint::new(name, "no such setting", format!("there are {}", known.join(" ")))
    })?;
    Ok(Wanted::new(device.clone(), row, value))
}
