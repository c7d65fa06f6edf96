using System.Diagnostics.CodeAnalysis;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;
using RpcOverShm.Systems;

namespace RpcOverShm.Links;

/// <summary>
/// The programs that read the statistics of a server, such as <c>rpcshm top</c>, and the page that they read. The page
/// is made for the first reader and written by a timer until the last one has gone. Without readers nothing runs.
/// Thread-safe.
/// </summary>
[SuppressMessage("Design", "CA1001", Justification = "The page is disposed when the last reader has gone, or by Stop.")]
internal sealed class StatisticsReaders
{
    /// <summary>The most readers at a time. A reader costs a descriptor.</summary>
    public const int MaxReaders = 4;

    /// <summary>The most requests that wait at a time.</summary>
    public const int MaxRequests = 16;

    /// <summary>The time between two writes of the page.</summary>
    public static readonly TimeSpan Interval = TimeSpan.FromMilliseconds(500);

    private static readonly string s_requestLimit = $"{nameof(StatisticsReaders)}.{nameof(MaxRequests)}";
    private static readonly string s_limit = $"{nameof(StatisticsReaders)}.{nameof(MaxReaders)}";

    private readonly ConnectionSettings _settings;
    private readonly Func<int, StatisticsPage> _collect;
    private readonly Action _onUnwatched;
    private readonly UninterruptibleLock _lock = new();
    private readonly List<Wire> _readers = [];
    private int _asked; // requests that wait for a thread of the pool, or are being answered
    private readonly BackgroundTimer _timer;
    private SharedPage? _page;
    private byte[] _content = []; // of the page, while there is one
    private bool _isStopped;

    /// <param name="settings">The settings of the server's connections.</param>
    /// <param name="collect">Returns the statistics, with at most so many rows. Called under the lock.</param>
    /// <param name="onUnwatched">Called when the last reader has gone.</param>
    public StatisticsReaders(ConnectionSettings settings, Func<int, StatisticsPage> collect, Action onUnwatched)
    {
        _settings = settings;
        _collect = collect;
        _onUnwatched = onUnwatched;
        _timer = new BackgroundTimer(static readers => ((StatisticsReaders)readers!).Update(), this);
    }

    /// <summary>
    /// Answers a client, on a thread of the pool: it is the door that calls this, which makes no memory. Who may not
    /// read, and who asks while too many others do, is refused at once.
    /// </summary>
    public void Answer(StatisticsRequest request)
    {
        // Root can read the memory of any process.
        if (!request.Client.IsTrusted)
        {
            ServerHandshake.Refuse(
                request.Wire,
                _settings,
                RefusalReason.AccessDenied,
                "Access denied. Only the user of a server and root may read its statistics.");
            return;
        }

        if (Interlocked.Increment(ref _asked) > MaxRequests)
        {
            Interlocked.Decrement(ref _asked);
            var reached = new ReachedLimit(
                s_requestLimit, MaxRequests, $"{MaxRequests} programs wait for its statistics");
            ServerHandshake.RefuseFull(request.Wire, _settings, reached);
            return;
        }

        PoolWork.Queue(static work => work.Readers.Admit(work.Request), (Readers: this, Request: request));
    }

    /// <summary>Lets all readers go. Called once, when the server has stopped.</summary>
    public void Stop()
    {
        using (_lock.Enter())
        {
            _isStopped = true;
            _readers.ForEach(ForeignHandles.Shared.Close);
            _readers.Clear();
            EndPage();
        }

        _timer.Dispose();
    }

    private void Admit(StatisticsRequest request)
    {
        try
        {
            using (_lock.Enter())
            {
                Add(request);
            }
        }
        catch (Exception exception)
        {
            // No failure, not even a lack of memory, may end the process: nobody else would catch it here.
            ServerHandshake.Refuse(request.Wire, _settings, RefusalReason.NoResources, exception.Message);
        }
        finally
        {
            Interlocked.Decrement(ref _asked);
        }
    }

    private void Add(StatisticsRequest request)
    {
        RemoveGone();
        if (_isStopped)
        {
            ServerHandshake.Refuse(request.Wire, _settings, RefusalReason.Stopping, "The server is stopping.");
            return;
        }

        if (_readers.Count >= MaxReaders)
        {
            var reached = new ReachedLimit(
                s_limit, MaxReaders, $"{_readers.Count} programs read its statistics");
            ServerHandshake.RefuseFull(request.Wire, _settings, reached);
            return;
        }

        try
        {
            if (_page is null)
            {
                _page = SharedPage.Create();
                _content = new byte[SharedPage.ContentBytes];
            }

            Write(_page);
            var answer = new Hello
            {
                Type = HelloType.Server,
                Purpose = ConnectionPurpose.Statistics,
                LowestVersion = request.Version,
                HighestVersion = request.Version,
                Features = request.Hello.Features & Hello.KnownFeatures,
                ConnectionId = request.Hello.ConnectionId,
                Limits = _settings.Limits with { RingCapacity = SharedPage.SizeBytes },
            };
            request.Wire.Send(answer.Encode(), [_page.Handle]);
            _readers.Add(request.Wire);
            _timer.Change(Interval, Interval);
        }
        finally
        {
            EndPageIfUnread();
        }
    }

    private void Update()
    {
        using (_lock.Enter())
        {
            RemoveGone();
            EndPageIfUnread();
            try
            {
                if (_page is not null)
                {
                    Write(_page);
                }
            }
            catch (OutOfMemoryException)
            {
                // The page stays as it is until the next time. Nobody else would catch it on a timer's thread.
            }
        }
    }

    private void Write(SharedPage page) =>
        page.Write(_collect(StatisticsPage.MostRows(_content.Length)).Encode(_content));

    // A reader sends nothing after its hello, so what can be read is its end.
    private void RemoveGone() => _readers.RemoveAll(static reader =>
    {
        bool hasGone = reader.IsReadable(timeoutMilliseconds: 0);
        if (hasGone)
        {
            ForeignHandles.Shared.Close(reader);
        }

        return hasGone;
    });

    private void EndPageIfUnread()
    {
        if (_readers.Count == 0)
        {
            EndPage();
        }
    }

    private void EndPage()
    {
        if (_page is not null)
        {
            _timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
            _page.Dispose();
            _page = null;
            _content = [];
            _onUnwatched();
        }
    }
}
