namespace RpcOverShm.Connections;

/// <summary>User code that a call has for somebody to run; several kinds may be due at a time.</summary>
[Flags]
internal enum CallWork
{
    None = 0,

    /// <summary>Run the served method.</summary>
    Start = 1,

    /// <summary>Complete what users await: a response, a failure.</summary>
    Complete = 2,

    /// <summary>A message or the end of messages came for a reader that waits.</summary>
    WakeReader = 4,

    /// <summary>A message went out that somebody waits for.</summary>
    WakeWriter = 8,
}
