namespace RpcOverShm.FunctionalTests.Sequences;

/// <summary>Methods of all shapes that take the steps named in their call's metadata.</summary>
internal static class SequenceMethods
{
    public const string Planned = "planned";
    public const string TrailerKey = "trailer";
    public const string HeaderKey = "early";
    public const string StepsKey = "steps";

    // Usually long enough for earlier frames to arrive; the comparison repeats sequences that depend on it.
    private static readonly TimeSpan s_pause = TimeSpan.FromMilliseconds(10);

    // Longer than the client's pause.
    private static readonly TimeSpan s_longPause = TimeSpan.FromMilliseconds(70);

    public static Script Script => new()
    {
        Unary = (_, context) => RunAsync(null, null, context),
        ClientStream = (requests, context) => RunAsync(requests, null, context),
        ServerStream = (_, responses, context) => RunAsync(null, responses, context),
        Duplex = RunAsync,
    };

    private static async Task<Payload> RunAsync(
        IAsyncStreamReader<Payload>? requests, IServerStreamWriter<Payload>? responses, ServerCallContext context)
    {
        int read = 0;
        int written = 0;
        foreach (char step in context.RequestHeaders.GetValue(StepsKey)!)
        {
            switch (step)
            {
                case 'h' when written == 0:
                    written++;
                    await context.WriteResponseHeadersAsync(new Metadata { { HeaderKey, "h" } });
                    break;
                case 'm':
                    written++;
                    await responses!.WriteAsync(Payloads.Of("m"));
                    break;
                case 'r':
                    read += await requests!.MoveNext(CancellationToken.None) ? 1 : 0;
                    break;
                case 'p':
                    await Task.Delay(s_pause);
                    break;
                case 'P':
                    await Task.Delay(s_longPause);
                    break;
                case 't':
                    context.ResponseTrailers.Add(TrailerKey, "t");
                    break;
                case 's':
                    throw new RpcException(
                        new Status(StatusCode.Aborted, Planned), new Metadata { { TrailerKey, "s" } });
                case 'x':
                    throw new InvalidOperationException(Planned);
                case 'k':
                    await Task.Delay(Timeout.Infinite, context.CancellationToken);
                    break;
            }
        }

        return Payloads.Of($"read {read}");
    }
}
