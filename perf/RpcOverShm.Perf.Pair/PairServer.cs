using System.Buffers.Binary;
using Google.Protobuf;
using Grpc.Core;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Perf.Pair;

/// <summary>The server of one build. It ends with its standard input.</summary>
internal sealed class PairServer : Conformance.ConformanceBase
{
    /// <summary>The first line of a process that is ready.</summary>
    public const string Ready = "ready";

    public static async Task<int> RunAsync(string address)
    {
        await using var server = new ShmServer(address, new ShmServerOptions { MaxReceiveMessageSize = null });
        server.Services.Add(Conformance.BindService(new PairServer()));
        await server.StartAsync();
        Console.WriteLine(Ready);
        while (await Console.In.ReadLineAsync() is not null)
        {
        }

        return 0;
    }

    /// <summary>A neighbour that does nothing but use a processor, until its standard input ends.</summary>
    public static int Spin()
    {
        bool isOver = false;
        var spinning = new Thread(() =>
        {
            while (!Volatile.Read(ref isOver))
            {
            }
        });
        spinning.Start();
        Console.WriteLine(Ready);
        while (Console.In.ReadLine() is not null)
        {
        }

        Volatile.Write(ref isOver, value: true);
        return 0;
    }

    public override Task<Payload> Echo(Payload request, ServerCallContext context) => Task.FromResult(request);

    public override async Task Pump(
        PumpRequest request, IServerStreamWriter<Payload> responseStream, ServerCallContext context)
    {
        for (long i = 0; i < request.Messages; i++)
        {
            byte[] bytes = new byte[request.MessageBytes];
            BinaryPrimitives.WriteInt64LittleEndian(bytes, i);
            BinaryPrimitives.WriteInt64LittleEndian(bytes.AsSpan(bytes.Length - sizeof(long)), i);
            await responseStream.WriteAsync(new Payload { Data = UnsafeByteOperations.UnsafeWrap(bytes) });
        }
    }
}
