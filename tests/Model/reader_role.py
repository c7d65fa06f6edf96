"""Explicit-state model of who reads the connections of an event loop, step by step: EventLoop, EventSource and
LoopThread in src/RpcOverShm/Scheduling, ConnectionReader in Connections, with
SendGate, FrameSender, the socket of PeerLink, and the watchdog. Not modelled: byte streams, the time that a
source must be silent or a run may take (any is possible), growing rings, and the end of a loop without sources.

Actors, those of a connection with its number: P the peer that answers, O another thread of the peer that sends without
being asked, B, C and D blocking callers, A another thread that sends, X the end of the link, J its late start; L the
thread of the loop, M and N its spares, V a pool thread in the place of a spare, Q the thread pool, W the watchdog, Z
its clock. Each step is one access to shared state. Where the order matters, these are interlocked or fenced in the
code, so the model assumes sequential consistency; tests/RpcOverShm.Tests/Rings/RingFenceTests.cs tests the store
buffers of tail and parked. Time-outs, and the check for lost doorbells, do not exist.

Every final state is checked: every call is answered, or has failed because the link ended; all records were read and
all frames sent, all user code has run and returned; and a thread sleeps in the loop, with each open connection parked
and armed for its doorbell, so that an unexpected frame (the peer is leaving) is received too. Such a state is in reach
of each other one. Every state is checked for the rest: only the holder of the role reads, only one thread runs the
loop, quick user code keeps it, no frame is deferred for too long, and none is visible while its wake-up waits.

Then the model leaves out each rule in turn and shows a loss. Run: python3 reader_role.py
"""
from role_model import Link, Model
from search import report


def case(*links, **others):
    return dict(links=links, **others)


CASES = {
    "1 awaited": case(Link(asyncs="A")),
    "2 awaited": case(Link(asyncs="AA")),
    "3 arrivals": case(Link(arrivals="---"), expects=True),
    "1 blocking, twice": case(Link(callers="B"), calls_each=2),
    "1 blocking, 1 awaited": case(Link("A", callers="B"), any_order=True),
    "1 blocking, arrival": case(Link(callers="b", arrivals="-"), expects=True),
    "1 blocking, watchdog": case(Link(callers="B"), watches=True),
    "1 blocking that comes again, watchdog": case(Link(callers="d"), calls_each=2, watches=True),
    "2 blocking": case(Link(callers="bc"), any_order=True),
    "1 blocking leaves, 1 comes": case(Link(callers="dC")),
    "1 blocking tires": case(Link(callers="b"), tires="B"),
    "1 blocking tires, 1 awaited": case(Link("A", callers="b"), any_order=True, tires="B"),
    "1 leaves, 1 waits and tires": case(Link(callers="dc"), tires="C"),
    "1 blocking tires, peer's end": case(Link(callers="b", end="ends"), tires="B"),
    "2 connections, arrivals": case(Link(arrivals="--"), Link(arrivals="-"), expects=True),
    "2 connections, 1 blocking, 1 awaited": case(Link(callers="b"), Link("A")),
    "arrivals, peer's end": case(Link(arrivals="--", end="ends"), expects=True),
    "arrivals, process ends": case(Link(arrivals="--", end="process ends"), expects=True),
    "1 awaited, peer's end": case(Link("A", end="ends")),
    "1 awaited, process ends": case(Link("A", end="process ends")),
    "1 blocking, peer's end": case(Link(callers="b", end="ends")),
    "1 blocking, closed": case(Link(callers="b", end="closed")),
    "1 blocking, 1 awaited, peer's end": case(Link("A", callers="b", end="ends"), any_order=True),
    "1 leaves, 1 waits, peer's end": case(Link(callers="dc", end="ends")),
    "2 connections, one ends": case(Link("A", end="ends"), Link(arrivals="-"), expects=True),
    "space": case(Link("OOOO"), room=2, expects=True),
    "space, late ring": case(Link("OOOO"), room=2, rings_early=False),
    "space, arrival": case(Link("OOO", arrivals="-"), room=2, expects=True),
    "space, another thread": case(Link("OO", asyncs="O"), room=1, expects=True),
    "space, 1 awaited": case(Link("O", asyncs="A"), room=1),
    "space, 1 blocking": case(Link("OO", callers="b"), room=1),
    "server, arrivals": case(Link(arrivals="---"), expects=True, serves=True),
    "server, peer's end": case(Link(arrivals="-", end="ends"), expects=True, serves=True),
    "server, process ends": case(Link(arrivals="-", end="process ends"), expects=True, serves=True),
    "server, closed": case(Link(arrivals="-", end="closed"), expects=True, serves=True),
    "server, space": case(Link("O", asyncs="O"), room=1, expects=True, serves=True),
    "server, code that waits": case(Link(arrivals="w"), expects=True, serves=True, spares=1),
    "server, another comes": case(Link(), Link(arrivals="-"), expects=True, serves=True, joins=True),
    "code that ends, twice": case(Link("AA", code="ee"), spares=1),
    "code that sends, 1 awaited": case(Link("AA", code="s-"), spares=1),
    "code that sends, 1 blocking": case(Link("A", callers="B", code="o"), spares=1, begins_in_code=True),
    "code that waits": case(Link("A", code="w"), spares=1),
    "code that waits, 1 awaited": case(Link("AA", code="w-"), spares=1),
    "code that waits, 1 blocking": case(Link("A", callers="b", code="w"), spares=1),
    "code that waits, other connection": case(Link("A", code="w"), Link(arrivals="-"), spares=1, expects=True),
    "code that waits, peer's end": case(Link("A", code="w", end="ends"), spares=1),
    "code that waits, checks end": case(Link("A", code="w"), spares=1, ends_watch=True),
    "two that wait": case(Link("AA", code="ww"), spares=2, takes=2),
    "nested call": case(Link("A", code="n"), spares=1),
    "nested call, peer's end": case(Link("A", code="n", end="ends"), spares=1, takes=0),
    "no thread, code that waits": case(Link("A", code="w"), births=0),
    "no thread, code that ends": case(Link("A", code="e"), births=0),
    "no thread, no pool": case(Link("A", code="e"), births=0, no_pool=True),
    "clock, code that waits": case(Link("A", code="w"), spares=1, clocked=True),
    "clock, quick code": case(Link("A", code="q"), spares=1, clocked=True),
    "clock, quick code, code that waits": case(Link("AA", code="qw"), spares=1, clocked=True),
    "sleepy peer, 1 awaited": case(Link(asyncs="A"), sleepy=True),
    "sleepy peer, code that waits": case(Link("A", code="w"), spares=1, sleepy=True),
    "stream, each sends": case(Link(arrivals="oo-"), sleepy=True, expects=True),
    "stream, one sends": case(Link(arrivals="oeee"), sleepy=True, expects=True),
    "stream without code": case(Link(arrivals="o---"), sleepy=True, expects=True),
    "stream, one sends much": case(Link(arrivals="mo"), sleepy=True, expects=True),
}

