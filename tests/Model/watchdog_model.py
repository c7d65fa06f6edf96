"""The watchdog in the model of reader_role.py, its clock, and the threads that it brings. Models Watchdog,
ReaderCoordinator.CheckAsWatchdog and TakeOver, and SpareThreads.

Without a clock the watchdog may take over from user code at any moment: more than the code does, in fewer states. With
a clock two checks are needed, a period apart. All times are one period long: the time between two checks, and the most
that quick user code takes. Times of the same length end in the order in which they began, so a queue is an exact
clock: it holds the checks that wait for their time, and the runs of quick user code. The first of the queue is the
next whose time passes, and quick user code returns before its own does.
"""
from inline_model import FREE


class WatchdogThread:
    """Uses the attributes off, clocked, births and most_taken of the model, and its helpers."""

    def ensure_watched(self, s):
        if s["watched"]:
            return
        s["watched"] = True
        number = min({1, 2, 3} - s["registered"])               # an entry may end while the next is added
        s["registered"] = s["registered"] | {number}
        s["due"] = s["due"] | {number}

    # ---- the clock: the time of the first in the queue passes
    def clock(self, who, label, arg, s):
        if not s["times"] or s["times"][0] in self.readers:
            return None
        s["due"] = s["due"] | {s["times"][0]}
        s["times"] = s["times"][1:]
        return "z0", None

    # ---- other connections of the process, which the watchdog begins to check
    def others(self, who, label, arg, s):
        if label == "y_end":
            return None
        s["pulsed"] = True
        return ("y1" if label == "y0" else "y_end"), None

    # ---- one entry of the watchdog is due; arg is its number
    def watchdog(self, who, label, arg, s):
        if label == "w0":
            due = s["registered"] if s["pulsed"] and "pulse_checks_all" in self.off else s["due"]
            may_check = due and ("no_rescue" not in self.off or s["role"][0] != "code")
            if may_check and (self.clocked or s["role"][0] != "code" or s["taken"] < self.most_taken):
                s["due"], s["pulsed"] = s["due"] - {min(due)}, False
                return self.check(s, min(due))
            if not s["pulsed"]:
                return None
            s["pulsed"] = False
            return "w0", None
        if label == "w_rescue":
            if s["role"] != arg[1]:
                return self.again(s, arg[0])
            s["stuck"] += 1
            s["taken"] += 1
            s["role"], s["seen"] = FREE, None
            return ("w_signal" if self.births is not None else "w_bring"), arg[0]
        if label == "w_signal":
            if s["blocked"] > 0 and s["role"] == FREE and "no_take_over_signal" not in self.off:
                self.signal_one(s)
            return "w_bring", arg
        return self.bring(label, arg, s) or self.stop(label, arg, s)

    def check(self, s, number):
        if s["role"][0] != "code":
            return "w_turn", number
        if self.clocked and s["seen"] != s["role"] and "one_check" not in self.off:
            s["seen"] = s["role"]
            return self.again(s, number)
        return "w_rescue", (number, s["role"])

    def again(self, s, number):
        if not self.clocked:
            s["due"] = s["due"] | {number}
        elif "no_second_check" not in self.off:
            s["times"] = s["times"] + (number,)
        return "w0", None

    def stop(self, label, arg, s):
        if label == "w_turn":
            s["watched"] = False
            return "w1", arg
        if label == "w1":
            if s["role"][0] == "code" and not s["watched"] and "no_watch_again" not in self.off:
                s["watched"] = True
                return self.again(s, arg)
            return ("w_done", arg) if s["blocked"] else ("l_role", ("w_done", arg))
        if label == "w_done":
            s["registered"] = s["registered"] - {arg}
            return "w0", None

    # ---- a replacement for the standby reader: an idle thread, a new one, or a place that a thread will fill
    def bring(self, label, arg, s):
        if label == "w_bring":
            if self.births is None:
                s["bring"] += 1
                return self.again(s, arg)
            if s["idle"] > 0:
                s["idle"], s["requested"] = s["idle"] - 1, s["requested"] + 1
                return self.again(s, arg)
            s["unfilled"] += not self.off & {"no_place", "place_after_thread"}
            return "w_birth", arg
        if label == "w_birth":
            if s["born"] < self.births:
                s["born"], s["bring"] = s["born"] + 1, s["bring"] + 1
                s["unfilled"] += "place_after_thread" in self.off
                return self.again(s, arg)
            return ("w_unfilled" if "place_after_thread" in self.off else "w_pool"), arg
        if label == "w_unfilled":
            s["unfilled"] += 1
            return "w_pool", arg
        if label == "w_pool":
            s["items"] += 1
            return self.again(s, arg)

    # ---- a thread that is not the standby reader: a spare, or one that has lost the role and come back
    def spare(self, who, label, arg, s):
        if label == "t_wait":
            if s["unfilled"] > 0:
                s["unfilled"] -= 1
                return "s_take", None
            if who == "V":
                return "v0", None
            if s["closed"] or s["idle"] > 0:
                return "s_end", None
            s["idle"] += 1
            return "t_waiting", None
        if label == "t_waiting":
            if s["requested"] == 0:
                return ("s_end", None) if s["closed"] else None
            s["requested"] -= 1
            return "s_take", None
        if s["bring"] == 0:
            return None
        s["bring"] -= 1
        return ("s_take" if self.births is None else "t_wait"), None

    # ---- a pool thread in the place of a spare that could not be born; the pool is busy while callers are blocked
    def substitute(self, who, label, arg, s):
        if s["items"] == 0 or self.is_any_blocked(s) or self.no_pool:
            return None
        s["items"] -= 1
        if s["unfilled"] == 0:
            return "v0", None
        s["unfilled"] -= 1
        return "s_take", None
