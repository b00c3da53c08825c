//! `x11prof man` and `x11prof completions`, generated from the definitions of the command line.

use std::io::{self, Write};

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::args::Arguments;
use crate::error::Outcome;
use crate::output::emit;

/// The sections of the manual page that the command line's definitions do not contain, in roff (groff_man(7)).
const REST: &str = r#".SH EXAMPLES
.TP
x11prof record \-\- xterm
Record xterm into x11prof.mcap.
.TP
x11prof report
Show where its time went: a summary, the most expensive requests, the caveats. \fB\-\-all\fR prints everything.
.TP
x11prof report \-\-net dsl \-\-start\-up
Show its start-up over a slow line.
.TP
x11prof episodes \-\-worst 3
Show the three longest episodes.
.TP
x11prof compare \-\-params xvfb\-24 \-\-params xvnc
Estimate the same recording on two servers.
.TP
x11prof calibrate \-\-server xvfb
Measure what requests cost here.
.SH ENVIRONMENT
.TP
DISPLAY
The display to record or calibrate, unless \fB\-\-display\fR or \fB\-\-server\fR names one.
.TP
XAUTHORITY
The file with the cookie of the display. Default: ~/.Xauthority.
.TP
XDG_DATA_HOME
The folder in which x11prof/ holds your cost tables. Default: ~/.local/share.
.TP
PAGER
The program that shows results on a terminal page by page. Default: less, with LESS=FRX unless LESS is set. If empty
or cat, results are printed directly.
.TP
NO_COLOR
If set, results on a terminal have no colours.
.SH "EXIT STATUS"
.TP
0
Success.
.TP
1
Failure.
.TP
2
Usage error: the command line is wrong, or names something that does not exist.
.TP
other
\fBrecord\fR with a command exits with the status of the command; 127 if the command does not exist, 126 if it cannot run.
.SH FILES
.TP
x11prof.mcap
The default recording.
"#;

/// Prints the manual page of the program, with its commands and subcommands.
pub(crate) fn man() -> Outcome {
    let mut command = Arguments::command();
    command.build();
    emit(None, |out| {
        clap_mangen::Man::new(command.clone()).render(out)?;
        below(&command, out)?;
        Ok(out.write_all(REST.as_bytes())?)
    })
}

fn below(command: &Command, out: &mut dyn Write) -> io::Result<()> {
    let named = |sub: &&Command| sub.get_name() != "help";
    for sub in command.get_subcommands().filter(named) {
        let man = clap_mangen::Man::new(sub.clone());
        // The header and the footer of the page belong to the main program.
        man.render_name_section(out)?;
        man.render_synopsis_section(out)?;
        man.render_options_section(out)?;
        below(sub, out)?;
    }
    Ok(())
}

/// Prints the completions for a shell.
pub(crate) fn completions(shell: Shell) -> Outcome {
    let mut command = Arguments::command();
    // The generator panics on a closed pipe, so write into memory first.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "x11prof", &mut script);
    emit(None, |out| Ok(out.write_all(&script)?))
}
