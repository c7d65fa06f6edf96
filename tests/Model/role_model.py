"""The model of reader_role.py: its state, its actors, and the checks. The event loop is in loop_model.py, its
runs of connections in run_model.py, callers in caller_model.py, publishing, space and the peer in publish_model.py, the
watchdog and the spares in watchdog_model.py."""
from collections import namedtuple

from caller_model import Callers
from loop_model import ACTIVE, ENDED, FREE, PARKED, REQUESTED, SOCKET, EventLoopThreads
from publish_model import Publishing
from run_model import Runs
from search import Search
from watchdog_model import WatchdogThread

# A connection of the loop. begun: the frames that were sent before the search begins, by their owners: 'A' an awaited
# call, 'O' a frame that asks for no answer. asyncs: those that another thread sends then. callers: blocking ones; the
# first may be 'b', which has sent and reads, or 'd', which has its answer and still the role; the second may be 'c',
# which has sent and waits. code: a letter for the continuation of each awaited call: '-' has none, 'e' ends at once,
# 'q' ends before a period of the watchdog has passed, 's' sends a call, 'o' a frame that asks for no answer, 'm' one of
# many bytes, 'w' sends a call and blocks its thread until the answer comes, 'n' makes a blocking call. arrivals: the
# same for what the peer sends without being asked. end: how the link ends, if it does: 'ends' is told by the socket,
# 'process ends' by the process watch, and 'closed' is a close by this side.
Link = namedtuple("Link", "begun asyncs callers code arrivals end", defaults=("",) * 6)


