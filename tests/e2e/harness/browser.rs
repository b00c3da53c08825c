//! Drives a browser for the tests and for `xtask validate page`.
#![allow(dead_code, reason = "each program that has it uses a part")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says why and fails"
)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// A browser that is driven by WebDriver (W3C), and ended with the test.
pub(crate) struct Browser {
    driver: Child,
    session: String,
}

impl Browser {
    pub(crate) fn start() -> Browser {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .spawn()
            .expect("chromedriver");
        let output = BufReader::new(driver.stdout.take().expect("its output"));
        let port = output.lines().map_while(Result::ok).find_map(|line| {
            let (_, port) = line.split_once("successfully on port ")?;
            port.trim_end_matches('.').parse::<u16>().ok()
        });
        let server = format!("http://127.0.0.1:{}", port.expect("its port"));
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--window-size=1280,1000",
        ];
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        } } });
        let made = post(&format!("{server}/session"), &wanted);
        let id = made["sessionId"].as_str().expect("a session");
        Browser {
            driver,
            session: format!("{server}/session/{id}"),
        }
    }

    pub(crate) fn open(&self, page: &Path) {
        let url = format!("file://{}", page.display());
        post(&format!("{}/url", self.session), &json!({ "url": url }));
    }

    /// Runs a function body in the page and returns its result.
    pub(crate) fn run(&self, script: &str) -> Value {
        let script = json!({ "script": script, "args": [] });
        post(&format!("{}/execute/sync", self.session), &script)
    }

    pub(crate) fn number(&self, script: &str) -> f64 {
        let found = self.run(script);
        found
            .as_f64()
            .unwrap_or_else(|| panic!("{script}: {found}"))
    }

    pub(crate) fn log(&self, kind: &str) -> Vec<Value> {
        let found = post(
            &format!("{}/se/log", self.session),
            &json!({ "type": kind }),
        );
        found.as_array().cloned().unwrap_or_default()
    }

    pub(crate) fn resize(&self, width: u32) {
        let size = json!({ "width": width, "height": 1000 });
        post(&format!("{}/window/rect", self.session), &size);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = ureq::delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

fn post(url: &str, body: &Value) -> Value {
    let answer = ureq::post(url)
        .config()
        .http_status_as_error(false)
        .build()
        .send_json(body);
    let mut answer: Value = answer
        .expect("an answer")
        .body_mut()
        .read_json()
        .expect("JSON");
    assert!(answer["value"]["error"].is_null(), "{url}: {answer}");
    answer["value"].take()
}
