# SPDX-License-Identifier: Apache-2.0
"""Makes the package for Debian 12 with debhelper: the program and its systemd units."""

import email.utils
import re
import shutil
import subprocess

PROGRAMS = ("infold-switch", "infold-switch-xdp")


def version(root):
    """Returns the version of all packages, which is the project's in the top CMakeLists.txt."""
    text = (root / "CMakeLists.txt").read_text("utf-8")
    return re.search(r"project\(infold VERSION ([\d.]+)", text)[1]


def _changelog(root):
    done = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=root, capture_output=True, text=True, check=False
    )
    # The time is that of the last commit, so that the same tree makes the same package.
    when = email.utils.formatdate(int(done.stdout) if done.stdout.strip() else 0)
    control = (root / "packaging" / "debian" / "control").read_text("utf-8")
    maintainer = re.search(r"^Maintainer: (.*)$", control, re.MULTILINE)[1]
    return (
        f"infold ({version(root)}) bookworm; urgency=medium\n\n"
        "  * The changes are in CHANGELOG.md.\n\n"
        f" -- {maintainer}  {when}\n"
    )


def _stage(root, folder):
    """Fills the folder that debhelper expects: the files to pack, and debian/ beside them."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(root / "packaging" / "debian", folder / "debian")
    debian = folder / "debian"
    (debian / "changelog").write_text(_changelog(root), "utf-8")
    (debian / "docs").write_text("README.md\n", "utf-8")
    shutil.copy(root / "README.md", folder)
    shutil.copy(root / "CHANGELOG.md", folder)
    for name in ("switch.toml", "switch-xdp.toml"):
        shutil.copy(root / "packaging" / name, folder)
    for name in PROGRAMS:
        shutil.copy(root / "packaging" / f"{name}.service", debian / f"infold.{name}.service")


def make(root, out, run):
    """Makes the package, and returns its path."""
    for old in out.glob("infold_*.deb"):
        old.unlink()
    print("package: building the program", flush=True)
    run(["cmake", "--preset", "release"], cwd=root)
    run(["cmake", "--build", "build/release", "--target", "infold"], cwd=root)
    folder = out / "deb" / "infold"
    _stage(root, folder)
    run(["cmake", "--install", "build/release", "--prefix", folder / "usr"], cwd=root)
    run(["dpkg-buildpackage", "--build=binary", "--no-sign", "--no-check-builddeps"], cwd=folder)
    (made,) = (path for path in (out / "deb").glob("infold_*.deb"))
    shutil.copy(made, out)
    # An error of lintian is a failure. docs/packages.md says that there are no warnings.
    run(
        [
            "lintian",
            "--fail-on",
            "error",
            "--suppress-tags",
            "bad-distribution-in-changes-file",
            made,
        ]
    )
    return out / made.name
