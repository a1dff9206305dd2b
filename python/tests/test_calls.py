"""Calls: progress, cancellation, signals, threads, memory."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import pelt


def test_progress_is_called(cloth):
    calls = []
    pelt.decompose(cloth, bones=6, progress=lambda phase, fraction: calls.append((phase, fraction)))
    assert calls and all(0 <= fraction <= 1 for _, fraction in calls)


def test_an_exception_in_progress_cancels(cloth):
    class Stop(Exception):
        pass

    def stop(phase, fraction):
        raise Stop

    with pytest.raises(Stop):
        pelt.decompose(cloth, bones=6, progress=stop)
    assert pelt.decompose(cloth, bones=2, iterations=1).error  # the source is as it was


def test_memory_limit(cloth):
    with pytest.raises(pelt.OutOfMemoryError) as raised:
        pelt.decompose(cloth, bones=6, memory_limit=10000)
    assert isinstance(raised.value, MemoryError)


def test_threads_at_once(cloth):
    expected = pelt.decompose(cloth, bones=6, threads=1)
    results = [None] * 4

    def work(number):
        results[number] = pelt.decompose(cloth, bones=6, threads=1 + number % 2)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        np.testing.assert_array_equal(result.weights, expected.weights)


def test_one_object_in_two_threads(creature):
    live = pelt.Binding(creature, resolution=64)
    expected = {falloff: np.array(live.apply(falloff=falloff).weights) for falloff in (0.2, 0.9)}
    wrong = []

    def work(falloff):
        for _ in range(10):
            if not np.array_equal(creature.evaluate(time=falloff), creature.evaluate(time=falloff)):
                wrong.append(falloff)

    threads = [threading.Thread(target=work, args=(falloff,)) for falloff in expected for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    np.testing.assert_array_equal(live.apply(falloff=0.2).weights, expected[0.2])


def test_other_threads_run_during_a_call(cloth):
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    before = counted[0]
    pelt.decompose(cloth, bones=12, effort="best", progress=False)
    during = counted[0] - before
    done.set()
    counter.join()
    assert during > 2


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_interrupt_from_the_keyboard(tmp_path):
    script = textwrap.dedent(
        """
        import numpy as np, pelt
        random = np.random.default_rng(1)
        positions = random.standard_normal((200, 4000, 3)).astype(np.float32)
        print("ready", flush=True)
        pelt.decompose(positions, bones=100, effort="best", progress=False)
    """
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "LD_PRELOAD": os.environ.get("PELT_PRELOAD", "")},
    )
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=120)
    assert "KeyboardInterrupt" in errors and child.returncode != 0


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or "PELT_SANITIZE" in os.environ,
    reason="needs /proc, and memory that is given back",
)
def test_memory_stays_flat():
    frames = np.random.default_rng(1).standard_normal((6, 60, 3)).astype(np.float32)
    triangles = np.arange(60, dtype=np.uint32).reshape(-1, 3)
    model = pelt.mesh(frames, triangles)

    def once():
        skin = pelt.decompose(model, bones=3, iterations=2, threads=1)
        skin.evaluate()
        pelt.correct(skin, rank=1, threads=1)
        with pytest.raises(pelt.UsageError):
            pelt.decompose(model, bones=5000)
        pelt.skin(skin.rest, skin.joints, skin.weights, skin.transforms[0])

    for _ in range(50):
        once()
    gc.collect()
    before = resident()
    for _ in range(200):  # five calls each
        once()
    gc.collect()
    assert resident() - before < 1 << 20
