using System.Collections.Concurrent;
using System.Runtime.InteropServices;
using RpcOverShm.Diagnostics;
using RpcOverShm.Linux;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Linux;

namespace RpcOverShm.Tests.Systems;

[LinuxOnly("Descriptors whose close hangs.")]
[NonParallelizable]
public class ForeignHandlesTests
{
    private readonly ForeignHandles _handles = new();
    private readonly ManualResetEventSlim _mayEnd = new();
    private readonly ConcurrentQueue<Thread> _closedBy = new();

    [TearDown]
    public void EndAll()
    {
        BackgroundThread.Refuses = null;
        _mayEnd.Set();
        Assert.That(() => _handles.Waiting + _handles.Closing, Is.Zero.After(20_000, 5));
    }

    [Test]
    public void Close_OfAHandle_HappensOnAnotherThread()
    {
        _handles.Close(new SlowHandle(this, isSlow: false));

        Assert.That(() => _closedBy, Has.Count.EqualTo(1).After(20_000, 5));
        Assert.That(_closedBy.Single(), Is.Not.SameAs(Thread.CurrentThread));
        Assert.That(_closedBy.Single().Name, Is.EqualTo("RpcOverShm closing"));
    }

    [Test]
    public void Close_WithoutAThread_HappensOnThePool()
    {
        BackgroundThread.Refuses = name => name == "RpcOverShm closing";

        _handles.Close(new SlowHandle(this, isSlow: false));

        Assert.That(() => _closedBy, Has.Count.EqualTo(1).After(20_000, 5));
        Assert.That(_closedBy.Single(), Is.Not.SameAs(Thread.CurrentThread));
        Assert.That(_closedBy.Single().IsThreadPoolThread);
    }

    [Test]
    public void Close_WithoutMemoryForAThread_WaitsForTheNext()
    {
        BackgroundThread.Refuses = name =>
            name == "RpcOverShm closing" ? throw new InsufficientMemoryException(name) : false;
        _handles.Close(new SlowHandle(this, isSlow: false));
        Assert.That((_handles.Waiting, _handles.Closing), Is.EqualTo((1, 0)));
        BackgroundThread.Refuses = null;

        _handles.Close(new SlowHandle(this, isSlow: false));

        Assert.That(() => _closedBy, Has.Count.EqualTo(2).After(20_000, 5));
    }

    [Test]
    public void Close_OfManyHandles_NeedsFewThreads()
    {
        for (int i = 0; i < 500; i++)
        {
            _handles.Close(new SlowHandle(this, isSlow: false));
        }

        Assert.That(() => _closedBy, Has.Count.EqualTo(500).After(20_000, 5));
        Assert.That(_closedBy.Distinct().Count(), Is.LessThanOrEqualTo(ForeignHandles.MaxThreads));
    }

    [Test]
    public void Close_BesideOnesThatHang_GoesOnBelowTheBoundOfThreadsAndStopsAtIt()
    {
        for (int i = 1; i < ForeignHandles.MaxThreads; i++)
        {
            _handles.Close(new SlowHandle(this, isSlow: true));
        }

        _handles.Close(new SlowHandle(this, isSlow: false));
        Assert.That(() => _closedBy, Has.Count.EqualTo(1).After(20_000, 5));

        _handles.Close(new SlowHandle(this, isSlow: true));
        Assert.That(() => _handles.Closing, Is.EqualTo(ForeignHandles.MaxThreads).After(20_000, 5));
        for (int i = 0; i < ForeignHandles.MaxWaiting - 1; i++)
        {
            _handles.Close(new SlowHandle(this, isSlow: false));
        }

        Assert.That(_handles.IsFull, Is.False, "One below the bound.");
        _handles.Close(new SlowHandle(this, isSlow: false));
        Assert.That(_handles.IsFull);
        Assert.That(_handles.Closing, Is.EqualTo(ForeignHandles.MaxThreads));

        _mayEnd.Set();
        Assert.That(() => _handles.Waiting + _handles.Closing, Is.Zero.After(20_000, 5));
        Assert.That(_handles.IsFull, Is.False);
        Assert.That(_closedBy, Has.Count.EqualTo(1 + ForeignHandles.MaxThreads + ForeignHandles.MaxWaiting));
    }

    [Test]
    public void Close_OfASocket_EndsItForThePeerAtOnce()
    {
        using var sockets = new SocketPair();
        for (int i = 0; i < ForeignHandles.MaxThreads; i++)
        {
            _handles.Close(new SlowHandle(this, isSlow: true));
        }

        _handles.Close(sockets.ServerWire);

        Assert.That(DescriptorPassing.IsAtEnd(sockets.Client.SafeHandle));
        _mayEnd.Set();
        Assert.That(() => sockets.Server.SafeHandle.IsClosed, Is.True.After(20_000, 5));
    }

    [Test]
    public void Close_OfASocketWithoutUnreadData_DoesNotWaitForClosesThatHang([Values] bool hasData)
    {
        using var sockets = new SocketPair();
        for (int i = 0; i < ForeignHandles.MaxThreads; i++)
        {
            _handles.Close(new SlowHandle(this, isSlow: true));
        }

        sockets.Client.Send(hasData ? "x"u8 : []);
        _handles.Close(sockets.ServerWire);

        Assert.That(() => _handles.Waiting, Is.EqualTo(hasData ? 1 : 0).After(20_000, 5));
        if (!hasData)
        {
            Assert.That(() => sockets.Server.SafeHandle.IsClosed, Is.True.After(20_000, 5));
        }

        _mayEnd.Set();
    }

    [Test]
    public void Close_OfAClosedSocket_DoesNothing()
    {
        var wire = new SocketWire(UnixSockets.New());
        wire.Dispose();

        Assert.That(() => _handles.Close(wire), Throws.Nothing);
    }

    private sealed class SlowHandle : SafeHandle
    {
        private readonly ForeignHandlesTests _test;
        private readonly bool _isSlow;

        public SlowHandle(ForeignHandlesTests test, bool isSlow)
            : base(0, ownsHandle: true)
        {
            _test = test;
            _isSlow = isSlow;
            SetHandle(1);
        }

        public override bool IsInvalid => false;

        protected override bool ReleaseHandle()
        {
            if (_isSlow)
            {
                _test._mayEnd.Wait(Timeouts.Wait);
            }

            _test._closedBy.Enqueue(Thread.CurrentThread);
            return true;
        }
    }
}
