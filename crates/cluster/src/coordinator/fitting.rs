//! Whether those who came can carry what they are to do, as far as they have said what they have.

use super::Coordinator;
use super::member::Member;

/// Connections of a whole load to each of its origins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connections {
    /// So many, where it was said how many; 0: as many as it takes and as each machine has.
    pub each: u64,
    /// Origins, each with as many.
    pub origins: u64,
    /// Each origin is one address of another machine, so that a connection takes a local port of its own.
    pub to_one_address: bool,
}

impl Coordinator {
    /// Why some of those who came can't carry their part of so many `shares`.
    pub(super) fn too_much(&self, shares: u32) -> Vec<String> {
        let Connections { each, .. } = self.task.connections;
        let dealt =
            [(self.task.users, "users", ""), (Some(each).filter(|&n| n > 0), "connections", "raise -c, or ")];
        for (count, what, remedy) in dealt {
            if let Some(count) = count.filter(|&count| count < u64::from(shares)) {
                return vec![format!(
                    "the agents have {shares} shares together, and there are {count} {what}, of which each share needs one: {remedy}start \
                     fewer agents, or with fewer --shares"
                )];
            }
        }
        let members = self.order.iter().filter_map(|id| self.members.get(id));
        members
            .flat_map(|member| [self.above_ceiling(member, shares), self.above_limits(member, shares)])
            .flatten()
            .collect()
    }

    /// Why one whose ceiling was measured can't carry its part.
    fn above_ceiling(&self, member: &Member, shares: u32) -> Option<String> {
        let carries = member.machine.carries_per_s?;
        let asked = member.part_of(self.task.per_s_max, shares, self.task.shares_max);
        (asked > carries).then(|| {
            format!(
                "{} would offer {asked}/s at the highest, and carries {carries}/s by what was measured there (unblink agent \
                 --constants or --calibrate): start more agents, or lower the rate",
                member.name()
            )
        })
    }

    /// Why one can't open its part of the connections.
    fn above_limits(&self, member: &Member, shares: u32) -> Option<String> {
        let Connections { each, origins, to_one_address } = self.task.connections;
        let (machine, origins) = (&member.machine, origins.max(1));
        // Each share has its own part, and is rounded up.
        let here = each.div_ceil(u64::from(shares.max(1))) * u64::from(machine.shares);
        let to = if origins > 1 { format!(" to each of {origins} origins") } else { String::new() };
        let name = member.name();
        if let Some(fitting) = machine.connections.map(|all| all / origins).filter(|&fitting| here > fitting)
        {
            let limit = machine.descriptors.map_or_else(String::new, |limit| format!(" ({limit} in all)"));
            return Some(format!(
                "{name} would open {here} connections{to}, and its file descriptors{limit} suffice for {fitting}: raise the hard limit \
                 there (ulimit -Hn), start more agents, or lower -c"
            ));
        }
        let ports = machine.ports.map(u64::from).filter(|&ports| to_one_address && here > ports)?;
        Some(format!(
            "{name} would open {here} connections{to}, and has {ports} local ports for one address: widen \
             net.ipv4.ip_local_port_range there, start more agents, or lower -c"
        ))
    }
}
