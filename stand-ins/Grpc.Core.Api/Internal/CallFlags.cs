namespace Grpc.Core.Internal;

/// <summary>Flags of a client call. Grpc.Core hands them to the C core as they are, so the number is its.</summary>
[Flags]
internal enum CallFlags
{
    None = 0,
    WaitForReady = 0x20,
}
