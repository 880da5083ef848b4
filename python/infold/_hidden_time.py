# SPDX-License-Identifier: Apache-2.0
"""How much of each bucket's average the rest of a backward pass can hide, for a control."""

import datetime
import time


class HiddenTimes:
    """Of the buckets of one model. Each backward pass is the guess for the next one."""

    def __init__(self):
        self._begun = []  # of the present pass: when each bucket was ready, and its bytes
        self._shares = []  # of the pass before

    def ready(self, index, size, is_last):
        """A bucket is ready. The time that its average has, as a timedelta; none at first."""
        del self._begun[index:]  # a pass that ended early
        self._begun.append((time.monotonic(), size))
        hidden = self._shares[index] if index < len(self._shares) else 0.0
        if is_last:
            self._shares = shares(self._begun)
            self._begun = []
        return datetime.timedelta(seconds=hidden)


def shares(ready):
    """Shares out the seconds of a pass among its buckets, by their bytes. `ready` has pairs of the
    time when a bucket was ready and its bytes, in order.

    A bucket may use the time from its own readiness on, and so the time of later buckets, too.
    Later ones cannot use time before they are ready. The last bucket has no time: the pass is
    over.
    """
    pools = []  # of buckets: seconds, bytes, and how many they are
    for place, (begin, size) in enumerate(ready):
        end = ready[place + 1][0] if place + 1 < len(ready) else begin
        pool = (max(end - begin, 0.0), max(size, 1), 1)
        # Time that comes later, and is more than its own bucket's part, is shared with the earlier.
        while pools and pools[-1][0] * pool[1] < pool[0] * pools[-1][1]:
            pool = tuple(a + b for a, b in zip(pools.pop(), pool))
        pools.append(pool)
    rates = [seconds / all_bytes for seconds, all_bytes, count in pools for _ in range(count)]
    return [rate * max(size, 1) for rate, (_, size) in zip(rates, ready)]
