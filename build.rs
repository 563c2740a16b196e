//! Puts version and git revision into the library and into a file beside it, which goes into the jar: classes refuse a
//! library of another build.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    // Asked of git, because in a linked worktree these files are not below `.git`.
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]) {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    println!("cargo:rerun-if-changed=build.rs");
    let revision = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env=TIDEMARK_REVISION={revision}");
    if let Some(folder) = env::var_os("OUT_DIR").and_then(|out| beside_library(Path::new(&out))) {
        let file = folder.join("tidemark-build.properties");
        println!("cargo:rerun-if-changed={}", file.display());
        let identity = format!("identity={} {revision}\n", env!("CARGO_PKG_VERSION"));
        if let Err(error) = fs::write(&file, identity) {
            println!("cargo:warning={} could not be written: {error}", file.display());
        }
    }
}

/// `target/PROFILE` of `target/PROFILE/build/PACKAGE-HASH/out`.
fn beside_library(out: &Path) -> Option<PathBuf> {
    let build = out.ancestors().find(|folder| folder.ends_with("build"))?;
    build.parent().map(Path::to_owned)
}

fn git(arguments: &[&str]) -> Option<String> {
    let out = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(out.stdout).ok()?;
    out.status.success().then(|| text.trim().to_owned())
}
