using System.Collections.Concurrent;
using System.Text.RegularExpressions;

namespace RpcOverShm.Soak;

/// <summary>Judges the texts that a process of the soak has left: violations, and log entries of the library.</summary>
internal sealed partial class JournalCheck(Outages outages, Outages faults, Findings findings)
{
    // Longer than a safety timeout and the wait for a late wake.
    private static readonly TimeSpan s_longestSleep = TimeSpan.FromSeconds(2);

    private const string OutOfMemoryName = nameof(OutOfMemoryException);
    private const int PeerViolation = 103;
    private const int ConnectionFailed = 104;
    private const int PeerComplained = 107;
    private const int UserCodeFailed = 108;

    private readonly ConcurrentDictionary<int, int> _logged = new();
    private readonly ConcurrentDictionary<int, string> _samples = new();
    private readonly List<(int ProcessId, long Begin, long End)> _stalls = [];
    private readonly List<(SoakProcess Process, SoakJournalLine Line)> _lateWakes = [];
    private readonly List<(SoakProcess Process, SoakJournalLine Line)> _failedCallbacks = [];
    private readonly Dictionary<int, SoakProcess> _clients = [];

    /// <summary>The number of log entries with each id.</summary>
    public IReadOnlyDictionary<int, int> Logged => _logged;

    /// <summary>The first log entry with each id.</summary>
    public IReadOnlyDictionary<int, string> Samples => _samples;

    /// <summary>The number of failures that a lack of memory or threads explains.</summary>
    public int OutOfMemory { get; private set; }

    /// <summary>Whether a text says that the runtime could not load code or prepare a type.</summary>
    public static bool IsAboutLack(string text) =>
        text.Contains("Could not load file or assembly", StringComparison.Ordinal)
        || text.Contains("The type initializer for 'System.", StringComparison.Ordinal)
        || (text.Contains("The type initializer for '", StringComparison.Ordinal)
            && text.Contains($"---> System.{OutOfMemoryName}", StringComparison.Ordinal));

    public void Read(SoakProcess process)
    {
        if (!process.IsServer)
        {
            _clients[process.Instance] = process;
        }

        foreach (SoakJournalLine line in SoakJournalLine.Read(process.JournalPath))
        {
            bool isViolation = line.Kind == SoakJournalLine.Violation;
            if (line.Kind == SoakJournalLine.Stall)
            {
                _stalls.Add((process.Peer.Id, line.Time - (line.EventId * (Stopwatch.Frequency / 1000)), line.Time));
                continue;
            }

            if (!isViolation)
            {
                _logged.AddOrUpdate(line.EventId, 1, (_, count) => count + 1);
                _samples.TryAdd(line.EventId, line.Text);
            }

            bool isByLack = IsAboutLack(line.Text) || line.Text.Contains(OutOfMemoryName, StringComparison.Ordinal);
            if (isByLack && IsLacking(process, line))
            {
                OutOfMemory++;
            }
            else if (isByLack && isViolation && process.IsServer)
            {
                _failedCallbacks.Add((process, line));
            }
            else if (line.EventId == LogGuard.LostWakeup && !isViolation)
            {
                _lateWakes.Add((process, line));
            }
            else if (isViolation || IsWrong(process, line))
            {
                findings.Add(isViolation ? "violation" : $"log event {line.EventId}", $"{process}: {line.Text}");
            }
        }
    }

    /// <summary>Judges what needs the journals of all processes.</summary>
    public void Close()
    {
        foreach ((SoakProcess process, SoakJournalLine line) in _lateWakes)
        {
            if (!HadPeerAFault(line))
            {
                findings.Add($"log event {line.EventId}", $"{process}: {line.Text}");
            }
        }

        foreach ((SoakProcess process, SoakJournalLine line) in _failedCallbacks)
        {
            if (ClientOf(line) is { } client && IsLacking(client, line))
            {
                OutOfMemory++;
            }
            else
            {
                findings.Add("violation", $"{process}: {line.Text}");
            }
        }
    }

    private bool IsWrong(SoakProcess process, SoakJournalLine line) => line.EventId switch
    {
        PeerViolation or PeerComplained => true,
        ConnectionFailed or UserCodeFailed => !IsLacking(process, line),
        _ => false,
    };

    // A peer that is stopped, or has no processor, after it has published and before it wakes, has not forgotten to.
    private bool HadPeerAFault(SoakJournalLine line)
    {
        int peer = int.Parse(PeerProcess().Match(line.Text).Groups[1].ValueSpan, CultureInfo.InvariantCulture);
        long since = line.Time - (long)(s_longestSleep.TotalSeconds * Stopwatch.Frequency);
        return faults.Explains(peer, line.Time, line.Time, s_longestSleep)
            || _stalls.Exists(stall => stall.ProcessId == peer && stall.Begin < line.Time && stall.End > since);
    }

    // The client of the callback that a line is about; its method lacked something, and its server reports that.
    private SoakProcess? ClientOf(SoakJournalLine line)
    {
        Match match = CallbackClient().Match(line.Text);
        return match.Success
            ? _clients.GetValueOrDefault(int.Parse(match.Groups[1].ValueSpan, CultureInfo.InvariantCulture))
            : null;
    }

    [GeneratedRegex(@"\bcallback (\d+)\.")]
    private static partial Regex CallbackClient();

    [GeneratedRegex(@" with process (\d+), ")]
    private static partial Regex PeerProcess();

    // Threads and memory are short by the soak's own doing.
    private bool IsLacking(SoakProcess process, SoakJournalLine line) => process.WasStarved || process.HasSmallHeap
        || outages.Explains(process.Instance, line.Time, line.Time, TimeSpan.Zero);
}
