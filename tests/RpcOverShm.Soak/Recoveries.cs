namespace RpcOverShm.Soak;

/// <summary>
/// Measures the time from the end of each fault to the first answer that each client gets to a call started after it.
/// A fault that begins meanwhile ends the measurement. Any thread uses it.
/// </summary>
internal sealed class Recoveries
{
    private readonly Lock _gate = new();
    private readonly List<Recovery> _waiting = [];

    public TimeSpan Worst { get; private set; }

    public string WorstFault { get; private set; } = "none";

    public int Count { get; private set; }

    public void OnFaultBegins()
    {
        lock (_gate)
        {
            _waiting.Clear();
        }
    }

    public void OnFaultEnds(string fault, IEnumerable<int> clients)
    {
        long now = Stopwatch.GetTimestamp();
        lock (_gate)
        {
            _waiting.AddRange(clients.Select(client => new Recovery(fault, client, now)));
        }
    }

    public void OnAnswer(int client, long asked, long ended)
    {
        lock (_gate)
        {
            for (int i = _waiting.Count - 1; i >= 0; i--)
            {
                Recovery waiting = _waiting[i];
                if (waiting.Client != client || asked < waiting.Since)
                {
                    continue;
                }

                _waiting.RemoveAt(i);
                Count++;
                TimeSpan taken = Stopwatch.GetElapsedTime(waiting.Since, ended);
                if (taken > Worst)
                {
                    (Worst, WorstFault) = (taken, waiting.Fault);
                }
            }
        }
    }

    private readonly record struct Recovery(string Fault, int Client, long Since);
}
