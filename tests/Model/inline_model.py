"""The reading threads of reader_role.py, and the user code that they run inline. Models StandbyReader, InlineRunner and
InlineThread."""

FREE, RETIRED = ("free", ""), ("retired", "")
AWAKE, ARMED, ON_LATCH = 0, 1, 2
MOST_STUCK = 2


class InlineThreads:
    """Uses the attributes off, readers, code and inline of the model, and its helpers."""

    # ---- the standby reader, or the spare that replaced it
    def standby(self, who, label, arg, s):
        if label == "s_take":
            if s["role"] == FREE:
                s["role"] = ("reading", who)
                return "s_taken", None
            return (self.idle_label(), None) if s["role"] == RETIRED else ("s_announce", None)
        if label == "s_taken":
            if s["closed"]:
                s["role"] = RETIRED
                return "s_fail", None
            return "s_disarm", None
        if label == "s_fail":
            s["failed"] = s["failed"] | {i for i in range(len(s["reqs"])) if i not in s["done"]}
            s["sig"] = s["sig"] | {r for i, r in enumerate(s["reqs"]) if self.is_blocking(r) and i in s["failed"]}
            s["queued"] = s["queued"] | {self.number(s, i) for i in s["failed"] if self.has_code(s, i)}
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
            return ("s_read", None) if "no_flush" in self.off else ("f0", ("s_read", None))
        if label == "s_read":
            if s["closed"]:
                s["role"] = FREE
                return "s_take", None
            if s["blocked"] > 0:
                return "s_hand_over", None
            return "s_receive", (s["attention"], s["gone"])
        if label == "s_receive":
            return self.receive(who, arg, s)
        return self.sleep_armed(who, label, arg, s)

    def receive(self, who, arg, s):
        s["torn"] |= s["role"] != ("reading", who)
        if s["head"] < s["tail"]:
            call = self.deliver(s, who)
            if not self.has_code(s, call):
                after = "s_after", arg
                return ("f0", after) if self.sleepy and self.must_flush(s, "-") else after
            if not self.inline or s["stuck"] >= MOST_STUCK:
                s["queued"] = s["queued"] | {self.number(s, call)}
                return "s_after", arg
            enter = "s_enter", (self.number(s, call), arg)
            return ("f0", enter) if self.sleepy and self.must_flush(s, self.code[enter[1][0]]) else enter
        if arg[1]:
            self.close(s)
            return "s_read", None
        return "s_arm", arg[0]

    def sleep_armed(self, who, label, arg, s):
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
                self.signal_one(s)
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
            return "l0", ("s_latched", None)
        return self.around_user_code(who, label, arg, s)

    # ---- user code on a reading thread: enter, watch, return; the role may be taken over in between
    def around_user_code(self, who, label, arg, s):
        if label == "s_enter":
            s["entries"] += 1
            s["role"] = ("code", who, s["entries"])
            if self.clocked and self.code[arg[0]] == "q":
                s["times"] = s["times"] + (who,)
            return "s_watch", (arg[0], arg[1], s["entries"])
        if label == "s_watch":
            self.ensure_watched(s)
            return "u0", ("s_return", arg[0], (arg[1], arg[2]))
        if label == "s_return":
            # A nested call enters again, so only the thread is compared, not the number of the entry.
            s["robbed"] |= who in s["times"] and not self.is_holder(who, s)
            s["times"] = tuple(t for t in s["times"] if t != who)
            if self.is_holder(who, s):
                s["role"] = ("reading", who)
                return "s_after", arg[0]
            if "keep_lost" in self.off:
                return "s_after", arg[0]
            s["stuck"] -= 1
            return "f0", (self.idle_label(), None)
        if label == "s_after":
            if s["head"] < s["tail"] and not s["blocked"] and not s["closed"]:
                return "s_receive", arg
            return ("s_read", None) if "no_flush" in self.off else ("f0", ("s_read", None))
        return None                                             # s_end

    def idle_label(self):
        return "t_idle" if self.births is None else "t_wait"

    # ---- the thread pool: runs queued user code
    def pool(self, who, label, arg, s):
        if not s["queued"]:
            return None
        number = min(s["queued"])
        s["queued"] = s["queued"] - {number}
        return "u0", ("q0", number, None)

    # ---- user code, the continuation of a call: acts by its letter, then continues with the label of arg
    def user_code(self, who, label, arg, s):
        if label == "u0":
            kind = self.code[arg[1]]
            s["ran"] = s["ran"] | {arg[1]}
            if kind in "swom":
                return "u_send", arg
            if kind == "d":
                return "u_depend", arg
            return ("b_enter", (arg, None)) if kind == "n" else ("u_end", arg)
        if label == "u_send":                                   # under the sender's gate
            if s["gate"]:
                return None
            if s["closed"]:
                return "u_end", arg
            if self.sleepy:
                return self.send_frame(who, s, arg)
            s["reqs"] = s["reqs"] + ("N",)
            mine = len(s["reqs"]) - 1
            if self.is_holder(who, s) and s["head"] < s["tail"]:
                s["gate"] = True
                return "u_hold", (arg, mine)
            return self.publish(s, ("l0", ("u_sent", (arg, mine))))
        if label == "u_hold":
            s["held"] = True
            return "u_held", arg
        if label == "u_held":
            s["gate"] = False
            go_on = "l0", ("u_sent", arg)
            if not self.is_holder(who, s) and "no_held_check" not in self.off:
                return self.publish(s, go_on)
            return go_on
        if label == "u_sent":
            return ("u_wait", arg) if self.code[arg[0][1]] == "w" else ("u_end", arg[0])
        if label == "u_depend":                                 # only the return of all blocking callers ends it
            return None if self.is_any_blocked(s) else ("u_end", arg)
        if label == "u_wait":                                   # sync over async: only the answer ends it
            if arg[1] not in s["done"] and arg[1] not in s["failed"]:
                return None
            return "u_end", arg[0]
        return arg[0], arg[2]                                   # u_end

    @staticmethod
    def is_holder(who, s):
        return s["role"][0] == "code" and s["role"][1] == who
