//! Hive partitions: values in the names of folders, such as `version=1.2/user=ann/date=2026-11-22`.

/// The version, user and date of a session, as in the names of folders or in the labels of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Partition {
    /// The version of the recorded program; `None` if unknown.
    pub version: Option<String>,
    /// The user whose session was recorded; `None` if unknown.
    pub user: Option<String>,
    /// The day of the recording, such as `2026-11-22`; `None` if unknown.
    pub date: Option<String>,
}

/// The folder name of a missing value.
const NONE: &str = "__HIVE_DEFAULT_PARTITION__";

impl Partition {
    /// Reads version, user and date from the names of the folders in a path. If a path has two values of one kind, the
    /// value of the inner folder is used.
    pub fn of(path: &str) -> Partition {
        let mut partition = Partition::default();
        let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
        for folder in folders.split('/') {
            let Some((name, value)) = folder.split_once('=') else {
                continue;
            };
            let value = (value != NONE && !value.is_empty()).then(|| decoded(value));
            match name {
                "version" => partition.version = value,
                "user" => partition.user = value,
                "date" => partition.date = value,
                _ => {}
            }
        }
        partition
    }

    /// Replaces missing values with those of `other`.
    pub(crate) fn or(self, other: Partition) -> Partition {
        Partition {
            version: self.version.or(other.version),
            user: self.user.or(other.user),
            date: self.date.or(other.date),
        }
    }

    /// The path of the folders for this partition, such as `version=1.2/user=ann/date=2026-11-22`.
    pub fn folders(&self) -> String {
        let named = [
            ("version", &self.version),
            ("user", &self.user),
            ("date", &self.date),
        ];
        let folder = |(name, value): (&str, &Option<String>)| {
            let value = value.as_deref().map_or_else(|| NONE.to_owned(), encoded);
            format!("{name}={value}")
        };
        named.map(folder).join("/")
    }
}

/// Encodes bytes other than letters, digits, `.`, `_` and `-` as in `%41`. DuckDB and Spark decode this form.
fn encoded(value: &str) -> String {
    let mut text = String::new();
    for (at, byte) in value.bytes().enumerate() {
        // A leading dot or underscore hides a file from Spark.
        let plain =
            byte.is_ascii_alphanumeric() || byte == b'-' || (at > 0 && b"._".contains(&byte));
        match plain {
            true => text.push(char::from(byte)),
            false => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

fn decoded(value: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = value.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == b'%');
        let code =
            code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        (rest, _) = match code {
            Some(code) => (&after[2..], bytes.push(code)),
            None => (after, bytes.push(*first)),
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::Partition;

    #[test]
    fn partition_folders_round_trip() {
        let some = |text: &str| Some(text.to_owned());
        let partition = Partition {
            version: some("1.2/β=%"),
            user: None,
            date: some("2026-11-22"),
        };
        let folders = partition.folders();
        assert_eq!(
            folders,
            "version=1.2%2F%CE%B2%3D%25/user=__HIVE_DEFAULT_PARTITION__/date=2026-11-22"
        );
        let path = format!("/data/user=ann/{folders}/x.mcap");
        assert_eq!(Partition::of(&path), partition);
        assert_eq!(Partition::of("version=1.mcap"), Partition::default());
    }
}
