//! Calibrates a simulated server and checks that its parameters are recovered.

use x11prof_cost_model::{CostTable, ServerParameters, Substitutions};
use x11prof_session::{Operation, Value};

use super::Calibration;
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::simulated::{truth, with_server};

fn measured(plan: &Plan) -> Result<ServerParameters, MeasureError> {
    let prepare = |client: &mut _| Calibration::prepare(client, plan);
    with_server(&truth(), plan, prepare, |mut calibration, run| {
        calibration.run(run, ServerParameters::default())
    })
}

fn only(names: &[&str]) -> Plan {
    Plan {
        quick: true,
        only: names.iter().map(|name| (*name).to_owned()).collect(),
        ..Plan::default()
    }
}

#[test]
fn calibration_recovers_the_server_parameters() {
    let names = [
        "NoOperation",
        "GetInputFocus",
        "PolyFillRectangle",
        "CopyArea",
    ];
    let (found, truth) = (measured(&only(&names)).unwrap(), truth());
    let mut costs = CostTable::new(&truth, &Substitutions::default());
    for name in names {
        assert!(
            found.requests.iter().any(|entry| entry.name == name),
            "{name}"
        );
    }
    for entry in &found.requests {
        assert!(names.contains(&entry.name.as_str()), "{}", entry.name);
        for point in &entry.points {
            let mut operation = Operation::new(entry.name.as_str().into());
            for (attribute, value) in entry.attribute_set().iter() {
                let value = Value::parse(&value.to_string());
                operation.attributes.set(attribute, value);
            }
            (operation.items, operation.op_size) = (vec![point.size], point.size);
            let expected = costs.cost(&operation).server.time.0;
            let time = point.cpu_us.unwrap().0;
            let off = (time - expected).abs();
            assert!(
                off < 0.01 * expected.max(0.1),
                "{} of {}: {time} instead of {expected}",
                entry.name,
                point.size
            );
        }
        let fixed = entry.fixed.and_then(|fixed| fixed.cpu_us);
        if entry.name == "PolyFillRectangle" && entry.attributes.len() > 1 {
            let fixed = fixed.unwrap().0;
            assert!(
                (fixed - 0.2).abs() < 0.01,
                "{fixed} of {:?}",
                entry.attributes
            );
        }
    }
    let (found, truth) = (found.transport.unwrap(), truth.transport.unwrap());
    let (wakeup, byte_read) = (
        found.wakeup.cpu_us.unwrap().0,
        found.byte_read.cpu_us.unwrap().0,
    );
    assert!((wakeup - 6.0).abs() < 0.01 && (byte_read - 0.0001).abs() < 1e-6);
    assert_eq!(found.after_sleep.len(), truth.after_sleep.len());
}

#[test]
fn unknown_request_error_names_the_request() {
    let error = measured(&only(&["PolyLion"])).unwrap_err();
    assert!(error.to_string().contains("PolyLion"), "{error}");
}

#[test]
fn entries_only_plan_omits_transport() {
    let plan = Plan {
        entries_only: true,
        ..only(&["NoOperation"])
    };
    let found = measured(&plan).unwrap();
    assert_eq!((found.requests.len(), found.transport), (1, None));
}
