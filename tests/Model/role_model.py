"""The model of reader_role.py: the peer, blocking and awaiting callers, the end of the connection, and the checks. The
reading threads are in inline_model.py, the gate and a peer that sleeps in publish_model.py, the watchdog and its clock
in watchdog_model.py."""
from inline_model import AWAKE, ARMED, FREE, ON_LATCH, RETIRED, InlineThreads
from publish_model import Publishing
from search import Search
from watchdog_model import WatchdogThread


class Model(InlineThreads, Publishing, WatchdogThread, Search):
    def __init__(self, rules_off, asyncs, blockers, calls_each, limit, end=None, code="", inline=True, spares=0,
                 late=None, sleepy=False, pushes="", clocked=False, others=False, births=None, most_taken=9,
                 no_pool=False):
        """code: a letter for the continuation of each awaited call: '-' has none, 'e' ends at once, 's' sends a call,
        'w' sends one and blocks its thread until the answer comes, 'n' makes a blocking call, 'd' waits until all
        blocking callers have returned, 'q' ends before a period of the watchdog has passed. pushes: the same for the
        open arrivals; there 'o' sends a frame that asks for no answer, 'm' one of many bytes. late: a blocking caller
        whose answer depends on a call of user code. births: the number of threads that the system has for spares.
        no_pool: all threads of the pool are busy for good."""
        self.off, self.limit, self.end = set(rules_off), limit, end
        self.asyncs, self.blockers, self.calls_each = asyncs, blockers, calls_each
        self.code, self.inline, self.late = code.ljust(asyncs, "-") + pushes, inline, late
        self.sleepy, self.pushes, self.clocked, self.births = sleepy, pushes, clocked, births
        self.most_taken, self.no_pool = most_taken, no_pool
        self.readers = ["S"] + ["T", "U"][:spares] + (["V"] if births is not None else [])
        self.pools = ["Q", "R"][:len(code.replace("-", ""))]
        self.names = (["P"] + self.readers + self.pools + ["W"] + list(blockers) + (["A"] if asyncs else [])
                      + (["X"] if end else []) + (["O"] if pushes else []) + (["Z"] if clocked else [])
                      + (["Y"] if others else []))
        start = {"P": "p0", "S": "s_take", "T": "t_idle", "U": "t_idle", "Q": "q0", "R": "q0", "W": "w0",
                 "A": "a_start", "X": "x0", "O": "o0", "Z": "z0", "Y": "y0", "V": "v0"}
        self.pcs = tuple((start.get(n, "b_enter"), None) for n in self.names)
        self.kinds = {
            "a": self.starter, "b": self.blocker, "f": self.flush, "g": self.publisher, "l": self.look,
            "o": self.open_arrivals, "p": self.peer, "q": self.pool, "s": self.standby, "t": self.spare,
            "u": self.user_code, "v": self.substitute, "w": self.watchdog, "x": self.ender, "y": self.others,
            "z": self.clock}
        self.init = dict(
            role=FREE, head=0, tail=0, reqs=(), done=frozenset(), failed=frozenset(), parked=0, armed=False, woken=-1,
            standby=AWAKE, latch=False, blocked=0, listed=frozenset(), sig=frozenset(), watched=False,
            sleep=frozenset(), attention=0, gone=False, closed=False, counted=frozenset(), rounds=(), visible=0,
            answers=(), held=False, gate=False, torn=False, entries=0, stuck=0, bring=0,
            queued=frozenset(), ran=frozenset(), nested=frozenset(), contexts=frozenset(), registered=frozenset(),
            due=frozenset(), times=(), seen=None, pulsed=False, taken=0, robbed=False)
        if sleepy:
            self.init.update(peer_head=0, peer_parked=0, peer_woken=-1, peer_sleeps=False, owed=False, deferred=0,
                             time=0, pushed=0, age=0, aged=False)
        if births is not None:
            self.init.update(idle=0, requested=0, born=0, unfilled=0, items=0)

    # ---- helpers: each is part of one step
    def wake_sleepers(self, s):
        s["sleep"] = frozenset() if "wake_one" not in self.off else frozenset(sorted(s["sleep"])[1:])

    def signal_listed(self, s):
        s["sig"] = s["sig"] | s["listed"]

    def signal_one(self, s):
        """Always signals the same one of several, even if it was signalled before: the worst choice."""
        s["sig"] = s["sig"] | frozenset(sorted(s["listed"])[:1])

    def answered(self, s, who):
        mine = [i for i, r in enumerate(s["reqs"]) if r == who]
        return bool(mine) and (mine[-1] in s["done"] or mine[-1] in s["failed"])

    def deliver(self, s, reader):
        i = s["answers"][s["head"]]
        s["head"] += 1
        self.count_age(s)
        if i < 0:                                               # an open arrival
            return i
        s["done"] = s["done"] | {i}
        owner = s["reqs"][i]
        if self.is_blocking(owner) and owner != reader:
            s["sig"] = s["sig"] | {owner}
        return i

    def may_answer(self, s, call):
        """The answer to the late caller depends on a call of user code."""
        return s["reqs"][call] != self.late or any(s["reqs"][i] == "N" for i in s["answers"])

    def is_blocking(self, owner):
        return owner not in "ANO"

    def number(self, s, call):
        """The index of the call among the starter's calls, which the open arrivals follow."""
        return s["reqs"][:call].count("A") if call >= 0 else self.asyncs - 1 - call

    def has_code(self, s, call):
        number = self.number(s, call)
        return (call < 0 or s["reqs"][call] == "A") and self.code[number] != "-" and number not in s["ran"]

    def is_any_blocked(self, s):
        return len(s["rounds"]) < len(self.blockers) * self.calls_each

    def outstanding(self, s):
        return len(s["reqs"]) - len(s["done"]) - len(s["failed"])

    def close(self, s):
        s["closed"] = True
        if self.births is not None:
            s["idle"] = 0                                       # the idle threads exit
        s["attention"] += 1
        self.wake_sleepers(s)
        s["latch"] = True
        self.signal_listed(s)

    # ---- one step of one actor: None if it cannot move, else the next (label, argument)
    def step(self, who, label, arg, s):
        kind = label[0]
        return self.kinds[kind](who, label, arg, s)

    def peer(self, who, label, arg, s):
        if self.sleepy and label in ("p0", "p_arm", "p_check", "p_asleep"):
            return self.sleepy_peer(who, label, arg, s)
        if label == "p0":
            may = [i for i in range(s["visible"]) if i not in s["answers"] and self.may_answer(s, i)]
            if s["gone"] or not may:
                return None
            s["answers"] = s["answers"] + (may[0],)
            s["tail"] += 1
            return "p1", None
        if label == "p1":
            w = s["parked"]
            if s["gone"]:
                return None
            if w and s["tail"] > w - 1 and (w != s["woken"] or "flag" in self.off):
                s["woken"] = w
                return ("p_clear" if "flag" in self.off else "p_ring"), None
            return "p0", None
        if label == "p_clear":
            s["parked"] = 0
            return "p_ring", None
        if label == "p_ring":
            self.wake_sleepers(s)
            return "p0", None

    # look: runs after the role was freed or an awaited call started; arg is the step to continue with
    def look(self, who, label, arg, s):
        go_on = arg
        if label == "l0":
            if s["blocked"] > 0:
                if s["role"] == FREE and "no_signal" not in self.off:
                    self.signal_one(s)
                return go_on
            return "l_expect", arg
        if label == "l_expect":
            if self.outstanding(s) > 0 or self.pushes:
                return "l_role", arg
            if "no_watchdog" not in self.off:
                self.ensure_watched(s)
            return go_on
        if label == "l_role":
            return ("l_ask", arg) if s["role"] == FREE else go_on
        if label == "l_ask":
            if s["standby"] == ON_LATCH:
                s["latch"] = True
                return go_on
            return ("l_take", arg) if s["standby"] == ARMED and not s["armed"] else go_on
        if label == "l_take":
            if s["role"] != FREE:
                return go_on
            s["role"] = ("reading", who)
            return "l_arm", arg
        if label == "l_arm":
            if s["closed"]:
                return "l_free", (arg, True)
            s["parked"], s["armed"] = s["head"] + 1, True
            return "l_check", arg
        if label == "l_check":
            return "l_free", (arg, s["head"] == s["tail"])
        if label == "l_free":
            s["role"] = FREE
            return ("l_second", arg[0]) if arg[1] else ("l_wake", arg[0])
        if label == "l_wake":
            self.wake_sleepers(s)
            return "l_second", arg
        if label == "l_second":
            if "no_second_look" in self.off:
                return go_on
            if s["blocked"] > 0 and s["role"] == FREE:
                self.signal_one(s)
            return "l_third", arg
        if label == "l_third":
            if s["standby"] == ON_LATCH or s["closed"]:
                s["latch"] = True
            return go_on

    # ---- a blocking caller: a thread of its own, or user code that makes a blocking call, inline or on the pool
    def blocker(self, who, label, arg, s):
        if label == "b_enter":
            if arg:
                s["contexts"] = s["contexts"] | {(who, arg[0])}
            if self.is_holder(who, s) and "no_take_back" not in self.off:
                s["role"] = ("reading", who)
                s["nested"] = s["nested"] | {who}
                return "b_enter_disarm", None
            if s["closed"]:
                return "b_next", None
            if s["role"] == FREE and "late_role" not in self.off:
                s["role"] = ("reading", who)
                return "b_enter_disarm", None
            return "b_count", None
        if label == "b_enter_disarm":
            s["parked"], s["armed"] = 0, False
            return ("b_send", True) if "no_flush_by_callers" in self.off else ("f0", ("b_send", True))
        if label == "b_count":
            s["blocked"] += 1
            s["counted"] = s["counted"] | {who}
            return "b_send", False
        if label == "b_send":
            if s["gate"]:
                return None
            if s["closed"]:                                     # the sender fails
                return ("b_release", "b_leave") if arg else ("b_leave", None)
            s["reqs"] = s["reqs"] + (who,)
            return self.publish(s, ("b_read", None) if arg else ("b_wait", None))
        if label == "b_wait":
            if self.answered(s, who):
                return "b_leave", None
            if not s["closed"] and s["role"] == FREE:
                s["role"] = ("reading", who)
                return "b_taken", None
            return ("b_list", None) if s["closed"] else ("b_spin", None)
        if label == "b_taken":
            s["parked"], s["armed"] = 0, False
            return ("b_read", None) if "no_flush_by_callers" in self.off else ("f0", ("b_read", None))
        return self.blocked_reader(who, label, arg, s)

    def blocked_reader(self, who, label, arg, s):
        if label == "b_disarm":
            s["parked"], s["armed"] = 0, False
            return "b_read", None
        if label == "b_read":
            if self.answered(s, who) or s["closed"]:
                return "b_release", "b_wait"
            return "b_receive", (s["attention"], s["gone"])
        if label == "b_receive":
            if s["head"] < s["tail"]:
                call = self.deliver(s, who)
                if self.has_code(s, call):
                    s["queued"] = s["queued"] | {self.number(s, call)}
                return "b_read", None
            if arg[1]:
                self.close(s)
                return "b_read", None
            return "b_arm", arg[0]
        if label == "b_arm":
            s["parked"], s["armed"] = s["head"] + 1, True
            return "b_check", arg
        if label == "b_check":
            return ("b_disarm", None) if s["head"] != s["tail"] else ("b_sleep", arg)
        if label == "b_sleep":
            if s["tail"] != s["head"] or s["attention"] != arg and "no_attention" not in self.off:
                return "b_disarm", None
            s["sleep"] = s["sleep"] | {who}
            return "b_asleep", None
        if label == "b_asleep":
            return None if who in s["sleep"] else ("b_disarm", None)
        if label == "b_release":
            if who in s["nested"]:                              # back to the user code, which still holds the role
                s["nested"] = s["nested"] - {who}
                s["entries"] += 1
                s["role"] = ("code", who, s["entries"])
                return "b_rewatch", arg
            s["role"] = FREE
            return "b_released", arg
        if label == "b_rewatch":
            self.ensure_watched(s)
            return arg, None
        if label == "b_released":
            if s["closed"]:
                s["latch"] = True
            return arg, None
        return self.waiting_caller(who, label, arg, s)

    def waiting_caller(self, who, label, arg, s):
        if label == "b_spin":                                   # a signal ends the spin, or its budget
            if s["sig"] & {who} and "stale_signal" not in self.off:
                s["sig"] = s["sig"] - {who}
                return "b_wait", None
            return "b_list", None
        if label == "b_list":
            s["listed"] = s["listed"] | {who}
            return "b_recheck", None
        if label == "b_recheck":
            if "no_recheck" in self.off or not self.answered(s, who) and (s["role"] != FREE or s["closed"]):
                return "b_latched", None
            return "b_unlist", None
        if label == "b_latched":
            if who not in s["sig"]:
                return None
            s["sig"] = s["sig"] - {who}
            return "b_unlist", None
        if label == "b_unlist":
            s["listed"] = s["listed"] - {who}
            return "b_wait", None
        if label == "b_leave":
            if who in s["counted"]:
                s["blocked"] -= 1
                s["counted"] = s["counted"] - {who}
            return ("b_next", None) if "no_look_on_leave" in self.off else ("l0", ("b_next", None))
        if label == "b_next":
            for context in [c for c in s["contexts"] if c[0] == who]:
                s["contexts"] = s["contexts"] - {context}
                return "u_end", context[1]
            s["rounds"] = s["rounds"] + (who,)
            return ("b_end" if s["closed"] or s["rounds"].count(who) == self.calls_each else "b_enter"), None
        return None                                             # b_end

    # ---- an awaiting caller
    def starter(self, who, label, arg, s):
        if label == "a_start":
            if s["closed"] or s["reqs"].count("A") == self.asyncs:
                return None
            if s["gate"]:
                return None
            s["reqs"] = s["reqs"] + ("A",)
            return self.publish(s, ("l0", ("a_start", None)))

    # ---- the end of the connection: the steps of PeerLink.OnPeerGone, or a close at once
    def ender(self, who, label, arg, s):
        if label == "x0":
            if self.end == "close":
                if not s["closed"]:
                    self.close(s)
                return "x_end", None
            s["gone"] = True
            return "x1", None
        if label == "x1":
            s["attention"] += 1
            self.wake_sleepers(s)
            return "x2", None
        if label == "x2":
            s["latch"] = True
            return "x3", None
        if label == "x3":
            self.signal_listed(s)
            return "x_end", None
        return None                                             # x_end

    def wrong(self, s, pcs, is_final):
        """Returns the error in a state, or None."""
        error = ("a thread reads without the role" if s["torn"] else
                 "quick user code has lost the role" if s["robbed"] else self.wrong_publishing(s))
        if not error and not is_final:
            return None
        where = dict(zip(self.names, (p[0] for p in pcs)))
        if error:
            return f"{error}: {where}, {s}"
        ended = s["closed"] and s["role"] == RETIRED
        begun = sum(r == "A" or r in self.blockers for r in s["reqs"])
        if self.outstanding(s) or (not ended and begun < self.asyncs + len(self.blockers) * self.calls_each):
            return f"a call is never answered: {where}, {s}"
        if any(where[b] != "b_end" for b in self.blockers):
            return f"a caller never returns: {where}, {s}"
        if any(where[t][0] in "ub" for t in self.readers + self.pools):
            return f"user code never returns: {where}, {s}"
        if any(self.has_code(s, i) for i in range(-len(self.pushes), len(s["reqs"]))):
            return f"user code never runs: {where}, {s}"
        if s["gone"] and not ended:
            return f"nobody notices that the peer is gone: {where}, {s}"
        heard = s["armed"] and s["parked"] == s["head"] + 1 and any(where[t] == "s_asleep" for t in self.readers)
        if not s["closed"] and not heard:
            return f"nobody would hear the peer: {where}, {s}"
        return None
