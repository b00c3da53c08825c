//! `x11prof man` and `x11prof completions`: from the definitions of the command line.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Arguments;
use crate::error::Outcome;
use crate::output::emit;

/// The manual page: the program's, and below it that of each command.
pub(crate) fn man() -> Outcome {
    let mut command = Arguments::command();
    command.build();
    emit(None, |out| {
        clap_mangen::Man::new(command.clone()).render(out)?;
        for sub in command
            .get_subcommands()
            .filter(|it| it.get_name() != "help")
        {
            let man = clap_mangen::Man::new(sub.clone());
            // Its own heading, and what the page of a program has at its foot, are the first's.
            man.render_name_section(out)?;
            man.render_synopsis_section(out)?;
            man.render_options_section(out)?;
        }
        Ok(())
    })
}

/// The completions for a shell.
pub(crate) fn completions(shell: Shell) -> Outcome {
    let mut command = Arguments::command();
    emit(None, |mut out| {
        clap_complete::generate(shell, &mut command, "x11prof", &mut out);
        Ok(())
    })
}
