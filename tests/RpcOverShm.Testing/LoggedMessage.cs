using Microsoft.Extensions.Logging;

namespace RpcOverShm.Testing;

/// <summary>One message that was logged.</summary>
public sealed record LoggedMessage(LogLevel Level, int Id, string Text, Exception? Exception);
