//! `x11prof export`: converts a recording to the format of another program.

mod parquet;
mod stacks;
mod timeline;

use x11prof_analyzer::MissingParts;
use x11prof_trace::Record;
use x11prof_views::export::pcapng::PcapNg;

use crate::args::{Export, ExportBy, ExportFormat};
use crate::error::{CommandError, Outcome};
use crate::input;
use crate::output::{Emit, emit, refuse_input};
use crate::pass::tell_missing;

/// Writes the recording in the requested format.
pub(crate) fn run(arguments: &Export) -> Outcome {
    refuse_input(Some(&arguments.output), [arguments.trace.as_path()])?;
    let has_sums = matches!(arguments.to, ExportFormat::Pprof | ExportFormat::Collapsed);
    if arguments.by == ExportBy::Stack && !has_sums {
        return Err(CommandError::usage(
            "--by stack needs --to pprof or --to collapsed",
        ));
    }
    match arguments.to {
        ExportFormat::Pcapng => pcapng(arguments),
        ExportFormat::Perfetto => timeline::perfetto(arguments),
        ExportFormat::Parquet => parquet::export(arguments),
        ExportFormat::Firefox => timeline::firefox(arguments),
        ExportFormat::Pprof | ExportFormat::Collapsed => stacks::export(arguments),
    }
}

fn pcapng(arguments: &Export) -> Outcome {
    let path = &arguments.trace;
    let mut reader = input::trace(path)?;
    let (mut holes, mut missing) = (0, MissingParts::default());
    let written = emit(Some(&arguments.output), |out| {
        let mut capture = PcapNg::new(out)?;
        while let Some(record) = reader
            .next()
            .map_err(|error| Emit::Command(CommandError::file(path, error)))?
        {
            if let Record::Control(time, control) = &record {
                missing.control(*time, control);
            }
            capture.record(&record, out)?;
        }
        missing.end();
        holes = capture.holes();
        Ok(())
    })?;
    tell_missing(path, &missing);
    if holes > 0 {
        say!(
            "the capture has holes: {holes} bytes that the recorder dropped are missing, not zero. `record \
         --keep-images` keeps them"
        );
    }
    Ok(written)
}
