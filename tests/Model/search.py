"""The search through the states of the model of reader_role.py."""
from collections import deque
from random import Random


class Search:
    """Uses the attributes init, pcs, names and limit of the model, and its methods step and wrong."""

    def run(self):
        """Visits all states breadth first, up to the limit."""
        keys = tuple(self.init)
        first = (tuple(self.init.values()), self.pcs)
        seen, queue = {first}, deque([first])
        while queue:
            values, pcs = queue.popleft()
            state = dict(zip(keys, values))
            moves = self.moves(state, pcs)
            problem = self.wrong(state, pcs, is_final=not moves)
            if problem:
                return f"LOST after {len(seen):,} states: {problem}"
            for s, next_pcs in moves:
                found = (tuple(s.values()), next_pcs)           # a copy keeps the order of the keys
                known = len(seen)
                seen.add(found)
                if len(seen) > known:
                    queue.append(found)
                    if known >= self.limit:
                        return f"nothing lost in {self.limit:,} states (not all seen)"
        return f"ok, {len(seen):,} states"

    def walk(self, walks, seed=1):
        """Makes this many random walks to a final state. Finds errors deep down; without an error it proves nothing."""
        random = Random(seed)
        for number in range(walks):
            s, pcs = dict(self.init), self.pcs
            while moves := self.moves(s, pcs):
                s, pcs = random.choice(moves)
            problem = self.wrong(s, pcs, is_final=True)
            if problem:
                return f"LOST in walk {number:,}: {problem}"
        return f"nothing lost in {walks:,} walks"

    def moves(self, state, pcs):
        moves = []
        s = dict(state)
        for i, name in enumerate(self.names):
            nxt = self.step(name, pcs[i][0], pcs[i][1], s)
            if nxt is not None:
                moves.append((s, pcs[:i] + (nxt,) + pcs[i + 1:]))
                s = dict(state)                                 # an actor that cannot move has changed nothing
        return moves
