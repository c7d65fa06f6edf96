using System.Globalization;
using RpcOverShm.TestPeer.Traces;

namespace RpcOverShm.Tests.House;

/// <summary>The warm calls of one side: what <see cref="MethodTrace.Write"/> has written.</summary>
internal sealed class CallTrace
{
    // A round of a thread that spins has at most so many methods.
    private const int LongestRound = 60;

    private readonly Func<int, TracedFile> _fileOf;
    private readonly List<TracedCall> _calls = [];

    /// <summary>Reads a line for each thread, of the numbers of methods.</summary>
    public CallTrace(Func<int, TracedFile> fileOf, IEnumerable<string> threads)
    {
        _fileOf = fileOf;
        foreach (string thread in threads)
        {
            Read([.. thread.Split(' ').Select(word => int.Parse(word, CultureInfo.InvariantCulture))]);
        }
    }

    /// <summary>The calls, each between two marks of a thread. A server's mark stands in the method.</summary>
    public IReadOnlyList<TracedCall> Calls => _calls;

    /// <summary>The calls in which the side neither slept nor woke the other one.</summary>
    public TracedCall[] AwakeCalls => [.. _calls.Where(
        call => !call.Steps.Any(step => step.Path.EndsWith("/FutexSignal.cs", StringComparison.Ordinal)))];

    /// <summary>Returns the files that work in at least this share of some calls.</summary>
    public static IEnumerable<TracedFile> FilesIn(IReadOnlyCollection<TracedCall> calls, double share) =>
        calls.SelectMany(call => call.Files).GroupBy(file => file)
            .Where(group => group.Count() >= share * calls.Count)
            .Select(group => group.Key);

    private void Read(int[] entries)
    {
        List<TracedFile>? steps = null;
        foreach (int entry in entries)
        {
            if (entry != MethodTrace.Mark)
            {
                steps?.Add(_fileOf(entry));
                continue;
            }

            if (steps is not null)
            {
                _calls.Add(new TracedCall(WithoutRounds(steps)));
            }

            steps = [];
        }
    }

    // What repeats at once, such as the rounds of a thread that spins, counts once.
    private static List<TracedFile> WithoutRounds(List<TracedFile> steps)
    {
        var once = new List<TracedFile>();
        foreach (TracedFile step in steps)
        {
            once.Add(step);
            for (int length = 1; length <= Math.Min(LongestRound, once.Count / 2); length++)
            {
                if (Enumerable.Range(1, length).All(i => once[^i] == once[^(i + length)]))
                {
                    once.RemoveRange(once.Count - length, length);
                    break;
                }
            }
        }

        return once;
    }
}

/// <summary>One call of one side: its files in the order of their steps.</summary>
internal sealed record TracedCall(IReadOnlyList<TracedFile> Steps)
{
    public IReadOnlySet<TracedFile> Files { get; } = Steps.ToHashSet();

    /// <summary>The number of times that the thread goes to a room of another level, or comes back.</summary>
    public int LevelChanges { get; } = Steps.Zip(Steps.Skip(1)).Count(pair => pair.First.Level != pair.Second.Level);
}
