using System.Security.Claims;
using Grpc.Core;
using RpcOverShm.Systems;

namespace RpcOverShm;

/// <summary>
/// The types of the claims of <see cref="ShmSession.User"/>: who the client is, as the kernel reports it. The name is
/// in a claim of the type <see cref="ClaimTypes.Name"/>.
/// </summary>
/// <remarks>
/// The properties of <see cref="ServerCallContext.AuthContext"/> have the same names. In a method that a channel offers
/// for callbacks they tell who the server is.
/// </remarks>
public static class ShmClaimTypes
{
    /// <summary>The id of the user, a number, on Windows a SID: <c>uid</c>.</summary>
    public const string UserId = PeerIdentity.UserIdName;

    /// <summary>
    /// The id of the primary group of the process, a number, on Windows the user's SID again: <c>gid</c>.
    /// </summary>
    public const string GroupId = PeerIdentity.GroupIdName;

    /// <summary>
    /// The id of the process that connected, a number: <c>pid</c>. There is no such claim if the process is in a pid
    /// namespace that this process cannot see, such as that of another container.
    /// </summary>
    public const string ProcessId = PeerIdentity.ProcessIdName;
}
