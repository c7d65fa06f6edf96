"""Explicit-state model of the reader role of a connection, step by step: CallerReader, StandbyReader, InlineRunner,
SpareThreads and ReaderCoordinator in src/RpcOverShm/Connections, with FramePublisher and Watchdog.

Actors: P the peer that answers, O another thread of the peer that sends without being asked, S the standby reader, T
and U its spares, V a pool thread in the place of a spare, B, C and D blocking callers, A an awaiting caller, Q and R
the thread pool, W the watchdog, Z its clock, Y other connections that it begins to check, X the end of the connection
(the peer's death, or a close on this side). The continuations of A's calls and the code for O's records are user code:
S runs it inline, or queues it for Q and R. Each step is one access to shared state. In the code all of these are
interlocked or fenced, so the model assumes sequential consistency; tests/RpcOverShm.Tests/Rings/RingFenceTests.cs
tests the store buffers of tail and parked.

Every final state is checked: every call is answered, or has failed because the connection ended; all user code has run
and returned; and on an open connection the reader is armed and a thread sleeps where a wake-up reaches it, so that an
unexpected frame (the peer is leaving) is received too. Every state is checked for the rest: only the holder of the
role reads, quick user code keeps the role, no frame is deferred for too long, and none is visible while its wake-up
waits.

Then the model leaves out each rule in turn and shows a loss. Run: python3 reader_role.py [quick]
"""
import sys

from role_model import Model


def case(asyncs=0, blockers="", calls_each=1, **others):
    return dict(asyncs=asyncs, blockers=blockers, calls_each=calls_each, **others)


CASES = [
    ("2 async", case(2)),
    ("1 blocking, twice", case(0, "B", 2)),
    ("1 async + 1 blocking", case(1, "B")),
    ("2 blocking", case(0, "BC")),
    ("3 blocking", case(0, "BCD")),
    ("1 async + 3 blocking", case(1, "BCD")),
    ("1 async, peer dies", case(1, end="death")),
    ("1 blocking, peer dies", case(0, "B", end="death")),
    ("1 async + 1 blocking, peer dies", case(1, "B", end="death")),
    ("1 async + 1 blocking, closed", case(1, "B", end="close")),
    ("2 blocking, closed", case(0, "BC", end="close")),
    ("3 blocking, peer dies", case(0, "BCD", end="death")),
    ("code that ends, twice", case(2, code="ee", spares=1)),
    ("code that sends, + 1 async", case(2, code="s", spares=1)),
    ("code that waits", case(1, code="w", spares=1)),
    ("code that waits, + 1 async", case(2, code="w", spares=1)),
    ("code that waits, + 1 blocking", case(1, "B", code="w", spares=1)),
    ("code that waits, peer dies", case(1, code="w", end="death", spares=1)),
    ("code that waits, closed", case(1, code="w", end="close", spares=1)),
    ("nested call", case(1, code="n", spares=1)),
    ("nested call, + 1 async", case(2, code="n", spares=1)),
    ("nested call, + 1 blocking", case(1, "B", code="n", spares=1)),
    ("nested call, peer dies", case(1, code="n", end="death", spares=1)),
    ("nested call, closed", case(1, code="n", end="close", spares=1)),
    ("code that ends, code that waits", case(2, code="ew", spares=1)),
    ("code that sends, code that ends", case(2, code="se", spares=1)),
    ("one waits, 1 blocking for that", case(2, "B", code="w", spares=1, late="B")),
    ("two that wait", case(2, code="ww", spares=2)),
    ("one waits, one nested", case(2, code="wn", spares=2)),
    ("code on the pool, + 1 blocking", case(1, "B", code="n", inline=False)),
    ("sleepy peer, 1 async", case(1, sleepy=True)),
    ("sleepy peer, code that waits", case(1, code="w", spares=1, sleepy=True)),
    ("open arrivals, each sends", case(sleepy=True, pushes="ooooo", most_taken=0)),
    ("open arrivals, one sends", case(sleepy=True, pushes="oeeee", most_taken=0)),
    ("open arrivals without code", case(sleepy=True, pushes="o----", most_taken=0)),
    ("open arrivals, one sends much", case(sleepy=True, pushes="moo", most_taken=0)),
    ("open arrivals, taken over", case(sleepy=True, pushes="ome", most_taken=1, spares=1)),
    ("open arrivals, + 1 async", case(1, sleepy=True, pushes="oo", most_taken=0)),
    ("clock, code that waits", case(1, code="w", spares=1, clocked=True)),
    ("clock, nested call", case(1, code="n", spares=1, clocked=True)),
    ("clock, quick code", case(1, code="q", spares=1, clocked=True, others=True)),
    ("clock, quick code twice", case(2, code="qq", spares=1, clocked=True)),
    ("clock, quick code, code that waits", case(2, code="qw", spares=1, clocked=True)),
    ("no thread, code that waits", case(1, code="w", births=0)),
    ("no thread, code that ends", case(1, code="e", births=0)),
    ("no thread, 1 blocking", case(1, "B", code="d", births=0)),
    ("no thread, closed", case(1, code="w", end="close", births=0)),
    ("no thread, no pool", case(1, code="e", births=0, no_pool=True)),
    ("no thread, no pool, closed", case(1, code="e", end="close", births=0, no_pool=True)),
    ("one thread, two that wait", case(2, code="ww", births=1, spares=1)),
]
# Each rule with the case that shows its purpose, found by random walks or among all states. Not listed:
# no_look_on_start only costs time, because the watchdog checks within a few milliseconds.
RULES = {
    "flag": "2 async",
    "wake_one": "1 blocking, peer dies",
    "sleep_unarmed": "1 blocking, twice",
    "no_signal": "1 blocking, twice",
    "no_second_look": "1 blocking, twice",
    "no_look_on_leave": "1 blocking, twice",
    "no_recheck": "1 blocking, twice",
    "no_watchdog": "1 blocking, twice",
    "no_attention": "1 async, peer dies",
    "no_rescue": "code that waits",
    "no_watch_again": "code that ends, code that waits",
    "keep_lost": "code that waits",
    "no_flush": "code that sends, code that ends",
    "no_flush_by_callers": "one waits, 1 blocking for that",
    "no_held_check": "code that waits, + 1 async",
    "no_parked_check": "sleepy peer, 1 async",
    "parked_first": "sleepy peer, 1 async",
    "no_peer_check": "sleepy peer, 1 async",
    "no_flush_by_count": "open arrivals, each sends",
    "no_flush_by_time": "open arrivals, one sends",
    "no_flush_by_records": "open arrivals without code",
    "no_take_wake": "open arrivals, one sends much",
    "pulse_checks_all": "clock, quick code",
    "one_check": "clock, quick code",
    "no_second_check": "clock, code that waits",
    "no_take_over_signal": "no thread, 1 blocking",
    "no_place": "no thread, code that waits",
    "place_after_thread": "no thread, no pool",
}


WALKS = 5_000


def main():
    limit = 100_000 if "quick" in sys.argv else 5_000_000
    failed = False
    for name, one in CASES:
        result = Model((), limit=limit, **one).run()
        walked = Model((), limit=0, **one).walk(limit // 100)
        failed |= result.startswith("LOST") or walked.startswith("LOST")
        print(f"{name:34} {result[:400]}; {walked[:400]}", flush=True)
    print()
    for rule, name in RULES.items():
        without = Model((rule,), limit=1_000_000, **dict(CASES)[name])
        result = without.walk(WALKS)
        result = result if result.startswith("LOST") else without.run()
        failed |= not result.startswith("LOST")
        print(f"without {rule:20} {result[:100]}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
