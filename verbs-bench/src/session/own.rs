//! What a responder was started with: it decides where the requester's plan leaves the choice, and contradicts it nowhere.

use schema::{CpuChoice, Fabric, NodeChoice, RunSpec, SideSpec};

/// Side choices of a responder; none leaves them to the plan.
#[derive(Default)]
pub struct Own<'a> {
    /// The only device that requesters may use here.
    pub device: Option<String>,
    /// Port of the device.
    pub port_num: Option<u8>,
    /// GID index of the port.
    pub gid_index: Option<u32>,
    /// CPUs of the polling threads.
    pub cpu: Option<CpuChoice>,
    /// Node of the buffers.
    pub memory_node: Option<NodeChoice>,
    /// Is told each plan that was accepted, before anything is opened for it.
    pub told: Option<&'a (dyn Fn(&RunSpec) + Sync)>,
}

impl Own<'_> {
    /// What this side uses: what it was started with wins over what the plan leaves open, and contradicts anything else.
    pub fn side(&self, spec: &RunSpec, requester: Fabric) -> Result<SideSpec, String> {
        let plan = &spec.responder;
        let device = settle(&self.device, plan.device != "auto", &plan.device, "--device")?;
        let device = if device == "auto" && requester == Fabric::Soft { "soft".to_owned() } else { device };
        let soft = device == "soft";
        if soft != (requester == Fabric::Soft) {
            return Err(format!(
                "responder.device: the requester uses {}, this responder `{device}`; they cannot talk to each other",
                if requester == Fabric::Soft { "the software NIC" } else { "an RDMA device" },
            ));
        }
        let gid_index = match (self.gid_index, plan.gid_index) {
            (Some(own), Some(asked)) if own != asked => return Err(contradiction("--gid-index", asked, own)),
            (own, asked) => own.or(asked),
        };
        Ok(SideSpec {
            device,
            port_num: self.port_num.unwrap_or(plan.port_num),
            gid_index,
            cpu: settle(&self.cpu, plan.cpu != CpuChoice::Auto, &plan.cpu, "--cpu")?,
            memory_node: settle(
                &self.memory_node,
                plan.memory_node != NodeChoice::Auto,
                &plan.memory_node,
                "--memory-node",
            )?,
        })
    }
}

fn settle<T>(own: &Option<T>, is_asked: bool, asked: &T, flag: &str) -> Result<T, String>
where
    T: Clone + PartialEq + std::fmt::Display,
{
    match own {
        Some(own) if is_asked && own != asked => Err(contradiction(flag, asked, own)),
        Some(own) => Ok(own.clone()),
        None => Ok(asked.clone()),
    }
}

fn contradiction(flag: &str, asked: impl std::fmt::Display, own: impl std::fmt::Display) -> String {
    let field = flag.trim_start_matches('-').replace('-', "_");
    format!(
        "responder.{field}: the requester asks for `{asked}`, this responder was started with {flag} {own}"
    )
}

#[cfg(test)]
mod tests {
    use schema::Test;

    use super::*;

    fn device(asked: &str, requester: Fabric, own: Option<&str>) -> Result<String, String> {
        let mut spec = RunSpec::new(Test::Bandwidth);
        spec.responder.device = asked.into();
        Own { device: own.map(Into::into), ..Own::default() }.side(&spec, requester).map(|side| side.device)
    }

    #[test]
    fn the_device_is_the_requesters_wish_unless_serve_was_started_with_one() {
        assert_eq!(device("auto", Fabric::Verbs, None).as_deref(), Ok("auto"));
        assert_eq!(device("auto", Fabric::Verbs, Some("rxe1")).as_deref(), Ok("rxe1"));
        assert_eq!(device("auto", Fabric::Soft, None).as_deref(), Ok("soft"));
        assert!(device("rxe0", Fabric::Verbs, Some("rxe1")).unwrap_err().contains("--device rxe1"));
    }

    #[test]
    fn software_and_hardware_do_not_meet() {
        assert!(device("auto", Fabric::Soft, Some("rxe1")).unwrap_err().contains("cannot talk"));
        assert!(device("soft", Fabric::Verbs, None).is_err());
    }

    #[test]
    fn the_place_is_settled_as_the_device_is() {
        let mut spec = RunSpec::new(Test::Bandwidth);
        let own = Own {
            port_num: Some(2),
            gid_index: Some(3),
            cpu: Some(CpuChoice::List(vec![1])),
            memory_node: Some(NodeChoice::None),
            ..Own::default()
        };
        let side = own.side(&spec, Fabric::Verbs).unwrap();
        assert_eq!((side.port_num, side.gid_index, side.memory_node), (2, Some(3), NodeChoice::None));
        assert_eq!(side.cpu, CpuChoice::List(vec![1]));
        spec.responder.cpu = CpuChoice::List(vec![0]);
        assert!(own.side(&spec, Fabric::Verbs).unwrap_err().contains("--cpu 1"));
        spec.responder.cpu = CpuChoice::Auto;
        spec.responder.gid_index = Some(5);
        assert!(own.side(&spec, Fabric::Verbs).unwrap_err().contains("--gid-index 3"));
    }
}