class Model(EventLoopThreads, Runs, Callers, Publishing, WatchdogThread, Search):
    def __init__(self, links, rules_off=(), limit=1_000_000, calls_each=1, any_order=False, expects=False,
                 watches=False, room=0, rings_early=True, spares=0, takes=1, births=None, no_pool=False, clocked=False,
                 ends_watch=False, begins_in_code=False, sleepy=False, serves=False, joins=False,
                 tires=""):
        """calls_each: the calls of each blocking caller. any_order: the peer answers in any order. expects: this side
        always expects frames: it accepted the links, or has an open stream. watches: the watchdog checks connections;
        if not, each caller that leaves arms. room, rings_early, sleepy: see publish_model.py. spares: the most threads
        that go on with the loop, and births those that the system has, if fewer. takes: the most take-overs by the
        watchdog. no_pool: all threads of the pool are busy for good. clocked: see watchdog_model.py. ends_watch: the
        watchdog may stop checking the loop. begins_in_code: the loop runs the code of the one awaited call, and the
        caller waits. serves: this side is a server. joins: the loop begins to serve the last connection later. tires:
        the blocking callers that may leave the reading to others at any time."""
        self.off, self.limit, self.calls_each, self.any_order = set(rules_off), limit, calls_each, any_order
        self.expects, self.watches, self.room, self.rings_early = expects, watches, room, rings_early
        self.takes, self.no_pool, self.clocked, self.ends_watch, self.sleepy = (
            takes, no_pool, clocked, ends_watch, sleepy)
        self.serves, self.joins, self.tires = serves, joins, tires
        self.links = {str(i): link for i, link in enumerate(links)}
        self.all = list(self.links)
        self.ends = {c: link.end for c, link in self.links.items() if link.end}
        self.awaited = {c: (link.begun + link.asyncs).count("A") for c, link in self.links.items()}
        self.code = {c: link.code.ljust(self.awaited[c], "-") + link.arrivals for c, link in self.links.items()}
        self.births = spares if births is None else births
        self.spares = ["M", "N"][:spares]
        self.loops = ["L"] + self.spares + (["V"] if births is not None else [])
        self.blockers = [name.upper() + c for c, link in self.links.items() for name in link.callers]
        self.has_code = any(set(code) - {"-"} for code in self.code.values())
        self.has_watchdog = takes > 0 and (spares > 0 or births is not None)
        self.steps = {name: getattr(self, name) for name in dir(self) if name[1] == "_" and name[0].islower()}
        self.private = self.private_steps()
        self.init = self.first_state()
        actors = dict(self.actors())
        if begins_in_code:
            actors |= self.begin_in_code()
        self.names, self.pcs = list(actors), tuple(actors.values())

    def actors(self):
        """Returns each actor with its first step."""
        yield "L", ("m_top", None)
        yield from ((name, ("t_unborn", None)) for name in self.spares)
        yield from [("V", ("t_pool", None))] * ("V" in self.loops)
        yield from [("Q", ("i_idle", None))] * self.has_code
        yield from [("W", ("w_idle", None))] * (self.watches or self.has_watchdog)
        yield from [("Z", ("z_tick", None))] * self.clocked
        for c, link in self.links.items():
            yield "P" + c, ("p_read", None)
            leases = {"b": ("b_read", (c, 0, False, ("b_next", 1))), "c": ("b_wait", (c, 1, True, ("b_next", 1))),
                      "d": ("b_release", ((c, 0, False, ("b_next", 1)), "b_wait"))}
            yield from ((name.upper() + c, leases.get(name, ("b_next", 0))) for name in link.callers)
            yield from [("A" + c, ("a_start", 0))] * bool(link.asyncs)
            yield from [("O" + c, ("o_push", 0))] * bool(link.arrivals)
            yield from [("X" + c, ("x_end", None))] * bool(link.end)
        yield from [("J" + self.all[-1], ("j_add", None))] * self.joins

    def private_steps(self):
        """Returns the steps that touch only what belongs to their thread in this case."""
        private = {"m_park", "m_after", "r_empty", "r_flush", "b_next"}
        private |= {"m_ran"} if len(self.all) == 1 else set()
        private |= set() if self.room else {"m_drained"}
        private |= set() if self.has_code else {"f_held"}
        private |= set() if self.ends else {"k_park", "b_read", "b_released", "l_closed", "r_gone"}
        return private | (set() if self.ends or self.room else {"r_run"})

    def first_state(self):
        """All sources are active, so the loop is about to look at them."""
        none, served = frozenset(), tuple(self.all[:-1] if self.joins else self.all)
        state = dict(
            error=None, owner="L", thread="L", served=served, listed=served, index=0, worked=none, current=None,
            undrained=(), posted=none, sleeping=False, wake=False, sig=none, queued=none, ran=none)
        if self.has_code or self.ends:
            state.update(loop_gate=False, loop_watched=not self.has_watchdog, loop_checks=0, lost=none, taken=0, idle=0,
                         requested=0, unfilled=0, born=0, items=0)
            state.update({(key, name): 0 for name in self.loops for key in ("run", "wanted")})
        if self.ends_watch:
            state.update(loop_watched=True, loop_checks=1)
        if self.clocked:
            state.update(times=(), due=False, seen=None)
        for c in self.all:
            state.update({(key, c): value for key, value in self.first_of(c, self.links[c]).items()})
        return state

    def first_of(self, c, link):
        """Returns the state of a connection."""
        none = frozenset()
        one = dict(
            role=FREE, state=ACTIVE, parked=(), woken=(), done=none, head=0, blocked=0, latched=(), asleep=none,
            edge=False, bytes=False, failed=none, shut=False, attention=0, gone=False, closed=False, ended=False,
            watched=False, checks=0, stuck=0, held=False, gate=False, waiting=False, peer_head=0)
        one["in"], one["out"] = (), tuple(n.upper() + c for n in link.callers if n.islower()) + tuple(link.begun)
        one["visible"] = min(len(one["out"]), self.room or len(one["out"]))
        if one["visible"] < len(one["out"]):
            one["waiting"], one["state"] = True, REQUESTED
        if self.joins and c == self.all[-1]:
            one["state"] = PARKED
        if link.callers[:1] in ("b", "d"):
            one["role"], one["blocked"] = link.callers[0].upper() + c, link.callers.count("c")
        if link.callers[:1] == "d":
            one.update({"peer_head": 1, "in": (0,), "head": 1, "done": frozenset({0})})
        if self.room:
            one.update(parked_for_space=0, woken_for_space=0, seen_head=0)
        if self.sleepy:
            one.update(peer_parked=0, peer_woken=0, peer_sleeps=False, time=0, age=0)
        if self.sleepy or self.has_code:
            one.update(owed=False, deferred=0)
        return one

    def begin_in_code(self):
        """Returns the first steps of the loop, whose code has the first answer, and of a caller, whose answer came."""
        self.init.update({
            "current": "0", "worked": frozenset("0"), "loop_watched": True, "loop_checks": 1, ("run", "L"): 1,
            ("out", "0"): ("A", "B0"), ("visible", "0"): 2, ("in", "0"): (0, 1), ("head", "0"): 1,
            ("done", "0"): frozenset({0}), ("blocked", "0"): 1, ("peer_head", "0"): 2})
        code = "u_code", ("0", 0, ("u_end", ("0", ("r_after", "0"))))
        return {"L": code, "B0": ("b_wait", ("0", 1, True, ("b_next", 1)))}

    # ---- one step of one actor: None if it cannot move, else the next (label, argument), or a list of these to choose
    def step(self, who, label, arg, s):
        while True:
            if label[0] in "mkrd" and s["owner"] != who:
                s["error"] = "a thread without the loop runs it"
            found = self.steps[label](who, arg, s)
            if not isinstance(found, tuple) or not self.is_private(found, s):
                return found
            label, arg = found

    def is_private(self, step, s):
        """Whether the next step touches only what belongs to its thread, or finds what stays so: then it is part of the
        step before."""
        label, arg = step
        if label in ("b_wait", "b_leave"):
            return self.is_over(s, arg[0], arg[1]) if label == "b_wait" else not arg[2]
        return label in self.private

    # ---- helpers: each is part of one step
    def has_data(self, s, c):
        return s["head", c] < len(s["in", c])

    def arm(self, s, c, bell):
        s["parked", c] = s["head", c], bell

    def disarm(self, s, c):
        s["parked", c] = ()

    def has_bell(self, s, c):
        return s["parked", c] != ()

    def wake_sleepers(self, s, c):
        s["asleep", c] = frozenset()

    def signal_if_free(self, s, c):
        """Signals the last one of several, even if it was signalled before."""
        if s["blocked", c] and s["role", c] == FREE and "no_signal" not in self.off:
            s["sig"] = s["sig"] | frozenset(s["latched", c][-1:])

    def is_active(self, s, c):
        return s["state", c] in (ACTIVE, REQUESTED)

    def is_expecting(self, s, c):
        return self.expects or self.outstanding(s, c) > 0

    def is_over(self, s, c, call):
        return call in s["done", c] or call in s["failed", c]

    def is_blocking(self, owner):
        return owner not in ("A", "N", "O")

    def deliver(self, s, c, reader):
        """Takes the next record. Returns the call that it answers, or the negative number of an arrival."""
        if s["role", c] != reader:
            s["error"] = "a thread reads without the role"
        record = s["in", c][s["head", c]]
        s["head", c] += 1
        if s["woken", c] and s["woken", c][0] < s["head", c]:
            s["woken", c] = ()                                  # the word of that position never returns
        self.count_age(s, c)
        if record >= 0:
            s["done", c] = s["done", c] | {record}
            owner = s["out", c][record]
            if self.is_blocking(owner) and owner != reader:
                s["sig"] = s["sig"] | {owner}
        return record

    def number(self, s, c, record):
        """The index of a record's user code: the awaited calls, which the arrivals follow."""
        return s["out", c][:record].count("A") if record >= 0 else self.awaited[c] - 1 - record

    def is_due(self, s, c, record):
        """Whether the record makes user code runnable."""
        number = self.number(s, c, record)
        is_awaited = record < 0 or s["out", c][record] == "A"
        return is_awaited and self.code[c][number] != "-" and (c, number) not in s["ran"]

    def outstanding(self, s, c):
        return sum(owner != "O" for owner in s["out", c]) - len(s["done", c]) - len(s["failed", c])

    # ---- the checks
    def wrong(self, s, pcs, is_final):
        """Returns the error in a state, or None."""
        if self.sleepy and any(s["owed", c] and not s["gate", c] for c in self.all):
            return "a frame is visible, and nobody is about to wake its peer"
        if s["error"] or not is_final:
            return s["error"]
        where = dict(zip(self.names, (label for label, _ in pcs)))
        if any(where[t] == "u_wait" for t in self.loops):
            return "user code never returns"
        if not any(where[t] == "m_wait" for t in self.loops):
            return "no thread has the loop"
        if any(where[b] != "b_end" for b in self.blockers) or any(where[t][0] == "b" for t in self.loops):
            return "a caller never returns"
        return next(filter(None, (self.wrong_end(s, c) for c in self.all)), None)

    def wrong_end(self, s, c):
        """Returns the error of a connection when nothing moves any more."""
        if s["role", c] == ENDED and s["ended", c] and self.has_data(s, c):
            return "a record is never read"
        if s["role", c] == ENDED:
            return "a call is never answered" if self.outstanding(s, c) else None
        if s["ended", c] or s["closed", c]:
            return "nobody notices the end of a link"
        if s["visible", c] < len(s["out", c]):
            return "a frame waits for space" if s["waiting", c] else "a frame is never published"
        if self.has_data(s, c):
            return "a record is never read"
        if self.outstanding(s, c) or s["out", c].count("A") < self.awaited[c]:
            return "a call is never answered"
        if sum(at == c for at, _ in s["ran"]) < sum(code != "-" for code in self.code[c]):
            return "user code never runs"
        if s["parked", c] != (s["head", c], SOCKET) or s["state", c] != PARKED:
            return "nobody would hear the peer"
        return None
