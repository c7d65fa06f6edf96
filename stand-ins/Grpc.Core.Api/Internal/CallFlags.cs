namespace Grpc.Core.Internal;

/// <summary>Behaviours of a client call that Grpc.Core passes to the C core, whose numbers these are.</summary>
[Flags]
internal enum CallFlags
{
    IdempotentRequest = 0x10,
    WaitForReady = 0x20,
    CacheableRequest = 0x40,
}
