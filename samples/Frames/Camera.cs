using System.Diagnostics;
using Grpc.Core;

namespace RpcOverShm.Samples;

/// <summary>
/// The source of the pipeline: it starts the other processes, draws frames and sends them to the filter.
/// </summary>
internal static class Camera
{
    // As many as there are stages, so that each has one to work at.
    private const int InFlight = 3;

    /// <summary>Runs the pipeline, and returns the time for each frame.</summary>
    public static async Task<TimeSpan> RunAsync(int frames, bool lends)
    {
        string name = $"shm://frames-{Environment.ProcessId}-{(lends ? "lent" : "copied")}";
        string toDisplay = name + "-display";
        string toFilter = name + "-filter";
        using Process display = await Stages.StartAsync("display", toDisplay, $"{lends}");
        using Process filter = await Stages.StartAsync("filter", toFilter, toDisplay, $"{lends}");
        try
        {
            return await SendAsync(toFilter, frames, lends);
        }
        finally
        {
            await Stages.StopAsync(filter);
            await Stages.StopAsync(display);
        }
    }

    private static async Task<TimeSpan> SendAsync(string address, int frames, bool lends)
    {
        using ShmChannel channel = ShmChannel.ForAddress(address, Stages.Options(lends));
        await channel.ConnectAsync();
        CallInvoker filter = channel.CreateCallInvoker();

        // The first frames make the memory for all others, and are not timed.
        await Task.WhenAll(Enumerable.Range(0, InFlight).Select(i => SendOneAsync(channel, filter, i)));

        long begun = Stopwatch.GetTimestamp();
        var calls = new Queue<Task>();
        for (int i = 0; i < frames; i++)
        {
            if (calls.Count == InFlight)
            {
                await calls.Dequeue();
            }

            calls.Enqueue(SendOneAsync(channel, filter, i));
        }

        await Task.WhenAll(calls);
        return Stopwatch.GetElapsedTime(begun) / frames;
    }

    private static async Task SendOneAsync(ShmChannel channel, CallInvoker filter, int number)
    {
        // snippet: rent
        using ShmPayload frame = channel.RentPayload(Frame.Bytes);
        Frame.Draw(frame.Memory.Span, number);
        using ShmPayload done = await filter.AsyncUnaryCall(Stages.Show, null, Stages.Numbered(number), frame);
        // end snippet
    }
}
