"""Settings of a call: threads, memory and progress."""

import sys
import time


class Bar:
    """A line on a terminal: the phase, a bar and the time so far. Drawn at most ten times a second, removed at the end."""

    WIDTH = 24

    def __init__(self, stream):
        self.stream = stream
        self.start = self.drawn = time.monotonic()
        self.shown = False

    def __call__(self, phase, fraction):
        now = time.monotonic()
        if now - self.start < 0.5 or now - self.drawn < 0.1:
            return
        self.drawn = now
        self.shown = True
        full = round(self.WIDTH * min(max(fraction, 0), 1))
        self.stream.write(
            f"\r\033[K{phase} [{'#' * full}{'.' * (self.WIDTH - full)}] {100 * fraction:3.0f} % {now - self.start:.0f} s"
        )
        self.stream.flush()

    def close(self):
        if self.shown:
            self.stream.write("\r\033[K")
            self.stream.flush()


class settings:
    """Context of a call: a dict for the extension. progress None: a bar where stderr is a terminal; False: none; else a
    function that is called with the phase and its fraction, 0 to 1, and cancels the call by raising an exception.
    """

    def __init__(self, threads=None, memory_limit=None, progress=None):
        if progress is None and sys.stderr is not None and sys.stderr.isatty():
            progress = Bar(sys.stderr)
        self.values = {"threads": threads, "memory": memory_limit, "progress": progress or None}

    def __enter__(self):
        return self.values

    def __exit__(self, *_):
        bar = self.values["progress"]
        if isinstance(bar, Bar):
            bar.close()
