"""Finds and runs the `pelt` program."""
import os
import shutil
import subprocess
import tempfile
import threading

import bpy

_HERE = os.path.dirname(os.path.abspath(__file__))
_NAME = "pelt.exe" if os.name == "nt" else "pelt"
NOT_FOUND = (
    "The pelt program was not found. Install it, put it on the PATH, or set its path in "
    "Edit > Preferences > Add-ons > Pelt"
)


class Failed(Exception):
    """A sentence for the user."""


def preferences():
    addon = bpy.context.preferences.addons.get(__package__)
    return addon.preferences if addon else None


def find():
    """Path of the program: the preference, the one in the zip, the one on the PATH; None if there is none."""
    chosen = preferences() and bpy.path.abspath(preferences().program)
    if chosen:
        return chosen if os.path.isfile(chosen) else None
    shipped = os.path.join(_HERE, "bin", _NAME)
    if os.path.isfile(shipped):
        if not os.access(shipped, os.X_OK):  # Blender unpacks zips without permissions
            os.chmod(shipped, 0o755)
        return shipped
    return shutil.which(_NAME)


def _hidden():
    """Windows: no console window."""
    return {"creationflags": subprocess.CREATE_NO_WINDOW} if os.name == "nt" else {}


def tables():
    """The option tables as JSON text; None without a program that prints them."""
    path = find()
    try:
        done = path and subprocess.run([path, "help", "--json", "-"], capture_output=True, timeout=20, **_hidden())
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace") if done and done.returncode == 0 and done.stdout else None


class Run:
    """A running program in a temporary folder. `close` ends the program and removes the folder."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="pelt-blender-", dir=bpy.app.tempdir or None)
        self.process = None
        self.progress = 0.0
        self.phase = ""
        self._messages = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, arguments):
        program = find()
        if not program:
            raise Failed(NOT_FOUND)
        try:
            self.process = subprocess.Popen(
                [program] + arguments + ["--progress"],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                **_hidden(),
            )
        except OSError as error:
            raise Failed("%s could not be started: %s" % (program, error.strerror))
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            text = line.decode("utf-8", "replace").strip()
            if text.startswith("progress "):
                _, fraction, self.phase = text.split(" ", 2)
                self.progress = float(fraction)
            elif text.startswith("pelt: "):
                self._messages.append(text[len("pelt: ") :].replace(self.folder + os.sep, ""))

    def done(self):
        return self.process.poll() is not None

    def wait(self):
        self.process.wait()

    def result(self):
        """Warnings of a finished run. Raises Failed with the program's sentence. A missed quality target (4) is a
        warning."""
        self._reader.join()
        if self.process.returncode not in (0, 4):
            errors = [m for m in self._messages if not m.startswith("warning: ")]
            raise Failed(errors[-1] if errors else "pelt ended with code %d" % self.process.returncode)
        return [m[len("warning: ") :] if m.startswith("warning: ") else m for m in self._messages]

    def close(self):
        if self.process:
            if not self.done():
                self.process.terminate()
                try:
                    self.process.wait(5)
                except subprocess.TimeoutExpired:
                    self.process.kill()
                    self.process.wait()
            self._reader.join()
            self.process.stderr.close()
        shutil.rmtree(self.folder, ignore_errors=True)
