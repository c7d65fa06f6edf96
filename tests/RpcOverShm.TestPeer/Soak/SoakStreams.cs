using System.Buffers.Binary;
using Grpc.Core;
using RpcOverShm.Testing.Soak;

namespace RpcOverShm.TestPeer.Soak;

/// <summary>
/// Both ends of a byte stream that stands for one call: the client writes the call's id and a message, the server a
/// message and the id. So an answer without bytes differs from the end of a server that failed.
/// </summary>
internal static class SoakStreams
{
    private const int IdBytes = 8;

    /// <summary>Returns the address of the byte streams beside a server of calls.</summary>
    public static string AddressFor(string address) => address + "-bytes";

    public static async Task CallAsync(ShmStream stream, SoakPlan plan, CancellationToken token)
    {
        Task writing = WriteRequestAsync(stream, plan, token);
        byte[] response = new byte[plan.SizeOf(SoakSide.Server, 0)];
        try
        {
            await stream.ReadExactlyAsync(response, token);
            SoakMessage.Check(response, plan, SoakSide.Server, 0);
            byte[] id = new byte[IdBytes];
            await stream.ReadExactlyAsync(id, token);
            if (BinaryPrimitives.ReadUInt64LittleEndian(id) != plan.CallId)
            {
                throw new SoakViolationException($"Another call's id ends the answer of {plan}.");
            }

            if (await stream.ReadAsync(new byte[1], token) != 0)
            {
                throw new SoakViolationException($"A byte follows the end of {plan}.");
            }
        }
        finally
        {
            // A failed read ends the stream, and so the write.
            await stream.DisposeAsync();
            await writing.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }

    /// <summary>Serves one stream; does not throw.</summary>
    public static async Task ServeAsync(ShmStream stream, ulong seed, Ledger ledger, SoakJournal journal)
    {
        try
        {
            await using (stream)
            {
                await ServeOneAsync(stream, seed, ledger);
            }
        }
        catch (Exception exception) when (exception is IOException or ObjectDisposedException)
        {
            // The client has died or given up.
        }
        catch (Exception exception)
        {
            journal.Violation($"A byte stream: {exception}");
        }
    }

    private static async Task ServeOneAsync(ShmStream stream, ulong seed, Ledger ledger)
    {
        byte[] id = new byte[IdBytes];
        await stream.ReadExactlyAsync(id);
        ulong callId = BinaryPrimitives.ReadUInt64LittleEndian(id);
        ledger.Append(LedgerEvent.Began, callId, SoakShape.Bytes);
        StatusCode status = StatusCode.Unknown;
        try
        {
            var plan = new SoakPlan(seed, callId);
            byte[] request = new byte[plan.SizeOf(SoakSide.Client, 0)];
            await stream.ReadExactlyAsync(request);
            SoakMessage.Check(request, plan, SoakSide.Client, 0);
            await stream.WriteAsync(SoakMessage.Create(plan, SoakSide.Server, 0));
            await stream.WriteAsync(id);
            status = StatusCode.OK;
        }
        finally
        {
            // The client ends the call OK only after the stream's end, which follows.
            ledger.Append(LedgerEvent.Returned, callId, SoakShape.Bytes, status);
        }
    }

    private static async Task WriteRequestAsync(ShmStream stream, SoakPlan plan, CancellationToken token)
    {
        byte[] id = new byte[IdBytes];
        BinaryPrimitives.WriteUInt64LittleEndian(id, plan.CallId);
        await stream.WriteAsync(id, token);
        await stream.WriteAsync(SoakMessage.Create(plan, SoakSide.Client, 0), token);
    }
}
