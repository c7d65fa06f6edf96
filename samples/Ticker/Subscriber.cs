using System.Globalization;
using Grpc.Core;

namespace RpcOverShm.Samples;

/// <summary>
/// A process that reads the ticks to their end, and counts those that are not there and those that it is told of.
/// </summary>
internal static class Subscriber
{
    /// <summary>The line that a subscriber prints when its stream has begun.</summary>
    public const string Begun = "begun";

    /// <summary>The line that it prints after its first tick, if it is slow after its first gap.</summary>
    public const string Reading = "reading";

    // More for each tick than the publisher takes.
    private static readonly TimeSpan s_slowness = TimeSpan.FromMilliseconds(1);

    public static async Task<int> RunAsync(string address, bool isSlow)
    {
        using ShmChannel channel = ShmChannel.ForAddress(address);
        var client = new Ticker.TickerClient(channel);
        // snippet: subscribe
        using AsyncServerStreamingCall<Tick> call = client.Watch(new WatchRequest { MaySkip = isSlow });
        await call.ResponseHeadersAsync; // From here on, whatever is published is for this stream.
        // end snippet
        Console.WriteLine(Begun);
        (long first, long last, long missing) = await ReadAsync(call.ResponseStream, isSlow);

        // snippet: trailer
        string? skipped = call.GetTrailers().GetValue("rpcovershm-topic-skipped"); // null if nothing was left out
        // end snippet
        long announced = long.Parse(skipped ?? "0", CultureInfo.InvariantCulture);
        Console.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{first} {last} {missing} {announced}"));
        return 0;
    }

    private static async Task<(long First, long Last, long Missing)> ReadAsync(
        IAsyncStreamReader<Tick> ticks, bool isSlow)
    {
        long first = -1;
        long last = -1;
        long missing = 0;
        bool hasTold = false;
        while (await ticks.MoveNext(CancellationToken.None))
        {
            long number = ticks.Current.Sequence;
            first = first < 0 ? number : first;
            missing += last < 0 ? 0 : number - last - 1;
            if (number <= last)
            {
                throw new InvalidDataException($"Tick {number} came after tick {last}.");
            }

            last = number;
            if (!hasTold && (!isSlow || missing > 0))
            {
                Console.WriteLine(Reading);
                hasTold = true;
            }

            await (isSlow ? Task.Delay(s_slowness) : Task.CompletedTask);
        }

        return (first, last, missing);
    }
}
