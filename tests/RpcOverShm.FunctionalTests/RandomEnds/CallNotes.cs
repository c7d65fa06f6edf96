using System.Collections.Concurrent;

namespace RpcOverShm.FunctionalTests.RandomEnds;

/// <summary>Records the statuses of many callers' calls, and the wrong ones among them.</summary>
internal sealed class CallNotes
{
    private readonly ConcurrentQueue<StatusCode> _statuses = new();
    private readonly ConcurrentQueue<string> _problems = new();

    public IReadOnlyCollection<StatusCode> Statuses => _statuses;

    public IReadOnlyCollection<string> Problems => _problems;

    public WeakReferences Calls { get; } = new();

    public void NoteEnd(CallPlan plan, StatusCode status)
    {
        _statuses.Enqueue(status);
        if (!plan.Allows(status))
        {
            _problems.Enqueue($"{plan}: ended {status}");
        }
    }

    /// <summary>Records a problem if one call has reported different statuses.</summary>
    public void NoteAnswers(CallPlan plan, params ReadOnlySpan<StatusCode> answers)
    {
        if (answers.ContainsAnyExcept(answers[0]))
        {
            _problems.Enqueue($"{plan}: told of its end {string.Join(", ", answers.ToArray())}");
        }
    }
}
