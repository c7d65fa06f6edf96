"""Explicit-state model of the gate of calls (CallGate), which stands several times before a method: one word with the
calls inside and those that wait, a lock, a lane for calls of chains and calls that return, and a lane for the others.

Actors: calls, with one that ends others while they wait, and one that sends the answers that hold calls back. A call
may be of a chain: its parent's method has made a callback, and whoever answers that makes the call. At a full gate it
borrows its parent's place, one at a time: a mark is the loan. The code also looks at calls further in front. Each step
is one access to shared state. The word is changed by compare-and-swap, or by one interlocked addition; lanes and marks
are changed under the lock.

Every state is checked: no more calls run than the limit allows, times the depth of chains, and none overtakes one that
waits. Every final state is checked: each call has run or was ended, nothing waits, and the words count nobody. Then the
model leaves out each rule in turn and shows a loss. Run: python3 call_gate.py
"""
from search import Search, report


def call(parent=None, awaits="", yields=False, stays=False, ended=False, gates=1):
    """A call: the parent of its chain; the calls that its method waits for, and whether it lets others in meanwhile;
    whether its method never ends; whether somebody ends the call; the gates that it passes."""
    return dict(parent=parent, awaits=awaits, yields=yields, stays=stays, ended=ended, gates=gates)


CASES = {
    "3 calls": dict(A=call(), B=call(), C=call()),
    "3 calls, limit 2": dict(A=call(), B=call(), C=call(), limits=(2,)),
    "a call ends while it waits": dict(A=call(), B=call(ended=True), C=call()),
    "a call ends behind one that stays": dict(A=call(stays=True), B=call(ended=True)),
    "a call ends in the first lane": dict(A=call(stays=True), N=call("A", stays=True), O=call("A", ended=True)),
    "2 gates": dict(A=call(gates=2), B=call(gates=2), C=call(gates=2), limits=(2, 1)),
    "2 gates, a call ends": dict(A=call(gates=2), B=call(gates=2, ended=True), limits=(1, 1)),
    "2 gates, a chain": dict(A=call(awaits="N", gates=2), B=call(gates=2), N=call("A", gates=2), limits=(1, 1)),
    "a chain of 2": dict(A=call(awaits="N"), B=call(), N=call("A")),
    "a chain of 3": dict(A=call(awaits="N"), N=call("A", awaits="O"), O=call("N"), depth=2),
    "2 calls for one place": dict(A=call(awaits="NO"), N=call("A"), O=call("A")),
    "calls for a place that goes": dict(A=call(), N=call("A"), O=call("A"), B=call()),
    "the middle of a chain ends first": dict(
        A=call(awaits="NM"), N=call("A"), O=call("N"), M=call("A", awaits="P"), P=call("M"), depth=2),
    "yields for a call of its chain": dict(A=call(awaits="N", yields=True), B=call(), N=call("A"), instance=True),
    "yields for another call": dict(A=call(awaits="C", yields=True), B=call(), C=call(), D=call(), instance=True),
    "borrows, yields, borrows again": dict(
        A=call(awaits="NM"), N=call("A", awaits="C", yields=True), M=call("A"), C=call("A"), instance=True),
    "answers hold calls back": dict(A=call(), B=call(), answers="-"),
    "answers hold a chain back": dict(A=call(awaits="N"), N=call("A"), answers="A"),
    "answers hold a chain back that is inside": dict(A=call(awaits="N"), N=call("A"), answers="A", limits=(2,)),
}

