using Google.Protobuf;
using Google.Protobuf.Reflection;
using Grpc.Core;

namespace RpcOverShm.Protobuf.Faults;

/// <summary>A type of details that the client knows. Immutable.</summary>
/// <param name="descriptor">The type.</param>
/// <param name="faults">The entries with such a detail that make an exception, at most one for each code.</param>
/// <param name="withoutEntry">Makes the exception if no entry does; null for none.</param>
internal sealed class FaultDetail(
    MessageDescriptor descriptor, IReadOnlyList<Fault> faults, Func<IMessage, RpcException, Exception?>? withoutEntry)
{
    /// <summary>The full name of the type.</summary>
    public string Name => descriptor.FullName;

    /// <summary>Returns a detail from its bytes; null if they are malformed.</summary>
    public IMessage? TryParse(ByteString bytes)
    {
        try
        {
            return descriptor.Parser.ParseFrom(bytes);
        }
        catch (InvalidProtocolBufferException)
        {
            return null;
        }
    }

    /// <summary>Makes the exception: the status code tells apart several with such a detail. Null for none.</summary>
    public Exception? ToException(IMessage detail, RpcException failure)
    {
        // A server of another version may have sent another code, which matters only if there is a choice.
        Fault? fault = faults.FirstOrDefault(one => one.StatusCode == failure.StatusCode)
            ?? (faults.Count == 1 ? faults[0] : null);
        if ((fault?.ToException ?? withoutEntry) is not { } factory)
        {
            return null;
        }

        return factory(detail, failure) ?? throw new InvalidOperationException(
            $"The factory of the exception for {descriptor.FullName} returned null.");
    }
}
