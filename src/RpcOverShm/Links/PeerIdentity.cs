using System.Net.Sockets;
using System.Runtime.InteropServices;
using RpcOverShm.Segments;

namespace RpcOverShm.Links;

/// <summary>
/// The process, user and group of the peer at the time when it connected or began to listen. The kernel supplies them
/// (SO_PEERCRED), never the peer.
/// </summary>
internal readonly record struct PeerIdentity(int ProcessId, uint UserId, uint GroupId)
{
    private const int SolSocket = 1;
    private const int SoPeercred = 17;

    /// <summary>Whether the peer has this process's user, or is root, which can read any process's memory.</summary>
    public bool IsTrusted => UserId == 0 || UserId == LinuxNative.GetEffectiveUserId();

    /// <summary>Returns the identity of the peer of a connected socket.</summary>
    /// <exception cref="IOException">The kernel does not supply it.</exception>
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