RULES = {
    "enter_looks_for_waiters": "3 calls",
    "wait_is_in_the_word": "3 calls",
    "wait_is_compared": "3 calls",
    "leave_looks_for_waiters": "3 calls",
    "grant_looks_at_limit": "3 calls",
    "end_is_seen_by_granted": "a call ends while it waits",
    "end_counts_off": "a call ends while it waits",
    "end_is_looked_for": "a call ends behind one that stays",
    "first_lane_is_searched": "a call ends in the first lane",
    "ended_call_leaves_all": "2 gates, a call ends",
    "chain_borrows": "a chain of 2",
    "one_borrows_at_a_time": "2 calls for one place",
    "mark_goes_with_call": "2 calls for one place",
    "mark_wakes_the_next": "2 calls for one place",
    "mark_is_handed_on": "the middle of a chain ends first",
    "running_call_ends_first": "calls for a place that goes",
    "place_is_lent_first": "calls for a place that goes",
    "lent_place_takes_lock": "calls for a place that goes",
    "yield_lets_others_in": "yields for another call",
    "yield_holds_the_lock": "yields for a call of its chain",
    "returning_call_is_first": "yields for another call",
    "return_borrows": "borrows, yields, borrows again",
    "budget_is_looked_at_again": "answers hold calls back",
    "sent_looks_for_waiters": "answers hold calls back",
    "answers_spare_borrowers": "answers hold a chain back",
    "put_back_borrows": "answers hold a chain back that is inside",
}


