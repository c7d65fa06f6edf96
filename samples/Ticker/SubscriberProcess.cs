using System.Diagnostics;
using System.Globalization;

namespace RpcOverShm.Samples;

/// <summary>The process of a subscriber, as the publisher's process sees it.</summary>
internal sealed class SubscriberProcess(string name, Process process) : IDisposable
{
    /// <summary>The first argument of a subscriber.</summary>
    public const string Word = "subscriber";

    private static readonly TimeSpan s_longest = TimeSpan.FromMinutes(1);

    /// <summary>Starts a process of this program, and waits until its stream has begun.</summary>
    public static async Task<SubscriberProcess> StartAsync(string name, string address, bool maySkip = false)
    {
        var start = new ProcessStartInfo(Environment.ProcessPath!, [Word, address, $"{maySkip}"])
        {
            RedirectStandardOutput = true,
        };
        Process process = Process.Start(start) ?? throw new InvalidOperationException("A subscriber did not start.");
        var subscriber = new SubscriberProcess(name, process);
        await subscriber.ExpectAsync(Subscriber.Begun);
        return subscriber;
    }

    /// <summary>Waits for a line.</summary>
    public async Task ExpectAsync(string expected)
    {
        string? line = await ReadLineAsync();
        if (line != expected)
        {
            throw new InvalidOperationException($"The {name} subscriber said '{line}' instead of '{expected}'.");
        }
    }

    /// <summary>Ends the process as <c>kill -9</c> does.</summary>
    public async Task KillAsync()
    {
        process.Kill();
        await process.WaitForExitAsync().WaitAsync(s_longest);
    }

    /// <summary>
    /// Prints what the subscriber has seen, and checks it: it got the last tick, and was told of each that it missed.
    /// </summary>
    public async Task<bool> ReportAsync(long published, bool mayMiss)
    {
        string line = await ReadLineAsync() ?? "";
        await process.WaitForExitAsync().WaitAsync(s_longest);
        long[] facts = [.. line.Split(' ').Select(static fact => long.Parse(fact, CultureInfo.InvariantCulture))];
        if (facts is not [long first, long last, long missing, long announced] || process.ExitCode != 0)
        {
            throw new InvalidOperationException($"The {name} subscriber said '{line}'.");
        }

        bool isRight = last == published - 1 && missing == announced && (mayMiss || missing == 0);
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"The {name} subscriber read ticks {first} to {last}: {missing} are missing, {announced} were announced"
            + $"{(isRight ? "." : ": that is wrong.")}"));
        return isRight;
    }

    public void Dispose()
    {
        process.Kill(); // Does nothing if it has ended.
        process.Dispose();
    }

    private async Task<string?> ReadLineAsync() => await process.StandardOutput.ReadLineAsync().WaitAsync(s_longest);
}
