"""What the operators share: run the program with progress and Esc in a window, wait for it without one."""
import bpy

from . import options
from .program import Failed, Run


class Job:
    """An operator that exports (prepare), runs the program, and applies its result (apply).

    prepare(context, run) writes files into run.folder and returns the program's arguments; apply(context, run) changes
    the scene and returns a sentence. Both may raise Failed. apply must check what it needs before it adds anything."""

    bl_options = {"REGISTER", "UNDO"}
    pelt_added = []
    _in_window = False

    def arguments(self):
        return options.arguments(self)

    def invoke(self, context, event):
        self._in_window = not bpy.app.background
        if self._in_window:
            return context.window_manager.invoke_props_dialog(self, width=400)
        return self.execute(context)

    def execute(self, context):
        in_window, self._in_window = self._in_window, False  # the redo panel calls execute again: that one waits
        self._run = Run()
        try:
            self._run.start(self.prepare(context, self._run) + self.arguments())
            if in_window:
                self._timer = context.window_manager.event_timer_add(0.1, window=context.window)
                context.window_manager.progress_begin(0, 100)
                context.window_manager.modal_handler_add(self)
                return {"RUNNING_MODAL"}
            self._run.wait()
            return self._finish(context)
        except Failed as error:
            self._run.close()
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        except BaseException:
            self._run.close()
            raise

    def modal(self, context, event):
        """Other events wait: the scene must not change under the program."""
        if event.type == "ESC":
            self._leave(context)
            self._run.close()
            self.report({"INFO"}, "Cancelled")
            return {"CANCELLED"}
        if event.type == "TIMER" and self._run.done():
            self._leave(context)
            try:
                return self._finish(context)
            except Failed as error:
                self._run.close()
                self.report({"ERROR"}, str(error))
                return {"CANCELLED"}
        if event.type == "TIMER":
            percent = int(100 * self._run.progress)
            context.window_manager.progress_update(percent)
            context.workspace.status_text_set("Pelt: %s %d %%    Esc: cancel" % (self._run.phase, percent))
        return {"RUNNING_MODAL"}

    def _leave(self, context):
        context.window_manager.event_timer_remove(self._timer)
        context.window_manager.progress_end()
        context.workspace.status_text_set(None)

    def _finish(self, context):
        try:
            warnings = self._run.result()
            text = self.apply(context, self._run)
        finally:
            self._run.close()
        for warning in warnings:
            self.report({"WARNING"}, warning)
        self.report({"INFO"}, text)
        return {"FINISHED"}

    def draw(self, context):
        layout = self.layout
        layout.use_property_split = True
        for name in type(self).__annotations__:
            layout.prop(self, name)
