"""The plan of the house as tests: who may import whom, what the inner rooms must not know, the public index."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import selftaught

PACKAGE = Path(selftaught.__file__).parent
ROOT = Path(__file__).resolve().parents[1]
PUBLIC = getattr(selftaught, "__all__", ())

# The order in which data flow through the package: a room uses the rooms before it and never one after it.
CHAIN = (
    *("source", "scaling", "relevance", "labeling", "softmax", "selectors", "encoders", "metrics"),
    *("model_selection", "classifiers", "persistence", "plotting", "report", "experiments", "cli"),
)
ALLOWED = {room: set(CHAIN[:place]) for place, room in enumerate(CHAIN)}
# Three rooms stand to the side: they bring data in, and only those who run whole experiments need them.
ALLOWED["datasets"] = ALLOWED["features"] = ALLOWED["tables"] = {"source"}
for outer in ("experiments", "cli"):
    ALLOWED[outer] |= {"datasets", "features", "selftaught"}
ALLOWED["cli"] |= {"tables"}  # a person's own files
ALLOWED["persistence"] |= {"selftaught"}  # a model file says which version wrote it
ALLOWED["persistence"] |= {"features"}  # and may hold a fitted extractor
ALLOWED["__main__"] = {"cli"}

# The mathematics: arrays in, records out.
INNER_ROOMS = ("relevance", "labeling", "softmax")
FOREIGN_TO_INNER_ROOMS = {
    "scikit-learn's estimators": {"sklearn.base", "sklearn.pipeline", "sklearn.model_selection"},
    "files": {"os", "io", "pathlib", "shutil", "tempfile", "json", "csv", "pickle", "pyarrow", "pandas", "polars"},
    "the command line": {"argparse", "selftaught.cli"},
}

MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]
PROJECT_CODE = [
    path for folder in ("src", "tests", "benchmarks", "examples") for path in sorted((ROOT / folder).rglob("*.py"))
]


def parse(path):
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def room_of(path):
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def is_common_ground(room):
    """A private module at the top, such as ``_validation.py``: every room may use it, and it may use none."""
    return room.startswith("_") and room != "__main__"


def imported_names(path):
    """Dotted absolute names of all that a module imports, also inside functions: a late import points the same way."""
    package = ("selftaught", *path.relative_to(PACKAGE).parent.parts)
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            origin = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def imported_rooms(path):
    """Rooms that a module imports from; ``selftaught`` itself stands for the public index."""
    for name in imported_names(path):
        top, _, rest = name.partition(".")
        if top == "selftaught":
            room = rest.split(".")[0]
            yield room if room in ALLOWED or is_common_ground(room) else "selftaught"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_point_one_way(path):
    room = room_of(path)
    assert room in ALLOWED or is_common_ground(room), f"{room} has no place in the order of the rooms: give it one"
    allowed = ALLOWED.get(room, set()) | {room}
    for other in imported_rooms(path):
        assert other in allowed or is_common_ground(other), (
            f"{path.relative_to(PACKAGE)} imports {other}, which does not come before {room}"
        )


@pytest.mark.parametrize("path", [p for p in MODULES if room_of(p) in INNER_ROOMS], ids=lambda path: path.stem)
def test_the_mathematics_knows_no_estimator_no_file_and_no_command_line(path):
    names = {*imported_names(path)}
    for what, modules in FOREIGN_TO_INNER_ROOMS.items():
        found = [name for name in names for module in modules if name == module or name.startswith(f"{module}.")]
        assert not found, f"{path.relative_to(PACKAGE)} must not know {what}, but imports {found}"
    calls = [n.func.id for n in ast.walk(parse(path)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    assert "open" not in calls, f"{path.relative_to(PACKAGE)} opens a file"


@pytest.mark.parametrize("path", PROJECT_CODE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nobody_seeds_the_global_generator(path):
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Attribute):
            assert not ast.unparse(node).endswith("random.seed"), (
                f"{path.relative_to(ROOT)}:{node.lineno} seeds a generator shared with the user's program"
            )
        elif isinstance(node, ast.ImportFrom) and node.module in ("random", "numpy.random"):
            assert "seed" not in [alias.name for alias in node.names], f"{path.relative_to(ROOT)}:{node.lineno}"


def test_the_index_lists_exactly_what_it_imports():
    nodes = [node for node in parse(PACKAGE / "__init__.py").body if isinstance(node, ast.ImportFrom)]
    imported = {alias.asname or alias.name for node in nodes for alias in node.names}
    assert {*PUBLIC} - {"__version__"} == {name for name in imported if not name.startswith("_")}


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_exist_and_explain_themselves(name):
    public = getattr(selftaught, name)
    if callable(public):
        # not inspect.getdoc, which would hand out the docstring of a base class
        assert (public.__doc__ or "").strip(), f"selftaught.{name} has no docstring of its own"


def test_the_index_is_an_index_and_nothing_else():
    kinds = (ast.Expr, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)
    for node in parse(PACKAGE / "__init__.py").body:
        assert isinstance(node, kinds), f"line {node.lineno} of the package's __init__.py is more than an import"


@pytest.mark.parametrize("room", [r for r in CHAIN if (PACKAGE / r / "__init__.py").exists()])
def test_names_listed_by_a_room_exist(room):
    module = importlib.import_module(f"selftaught.{room}")
    for name in getattr(module, "__all__", ()):
        assert hasattr(module, name), f"selftaught.{room} lists {name} but does not have it"


def test_importing_is_light_and_changes_no_setting():
    # In a process of its own: this one has long imported everything. pandas and pyarrow are not asked for, since
    # scikit-learn itself imports them where they are installed.
    script = """
import sys
import sklearn
before = sklearn.get_config()
import selftaught
heavy = {"matplotlib", "polars", "torch", "onnxruntime"} & set(sys.modules)
assert not heavy, f"import selftaught pulls {sorted(heavy)}"
assert sklearn.get_config() == before, "import selftaught changes scikit-learn's configuration"
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
