using Microsoft.Extensions.Logging;

namespace RpcOverShm.Testing;

/// <summary>One thing that was logged.</summary>
public sealed record LogEntry(LogLevel Level, int Id, string Message, Exception? Exception)
{
    public override string ToString() => $"{Level} {Id}: {Message}{(Exception is null ? "" : $" <- {Exception}")}";
}
