//! `x11prof man` and `x11prof completions`: from the definitions of the command line.

use std::io::{self, Write};

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::args::Arguments;
use crate::error::Outcome;
use crate::output::emit;

/// The parts of the manual that the definitions lack, in roff (groff_man(7)).
const REST: &str = r#".SH EXAMPLES
.TP
x11prof record \-\- xterm
Record xterm into x11prof.mcap.
.TP
x11prof report
Where its time went: a verdict, the most expensive requests, the doubts. With \fB\-\-all\fR everything.
.TP
x11prof report \-\-net dsl \-\-start\-up
What its start would be over a slow line.
.TP
x11prof episodes \-\-worst 3
The three slowest reactions to the user, with their messages.
.TP
x11prof compare \-\-params xvfb\-24 \-\-params xvnc
The same recording on two servers.
.TP
x11prof calibrate \-\-server xvfb
Measure what requests cost here.
.SH ENVIRONMENT
.TP
DISPLAY
The display that is recorded or measured where neither \fB\-\-display\fR nor \fB\-\-server\fR names one.
.TP
XAUTHORITY
The file with the cookie for it. Default: ~/.Xauthority.
.TP
XDG_DATA_HOME
Measured parameters are kept in x11prof/ below it. Default: ~/.local/share.
.TP
PAGER
What shows a result on a terminal a screen at a time. Default: less, with LESS=FRX where LESS is not set. Empty, or
cat: nothing does.
.TP
NO_COLOR
Where it is set, results on a terminal have no colours.
.SH "EXIT STATUS"
.TP
0
The work is done.
.TP
1
The work failed.
.TP
2
The command line is wrong, or names something that does not exist.
.TP
other
Of \fBrecord\fR with a command: the command's own; 127 where there is no such command, 126 where it cannot be run.
.SH FILES
.TP
x11prof.mcap
The recording that commands read and write where none is named.
"#;

/// The manual page: the program's, below it that of each command and of each command's own commands.
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
        // Its own heading, and what the page of a program has at its foot, are the first's.
        man.render_name_section(out)?;
        man.render_synopsis_section(out)?;
        man.render_options_section(out)?;
        below(sub, out)?;
    }
    Ok(())
}

/// The completions for a shell.
pub(crate) fn completions(shell: Shell) -> Outcome {
    let mut command = Arguments::command();
    // The generator breaks off where a pipe is closed.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "x11prof", &mut script);
    emit(None, |out| Ok(out.write_all(&script)?))
}
