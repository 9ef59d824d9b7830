"""Compiles the scorers and their rules with mypyc, if asked to: HATCH_BUILD_HOOK_ENABLE_CUSTOM=1 pip install …

The wheel then holds both: the extension modules, which Python imports first, and the source they were made from.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Imports of other modules are not followed: `perpend` imports everything, and to check it all would take minutes.
_SETUP = """
import sys
from mypyc.build import mypycify
from setuptools import setup

folder, *modules = sys.argv[1:]
options = ["--config-file=", "--follow-imports=skip", f"--cache-dir={folder}/cache"]
extensions = mypycify([*options, *modules], opt_level="2", target_dir=f"{folder}/c", group_name="perpend")
arguments = ["--quiet", "build_ext", f"--build-lib={folder}/lib", f"--build-temp={folder}/objects"]
setup(name="perpend", packages=[], ext_modules=extensions, script_args=arguments)
"""


RULES = ("perpend/scorers", "perpend/text")
"""What is compiled, as one unit: the scorers, and the rules that they call."""


class CompiledRules(BuildHookInterface):
    """Adds the compiled modules to a wheel. Nothing is written into the source tree."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile. An editable install is refused: edits of the source would have no effect."""
        if version == "editable":
            raise ValueError("Compiled rules need a plain install. Leave out --editable, or do not ask for them.")
        source = Path(self.root) / "src"
        rules = [path for folder in RULES for path in sorted(source.glob(f"{folder}/*.py")) if path.stem != "__init__"]
        self.folder = TemporaryDirectory()
        modules = [str(path.relative_to(source)) for path in rules]
        command = [sys.executable, "-c", _SETUP, self.folder.name, *modules]
        subprocess.run(command, cwd=source, check=True)  # noqa: S603 - what runs is written above
        built = Path(self.folder.name) / "lib"
        extensions = [path for path in built.rglob("*") if path.suffix in {".so", ".pyd"}]
        build_data["force_include"] |= {str(path): str(path.relative_to(built)) for path in extensions}
        build_data["infer_tag"], build_data["pure_python"] = True, False

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove what the compiler left."""
        self.folder.cleanup()