# Each rule that is left out or broken, with the case that shows its purpose. Not listed are those that only save time
# here, because another one covers for them: the look for a reader after the start of a call (the watchdog looks too),
# the signal to sleeping callers at the end of a link (the loop fails their calls), the flush by a caller that takes the
# role (the loop flushes after its run), the loop that a thread gives away before it sleeps (the watchdog takes it
# over), and the second look at the head after parking for space (the loop looks whether the ring is empty).
RULES = {
    # the loop: requests, its sleep, its sockets
    "no_post_check": "1 awaited",
    "sleep_checked_first": "1 awaited",
    "no_wake": "1 awaited",
    "wake_before_post": "1 awaited",
    "request_taken_late": "space, another thread",
    "no_activate": "3 arrivals",
    "drain_once": "arrivals, peer's end",
    # parking
    "parks_unarmed": "1 awaited",
    "no_check_armed": "3 arrivals",
    "parks_over_data": "1 blocking, arrival",
    "parks_over_request": "1 awaited, process ends",
    "parks_slowly": "1 blocking, watchdog",
    "no_forsaken": "1 blocking, 1 awaited",
    "forsaken_before_parked": "1 blocking, 1 awaited",
    # callers, and who reads after them
    "no_signal": "2 blocking",
    "no_second_check": "2 blocking",
    "no_look_on_leave": "1 blocking, 1 awaited",
    "awake_not_asked": "1 blocking, 1 awaited",
    "no_request_for_data": "1 blocking, arrival",
    "no_second_look": "1 blocking leaves, 1 comes",
    "tires_unseen": "1 blocking tires",
    "tires_counted": "1 leaves, 1 waits and tires",
    "no_watchdog": "1 blocking, watchdog",
    "watch_ended_late": "1 blocking that comes again, watchdog",
    # the end of a link
    "parks_at_end": "1 blocking, 1 awaited, peer's end",
    "end_seen_late": "arrivals, process ends",
    "end_not_requested": "1 awaited, process ends",
    "close_told_once": "1 blocking, closed",
    "no_attention": "1 blocking, peer's end",
    # space
    "no_space_request": "space",
    "no_request_for_space": "space, 1 awaited",
    # a connection that comes
    "starts_unread": "server, another comes",
    # take-over
    "no_take_over": "code that waits",
    "no_watch_again": "code that waits, checks end",
    "takes_blindly": "code that ends, twice",
    "end_checked_first": "code that ends, twice",
    "keeps_lost": "code that waits",
    "no_place": "no thread, code that waits",
    "place_after_thread": "no thread, no pool",
    "takes_at_first_check": "clock, quick code",
    "checks_early": "clock, quick code",
    "no_check_again": "clock, code that waits",
    # deferred publishes, and the wake-up of the peer
    "held_after_check": "code that sends, 1 blocking",
    "taken_over_untold": "code that sends, 1 blocking",
    "no_flush_after_run": "code that sends, 1 awaited",
    "no_flush_by_count": "stream, each sends",
    "no_flush_by_time": "stream, one sends",
    "no_flush_by_records": "stream without code",
    "no_take_wake": "stream, one sends much",
    "no_parked_check": "sleepy peer, 1 awaited",
    "parked_first": "sleepy peer, 1 awaited",
    "no_peer_check": "sleepy peer, 1 awaited",
}


if __name__ == "__main__":
    report(Model, CASES, RULES)
