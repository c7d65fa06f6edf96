using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;

namespace RpcOverShm.Clients;

/// <summary>
/// Sends the parts of a call's single request while it is being serialised; the first part starts the call. Used by one
/// thread. Each thread keeps one for reuse; a serialiser that itself makes a call gets another one.
/// </summary>
internal sealed class RequestParts : IMessageChunkSink
{
    [ThreadStatic]
    private static RequestParts? s_spare;

    private CallStarter? _starter;
    private ClientCall? _call;
    private RequestHeadInputs _target;
    private bool _isTried;

    private RequestParts()
    {
    }

    /// <summary>The connection that the call was started on; null before.</summary>
    public Connection? Connection { get; private set; }

    /// <summary>Takes this thread's object, or a new one, for a call; <see cref="Return"/> returns it.</summary>
    public static RequestParts Rent(CallStarter starter, ClientCall call, in RequestHeadInputs target)
    {
        RequestParts parts = s_spare ?? new RequestParts();
        s_spare = null;
        parts._starter = starter;
        parts._call = call;
        parts._target = target;
        return parts;
    }

    public void Return()
    {
        _starter = null;
        _call = null;
        _target = default;
        _isTried = false;
        Connection = null;
        s_spare = this;
    }

    public int SendPart(ReadOnlySpan<byte> part, int wholeLength)
    {
        if (!_isTried)
        {
            _isTried = true;
            Connection = _starter!.TryStartAhead(_call!, _target);
        }

        return Connection?.Sender.SendPart(_call!, FrameFlags.Single, part, wholeLength) ?? 0;
    }
}
