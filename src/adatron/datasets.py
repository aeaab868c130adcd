"""Data for experiments: the papers' artificial problems, made here, and stored sets, read where they lie.

A stored set is one ``<name>/<name>.npz`` in the folder ``$ADATRON_DATA``, or in ``../shared/data`` as seen from the
project's root. Nothing is bundled.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch, check_random_state

from adatron._check import Array, choice, integer

PROJECT = Path(__file__).resolve().parents[2]
STORED = ("ijcnn1", "ionosphere", "mnist", "pima", "sonar", "splice", "svmguide1", "usps", "wbc")

Labelled = tuple[Array, Array]


def xor() -> Labelled:
    """Exclusive or: the corners of a square, those of a diagonal alike."""
    return parity(2)


def parity(bits: int = 4) -> Labelled:
    """All strings of ±1 of this length; +1 where the number of ones is even."""
    X = np.array(list(product((-1.0, 1.0), repeat=integer("bits", bits, at_least=1))))
    return X, np.where((X > 0).sum(axis=1) % 2 == 0, 1.0, -1.0)


def mirror_symmetry(rows: int = 200, bits: int = 30, *, random_state: Any = 0) -> Labelled:
    """Strings of ±1, half of them (drawn by lot) symmetrical about their centre: +1; the others random: -1."""
    rows, half = integer("rows", rows, at_least=1), integer("bits", bits, at_least=2) // 2
    random = check_random_state(random_state)
    first, second = random.choice((-1.0, 1.0), size=(2, rows, half))
    symmetrical = random.randint(2, size=rows).astype(bool)
    second[symmetrical] = first[symmetrical, ::-1]
    target = np.where((second == first[:, ::-1]).all(axis=1), 1.0, -1.0)
    middle = random.choice((-1.0, 1.0), size=(rows, bits - 2 * half))
    return np.hstack((first, middle, second)), target


def two_spirals(points: int = 97) -> Labelled:
    """Two spirals of so many points, three times around each other: Lang and Witbrock's problem."""
    step = np.arange(integer("points", points, at_least=2))
    angle, radius = step * np.pi / 16, 6.5 * (104 - step) / 104
    spiral = np.stack((radius * np.sin(angle), radius * np.cos(angle)), axis=1)
    return np.vstack((spiral, -spiral)), np.repeat((1.0, -1.0), len(step))


def checkerboard(rows: int = 1000, *, fields: int = 4, random_state: Any = 0) -> Labelled:
    """Points uniform on a board, labelled by the colour of their field."""
    X = check_random_state(random_state).uniform(0.0, fields, size=(integer("rows", rows, at_least=1), 2))
    return X, np.where(np.floor(X).sum(axis=1) % 2 == 0, 1.0, -1.0)


GENERATED: dict[str, Callable[[], Labelled]] = {
    "xor": xor,
    "parity": parity,
    "mirror_symmetry": mirror_symmetry,
    "two_spirals": two_spirals,
    "checkerboard": checkerboard,
}


def load(name: str) -> Bunch:
    """A set by its name: ``data``, ``target``, and ``train_mask``, the published split (None: there is none).

    Where there is a split, ``X_train``, ``y_train``, ``X_test`` and ``y_test`` are its parts.
    """
    if choice("name", name, [*GENERATED, *STORED]) in GENERATED:
        data, target = GENERATED[name]()
        return Bunch(data=data, target=target, train_mask=None)
    stored = find(name)
    if "X_train" not in stored.files:
        mask = stored["train_mask"] if "train_mask" in stored.files else None
        return _split(stored["X"], stored["y"], mask)
    parts = [np.concatenate([stored[f"{kind}_train"], stored[f"{kind}_test"]]) for kind in "Xy"]
    return _split(parts[0].reshape(len(parts[1]), -1), parts[1], np.arange(len(parts[1])) < len(stored["y_train"]))


def find(name: str) -> Any:
    """Open a stored set."""
    folders = [os.environ.get("ADATRON_DATA"), PROJECT.parent / "shared" / "data"]
    paths = [Path(folder) / name / f"{name}.npz" for folder in folders if folder]
    for path in paths:
        if path.exists():
            return np.load(path)
    raise FileNotFoundError(
        f"{name}.npz is not in $ADATRON_DATA nor in ../shared/data: set ADATRON_DATA to a folder that has "
        f"{name}/{name}.npz."
    )


def _split(data: NDArray[Any], target: NDArray[Any], mask: NDArray[np.bool_] | None) -> Bunch:
    bunch = Bunch(data=data, target=target, train_mask=mask)
    if mask is not None:
        bunch.update(X_train=data[mask], y_train=target[mask], X_test=data[~mask], y_test=target[~mask])
    return bunch
