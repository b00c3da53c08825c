//! Figure 6 of the paper, and errors in similar texts.

use proptest::prelude::*;

use crate::{AttributeValue, Clock, ServerParameters, built_in, differences};

/// Figure 6, as printed.
const FIGURE: &str = r"
CreateWindow          (0,4717.030)
...
PolyLine gxmode=GXcopy linestyle=LineSolid      fillstyle=FillSolid      \
  linewidth=0      (100,19161.61)
PolyLine gxmode=GXcopy linestyle=LineSolid      fillstyle=FillSolid      \
  linewidth=0      (300,10428.97)
PolyLine gxmode=GXxor  linestyle=LineSolid      fillstyle=FillSolid      \
  linewidth=0      (100, 8423.40)
...
PolyText8 fontname=6x13 ( 8, 3121.67)
PolyText8 fontname=6x13 (32,  934.63)
...
";

fn read(text: &str) -> Result<ServerParameters, String> {
    ServerParameters::from_description(text, "sun").map_err(|error| error.to_string())
}

#[test]
fn figure_of_the_paper_is_parsed() {
    let sun = read(FIGURE).unwrap();
    let names: Vec<_> = sun
        .requests
        .iter()
        .map(|request| request.name.as_str())
        .collect();
    assert_eq!(names, ["CreateWindow", "PolyLine", "PolyLine", "PolyText8"]);
    let copy = &sun.requests[1];
    assert_eq!(copy.attributes["linewidth"], AttributeValue::Number(0));
    assert_eq!(
        copy.attributes["gxmode"],
        AttributeValue::Name("GXcopy".into())
    );
    let points: Vec<_> = copy
        .points
        .iter()
        .map(|point| (point.size, point.per_second))
        .collect();
    assert_eq!(points, [(100.0, Some(19161.61)), (300.0, Some(10428.97))]);
    assert_eq!(ServerParameters::from_toml(&sun.to_toml()), Ok(sun));
}

#[test]
fn written_descriptions_round_trip() {
    for known in built_in() {
        let once = known.parameters().unwrap().to_description();
        let again = read(&once).unwrap().to_description();
        let lines = |text: &str| -> Vec<String> {
            let mut lines: Vec<String> = text
                .lines()
                .filter(|line| !line.starts_with('#'))
                .map(str::to_owned)
                .collect();
            lines.sort();
            lines
        };
        assert_eq!(lines(&once), lines(&again), "{}", known.name);
    }
}

#[test]
fn imported_costs_have_the_clock_of_the_exported_costs() {
    let xvfb = built_in().iter().find(|known| known.name == "xvfb-24");
    let xvfb = xvfb.unwrap().parameters().unwrap();
    let text = xvfb.to_description();
    assert!(text.starts_with("# xvfb-24\n# operations per second of the server's CPU time\n"));
    let all = differences(&xvfb, &read(&text).unwrap());
    assert!(all.len() > 1000 && all.iter().all(|one| !one.is_beyond_spread));
    assert!(all.iter().all(|one| one.clock == Clock::Cpu));
}

#[test]
fn syntax_errors_name_line_and_column() {
    for (text, message) in [
        (
            "PolyLine gxmode=GXcopy 100,5)\n",
            "line 1, column 27: expected '=' and the attribute's value",
        ),
        (
            "\nPolyLine (100;5)\n",
            "line 2, column 14: expected ',' between op-size and rate",
        ),
        (
            "PolyLine (x,5)\n",
            "line 1, column 11: expected the op-size, a number from 0 on",
        ),
        (
            "PolyLine (1,0)\n",
            "line 1, column 13: expected the rate, operations per second above 0",
        ),
        ("PolyLine (1,2\n", "line 1, column 14: expected ')'"),
        (
            "PolyLine (1,2) (3,4)\n",
            "line 1, column 16: expected the end of the line",
        ),
        (
            "# fine\n(1,2)\n",
            "line 2, column 1: expected a request's name",
        ),
        (
            "A a= (1,2)\n",
            "line 1, column 6: expected the attribute's value",
        ),
        ("A\n", "line 1, column 2: expected an attribute or '('"),
        (
            "A (1,2)\nA (1,3)\n",
            "line 2, column 1: this request has a rate for these attributes and this size already",
        ),
    ] {
        assert_eq!(read(text), Err(message.to_owned()), "{text}");
    }
}

#[test]
fn comments_quotes_and_line_ends_are_parsed() {
    let text = "# all\r\nImageText8 fontname=\"a b\" (1, 2e3) # one\r\n\nA(0,1)";
    let read = read(text).unwrap();
    let font = &read.requests[1].attributes["fontname"];
    assert_eq!(font, &AttributeValue::Name("a b".into()));
    assert_eq!(read.requests[1].points[0].per_second, Some(2000.0));
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "[A-Za-z0-9=(),. \\\\\"#\n]{0,80}") {
        let _ = read(&text);
    }
}
