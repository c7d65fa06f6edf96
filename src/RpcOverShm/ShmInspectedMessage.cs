using System.Buffers;
using Grpc.Core;

namespace RpcOverShm;

/// <summary>A message as a <see cref="ShmMessageInspector"/> sees it.</summary>
/// <remarks>Valid only during the inspector's call, which copies what it keeps.</remarks>
public readonly ref struct ShmInspectedMessage
{
    /// <summary>Gets the full name of the method, with the leading slash: <c>/package.Service/Method</c>.</summary>
    public required string Method { get; init; }

    /// <summary>Gets the metadata of the call's request, which must not be changed.</summary>
    /// <remarks>
    /// On a channel it is that of the call's options, without what call credentials add. Empty if there is none.
    /// </remarks>
    public required Metadata RequestHeaders { get; init; }

    /// <summary>Gets whether this process receives the message, or else sends it.</summary>
    public required bool IsReceived { get; init; }

    /// <summary>Gets the number of messages before it in the same direction of the same call.</summary>
    public required int Index { get; init; }

    /// <summary>Gets the bytes, in one or more segments; the memory is used again after the inspector's call.</summary>
    public required ReadOnlySequence<byte> Payload { get; init; }
}
