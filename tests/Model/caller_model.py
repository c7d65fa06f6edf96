"""Callers in the model of reader_role.py, and how a thread that leaves finds a reader. Models ConnectionReader:
its callers, and EnsureReader with its check on the watchdog's thread.

The argument of a blocking caller's steps is (connection, its call, whether it is counted as blocked, the step to
continue with). The thread may be one of the user, of the pool, or that of the loop in user code."""
from loop_model import FREE, FUTEX, SOCKET


class Callers:
    """Uses the attributes off, loops, links, watches, tires and calls_each of the model, and its helpers."""

    def b_enter(self, who, arg, s):
        c = arg[0]
        if s["closed", c] or s["role", c] != FREE:
            return "b_count", arg
        s["role", c] = who
        return "b_taken", arg

    def b_count(self, who, arg, s):
        c, call, _, go = arg
        s["blocked", c] += 1
        return "b_send", (c, call, True, go)

    def b_taken(self, who, arg, s):
        self.disarm(s, arg[0])
        return "f_held", (arg[0], (("b_send" if arg[1] is None else "b_read"), arg))

    def b_send(self, who, arg, s):
        c, call, is_counted, go = arg
        if s["gate", c]:
            return None
        has_role = s["role", c] == who
        if s["shut", c]:
            return ("b_release", (arg, "b_leave")) if has_role else ("b_leave", arg)
        arg = c, len(s["out", c]), is_counted, go
        return self.send(s, c, who, (("b_read" if has_role else "b_wait"), arg))

    def b_wait(self, who, arg, s):
        c = arg[0]
        if self.is_over(s, c, arg[1]):
            return "b_leave", arg
        if s["closed", c] or s["role", c] != FREE:
            return "b_list", arg
        s["role", c] = who
        return "b_taken", arg

    # ---- with the role
    def b_read(self, who, arg, s):
        c = arg[0]
        if self.is_over(s, c, arg[1]) or s["closed", c]:
            return "b_release", (arg, "b_wait")
        return "b_receive", (arg, s["attention", c], s["gone", c])

    def b_receive(self, who, arg, s):
        lease, attention, is_gone = arg
        c = lease[0]
        if self.has_data(s, c):
            record = self.deliver(s, c, who)
            if self.is_due(s, c, record):
                s["queued"] = s["queued"] | {(c, self.number(s, c, record))}
            return "b_read", lease
        return ("n_close", (c, ("b_read", lease))) if is_gone else ("b_arm", arg)

    def b_arm(self, who, arg, s):
        self.arm(s, arg[0][0], FUTEX)
        return self.leave_loop(who, s, ("b_sleep", arg))

    def awake(self, s, lease):
        self.disarm(s, lease[0])
        return "b_read", lease

    def leave_loop(self, who, s, go):
        """LoopThread.LeaveLoopBeforeSleep"""
        is_in_loop = who in self.loops and s["run", who] % 2 and who not in s["lost"]
        return ("t_want", (who, s["run", who], go)) if is_in_loop else go

    def b_sleep(self, who, arg, s):                             # the kernel compares, in the step that sleeps
        lease, attention, _ = arg
        c = lease[0]
        is_over = self.is_over(s, c, lease[1])
        if is_over or self.has_data(s, c) or s["attention", c] != attention and "no_attention" not in self.off:
            return self.awake(s, lease)
        s["asleep", c] = s["asleep", c] | {who}
        return "b_asleep", lease

    def b_asleep(self, who, arg, s):
        if who not in s["asleep", arg[0]]:
            return self.awake(s, arg)
        return ("b_tired", arg) if who[0] in self.tires else None

    def b_tired(self, who, arg, s):
        s["asleep", arg[0]] = s["asleep", arg[0]] - {who}
        self.disarm(s, arg[0])
        return "b_release", (arg, "b_go")

    def b_release(self, who, arg, s):
        s["role", arg[0][0]] = FREE
        return "b_released", arg

    def b_released(self, who, arg, s):
        lease, then = arg
        is_asking = s["closed", lease[0]] and "close_told_once" not in self.off
        return ("q_state", (lease[0], (then, lease))) if is_asking else (then, lease)

    # ---- without the role
    def b_list(self, who, arg, s):
        c = arg[0]
        s["latched", c] += (who,)
        return ("b_latched" if "no_second_check" in self.off else "b_recheck"), arg

    def b_recheck(self, who, arg, s):
        c, call, *_ = arg
        must_wait = not self.is_over(s, c, call) and (s["role", c] != FREE or s["closed", c])
        return self.leave_loop(who, s, ("b_latched", arg)) if must_wait else ("b_unlist", arg)

    def b_latched(self, who, arg, s):
        if who not in s["sig"]:
            return ("b_tired_latch", arg) if who[0] in self.tires else None
        s["sig"] = s["sig"] - {who}
        return "b_unlist", arg

    def b_unlist(self, who, arg, s):
        s["latched", arg[0]] = tuple(other for other in s["latched", arg[0]] if other != who)
        return "b_wait", arg

    # ---- after a long wait: ConnectionReader.WaitWithoutReading
    def b_tired_latch(self, who, arg, s):
        self.b_unlist(who, arg, s)
        return "b_go", arg

    def b_go(self, who, arg, s):
        c, call, is_counted, go = arg
        is_still_counted = is_counted and "tires_counted" in self.off
        s["blocked", c] -= is_counted and not is_still_counted
        far = "b_far", (c, call, is_still_counted, go)
        return far if "tires_unseen" in self.off else ("l_find", (c, far))

    def b_far(self, who, arg, s):
        return "b_leave" if self.is_over(s, arg[0], arg[1]) else "b_far_latched", arg

    def b_far_latched(self, who, arg, s):
        if who not in s["sig"]:
            return None
        s["sig"] = s["sig"] - {who}
        return "b_far", arg

    def b_leave(self, who, arg, s):
        c, _, is_counted, go = arg
        s["blocked", c] -= is_counted
        return go if "no_look_on_leave" in self.off else ("l_find", (c, go))

    def b_next(self, who, rounds, s):
        if rounds == self.calls_each:
            s["sig"] = s["sig"] - {who}
            return "b_end", None
        return "b_enter", (who[1:], None, False, ("b_next", rounds + 1))

    def b_end(self, who, arg, s):
        return None

    # ---- EnsureReader: after a release of the role, and after the start of an awaited call
    def l_find(self, who, arg, s):
        c, go = arg
        if s["blocked", c]:
            self.signal_if_free(s, c)
            return go
        return "l_expects", arg

    def l_expects(self, who, arg, s):
        c, go = arg
        if self.is_expecting(s, c):
            return "l_role", arg
        return [("l_watch", arg), ("l_take", arg)] if self.watches else ("l_take", arg)

    def l_watch(self, who, arg, s):
        c, go = arg
        if "no_watchdog" not in self.off and not s["watched", c]:
            s["watched", c] = True
            s["checks", c] += 1
        return go

    def l_role(self, who, arg, s):                              # EnsureLoopReads
        return ("l_active", arg) if s["role", arg[0]] == FREE else arg[1]

    def l_active(self, who, arg, s):
        return arg[1] if self.is_active(s, arg[0]) else ("l_armed", arg)

    def l_armed(self, who, arg, s):
        return arg[1] if self.has_bell(s, arg[0]) else ("l_awake", arg)

    def l_awake(self, who, arg, s):
        if s["sleeping"] and not self.serves:                   # only the loop takes the role of a server
            return "l_take", arg
        return arg[1] if "awake_not_asked" in self.off else ("q_state", arg)

    def l_take(self, who, arg, s):                              # ArmForLoop
        if s["role", arg[0]] != FREE:
            return arg[1]
        s["role", arg[0]] = who
        return "l_closed", arg

    def l_closed(self, who, arg, s):
        return ("l_free", (arg, False)) if s["closed", arg[0]] else ("l_arm", arg)

    def l_arm(self, who, arg, s):
        self.arm(s, arg[0], SOCKET)
        return "l_check", arg

    def l_check(self, who, arg, s):
        return "l_free", (arg, not self.has_data(s, arg[0]))

    def l_free(self, who, arg, s):
        s["role", arg[0][0]] = FREE
        return "l_request", arg

    def l_request(self, who, arg, s):
        (c, go), is_armed = arg
        second = "l_signal", (c, go)
        must = not is_armed and "no_request_for_data" not in self.off
        must |= s["closed", c] and "close_told_once" not in self.off
        return ("q_state", (c, second)) if must else second

    def l_signal(self, who, arg, s):
        if "no_second_look" not in self.off:
            self.signal_if_free(s, arg[0])
        return arg[1]

    # ---- an awaiting caller
    def a_start(self, who, count, s):
        c = who[1:]
        asyncs = self.links[c].asyncs
        if count == len(asyncs) or s["gate", c] or s["shut", c]:
            return None
        owner, go = asyncs[count], ("a_start", count + 1)
        return self.send(s, c, owner, ("l_find", (c, go)) if owner == "A" else go)
