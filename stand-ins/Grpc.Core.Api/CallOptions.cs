using Grpc.Core.Internal;

namespace Grpc.Core;

/// <summary>What a caller may say about one call. A value: every With method leaves the original as it was.</summary>
public struct CallOptions
{
    public CallOptions(
        Metadata? headers = null,
        DateTime? deadline = null,
        CancellationToken cancellationToken = default,
        WriteOptions? writeOptions = null,
        ContextPropagationToken? propagationToken = null,
        CallCredentials? credentials = null)
    {
        Headers = headers;
        Deadline = deadline;
        CancellationToken = cancellationToken;
        WriteOptions = writeOptions;
        PropagationToken = propagationToken;
        Credentials = credentials;
        Flags = default;
    }

    public Metadata? Headers { get; private set; }

    public DateTime? Deadline { get; private set; }

    public CancellationToken CancellationToken { get; private set; }

    public WriteOptions? WriteOptions { get; private set; }

    public ContextPropagationToken? PropagationToken { get; private set; }

    public CallCredentials? Credentials { get; private set; }

    public readonly bool IsWaitForReady => (Flags & CallFlags.WaitForReady) != 0;

    internal CallFlags Flags { get; private set; }

    public readonly CallOptions WithHeaders(Metadata headers) => this with { Headers = headers };

    public readonly CallOptions WithDeadline(DateTime deadline) => this with { Deadline = deadline };

    public readonly CallOptions WithCancellationToken(CancellationToken cancellationToken) =>
        this with { CancellationToken = cancellationToken };

    public readonly CallOptions WithWriteOptions(WriteOptions writeOptions) =>
        this with { WriteOptions = writeOptions };

    public readonly CallOptions WithPropagationToken(ContextPropagationToken propagationToken) =>
        this with { PropagationToken = propagationToken };

    public readonly CallOptions WithCredentials(CallCredentials credentials) =>
        this with { Credentials = credentials };

    public readonly CallOptions WithWaitForReady(bool waitForReady = true) =>
        this with { Flags = waitForReady ? Flags | CallFlags.WaitForReady : Flags & ~CallFlags.WaitForReady };
}
