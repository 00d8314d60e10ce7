"""pack.py BUILD TAG FOLDER: writes the wheel of the package for the platform
TAG to FOLDER, from the libraries, program and licences that wheel.sh built in
BUILD. The same files give the same wheel: it holds no time."""

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
TOP = HERE.parent.parent
sys.path.insert(0, str(HERE / "attnc"))  # without the library, which it packs
from _model_wheel import info_wheel, write

# The command's script. It finds the package without importing it, since NumPy
# takes longer to import than the command to run.
SCRIPT = """#!python
import os
import sys
from importlib.util import find_spec

program = os.path.join(os.path.dirname(find_spec("attnc").origin), "attnc")
os.execv(program, [program, *sys.argv[1:]])
"""

LICENCES = """\
attnc is under the MIT licence (LICENSE). It contains these libraries, from the
sources of Debian's packages, without changes:

    in libattnc.so.1      libyaml, jansson, xxhash, utf8proc
    in libattnc_tcc.so    libtcc, of tcc, under the LGPL (licences/tcc)

To use another libtcc, replace libattnc_tcc.so by a shared library that has the
functions of libtcc.h. bindings/wheel.sh in attnc's source shows how this one
was built, and bindings/libraries.sh fetches its source: {sources}.
"""


def metadata(project):
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}",
             f"Version: {project['version']}",
             f"Summary: {project['description']}",
             "License-Expression: MIT AND LGPL-2.1-or-later AND BSD-2-Clause "
             "AND Unicode-DFS-2015",
             "License-File: LICENSE", "License-File: LIBRARIES"]
    lines += [f"License-File: licences/{name}" for name in NAMES]
    lines += [f"Requires-Python: {project['requires-python']}"]
    lines += [f"Requires-Dist: {one}" for one in project["dependencies"]]
    for extra, packages in project.get("optional-dependencies", {}).items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {one}; extra == "{extra}"'
                  for one in packages]
    return "\n".join(lines) + "\n"


def contents(build, tag, project):
    """Yields the path of each file of the wheel, its bytes, and whether it is a
    program."""
    info = f"{project['name']}-{project['version']}.dist-info"
    data = f"{project['name']}-{project['version']}.data"
    for file in sorted((HERE / "attnc").iterdir()):
        if file.suffix == ".py" or file.name == "py.typed":
            yield f"attnc/{file.name}", file.read_bytes(), False
    yield "attnc/attnc", (build / "attnc").read_bytes(), True
    yield "attnc/libattnc.so.1", (build / "libattnc.so").read_bytes(), True
    tcc = build / "libattnc_tcc.so"
    yield f"attnc/{tcc.name}", tcc.read_bytes(), True
    yield f"{data}/scripts/attnc", SCRIPT.encode(), True
    folders = (TOP / "build/sources").iterdir()
    sources = ", ".join(sorted(x.name for x in folders))
    licences = {"LICENSE": (TOP / "LICENSE").read_text(),
                "LIBRARIES": LICENCES.format(sources=sources)}
    for name in NAMES:
        licences[f"licences/{name}"] = (build / "licences" / name).read_text()
    for name, text in licences.items():
        yield f"{info}/licenses/{name}", text.encode(), False
    yield f"{info}/METADATA", metadata(project).encode(), False
    yield f"{info}/WHEEL", info_wheel(tag), False


def main():
    build, tag, folder = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    stem = f"{project['name']}-{project['version']}"
    to = folder / f"{stem}-py3-none-{tag}.whl"
    write(to, contents(build, tag, project), f"{stem}.dist-info")
    print(f"{to}: {to.stat().st_size / 1e6:.1f} MB")


NAMES = ["jansson", "libyaml", "tcc", "utf8proc", "xxhash"]
if __name__ == "__main__":
    main()
