"""Explicit-state model of the callbacks of a blocked thread: ConnectionCall.TryRunOnBlockedThread and
StopAcceptingCallbacks, AutoResetLatch.Wake and BlockedThreadQueue in src/RpcOverShm, with ConnectionReader.Sleep and
WaitForSignal.

Actors: T the thread that blocks for a call, which reads its end itself or is told; D and E threads that add a callback
each; X the thread that ends the call. Each step is one access to shared state. The queue has a lock, which is a full
fence; other stores of T stay in its store buffer until a fence, or until the buffer drains at any moment (TSO).

Every final state is checked: T has returned, the call is done, and each callback has run exactly once, on T or on the
thread pool. Then the model leaves out each rule in turn and shows a loss. Run: python3 callback_queue.py
"""
from search import Search, report

CASES = {
    "1 callback, end read by T": dict(adders="D", reads_end=True),
    "2 callbacks, end read by T": dict(adders="DE", reads_end=True),
    "1 callback, ring": dict(adders="D"),
    "2 callbacks, ring": dict(adders="DE"),
    "1 callback, latch": dict(adders="D", sleeps="latch"),
    "2 callbacks, latch": dict(adders="DE", sleeps="latch"),
    "1 awaited callback, ring": dict(adders="D", awaits=True),
    "2 awaited callbacks, ring": dict(adders="DE", awaits=True),
    "1 awaited callback, latch": dict(adders="D", sleeps="latch", awaits=True),
    "2 awaited callbacks, latch": dict(adders="DE", sleeps="latch", awaits=True),
}

RULES = {
    "leaves_without_fence": "1 callback, end read by T",
    "leaves_queue": "1 callback, end read by T",
    "adds_without_recheck": "1 callback, end read by T",
    "pool_without_take_back": "2 callbacks, latch",
    "no_signal": "1 awaited callback, latch",
    "no_alarm": "1 awaited callback, ring",
    "sleeps_without_fence": "1 awaited callback, ring",
    "sleeps_without_look": "1 awaited callback, ring",
}


class Model(Search):
    limit = 1_000_000

    def __init__(self, adders, sleeps="ring", reads_end=False, awaits=False, rules_off=()):
        self.off, self.adders, self.sleeps, self.reads_end = rules_off, adders, sleeps, reads_end
        self.awaits = awaits
        self.names = "TS" + adders + ("" if reads_end else "X")
        self.pcs = tuple((name.lower() + "_start", None) for name in self.names)
        self.init = dict(done=False, alarm=False, queue=(), signalled=False, rung=0, buffer=())
        for name in adders:
            self.init["ran", name] = 0

    def step(self, name, label, arg, s):
        if name in "TS":
            return getattr(self, label)(arg, s)
        kind = "x" if name == "X" else "d"
        return getattr(self, kind + label[1:])(name, arg, s)

    def s_start(self, arg, s):                                  # the oldest store of T becomes visible
        if not s["buffer"]:
            return None
        word, value = s["buffer"][0]
        s[word], s["buffer"] = value, s["buffer"][1:]
        return "s_start", None

    @staticmethod
    def fence(s):
        for word, value in s["buffer"]:
            s[word] = value
        s["buffer"] = ()

    @staticmethod
    def own(s, word):
        return next((value for name, value in reversed(s["buffer"]) if name == word), s[word])

    def t_start(self, arg, s):
        if self.own(s, "done"):
            return "t_left", None
        return ("t_take", None) if s["queue"] else ("t_wait", s["rung"])

    def t_take(self, arg, s):                                   # under the lock
        self.fence(s)
        if not s["queue"]:
            return "t_start", None
        first, s["queue"] = s["queue"][0], s["queue"][1:]
        s["ran", first] += 1
        return "t_start", None

    def t_wait(self, rung, s):
        if self.reads_end:                                      # T reads the end of its call
            s["buffer"] += (("done", True),)
            return "t_left", None
        return ("t_alarm", rung) if self.sleeps == "ring" else ("t_latch", None)

    def t_alarm(self, rung, s):
        s["buffer"] += (("alarm", True),)
        return "t_look", rung

    def t_look(self, rung, s):
        if "sleeps_without_fence" not in self.off:
            self.fence(s)
        if s["queue"] and "sleeps_without_look" not in self.off:
            return "t_awake", None
        return "t_ring_asleep", rung

    def t_ring_asleep(self, rung, s):                           # the kernel compares, in the step that sleeps
        return ("t_awake", None) if s["rung"] != rung else None

    def t_awake(self, arg, s):
        s["buffer"] += (("alarm", False),)
        return "t_start", None

    def t_latch(self, arg, s):                                  # a lock, and a sleep until it is signalled
        self.fence(s)
        if not s["signalled"]:
            return None
        s["signalled"] = False
        return "t_start", None

    def t_left(self, arg, s):
        if "leaves_without_fence" not in self.off:
            self.fence(s)
        if not s["queue"] or "leaves_queue" in self.off:
            return "t_returned", None
        return "t_move", None

    def t_move(self, arg, s):                                   # under the lock
        self.fence(s)
        for one in s["queue"]:
            s["ran", one] += 1
        s["queue"] = ()
        return "t_returned", None

    def t_returned(self, arg, s):
        return None

    # D and E: add a callback.
    def d_start(self, name, arg, s):
        if s["done"]:
            s["ran", name] += 1                                 # on the thread pool
            return name.lower() + "_end", None
        return name.lower() + "_add", None

    def d_add(self, name, arg, s):                              # under the lock
        s["queue"] += (name,)
        return name.lower() + "_recheck", None

    def d_recheck(self, name, arg, s):
        if s["done"] and "adds_without_recheck" not in self.off:
            return name.lower() + "_back", None
        return name.lower() + "_signal", None

    def d_back(self, name, arg, s):                             # under the lock
        if name in s["queue"] or "pool_without_take_back" in self.off:
            s["queue"] = tuple(one for one in s["queue"] if one != name)
            s["ran", name] += 1
            return name.lower() + "_end", None
        return name.lower() + "_signal", None

    def d_signal(self, name, arg, s):
        s["signalled"] |= "no_signal" not in self.off
        return name.lower() + "_alarm", None

    def d_alarm(self, name, arg, s):
        s["rung"] += s["alarm"] and "no_alarm" not in self.off
        return name.lower() + "_end", None

    def d_end(self, name, arg, s):
        return None

    # X: ends the call.
    def x_start(self, name, arg, s):
        if self.awaits and any(s["ran", one] == 0 for one in self.adders):
            return None
        s["done"] = True
        return "x_signal", None

    def x_signal(self, name, arg, s):
        s["signalled"] = True
        return "x_ring", None

    def x_ring(self, name, arg, s):
        s["rung"] += 1
        return "x_end", None

    def x_end(self, name, arg, s):
        return None

    def wrong(self, s, pcs, is_final):
        if any(s["ran", one] > 1 for one in self.adders):
            return "a callback ran twice"
        if not is_final:
            return None
        if pcs[0][0] != "t_returned":
            return "the thread sleeps for ever"
        return next((f"callback {one} has not run" for one in self.adders if s["ran", one] != 1), None)


if __name__ == "__main__":
    report(Model, CASES, RULES)
