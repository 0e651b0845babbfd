"""``python -m bench.workers``: one writer over vectors against pools of workers, for one and the same rule.

The rule: a pod goes where it fits and where most is left (NodeResourcesFit, LeastAllocated), 5,000 nodes. Each row
organises the work differently; one JSON line per row with ``pods_per_s``, and of all placements how many were ``refused``
(the node was full by then, so that the pod had to be decided again) and how many ``worse`` (another node was better by
the time of placing). Read by docs/decisions/0004-one-writer.md.
"""

from __future__ import annotations

import json
import multiprocessing
import queue
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

NODES: Final = 5_000
CPU, MEMORY = 64_000, 256 << 30
Pod = tuple[int, int]


@dataclass
class Cluster:
    """What is free, by node."""

    cpu: NDArray[np.int64] = field(default_factory=lambda: np.full(NODES, CPU, np.int64))
    memory: NDArray[np.int64] = field(default_factory=lambda: np.full(NODES, MEMORY, np.int64))
    refused: int = 0
    placed: list[tuple[Pod, int]] = field(default_factory=list)

    def place(self, pod: Pod, node: int) -> bool:
        """Put the pod there if it still fits."""
        if self.cpu[node] < pod[0] or self.memory[node] < pod[1]:
            self.refused += 1
            return False
        self.cpu[node] -= pod[0]
        self.memory[node] -= pod[1]
        self.placed.append((pod, node))
        return True

    def count_worse(self) -> int:
        """How many of the placements, in their order, were not the best at their time."""
        again, worse = Cluster(), 0
        for pod, node in self.placed:
            judged = scores(pod, again)
            worse += bool(judged[node] < judged.max())
            again.place(pod, node)
        return worse


def scores(pod: Pod, cluster: Cluster) -> NDArray[np.int64]:
    """The rule over all nodes at once; -1 where the pod does not fit."""
    cpu, memory = cluster.cpu - pod[0], cluster.memory - pod[1]
    score = (cpu * 100 // CPU + memory * 100 // MEMORY) // 2
    score[(cpu < 0) | (memory < 0)] = -1
    return score


def score_of(pod: Pod, cpu: int, memory: int) -> int:
    """The rule for one node."""
    cpu, memory = cpu - pod[0], memory - pod[1]
    if cpu < 0 or memory < 0:
        return -1
    return (cpu * 100 // CPU + memory * 100 // MEMORY) // 2


def pods(count: int) -> Iterator[Pod]:
    """Pods of all sizes."""
    rng = random.Random(7)
    return ((rng.randrange(100, 4_000), rng.randrange(1 << 28, 16 << 30)) for _ in range(count))


def one_writer(count: int, _workers: int) -> tuple[Cluster, float]:
    """bayplan: vectors, decided and placed one after the other."""
    cluster, start = Cluster(), time.perf_counter()
    for pod in pods(count):
        cluster.place(pod, int(scores(pod, cluster).argmax()))
    return cluster, time.perf_counter() - start


def pods_to_threads(count: int, workers: int) -> tuple[Cluster, float]:
    """The seeds' worker pool: each worker decides a pod of its own by what it sees; one takes in the results."""
    cluster = Cluster()
    todo: queue.Queue[Pod | None] = queue.Queue()
    done: queue.Queue[tuple[Pod, int]] = queue.Queue(maxsize=workers)

    def work() -> None:
        while (pod := todo.get()) is not None:
            done.put((pod, int(scores(pod, cluster).argmax())))

    for pod in pods(count):
        todo.put(pod)
    threads = [threading.Thread(target=work) for _ in range(workers)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    left = count
    while left:
        pod, node = done.get()
        if cluster.place(pod, node):
            left -= 1
        else:
            todo.put(pod)
    busy = time.perf_counter() - start
    for _ in threads:
        todo.put(None)
    for thread in threads:
        thread.join()
    return cluster, busy


def nodes_to_threads(count: int, workers: int) -> tuple[Cluster, float]:
    """kube-scheduler's ``parallelism``: the nodes of one pod are shared out, each judged by a function."""
    cluster = Cluster()
    step = -(-NODES // workers)

    def part(pod: Pod, first: int) -> tuple[int, int]:
        cpu = cluster.cpu[first : first + step].tolist()
        memory = cluster.memory[first : first + step].tolist()
        judged = [score_of(pod, c, m) for c, m in zip(cpu, memory, strict=True)]
        best = max(judged)
        return best, -(first + judged.index(best))

    with ThreadPoolExecutor(workers) as pool:
        start = time.perf_counter()
        for pod in pods(count):
            parts = [pool.submit(part, pod, first) for first in range(0, NODES, step)]
            node = -max(found.result() for found in parts)[1]
            cluster.place(pod, node)
        return cluster, time.perf_counter() - start


def pods_to_processes(count: int, workers: int) -> tuple[Cluster, float]:
    """A pool that the interpreter's lock does not hold back: a copy of the cluster in every process, kept up to date."""
    cluster, context = Cluster(), multiprocessing.get_context("fork")
    pipes: list[tuple[Connection, list[tuple[int, Pod]]]] = []
    processes = []
    for _ in range(workers):
        ours, theirs = context.Pipe()
        process = context.Process(target=_decide_for, args=(theirs,), daemon=True)
        process.start()
        processes.append(process)
        pipes.append((ours, []))
    waiting = list(pods(count))
    start = time.perf_counter()
    flying: dict[int, Pod] = {}
    while waiting or flying:
        for number, (pipe, news) in enumerate(pipes):
            if number in flying or not waiting:
                continue
            flying[number] = waiting.pop()
            pipe.send((flying[number], tuple(news)))
            news.clear()
        for number in [n for n, (pipe, _) in enumerate(pipes) if n in flying and pipe.poll()]:
            node, pod = pipes[number][0].recv(), flying.pop(number)
            if cluster.place(pod, node):
                for _, news in pipes:
                    news.append((node, pod))
            else:
                waiting.append(pod)
    busy = time.perf_counter() - start
    for pipe, _ in pipes:
        pipe.send(None)
    for process in processes:
        process.join()
    return cluster, busy


def _decide_for(pipe: Connection) -> None:
    cluster = Cluster()
    while (asked := pipe.recv()) is not None:
        pod, news = asked
        for node, placed in news:
            cluster.cpu[node] -= placed[0]
            cluster.memory[node] -= placed[1]
        pipe.send(int(scores(pod, cluster).argmax()))


Row = Callable[[int, int], tuple[Cluster, float]]
ROWS: Final[dict[str, tuple[Row, int, int]]] = {
    "one-writer": (one_writer, 20_000, 1),
    "pods-to-2-threads": (pods_to_threads, 20_000, 2),
    "pods-to-16-threads": (pods_to_threads, 20_000, 16),
    "pods-to-2-processes": (pods_to_processes, 20_000, 2),
    "pods-to-16-processes": (pods_to_processes, 20_000, 16),
    "nodes-to-1-thread": (nodes_to_threads, 200, 1),
    "nodes-to-2-threads": (nodes_to_threads, 200, 2),
    "nodes-to-16-threads": (nodes_to_threads, 200, 16),
}


def main() -> None:
    """Run the rows that were asked for."""
    for name in sys.argv[1:] or ROWS:
        run, count, workers = ROWS[name]
        cluster, busy = run(count, workers)
        line: dict[str, Any] = {"row": name, "nodes": NODES, "pods": count, "workers": workers}
        line |= {"pods_per_s": round(count / busy, 1)}
        line |= {"refused": cluster.refused, "worse": cluster.count_worse()}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
