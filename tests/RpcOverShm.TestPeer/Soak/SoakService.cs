using Grpc.Core;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Soak;

namespace RpcOverShm.TestPeer.Soak;

/// <summary>
/// The methods of a soak, which the server serves, and each client for callbacks. They follow the plan of their call,
/// check every request, and write the begin and the end of every method to the ledger. Thread-safe.
/// </summary>
/// <param name="seed">The seed of the run.</param>
/// <param name="ledger">Gets begin and end of each method.</param>
/// <param name="journal">Gets the violations.</param>
/// <param name="callBack">Makes the callback of a call whose plan has one; null in a client.</param>
internal sealed class SoakService(
    ulong seed, Ledger ledger, SoakJournal journal, Func<SoakPlan, ServerCallContext, Task>? callBack = null)
{
    private int _running;
    private long _withoutPool;

    /// <summary>The number of methods that began while the pool had no free thread and could get none.</summary>
    public long WithoutPool => Interlocked.Read(ref _withoutPool);

    public ServerServiceDefinition Build() => ServerServiceDefinition.CreateBuilder()
        .AddMethod(SoakMethods.Unary, UnaryAsync)
        .AddMethod(SoakMethods.ServerStream, ServerStreamAsync)
        .AddMethod(SoakMethods.ClientStream, ClientStreamAsync)
        .AddMethod(SoakMethods.Duplex, DuplexAsync)
        .Build();

    /// <summary>Waits until every method has returned, which may be after its call was cut off.</summary>
    public Task WhenIdleAsync(TimeSpan bound) =>
        Timeouts.Eventually(() => Volatile.Read(ref _running) == 0, bound, "every method returns");

    private async Task<byte[]> UnaryAsync(byte[] request, ServerCallContext context)
    {
        byte[] response = [];
        await RunAsync(SoakShape.Unary, context, plan =>
        {
            SoakMessage.Check(request, plan, SoakSide.Client, 0);
            response = SoakMessage.Create(plan, SoakSide.Server, 0);
            return Task.CompletedTask;
        });
        return response;
    }

    private Task ServerStreamAsync(byte[] request, IServerStreamWriter<byte[]> responses, ServerCallContext context) =>
        RunAsync(SoakShape.ServerStream, context, async plan =>
        {
            SoakMessage.Check(request, plan, SoakSide.Client, 0);
            for (int i = 0; i < plan.Messages; i++)
            {
                await responses.WriteAsync(SoakMessage.Create(plan, SoakSide.Server, i));
            }
        });

    private async Task<byte[]> ClientStreamAsync(IAsyncStreamReader<byte[]> requests, ServerCallContext context)
    {
        byte[] response = [];
        await RunAsync(SoakShape.ClientStream, context, async plan =>
        {
            await ReadAllAsync(plan, requests, static _ => Task.CompletedTask);
            response = SoakMessage.Create(plan, SoakSide.Server, 0);
        });
        return response;
    }

    private Task DuplexAsync(
        IAsyncStreamReader<byte[]> requests, IServerStreamWriter<byte[]> responses, ServerCallContext context) =>
        RunAsync(SoakShape.Duplex, context, plan => ReadAllAsync(
            plan, requests, i => responses.WriteAsync(SoakMessage.Create(plan, SoakSide.Server, i))));

    private static async Task ReadAllAsync(SoakPlan plan, IAsyncStreamReader<byte[]> requests, Func<int, Task> onRead)
    {
        int count = 0;
        while (await requests.MoveNext(CancellationToken.None))
        {
            SoakMessage.Check(requests.Current, plan, SoakSide.Client, count);
            await onRead(count);
            count++;
        }

        if (count != plan.Messages)
        {
            throw new SoakViolationException($"The requests ended in order after {count} of {plan}.");
        }
    }

    private async Task RunAsync(SoakShape shape, ServerCallContext context, Func<SoakPlan, Task> method)
    {
        ulong id = SoakMethods.CallIdOf(context);
        Interlocked.Increment(ref _running);
        ledger.Append(LedgerEvent.Began, id, shape);
        CountWithoutPool();
        StatusCode status = StatusCode.Unknown;
        try
        {
            var plan = new SoakPlan(seed, id);
            SoakMethods.AddTrailer(context, id);
            await method(plan);
            if (plan.CallsBack)
            {
                await callBack!(plan, context);
            }

            await ActAsync(plan, context);
            status = StatusCode.OK;
        }
        catch (SoakViolationException exception)
        {
            journal.Violation(exception.Message);
            throw;
        }
        finally
        {
            ledger.Append(LedgerEvent.Returned, id, shape, status);
            Interlocked.Decrement(ref _running);
        }
    }

    private void CountWithoutPool()
    {
        ThreadPool.GetAvailableThreads(out int free, out _);
        if (free == 0)
        {
            Interlocked.Increment(ref _withoutPool);
        }
    }

    private static async Task ActAsync(SoakPlan plan, ServerCallContext context)
    {
        if (plan.IsHeld)
        {
            await Task.Delay(Timeout.Infinite, context.CancellationToken);
        }

        switch (plan.Act)
        {
            case SoakAct.Yield:
                await Task.Yield();
                break;
            case SoakAct.Delay:
                await Task.Delay(plan.ActMilliseconds);
                break;
            case SoakAct.Block:
                Thread.Sleep(plan.ActMilliseconds);
                break;
            case SoakAct.Refuse:
                throw new RpcException(new Status(StatusCode.Aborted, "as planned"));
        }
    }
}
