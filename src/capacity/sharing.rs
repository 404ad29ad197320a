//! Max-min fair rates of flows that share resources.

/// A resource that several flows share.
#[derive(Debug, Clone, PartialEq)]
pub struct Shared {
    /// Its capacity.
    pub capacity: f64,
    /// The flows that use it, each with the capacity that a unit of its rate takes.
    pub draws: Vec<(usize, f64)>,
}

/// The limit of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Its own ceiling.
    Own,
    /// The resource of that index.
    Shared(usize),
}

/// The fair rates of flows with these ceilings: all grow alike until a resource is full; its flows stop there, and
/// the others go on. An unlimited flow gets `f64::INFINITY`.
pub fn fair(ceilings: &[f64], shared: &[Shared]) -> Vec<(f64, Bound)> {
    let mut settled: Vec<Option<(f64, Bound)>> = vec![None; ceilings.len()];
    while settled.iter().any(Option::is_none) {
        let Some((level, bound)) = next_stop(ceilings, shared, &settled) else { break };
        let stops = |flow: usize| match bound {
            Bound::Own => ceilings.get(flow).is_some_and(|ceiling| *ceiling <= level),
            Bound::Shared(index) => shared
                .get(index)
                .is_some_and(|one| one.draws.iter().any(|(other, draw)| *other == flow && *draw > 0.0)),
        };
        for (flow, rate) in settled.iter_mut().enumerate() {
            if rate.is_none() && stops(flow) {
                *rate = Some((level, bound));
            }
        }
    }
    settled.into_iter().map(|rate| rate.unwrap_or((f64::INFINITY, Bound::Own))).collect()
}

/// The lowest level that stops a growing flow, and the limit there. Of equal levels a resource counts before a
/// ceiling, and an earlier one before a later one.
fn next_stop(ceilings: &[f64], shared: &[Shared], settled: &[Option<(f64, Bound)>]) -> Option<(f64, Bound)> {
    let grows = |flow: usize| settled.get(flow).is_some_and(Option::is_none);
    let of_shared = shared.iter().enumerate().filter_map(|(index, one)| {
        let mut growing = 0.0;
        let mut left = one.capacity;
        for (flow, draw) in &one.draws {
            match settled.get(*flow) {
                Some(Some((rate, _))) => left -= rate * draw,
                Some(None) => growing += draw,
                None => {}
            }
        }
        (growing > 0.0).then(|| (left.max(0.0) / growing, Bound::Shared(index)))
    });
    let own = ceilings.iter().enumerate().filter(|(flow, ceiling)| grows(*flow) && ceiling.is_finite());
    let own = own.map(|(_, ceiling)| (ceiling.max(0.0), Bound::Own));
    of_shared.chain(own).reduce(|least, next| if next.0 < least.0 { next } else { least })
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    #[test]
    fn what_one_cannot_use_goes_to_the_others() {
        let bus = Shared { capacity: 10.0, draws: vec![(0, 1.0), (1, 1.0), (2, 1.0)] };
        let rates = fair(&[1.0, 9.0, f64::INFINITY], &[bus]);
        assert_eq!(rates, [(1.0, Bound::Own), (4.5, Bound::Shared(0)), (4.5, Bound::Shared(0))]);
    }

    #[test]
    fn a_flow_that_nothing_holds_is_said_to_be_so() {
        assert_eq!(fair(&[f64::INFINITY], &[]), [(f64::INFINITY, Bound::Own)]);
        assert!(fair(&[], &[]).is_empty());
    }

    fn case() -> impl Strategy<Value = (Vec<f64>, Vec<Shared>)> {
        (1_usize..7).prop_flat_map(|flows| {
            let shared =
                (0.0..100.0_f64, vec((0..flows, 0.1..4.0_f64), 1..5)).prop_map(|(capacity, mut draws)| {
                    draws.sort_by_key(|(flow, _)| *flow);
                    draws.dedup_by_key(|(flow, _)| *flow);
                    Shared { capacity, draws }
                });
            (vec(0.0..50.0_f64, flows), vec(shared, 0..4))
        })
    }

    proptest! {
        #[test]
        fn nothing_is_overdrawn_and_every_flow_is_held_by_something((ceilings, shared) in case()) {
            let rates = fair(&ceilings, &shared);
            prop_assert_eq!(rates.len(), ceilings.len());
            for (flow, (rate, bound)) in rates.iter().enumerate() {
                prop_assert!(*rate >= 0.0 && *rate <= ceilings[flow] + 1e-9);
                if *bound == Bound::Own {
                    prop_assert!((rate - ceilings[flow]).abs() < 1e-9);
                }
            }
            for (index, one) in shared.iter().enumerate() {
                let used: f64 = one.draws.iter().map(|(flow, draw)| rates[*flow].0 * draw).sum();
                prop_assert!(used <= one.capacity + 1e-6);
                if rates.iter().any(|(_, bound)| *bound == Bound::Shared(index)) {
                    prop_assert!((used - one.capacity).abs() < 1e-6, "it holds flows back only when used up");
                }
            }
        }
    }
}
