using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Loans;

namespace RpcOverShm.Tests.Links;

/// <summary>Handles of calls on the socket of a link that has agreed on them, and what may not come there.</summary>
[LinuxOnly("Windows passes no handles after the handshake.")]
public class HandleSocketTests
{
    private const string Pipes = "pipe:";

    private LoanLinks _links = null!;

    private PeerLink Link => _links.Client;

    private LinkHandles Handles => Link.Handles!;

    [SetUp]
    public void Open() => _links = new LoanLinks(features: Hello.HandlesFeature);

    [TearDown]
    public void Close() => _links.Dispose();

    [TestCase(0, 0)]
    [TestCase(1, 0)]
    [TestCase(3, 1)]
    [TestCase(40, 5)]
    public async Task Notice_BetweenDoorbells_IsTaken(int before, int after)
    {
        using SafeFileHandle pipe = Descriptors.Pipe();
        for (int i = 0; i < before; i++)
        {
            Ring();
        }

        Send(new HandleNotice(1, 2), pipe, 2);
        for (int i = 0; i < after; i++)
        {
            Ring();
        }

        Start();

        Assert.That(() => Handles.Held, Is.EqualTo(2).After(20_000, 5));
        HandleSet set = Handles.Name(1)!;
        Assert.That(await set.Arrival.Bounded(), Is.EqualTo(HandleArrival.Here));
        SafeHandle[] taken = set.TryTake()!;
        Assert.That((taken.Length, set.TryTake(), Handles.Held), Is.EqualTo((2, (SafeHandle[]?)null, 0)));
        Array.ForEach(taken, static one => one.Dispose());
    }

    [Test]
    public async Task Notice_OfASetThatWasNamedBefore_GivesItsHandles()
    {
        using SafeFileHandle pipe = Descriptors.Pipe();
        Start();
        HandleSet set = Handles.Name(1)!;
        Assert.That(set.Arrival.IsCompleted, Is.False);

        Send(new HandleNotice(1, 16), pipe, 16);

        Assert.That(await set.Arrival.Bounded(), Is.EqualTo(HandleArrival.Here));
        Assert.That(set.TryTake(), Has.Length.EqualTo(16));
    }

    [Test]
    public void Notices_BeyondTheLimit_AreClosedAndTheLinkGoesOn()
    {
        using SafeFileHandle pipe = Descriptors.Pipe();
        int before = ProcessResources.CountDescriptors(Pipes);
        Start();
        for (int number = 1; number <= 40; number++)
        {
            SendWhenRead(new HandleNotice(number, 1), pipe);
        }

        Assert.That(() => Handles.Held, Is.EqualTo(LoanLinks.MaxHeld).After(20_000, 5));
        Assert.That(() => Handles.Name(40), Is.Null.After(20_000, 5), "It was closed.");
        Assert.That(
            () => ProcessResources.CountDescriptors(Pipes), Is.EqualTo(before + LoanLinks.MaxHeld).After(20_000, 5));
        Handles.Name(1)!.Close();
        Assert.That(() => Handles.Held, Is.EqualTo(LoanLinks.MaxHeld - 1).After(20_000, 5));
        SendWhenRead(new HandleNotice(41, 1), pipe);
        Assert.That(() => Handles.Held, Is.EqualTo(LoanLinks.MaxHeld).After(20_000, 5));
        Assert.That(Link.IsClosed, Is.False);
    }

    [TestCase(0, 1)]
    [TestCase(1, 2)]
    [TestCase(3, 2)]
    [TestCase(16, 1)]
    [TestCase(1, 16)]
    public void Notice_WithAnotherNumberOfDescriptors_IsAViolation(int descriptors, int said)
    {
        using SafeFileHandle pipe = Descriptors.Pipe();
        int before = ProcessResources.CountDescriptors(Pipes);
        Send(new HandleNotice(1, said), pipe, descriptors);

        Start();

        AssertViolation($"passed {descriptors} descriptors");
        Assert.That(() => ProcessResources.CountDescriptors(Pipes), Is.LessThanOrEqualTo(before).After(20_000, 5));
    }

    [TestCase(1, 0, "1 to 16 come together")]
    [TestCase(1, 17, "1 to 16 come together")]
    [TestCase(0, 1, "numbers begin with 1")]
    [TestCase(-1, 1, "numbers begin with 1")]
    [TestCase(2, 1, "the next one is 1")]
    public void Notice_ThatIsNotAllowed_IsAViolation(long number, int count, string text)
    {
        using SafeFileHandle pipe = Descriptors.Pipe();
        int before = ProcessResources.CountDescriptors(Pipes);
        Send(new HandleNotice(number, count), pipe, Math.Min(count, 16));

        Start();

        AssertViolation(text);
        Assert.That(() => ProcessResources.CountDescriptors(Pipes), Is.LessThanOrEqualTo(before).After(20_000, 5));
    }

