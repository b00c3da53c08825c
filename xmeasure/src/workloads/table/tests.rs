//! Tests of the language of the tables.

mod contents;

use super::scope::Scope;
use super::{Table, found, lines, taken, variables};
use crate::plan::Plan;
use crate::simulated::connected;
use crate::workloads::loads::Loads;
use crate::workloads::workload::{Sync, Workload};

/// A plan with all loads of an interactive server.
fn plan() -> Plan {
    Plan {
        intrusive: true,
        ..Plan::default()
    }
}

/// The loads of the statements `text`. The variable `a` is 100, and `b` is an expression of the number of the request.
fn loads(text: &str, plan: &Plan) -> Loads {
    let made = connected(|client| {
        let mut known = variables(client, plan);
        known.insert("a".to_owned(), "100".to_owned());
        known.insert("b".to_owned(), "(#+1)".to_owned());
        let (scope, mut loads) = (Scope::new(client, known), Loads::default());
        let mut table = Table::new(scope, plan, &mut loads);
        table.block(&lines(text)).unwrap();
        loads
    });
    made.2
}

/// The bytes of the first three requests of the only load of the statements `text`.
fn requests(text: &str) -> Vec<Vec<u8>> {
    let mut loads = loads(text, &plan());
    assert_eq!(loads.all.len(), 1, "{text}");
    let load = loads.all.remove(0);
    let length = load.phases[0].unit.len() / load.phases[0].requests as usize;
    let requests = load.phases[0].unit.chunks(length);
    requests.take(3).map(<[u8]>::to_vec).collect()
}

/// The fields of the first request.
fn fields(text: &str) -> Vec<u8> {
    requests(text)[0][4..].to_vec()
}

/// The bytes of these numbers of two bytes.
fn shorts<const N: usize>(numbers: [u16; N]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_ne_bytes())
        .collect()
}

#[test]
fn fields_follow_the_header_and_requests_are_padded() {
    let name = &requests("plain 16 InternAtom 5:2 0:2 \"ab cd\"")[0];
    assert_eq!(name[..4], [&[16, 0][..], &shorts([4])].concat());
    assert_eq!(name[8..], *b"ab cd\0\0\0");
    let pixmap = &requests("plain 53=$depth CreatePixmap 7 1 16:2*2")[0];
    assert_eq!((pixmap[1], pixmap.len()), (24, 16));
    assert_eq!(pixmap[4..8], 7_u32.to_ne_bytes());
    assert_eq!(pixmap[12..], shorts([16, 16]));
    assert_eq!(
        fields("plain 17 GetAtomName atom(SOME NAME)"),
        100_u32.to_ne_bytes()
    );
    assert_eq!(
        fields("plain 1 X 1:1 align 2:1*$a")[..8],
        [1, 0, 0, 0, 2, 2, 2, 2]
    );
    let long = &requests("plain 127 NoOperation \"x\"*262140")[0];
    assert_eq!(long[2..4], [0, 0]);
    assert_eq!(long[4..8], 65_537_u32.to_ne_bytes());
}

#[test]
fn expressions_depend_on_the_request() {
    let all = requests("plain 1 X ($b*2-1):2 (#%2=0):2 (7/2+$a%30*(1<2)):2 (0-1):2");
    assert_eq!(all[0][4..], shorts([1, 1, 13, 0xffff]));
    assert_eq!(all[1][4..], shorts([3, 0, 13, 0xffff]));
    assert_eq!(all[2][4..], shorts([5, 1, 13, 0xffff]));
    assert_eq!(requests("plain 76=$b X")[2][..2], [76, 3]);
    assert_eq!(
        fields("plain 1 X max(1,min(#+5,$a)) id(0x20,3)"),
        [5_u32, 0x23].map(u32::to_ne_bytes).concat()
    );
}

#[test]
fn items_have_an_index_within_the_request() {
    let all = requests("plain 1 X [i<2 (#*2+$i):2 [j<($i+1) 9:1 ] 8:1 ]");
    assert_eq!(
        all[1][4..13],
        [&shorts([2])[..], &[9, 8], &shorts([3]), &[9, 9, 8]].concat()
    );
    assert_eq!(
        fields("plain 1 X [i<4 sum(i<$i,$i*10):2 ]"),
        shorts([0, 0, 10, 30])
    );
}

#[test]
fn positions_and_letters_are_functions() {
    let all =
        requests("plain 1 X across(#,300,200):2 down(#,300,200):2 letter(#):1 letter(1):1 0:2");
    assert_eq!(all[0][4..10], [&shorts([0, 0])[..], b"Ap"].concat());
    assert_eq!(all[1][4..10], [&shorts([300, 0])[..], b"pp"].concat());
    assert_eq!(all[2][4..10], [&shorts([0, 200])[..], b"ap"].concat());
}

