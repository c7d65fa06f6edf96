using Grpc.Core;

namespace RpcOverShm.Clients;

/// <summary>
/// What a call needs of its method when the answer comes: one object for all calls of a channel's method.
/// </summary>
/// <param name="settings">The channel's.</param>
/// <param name="name">The full name, for logging.</param>
/// <param name="responses">Reads the responses.</param>
internal abstract class AnsweredMethod<TResponse>(ClientSettings settings, string name, Marshaller<TResponse> responses)
    where TResponse : class
{
    public ClientSettings Settings => settings;

    public string Name => name;

    public Marshaller<TResponse> ResponseMarshaller => responses;

    /// <summary>Starts a call once more, from what was kept of it.</summary>
    public abstract void Start(RenewableCall call, object origin);
}
