using Grpc.Core;

namespace RpcOverShm.Soak;

/// <summary>
/// The rules about callbacks and one-way calls: with them wrong, soak and storms would miss a failure, or invent one.
/// </summary>
[Category("Soak")]
internal sealed class CallBookTests
{
    private const SoakShape AnyShape = SoakShape.Unary;

    private readonly TestDirectory _directory = new();
    private SoakProcess _server = null!;
    private SoakProcess _client = null!;
    private SoakProcess _other = null!;
    private Outages _outages = null!;
    private Outages _faults = null!;
    private Findings _findings = null!;
    private CallBook _book = null!;

    private SoakCallId Call => new(_client.Instance, 0, 0);

    [OneTimeSetUp]
    public async Task StartProcessesAsync()
    {
        _server = await SoakProcess.StartAsync(_directory.Path, 1, isServer: true);
        _client = await SoakProcess.StartAsync(_directory.Path, 2, isServer: false);
        _other = await SoakProcess.StartAsync(_directory.Path, 3, isServer: false);
    }

    [OneTimeTearDown]
    public async Task EndProcessesAsync()
    {
        foreach (SoakProcess process in new[] { _server, _client, _other })
        {
            process.Ledger.Dispose();
            await process.DisposeAsync();
        }

        _directory.Dispose();
    }

    [SetUp]
    public void OpenBook()
    {
        _outages = new Outages();
        _faults = new Outages();
        _findings = new Findings();
        _book = new CallBook(1, _outages, _faults, new Recoveries(), _findings, () => _server.Peer.Id)
        {
            Recovery = TimeSpan.FromMinutes(1),
            ConnectTimeout = TimeSpan.FromMinutes(1),
        };
    }

    [Test]
    public void Callback_InItsClient_IsRight()
    {
        Tell(_client, LedgerEvent.Asked, Call);
        Tell(_server, LedgerEvent.Began, Call);
        Tell(_server, LedgerEvent.Asked, Call.Callback);
        Run(_client, Call.Callback);
        Tell(_server, LedgerEvent.Ended, Call.Callback);
        Tell(_server, LedgerEvent.Returned, Call);
        Tell(_client, LedgerEvent.Ended, Call);
        _book.Close(_ => false);

        Assert.That(_findings.Count, Is.Zero, _findings.ToString());
        Assert.That((_book.CountOf(isCallback: false), _book.CountOf(isCallback: true)), Is.EqualTo((1L, 1L)));
    }

    [Test]
    public void Callback_InAnotherClient_IsMisdelivered()
    {
        Tell(_server, LedgerEvent.Asked, Call.Callback);
        Run(_other, Call.Callback);
        Tell(_server, LedgerEvent.Ended, Call.Callback);
        _book.Close(_ => false);

        Assert.That((_findings.CountOf(CallBook.Misdelivered), _findings.Count), Is.EqualTo((1, 1)));
    }

    [Test]
    public void Callback_ThatIsAnsweredWithoutAMethod_IsMisdelivered()
    {
        Tell(_server, LedgerEvent.Asked, Call.Callback);
        Tell(_server, LedgerEvent.Ended, Call.Callback);
        _book.Close(_ => false);

        Assert.That((_findings.CountOf(CallBook.Misdelivered), _findings.Count), Is.EqualTo((1, 1)));
    }

    [Test]
    public void Callback_ThatRunsAgain_IsDoubled([Values] bool isAfterItsEnd)
    {
        Tell(_server, LedgerEvent.Asked, Call.Callback);
        Tell(_client, LedgerEvent.Began, Call.Callback);
        if (isAfterItsEnd)
        {
            Tell(_client, LedgerEvent.Returned, Call.Callback);
            Tell(_server, LedgerEvent.Ended, Call.Callback);
        }

        Run(_client, Call.Callback);
        _book.Close(_ => true);

        Assert.That((_findings.CountOf(CallBook.Doubled), _findings.Count), Is.EqualTo((1, 1)));
    }

