using System.Collections.Concurrent;

namespace RpcOverShm.FunctionalTests.RandomEnds;

/// <summary>How calls of many callers have ended, and what was wrong with that.</summary>
internal sealed class CallNotes
{
    private readonly ConcurrentQueue<StatusCode> _statuses = new();
    private readonly ConcurrentQueue<string> _problems = new();

    /// <summary>A status for each call.</summary>
    public IReadOnlyCollection<StatusCode> Statuses => _statuses;

    public IReadOnlyCollection<string> Problems => _problems;

    /// <summary>The calls that were made.</summary>
    public WeakReferences Calls { get; } = new();

    public void NoteEnd(CallPlan plan, StatusCode status)
    {
        _statuses.Enqueue(status);
        if (!plan.Allows(status))
        {
            _problems.Enqueue($"{plan}: ended {status}");
        }
    }

    /// <summary>What was told of one end must be the same.</summary>
    public void NoteAnswers(CallPlan plan, params ReadOnlySpan<StatusCode> answers)
    {
        if (answers.ContainsAnyExcept(answers[0]))
        {
            _problems.Enqueue($"{plan}: told of its end {string.Join(", ", answers.ToArray())}");
        }
    }
}
