using System.Net.Sockets;
using System.Runtime.InteropServices;

namespace RpcOverShm.Links;

/// <summary>
/// Who the peer is, as the kernel says: process, user and group at the time it connected or began to listen
/// (SO_PEERCRED). Never taken from anything the peer sends.
/// </summary>
internal readonly record struct PeerIdentity(int ProcessId, uint UserId, uint GroupId)
{
    private const int SolSocket = 1;
    private const int SoPeercred = 17;

    /// <exception cref="IOException">The kernel does not say.</exception>
    public static PeerIdentity Of(Socket socket)
    {
        Span<byte> credentials = stackalloc byte[12];
        try
        {
            int length = socket.GetRawSocketOption(SolSocket, SoPeercred, credentials);
            if (length != credentials.Length)
            {
                throw new IOException($"The kernel described the peer in {length} bytes.");
            }
        }
        catch (SocketException exception)
        {
            throw new IOException("The kernel does not say who the peer is.", exception);
        }

        return MemoryMarshal.Read<PeerIdentity>(credentials);
    }

    public override string ToString() => $"process {ProcessId}, user {UserId}";
}
