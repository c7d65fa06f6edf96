using System.Diagnostics;
using System.Globalization;
using System.Text;
using Microsoft.Extensions.Logging;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Soak;

namespace RpcOverShm.TestPeer.Soak;

/// <summary>
/// The text that one process of a soak leaves for the supervisor: violations, the library's warnings and errors, and
/// the times in which a thread that was due to run had no processor.
/// Its file is opened first, because later the process may have no descriptor for it. Any thread writes.
/// </summary>
internal sealed class SoakJournal : PlainLogger
{
    private static readonly TimeSpan s_look = TimeSpan.FromMilliseconds(200);
    private static readonly TimeSpan s_stall = TimeSpan.FromMilliseconds(300);
    private static readonly TimeSpan s_lack = TimeSpan.FromMilliseconds(100);

    private readonly FileStream _file;
    private readonly byte[] _outOfMemory = Encoding.UTF8.GetBytes(
        $"{SoakJournalLine.Violation}\t0\t0\tA worker had no memory: {nameof(OutOfMemoryException)}.\n");
    private readonly Lock _gate = new();

    public SoakJournal(string path)
    {
        _file = new FileStream(path, FileMode.Create, FileAccess.Write, FileShare.Read, bufferSize: 0);
        TaskScheduler.UnobservedTaskException += OnUnobserved;
        new Thread(WatchStalls) { IsBackground = true, Name = "Soak stalls" }.Start();
    }

    /// <summary>Writes that the library has broken a promise, which fails the soak.</summary>
    public void Violation(string text) => Write(SoakJournalLine.Violation, 0, text);

    /// <summary>
    /// Writes that a worker has no memory, which fails the soak unless the process was starved, and waits a little: no
    /// event tells that there is memory again. Allocates nothing.
    /// </summary>
    public void OutOfMemory()
    {
        lock (_gate)
        {
            _file.Write(_outOfMemory);
        }

        Thread.Sleep(s_lack);
    }

    public override bool IsEnabled(LogLevel logLevel) => logLevel >= LogLevel.Warning;

    public override void Dispose()
    {
        TaskScheduler.UnobservedTaskException -= OnUnobserved;
        _file.Dispose();
        base.Dispose();
    }

    protected override void Write(LogLevel level, EventId id, string text, Exception? exception) =>
        Write(SoakJournalLine.Log, id.Id, $"{level}: {text} {exception}");

    private void OnUnobserved(object? sender, UnobservedTaskExceptionEventArgs arguments) =>
        Violation($"A task's exception was not observed: {arguments.Exception}");

    private void WatchStalls()
    {
        while (true)
        {
            long begin = Stopwatch.GetTimestamp();
            Thread.Sleep(s_look);
            TimeSpan late = Stopwatch.GetElapsedTime(begin) - s_look;
            if (late > s_stall)
            {
                Write(SoakJournalLine.Stall, (int)late.TotalMilliseconds, "");
            }
        }
    }

    private void Write(string kind, int id, string text)
    {
        string line = string.Create(
            CultureInfo.InvariantCulture,
            $"{kind}\t{Stopwatch.GetTimestamp()}\t{id}\t{text.ReplaceLineEndings(" ")}\n");
        byte[] bytes = Encoding.UTF8.GetBytes(line);
        lock (_gate)
        {
            _file.Write(bytes);
        }
    }
}
