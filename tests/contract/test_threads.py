"""Threads: how many are taken, and that forks and fits side by side are safe."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import traceback
from contextlib import suppress
from multiprocessing import get_context
from queue import Empty

import numpy as np
import pytest
from joblib import effective_n_jobs
from sklearn.model_selection import cross_val_predict
from threadpoolctl import threadpool_limits

from adatron import SVC, Gram
from adatron.kernels import Gaussian
from adatron.threads import effective_threads

PATIENCE = 600  # seconds before a fit counts as hanging, on a busy machine too


def data(seed: int, rows: int = 1500) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 8))
    return X, np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=rows) > 0, 1, -1)


def answers(seed: int, n_jobs: int | None = 2) -> np.ndarray:
    X, y = data(seed)
    return SVC(C=3.0, n_jobs=n_jobs).fit(X, y).decision_function(X[:100])


# ---------------------------------------------------------------- how many


def test_n_jobs_is_read_as_scikit_learn_does():
    assert effective_threads(1) == 1
    assert effective_threads(3) == 3
    assert effective_threads(-1) == effective_n_jobs(-1) >= 1


@pytest.mark.parametrize("limit", [1, 2])
def test_threadpoolctl_is_heard(limit):
    with threadpool_limits(limits=limit):
        assert effective_threads() <= limit
        assert Gram(Gaussian(1.0), np.eye(3)).threads == effective_threads()
    with threadpool_limits(limits=1, user_api="openmp"):
        assert effective_threads() == 1
        assert effective_threads(2) == 2  # who asks for two gets two


@pytest.mark.parametrize("wanted", ["1", "2"])
def test_the_environment_is_heard(wanted):
    code = "from adatron.threads import effective_threads; print(effective_threads())"
    environment = {**os.environ, "OMP_NUM_THREADS": wanted}
    out = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=PATIENCE
    )
    assert out.returncode == 0, out.stderr
    assert int(out.stdout) == min(int(wanted), os.cpu_count() or 1)


def test_n_jobs_reaches_the_core():
    for n_jobs in (1, 2):
        assert Gram(Gaussian(1.0), np.eye(3), threads=n_jobs).threads == n_jobs


def test_no_more_threads_run_than_were_asked_for():
    code = """
import numpy as np, os
from adatron import SVC
rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 8)); y = np.where(X[:, 0] > rng.normal(size=2000), 1, -1)
before = len(os.listdir("/proc/self/task"))
for n_jobs in (1, 3, 2):
    SVC(n_jobs=n_jobs).fit(X, y).predict(X)
    print(len(os.listdir("/proc/self/task")) - before)
"""
    if not sys.platform.startswith("linux"):
        pytest.skip("asks Linux for its threads")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert out.returncode == 0, out.stderr
    assert out.stdout.split() == ["0", "2", "2"]  # helpers; they stay for the next fit


# ---------------------------------------------------------------- forks


def in_child(queue, seed: int) -> None:
    try:
        queue.put(answers(seed))
    except BaseException:
        queue.put(traceback.format_exc())


def received(queue, children: list) -> np.ndarray | str:
    """What a child says; if all have ended without a word, with what."""
    while any(process.is_alive() for process in children):
        with suppress(Empty):
            return queue.get(timeout=1)
    try:
        return queue.get(timeout=1)
    except Empty:
        return f"ended with {[process.exitcode for process in children]}"


def forked(seed: int, n: int = 1) -> list[np.ndarray]:
    """The answers of `n` forked children that fit at once."""
    context = get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=in_child, args=(queue, seed)) for _ in range(n)]
    try:
        for process in children:
            process.start()
        results = [received(queue, children) for _ in children]
        for process in children:
            process.join(timeout=PATIENCE)
            assert process.exitcode == 0
    finally:
        for process in children:
            process.kill()
    for result in results:
        assert isinstance(result, np.ndarray), result
    return results


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("n", [1, 2])
def test_a_child_fits_after_its_parent_did(n):
    expected = answers(0)  # the pool has threads now, which a fork does not copy
    for values in forked(0, n):
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(answers(0), expected, rtol=0, atol=1e-9)  # and the parent goes on


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.skipif(
    "ADATRON_SANITIZE" in os.environ,
    reason="sanitizers do not survive it: ASan's allocator (g++ 12) may be locked at the fork, and stays so in the "
    'child; TSan ends with "dup thread with used id"',
)
def test_a_child_fits_while_a_thread_of_its_parent_does():
    stop = threading.Event()
    errors = []

    def keep_fitting() -> None:
        try:
            while not stop.is_set():
                answers(1)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=keep_fitting)
    thread.start()
    try:
        for _ in range(3):
            forked(0)
    finally:
        stop.set()
        thread.join(timeout=PATIENCE)
    assert not thread.is_alive()
    assert not errors


def test_joblib_workers_fit():
    X, y = data(2, rows=400)
    several, alone = (
        cross_val_predict(SVC(C=3.0, tol=1e-6), X, y, cv=4, n_jobs=n_jobs, method="decision_function")
        for n_jobs in (2, None)
    )
    np.testing.assert_allclose(several, alone, rtol=0, atol=1e-9)


# ---------------------------------------------------------------- side by side


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_fits_side_by_side_give_right_answers(n_jobs):
    seeds = [0, 1, 2, 3]
    expected = {seed: answers(seed, 1) for seed in seeds}
    found, errors = {}, []

    def work(seed: int) -> None:
        try:
            for _ in range(3):
                found[seed] = answers(seed, n_jobs)
                np.testing.assert_allclose(found[seed], expected[seed], rtol=0, atol=1e-9)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in seeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=PATIENCE)
        assert not thread.is_alive()
    assert not errors, errors[0]
    assert found.keys() == expected.keys()


def test_one_machine_answers_many_threads():
    X, y = data(4)
    machine = SVC(n_jobs=2).fit(X, y)
    expected = machine.decision_function(X)
    results = [None] * 4

    def ask(k: int) -> None:
        results[k] = machine.decision_function(X)

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=PATIENCE)
    for values in results:
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12)


# ---------------------------------------------------------------- the end

# Labels are objects: of numbers, NumPy's own unique (2.3 to 2.4), which scikit-learn calls, aborts at the end.
FITTING = """
import sys, threading, time
import numpy as np
from adatron import SVC
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 5)); y = np.where(X[:, 0] * X[:, 1] > 0, "a", "b").astype(object)
fitted = threading.Event()
def keep_fitting():
    while True:
        SVC(n_jobs=2).fit(X, y).predict(X)
        fitted.set()
for _ in range(2):
    threading.Thread(target=keep_fitting, daemon=True).start()
fitted.wait()
time.sleep(float(sys.argv[1]))
"""


def test_the_process_ends_quietly_while_daemon_threads_fit():
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", FITTING, str(0.01 * k)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for k in range(6)
    ]
    for process in processes:
        _, said = process.communicate(timeout=PATIENCE)
        assert said == ""
        assert process.returncode == 0


def test_rows_of_a_small_matrix_wake_no_threads():
    """Waking a thread takes longer than such a row: all the CPU time is that of the caller."""
    rows = np.random.default_rng(0).normal(size=(80, 3))
    gram = Gram(Gaussian(1.0), rows, cache_bytes=1, threads=2)
    process, thread = time.process_time(), time.thread_time()
    for k in range(20_000):
        gram.fetch([k % 80])
    own = time.thread_time() - thread
    assert time.process_time() - process < 1.2 * own