class Model(Search):
    limit = 1_000_000

    def __init__(self, limits=(1,), depth=1, instance=False, answers="", rules_off=(), **calls):
        self.off, self.limits, self.calls, self.instance = rules_off, limits, calls, instance
        self.answers = answers
        self.most = min(limits) * (1 + (depth if any(one["parent"] for one in calls.values()) else 0))
        ends = [name.lower() for name, one in calls.items() if one["ended"]]
        self.names = tuple(calls) + tuple(ends) + (("answers",) if answers else ())
        self.pcs = tuple(
            ("start" if name in calls else "fill" if name == "answers" else "end", None) for name in self.names)
        self.init = dict(granted=(), full=False, wrong=None)
        for gate in range(len(limits)):
            self.init |= {("word", gate): (0, 0), ("lock", gate): False, ("first", gate): (), ("others", gate): (),
                          ("marks", gate): ()}
        for name in calls:
            self.init |= {("state", name): "new", ("ended", name): False, ("lent", name): False, ("at", name): 0}

    def step(self, name, label, arg, s):
        return getattr(self, label)(name.upper() if len(name) == 1 else name, arg, s)

    def has(self, rule):
        return rule not in self.off

    # A call arrives.
    def start(self, name, arg, s):
        parent = self.calls[name]["parent"]
        if parent and s["state", parent] == "new":
            return None
        return "enter", None

    def enter(self, name, arg, s):
        gate = s["at", name]
        inside, waiting = s["word", gate]
        if s["full"] or inside >= self.limits[gate] or waiting and self.has("enter_looks_for_waiters"):
            return "lock", (gate, "locked_enter")
        return "swap", s["word", gate]

    def swap(self, name, word, s):
        gate = s["at", name]
        if s["word", gate] != word:
            return "enter", None
        inside, waiting = word
        s["word", gate] = inside + 1, waiting
        if waiting:
            s["wrong"] = "a call overtook one that waits"
        return "entered", None

    def lock(self, name, arg, s):
        gate, then = arg
        if s["lock", gate]:
            return None
        s["lock", gate] = True
        return then, gate

    def unlock(self, name, arg, s):
        gate, then = arg
        s["lock", gate] = False
        return then, None

    def locked_enter(self, name, gate, s):
        inside, waiting = s["word", gate]
        if inside < self.limits[gate] and waiting == 0 and not s["full"]:
            return "locked_swap", (gate, "in", s["word", gate])
        if self.may_mark(name, gate, s):
            return "mark", (gate, name, ("unlock", (gate, "entered")), ("locked_enter", gate))
        return "locked_swap", (gate, "wait", s["word", gate])

    def locked_swap(self, name, arg, s):
        gate, how, word = arg
        compares = how != "wait" or self.has("wait_is_compared")
        if compares and s["word", gate] != word:
            return "locked_enter", gate
        inside, waiting = s["word", gate]
        if how == "in":
            s["word", gate] = inside + 1, waiting
            return "unlock", (gate, "entered")
        s["first" if self.calls[name]["parent"] else "others", gate] += (name,)
        if not self.has("wait_is_in_the_word"):
            return "unlock", (gate, "late_count")
        s["word", gate] = inside, waiting + 1
        return "unlock", (gate, "waits")

    def late_count(self, name, arg, s):
        gate = s["at", name]
        s["word", gate] = s["word", gate][0], s["word", gate][1] + 1
        return "waits", None

    # Under the lock: a call borrows the place of its parent, which may be about to leave. It is lent before it
    # is looked for: a parent that leaves without the lock has taken its place back before it looks whether it is lent.
    def may_mark(self, name, gate, s):
        parent = self.calls[name]["parent"]
        if parent is None or not self.has("chain_borrows") or s["full"] and not self.has("answers_spare_borrowers"):
            return False
        if s["state", parent] != "runs":
            return False
        return not self.has("one_borrows_at_a_time") or all(mark[0] != parent for mark in s["marks", gate])

    def mark(self, name, arg, s):
        gate, one, _, _ = arg
        parent = self.calls[one]["parent"]
        s["marks", gate] += ((parent, one),)
        if self.has("place_is_lent_first"):
            s["lent", parent] = True
        return "look", arg

    def look(self, name, arg, s):
        gate, one, then, gone = arg
        if s["state", self.calls[one]["parent"]] == "runs":
            return "borrow", arg
        s["marks", gate] = tuple(mark for mark in s["marks", gate] if mark[1] != one)
        return gone

    def borrow(self, name, arg, s):
        gate, one, then, _ = arg
        parent = self.calls[one]["parent"]
        s["lent", parent] = True
        waits = one in s["first", gate]
        inside, waiting = s["word", gate]
        s["word", gate] = inside + 1, waiting - waits
        if self.instance and s["state", parent] == "outside" or s["state", parent] == "over":
            s["wrong"] = "a call borrowed the place of one that is not inside"
        if waits:
            self.let_in(one, gate, s)
        return then

    def waits(self, name, arg, s):                              # a thread that ended the call may have come before
        if s["ended", name] and self.has("end_is_looked_for"):
            return "lock", (s["at", name], "take_out")
        if self.has("budget_is_looked_at_again") and "answers" in self.names and not s["full"]:
            return "lock", (s["at", name], "grant_and_sleep")
        return "asleep", None

    def grant_and_sleep(self, name, gate, s):
        return "grant", (gate, "asleep")

    def take_out(self, name, gate, s):
        return ("unlock", (gate, "give_up")) if self.remove(name, gate, s) else ("unlock", (gate, "asleep"))

    def asleep(self, name, arg, s):
        if name in s["granted"]:
            s["granted"] = tuple(one for one in s["granted"] if one != name)
            return "entered", None
        return ("over", None) if s["state", name] == "over" else None

    def entered(self, name, arg, s):
        s["at", name] += 1
        return ("enter", None) if s["at", name] < self.calls[name]["gates"] else ("begin", None)

    def begin(self, name, arg, s):
        if s["ended", name] and not self.has("end_is_seen_by_granted"):
            s["state", name] = "over"                           # and nobody gives the place back
            return "over", None
        if s["ended", name]:
            return "give_up", None
        if s["full"] and not self.has_borrowed(name, 0, s):
            return "lock", (0, "put_back")
        s["state", name] = "runs"
        return "method", None

    def put_back(self, name, gate, s):                          # with the answers, there is one gate
        if self.has("put_back_borrows") and self.may_mark(name, gate, s):
            return "mark", (gate, name, ("count_once", gate), ("put_back", gate))
        s["word", gate] = s["word", gate][0] - 1, s["word", gate][1] + 1
        s["first", gate] += (name,)
        s["at", name] = gate
        return "unlock", (gate, "waits")

    def count_once(self, name, gate, s):
        s["word", gate] = s["word", gate][0] - 1, s["word", gate][1]
        return "unlock", (gate, "begin")

    # The method of the call.
    def method(self, name, arg, s):
        one = self.calls[name]
        if one["yields"]:
            return ("lock", (0, "go_outside")) if self.has("yield_holds_the_lock") else ("go_outside", 0)
        if one["stays"] or not self.are_over(one["awaits"], s):
            return None
        return ("forget", None) if self.has("running_call_ends_first") else ("leave", None)

    @staticmethod
    def are_over(names, s):
        return all(s["state", name] == "over" for name in names)

    def forget(self, name, arg, s):                             # before the place is free
        s["state", name] = "leaves"
        return "leave", None

    def give_up(self, name, arg, s):
        s["state", name] = "leaves"
        return ("leave", None) if self.has("ended_call_leaves_all") else ("finish", None)

    # Leaves the last gate that the call is inside of.
    def leave(self, name, arg, s):
        if s["at", name] == 0:
            return "finish", None
        gate = s["at", name] - 1
        if self.has_borrowed(name, gate, s) or s["lent", name] and self.has("lent_place_takes_lock"):
            return "lock", (gate, "leave_locked")
        return "leave_free", gate

    def leave_free(self, name, gate, s):
        inside, waiting = s["word", gate]
        s["word", gate] = inside - 1, waiting
        s["at", name] = gate
        if waiting and self.has("leave_looks_for_waiters"):
            return "lock", (gate, "grant_and_leave")
        return "leave", None

    def leave_locked(self, name, gate, s):
        self.hand_on(name, gate, s)
        inside, waiting = s["word", gate]
        s["word", gate] = inside - 1, waiting
        s["at", name] = gate
        return "grant", (gate, "leave")

    def grant_and_leave(self, name, gate, s):
        return "grant", (gate, "leave")

    def finish(self, name, arg, s):
        s["state", name] = "over"
        return "over", None

    def over(self, name, arg, s):
        return None

    @staticmethod
    def has_borrowed(name, gate, s):
        return any(mark[1] == name for mark in s["marks", gate])

    # Who borrowed the place of this one has then the place that this one had borrowed.
    def hand_on(self, name, gate, s):
        heirs = [mark[1] for mark in s["marks", gate] if mark[0] == name] if self.has("mark_is_handed_on") else []
        marks = []
        for mark in s["marks", gate]:
            if mark[1] == name and self.has("mark_goes_with_call"):
                marks += [(mark[0], heir) for heir in heirs]
            elif mark[0] != name:
                marks.append(mark)
        s["marks", gate] = tuple(marks)

    # Under the lock: lets in who may. Started calls are started after the lock. Nobody enters without the lock while
    # somebody waits, so the word needs no comparison.
    def grant(self, name, arg, s):
        gate, then = arg
        inside, waiting = s["word", gate]
        first, others = s["first", gate], s["others", gate]
        lanes = first + others if self.has("returning_call_is_first") else others + first
        has_place = inside < self.limits[gate] or not self.has("grant_looks_at_limit")
        if lanes and has_place and not s["full"]:
            s["word", gate] = inside + 1, waiting - 1
            self.let_in(lanes[0], gate, s)
            return "grant", arg
        if self.has("mark_wakes_the_next"):
            for one in first:
                if self.may_mark(one, gate, s):
                    return "mark", (gate, one, ("grant", arg), ("grant", arg))
        return "unlock", (gate, then)

    @staticmethod
    def let_in(one, gate, s):
        if one in s["others", gate] and any(s["state", other] == "outside" for other in s["first", gate]):
            s["wrong"] = "a call overtook one that returns"
        s["first", gate] = tuple(other for other in s["first", gate] if other != one)
        s["others", gate] = tuple(other for other in s["others", gate] if other != one)
        s["granted"] += (one,)

    # A method that waits for a callback lets others in.
    def go_outside(self, name, gate, s):
        s["state", name] = "outside"
        self.hand_on(name, gate, s)
        return "yield_place", gate

    def yield_place(self, name, gate, s):
        inside, waiting = s["word", gate]
        s["word", gate] = inside - 1, waiting
        if not self.has("yield_holds_the_lock"):
            return ("lock", (gate, "grant_outside")) if waiting else ("outside", None)
        return ("grant", (gate, "outside")) if self.has("yield_lets_others_in") else ("unlock", (gate, "outside"))

    def grant_outside(self, name, gate, s):
        return "grant", (gate, "outside")

    def outside(self, name, arg, s):
        return ("lock", (0, "take_again")) if self.are_over(self.calls[name]["awaits"], s) else None

    def take_again(self, name, gate, s):
        inside, waiting = s["word", gate]
        if inside < self.limits[gate] and not s["first", gate]:
            return "swap_again", (gate, "in", s["word", gate])
        if self.has("return_borrows") and self.may_mark(name, gate, s):
            return "mark", (gate, name, ("unlock", (gate, "go_on")), ("take_again", gate))
        return "swap_again", (gate, "wait", s["word", gate])

    def swap_again(self, name, arg, s):
        gate, how, word = arg
        if s["word", gate] != word:
            return "take_again", gate
        if how == "in":
            s["word", gate] = word[0] + 1, word[1]
            return "unlock", (gate, "go_on")
        s["word", gate] = word[0], word[1] + 1
        s["first", gate] += (name,)
        return "unlock", (gate, "returns")

    def returns(self, name, arg, s):
        if name not in s["granted"]:
            return None
        s["granted"] = tuple(one for one in s["granted"] if one != name)
        return "go_on", None

    def go_on(self, name, arg, s):
        s["state", name] = "runs"
        return "forget", None

    # Somebody ends a call.
    def end(self, name, arg, s):
        s["ended", name] = True
        return "look_where", None

    def look_where(self, name, arg, s):
        gate = min(s["at", name], len(self.limits) - 1)
        return "lock", (gate, "end_waiting")

    def end_waiting(self, name, gate, s):
        return ("unlock", (gate, "end_call")) if self.remove(name, gate, s) else ("unlock", (gate, "done"))

    def end_call(self, name, arg, s):
        return "give_up", None

    def done(self, name, arg, s):
        return None

    def remove(self, name, gate, s):
        for lane in ("first", "others") if self.has("first_lane_is_searched") else ("others",):
            if name in s[lane, gate]:
                s[lane, gate] = tuple(one for one in s[lane, gate] if one != name)
                if self.has("end_counts_off"):
                    s["word", gate] = s["word", gate][0], s["word", gate][1] - 1
                return True
        return False

    # The client leaves answers unread, and reads them later: at any time, or while a call runs and when it is over.
    def fill(self, name, arg, s):
        if self.answers in self.calls and s["state", self.answers] != "runs":
            return None
        s["full"] = True
        return "sent", None

    def sent(self, name, arg, s):
        if self.answers in self.calls and s["state", self.answers] != "over":
            return None
        s["full"] = False
        return "wake", None

    def wake(self, name, arg, s):
        if s["word", 0][1] and self.has("sent_looks_for_waiters"):
            return "lock", (0, "grant_done")
        return "done", None

    def grant_done(self, name, gate, s):
        return "grant", (gate, "done")

    def wrong(self, s, pcs, is_final):
        if s["wrong"]:
            return s["wrong"]
        running = sum(s["state", name] == "runs" for name in self.calls)
        if running > self.most:
            return f"{running} calls run, of {self.most}"
        if not is_final:
            return None
        stays = sum(one["stays"] for one in self.calls.values())
        for gate in range(len(self.limits)):
            if s["word", gate] != (stays, 0) or s["first", gate] or s["others", gate] or s["lock", gate]:
                return "something is left"
            if s["marks", gate] and not stays:
                return "a mark is left"
        return next(
            (f"call {name} neither runs nor ends" for name, one in self.calls.items()
             if s["state", name] != "over" and not one["stays"]),
            None)


if __name__ == "__main__":
    report(Model, CASES, RULES)
