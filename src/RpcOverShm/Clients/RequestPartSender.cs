using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;

namespace RpcOverShm.Clients;

/// <summary>
/// Sends the parts of a call's single request while it is being serialised; the first part starts the call. Used by one
/// thread. Each thread keeps one for reuse; a serialiser that itself makes a call gets another one.
/// </summary>
internal sealed class RequestPartSender : IMessagePartSink
{
    [ThreadStatic]
    private static RequestPartSender? s_spare;

    private CallStarter? _starter;
    private ClientCall? _call;
    private RequestHeadInputs _inputs;
    private bool _isTried;

    private RequestPartSender()
    {
    }

    /// <summary>The connection that the call was started on; null before.</summary>
    public Connection? Connection { get; private set; }

    /// <summary>Takes this thread's object, or a new one, for a call; <see cref="Return"/> returns it.</summary>
    public static RequestPartSender Rent(CallStarter starter, ClientCall call, in RequestHeadInputs inputs)
    {
        RequestPartSender sender = s_spare ?? new RequestPartSender();
        s_spare = null;
        sender._starter = starter;
        sender._call = call;
        sender._inputs = inputs;
        return sender;
    }

    public void Return()
    {
        _starter = null;
        _call = null;
        _inputs = default;
        _isTried = false;
        Connection = null;
        s_spare = this;
    }

    public int SendPart(ReadOnlySpan<byte> part, int wholeLength)
    {
        if (!_isTried)
        {
            _isTried = true;
            Connection = _starter!.TryStartAhead(_call!, _inputs);
        }

        return Connection?.Sender.SendPart(_call!, FrameFlags.Single, part, wholeLength) ?? 0;
    }
}
