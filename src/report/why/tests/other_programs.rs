//! Programs beside the one that moves most.

use super::*;

#[test]
fn other_programs_that_keep_the_cpus_busy_are_named() {
    let all = CpuShares { usr: 95.0, sys: 4.0, idl: 1.0, ..CpuShares::default() };
    let two = |mut scene: Scene| {
        scene.rates.cpus.retain(|cpu, _| *cpu < 2);
        scene.all(all)
    };
    let fio = || two(Scene::reading()).process("fio", 1.2e9, 1.2e9, 0.3);
    fio().says("cpus", "Both CPUs are busy (usr 95 %, sys 4 %): the CPUs are the limit");
    let limit = "other programs are the limit, not the drives";
    let says = |scene: Scene, who: &str| {
        scene.says("other-programs", &format!("Both CPUs are busy, most of the time with {who}: {limit}"));
    };
    let rustc = |cpus| fio().process("rustc", 0.0, 0.0, cpus);
    says(rustc(0.9).process("rustc", 0.0, 1e6, 0.7), "rustc");
    says(rustc(0.9).process("ld", 0.0, 0.0, 0.7), "rustc and others");
    says(rustc(0.7).process("ld", 0.0, 0.0, 0.7), "ld and rustc");
    let many = |last: &str| {
        ["cc1", "rustc", "ld", "as"]
            .into_iter()
            .fold(fio(), |scene, name| scene.process(name, 0.0, 0.0, if name == last { 0.39 } else { 0.4 }))
    };
    says(many("ld").process("perl", 0.0, 0.0, 0.1), "as, cc1 and others");
    let numbered = (0..4).fold(fio(), |scene, at| scene.process(&format!("rustc-{at}"), 0.0, 0.0, 0.4));
    says(numbered, "rustc-*");
    // What waits for its reads is not slowed down by others.
    let waits = |command: &str| {
        fio().process("rustc", 0.0, 1e6, 1.6).threads(&[('D', command, "read", "folio_wait_bit_common", 0.9)])
    };
    let words = "fio waits in folio_wait_bit_common: buffered reads are the limit, they wait for the page cache to fill";
    waits("fio").says("page-cache", words);
    says(waits("tmux"), "rustc");
    // rustc writes what it makes: it is no program that hardly writes, and no limit of fio's.
    let mut writes = waits("fio");
    writes.activity.processes.as_mut().unwrap()[1].written_bytes = Some(40e6);
    writes.says("page-cache", words);
    let busy = "Both CPUs are busy (usr 95 %, sys 4 %): the CPUs are the limit";
    fio().process("gzip", 0.0, 30e6, 1.6).says("cpus", busy);
    fio().process("rustc", 0.0, 0.0, 0.9).says("cpus", busy);
    fio().process("kworker/0:1-kcryptd", 0.0, 0.0, 1.6).says("cpus", busy);
    fio().threads(&[('R', "kswapd*", "", "", 1.6)]).process("kswapd0", 0.0, 0.0, 1.6).says("cpus", busy);
    let mut one = fio().process("rustc", 0.0, 0.0, 0.9);
    one.rates.cpus.remove(&1);
    one.says("other-programs", &format!("The only CPU is busy, most of the time with rustc: {limit}"));
}

#[test]
fn a_thread_that_has_a_cpu_is_its_own_limit_beside_other_programs() {
    let all = CpuShares { usr: 60.0, sys: 39.0, idl: 1.0, ..CpuShares::default() };
    // Copies of a shell loop: short ones that ended, and the one of now.
    let copies = |cpus: f64| {
        let mut scene = Scene::reading().all(all).cpu(0, all).cpu(1, all);
        scene.rates.cpus.retain(|cpu, _| *cpu < 2);
        scene = scene.process("dd", 1.0e9, 1.0e9, 0.8 * cpus).process("dd", 0.2e9, 0.2e9, 0.2 * cpus);
        scene.activity.processes.as_mut().unwrap()[0].has_ended = true;
        scene.process("yes", 0.0, 0.0, 1.9 - cpus).threads(&[('R', "dd", "", "", 0.85)])
    };
    copies(0.92).says("threads", "dd keeps one CPU busy for 1.20 GB/s: one thread is the limit");
    assert_eq!(copies(0.6).sentence().rule, "other-programs", "yes keeps it from its CPU");
}
