//! [`Bottleneck`]: places that carry less than the drives below them could read.

use super::flow::{Place, Places};
use crate::{
    machine::{Drive, Machine},
    model::{DriveName, Limit, Limits, NodeIndex},
};

/// A place at this share of its limit counts as full.
pub const FULL: f64 = 0.97;
/// One that was full stays so above this share: a load that varies by a per cent does not change what is said each second.
const STAYS_FULL: f64 = 0.94;

/// What drives read and write now, bytes per second.
pub type Moves<'a> = &'a dyn Fn(&[DriveName]) -> [f64; 2];

/// A direction; PCI Express carries as much in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// From the drives.
    Read,
    /// To the drives.
    Write,
}

impl Direction {
    const ALL: [Self; 2] = [Self::Read, Self::Write];

    const fn of(self, [read, write]: [f64; 2]) -> f64 {
        match self {
            Self::Read => read,
            Self::Write => write,
        }
    }
}

/// A place that limits the drives that share it.
#[derive(Debug, Clone, PartialEq)]
pub struct Bottleneck {
    /// The node whose link is the limit, or a root complex itself.
    pub node: NodeIndex,
    /// Drives it limits: those under load when there is load, else all below.
    pub drives: Vec<DriveName>,
    /// Its limit, bytes per second.
    pub limit: f64,
    /// Rate of the drives without it, bytes per second.
    pub possible: f64,
    /// Source of the limit.
    pub source: Limit,
    /// Its current rate in `direction`, bytes per second; `None` without a load.
    pub load: Option<f64>,
    /// The direction with more load against the limit.
    pub direction: Direction,
    /// Whether it was full in this direction at the look before.
    pub was_full: bool,
}

impl Bottleneck {
    /// Lost rate, bytes per second.
    pub fn cost(&self) -> f64 {
        self.possible - self.limit
    }

    /// Whether its load reaches its limit, or has reached it and is still near.
    pub fn is_full(&self) -> bool {
        let share = if self.was_full { STAYS_FULL } else { FULL };
        self.load.is_some_and(|load| load >= share * self.limit)
    }
}

/// Bottlenecks among the places of this machine with these limits, after a look that found those `before`: full ones first, then
/// by cost; of several on one path the narrowest. Places without a known limit are none. `moves` is given under load; the
/// direction that is fuller counts.
pub(crate) fn find_in(
    places: &Places,
    machine: &Machine,
    limits: &Limits,
    moves: Option<Moves>,
    before: &[Bottleneck],
) -> Vec<Bottleneck> {
    let of_drive = |drive: &Drive| moves.map(|moves| moves(std::slice::from_ref(&drive.name)));
    let moved: Vec<Option<[f64; 2]>> = machine.drives.iter().map(of_drive).collect();
    let in_direction = |at: usize, place: &Place, direction: Direction| {
        let moves_of = |index: usize| moved.get(index).copied().flatten();
        let is_used = |index: usize| moves_of(index).is_none_or(|moves| direction.of(moves) > 1e6);
        let drives = places.drives(machine, at).filter(|(index, _)| is_used(*index));
        let drives: Vec<DriveName> = drives.map(|(_, drive)| drive.name.clone()).collect();
        // The link of a single device is not shared.
        if drives.len() < 2 || !places.is_shared(at) {
            return None;
        }
        let possible = places.held_back(machine, limits, at, &is_used)?;
        let load = moves.map(|moves| direction.of(moves(&drives)));
        let (limit, source) = (place.limit.bytes_per_second.0, place.limit.clone());
        let is_same = |one: &Bottleneck| {
            one.node == place.node && one.direction == direction && one.source == place.limit
        };
        let was_full = before.iter().any(|one| is_same(one) && one.is_full());
        Some(Bottleneck { node: place.node, drives, limit, possible, source, load, direction, was_full })
    };
    let fuller = |(at, place): (usize, &Place)| {
        let directions = if moves.is_some() { &Direction::ALL[..] } else { &[Direction::Read][..] };
        let found = directions.iter().filter_map(|direction| in_direction(at, place, *direction));
        found.reduce(|one, other| if other.load > one.load { other } else { one })
    };
    let mut found: Vec<Bottleneck> = places.list.iter().enumerate().filter_map(fuller).collect();
    found.sort_by(|a, b| a.limit.total_cmp(&b.limit));
    let mut ways: Vec<Vec<DriveName>> = Vec::new();
    found.retain(|bottleneck| {
        let is_new = !ways.contains(&bottleneck.drives);
        ways.push(bottleneck.drives.clone());
        is_new
    });
    found.sort_by(|a, b| b.is_full().cmp(&a.is_full()).then(b.cost().total_cmp(&a.cost())));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{capacity, source};

    fn find(machine: &Machine, limits: &Limits, moves: Option<Moves>) -> Vec<Bottleneck> {
        find_in(&Places::new(machine, limits), machine, limits, moves, &[])
    }

    #[test]
    fn a_place_is_full_by_its_fuller_direction() {
        let machine = source::testing::demo("threadripper-before");
        let limits = capacity::limits(&machine);
        // 8 drives share 0000:40, which carries 39.4 GB/s in each direction.
        let full = |[read, write]: [f64; 2]| {
            let moves = move |names: &[DriveName]| [read, write].map(|bytes| bytes * names.len() as f64);
            let found = find(&machine, &limits, Some(&moves));
            let found = found.into_iter().find(Bottleneck::is_full)?;
            Some((machine.pci.node(found.node).address.to_string(), found.direction))
        };
        let root = "0000:40".to_owned();
        assert_eq!(full([4.95e9, 0.1e9]), Some((root.clone(), Direction::Read)));
        assert_eq!(full([0.1e9, 4.95e9]), Some((root.clone(), Direction::Write)));
        assert_eq!(full([0.0, 4.95e9]), Some((root, Direction::Write)), "writes alone");
        assert_eq!(full([2.5e9, 2.5e9]), None, "half of each direction fills neither");
    }

    #[test]
    fn a_full_place_stays_full_until_its_load_clearly_falls() {
        let machine = source::testing::demo("threadripper-before");
        let limits = capacity::limits(&machine);
        let mut found = Vec::new();
        let mut look = |part: f64| {
            // 8 drives share the 39.4 GB/s of 0000:40.
            let moves = move |names: &[DriveName]| [part * 39.4e9 / 8.0 * names.len() as f64, 0.0];
            found = find_in(&Places::new(&machine, &limits), &machine, &limits, Some(&moves), &found);
            let is_it = |one: &&Bottleneck| machine.pci.node(one.node).address.to_string() == "0000:40";
            found.iter().find(is_it).unwrap().is_full()
        };
        assert_eq!(
            [0.96, 0.98, 0.96, 0.95, 0.93, 0.96].map(&mut look),
            [false, true, true, true, false, false]
        );
    }

    #[test]
    fn drives_on_several_ports_of_an_intel_chipset_share_dmi() {
        let machine = source::testing::demo("x570");
        let machine = capacity::chipset::testing::behind_a_b660(machine);
        let limits = capacity::limits(&machine);
        let found = find(&machine, &limits, None);
        let dmi = found.iter().find(|found| found.drives.len() == 4).unwrap();
        assert_eq!(machine.pci.node(dmi.node).address.to_string(), "0000:00:1f.0");
        assert!((7.0e9..8.0e9).contains(&dmi.limit), "{dmi:?}");
    }
}
