"""The search through the states of a model, and the report on its cases and rules."""
import gc
import sys
from collections import deque


def report(model, cases, rules):
    """Searches all cases, and for each rule its case without that rule, which must then lose something. Ends the
    program."""
    gc.disable()                                                # there is no garbage but the states
    failed = False
    for name, one in cases.items():
        result = model(**one).run()
        failed |= not result.startswith("ok")
        print(f"{name:38} {result}", flush=True)
    print()
    for rule, name in rules.items():
        result = model(rules_off=(rule,), **cases[name]).run()
        failed |= not result.startswith("LOST") or result.endswith("not all")
        print(f"without {rule:23} {name + ':':38} {result.splitlines()[0]}", flush=True)
    sys.exit(1 if failed else 0)


class Search:
    """Uses the attributes init, pcs, names and limit of the model, and its methods step and wrong."""

    def run(self):
        """Visits all states breadth first, up to the limit. A final state must be in reach of each: a loop that turns
        for ever without a change is an error too."""
        seen = {(tuple(self.init.values()), self.pcs): 0}       # each state with its number
        queue = deque([(self.init, self.pcs)])
        before, finals = [[]], []                               # the states before each; the first found it
        for number in range(self.limit):
            if not queue:
                break
            state, pcs = queue.popleft()
            moves = self.moves(state, pcs)
            if problem := self.wrong(state, pcs, is_final=not moves):
                return f"LOST after {len(seen):,} states: {problem}{self.path(seen, before, number)}"
            if not moves:
                finals.append(number)
            for s, next_pcs in moves:
                known = seen.setdefault((tuple(s.values()), next_pcs), len(seen))
                if known == len(before):
                    queue.append((s, next_pcs))
                    before.append([])
                before[known].append(number)
        if queue:
            return f"LOST: {len(seen):,} states, and these are not all"
        endless = self.endless(before, finals)
        if endless is not None:
            return f"LOST after {len(seen):,} states: something has no end{self.path(seen, before, endless)}"
        return f"ok, {len(seen):,} states"

    @staticmethod
    def endless(before, finals):
        """Returns the first state from which no final state is in reach, or None."""
        reaches, queue = set(finals), list(finals)
        while queue:
            for number in before[queue.pop()]:
                if number not in reaches:
                    reaches.add(number)
                    queue.append(number)
        return next((number for number in range(len(before)) if number not in reaches), None)

    def path(self, seen, before, number):
        """Returns the changed values of a state, and the steps to it."""
        states = list(seen)
        values = dict(zip(self.init, states[number][0]))
        steps = []
        while number:
            later, number = states[number][1], before[number][0]
            steps += [f"{n} {a[0]}" for n, a, b in zip(self.names, states[number][1], later) if a != b]
        changed = {key: value for key, value in values.items() if value != self.init[key]}
        return f"\n    {', '.join(reversed(steps))}\n    {changed}"

    def moves(self, state, pcs):
        moves, self.now = [], pcs
        s = state.copy()
        for i, (name, (label, arg)) in enumerate(zip(self.names, pcs)):
            found = self.step(name, label, arg, s)
            if found:
                for nxt in found if isinstance(found, list) else (found,):
                    moves.append((s, pcs[:i] + (nxt,) + pcs[i + 1:]))
                s = state.copy()                                # an actor that cannot move has changed nothing
        return moves
