"""Publishing in the model of reader_role.py: the gate, deferred publishes, frames that wait for space, and the peer.
Models SendGate, FrameSender, FrameWriter.PublishIfLarge and ConnectionReader.FlushDeferredBefore.

The peer reads the frames of this side in order. If the case has a sleepy peer, it sleeps when it has read all. A
publish then has three steps: it stores the tail, it reads the peer's parked word, and after leaving the gate it wakes
the peer. Without a sleepy peer a publish is one step, which keeps the other cases small.

If the case has little room, so many frames fill the ring, and the peer rings once for each time that this side parks
for space: at the first space, or when the ring is empty.

A case may also have arrivals: records that the peer sends at any moment and without being asked. They stand for an
arrival without end, because a frame's age is checked in every state.
"""
from loop_model import FUTEX, SOCKET

# These stand for 16 frames and for 20 µs of user code.
MOST_DEFERRED, MOST_TIME = 2, 1

# The age of a frame is the number of records that the reader receives after it. The time is compared when the next run
# of user code is due, and that run's record has been received.
MOST_AGE = MOST_TIME + 1

# The typical time of a run of user code by its letter; 0 is too short for the count of 20 µs. A record without user
# code counts too.
TIMES = {"e": 1, "-": 1}


class Publishing:
    """Uses the attributes off, sleepy, room, links and ends of the model, and its helpers."""

    # ---- flush: publishes the deferred records of user code; arg is the connection and the step to continue with
    def f_held(self, who, arg, s):
        c, go = arg
        if not s["held", c]:
            return go
        return None if s["gate", c] else self.publish(s, c, go)

    def publish(self, s, c, go):
        """The caller has found the gate free, or holds it."""
        if self.sleepy:
            s["gate", c] = True
            return "g_tail", (c, go)
        s["held", c], s["visible", c], s["gate", c] = False, len(s["out", c]), False
        return go

    def send(self, s, c, owner, go):
        """The caller has found the gate free."""
        s["out", c] += (owner,)
        return self.send_ready(s, c, go) if self.room else self.publish(s, c, go)

    # ---- the gate's holder publishes
    def g_tail(self, who, arg, s):
        c = arg[0]
        s["held", c], s["deferred", c] = False, 0
        if "parked_first" in self.off:
            self.owe(s, c, len(s["out", c]))
        else:
            s["visible", c] = len(s["out", c])
        return "g_parked", arg

    def g_parked(self, who, arg, s):
        c, go = arg
        s["visible", c] = len(s["out", c])
        if "parked_first" not in self.off:
            self.owe(s, c, s["visible", c])
        return self.leave_gate(s, c, go)

    def g_wake(self, who, arg, s):                              # a system call, outside the gate
        s["peer_sleeps", arg[0]] = False
        return arg[1]

    def owe(self, s, c, tail):
        """RingWriter.Publish: the peer must be woken if it is armed before the tail and was not woken for that yet."""
        parked = s["peer_parked", c]
        if "no_parked_check" not in self.off and parked and tail > parked - 1 and parked != s["peer_woken", c]:
            s["peer_woken", c], s["owed", c] = parked, True

    def leave_gate(self, s, c, go):
        owed, s["gate", c], s["owed", c] = s["owed", c], False, False
        return ("g_wake", (c, go)) if owed else go

    # ---- a frame of user code; the gate is held
    def g_early(self, who, arg, s):                             # many bytes are published while the frame is written
        s["visible", arg[0]] = len(s["out", arg[0]])
        return "g_early_parked", arg

    def g_early_parked(self, who, arg, s):
        self.owe(s, arg[0], s["visible", arg[0]])
        return "g_defer", arg

    def g_defer(self, who, arg, s):
        c, go = arg
        if not self.has_loop(who, s) or not self.has_data(s, c):
            return self.publish(s, c, go)
        s["deferred", c] += self.sleepy and "no_flush_by_count" not in self.off
        if s["deferred", c] >= MOST_DEFERRED:
            return self.publish(s, c, go)
        return "g_hold", arg

    def g_hold(self, who, arg, s):
        s["held", arg[0]] = True
        return "g_held", arg

    def g_held(self, who, arg, s):
        c, go = arg
        if not self.has_loop(who, s) and "held_after_check" not in self.off:
            return self.publish(s, c, go)
        if "no_take_wake" in self.off:
            s["gate", c] = False
            return go
        return self.leave_gate(s, c, go)

    def must_flush(self, s, c, kind):
        """Returns whether deferred frames must be published before user code of this kind, or after a bare record."""
        if not self.sleepy:
            return False
        time = 0 if kind == "-" and "no_flush_by_records" in self.off else TIMES.get(kind, 0)
        s["time", c] = s["time", c] + time if s["held", c] else time
        if s["time", c] <= MOST_TIME or "no_flush_by_time" in self.off:
            s["time", c] = min(s["time", c], MOST_TIME)
            return False
        s["time", c] = time
        return True

    def count_age(self, s, c):
        """The reader has received a record. A frame whose publisher holds the gate has no age."""
        if not self.sleepy:
            return
        waiting = len(s["out", c]) - s["visible", c]
        s["age", c] = s["age", c] + 1 if waiting and not s["gate", c] else 0
        if s["age", c] > MOST_AGE or waiting > MOST_DEFERRED - 1 and not s["gate", c]:
            s["error"] = "a frame waits for too long"

    # ---- frames that wait for space: sent by any thread, then by the loop
    def write(self, s, c):
        """Writes what fits, under the gate. Returns whether all did."""
        s["seen_head", c] = s["peer_head", c]
        s["visible", c] = min(len(s["out", c]), s["seen_head", c] + self.room)
        return s["visible", c] == len(s["out", c])

    def has_space(self, s, c):
        """The hint by which the loop runs a connection: the ring was read empty since this side parked."""
        return s["waiting", c] and s["seen_head", c] != s["peer_head", c] == s["visible", c]

    def send_ready(self, s, c, go):
        return go if self.write(s, c) else ("v_leave", (c, go))

    def v_leave(self, who, arg, s):
        s["waiting", arg[0]] = True
        return arg[1] if "no_request_for_space" in self.off else ("q_state", arg)

    def v_waiting(self, who, arg, s):                           # SendQueued, on the loop
        c, go = arg
        if not s["waiting", c]:
            return go
        s["waiting", c] = False
        return "v_unpark", arg

    def v_unpark(self, who, arg, s):
        c, go = arg
        if s["gate", c]:
            return None
        s["parked_for_space", c] = 0
        return "v_write", arg

    def v_write(self, who, arg, s):
        c, go = arg
        if s["gate", c]:
            return None
        if self.write(s, c):
            return go
        s["gate", c] = True
        return "v_park", arg

    def v_park(self, who, arg, s):
        c, go = arg
        s["parked_for_space", c] = s["seen_head", c] + 1
        return "v_check", arg

    def v_check(self, who, arg, s):
        c, go = arg
        s["gate", c] = False
        if s["peer_head", c] != s["seen_head", c]:
            s["parked_for_space", c] = 0
            return "v_write", arg
        return "v_parked", arg

    def v_parked(self, who, arg, s):
        s["waiting", arg[0]] = True
        return arg[1]

    # ---- the peer: reads a frame, releases its space, answers; rings, or wakes a thread that sleeps on the ring
    def p_read(self, who, arg, s):
        c = who[1:]
        if s["ended", c]:
            return None
        if self.any_order:
            calls = [i for i in range(s["visible", c]) if i not in s["in", c] and s["out", c][i] != "O"]
            return self.p_answer(who, calls[0], s) if len(calls) == 1 else [("p_answer", call) for call in calls]
        if s["peer_head", c] == s["visible", c]:
            return ("p_arm", None) if self.sleepy else None
        call = s["peer_head", c]
        s["peer_head", c] += 1
        return ("p_space", call) if self.room else self.p_answer(who, call, s)

    def p_space(self, who, call, s):
        c = who[1:]
        parked = s["parked_for_space", c]
        has_much = s["peer_head", c] == s["visible", c] or self.rings_early
        if not parked or parked == s["woken_for_space", c] or s["peer_head", c] <= parked - 1 or not has_much:
            return self.p_answer(who, call, s)
        s["woken_for_space", c] = parked
        return "h_ring", (SOCKET, ("p_answer", call))

    def p_answer(self, who, call, s):
        c = who[1:]
        if s["out", c][call] == "O" or s["ended", c]:           # one way: the end of a call that the peer has started
            return "p_read", None
        s["in", c] += (call,)
        return "h_parked", ("p_read", None)

    def h_parked(self, who, go, s):
        c = who[1:]
        parked = s["parked", c]
        if s["ended", c]:
            return None
        if not parked or parked == s["woken", c] or len(s["in", c]) <= parked[0]:
            return go
        s["woken", c] = parked
        return "h_ring", (parked[1], go)

    def h_ring(self, who, arg, s):
        c = who[1:]
        if s["ended", c]:
            return None
        if arg[0] == FUTEX:
            self.wake_sleepers(s, c)
        else:
            s["bytes", c] = s["edge", c] = True
        return arg[1]

    def p_arm(self, who, arg, s):
        s["peer_parked", who[1:]] = s["peer_head", who[1:]] + 1
        return "p_check", None

    def p_check(self, who, arg, s):                             # the kernel compares again, in the step that sleeps
        c = who[1:]
        if s["visible", c] > s["peer_head", c] and "no_peer_check" not in self.off:
            s["peer_parked", c] = 0
            return "p_read", None
        s["peer_sleeps", c] = True
        return "p_asleep", None

    def p_asleep(self, who, arg, s):
        if s["peer_sleeps", who[1:]]:
            return None
        s["peer_parked", who[1:]] = 0
        return "p_read", None

    # ---- another thread of the peer sends records that nobody here has asked for
    def o_push(self, who, count, s):
        c = who[1:]
        if count == len(self.links[c].arrivals) or s["ended", c]:
            return None
        s["in", c] += (-count - 1,)
        return "h_parked", ("o_push", count + 1)

    # ---- the end of a link: the socket tells it, or the process watch, or this side closes it
    def x_end(self, who, arg, s):
        c = who[1:]
        end = self.ends[c]
        if end == "closed":
            return "n_close", (c, ("x_over", None))
        s["ended", c] = True
        if end == "process ends":                               # a child of the peer keeps its socket open
            s["gone", c] = True
            return "n_event", (c, ("x_over", None))
        s["edge", c] = True
        return "x_over", None

    def x_over(self, who, arg, s):
        return None
