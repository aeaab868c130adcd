"""Imports run one way: kernels, problems, solvers, the plan, selection, estimators; nothing private crosses a package.

The graph is read from the sources, so that imports inside functions and under TYPE_CHECKING count as well.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import adatron

SOURCE = Path(adatron.__file__).parent
OWN = {"adatron._core", "adatron._check", "adatron._rows"}  # private to adatron as a whole, not to a part of it
ORDER = ("kernels", "gram", "solvers", "plan", "selection", "estimators")


def module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules(root: Path) -> dict[str, ast.Module]:
    return {module_name(path, root): ast.parse(path.read_text()) for path in sorted(root.rglob("*.py"))}


def imported(tree: ast.Module, known: set[str]) -> list[tuple[str, str]]:
    """Modules of ours that are imported anywhere in a file, each with the name taken from it ("": none)."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute here"
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                found.append((inside, "") if inside in known or inside in OWN else (str(node.module), alias.name))
    return [(module, name) for module, name in found if module.split(".")[0] == "adatron"]


def package(module: str) -> str:
    """The part of the library that a module belongs to: a package below adatron, or the module itself."""
    return ".".join(module.split(".")[:2])


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def edges(trees: dict[str, ast.Module], at: str) -> dict[str, set[str]]:
    """Who imports whom, by module or by package."""
    of = package if at == "package" else str
    graph: dict[str, set[str]] = {of(module): set() for module in trees}
    for module, tree in trees.items():
        graph[of(module)] |= {of(other) for other, _ in imported(tree, set(trees))} - {of(module)}
    return graph


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """One way back to where it began for every edge that closes one."""
    found: list[list[str]] = []
    state: dict[str, int] = {}

    def visit(node: str, path: list[str]) -> None:
        state[node] = 1
        for other in sorted(graph.get(node, ())):
            if state.get(other) == 1:
                found.append([*path[path.index(other) :], other])
            elif other not in state:
                visit(other, [*path, other])
        state[node] = 2

    for node in sorted(graph):
        if node not in state:
            visit(node, [node])
    return found


def private_imports(trees: dict[str, ast.Module]) -> list[str]:
    found = []
    for module, tree in trees.items():
        for other, name in imported(tree, set(trees)):
            hidden = other not in OWN and any(map(is_private, other.split(".")))
            if package(other) != package(module) and (hidden or is_private(name)):
                found.append(f"{module} imports {other} {name}".rstrip())
    return found


TREES = modules(SOURCE)


@pytest.mark.parametrize("at", ["module", "package"])
def test_imports_have_no_cycle(at):
    assert cycles(edges(TREES, at)) == []


def test_nothing_private_crosses_packages():
    assert private_imports(TREES) == []


def test_layers_are_imported_from_above_only():
    graph, place = edges(TREES, "package"), {f"adatron.{name}": k for k, name in enumerate(ORDER)}
    assert set(place) <= set(graph)
    upwards = [(a, b) for a in place for b in graph[a] if place.get(b, -1) > place[a]]
    assert upwards == []


def test_only_solvers_reach_the_native_matrix_of_a_gram():
    reaching = [
        f"{module}:{node.lineno}"
        for module, tree in TREES.items()
        if package(module) not in ("adatron.gram", "adatron.solvers")
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "core" and "gram" in ast.unparse(node.value).lower()
    ]
    assert reaching == []


def test_selection_asks_nobody_for_private_attributes():
    asked = [
        f"{module}:{node.lineno} {ast.unparse(node)}"
        for module, tree in TREES.items()
        if package(module) in ("adatron.plan", "adatron.selection")
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and is_private(node.attr) and ast.unparse(node.value) not in ("self", "cls")
    ]
    assert asked == []


@pytest.mark.parametrize(
    ("files", "cycle", "private"),
    [
        ({"a/x.py": "from adatron.b import y", "b/y.py": "def f():\n    from adatron.a import x"}, True, False),
        ({"a/x.py": "if TYPE_CHECKING:\n    import adatron.b", "b/y.py": "from adatron.a import x"}, True, False),
        ({"a/x.py": "from adatron.b._y import f", "b/_y.py": ""}, False, True),
        ({"a/x.py": "from adatron.b.y import _f", "b/y.py": ""}, False, True),
        ({"a/x.py": "from adatron import b\nfrom adatron._check import f\nfrom adatron.a import _z"}, False, False),
    ],
)
def test_the_graph_sees_what_it_should(tmp_path, files, cycle, private):
    for name, text in files.items():
        path = tmp_path / "adatron" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        (path.parent / "__init__.py").touch()
    trees = modules(tmp_path / "adatron")
    assert bool(cycles(edges(trees, "package"))) == cycle
    assert bool(private_imports(trees)) == private


def test_selection_is_there_and_importing_stays_light():
    """What scikit-learn loads by itself, such as pandas where it is installed, is its own matter."""
    code = (
        "import sys, sklearn.base, sklearn.callback\n"
        "known = set(sys.modules)\n"
        "import adatron\n"
        "added = {'matplotlib', 'pandas', 'dask', 'rich', 'adatron.selection'} & (set(sys.modules) - known)\n"
        "assert not added, added\n"
        "assert 'selection' in dir(adatron) and adatron.selection.cross_validate\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
