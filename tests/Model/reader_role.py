"""Explicit-state model of who reads a connection's ring: CallerReader, StandbyReader and ReaderDesk in
src/RpcOverShm/Connections, step by step.

Actors: P the peer that answers, S the standby reader, B and C blocking callers, A a caller that does not block, W the
sentinel, X the end of the connection (the peer's death, or a close on this side). Every step is one access to something
that another thread can see. All of them are interlocked or fenced in the code, so sequential consistency is assumed;
the store buffers of tail and parked are the matter of tests/RpcOverShm.Tests/Rings/RingFenceTests.cs.

Checked in every state that nothing can leave: every call is answered, or has failed because the connection ended; and
on a connection that lives, the peer has been asked to ring and the standby sleeps where the ring wakes it, so that a
frame which nobody expects (the peer is leaving) is heard too.

Each rule is then left out in turn, and the model shows what is lost. Run: python3 reader_role.py [quick]
"""
import sys
from collections import deque

FREE, RETIRED = ("free", ""), ("retired", "")
AWAKE, ARMED, ON_LATCH = 0, 1, 2


class Model:
    def __init__(self, rules_off, asyncs, blockers, calls_each, end, limit):
        self.off, self.limit, self.end = set(rules_off), limit, end
        self.asyncs, self.blockers, self.calls_each = asyncs, blockers, calls_each
        self.names = ["P", "S", "W"] + list(blockers) + (["A"] if asyncs else []) + (["X"] if end else [])
        start = {"P": "p0", "S": "s_take", "W": "w0", "A": "a_start", "X": "x0"}
        self.pcs = tuple((start.get(n, "b_enter"), None) for n in self.names)
        self.init = dict(
            role=FREE, head=0, tail=0, reqs=(), done=frozenset(), failed=frozenset(), parked=0, armed=False, rung=-1,
            standby=AWAKE, latch=False, blocked=0, listed=frozenset(), sig=frozenset(), watched=False, registered=0,
            sleep=frozenset(), attention=0, gone=False, closed=False, counted=frozenset(), rounds=())

    # ---- helpers: each is part of one step
    def wake_sleepers(self, s):
        s["sleep"] = frozenset() if "wake_one" not in self.off else frozenset(sorted(s["sleep"])[1:])

    def signal_listed(self, s):
        s["sig"] = s["sig"] | s["listed"]

    def answered(self, s, who):
        mine = [i for i, r in enumerate(s["reqs"]) if r == who]
        return bool(mine) and (mine[-1] in s["done"] or mine[-1] in s["failed"])

    def deliver(self, s, reader):
        i = s["head"]
        s["head"] += 1
        s["done"] = s["done"] | {i}
        owner = s["reqs"][i]
        if owner in self.blockers and owner != reader:
            s["sig"] = s["sig"] | {owner}

    def outstanding(self, s):
        return len(s["reqs"]) - len(s["done"]) - len(s["failed"])

    def close(self, s):
        s["closed"] = True
        s["attention"] += 1
        self.wake_sleepers(s)
        s["latch"] = True
        self.signal_listed(s)

    # ---- one step of one actor: None when it can't move, else the next (label, argument)
    def step(self, who, label, arg, s):
        kind = label[0]
        return {"p": self.peer, "s": self.standby, "w": self.sentinel, "b": self.blocker, "a": self.starter,
                "x": self.ender, "l": self.look}[kind](who, label, arg, s)

    def peer(self, who, label, arg, s):
        if label == "p0":
            if s["gone"] or s["tail"] == len(s["reqs"]):
                return None
            s["tail"] += 1
            return "p1", None
        if label == "p1":
            w = s["parked"]
            if s["gone"]:
                return None
            if w and s["tail"] > w - 1 and (w != s["rung"] or "flag" in self.off):
                s["rung"] = w
                return ("p_clear" if "flag" in self.off else "p_ring"), None
            return "p0", None
        if label == "p_clear":
            s["parked"] = 0
            return "p_ring", None
        if label == "p_ring":
            self.wake_sleepers(s)
            return "p0", None

    # look: after the role was freed, or a call begun that nobody blocks for; arg is the label to go on with
    def look(self, who, label, arg, s):
        go_on = (arg, None)
        if label == "l0":
            if s["blocked"] > 0:
                if s["role"] == FREE and "no_signal" not in self.off:
                    self.signal_listed(s)
                return go_on
            return "l_expect", arg
        if label == "l_expect":
            if self.outstanding(s) > 0:
                return "l_role", arg
            if not s["watched"] and "no_sentinel" not in self.off:
                s["watched"] = True
                s["registered"] += 1
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
                self.signal_listed(s)
            return "l_third", arg
        if label == "l_third":
            if s["standby"] == ON_LATCH or s["closed"]:
                s["latch"] = True
            return go_on

    # ---- a blocking caller
    def blocker(self, who, label, arg, s):
        if label == "b_enter":
            if s["closed"]:
                return "b_end", None
            if s["role"] == FREE and "late_role" not in self.off:
                s["role"] = ("reading", who)
                return "b_enter_disarm", None
            return "b_count", None
        if label == "b_enter_disarm":
            s["parked"], s["armed"] = 0, False
            return "b_send", True
        if label == "b_count":
            s["blocked"] += 1
            s["counted"] = s["counted"] | {who}
            return "b_send", False
        if label == "b_send":
            if s["closed"]:                                     # the sender refuses
                return ("b_release", "b_leave") if arg else ("b_leave", None)
            s["reqs"] = s["reqs"] + (who,)
            return ("b_read", None) if arg else ("b_wait", None)
        if label == "b_wait":
            if self.answered(s, who):
                return "b_leave", None
            if not s["closed"] and s["role"] == FREE:
                s["role"] = ("reading", who)
                return "b_disarm", None
            return ("b_list", None) if s["closed"] else ("b_spin", None)
        if label == "b_disarm":
            s["parked"], s["armed"] = 0, False
            return "b_read", None
        if label == "b_read":
            if self.answered(s, who) or s["closed"]:
                return "b_release", "b_wait"
            return "b_receive", (s["attention"], s["gone"])
        if label == "b_receive":
            if s["head"] < s["tail"]:
                self.deliver(s, who)
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
            s["role"] = FREE
            return "b_released", arg
        if label == "b_released":
            if s["closed"]:
                s["latch"] = True
            return arg, None
        if label == "b_spin":                                   # what ends the spin, or its budget does
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
            return ("b_next", None) if "no_look_on_leave" in self.off else ("l0", "b_next")
        if label == "b_next":
            s["rounds"] = s["rounds"] + (who,)
            return ("b_end" if s["rounds"].count(who) == self.calls_each else "b_enter"), None
        return None                                             # b_end

    # ---- a caller that does not block
    def starter(self, who, label, arg, s):
        if label == "a_start":
            if s["closed"] or s["reqs"].count("A") == self.asyncs:
                return None
            s["reqs"] = s["reqs"] + ("A",)
            return ("a_start", None) if "no_look_on_start" in self.off else ("l0", "a_start")

    # ---- the standby
    def standby(self, who, label, arg, s):
        if label == "s_take":
            if s["role"] == FREE:
                s["role"] = ("reading", who)
                return "s_taken", None
            return "s_announce", None
        if label == "s_taken":
            if s["closed"]:
                s["role"] = RETIRED
                return "s_fail", None
            return "s_disarm", None
        if label == "s_fail":
            s["failed"] = s["failed"] | {i for i in range(len(s["reqs"])) if i not in s["done"]}
            s["sig"] = s["sig"] | {r for i, r in enumerate(s["reqs"]) if r in self.blockers and i in s["failed"]}
            return "s_end", None
        if label == "s_announce":
            s["standby"] = ARMED if "sleep_unarmed" in self.off else ON_LATCH
            return ("s_unarmed", s["tail"]) if "sleep_unarmed" in self.off else ("s_look", None)
        if label == "s_unarmed":
            if s["tail"] != arg:
                return "s_awake", None
            s["sleep"] = s["sleep"] | {who}
            return "s_asleep", None
        if label == "s_look":
            return ("s_awake" if s["role"] == FREE else "s_latched"), None
        if label == "s_latched":
            if not s["latch"]:
                return None
            s["latch"] = False
            return "s_awake", None
        if label == "s_awake":
            s["standby"] = AWAKE
            return "s_take", None
        if label == "s_disarm":
            s["parked"], s["armed"] = 0, False
            return "s_read", None
        if label == "s_read":
            if s["closed"]:
                s["role"] = FREE
                return "s_take", None
            if s["blocked"] > 0:
                return "s_hand_over", None
            return "s_receive", (s["attention"], s["gone"])
        if label == "s_receive":
            if s["head"] < s["tail"]:
                self.deliver(s, who)
                return "s_read", None
            if arg[1]:
                self.close(s)
                return "s_read", None
            return "s_arm", arg[0]
        if label == "s_arm":
            s["parked"], s["armed"] = s["head"] + 1, True
            return "s_check", (arg, s["head"])
        if label == "s_check":
            return ("s_disarm", None) if s["head"] != s["tail"] else ("s_say_armed", arg)
        if label == "s_say_armed":
            s["standby"] = ARMED
            return "s_free", arg
        if label == "s_free":
            s["role"] = FREE
            return "s_signal", arg
        if label == "s_signal":
            if s["blocked"] > 0 and s["role"] == FREE and "no_signal" not in self.off:
                self.signal_listed(s)
            return "s_sleep", arg
        if label == "s_sleep":
            if s["tail"] != arg[1] or s["attention"] != arg[0] and "no_attention" not in self.off:
                return "s_awake", None
            s["sleep"] = s["sleep"] | {who}
            return "s_asleep", None
        if label == "s_asleep":
            return None if who in s["sleep"] else ("s_awake", None)
        if label == "s_hand_over":
            s["standby"] = ON_LATCH
            return "s_hand_free", None
        if label == "s_hand_free":
            s["role"] = FREE
            return "l0", "s_latched"
        return None                                             # s_end

    # ---- the sentinel: in the code it waits until nobody has read for a while; here it may look at any time
    def sentinel(self, who, label, arg, s):
        if label == "w0":
            if not s["registered"]:
                return None
            s["watched"] = False
            return "w1", None
        if label == "w1":
            return ("w_done", None) if s["blocked"] else ("l_role", "w_done")
        if label == "w_done":
            s["registered"] -= 1
            return "w0", None

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

    def wrong(self, s, pcs):
        """What is wrong with a state that nothing can leave; None when it is as it should be."""
        where = dict(zip(self.names, (p[0] for p in pcs)))
        wanted = self.asyncs + len(self.blockers) * self.calls_each
        ended = s["closed"] and s["role"] == RETIRED
        if self.outstanding(s) or (not ended and len(s["reqs"]) < wanted):
            return f"a call is never answered: {where}, {s}"
        if any(where[b] != "b_end" for b in self.blockers):
            return f"a caller never returns: {where}, {s}"
        if s["gone"] and not ended:
            return f"nobody notices that the peer is gone: {where}, {s}"
        if not s["closed"] and not (s["armed"] and s["parked"] == s["head"] + 1 and where["S"] == "s_asleep"):
            return f"nobody would hear the peer: {where}, {s}"
        return None

    def run(self):
        keys = tuple(self.init)
        first = (tuple(self.init[k] for k in keys), self.pcs)
        seen, queue = {first}, deque([first])
        while queue:
            values, pcs = queue.popleft()
            moved = False
            for i, name in enumerate(self.names):
                s = dict(zip(keys, values))
                nxt = self.step(name, pcs[i][0], pcs[i][1], s)
                if nxt is None:
                    continue
                moved = True
                found = (tuple(s[k] for k in keys), pcs[:i] + (nxt,) + pcs[i + 1:])
                if found not in seen:
                    seen.add(found)
                    queue.append(found)
                    if len(seen) > self.limit:
                        return f"nothing lost in {self.limit:,} states (not all seen)"
            if not moved:
                problem = self.wrong(dict(zip(keys, values)), pcs)
                if problem:
                    return f"LOST after {len(seen):,} states: {problem}"
        return f"ok, {len(seen):,} states"


