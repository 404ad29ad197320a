//! What `bench --fio` does with each option of fio's job files.

use std::{collections::HashMap, sync::LazyLock};

use crate::model::{
    fio::ValueError,
    options::{OPTIONS, WorkloadOption},
};

/// Treatment of an option of a job file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// An option of `iodyno bench`.
    Taken,
    /// No effect on reads and their timing.
    Same,
    /// The same, but fio also does something else.
    Noted,
    /// Changes reads or their timing, except with one of these values.
    Only(&'static [&'static str]),
    /// Changes reads or their timing.
    Unsupported,
    /// fio 3.33 has no such option.
    Unknown,
}

/// `0` in the spellings of numbers, sizes, times and switches.
const OFF: Rule = Rule::Only(&["0", "0s", "false", "no", "off"]);

/// Options of fio 3.33 (`fio --cmdhelp`, `--enghelp` of the engines here) that `iodyno bench` does not have itself.
const RULES: [(Rule, &str); 19] = [
    // Names and order of sections: used by the parser.
    (Rule::Same, "name description stonewall new_group group_reporting thread"),
    // Seeds: offsets have the same distribution as fio's.
    (Rule::Same, "randrepeat allrandrepeat norandommap softrandommap"),
    // Parts of other options that are refused.
    (
        Rule::Same,
        "rate_cycle rate_ignore_thinktime thinktime_spin thinktime_blocks thinktime_blocks_type \
         thinktime_iotime latency_window latency_percentile latency_run flow_id flow_sleep \
         steadystate_duration steadystate_ramp_time cgroup_nodelete cgroup_weight read_iolog_chunked \
         replay_no_stall replay_redirect replay_scale replay_align replay_time_scale replay_skip \
         merge_blktrace_scalars merge_blktrace_iters zonecapacity read_beyond_wp max_open_zones \
         job_max_open_zones ignore_zone_limits zone_reset_threshold zone_reset_frequency \
         file_service_type openfiles unique_filename cmdprio_class cmdprio",
    ),
    // Content and creation of files laid out.
    (
        Rule::Same,
        "fallocate create_serialize create_fsync create_on_open zero_buffers refill_buffers \
         scramble_buffers buffer_pattern buffer_compress_percentage buffer_compress_chunk \
         dedupe_percentage dedupe_mode dedupe_working_set_percentage dedupe_global",
    ),
    // Writes, trims and verification, which are refused.
    (
        Rule::Same,
        "fdatasync write_barrier sync_file_range fsync_on_close sync atomic write_hint serialize_overlap \
         verify_interval verify_offset verify_pattern verify_fatal verify_dump verify_async \
         verify_backlog verify_backlog_batch verify_state_load verify_state_save trim_verify_zero \
         trim_backlog trim_backlog_batch allow_mounted_write",
    ),
    // Noted by the parser.
    (Rule::Same, "invalidate fadvise_hint"),
    (
        Rule::Noted,
        "unlink unlink_each_loop exitall_on_error continue_on_error ignore_error error_dump clocksource \
         gtod_cpu mem hugepage-size lockmem numa_mem_policy sqthread_poll_cpu nonvectored userspace_reap \
         write_iolog per_job_logs write_bw_log bwavgtime write_lat_log write_iops_log iopsavgtime \
         log_entries log_avg_msec log_hist_msec log_hist_coarseness write_hist_log log_max_value \
         log_offset log_prio log_compression log_compression_cpus log_store_compressed log_unix_epoch \
         log_alternate_epoch log_alternate_epoch_clock_id block_error_percentiles stats clat_percentiles \
         lat_percentiles slat_percentiles percentile_list significant_figures disk_util disable_lat \
         disable_clat disable_slat disable_bw_measurement unified_rw_reporting unit_base",
    ),
    (
        OFF,
        "bs_unaligned bs_is_seq_rand iodepth_low fill_device file_append offset_align offset_increment \
         number_ios startdelay verify_only experimental_verify zonesize zonerange zoneskip thinktime rate \
         rate_min rate_iops_min max_latency latency_target create_only pre_read exitall flow nice nowait \
         force_async cmdprio_percentage",
    ),
    (Rule::Only(&["1"]), "loops nrfiles allow_file_create"),
    (Rule::Only(&["100"]), "percentage_random"),
    (Rule::Only(&["random"]), "random_distribution"),
    (Rule::Only(&["tausworthe", "tausworthe64"]), "random_generator"),
    (Rule::Only(&["sequential"]), "rw_sequencer"),
    (Rule::Only(&["inline"]), "io_submit_mode"),
    (Rule::Only(&["linear"]), "rate_process"),
    (Rule::Only(&["none"]), "zonemode lockfile"),
    (Rule::Only(&["nvme"]), "cmd_type"),
    (Rule::Only(&["1024"]), "kb_base"),
    (
        Rule::Unsupported,
        "wait_for filename_format opendir ba bsrange iodepth_batch_complete_max read_iolog \
         merge_blktrace_file exec_prerun exec_postrun ioscheduler prio prioclass cpumask exit_what \
         profile cgroup uid gid steadystate cmdprio_bssplit",
    ),
];