    [Test]
    public void Callback_ThatNeverEnds_IsLost_UnlessItsServerIsGone([Values] bool isServerGone)
    {
        Tell(_server, LedgerEvent.Asked, Call.Callback);
        Run(_client, Call.Callback);
        _book.Close(process => process == _server && isServerGone);

        Assert.That(_findings.CountOf(CallBook.Lost), Is.EqualTo(isServerGone ? 0 : 1));
    }

    [Test]
    public void Callback_WhoseMethodNeverReturns_IsLost_UnlessItsClientIsGone([Values] bool isClientGone)
    {
        Tell(_server, LedgerEvent.Asked, Call.Callback);
        Tell(_client, LedgerEvent.Began, Call.Callback);
        Tell(_server, LedgerEvent.Ended, Call.Callback, AnyShape, StatusCode.DeadlineExceeded);
        _book.Close(process => process == _client && isClientGone);

        Assert.That(_findings.CountOf(CallBook.Lost), Is.EqualTo(isClientGone ? 0 : 1));
    }

    [TestCase(FaultKind.KillClient, true)]
    [TestCase(FaultKind.ReopenChannel, true)]
    [TestCase(FaultKind.StopClient, false)]
    public void Callback_ThatIsUnavailable_HasAClientThatLeft(FaultKind fault, bool isExplained)
    {
        Tell(_client, LedgerEvent.Asked, Call);
        Outage lasting = _faults.Begin(_client.Peer.Id, fault.ToString());
        Tell(_server, LedgerEvent.Asked, Call.Callback);
        Tell(_server, LedgerEvent.Ended, Call.Callback, AnyShape, StatusCode.Unavailable);
        _faults.End(lasting);

        Assert.That(_findings.CountOf(CallBook.UnavailableWithoutFault), Is.EqualTo(isExplained ? 0 : 1));
    }

    [Test]
    public void OneWayCall_ThatNeverRuns_IsLost_UnlessItsServerEnded([Values] bool hasServerEnded)
    {
        Tell(_client, LedgerEvent.Asked, Call, SoakShape.OneWay);
        Tell(_client, LedgerEvent.Ended, Call, SoakShape.OneWay);
        if (hasServerEnded)
        {
            _outages.Begin(null, nameof(FaultKind.KillServer));
        }

        _book.Close(_ => false);

        Assert.That(_findings.CountOf(CallBook.Lost), Is.EqualTo(hasServerEnded ? 0 : 1));
        Assert.That(_book.OneWayEndedWithServer, Is.EqualTo(hasServerEnded ? 1 : 0));
    }

    [Test]
    public void OneWayCall_WhoseMethodFails_IsRight_AndRunsOnce()
    {
        Tell(_client, LedgerEvent.Asked, Call, SoakShape.OneWay);
        Tell(_client, LedgerEvent.Ended, Call, SoakShape.OneWay);
        Run(_server, Call, StatusCode.Unknown);
        _book.Close(_ => false);
        int before = _findings.Count;

        Run(_server, Call);
        _book.Close(_ => false);

        Assert.That(before, Is.Zero, _findings.ToString());
        Assert.That(_findings.CountOf(CallBook.Doubled), Is.EqualTo(1));
    }

    private void Run(SoakProcess process, SoakCallId call, StatusCode status = StatusCode.OK)
    {
        Tell(process, LedgerEvent.Began, call);
        Tell(process, LedgerEvent.Returned, call, AnyShape, status);
    }

    private void Tell(
        SoakProcess process,
        LedgerEvent what,
        SoakCallId call,
        SoakShape shape = AnyShape,
        StatusCode status = StatusCode.OK) =>
        _book.Add(process, new LedgerEntry(call.Packed, Stopwatch.GetTimestamp(), 0, what, shape, (byte)status));
}
