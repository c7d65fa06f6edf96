using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm.Links;

/// <summary>A client's hello that asks for the statistics of a server, with what its answer needs.</summary>
/// <param name="Wire">The wire, which then belongs to the handler of the request.</param>
/// <param name="Hello">The hello, whose version is spoken here.</param>
/// <param name="Client">The client, as the kernel names it.</param>
/// <param name="Version">The version that was chosen.</param>
internal sealed record StatisticsRequest(Wire Wire, Hello Hello, PeerIdentity Client, ushort Version);
