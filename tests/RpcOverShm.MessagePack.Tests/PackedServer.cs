using Grpc.Core;
using RpcOverShm.Testing;

namespace RpcOverShm.MessagePack.Tests;

/// <summary>Makes servers with a codec, at addresses of their own, and channels to them.</summary>
internal static class PackedServer
{
    /// <param name="service">What the server serves.</param>
    /// <param name="codec">What it reads and writes besides Protobuf; null for MessagePack.</param>
    public static ShmServer Make(ServerServiceDefinition service, ShmCodec? codec = null)
    {
        var options = new ShmServerOptions { Codecs = { codec ?? ShmMessagePackCodec.Instance } };
        var server = new ShmServer($"shm://{UniqueName.Next()}", options);
        server.Services.Add(service);
        return server;
    }

    public static async Task<ShmServer> StartAsync(ServerServiceDefinition service, ShmCodec? codec = null)
    {
        ShmServer server = Make(service, codec);
        await server.StartAsync();
        return server;
    }

    /// <summary>Opens a channel with this codec; null for that of the methods.</summary>
    public static ShmChannel Open(ShmServer server, ShmCodec? codec) =>
        ShmChannel.ForAddress(server.Address, new ShmChannelOptions { Codec = codec });
}
