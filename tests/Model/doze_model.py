"""The doze in the model of reader_role.py: the loop of a server with one connection first sleeps on its ring. Models
EventLoop.TryDoze, what ConnectionReader overrides for it, and EventLoop.TryAdd for a connection that comes meanwhile.

The time-out of a doze is the only one in the model. It comes at any moment, but not while the loop has work or a
request: a wake-up must be on its way for these. Only a doze without a wake-up for the end of the socket, or for a
record of a peer that died before the wake-up, needs the time-out.
"""
from loop_model import ACTIVE, FREE, FUTEX, PARKED, REMOVED, REQUESTED


class Dozing:
    """Uses the attributes off, dozes and joins of the model, and its helpers. A label d_ is a step of the thread that
    has the loop."""

    def m_rest(self, who, arg, s):
        may_doze = self.dozes and not s["dozed"] and len(s["served"]) == len(s["listed"]) == 1
        return ("d_sample", s["listed"][0]) if may_doze else ("m_park", s["listed"])

    def d_sample(self, who, c, s):
        return ("m_park", s["listed"]) if s["state", c] == REMOVED else ("d_open", (c, s["attention", c]))

    def d_open(self, who, arg, s):
        c = arg[0]
        waits = s["waiting", c] and "dozes_for_space" not in self.off
        if s["closed", c] or s["gone", c] or waits or s["role", c] != FREE:
            return "m_park", s["listed"]
        s["role", c] = who
        self.arm(s, c, FUTEX)
        return "d_release", arg

    def d_release(self, who, arg, s):
        s["role", arg[0]] = FREE
        return ("m_park", s["listed"]) if self.has_data(s, arg[0]) else ("d_set", arg)

    def d_set(self, who, arg, s):
        c = arg[0]
        if s["state", c] != ACTIVE and "dozes_over_request" not in self.off:
            return "m_park", s["listed"]
        s["state", c] = PARKED
        self.drop(s, c)
        return "d_dozing", arg

    def d_dozing(self, who, arg, s):
        s["dozing"] = arg[0]
        return "d_sleeping", arg

    def d_sleeping(self, who, arg, s):
        s["sleeping"] = True
        return "d_look", arg

    def d_look(self, who, arg, s):
        must_not = s["posted"] or len(s["served"]) > 1
        return ("d_awake", False) if must_not and "dozes_without_look" not in self.off else ("d_sleep", arg)

    def d_sleep(self, who, arg, s):                             # the kernel compares, in the step that sleeps
        c, attention = arg
        is_moved = s["attention", c] != attention and "dozes_without_sample" not in self.off
        if self.has_data(s, c) or is_moved:
            return "d_awake", False
        s["asleep", c] = frozenset({who})
        return "d_asleep", c

    def d_asleep(self, who, c, s):
        if not s["asleep", c]:
            return "d_awake", False
        if not s["ended", c] and (s["posted"] or self.has_work(s, c)):
            return None
        s["asleep", c] = frozenset()                            # the time-out
        return "d_awake", "dozes_again" not in self.off

    def d_awake(self, who, is_timeout, s):
        s["sleeping"], s["dozed"] = False, is_timeout
        return "d_over", None

    def d_over(self, who, arg, s):
        c, s["dozing"] = s["dozing"], None
        return "d_activate", c

    def d_activate(self, who, c, s):
        if s["state", c] == PARKED:
            s["state", c] = ACTIVE
            self.enlist(s, c)
        return "m_top", "dozed"                                 # it does not poll now, as if it had polled

    def q_doze(self, who, go, s):                               # Wake, after it has taken the flag
        c = s["dozing"]
        if c is None or "doze_not_ended" in self.off:
            s["wake"] = True
        else:
            s["attention", c] += 1
            self.wake_sleepers(s, c)
        return go

    # ---- the loop begins to serve the last connection
    def j_add(self, who, arg, s):
        s["served"] = tuple(self.all)
        return "j_look", who[1:]

    def j_look(self, who, c, s):
        go = ("x_over", None) if "starts_unread" in self.off else ("l_find", (c, ("x_over", None)))
        if s["state", c] == REQUESTED:
            return "q_post", (c, go)
        return go if s["dozing"] is None else ("q_wake", go)
