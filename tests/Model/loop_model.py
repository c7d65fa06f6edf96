"""The event loop in the model of reader_role.py: its rotation, its sleep, how sources are parked and requested, how the
end of a link is told. Models EventLoop (Rotation and Parking), EventSource, ConnectionReader.TryPark and PeerLink.

A socket remembers bytes. Its edge is one event of the poll, from a byte or the end to the next poll; that reports it
only if there is still something to read. The loop reads the bytes after the runs.

A due time (EventLoop.RequestAt) is set and met by the thread that has the loop, between two of its steps. To the others
it is one more request of any thread, and the sleep has a timeout anyway, so it has no step here.
"""

FREE, ENDED = "free", "ended"
PARKED, ACTIVE, REQUESTED, REMOVED = "parked", "active", "requested", "removed"
FUTEX, SOCKET = 1, 2


class EventLoopThreads:
    """Uses the attributes off and all of the model, and its helpers. A label m_ or k_ is a step of the thread that has
    the loop; the fields listed, index, worked, current and undrained are that thread's own."""

    # ---- one turn: takes what was posted, rotates, drains the sockets, parks, sleeps. What comes after the taking and
    # before the first look is seen in the next turn, so the two are one step.
    def m_top(self, who, arg, s):
        for c in sorted(s["posted"]):
            self.enlist(s, c)
        s["posted"] = frozenset()
        go = self.may_poll(s, ("m_look", None))
        return go if isinstance(go, list) else self.m_look(who, None, s)

    def enlist(self, s, c):
        if c not in s["listed"] and s["state", c] in (ACTIVE, REQUESTED):
            s["listed"] += (c,)

    def drop(self, s, c):
        s["listed"] = tuple(other for other in s["listed"] if other != c)

    def may_poll(self, s, go):
        """The loop polls at any time, and at the latest before it sleeps."""
        return [go, ("m_poll", go)] if self.events(s) else go

    def events(self, s):
        return [c for c in s["served"] if s["edge", c] and not s["closed", c] and (s["bytes", c] or s["ended", c])]

    def m_poll(self, who, go, s):
        return self.take_events(s, go)

    def take_events(self, s, go):
        events = tuple((c, s["ended", c]) for c in self.events(s))
        for c in s["served"]:
            s["edge", c] = False
        s["wake"] = False
        return ("m_event", (events, go)) if events else go

    def m_event(self, who, arg, s):
        ((c, ended), *rest), go = arg
        if s["state", c] != REMOVED:
            s["undrained"] += ((c, ended),)
            if "no_activate" not in self.off:
                is_parked, s["state", c] = s["state", c] == PARKED, REQUESTED
                if is_parked:
                    self.enlist(s, c)
        return ("m_event", (tuple(rest), go)) if rest else go

    def m_look(self, who, arg, s):
        if s["index"] == len(s["listed"]):
            s["index"] = 0
            return self.m_drain(who, None, s)
        c = s["listed"][s["index"]]
        if s["state", c] == REMOVED:
            self.drop(s, c)
        elif s["state", c] == REQUESTED or self.has_work(s, c):
            if "request_taken_late" not in self.off:
                s["state", c] = ACTIVE
            s["current"], s["worked"] = c, s["worked"] | {c}
            return "r_run", c
        else:
            s["index"] += 1
            if s["index"] == len(s["listed"]):
                return self.m_look(who, None, s)
        return "m_look", None

    def has_work(self, s, c):
        return self.has_data(s, c) and not s["blocked", c] and s["role", c] == FREE or self.has_space(s, c)

    def m_ran(self, who, c, s):
        s["current"] = None
        if s["state", c] == REMOVED:
            self.drop(s, c)
        else:
            if "request_taken_late" in self.off:
                s["state", c] = ACTIVE
            s["index"] += 1
        return self.may_poll(s, ("m_look", None)) if len(s["listed"]) > 1 else ("m_look", None)

    # ---- the sockets that were reported are read after the runs
    def m_drain(self, who, arg, s):
        if not s["undrained"]:
            return "m_after", None
        c, ended = s["undrained"][0]
        if s["closed", c] or s["gone", c]:
            return "m_drained", None
        if s["bytes", c]:
            s["bytes", c] = False
            return ("m_drain", None) if ended and "drain_once" not in self.off else ("m_drained", None)
        if s["ended", c]:
            s["gone", c] = True
            return "n_event", (c, ("m_drained", None))
        return "m_drained", None

    def m_drained(self, who, arg, s):
        (c, _), *rest = s["undrained"]
        s["undrained"] = tuple(rest)
        is_asking = s["waiting", c] and "no_space_request" not in self.off
        return ("q_state", (c, ("m_drain", None))) if is_asking else ("m_drain", None)

    def m_after(self, who, arg, s):
        silent = [c for c in s["listed"] if c not in s["worked"]]
        has_worked, s["worked"] = bool(s["worked"]), frozenset()
        if has_worked:                                          # perhaps one of them was silent for long enough
            return [("m_top", None)] + [("k_park", (c, ("m_top", None))) for c in silent]
        return "m_park", s["listed"]

    def m_park(self, who, left, s):
        if left:
            return "k_park", (left[-1], ("m_park", left[:-1]))
        if s["listed"]:
            return "m_top", None
        return ("m_sleep" if "sleep_checked_first" not in self.off else "m_posted"), None

    def m_sleep(self, who, arg, s):
        s["sleeping"] = True
        is_blind = self.off & {"no_post_check", "sleep_checked_first"}
        return ("m_wait" if is_blind else "m_posted"), None

    def m_posted(self, who, arg, s):
        if s["posted"]:
            s["sleeping"] = False
            return "m_top", None
        return ("m_wait" if s["sleeping"] else "m_sleep"), None

    def m_wait(self, who, arg, s):
        return self.take_events(s, ("m_awake", None)) if s["wake"] or self.events(s) else None

    def m_awake(self, who, arg, s):
        s["sleeping"] = False
        return self.m_top(who, None, s)

    # ---- parks a source
    def k_park(self, who, arg, s):
        c, go = arg
        if s["state", c] == REMOVED:
            self.drop(s, c)
            return go
        is_closed = s["closed", c] and "close_told_once" not in self.off
        is_over = is_closed or s["gone", c] and "parks_at_end" not in self.off
        return ("q_state" if is_over else "k_blocked"), arg

    def k_blocked(self, who, arg, s):
        return ("k_held" if s["blocked", arg[0]] else "k_take"), arg

    def k_take(self, who, arg, s):
        c = arg[0]
        if s["role", c] != FREE:
            return "k_held", arg
        s["role", c] = who
        return ("k_release", (arg, True)) if "parks_unarmed" in self.off else ("k_arm", arg)

    def k_held(self, who, arg, s):
        return arg[1] if self.has_data(s, arg[0]) and "parks_over_data" not in self.off else self.set_parked(arg)

    def k_arm(self, who, arg, s):
        self.arm(s, arg[0], SOCKET)
        return ("k_release", (arg, True)) if "no_check_armed" in self.off else ("k_check", arg)

    def k_check(self, who, arg, s):
        return "k_release", (arg, not self.has_data(s, arg[0]))

    def k_release(self, who, arg, s):
        s["role", arg[0][0]] = FREE
        return "k_signal", arg

    def k_signal(self, who, arg, s):
        (c, go), is_armed = arg
        self.signal_if_free(s, c)
        return self.set_parked(arg[0]) if is_armed else go

    def set_parked(self, arg):
        """The mutant looks at once, and stores the state afterwards."""
        return ("k_role", (arg[0], ("k_set", arg))) if "forsaken_before_parked" in self.off else ("k_set", arg)

    def k_set(self, who, arg, s):
        c, go = arg
        if s["state", c] != ACTIVE and "parks_over_request" not in self.off:
            return go
        s["state", c] = PARKED
        self.drop(s, c)
        return go if self.off & {"no_forsaken", "forsaken_before_parked"} else ("k_role", arg)

    # ---- a parked source has a reader, blocked callers or a doorbell, or expects nothing; else it is requested
    def k_role(self, who, arg, s):
        return ("k_callers", arg) if s["role", arg[0]] == FREE else arg[1]

    def k_callers(self, who, arg, s):
        return arg[1] if s["blocked", arg[0]] else ("k_armed", arg)

    def k_armed(self, who, arg, s):
        return arg[1] if self.has_bell(s, arg[0]) else ("k_expects", arg)

    def k_expects(self, who, arg, s):
        c, go = arg
        return ("q_state", arg) if self.is_expecting(s, c) or self.has_data(s, c) else go

    # ---- requests a source, by any thread
    def q_state(self, who, arg, s):
        c, go = arg
        state = s["state", c]
        if state in (PARKED, ACTIVE):
            s["state", c] = REQUESTED
        if state != PARKED:
            return go
        return ("q_wake", ("q_post", arg)) if "wake_before_post" in self.off else ("q_post", arg)

    def q_post(self, who, arg, s):
        c, go = arg
        s["posted"] = s["posted"] | {c}
        return go if "wake_before_post" in self.off else ("q_wake", go)

    def q_wake(self, who, go, s):
        if s["sleeping"] and "no_wake" not in self.off:
            s["sleeping"] = False
            s["wake"] = True
        return go

    # ---- the loop begins to serve the last connection
    def j_add(self, who, arg, s):
        s["served"] = tuple(self.all)
        return "j_look", who[1:]

    def j_look(self, who, c, s):
        go = ("x_over", None) if "starts_unread" in self.off else ("l_find", (c, ("x_over", None)))
        return ("q_post", (c, go)) if s["state", c] == REQUESTED else go

    # ---- the end of a link is told to everybody, by any thread
    def n_close(self, who, arg, s):
        if s["closed", arg[0]]:
            return arg[1]
        s["closed", arg[0]] = True
        return "n_event", arg

    def n_event(self, who, arg, s):
        c, go = arg
        s["attention", c] += 1
        self.wake_sleepers(s, c)
        then = "n_signal", arg
        return then if "end_not_requested" in self.off else ("q_state", (c, then))

    def n_signal(self, who, arg, s):
        c, go = arg
        s["sig"] = s["sig"] | set(s["latched", c])
        return go
