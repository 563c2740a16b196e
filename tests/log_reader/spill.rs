//! Transactions that do not fit into memory.

use std::path::PathBuf;
use std::sync::LazyLock;

/// Two temporary folders of this process.
pub fn folders() -> Vec<PathBuf> {
    static FOLDERS: LazyLock<[PathBuf; 2]> = LazyLock::new(|| {
        ["a", "b"].map(|name| {
            let path = std::env::temp_dir().join(format!("tidemark-log-reader-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            path
        })
    });
    FOLDERS.to_vec()
}
