"""Every Python block in docs/ runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adatron.solvers import SOLVERS

DOCS = Path(__file__).resolve().parents[1] / "docs"
BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in sorted(DOCS.glob("*.md"))
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL))
]


@pytest.fixture
def solvers():
    """What a page adds to the solvers stays on the page."""
    before = dict(SOLVERS)
    yield
    SOLVERS.clear()
    SOLVERS.update(before)


@pytest.mark.usefixtures("solvers")
@pytest.mark.parametrize("block", BLOCKS)
def test_block_runs(block, capsys):
    exec(compile(block, "docs", "exec"), {"__name__": "docs"})
    assert capsys.readouterr().out


def test_there_are_blocks():
    assert len(BLOCKS) >= 2
