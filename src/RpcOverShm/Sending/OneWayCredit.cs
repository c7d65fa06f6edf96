using RpcOverShm.Protocol;

namespace RpcOverShm.Sending;

/// <summary>
/// The credit of one connection for its outgoing one-way calls, and the calls that wait for it, in their order. Guarded
/// by the sender's gate.
/// </summary>
internal sealed class OneWayCredit(uint window)
{
    /// <summary>The credit that a call costs besides its bytes: what the server keeps for it.</summary>
    public const int BytesPerCall = 1 << 10;

    private readonly LinkedList<OneWayTurn> _turns = new();
    private long _bytes = window;
    private volatile bool _hasTurns;

    /// <summary>Whether calls wait. Any thread may ask.</summary>
    public bool HasTurns => _hasTurns;

    /// <summary>The credit that is left. It may be below zero, because a call needs some credit but not all.</summary>
    public long Bytes => _bytes;

    /// <summary>
    /// Returns whether a call may start now. If not, it has a turn then, whose task completes when it is to try again.
    /// </summary>
    public bool MayStart(bool isBlocking, ref OneWayTurn? turn)
    {
        if (_bytes > 0 && (_turns.First is not { } first || first.Value == turn))
        {
            return true;
        }

        if (turn is null)
        {
            turn = new OneWayTurn(isBlocking);
            _turns.AddLast(turn.Node);
            _hasTurns = true;
        }
        else
        {
            turn.WaitAgain();
        }

        return false;
    }

    /// <summary>Takes credit for a call that starts.</summary>
    public void Take(long bytes) => _bytes -= bytes;

    /// <summary>Returns the credit for the bytes of a call that were not sent.</summary>
    public void GiveBack(long bytes)
    {
        _bytes += bytes;
        WakeFirst();
    }

    /// <summary>Adds credit from the peer.</summary>
    /// <exception cref="ProtocolException">The peer gives more than was used.</exception>
    public void Add(uint bytes)
    {
        if (_bytes + bytes > window)
        {
            throw new ProtocolException($"Credit of {_bytes + bytes} bytes for one-way calls, of {window} at most.");
        }

        GiveBack(bytes);
    }

    /// <summary>Ends the turn of a call that has started or waits no longer; null for none.</summary>
    public void Leave(OneWayTurn? turn)
    {
        if (turn?.Node.List is not null)
        {
            _turns.Remove(turn.Node);
            _hasTurns = _turns.Count > 0;
        }

        WakeFirst();
    }

    /// <summary>Lets all waiting calls try again: they find that the connection takes no more calls.</summary>
    public void WakeAll()
    {
        foreach (OneWayTurn turn in _turns)
        {
            turn.Wake();
        }
    }

    private void WakeFirst()
    {
        if (_bytes > 0)
        {
            _turns.First?.Value.Wake();
        }
    }
}
