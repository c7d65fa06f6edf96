using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Tests.Linux;

namespace RpcOverShm.Tests.Links;

/// <summary>Handles that come and are named, one without the other, too many, and too late.</summary>
[LinuxOnly("Its handles are descriptors.")]
public class LinkHandlesTests
{
    private const int MaxHeld = 32;

    private readonly SocketPair _sockets = new();
    private readonly LogGuard _log = new();

    [TearDown]
    public void Close() => _sockets.Dispose();

    [Test]
    public void Handles_ThatNobodyNames_AreClosedAfterTheTimeLimit()
    {
        LinkHandles handles = Make(TimeSpan.FromMilliseconds(20));
        SafeHandle[] come = Pipes(3);

        handles.Receive(new HandleNotice(1, 3), come);

        Assert.That(() => handles.Held, Is.Zero.After(20_000, 5));
        Assert.That(come.All(static one => one.IsClosed));
        Assert.That(handles.Name(1), Is.Null);
    }

    [Test]
    public async Task Handles_ThatDoNotCome_AreLateAfterTheTimeLimit()
    {
        LinkHandles handles = Make(TimeSpan.FromMilliseconds(20));
        HandleSet set = handles.Name(1)!;

        Assert.That(await set.Arrival.Bounded(), Is.EqualTo(HandleArrival.Late));

        SafeHandle[] come = Pipes(1);
        handles.Receive(new HandleNotice(1, 1), come);
        Assert.That(() => come[0].IsClosed, Is.True.After(20_000, 5), "Nobody names it again.");
        Assert.That(() => handles.Held, Is.Zero.After(20_000, 5));
    }

    [Test]
    public async Task Handles_BeyondTheLimit_AreRefused()
    {
        LinkHandles handles = Make();
        handles.Receive(new HandleNotice(1, 16), Pipes(16));
        handles.Receive(new HandleNotice(2, 15), Pipes(15));
        HandleSet set = handles.Name(3)!;
        SafeHandle[] come = Pipes(2);

        handles.Receive(new HandleNotice(3, 2), come);

        Assert.That(await set.Arrival.Bounded(), Is.EqualTo(HandleArrival.Refused));
        Assert.That(set.TryTake(), Is.Null);
        Assert.That(() => come.All(static one => one.IsClosed), Is.True.After(20_000, 5));
        Assert.That(() => handles.Held, Is.EqualTo(31).After(20_000, 5));
        handles.Receive(new HandleNotice(4, 1), Pipes(1));
        Assert.That(handles.Name(4), Is.Not.Null);
        handles.Close();
    }

    [Test]
    public void Handles_FarBeyondTheLimit_AreAViolationAndClosed()
    {
        LinkHandles handles = Make();
        SafeHandle[] come = [.. Enumerable.Range(0, MaxHeld + 4097).Select(
            static _ => new SafeFileHandle(-1, ownsHandle: false))];

        Assert.That(
            () => handles.Receive(new HandleNotice(1, 1), come),
            Throws.TypeOf<ProtocolException>().With.Message.Contains("more than 4096 handles beyond"));

        Assert.That(() => come.All(static one => one.IsClosed), Is.True.After(20_000, 5));
    }

    [Test]
    public void Set_ThatIsNamedTwice_IsAViolationUnlessItWasHere()
    {
        LinkHandles handles = Make();
        Assert.That(handles.Name(1), Is.Not.Null);
        Assert.That(() => handles.Name(1), Throws.TypeOf<ProtocolException>());

        handles.Receive(new HandleNotice(1, 1), Pipes(1));

        Assert.That(handles.Name(1), Is.Null, "It is somebody else's.");
        handles.Close();
    }

    [Test]
    public void Sets_ThatAreNamedAndNeverCome_AreBounded()
    {
        LinkHandles handles = Make();
        for (int number = 1; number <= 1024; number++)
        {
            Assert.That(handles.Name(number), Is.Not.Null);
        }

        Assert.That(() => handles.Name(1025), Throws.TypeOf<ProtocolException>());
        handles.Close();
    }

    [Test]
    public void Name_OfNoSet_IsAViolation([Values(0, -1, long.MinValue)] long number) =>
        Assert.That(() => Make().Name(number), Throws.TypeOf<ProtocolException>());

    [Test]
    public async Task Close_EndsWhatWaits()
    {
        LinkHandles handles = Make();
        SafeHandle[] unnamed = Pipes(1);
        handles.Receive(new HandleNotice(1, 1), unnamed);
        HandleSet expected = handles.Name(2)!;

        handles.Close();

        Assert.That(await expected.Arrival.Bounded(), Is.EqualTo(HandleArrival.ConnectionEnded));
        Assert.That(() => unnamed[0].IsClosed, Is.True.After(20_000, 5));
        SafeHandle[] late = Pipes(1);
        handles.Receive(new HandleNotice(2, 1), late);
        Assert.That(() => late[0].IsClosed, Is.True.After(20_000, 5));
        Assert.That(() => handles.Held, Is.Zero.After(20_000, 5));
        Assert.That(await handles.Name(9)!.Arrival.Bounded(), Is.EqualTo(HandleArrival.ConnectionEnded));
    }

    [Test]
    public void Close_OfASetBeforeItsHandlesCome_ClosesThem()
    {
        LinkHandles handles = Make();
        handles.Name(1)!.Close();
        SafeHandle[] come = Pipes(2);

        handles.Receive(new HandleNotice(1, 2), come);

        Assert.That(() => come.All(static one => one.IsClosed), Is.True.After(20_000, 5));
        Assert.That(() => handles.Held, Is.Zero.After(20_000, 5));
    }

    [Test]
    public void Set_ThatIsForgotten_IsFoundByTheGarbageCollector()
    {
        LinkHandles handles = Make();
        Forget(handles);

        Assert.That(
            () =>
            {
                GC.Collect();
                return handles.Held;
            },
            Is.Zero.After(20_000, 5));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Forget(LinkHandles handles)
    {
        handles.Receive(new HandleNotice(1, 4), Pipes(4));
        Assert.That(handles.Name(1), Is.Not.Null);
    }

    private static SafeHandle[] Pipes(int count) =>
        [.. Enumerable.Range(0, count).Select(static _ => Descriptors.Pipe())];

    private LinkHandles Make(TimeSpan? limit = null) =>
        new(_sockets.ClientWire, MaxHeld, _log, "a peer") { TimeLimit = limit ?? TimeSpan.FromMinutes(1) };
}
