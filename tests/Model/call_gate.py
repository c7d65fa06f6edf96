"""Explicit-state model of the gate of calls, which is to replace CallQueue, CallPlaces and InstanceGate in the core:
one word with the calls inside and those that wait, a lock, a lane for calls of chains and calls that return, and a lane
for the others.

Actors: calls, with one that ends others while they wait. A call may be of a chain: its parent's method has made a
callback, and whoever answers that makes the call. Each step is one access to shared state. The word is changed by
compare-and-swap, or by one interlocked subtraction of a call that leaves; lists and marks are changed under the lock.

Every state is checked: no more calls run than the limit allows, times the depth of chains, and none overtakes one that
waits. Every final state is checked: each call has run or was ended, nothing waits, and the word counts nobody. Then the
model leaves out each rule in turn and shows a loss. Run: python3 call_gate.py
"""
from search import Search, report


def call(parent=None, awaits="", lets_go=False, stays=False, ended=False):
    """A call: the parent of its chain; the calls that its method waits for, and whether it lets others in meanwhile;
    whether its method never ends; whether somebody ends the call."""
    return dict(parent=parent, awaits=awaits, lets_go=lets_go, stays=stays, ended=ended)


CASES = {
    "3 calls": dict(A=call(), B=call(), C=call()),
    "3 calls, limit 2": dict(A=call(), B=call(), C=call(), limit=2),
    "a call ends while it waits": dict(A=call(), B=call(ended=True), C=call()),
    "a call ends behind one that stays": dict(A=call(stays=True), B=call(ended=True)),
    "a chain of 2": dict(A=call(awaits="N"), B=call(), N=call("A")),
    "a chain of 3": dict(A=call(awaits="N"), N=call("A", awaits="O"), O=call("N"), depth=2),
    "2 calls in one name": dict(A=call(awaits="NO"), N=call("A"), O=call("A")),
    "calls in a name that goes": dict(A=call(), N=call("A"), O=call("A"), B=call(), M=call("B")),
    "lets go for a call of its chain": dict(A=call(awaits="N", lets_go=True), B=call(), N=call("A")),
    "lets go for another call": dict(A=call(awaits="C", lets_go=True), B=call(), C=call(), D=call()),
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
    "chain_passes": "a chain of 2",
    "one_passes_at_a_time": "2 calls in one name",
    "mark_goes_with_call": "2 calls in one name",
    "mark_wakes_the_next": "2 calls in one name",
    "name_must_run": "calls in a name that goes",
    "name_goes_first": "calls in a name that goes",
    "name_is_looked_for_again": "calls in a name that goes",
    "let_go_lets_others_in": "lets go for another call",
    "returning_call_is_first": "lets go for another call",
}


