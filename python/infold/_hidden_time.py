# SPDX-License-Identifier: Apache-2.0
"""How much of each bucket's average the rest of a backward pass can hide, for steering."""

import datetime
import time


class HiddenTimes:
    """Estimates these times for one model's buckets, from the backward pass before."""

    def __init__(self):
        self._begun = []  # in the present pass: when each bucket was ready, and its bytes
        self._shares = []  # seconds in the pass before

    def ready(self, index, size, is_last):
        """Notes that a bucket is ready. Returns the time for its average; zero at first."""
        del self._begun[index:]  # a pass that ended early
        self._begun.append((time.monotonic(), size))
        hidden = self._shares[index] if index < len(self._shares) else 0.0
        if is_last:
            self._shares = shares(self._begun)
            self._begun = []
        return datetime.timedelta(seconds=hidden)


def shares(ready):
    """Shares out the seconds of a pass among its buckets, by their bytes. `ready` has a pair for
    each bucket, in order: the time when it was ready, and its bytes.

    A bucket may use the time after it is ready, including the time of later buckets. Later buckets
    cannot use time before they are ready. The last bucket gets no time, because the pass is over.
    """
    pools = []  # groups of buckets: seconds, bytes, and the number of buckets
    for place, (begin, size) in enumerate(ready):
        end = ready[place + 1][0] if place + 1 < len(ready) else begin
        pool = (max(end - begin, 0.0), max(size, 1), 1)
        # Later time that exceeds its own bucket's part is shared with the earlier buckets.
        while pools and pools[-1][0] * pool[1] < pool[0] * pools[-1][1]:
            pool = tuple(a + b for a, b in zip(pools.pop(), pool, strict=True))
        pools.append(pool)
    rates = [seconds / all_bytes for seconds, all_bytes, count in pools for _ in range(count)]
    return [rate * max(size, 1) for rate, (_, size) in zip(rates, ready, strict=True)]
