"""Worker processes that may crash or hang: each is watched, killed when over its time, and replaced."""

from __future__ import annotations

import json
import os
import queue
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

COMMAND = (sys.executable, "-m", "fuzz.worker")
ONE_THREAD = {name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")}
LIFE = 400  # cases, after which a worker is replaced
GRACE = 10.0  # seconds that cases have to end when time is up
LOOK = 0.25  # seconds from one look at a worker to the next
STANDSTILL = 2400  # looks without a twentieth of a second of CPU time, after which a worker is taken for dead: ten
# minutes. Looks and not the clock, which goes on while the whole machine is paused or this process gets no CPU.


class Worker:
    """One process, one case at a time."""

    def __init__(self, command: Sequence[str]) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `end`)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env={**os.environ, **ONE_THREAD},
        )
        self.buffer = b""
        self.served = 0
        self.selector = selectors.DefaultSelector()
        assert self.process.stdout is not None
        self.selector.register(self.process.stdout, selectors.EVENT_READ)

    def run(self, number: int, most: float = 1e9) -> dict[str, Any]:
        """The result of a case; of one that crashed or hung, a finding."""
        assert self.process.stdin is not None
        self.served += 1
        phase: dict[str, Any] = {"phase": "start", "about": "", "limit": 60.0}
        try:
            self.process.stdin.write(f"{number}\n".encode())
            self.process.stdin.flush()
            while True:
                message = self._message(min(float(phase["limit"]), most))
                if "number" in message:
                    return message
                phase = phase | message
        except TimeoutError as error:
            self.process.kill()
            self.process.wait()
            return _failed(number, phase, "hang", f"{phase['phase']} killed: {error}")
        except (EOFError, BrokenPipeError):
            self.process.wait()
            code = self.process.returncode
            name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            kind = "judge" if code == 1 else "crash"
            return _failed(number, phase, kind, f"{phase['phase']} ended by {name}: {self._last_words()}")

    def _message(self, limit: float) -> dict[str, Any]:
        began = self._cpu()
        moved, still = began, 0
        while b"\n" not in self.buffer:
            if self.selector.select(timeout=LOOK):
                assert self.process.stdout is not None
                more = os.read(self.process.stdout.fileno(), 1 << 16)
                if not more:
                    raise EOFError
                self.buffer += more
            cpu, still = self._cpu(), still + 1
            if cpu - began > limit:
                raise TimeoutError(f"{cpu - began:.0f} s of CPU")
            if cpu - moved > 0.05:
                moved, still = cpu, 0
            if still > STANDSTILL:
                raise TimeoutError(f"nothing done in {still * LOOK:.0f} s, after {cpu - began:.1f} s of CPU")
        line, _, self.buffer = self.buffer.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    def _cpu(self) -> float:
        """Seconds used so far; on a system that does not say, the clock's."""
        try:
            with open(f"/proc/{self.process.pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return time.monotonic()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _last_words(self) -> str:
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        fatal = next((k for k, line in enumerate(lines) if line.startswith("Fatal Python error")), len(lines) - 6)
        return " | ".join(line.strip() for line in lines[max(fatal, 0) :][:7] if line)[:500]

    def end(self) -> None:
        """No more of it."""
        self.process.kill()
        self.process.wait()
        self.selector.close()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        self.errors.close()


def _failed(number: int, phase: dict[str, Any], kind: str, detail: str) -> dict[str, Any]:
    finding = {"kind": kind, "detail": detail}
    return {"number": number, "about": phase["about"], "rows": 0, "outcome": kind, "findings": [finding]}


def campaign(
    numbers: Iterable[int],
    jobs: int = 1,
    *,
    command: Sequence[str] = COMMAND,
    most: float = 1e9,
    going: Callable[[], bool] = lambda: True,
) -> Iterator[dict[str, Any]]:
    """The results of the cases of these numbers, in the order in which they come, while `going`.

    A fit that uses more than ``most`` seconds of CPU is killed before its own limit.
    """
    waiting, lock = iter(numbers), threading.Lock()
    results: queue.Queue[dict[str, Any] | None] = queue.Queue()
    ended = threading.Event()
    workers: dict[int, Worker] = {}

    def serve(place: int) -> None:
        worker: Worker | None = None
        while not ended.is_set() and going():
            with lock:
                number = next(waiting, None)
            if number is None:
                break
            if worker is None or worker.served >= LIFE or worker.process.poll() is not None:
                if worker is not None:
                    worker.end()
                worker = workers[place] = Worker(command)
            results.put(worker.run(number, most))
        results.put(None)

    threads = [threading.Thread(target=serve, args=(place,), daemon=True) for place in range(jobs)]
    for thread in threads:
        thread.start()
    try:
        left, over = jobs, None
        while left and (over is None or time.monotonic() < over):
            if over is None and not going():
                over = time.monotonic() + GRACE
            try:
                result = results.get(timeout=1.0)
            except queue.Empty:
                continue
            left -= result is None
            if result is not None:
                yield result
    finally:
        ended.set()
        for worker in workers.values():
            worker.process.kill()
        for thread in threads:
            thread.join()
        for worker in workers.values():
            worker.end()
