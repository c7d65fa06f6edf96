"""The run of a connection on its event loop in the model of reader_role.py, the user code that it runs inline, and the
thread pool. Models ConnectionReader.Run and RunOrQueue."""
from loop_model import ENDED, FREE, REMOVED

MOST_STUCK = 2


class Runs:
    """Uses the attributes off, code, clocked and room of the model, and its helpers. A label r_ is a step of the thread
    that has the loop."""

    def r_run(self, who, c, s):
        if s["closed", c]:
            return "r_end", c
        return ("v_waiting", (c, ("r_blocked", c))) if self.room else ("r_blocked", c)

    def r_blocked(self, who, c, s):
        return ("r_give_way" if s["blocked", c] else "r_take"), c

    def r_take(self, who, c, s):
        if s["role", c] != FREE:
            return "r_give_way", c
        s["role", c] = who
        return "r_disarm", c

    def r_give_way(self, who, c, s):
        self.signal_if_free(s, c)
        return "r_flush", c

    # ---- with the role: receives until user code is due, or nothing is left
    def r_disarm(self, who, c, s):
        self.disarm(s, c)
        return "r_receive", (c, s["gone", c], False)

    def r_receive(self, who, arg, s):
        c, is_gone, has_received = arg
        if not self.has_data(s, c):
            return ("r_late" if "end_seen_late" in self.off else "r_empty"), arg
        record = self.deliver(s, c, who)
        if self.is_due(s, c, record):
            return "r_release", (c, self.number(s, c, record))
        go = ("r_release", (c, "r_flush")) if s["blocked", c] or s["closed", c] else ("r_receive", (c, is_gone, True))
        return ("f_held", (c, go)) if self.must_flush(s, c, "-") else go

    def r_empty(self, who, arg, s):
        c, is_gone, has_received = arg
        if has_received:
            return "r_release", (c, "r_blocked" if is_gone else "r_over")
        release = "r_release", (c, "r_flush")
        return "f_held", (c, ("n_close", (c, release)) if is_gone else release)

    def r_late(self, who, arg, s):
        return self.r_empty(who, (arg[0], s["gone", arg[0]], arg[2]), s)

    def r_over(self, who, c, s):
        return ("r_blocked", c) if self.has_data(s, c) else ("r_flush", c)

    def r_release(self, who, arg, s):
        s["role", arg[0]] = FREE
        return "r_signal", arg

    def r_signal(self, who, arg, s):
        c, then = arg
        self.signal_if_free(s, c)
        if isinstance(then, str):
            return then, c
        if s["stuck", c] >= MOST_STUCK:
            s["queued"] = s["queued"] | {(c, then)}
            return "r_after", c
        go = "u_begin", (who, ("u_code", (c, then, ("u_end", (c, ("r_after", c))))))
        return ("f_held", (c, go)) if self.must_flush(s, c, self.code[c][then]) else go

    def r_after(self, who, c, s):
        return ("r_blocked", c) if self.has_data(s, c) or s["gone", c] else ("r_flush", c)

    # ---- after the run
    def r_flush(self, who, c, s):
        return ("r_gone", c) if "no_flush_after_run" in self.off else ("f_held", (c, ("r_gone", c)))

    def r_gone(self, who, c, s):
        must_close = s["gone", c] and not s["closed", c] and s["role", c] == FREE and not s["blocked", c]
        return ("q_state", (c, ("m_ran", c))) if must_close else ("m_ran", c)

    # ---- a closed link: the connection leaves the loop, and its calls end as if that were user code
    def r_end(self, who, c, s):
        if s["role", c] != FREE:
            return "m_ran", c
        s["role", c] = who
        return "r_remove", c

    def r_remove(self, who, c, s):
        s["state", c] = REMOVED
        return "u_begin", (who, ("e_end_role", c))

    def e_end_role(self, who, c, s):
        s["role", c] = ENDED
        return "e_fail", c

    def e_fail(self, who, c, s):
        failed = {i for i in range(len(s["out", c])) if i not in s["done", c]}
        s["shut", c], s["failed", c] = True, s["failed", c] | failed
        s["sig"] = s["sig"] | {s["out", c][i] for i in failed if self.is_blocking(s["out", c][i])}
        s["queued"] = s["queued"] | {(c, self.number(s, c, i)) for i in failed if self.is_due(s, c, i)}
        return "u_end", (c, ("m_ran", c))

    # ---- user code of the loop's thread begins and ends; the loop may be taken over in between
    def u_begin(self, who, arg, s):
        s["run", who] += 1
        _, go = arg
        if self.clocked and self.code[go[1][0]][go[1][1]] == "q":
            s["times"] += (who,)
        return "u_watch", go

    def u_watch(self, who, go, s):
        if not s["loop_watched"]:
            s["loop_watched"] = True
            self.watch_loop(s)
        return go

    def u_end(self, who, arg, s):
        if "end_checked_first" in self.off:
            return ("u_ended", arg[1]) if s["wanted", who] != s["run", who] else ("u_gate", arg)
        s["run", who] += 1
        if self.clocked and who in s["times"]:
            s["times"] = tuple(other for other in s["times"] if other != who)
            if who in s["lost"]:
                s["error"] = "quick user code has lost the loop"
        return "u_wanted", arg

    def u_ended(self, who, go, s):
        s["run", who] += 1
        return go

    def u_wanted(self, who, arg, s):
        return arg[1] if s["wanted", who] != s["run", who] - 1 or "keeps_lost" in self.off else ("u_gate", arg)

    def u_gate(self, who, arg, s):
        if s["loop_gate"]:
            return None
        c, go = arg
        if who not in s["lost"]:
            return go
        s["stuck", c] -= 1
        return "t_wait", None

    # ---- user code acts by its letter, then continues with the label of arg
    def u_code(self, who, arg, s):
        c, number, go = arg
        s["ran"] = s["ran"] | {(c, number)}
        kind = self.code[c][number]
        if kind in "swom":
            return "u_send", arg
        if kind == "n":
            return "b_enter", (c, None, False, go)
        return go

    def u_send(self, who, arg, s):                              # under the sender's gate
        c, number, go = arg
        if s["gate", c]:
            return None
        if s["shut", c]:
            return go
        kind = self.code[c][number]
        s["out", c] += ("O" if kind in "om" else "N",)
        s["gate", c] = True
        sent = ("u_wait", (c, len(s["out", c]) - 1, go)) if kind == "w" else go
        return ("g_early" if kind == "m" else "g_defer"), (c, sent)

    def u_wait(self, who, arg, s):                              # sync over async: only the answer ends it
        c, call, go = arg
        return go if call in s["done", c] or call in s["failed", c] else None

    # ---- the thread pool: runs queued user code
    def i_idle(self, who, arg, s):
        if not s["queued"]:
            return None
        c, number = min(s["queued"])
        s["queued"] = s["queued"] - {(c, number)}
        return "u_code", (c, number, ("i_idle", None))

    def has_loop(self, who, s):
        """Whether the thread runs user code, and nobody has asked for its loop: LoopThread.MayDeferFor."""
        return who in self.loops and s["run", who] % 2 == 1 and s["wanted", who] != s["run", who]
