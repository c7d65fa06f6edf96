"""The watchdog in the model of reader_role.py, its clock, and the threads that go on with a loop. Models Watchdog,
EventLoop.Threads, LoopThread, SpareThreads and ConnectionReader.OnWatchdogCheck.

Without a clock the watchdog may take over from user code at any moment: more than the code does, in fewer states. With
a clock two checks are needed, a period apart. All times are one period long: the time between two checks, and the most
that quick user code takes. Times of the same length end in the order in which they began, so a queue is an exact
clock: it holds the checks that wait for their time, and the runs of quick user code. The first of the queue is the
next whose time passes, and quick user code returns before its own does.
"""


class WatchdogThread:
    """Uses the attributes off, loops, clocked, births and takes of the model, and its helpers."""

    def watch_loop(self, s):
        s["loop_checks"] += 1
        if self.clocked:
            s["due"] = True

    # ---- the clock: the time of the first in the queue passes; quick user code returns by itself
    def z_tick(self, who, arg, s):
        if s["times"][:1] != ("check",):
            return None
        s["due"], s["times"] = True, s["times"][1:]
        return "z_tick", None

    def w_seen(self, who, run, s):
        s["seen"] = run
        return "w_later", None

    def w_later(self, who, arg, s):
        s["due"] = False
        if "no_check_again" not in self.off:
            s["times"] += ("check",)
        return "w_idle", None

    # ---- one check of a connection, or of the loop
    def w_idle(self, who, arg, s):
        checks = [("w_quiet", c) for c in self.all if s["checks", c]]
        thread = s["thread"]
        if self.has_watchdog and s["loop_checks"] and thread is not None:
            run = s["run", thread]
            if run % 2:
                checks += self.check(s, thread, run)
            elif self.ends_watch:
                checks.append(("w_loop", None))
        return checks or None

    def check(self, s, thread, run):
        if s["taken"] == self.takes or "no_take_over" in self.off:
            return []
        if not self.clocked:
            return [("t_want", (thread, run, ("w_idle", None)))]
        if not s["due"] and "checks_early" not in self.off:
            return []
        is_second = s["seen"] == run or "takes_at_first_check" in self.off
        return [("t_want", (thread, run, ("w_later", None))) if is_second else ("w_seen", run)]

    def w_quiet(self, who, c, s):
        """StopWatching of a connection. It comes when nobody has read for 20 ms. No thread should stand still for that
        long while it parks a source."""
        if any(label[0] == "k" for label, _ in self.now) and "parks_slowly" not in self.off:
            return None
        s["checks", c] -= 1
        if "watch_ended_late" in self.off:
            return "w_callers", (c, ("w_unwatch", c))
        s["watched", c] = False
        return "w_callers", (c, ("w_idle", None))

    def w_callers(self, who, arg, s):
        return arg[1] if s["blocked", arg[0]] else ("l_role", arg)

    def w_unwatch(self, who, c, s):
        s["watched", c] = False
        return "w_idle", None

    def w_loop(self, who, arg, s):                              # StopWatching of the loop
        s["loop_watched"] = False
        return "w_again", None

    def w_again(self, who, arg, s):
        thread = s["thread"]
        in_code = thread is not None and s["run", thread] % 2 == 1
        if in_code and not s["loop_watched"] and "no_watch_again" not in self.off:
            s["loop_watched"] = True
        else:
            s["loop_checks"] -= 1
        return "w_idle", None

    # ---- takes the loop over, by the watchdog or by a thread that is about to sleep
    def t_want(self, who, arg, s):
        thread, run, go = arg
        if s["loop_gate"]:
            return None
        if s["thread"] != thread or thread in s["lost"]:
            return go
        s["loop_gate"], s["wanted", thread] = True, run
        return "t_run", arg

    def t_run(self, who, arg, s):
        thread, run, go = arg
        s["loop_gate"] = False
        if s["run", thread] != run and "takes_blindly" not in self.off:
            s["wanted", thread] = 0
            return go
        s["taken"] += who == "W"
        s["lost"], s["thread"], s["owner"] = s["lost"] | {thread}, None, None
        if s["current"] is not None:
            s["stuck", s["current"]] += 1
        return "t_bring", go

    # ---- a thread that goes on: an idle one, a new one, or a place that a thread will fill
    def t_bring(self, who, go, s):
        if s["idle"]:
            s["idle"], s["requested"] = s["idle"] - 1, s["requested"] + 1
            return go
        s["unfilled"] += not self.off & {"no_place", "place_after_thread"}
        return "t_birth", go

    def t_birth(self, who, go, s):
        if s["born"] == self.births:
            s["items"] += 1
        else:
            s["born"] += 1
        s["unfilled"] += "place_after_thread" in self.off
        return go

    def t_unborn(self, who, arg, s):
        return ("t_wait", None) if s["born"] > self.spares.index(who) else None

    def t_wait(self, who, arg, s):                              # with a new LoopThread, or for the first time
        s["lost"], s["wanted", who] = s["lost"] - {who}, 0
        if s["unfilled"]:
            s["unfilled"] -= 1
            return "t_start", None
        if s["idle"]:
            return "t_over", None
        s["idle"] += 1
        return "t_idle", None

    def t_idle(self, who, arg, s):
        if not s["requested"]:
            return None
        s["requested"] -= 1
        return "t_start", None

    def t_over(self, who, arg, s):
        return None

    def t_pool(self, who, arg, s):                              # a pool thread in the place of a spare
        if not s["items"] or self.no_pool:
            return None
        s["items"] -= 1
        if not s["unfilled"]:
            return "t_over", None
        s["unfilled"] -= 1
        return "t_start", None

    def t_start(self, who, arg, s):
        if s["loop_gate"]:
            return None
        if s["owner"] is not None:
            s["error"] = "two threads have the loop"
        s["thread"] = s["owner"] = who
        c, s["current"] = s["current"], None
        s["index"] += c is not None
        go = "q_state", (c, ("m_top", None))
        return ("m_top", None) if "taken_over_untold" in self.off else ("f_held", (c, go))
