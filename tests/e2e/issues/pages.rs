//! The pages of `issues --format html`, in a browser.

use super::data;
use crate::harness::browser::Browser;
use crate::harness::{Place, needs};
use x11prof_trace::{Control, Reader, Record, Writer};

#[test]
fn issue_list_links_to_a_page_per_issue() {
    needs("chromium", "chromium");
    needs("chromedriver", "chromium-driver");
    let place = Place::new();
    let folder = place.path("all/version=<b>1</user=ann");
    std::fs::create_dir_all(&folder).expect("a folder");
    for name in ["xterm.mcap", "gtk3-widget-factory.mcap"] {
        std::fs::copy(data(name), folder.join(name)).expect("a copy");
    }
    place.write(
        "known.toml",
        b"format = 1\n[[issue]]\nlandmark = \"Start-up\"\nbug = \"bug 7\"\n",
    );
    let made = [
        "issues",
        "all",
        "--threshold",
        "5",
        "--format",
        "html",
        "-o",
        "pages",
    ];
    place.ok(made.iter().copied().chain(["--known", "known.toml"]));
    let report = place.json(["issues", "all", "--threshold", "5", "--format", "json"]);
    let issues = report["issues"].as_array().expect("a list");

    let browser = Browser::start();
    browser.open(&place.path("pages/index.html"));
    let rows = "return [...document.querySelectorAll('#issues tbody tr')]";
    assert_eq!(
        browser.number(&format!("{rows}.length")),
        issues.len() as f64
    );
    let second = browser.run(&format!("{rows}.map((row) => row.cells[1].textContent)[1]"));
    assert_eq!(second, issues[1]["landmark"]);
    // Folder names are escaped.
    let versions = browser.run(&format!("{rows}[0].cells[10].textContent"));
    assert_eq!(versions, "<b>1<");
    let known = browser.run(&format!(
        "{rows}.map((row) => row.cells[11].textContent).join()"
    ));
    assert!(
        known.as_str().is_some_and(|known| known.contains("bug 7")),
        "{known}"
    );
    assert!(browser.number("return document.querySelectorAll('polyline').length") >= 1.0);

    let link = browser.run("return document.querySelector('#issues a').href");
    assert!(
        link.as_str()
            .is_some_and(|link| link.ends_with("/issue-1.html"))
    );
    browser.run("document.querySelector('#issues a').click()");
    let title = browser.run("return document.querySelector('h1').textContent");
    let landmark = issues[0]["landmark"].as_str().expect("text");
    assert_eq!(title, format!("1. {landmark}"));
    let shown = "return document.querySelector('#example').textContent";
    let shown = browser.run(shown);
    let example = issues[0]["example"]["trace"].as_str().expect("a trace");
    assert!(
        shown.as_str().is_some_and(|text| text.contains(example)),
        "{shown}"
    );
    for part in [
        "#timeline rect",
        "#parts i",
        "#distribution polyline",
        "#versions tbody tr",
        "#example pre",
    ] {
        let count = browser.number(&format!(
            "return document.querySelectorAll('{part}').length"
        ));
        assert!(count >= 1.0, "{part}");
    }
    // The page fits a narrow window, logs no error and makes no network request.
    browser.resize(500);
    let over = "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert!(browser.number(over) <= 0.0);
    assert_eq!(browser.log("browser"), Vec::<serde_json::Value>::new());
}

#[test]
fn names_in_issue_pages_are_escaped() {
    let place = Place::new();
    let name = "<meta http-equiv=refresh>";
    let file = std::fs::File::open(data("xterm.mcap")).expect("a recording");
    let mut reader = Reader::new(file).expect("a trace");
    let to = std::fs::File::create(place.path("x11prof.mcap")).expect("a file");
    let Some(Record::Control(began, Control::Started(started))) = reader.next().expect("a record")
    else {
        panic!("the first record");
    };
    let mut writer = Writer::new(to, started, began).expect("a trace");
    let labels = [("program".to_owned(), name.to_owned())].into();
    let labels = Record::Control(began, Control::Labels { labels });
    writer.write(&labels).expect("a record");
    while let Some(record) = reader.next().expect("a record") {
        writer.write(&record).expect("a record");
    }
    writer.finish().expect("a trace");
    place.ok("issues x11prof.mcap --threshold 1 --format html -o pages".split(' '));
    let mut escaped = 0;
    for page in std::fs::read_dir(place.path("pages")).expect("a folder") {
        let page = std::fs::read_to_string(page.expect("a page").path()).expect("a page");
        assert!(!page.contains(name), "{page}");
        let shown = "<p class=\"quiet\">&lt;meta http-equiv=refresh&gt; ·";
        escaped += usize::from(page.contains(shown));
    }
    assert!(escaped > 0);
}