#[test]
fn loops_repeat_their_lines_and_templates_are_expanded() {
    let text = "let image 1 X $s:2 $n:2
if 0
  plain 1 X
sizes s,n 1 2 4,8
  if $n
    # The requests have the sizes of the plan.
    draw ($s*$s) $image
for x,y 5,$a
  plain 1 X $x:2 $y:2";
    let sizes = |plan: &Plan| -> Vec<Vec<u8>> {
        let all = loads(text, plan).all;
        all.iter()
            .map(|load| load.phases[0].unit[4..8].to_vec())
            .collect()
    };
    let expected = [[1, 1], [2, 1], [4, 8], [5, 100]].map(shorts);
    assert_eq!(sizes(&plan()), expected);
    let quick = Plan {
        quick: true,
        ..plan()
    };
    assert_eq!(sizes(&quick), expected);
}

#[test]
fn cycles_have_a_number_of_requests_for_each_phase() {
    let all = loads(
        "new first*3\ncycle 2 before: 9 X 5 / 1 X @ / 3: 2 X id($first,#)\ncycle 1 1 X $none",
        &plan(),
    )
    .all;
    let [load] = all.as_slice() else {
        panic!("{} loads", all.len());
    };
    assert_eq!((load.before[0], load.before.len()), (9, 8));
    let number = |at: usize, request: usize| {
        let bytes = &load.phases[at].unit[request * 8 + 4..request * 8 + 8];
        u32::from_ne_bytes(bytes.try_into().unwrap())
    };
    assert_eq!(load.phases.len(), 2);
    assert_eq!(load.phases[0].requests, 2);
    assert_eq!(number(0, 1), number(0, 0) + 1);
    assert_eq!(load.phases[1].requests, 3);
    assert_eq!(
        [0, 1, 2].map(|at| number(1, at) + 3 - at as u32),
        [number(0, 0); 3]
    );
}

#[test]
fn each_kind_of_load_has_its_synchronisation() {
    let all = loads(
        "plain 1 A\ncostly 1 B\nread 250000 1 C\ndraw 250000 1 D\npair 1 E / 2 F",
        &plan(),
    );
    let kind = |load: &Workload| {
        (
            load.phases[0].sync,
            load.phases[0].requests,
            load.phases[0].kinds,
        )
    };
    let kinds: Vec<_> = all.all.iter().map(kind).collect();
    let expected = [
        (Sync::RoundTrip, 4096, 1),
        (Sync::RoundTrip, 8, 1),
        (Sync::RoundTrip, 2, 1),
        (Sync::ReadBack, 2, 1),
        (Sync::RoundTrip, 4096, 2),
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn only_wanted_requests_have_loads() {
    let plan = Plan {
        only: vec!["PolyLine".to_owned()],
        ..plan()
    };
    assert_eq!(
        loads("plain 65 PolyLine\nplain 64 PolyPoint", &plan)
            .all
            .len(),
        1
    );
}

#[test]
fn lines_about_a_lacking_extension_have_no_effect() {
    let all = loads(
        "extension RENDER\nplain 0 QueryVersion\ncore\nfont f 9x15\nplain 47 X $f",
        &plan(),
    );
    assert_eq!(all.all, []);
    assert_eq!(all.absent, ["RENDER", "font 9x15"]);
}

#[test]
fn reply_fields_after_lists_are_read() {
    let mut reply = vec![0; 48];
    reply[16..18].copy_from_slice(&2_u16.to_ne_bytes());
    reply[40..44].copy_from_slice(&9_u32.to_ne_bytes());
    assert_eq!(taken(&reply, "32+4*16:4"), Some(9));
    assert_eq!(taken(&reply, "16:2"), Some(2));
    assert_eq!(taken(&reply, "46:4"), None);
}

#[test]
fn records_of_a_reply_are_searched() {
    let records = [[1, 5, 7], [2, 6, 8], [1, 6, 9]].concat();
    let header = [1_u32; 8].to_vec();
    let reply: Vec<u8> = [header, records]
        .concat()
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .collect();
    assert_eq!(found(&reply, 12, &[("0:4", 1)], "8:4"), Some(7));
    assert_eq!(found(&reply, 12, &[("0:4", 1), ("4:4", 6)], "8:4"), Some(9));
    assert_eq!(found(&reply, 12, &[("0:4", 5)], "4:4"), None);
    assert_eq!(found(&reply, 4, &[("0:4", 5)], "4:4"), Some(7));
}

#[test]
fn variables_describe_image_formats() {
    let known = connected(|client| variables(client, &plan())).2;
    assert_eq!(
        (known["bits24"].as_str(), known["pad24"].as_str()),
        ("32", "32")
    );
    assert_eq!(known["screen_bits"], "bits24");
    assert!(!known.contains_key("bits8"));
}
