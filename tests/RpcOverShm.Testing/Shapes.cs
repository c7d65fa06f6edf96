using Grpc.Core;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Testing;

/// <summary>Makes calls of every shape to an echoing <see cref="Script"/> and checks every answer.</summary>
public static class Shapes
{
    private const int Largest = 300 << 10;

    /// <summary>Makes one call of each shape; returns the names of the shapes that failed.</summary>
    public static async Task<string> RunAllAsync(ScriptClient client, int bytes = 1000)
    {
        var wrong = new List<string>();
        Note(await Timeouts.OnThread(() => client.Unary(Payloads.OfSize(bytes)).IsOfSize(bytes)), "blocking");
        Note(await UnaryAsync(client, bytes), "unary");
        Note(await ServerStreamAsync(client, bytes), "server-stream");
        Note(await ClientStreamAsync(client, bytes), "client-stream");
        Note(await DuplexAsync(client, bytes, 10), "duplex");
        return string.Join(',', wrong);

        void Note(bool isRight, string shape)
        {
            if (!isRight)
            {
                wrong.Add(shape);
            }
        }
    }

    /// <summary>Makes one call of a random shape and size; returns whether its answer was right.</summary>
    public static async Task<bool> RunRandomAsync(ScriptClient client, Random random)
    {
        // Mostly small messages, occasionally one larger than the window.
        int bytes = random.Next(10) == 0 ? random.Next(Largest) : random.Next(2000);
        return random.Next(5) switch
        {
            0 => client.Unary(Payloads.OfSize(bytes)).IsOfSize(bytes),
            1 => await UnaryAsync(client, bytes),
            2 => await ServerStreamAsync(client, bytes),
            3 => await ClientStreamAsync(client, bytes),
            _ => await DuplexAsync(client, bytes, random.Next(5)),
        };
    }

    private static async Task<bool> UnaryAsync(ScriptClient client, int bytes)
    {
        using AsyncUnaryCall<Payload> call = client.UnaryAsync(Payloads.OfSize(bytes));
        return (await call).IsOfSize(bytes);
    }

    private static async Task<bool> ServerStreamAsync(ScriptClient client, int bytes)
    {
        using AsyncServerStreamingCall<Payload> call = client.ServerStream(Payloads.OfSize(bytes));
        bool isRight = await call.ResponseStream.MoveNext(CancellationToken.None)
            && call.ResponseStream.Current.IsOfSize(bytes);
        return isRight & !await call.ResponseStream.MoveNext(CancellationToken.None);
    }

    private static async Task<bool> ClientStreamAsync(ScriptClient client, int bytes)
    {
        using AsyncClientStreamingCall<Payload, Payload> call = client.ClientStream();
        await call.RequestStream.WriteAsync(Payloads.OfSize(bytes, 1));
        await call.RequestStream.WriteAsync(Payloads.OfSize(bytes, 2));
        await call.RequestStream.CompleteAsync();
        return (await call).IsOfSize(bytes, 2);
    }

    private static async Task<bool> DuplexAsync(ScriptClient client, int bytes, int messages)
    {
        using AsyncDuplexStreamingCall<Payload, Payload> call = client.Duplex();
        bool isRight = true;
        for (int i = 0; i < messages; i++)
        {
            await call.RequestStream.WriteAsync(Payloads.OfSize(bytes, (ulong)i));
            isRight &= await call.ResponseStream.MoveNext(CancellationToken.None)
                && call.ResponseStream.Current.IsOfSize(bytes, (ulong)i);
        }

        await call.RequestStream.CompleteAsync();
        return isRight & !await call.ResponseStream.MoveNext(CancellationToken.None);
    }
}
