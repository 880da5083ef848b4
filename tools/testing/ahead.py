# SPDX-License-Identifier: Apache-2.0
"""Builds what later stages need while earlier ones test, because tests wait for packets and for
time as often as for a processor. Compilers get a smaller share of the processors than tests.
"""

import threading

from testing import process
from testing.stages import BUILD_LIMIT_S


class Ahead:
    """Builds for the stages in their order, on a thread of its own. Only one thread may use it."""

    def __init__(self, stages, context):
        self._stages = stages
        self._context = context
        self._changed = threading.Condition()
        self._outcomes = {}  # by stage: None, or what failed
        self._built = []  # commands that need not run again
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._build_all)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stopping.set()
        self._thread.join()

    def wait_for(self, stage, ticker):
        """Returns what could not be built for the stage, or None if all was built."""
        with self._changed:
            while stage.name not in self._outcomes:
                # The thread has printed why it ended, and nobody else would wake this one.
                if not self._thread.is_alive():
                    return "build"
                self._changed.wait(timeout=0.5)
                ticker.tick()
            return self._outcomes[stage.name]

    def _build_all(self):
        for stage in self._stages:
            outcome = self._build(stage)
            if self._stopping.is_set():
                return
            with self._changed:
                self._outcomes[stage.name] = outcome
                self._changed.notify()

    def _build(self, stage):
        with open(self._context.logs / f"{stage.name}.log", "w", encoding="utf-8") as log:
            if stage.skip_reason():
                return None
            for words, what in stage.needs(self._context):
                # Configuring a preset again would write files that its tests read meanwhile.
                if words in self._built:
                    continue
                status = process.run_logged(
                    words,
                    log,
                    BUILD_LIMIT_S,
                    self._context.root,
                    _Silent(),
                    stop=self._stopping,
                    behind=True,
                )
                if status != 0:
                    return what
                self._built.append(words)
        return None


class _Silent(process.Ticker):
    """Shows nothing, because the stage that tests meanwhile has the terminal's line."""

    def __init__(self):
        super().__init__("")
        self.shown = False
