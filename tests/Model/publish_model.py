"""Publishing in the model of reader_role.py: the gate, deferred publishes, and the wake-up of a peer that sleeps.
Models FramePublisher, FrameWriter.PublishIfMuch and InlineRunner.PublishIfDueBefore.

If the case has a sleepy peer, the peer reads the frames of this side in order and sleeps when it has read all. A
publish then has three steps: it stores the tail, it reads the peer's parked word, and after leaving the gate it wakes
the peer. Without a sleepy peer a publish is one step, which keeps the other cases small.

A case may also have open arrivals: records that the peer sends at any moment and without being asked. They stand for
an arrival without end, because a frame's age is checked in every state.
"""

# These stand for 16 frames and for 20 µs of user code.
MOST_DEFERRED, MOST_TIME = 2, 2

# The age of a frame is the number of records that the reader receives after it. The time is compared when the next run
# of user code is due, and that run's record has been received.
MOST_AGE = MOST_TIME + 1

# The typical time of a run of user code by its letter; 0 is too short for the count of 20 µs. A record without user
# code counts too.
TIMES = {"e": 1, "-": 1}


class Publishing:
    """Uses the attributes off, sleepy, pushes and code of the model, and its helpers."""

    # ---- flush: publishes the deferred records of user code; arg is the label and argument to continue with
    def flush(self, who, label, arg, s):
        if not s["held"]:
            return arg
        if s["gate"]:
            return None
        return self.publish(s, arg)

    def publish(self, s, go_on):
        """The caller has found the gate free, or holds it."""
        if self.sleepy:
            s["gate"] = True
            return "g_tail", go_on
        s["held"], s["visible"] = False, len(s["reqs"])
        return go_on

    # ---- the gate's holder publishes; arg is the step to continue with
    def publisher(self, who, label, arg, s):
        if label == "g_tail":
            s["held"], s["deferred"] = False, 0
            if "parked_first" in self.off:
                self.owe(s, len(s["reqs"]))
            else:
                s["visible"] = len(s["reqs"])
            return "g_parked", arg
        if label == "g_parked":
            s["visible"] = len(s["reqs"])
            if "parked_first" not in self.off:
                self.owe(s, s["visible"])
            return self.leave_gate(s, arg)
        if label == "g_wake":                                   # a system call, outside the gate
            s["peer_sleeps"] = False
            return arg
        return self.defer(who, label, arg, s)

    def owe(self, s, tail):
        """RingWriter.Publish: the peer must be woken if it is armed before the tail and was not woken for that yet."""
        parked = s["peer_parked"]
        if "no_parked_check" not in self.off and parked and tail > parked - 1 and parked != s["peer_woken"]:
            s["peer_woken"], s["owed"] = parked, True

    def leave_gate(self, s, go_on):
        owed, s["gate"], s["owed"] = s["owed"], False, False
        return ("g_wake", go_on) if owed else go_on

    # ---- a frame of user code in a case with a sleepy peer; the gate is held
    def defer(self, who, label, arg, s):
        if label == "g_early":                                  # many bytes are published while the frame is written
            s["visible"] = len(s["reqs"])
            return "g_early_parked", arg
        if label == "g_early_parked":
            self.owe(s, s["visible"])
            return "g_defer", arg
        if label == "g_defer":
            if not self.is_holder(who, s) or s["head"] == s["tail"]:
                return "g_tail", ("u_sent", arg)
            s["deferred"] += "no_flush_by_count" not in self.off
            return ("g_tail", ("u_sent", arg)) if s["deferred"] >= MOST_DEFERRED else ("g_hold", arg)
        if label == "g_hold":
            s["held"] = True
            return "g_held", arg
        if label == "g_held":
            if not self.is_holder(who, s) and "no_held_check" not in self.off:
                return "g_tail", ("u_sent", arg)
            if "no_take_wake" in self.off:
                s["gate"] = False
                return "u_sent", arg
            return self.leave_gate(s, ("u_sent", arg))

    def send_frame(self, who, s, arg):
        """User code writes a frame; arg is that of the user code. The gate is free."""
        kind = self.code[arg[1]]
        s["reqs"] = s["reqs"] + ("O" if kind in "om" else "N",)
        s["gate"] = True
        return ("g_early" if kind == "m" else "g_defer"), (arg, len(s["reqs"]) - 1)

    def must_flush(self, s, kind):
        """Returns whether deferred frames must be published before user code of this kind, or after a bare record."""
        time = 0 if kind == "-" and "no_flush_by_records" in self.off else TIMES.get(kind, 0)
        s["time"] = s["time"] + time if s["held"] else time
        if s["time"] <= MOST_TIME or "no_flush_by_time" in self.off:
            s["time"] = min(s["time"], MOST_TIME)
            return False
        s["time"] = time
        return True

    def count_age(self, s):
        """The reader has received a record. A frame whose publisher holds the gate or is about to wake has no age."""
        if not self.sleepy:
            return
        is_waiting = not s["gate"] and (s["visible"] < len(s["reqs"]) or s["owed"])
        s["age"] = s["age"] + 1 if is_waiting else 0
        s["aged"] |= s["age"] > MOST_AGE
        s["age"] = min(s["age"], MOST_AGE + 1)

    # ---- the peer as a reader: reads, answers, arms, checks again and sleeps
    def sleepy_peer(self, who, label, arg, s):
        if label == "p0":
            if s["peer_head"] == s["visible"]:
                return "p_arm", None
            call = s["peer_head"]
            s["peer_head"] += 1
            if s["reqs"][call] == "O":                          # one way: the end of a call that the peer has started
                s["done"] = s["done"] | {call}
                return "p0", None
            s["answers"] = s["answers"] + (call,)
            s["tail"] += 1
            return "p1", None
        if label == "p_arm":
            s["peer_parked"] = s["peer_head"] + 1
            return "p_check", None
        if label == "p_check":                                  # the kernel compares again, in the step that sleeps
            if s["visible"] > s["peer_head"] and "no_peer_check" not in self.off:
                s["peer_parked"] = 0
                return "p0", None
            s["peer_sleeps"] = True
            return "p_asleep", None
        if label == "p_asleep":
            if s["peer_sleeps"]:
                return None
            s["peer_parked"] = 0
            return "p0", None

    # ---- open arrivals: another thread of the peer sends records that nobody here has asked for
    def open_arrivals(self, who, label, arg, s):
        if label == "o0":
            if s["pushed"] == len(self.pushes):
                return None
            s["pushed"] += 1
            s["answers"] = s["answers"] + (-s["pushed"],)
            s["tail"] += 1
            return "o1", None
        parked = s["parked"]
        if parked and s["tail"] > parked - 1 and parked != s["woken"]:
            s["woken"] = parked
            return "o_wake", None
        if label == "o_wake":
            self.wake_sleepers(s)
        return "o0", None

    def wrong_publishing(self, s):
        """Returns the error in a state, or None."""
        if not self.sleepy:
            return None
        if s["aged"]:
            return "a frame is neither visible nor its peer woken for too long"
        return "a frame is visible, and nobody is about to wake its peer" if s["owed"] and not s["gate"] else None
