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
    // The names of the ids where users see them, in claims and in the AuthContext.
    public const string ProcessIdName = "pid";
    public const string UserIdName = "uid";
    public const string GroupIdName = "gid";

    private const int SoPeercred = 17;
    private const int SoPeergroups = 59;

    // Most users are in a few groups; Linux allows 65536.
    private const int FewGroups = 64;
    private const int MostGroups = 65536;

    /// <summary>Whether the peer has this process's user.</summary>
    public bool IsOwnUser => UserId == LinuxNative.GetEffectiveUserId();

    /// <summary>Whether the peer has this process's user, or is root, which can read any process's memory.</summary>
    public bool IsTrusted => UserId == 0 || IsOwnUser;

    /// <summary>Returns the identity of the peer of a connected socket.</summary>
    /// <exception cref="IOException">The kernel does not supply it.</exception>
    public static PeerIdentity Of(Socket socket)
    {
        Span<byte> credentials = stackalloc byte[12];
        try
        {
            int length = socket.GetRawSocketOption(LinuxNative.SolSocket, SoPeercred, credentials);
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

    /// <summary>
    /// Returns whether the peer is a member of a group: by its own group or, from Linux 4.13 on, by a further one.
    /// </summary>
    /// <exception cref="IOException">The kernel does not supply the groups.</exception>
    public bool IsMember(uint group, Socket socket) => GroupId == group || GroupsOf(socket).Contains(group);

    public override string ToString() => $"process {ProcessId}, user {UserId}";

    // Groups are those at the time of the connect, like the rest of the identity.
    private static uint[] GroupsOf(Socket socket)
    {
        foreach (int count in (ReadOnlySpan<int>)[FewGroups, MostGroups])
        {
            byte[] groups = new byte[count * sizeof(uint)];
            try
            {
                int length = socket.GetRawSocketOption(LinuxNative.SolSocket, SoPeergroups, groups);
                return MemoryMarshal.Cast<byte, uint>(groups.AsSpan(0, length)).ToArray();
            }
            catch (SocketException exception) when (exception.SocketErrorCode == SocketError.ProtocolOption)
            {
                // An older kernel. The peer's own group is all that is known.
                return [];
            }
            catch (SocketException exception) when (count == MostGroups)
            {
                throw new IOException("The kernel does not say in which groups the peer is.", exception);
            }
            catch (SocketException)
            {
                // The groups did not fit into the smaller buffer.
            }
        }

        return [];
    }
}
