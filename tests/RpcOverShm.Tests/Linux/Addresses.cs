using RpcOverShm.Linux;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Linux;

/// <summary>Addresses with the paths of their files, as Linux has them.</summary>
internal static class Addresses
{
    public static SocketAddress Parse(string address, string? runtimeDirectory) =>
        (SocketAddress)RendezvousAddress.Parse(address, runtimeDirectory);
}
