using System.Buffers;
using Grpc.Core;

namespace RpcOverShm.Calls;

/// <summary>The message inspectors of a channel or server, as the calls see them. Thread-safe.</summary>
internal abstract class MessageObserver
{
    /// <summary>Shows a message, in the order of its stream. May throw, which fails the call.</summary>
    public abstract void OnMessage(in MessageOrigin origin, int index, in ReadOnlySequence<byte> payload);
}

/// <summary>Where a message belongs.</summary>
/// <param name="Method">The full name of the method.</param>
/// <param name="RequestHeaders">The metadata of the call's request.</param>
/// <param name="IsRequest">Whether it is a request, or else a response.</param>
/// <param name="IsReceived">Whether this process receives it, or else sends it.</param>
internal readonly record struct MessageOrigin(
    string Method, Metadata RequestHeaders, bool IsRequest, bool IsReceived);
