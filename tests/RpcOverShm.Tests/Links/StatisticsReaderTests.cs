using System.Net.Sockets;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Systems;

namespace RpcOverShm.Tests.Links;

/// <summary>The statistics of a server, from the hello to the end, and of servers that have none or lie.</summary>
public class StatisticsReaderTests
{
    private const string MaxReaders = "StatisticsReaders.MaxReaders";

    private readonly TestAddress _place = new();
    private readonly LogGuard _log = new();
    private int _collected;
    private int _unwatched;
    private StatisticsReaders? _readers;
    private Listener? _listener;

    private RendezvousAddress Address => _place.Address;

    [TearDown]
    public async Task StopAsync()
    {
        _readers?.Stop();
        if (_listener is not null)
        {
            await _listener.DisposeAsync();
        }

        _place.Dispose();
        _log.Check();
    }

    [Test]
    public async Task Read_OfAServer_HasWhatItCollectsAgainAndAgain()
    {
        Listen();
        using StatisticsReader reader = await OpenAsync();

        StatisticsPage first = reader.Read();
        await Timeouts.Eventually(() => reader.Read().Time > first.Time + 1);

        Assert.That(first.Time, Is.Positive);
        Assert.That(reader.Server.ProcessId, Is.EqualTo(Environment.ProcessId));
        Assert.That(reader.HasEnded, Is.False);
    }

    [Test, LinuxOnly("Memory files are counted in /proc.")]
    public async Task Dispose_OfTheLastReader_EndsTheWritesAndFreesThePage()
    {
        int before = ProcessResources.CountDescriptors(Descriptors.MemoryFileTarget);
        Listen();
        StatisticsReader first = await OpenAsync();
        StatisticsReader second = await OpenAsync();

        first.Dispose();
        await Timeouts.Eventually(() => Volatile.Read(ref _collected) > 5);
        Assert.That(_unwatched, Is.Zero, "The second one still reads.");
        second.Dispose();
        await Timeouts.Eventually(() => Volatile.Read(ref _unwatched) == 1);
        int collected = _collected;
        using StatisticsReader third = await OpenAsync();

        Assert.That(_collected, Is.EqualTo(collected + 1), "Nothing was collected while nobody read.");
        third.Dispose();
        await Timeouts.Eventually(() => Volatile.Read(ref _unwatched) == 2);
        await Timeouts.Eventually(() => ProcessResources.CountDescriptors(Descriptors.MemoryFileTarget) == before);
    }

    [Test]
    public async Task Stop_OfTheServer_IsSeenByItsReader()
    {
        Listen();
        using StatisticsReader reader = await OpenAsync();

        _readers!.Stop();

        await Timeouts.Eventually(() => reader.HasEnded);
        Assert.That(reader.Read().Time, Is.Positive, "The last page stays.");
    }

    [Test]
    public async Task Open_ByMoreReadersThanAllowed_IsRefusedUntilOneLeaves()
    {
        Listen();
        long before = LimitEvents.CountOf(MaxReaders);
        var readers = new List<StatisticsReader>();
        for (int i = 0; i < StatisticsReaders.MaxReaders; i++)
        {
            readers.Add(await OpenAsync());
        }

        Assert.That(
            async () => await OpenAsync(),
            Throws.TypeOf<ConnectException>().With.Message.Contains("4 programs read its statistics"));
        Assert.That(LimitEvents.CountOf(MaxReaders), Is.EqualTo(before + 1));
        readers[0].Dispose();
        readers[0] = await OpenAsync();
        readers.ForEach(reader => reader.Dispose());
    }

    [Test]
    public void Open_OfAListenerWithoutThem_IsAnotherPurpose()
    {
        _listener = Listener.Start(
            Address, LinkPair.Settings(ConnectionPurpose.ByteStream, Hellos.Limits, _log), _ => { });

        Assert.That(
            async () => await OpenAsync(),
            Throws.TypeOf<ConnectException>()
                .With.Property(nameof(ConnectException.Failure)).EqualTo(ConnectFailure.PurposeMismatch)
                .And.Message.Contains("the client wants statistics"));
    }

    [Test, LinuxOnly("A server that writes to a socket.")]
    public async Task Read_OfAPageThatIsWrittenWithoutEnd_GivesUp()
    {
        using var server = new FakeServer();
        using SharedPage page = SharedPage.Create();
        using StatisticsReader reader = await AnswerAsync(server, Copy(page.Handle));
        bool isOver = false;
        TestThread writer = TestThread.Start("writer", () =>
        {
            byte[] content = new byte[SharedPage.ContentBytes];
            while (!Volatile.Read(ref isOver))
            {
                page.Write(content);
            }
        });

        // A copy may still be of one moment: zeros, which are no statistics.
        Assert.That(() => reader.Read(), Throws.TypeOf<ProtocolException>());
        Volatile.Write(ref isOver, true);
        writer.Join();
    }

    [Test, LinuxOnly("Seals of a memory file.")]
    public void Open_OfAFileThatCouldShrink_IsRefused()
    {
        using var server = new FakeServer();

        Assert.That(
            async () => await AnswerAsync(server, Descriptors.MemoryFile(SharedPage.SizeBytes, 0)),
            Throws.TypeOf<ConnectException>().With.Message.Contains("seals"));
    }

    private void Listen()
    {
        ConnectionSettings settings = LinkPair.Settings(ConnectionPurpose.Calls, Hellos.Limits, _log);
        _readers = new StatisticsReaders(
            settings,
            mostRows => new StatisticsPage(Interlocked.Increment(ref _collected), mostRows, []),
            () => Interlocked.Increment(ref _unwatched));
        _listener = Listener.Start(Address, settings with { OnStatisticsWanted = _readers.Answer }, _ => { });
    }

    private Task<StatisticsReader> OpenAsync() => OpenAsync(Address);

    private static Task<StatisticsReader> OpenAsync(RendezvousAddress address) =>
        ClientHandshake.OpenStatisticsAsync(address, Timeouts.Wait, CancellationToken.None).Bounded();

    // The test plays the server.
    private static async Task<StatisticsReader> AnswerAsync(FakeServer server, SafeFileHandle descriptor)
    {
        Task<StatisticsReader> opening = OpenAsync(server.Address);
        Socket socket = await server.AcceptAsync();
        using Handshake.ReceivedHello? hello = await RawHandshake.ReceiveAsync(
            socket, CancellationToken.None).Bounded();
        Hello answer = hello!.Hello with
        {
            Type = HelloType.Server,
            Limits = Hellos.Limits with { RingCapacity = SharedPage.SizeBytes },
        };
        Hellos.Send(socket, answer.Encode(), descriptor);
        return await opening;
    }

    private static SafeFileHandle Copy(SafeHandle descriptor) => new(
        LinuxNative.FCntl(descriptor, LinuxNative.FDuplicateCloexec, 0), ownsHandle: true);
}
