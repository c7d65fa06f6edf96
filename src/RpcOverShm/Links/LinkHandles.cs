using System.Runtime.InteropServices;
using Microsoft.Extensions.Logging;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Systems;

namespace RpcOverShm.Links;

/// <summary>
/// The handles of calls that pass a link whose sides have agreed on them. They come on the wire as a set with a number,
/// and a frame names that number. The sender passes first, but the socket is read by the event loop and the ring by any
/// thread, so either may be read first here. Thread-safe.
/// </summary>
internal sealed class LinkHandles(Wire wire, int maxHeld, ILogger logger, string peer)
{
    /// <summary>The public option of <c>maxHeld</c>.</summary>
    public const string Option = "Handles.MaxHeld";

    // The sets that were named and have not come. An honest peer has passed them: its socket holds some 160.
    private const int MostExpected = 1024;

    // The handles beyond the limit that wait to be closed.
    private const int MostClosing = 4096;

    private readonly UninterruptibleLock _passing = new();
    private readonly UninterruptibleLock _lock = new();
    private readonly Dictionary<long, HandleSet> _sets = []; // that are only named, or only here
    private long _lastPassed;
    private long _lastCome;
    private int _expected;
    private int _held; // that are here and not taken, with those that are being closed
    private bool _isOver;

    /// <summary>The time in which a set that came must be named, and one that was named must come.</summary>
    public TimeSpan TimeLimit { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>The handles of the peer that nobody has taken and that are not closed.</summary>
    public int Held
    {
        get
        {
            using (_lock.Enter())
            {
                return _held;
            }
        }
    }

    /// <summary>Passes handles to the peer, without waiting. They stay the caller's. Returns their number.</summary>
    /// <exception cref="IOException">The peer does not read its socket, or is gone; HResult is the errno.</exception>
    /// <exception cref="SegmentException">The system lacks something.</exception>
    /// <exception cref="ObjectDisposedException">A handle or the wire is closed.</exception>
    public long Pass(SafeHandle[] handles)
    {
        Span<byte> notice = stackalloc byte[FileNotice.EncodedBytes];
        using (_passing.Enter())
        {
            new HandleNotice(_lastPassed + 1, handles.Length).Encode(notice);
            wire.Send(notice, handles);
            return ++_lastPassed;
        }
    }

    /// <summary>Takes handles that have come, over. Called on the event loop.</summary>
    /// <exception cref="ProtocolException">The number is not the next one, or there are far too many.</exception>
    public void Receive(HandleNotice notice, SafeHandle[] handles)
    {
        ProtocolException? problem;
        bool isKept;
        HandleSet? set;
        using (_lock.Enter())
        {
            _held += handles.Length;
            problem = notice.Number != _lastCome + 1
                ? new ProtocolException(
                    $"The peer passed handles with the number {notice.Number}; the next one is {_lastCome + 1}.")
                : _held > maxHeld + MostClosing
                ? new ProtocolException(
                    $"The peer passed more than {MostClosing} handles beyond {Option}, which is {maxHeld}.")
                : null;
            _lastCome = notice.Number;
            isKept = problem is null && _held <= maxHeld && !_isOver;
            if (_sets.Remove(notice.Number, out set))
            {
                _expected--;
                set.Limit!.Dispose();
            }
            else if (isKept)
            {
                set = Add(notice.Number, isNamed: false);
            }
        }

        if (isKept)
        {
            set!.Arrive(handles);
            return;
        }

        set?.Fail(HandleArrival.Refused);
        CloseCounted(handles);
        if (problem is not null)
        {
            throw problem;
        }

        LimitEvents.Reached(logger, Option, maxHeld, $"{peer}: handles of a call were closed.");
    }

    /// <summary>
    /// Returns the set that a frame names, which may come later; null if it was closed before. The caller then has it.
    /// </summary>
    /// <exception cref="ProtocolException">There is no such set, or too many have not come.</exception>
    public HandleSet? Name(long number)
    {
        using (_lock.Enter())
        {
            if (_sets.TryGetValue(number, out HandleSet? set) && !set.IsNamed)
            {
                _sets.Remove(number);
                set.Limit!.Dispose();
                return set;
            }

            if (set is not null || number <= 0 || _expected == MostExpected)
            {
                throw new ProtocolException(
                    $"The peer named handles with the number {number}, of which {_expected} sets have not come.");
            }

            if (number <= _lastCome)
            {
                return null;
            }

            _expected++;
            set = Add(number, isNamed: true);
            if (_isOver)
            {
                End(set);
            }

            return set;
        }
    }

    /// <summary>Stops counting handles that somebody has taken, or that are closed.</summary>
    private void Release(int count)
    {
        using (_lock.Enter())
        {
            _held -= count;
        }
    }

    /// <summary>Closes handles on a closing thread. They count until that is done.</summary>
    private void CloseCounted(SafeHandle[] handles) =>
        Array.ForEach(handles, handle => ForeignHandles.Shared.Close(new Closing(this, handle)));

    /// <summary>Ends the link: what was not named is closed, and what did not come fails.</summary>
    public void Close()
    {
        HandleSet[] sets;
        using (_lock.Enter())
        {
            _isOver = true;
            sets = [.. _sets.Values];
            _sets.Clear();
        }

        Array.ForEach(sets, End);
    }

    // Under the lock.
    private HandleSet Add(long number, bool isNamed)
    {
        var set = new HandleSet(Release, CloseCounted, isNamed);
        _sets.Add(number, set);
        set.Limit = new DueTime(TimeLimit, () => Expire(number, set));
        return set;
    }

    private void Expire(long number, HandleSet set)
    {
        using (_lock.Enter())
        {
            if (!_sets.Remove(number)) // a set has a number of its own
            {
                return;
            }

            _expected -= set.IsNamed ? 1 : 0;
        }

        set.Fail(HandleArrival.Late);
        set.Close();
    }

    private static void End(HandleSet set)
    {
        set.Limit!.Dispose();
        set.Fail(HandleArrival.ConnectionEnded);
        set.Close();
    }

    private sealed class Closing(LinkHandles owner, SafeHandle handle) : IDisposable
    {
        public void Dispose()
        {
            try
            {
                handle.Dispose();
            }
            finally
            {
                owner.Release(1);
            }
        }
    }
}
