//! The input actions of each benchmark, as arguments of xdotool.

use std::time::Duration;

use crate::benchmarks::Benchmark;

/// The pause before the next action.
const LOOK: Duration = Duration::from_millis(150);

/// Returns the arguments; `WINDOW` represents the window id that the program prints.
pub(crate) fn words(benchmark: Benchmark, times: &[Duration]) -> Vec<String> {
    let mut person = Person(Vec::new());
    if benchmark != Benchmark::Timer {
        person.does("sleep 0", LOOK);
    }
    let mut turn = 0;
    for (number, time) in times.iter().enumerate() {
        let after = *time + LOOK;
        turn += 1;
        match benchmark {
            Benchmark::Keyboard => person.does("key a", after),
            Benchmark::Motion => {
                person.does(&format!("mousemove {} 110", 100 + number % 200), after);
            }
            Benchmark::Button => person.does("click 1", after),
            Benchmark::Painting => {
                person.does(&format!("windowsize WINDOW 400 {}", 300 + turn % 2), after);
            }
            Benchmark::Timer => {}
            Benchmark::Menu => {
                person.does("mousemove 20 10", LOOK);
                // A GTK menu stays open if the button is released within half a second.
                person.does("mousedown 1", 3 * LOOK);
                person.does("mousemove 20 54", LOOK);
                person.does("mousemove 20 74", LOOK);
                person.does("mouseup 1", after);
            }
            Benchmark::ComboBox => {
                person.does("mousemove 200 110", LOOK);
                person.does("click 1", LOOK);
                person.does("mousemove 200 154", LOOK);
                person.does("click 1", after);
            }
            Benchmark::TwoFrames | Benchmark::NonModalDialog | Benchmark::ModalDialog => {
                let there = if turn % 2 == 1 { "100 110" } else { "550 110" };
                person.does(&format!("mousemove {there}"), LOOK);
                person.does("click 1", after);
            }
            Benchmark::BuiltInDialog if turn % 2 == 1 => {
                person.does("mousemove 100 110", LOOK);
                person.does("click 1", after);
            }
            Benchmark::BuiltInDialog => {
                person.does("mousemove 550 110", LOOK);
                person.does("key Tab", LOOK);
                person.does("key Return", after);
            }
        }
    }
    person.0
}

struct Person(Vec<String>);

impl Person {
    fn does(&mut self, what: &str, then_waits: Duration) {
        self.0.extend(what.split(' ').map(str::to_owned));
        self.0.push("sleep".to_owned());
        self.0.push(format!("{:.3}", then_waits.as_secs_f64()));
    }
}
