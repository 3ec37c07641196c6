"""What happened so far: counts, faults and latencies of the present minute. One event loop only."""
import collections


def quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))] if ordered else float("nan")


class Tally:
    MOST_FAULTS = 20  # kept word for word

    def __init__(self):
        self.counts = collections.Counter()
        self.faults = []
        self.num_faults = 0
        self.first, self.between = [], []  # seconds

    def count(self, what):
        self.counts[what] += 1

    def fault(self, what):
        self.num_faults += 1
        if len(self.faults) < self.MOST_FAULTS:
            self.faults.append(what[:1000])

    def latency(self, times):
        """times: of one stream's events, seconds since its request was sent."""
        self.first.append(times[0])
        self.between.extend(b - a for a, b in zip(times, times[1:]))

    def take_latencies(self):
        taken = self.first, self.between
        self.first, self.between = [], []
        return taken