class Model(Search):
    limit = 1_000_000

    def __init__(self, limit=1, depth=1, rules_off=(), **calls):
        self.off, self.places, self.depth, self.calls = rules_off, limit, depth, calls
        self.most = limit * (1 + (depth if any(one["parent"] for one in calls.values()) else 0))
        ends = [name.lower() for name, one in calls.items() if one["ended"]]
        self.names = tuple(calls) + tuple(ends)
        self.pcs = tuple(("start" if name in calls else "end", None) for name in self.names)
        self.init = dict(word=(0, 0), lock=False, first=(), others=(), granted=(), marks=(), wrong=None)
        for name in calls:
            self.init["state", name] = "new"
            self.init["ended", name] = False

    def step(self, name, label, arg, s):
        return getattr(self, label)(name.upper(), arg, s)

    def has(self, rule):
        return rule not in self.off

    # A call arrives.
    def start(self, name, arg, s):
        parent = self.calls[name]["parent"]
        if parent and s["state", parent] == "new":
            return None
        return "enter", None

    def enter(self, name, arg, s):
        inside, waiting = s["word"]
        if inside < self.places and (waiting == 0 or not self.has("enter_looks_for_waiters")):
            return "swap", s["word"]
        return "lock", "locked_enter"

    def swap(self, name, word, s):
        if s["word"] != word:
            return "enter", None
        inside, waiting = word
        s["word"] = inside + 1, waiting
        if waiting:
            s["wrong"] = "a call overtook one that waits"
        return "begin", None

    def lock(self, name, then, s):
        if s["lock"]:
            return None
        s["lock"] = True
        return then, None

    def unlock(self, name, then, s):
        s["lock"] = False
        return then, None

    def locked_enter(self, name, arg, s):
        inside, waiting = s["word"]
        if inside < self.places and waiting == 0:
            return "locked_swap", ("in", s["word"])
        if self.may_pass(name, s):
            return "locked_swap", ("pass", s["word"])
        return "locked_swap", ("wait", s["word"])

    def locked_swap(self, name, arg, s):
        how, word = arg
        compares = how != "wait" or self.has("wait_is_compared")
        if compares and s["word"] != word:
            return "locked_enter", None
        inside, waiting = s["word"]
        if how == "wait":
            lane = "first" if self.calls[name]["parent"] else "others"
            s[lane] += (name,)
            if not self.has("wait_is_in_the_word"):
                return "unlock", "late_count"
            s["word"] = inside, waiting + 1
            return "unlock", "waits"
        s["word"] = inside + 1, waiting
        if how == "pass":
            s["marks"] += ((self.calls[name]["parent"], name),)
            return "look_again", None
        return "unlock", "begin"

    def late_count(self, name, arg, s):
        s["word"] = s["word"][0], s["word"][1] + 1
        return "waits", None

    # The parent may have left since this one looked, and another call may have come in its place: the word is the same.
    def look_again(self, name, arg, s):
        if s["state", self.calls[name]["parent"]] == "runs" or not self.has("name_is_looked_for_again"):
            return "unlock", "begin"
        s["marks"] = tuple(mark for mark in s["marks"] if mark[1] != name)
        s["word"] = s["word"][0] - 1, s["word"][1]
        return "locked_enter", None

    def may_pass(self, name, s):
        parent = self.calls[name]["parent"]
        if parent is None or not self.has("chain_passes"):
            return False
        if s["state", parent] != "runs" and self.has("name_must_run"):
            return False
        return not self.has("one_passes_at_a_time") or all(mark[0] != parent for mark in s["marks"])

    def waits(self, name, arg, s):                              # a thread that ended the call may have come before
        if s["ended", name] and self.has("end_is_looked_for"):
            return "lock", "take_out"
        return "asleep", None

    def take_out(self, name, arg, s):
        self.remove(name, s)
        return "unlock", "asleep"

    def asleep(self, name, arg, s):
        if name in s["granted"]:
            s["granted"] = tuple(one for one in s["granted"] if one != name)
            return "begin", None
        return ("over", None) if s["state", name] == "over" else None

    def begin(self, name, arg, s):
        if s["ended", name] and self.has("end_is_seen_by_granted"):
            return "leave", None
        if s["ended", name]:
            s["state", name] = "over"                           # and nobody gives the place back
            return "over", None
        s["state", name] = "runs"
        return "method", None

    # The method of the call.
    def method(self, name, arg, s):
        one = self.calls[name]
        if one["lets_go"]:
            return "let_go", None
        if one["stays"] or not self.are_over(one["awaits"], s):
            return None
        return ("forget", None) if self.has("name_goes_first") else ("leave", None)

    @staticmethod
    def are_over(names, s):
        return all(s["state", name] == "over" for name in names)

    def forget(self, name, arg, s):                             # before the place is free
        s["state", name] = "leaves"
        return "leave", None

    def leave(self, name, arg, s):
        inside, waiting = s["word"]
        s["word"] = inside - 1, waiting
        if not self.has("name_goes_first"):
            return "forget_late", waiting
        return self.after_leaving(name, waiting, s)

    def forget_late(self, name, waiting, s):
        s["state", name] = "leaves"
        return self.after_leaving(name, waiting, s)

    def after_leaving(self, name, waiting, s):
        s["state", name] = "over"
        passed = any(mark[1] == name for mark in s["marks"])
        if passed and not self.has("mark_wakes_the_next") and not waiting:
            s["marks"] = tuple(mark for mark in s["marks"] if mark[1] != name)
            return "over", None
        if passed and self.has("mark_goes_with_call") or waiting and self.has("leave_looks_for_waiters"):
            return "lock", "unmark"
        return "over", None

    def unmark(self, name, arg, s):
        if self.has("mark_goes_with_call"):
            s["marks"] = tuple(mark for mark in s["marks"] if mark[1] != name)
        return "grant", "over"

    # Under the lock: lets in who may. Started calls are started after the lock.
    def grant(self, name, then, s):
        inside, waiting = s["word"]
        lanes = s["first"] + s["others"] if self.has("returning_call_is_first") else s["others"] + s["first"]
        if lanes and (inside < self.places or not self.has("grant_looks_at_limit")):
            return "grant_swap", (lanes[0], False, s["word"], then)
        if self.has("mark_wakes_the_next"):
            for one in s["first"]:
                if s["state", one] == "new" and self.may_pass(one, s):
                    return "grant_swap", (one, True, s["word"], then)
        return "unlock", then

    def grant_swap(self, name, arg, s):
        one, passes, word, then = arg
        if s["word"] != word:
            return "grant", then
        s["word"] = word[0] + 1, word[1] - 1
        if passes:
            parent = self.calls[one]["parent"]
            s["marks"] += ((parent, one),)
            return "grant_again", (one, then)
        self.let_in(one, s)
        return "grant", then

    def grant_again(self, name, arg, s):                        # as look_again
        one, then = arg
        if s["state", self.calls[one]["parent"]] == "runs" or not self.has("name_is_looked_for_again"):
            self.let_in(one, s)
        else:
            s["marks"] = tuple(mark for mark in s["marks"] if mark[1] != one)
            s["word"] = s["word"][0] - 1, s["word"][1] + 1
        return "grant", then

    @staticmethod
    def let_in(one, s):
        if one in s["others"] and any(s["state", other] == "outside" for other in s["first"]):
            s["wrong"] = "a call overtook one that returns"
        s["first"] = tuple(other for other in s["first"] if other != one)
        s["others"] = tuple(other for other in s["others"] if other != one)
        s["granted"] += (one,)

    # A method that waits for a callback lets others in.
    def let_go(self, name, arg, s):
        s["state", name] = "outside"
        inside, waiting = s["word"]
        s["word"] = inside - 1, waiting
        if waiting and self.has("let_go_lets_others_in"):
            return "lock", "grant_outside"
        return "outside", None

    def grant_outside(self, name, arg, s):
        return "grant", "outside"

    def outside(self, name, arg, s):
        return ("lock", "take_again") if self.are_over(self.calls[name]["awaits"], s) else None

    def take_again(self, name, arg, s):
        how = "in" if s["word"][0] < self.places and not s["first"] else "wait"
        return "swap_again", (how, s["word"])

    def swap_again(self, name, arg, s):
        how, word = arg
        if s["word"] != word:
            return "take_again", None
        if how == "in":
            s["word"] = word[0] + 1, word[1]
            return "unlock", "go_on"
        s["word"] = word[0], word[1] + 1
        s["first"] += (name,)
        return "unlock", "returns"

    def returns(self, name, arg, s):
        if name not in s["granted"]:
            return None
        s["granted"] = tuple(one for one in s["granted"] if one != name)
        return "go_on", None

    def go_on(self, name, arg, s):
        s["state", name] = "runs"
        return "forget", None

    def over(self, name, arg, s):
        return None

    # Somebody ends a call.
    def end(self, name, arg, s):
        s["ended", name] = True
        return "lock", "end_waiting"

    def end_waiting(self, name, arg, s):
        self.remove(name, s)
        return "unlock", "done"

    def done(self, name, arg, s):
        return None

    def remove(self, name, s):
        if name in s["others"]:
            s["others"] = tuple(one for one in s["others"] if one != name)
            if self.has("end_counts_off"):
                s["word"] = s["word"][0], s["word"][1] - 1
            s["state", name] = "over"

    def wrong(self, s, pcs, is_final):
        if s["wrong"]:
            return s["wrong"]
        running = sum(s["state", name] == "runs" for name in self.calls)
        if running > self.most:
            return f"{running} calls run, of {self.most}"
        if not is_final:
            return None
        stays = sum(one["stays"] for one in self.calls.values())
        if s["word"] != (stays, 0) or s["first"] or s["others"] or s["marks"] or s["lock"]:
            return "something is left"
        return next(
            (f"call {name} neither runs nor ends" for name, one in self.calls.items()
             if s["state", name] != "over" and not one["stays"]),
            None)


if __name__ == "__main__":
    report(Model, CASES, RULES)
