using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Servers;

/// <summary>The handler of a method, independent of its shape and types.</summary>
internal abstract class MethodHandler
{
    private readonly PayloadAccessHint _requestHint;

    protected MethodHandler(IMethod method, PayloadAccessHint requestHint)
    {
        _requestHint = requestHint;
        FullName = method.FullName;
        ServiceName = method.ServiceName;
        IsUnary = method.Type == MethodType.Unary;
        IsRequestStream = method.Type is MethodType.ClientStreaming or MethodType.DuplexStreaming;
    }

    public string FullName { get; }

    public string ServiceName { get; }

    public bool IsUnary { get; }

    public bool IsRequestStream { get; }

    /// <summary>Whether the calls of one client to the method's service start in their order.</summary>
    public bool IsOrdered { get; init; }

    /// <summary>Whether the messages of each call are shown to an observer.</summary>
    public bool IsInspected { get; protected init; }

    /// <summary>Decides whether the method runs inline, from the cost of its earlier runs.</summary>
    public InlineBudget InlineBudget { get; } = new();

    /// <summary>The names of the codecs that clients may choose.</summary>
    public abstract IEnumerable<string> CodecNames { get; }

    /// <summary>Returns the hint for requests with this mark.</summary>
    public PayloadAccessHint RequestHint(MessageMark mark) =>
        mark == MessageMark.None ? _requestHint : _requestHint.Encoded;

    /// <summary>Returns whether the method supports a codec; null stands for the generated marshallers.</summary>
    public abstract bool Supports(string? codec);

    /// <summary>Reads the request, runs the method and sends its result. Fails with the method's exception.</summary>
    public abstract Task InvokeAsync(ServerCall call, ShmServerCallContext context);
}
