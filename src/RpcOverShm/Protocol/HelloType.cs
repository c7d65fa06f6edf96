namespace RpcOverShm.Protocol;

/// <summary>What a handshake message is. The numbers are on the wire.</summary>
internal enum HelloType : byte
{
    Client = 1,
    Server = 2,
    Refusal = 3,
}
