namespace RpcOverShm.FunctionalTests.RandomEnds;

/// <summary>Makes calls by random plans, one after the other on one thread, and records their ends.</summary>
internal sealed class RandomCaller(ScriptClient client, Random random, CallNotes notes)
{
    private volatile CallPlan? _current;

    /// <summary>The plan of the current call; null before the first.</summary>
    public CallPlan? Current => _current;

    // No timeouts here: each call would need a timer. The test bounds its wait for the thread.
    public void MakeCalls(int count)
    {
        for (int i = 0; i < count; i++)
        {
            var plan = CallPlan.Next(random);
            _current = plan;
            StatusCode status = plan.Shape == CallShape.Blocking
                ? RunBlocking(plan)
                : RunAsync(plan).GetAwaiter().GetResult();
            notes.NoteEnd(plan, status);
        }
    }

    private StatusCode RunBlocking(CallPlan plan)
    {
        using var cancellation = new CancellationTokenSource();
        CancelBefore(plan, cancellation);
        Task interruption = InterruptAsync(plan, cancellation.Cancel);
        StatusCode status;
        try
        {
            client.Unary(Payloads.OfSize(plan.Bytes), plan.ToOptions(cancellation.Token));
            status = StatusCode.OK;
        }
        catch (RpcException exception)
        {
            status = exception.StatusCode;
        }

        interruption.GetAwaiter().GetResult();
        return status;
    }

    private async Task<StatusCode> RunAsync(CallPlan plan)
    {
        using var cancellation = new CancellationTokenSource();
        using var reads = new CancellationTokenSource();
        CancelBefore(plan, cancellation);
        using StartedCall call = StartedCall.Start(client, plan, cancellation.Token, reads.Token);
        notes.Calls.Add(call.Inside);
        Task interruption = InterruptAsync(plan, plan.Interruption switch
        {
            CallInterruption.Dispose => call.Dispose,
            CallInterruption.ReadToken => reads.Cancel,
            _ => cancellation.Cancel,
        });
        StatusCode seen = await call.EndAsync();
        await interruption;

        // A call ends once: its status stays the same after Dispose.
        StatusCode asked = await call.StatusAsync();
        call.Dispose();
        StatusCode askedAgain = await call.StatusAsync();
        notes.NoteAnswers(plan, seen, asked, askedAgain);
        return seen;
    }

    private static void CancelBefore(CallPlan plan, CancellationTokenSource cancellation)
    {
        if (plan is { Interruption: CallInterruption.Token, DelayMilliseconds: < 0 })
        {
            cancellation.Cancel();
        }
    }

    private static async Task InterruptAsync(CallPlan plan, Action interrupt)
    {
        if (plan.Interruption is CallInterruption.None or CallInterruption.Deadline)
        {
            return;
        }

        if (plan.DelayMilliseconds > 0)
        {
            await Task.Delay(plan.DelayMilliseconds);
        }
        else
        {
            await Task.Yield();
        }

        interrupt();
    }
}
