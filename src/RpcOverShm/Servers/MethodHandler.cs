using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Servers;

/// <summary>One served method, whatever its shape and types.</summary>
internal abstract class MethodHandler
{
    private readonly PayloadAccessHint _requestHint;

    protected MethodHandler(IMethod method, PayloadAccessHint requestHint)
    {
        _requestHint = requestHint;
        FullName = method.FullName;
        ServiceName = method.ServiceName;
        IsRequestStream = method.Type is MethodType.ClientStreaming or MethodType.DuplexStreaming;
    }

    public string FullName { get; }

    public string ServiceName { get; }

    public bool IsRequestStream { get; }

    /// <summary>Whether the method runs inline, learned from its runs.</summary>
    public InlineBudget Budget { get; } = new();

    /// <summary>The names of the codecs that clients may ask for.</summary>
    public abstract IEnumerable<string> CodecNames { get; }

    /// <summary>How the method's marshallers take requests that come with this encoding; null for none.</summary>
    public PayloadAccessHint RequestHint(string? encoding) => encoding is null ? _requestHint : _requestHint.Encoded;

    /// <summary>False when no codec of this name is offered; null is the generated marshallers.</summary>
    public abstract bool Offers(string? codec);

    /// <summary>
    /// Parses the one request of a call where it lies, in the memory of a client that is trusted.
    /// </summary>
    public abstract ParsedMessage ParseInPlace(ServerCall call, ReadOnlySpan<byte> message);

    /// <summary>
    /// Reads the request, runs the user's method and sends what it returns. Throws what the method throws.
    /// </summary>
    public abstract Task InvokeAsync(ServerCall call, ShmServerCallContext context);
}
