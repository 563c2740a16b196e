//! Where transactions go that do not fit into memory.

use std::path::{Path, PathBuf};

/// Two temporary folders.
pub fn folders() -> Vec<PathBuf> {
    let folder = |name: &str| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    };
    ["spill-a", "spill-b"].map(folder).to_vec()
}
