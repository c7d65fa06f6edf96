using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;

namespace RpcOverShm.Clients;

/// <summary>
/// The one request of a call, as far as it goes out while it is being serialised: its first part starts the call. Used
/// by one thread; kept for each thread and used again, unless a serialiser itself calls.
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

    /// <summary>The connection that the call was started on; null while it was not.</summary>
    public Connection? Connection { get; private set; }

    /// <summary>For a call that is to be started; given back by <see cref="Release"/>.</summary>
    public static RequestParts For(CallStarter starter, ClientCall call, in RequestHeadInputs target)
    {
        RequestParts parts = s_spare ?? new RequestParts();
        s_spare = null;
        parts._starter = starter;
        parts._call = call;
        parts._target = target;
        return parts;
    }

    public void Release()
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

        return Connection?.SendPart(_call!, FrameFlags.Single, part, wholeLength) ?? 0;
    }
}