    [Test]
    public void Notice_WithAByteThatMustBeZero_IsAViolation([Values(2, 7)] int at)
    {
        using SafeFileHandle pipe = Descriptors.Pipe();
        byte[] bytes = Encode(new HandleNotice(1, 1));
        bytes[at] = 1;
        RawDescriptorSender.SendMany(_links.Sockets.Server, bytes, pipe, 1);

        Start();

        AssertViolation("1 to 16 come together");
    }

    [Test]
    public void Notice_ThatIsNotWhole_IsAViolation([Values(1, 15)] int length)
    {
        using SafeFileHandle pipe = Descriptors.Pipe();
        RawDescriptorSender.SendMany(_links.Sockets.Server, Encode(new HandleNotice(1, 1)).AsSpan(0, length), pipe, 1);

        Start();

        AssertViolation($"with {length} bytes of its notice");
    }

    [Test]
    public void Descriptors_BeyondSixteen_AreAViolation()
    {
        using SafeFileHandle pipe = Descriptors.Pipe();
        int before = ProcessResources.CountDescriptors(Pipes);
        Send(new HandleNotice(1, 16), pipe, 17);

        Start();

        AssertViolation("more than 16 descriptors");
        Assert.That(() => ProcessResources.CountDescriptors(Pipes), Is.LessThanOrEqualTo(before).After(20_000, 5));
    }

    [Test]
    public void Doorbell_WithADescriptor_IsAViolation()
    {
        using SafeFileHandle pipe = Descriptors.Pipe();
        RawDescriptorSender.SendMany(_links.Sockets.Server, [PeerLink.DoorbellByte], pipe, 1);

        Start();

        AssertViolation("passed 1 descriptors");
    }

    [Test]
    public void FileNotice_OnALinkWithHandlesOnly_IsAViolation()
    {
        using SafeFileHandle file = Descriptors.MemoryFile(64 << 10, Descriptors.AllRequired);
        byte[] bytes = new byte[FileNotice.EncodedBytes];
        new FileNotice(0, 64 << 10).Encode(bytes);
        RawDescriptorSender.SendMany(_links.Sockets.Server, bytes, file, 1);

        Start();

        AssertViolation("passed 1 descriptors");
    }

    [Test]
    public void HandleNotice_OnALinkWithLoansOnly_IsAViolation()
    {
        _links.Dispose();
        _links = new LoanLinks();
        using SafeFileHandle pipe = Descriptors.Pipe();
        Send(new HandleNotice(1, 1), pipe, 1);

        Start();

        AssertViolation("passed 1 descriptors");
    }

    [Test]
    public void Pass_ToAPeerThatDoesNotRead_FailsAndGoesOnLater()
    {
        using SafeFileHandle pipe = Descriptors.Pipe();
        int passed = 0;
        Assert.That(
            () =>
            {
                for (; passed < 100_000; passed++)
                {
                    _links.Server.Handles!.Pass([pipe]);
                }
            },
            Throws.TypeOf<WireFullException>());
        Assert.That(passed, Is.InRange(40, 1000));

        Start();

        Assert.That(() => TryPass(pipe), Is.EqualTo(passed + 1).After(20_000, 5));
        Assert.That(Link.IsClosed, Is.False);
    }

    [Test]
    public void Pass_OfAClosedHandle_FailsAndTakesNoNumber()
    {
        using SafeFileHandle pipe = Descriptors.Pipe();
        SafeFileHandle closed = Descriptors.Pipe();
        closed.Dispose();

        Assert.That(
            () => _links.Server.Handles!.Pass([pipe, closed]), Throws.TypeOf<ObjectDisposedException>());

        Assert.That(_links.Server.Handles!.Pass([pipe]), Is.EqualTo(1));
    }

    private static byte[] Encode(HandleNotice notice)
    {
        byte[] bytes = new byte[FileNotice.EncodedBytes];
        notice.Encode(bytes);
        return bytes;
    }

    private long TryPass(SafeHandle handle)
    {
        try
        {
            return _links.Server.Handles!.Pass([handle]);
        }
        catch (WireFullException)
        {
            return 0;
        }
    }

    private void Ring() => _links.Sockets.Server.Send([PeerLink.DoorbellByte]);

    private void Send(HandleNotice notice, SafeHandle handle, int count) =>
        RawDescriptorSender.SendMany(_links.Sockets.Server, Encode(notice), handle, count);

    private void SendWhenRead(HandleNotice notice, SafeHandle handle) => Assert.That(
        () => RawDescriptorSender.TrySendMany(_links.Sockets.Server, Encode(notice), handle, 1),
        Is.True.After(20_000, 2));

    private void Start() => Link.Start(new WatchedLink(Link), () => { });

    private void AssertViolation(string text)
    {
        Assert.That(() => Link.IsClosed, Is.True.After(20_000, 5));
        Assert.That(Link.CloseReason!.Kind, Is.EqualTo(CloseKind.PeerViolation));
        Assert.That(Link.CloseReason.Text, Does.Contain(text));
    }
}