CASES = [
    ("2 async", dict(asyncs=2, blockers="", calls_each=0, end=None)),
    ("1 blocking, twice", dict(asyncs=0, blockers="B", calls_each=2, end=None)),
    ("1 async + 1 blocking", dict(asyncs=1, blockers="B", calls_each=1, end=None)),
    ("2 blocking", dict(asyncs=0, blockers="BC", calls_each=1, end=None)),
    ("1 async, peer dies", dict(asyncs=1, blockers="", calls_each=0, end="death")),
    ("1 blocking, peer dies", dict(asyncs=0, blockers="B", calls_each=1, end="death")),
    ("1 async + 1 blocking, peer dies", dict(asyncs=1, blockers="B", calls_each=1, end="death")),
    ("1 async + 1 blocking, closed", dict(asyncs=1, blockers="B", calls_each=1, end="close")),
    ("2 blocking, closed", dict(asyncs=0, blockers="BC", calls_each=1, end="close")),
]
# Not here: no_look_on_start loses nothing but time, since the sentinel looks in a few milliseconds.
RULES = ["flag", "wake_one", "sleep_unarmed", "no_signal", "no_second_look", "no_look_on_leave", "no_recheck",
         "no_sentinel", "no_attention"]


def main():
    quick = "quick" in sys.argv
    limit = 300_000 if quick else 5_000_000
    failed = False
    shown = {rule: False for rule in RULES}
    for name, case in CASES:
        result = Model((), limit=limit, **case).run()
        failed |= result.startswith("LOST")
        print(f"{name:34} {'as built':18} {result[:400]}", flush=True)
        for rule in RULES:
            result = Model((rule,), limit=limit, **case).run()
            shown[rule] |= result.startswith("LOST")
            print(f"{'':34} {rule:18} {result[:90]}", flush=True)
    for rule, is_shown in shown.items():
        if not is_shown:
            failed = True
            print(f"The model does not show what rule '{rule}' is for.")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