/// fio's second names of options that are not in `OPTIONS`.
const ALIASES: [(&str, &str); 14] = [
    ("blockalign", "ba"),
    ("blocksize_unaligned", "bs_unaligned"),
    ("blocksize_range", "bsrange"),
    ("disable_bw", "disable_bw_measurement"),
    ("fill_fs", "fill_device"),
    ("iomem", "mem"),
    ("nr_files", "nrfiles"),
    ("ratecycle", "rate_cycle"),
    ("ratemin", "rate_min"),
    ("ss", "steadystate"),
    ("ss_dur", "steadystate_duration"),
    ("ss_ramp", "steadystate_ramp_time"),
    ("wait_for_previous", "stonewall"),
    ("hugepage_size", "hugepage-size"),
];

/// Options that make fio write, with their value that does not.
pub(super) const REFUSED: [(&str, &str); 9] = [
    ("overwrite", "0"),
    ("do_verify", "0"),
    ("verify", "none"),
    ("rwmixwrite", "0"),
    ("rwmixread", "100"),
    ("fsync", "0"),
    ("end_fsync", "0"),
    ("trim_percentage", "0"),
    ("allow_mounted_write", "0"),
];

/// Accepts values of [`REFUSED`] that do not write.
pub(super) fn refuse(option: &str, value: &str) -> Result<(), ValueError> {
    let harmless = REFUSED.iter().any(|(refused, harmless)| *refused == option && *harmless == value);
    if harmless || matches!(value, "0" | "none") {
        return Ok(());
    }
    Err(ValueError::new("is for writing, and iodyno only reads", "leave it out"))
}

/// Options of `iodyno bench` that job files have too.
pub(super) fn taken() -> impl Iterator<Item = &'static str> {
    let refused = REFUSED.iter().map(|(option, _)| *option).filter(|option| listed(option).is_none());
    OPTIONS.iter().map(|option| option.name).chain(["filename", "directory", "filesize"]).chain(refused)
}

/// The first name of an option with several names.
pub(super) fn canonical(option: &str) -> &str {
    let of_row = |row: &&WorkloadOption| row.aliases.contains(&option);
    let row = OPTIONS.iter().find(of_row).map(|row| row.name);
    row.or_else(|| ALIASES.iter().find(|(alias, _)| *alias == option).map(|(_, name)| *name))
        .unwrap_or(option)
}

fn listed(option: &str) -> Option<Rule> {
    static RULE_OF: LazyLock<HashMap<&str, Rule>> = LazyLock::new(|| {
        let rules = RULES.iter().flat_map(|(rule, options)| options.split_whitespace().map(|it| (it, *rule)));
        rules.collect()
    });
    RULE_OF.get(option).copied()
}

/// Treatment of an option by its first name; `buffered` is the opposite of `direct`.
pub(super) fn rule(option: &str) -> Rule {
    let is_taken = option == "buffered" || taken().any(|taken| taken == option);
    listed(option).unwrap_or(if is_taken { Rule::Taken } else { Rule::Unknown })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::model::options::find;

    #[test]
    fn every_option_has_one_rule() {
        let mut seen = HashSet::new();
        for option in RULES.iter().flat_map(|(_, options)| options.split_whitespace()).chain(taken()) {
            assert!(seen.insert(option), "{option} is listed twice");
        }
        for (alias, name) in ALIASES {
            assert!(seen.contains(name) && find(name).is_none(), "{name}");
            assert!(seen.insert(alias), "{alias}");
        }
        for alias in OPTIONS.iter().flat_map(|option| option.aliases) {
            assert!(seen.insert(alias), "{alias}");
        }
    }
}
