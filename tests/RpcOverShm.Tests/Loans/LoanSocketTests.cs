using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Tests.Links;
using RpcOverShm.Tests.Linux;

namespace RpcOverShm.Tests.Loans;

/// <summary>Data files on the socket of a link with loans, and what may not come there.</summary>
[LinuxOnly("Windows passes no memory after the handshake, so nothing is lent there.")]
public class LoanSocketTests
{
    private const int MiB = 1 << 20;

    private static readonly byte[] s_first = Encode(new FileNotice(0, MiB));

    private readonly LoanLinks _links = new();

    private PeerLink Link => _links.Client;

    [TearDown]
    public void Close() => _links.Dispose();

    [TestCase(0, 0)]
    [TestCase(1, 0)]
    [TestCase(3, 1)]
    [TestCase(8, 5)]
    public void Notice_BetweenDoorbells_IsTaken(int before, int after)
    {
        using SafeFileHandle file = Descriptors.MemoryFile(MiB, Descriptors.AllRequired);
        for (int i = 0; i < before; i++)
        {
            Ring();
        }

        Send(s_first, file);
        for (int i = 0; i < after; i++)
        {
            Ring();
        }

        Start();

        Assert.That(() => Link.Loans!.Borrowed.MappedBytes, Is.EqualTo(MiB).After(20_000, 5));
        Assert.That(Link.IsClosed, Is.False);
    }

    [Test]
    public void Notices_OfManyFiles_AreTakenInTheirOrder()
    {
        using SafeFileHandle file = Descriptors.MemoryFile(64 << 10, Descriptors.AllRequired);
        Start();
        for (uint number = 0; number < FileNotice.MostFiles; number++)
        {
            SendWhenTaken(Encode(new FileNotice(number, 64 << 10)), file);
        }

        Assert.That(
            () => Link.Loans!.Borrowed.MappedBytes, Is.EqualTo((long)FileNotice.MostFiles << 16).After(20_000, 5));
    }

    [Test]
    public void Notice_WithAnotherNumberOfDescriptors_IsAViolation([Values(0, 2, 8)] int count)
    {
        using SafeFileHandle file = Descriptors.MemoryFile(MiB, Descriptors.AllRequired);
        int before = ProcessResources.CountDescriptors(Descriptors.MemoryFileTarget);
        RawDescriptorSender.SendMany(_links.Sockets.Server, s_first, file, count);

        Start();

        AssertViolation($"passed {count} descriptors");
        Assert.That(
            () => ProcessResources.CountDescriptors(Descriptors.MemoryFileTarget),
            Is.LessThanOrEqualTo(before).After(20_000, 5));
    }

    [Test]
    public void Doorbell_WithADescriptor_IsAViolation()
    {
        using SafeFileHandle file = Descriptors.MemoryFile(MiB, Descriptors.AllRequired);
        Send([PeerLink.DoorbellByte], file);

        Start();

        AssertViolation("passed 1 descriptors");
    }

    [Test]
    public void Refusal_WithADescriptor_IsAViolation()
    {
        using SafeFileHandle file = Descriptors.MemoryFile(MiB, Descriptors.AllRequired);
        var refusal = new Hello { Type = HelloType.Refusal, RefusalReason = RefusalReason.Violation };
        Send(refusal.Encode(), file);

        Start();

        AssertViolation("passed 1 descriptors");
    }

    [Test]
    public void Notice_ThatIsNotWhole_IsAViolation([Values(1, 15)] int length)
    {
        using SafeFileHandle file = Descriptors.MemoryFile(MiB, Descriptors.AllRequired);
        Send(s_first[..length], file);

        Start();

        AssertViolation($"with {length} bytes of its notice");
    }

    [TestCase(1u, MiB, "the next one is 0")]
    [TestCase(64u, MiB, "file 64, of a kind that was not agreed on")]
    [TestCase(0u, 1000, "multiples of 65536")]
    public void Notice_OfAFileThatIsNotAllowed_IsAViolation(uint number, int size, string text)
    {
        using SafeFileHandle file = Descriptors.MemoryFile(MiB, Descriptors.AllRequired);
        Send(Encode(new FileNotice(number, size)), file);

        Start();

        AssertViolation(text);
    }

    [Test]
    public void Notice_OfAFileThatLies_IsRefusedAndTheLinkGoesOn()
    {
        using SafeFileHandle file = Descriptors.MemoryFile(MiB / 2, Descriptors.AllRequired);
        Send(s_first, file);

        Start();

        Assert.That(() => Link.Loans!.Borrowed.HasNews, Is.True.After(20_000, 5));
        Assert.That(Link.Loans!.Borrowed.TryPeekAnswer(out _, out bool isMapped));
        Assert.That((isMapped, Link.IsClosed), Is.EqualTo((false, false)));
        Assert.That(() => _links.Logger.Of(121).Count, Is.EqualTo(1).After(20_000, 5));
    }

    [Test]
    public void Notice_OnALinkWithoutLoans_IsAViolation()
    {
        var sockets = new SocketPair();
        using var links = new LinkPair(wires: sockets);
        using SafeFileHandle file = Descriptors.MemoryFile(MiB, Descriptors.AllRequired);
        RawDescriptorSender.Send(sockets.Server, s_first, file);

        links.Client.Start(new WatchedLink(links.Client), () => { });

        Assert.That(() => links.Client.IsClosed, Is.True.After(20_000, 5));
        Assert.That(links.Client.CloseReason!.Text, Does.Contain("passed a descriptor after the handshake"));
    }

    private static byte[] Encode(FileNotice notice)
    {
        byte[] bytes = new byte[FileNotice.EncodedBytes];
        notice.Encode(bytes);
        return bytes;
    }

    private void Ring() => _links.Sockets.Server.Send([PeerLink.DoorbellByte]);

    private void Send(byte[] message, SafeHandle file) =>
        RawDescriptorSender.Send(_links.Sockets.Server, message, file);

    private void SendWhenTaken(byte[] message, SafeHandle file) =>
        Assert.That(
            () => RawDescriptorSender.TrySendMany(_links.Sockets.Server, message, file, 1),
            Is.True.After(20_000, 2));

    private void Start() => Link.Start(new WatchedLink(Link), () => { });

    private void AssertViolation(string text)
    {
        Assert.That(() => Link.IsClosed, Is.True.After(20_000, 5));
        Assert.That(Link.CloseReason!.Kind, Is.EqualTo(CloseKind.PeerViolation));
        Assert.That(Link.CloseReason.Text, Does.Contain(text));
    }
}
