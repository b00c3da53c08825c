//! The built-in parameter files, from `server-params/`.

use crate::{ParameterError, ServerParameters};

/// A parameter file that is compiled into the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltIn {
    /// The name by which users select the file.
    pub name: &'static str,
    /// The text of the file.
    pub toml: &'static str,
}

impl BuiltIn {
    /// Parses the text of the built-in parameter file.
    pub fn parameters(&self) -> Result<ServerParameters, ParameterError> {
        ServerParameters::from_toml(self.toml)
    }

    /// Parses the file without its requests, which is fast and sufficient to choose a file.
    pub fn beginning(&self) -> Result<ServerParameters, ParameterError> {
        let requests = self.toml.find("\n[[request]]").unwrap_or(self.toml.len());
        ServerParameters::from_toml(&self.toml[..requests])
    }
}

/// Creates the list of the files with these names in `server-params`.
macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(BuiltIn {
            name: $name,
            toml: include_str!(concat!("../server-params/", $name, ".toml")),
        }),*]
    };
}

/// The files. They are in a single static, because a function would copy megabytes into each crate that calls it.
static FILES: &[BuiltIn] = files![
    "decstation-3100",
    "hp9000-350",
    "sun4-ipc",
    "xephyr",
    "xorg-dummy",
    "xvfb-24",
    "xvfb-8",
    "xvnc",
    "xwayland",
];

/// The built-in files, ordered by name.
pub fn built_in() -> &'static [BuiltIn] {
    FILES
}

#[cfg(test)]
mod tests {
    use super::built_in;
    use crate::ServerParameters;

    #[test]
    fn built_in_files_parse_and_round_trip() {
        for file in built_in() {
            let parameters = file
                .parameters()
                .unwrap_or_else(|error| panic!("{}: {error}", file.name));
            assert_eq!(parameters.server.name, file.name);
            let beginning = ServerParameters {
                requests: Vec::new(),
                ..parameters.clone()
            };
            assert_eq!(file.beginning(), Ok(beginning));
            assert_eq!(
                ServerParameters::from_toml(&parameters.to_toml()),
                Ok(parameters)
            );
        }
    }

    #[test]
    fn every_parameter_file_is_built_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../server-params");
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|file| {
                file.unwrap()
                    .file_name()
                    .to_str()?
                    .strip_suffix(".toml")
                    .map(Into::into)
            })
            .collect();
        names.sort();
        assert_eq!(
            names,
            built_in().iter().map(|file| file.name).collect::<Vec<_>>()
        );
    }
}
