using Grpc.Core;

namespace RpcOverShm.Calls;

/// <summary>
/// A serialiser for all messages, as the calls see it: its name on the wire, and a marshaller for each type.
/// </summary>
internal abstract class MarshallerSource
{
    /// <summary>Goes with each call that uses it.</summary>
    public abstract string Name { get; }

    /// <summary>The marshaller to use in place of the generated one.</summary>
    public abstract Marshaller<T> Replace<T>(Marshaller<T> generated)
        where T : class;
}
