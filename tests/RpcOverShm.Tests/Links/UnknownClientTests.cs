using System.Runtime.InteropServices;
using RpcOverShm.Links;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Links;

/// <summary>Clients whose identity the system does not tell.</summary>
public class UnknownClientTests : ListenerFixture
{
    private const string Problem = "The system does not say.";

    [Test]
    public async Task Accept_OfAClientThatTheSystemDoesNotName_RefusesItWithAReasonAndServesTheNext()
    {
        var door = new DoorOfOneStranger(HostSystem.Current.Listen(Address, AccessPolicy.OwnUserOnly, new LogGuard()));
        var doorman = new Doorman(door, Settings(), Links.Enqueue);
        Assert.That(doorman.TryStart(), Is.Null);

        Assert.That(
            async () => await ConnectAsync(),
            Throws.TypeOf<ConnectException>()
                .With.Property(nameof(ConnectException.Failure)).EqualTo(ConnectFailure.AccessDenied)
                .And.Message.Contains($"The server cannot tell who its client is. {Problem}"));
        Assert.That((await ConnectAsync()).IsClosed, Is.False);

        doorman.Stop();
        await doorman.Ended.Bounded();
        door.Remove();
    }

    /// <summary>A door whose first client has no identity.</summary>
    private sealed class DoorOfOneStranger(Door door) : Door
    {
        private bool _hasComeIn;

        public override RendezvousAddress Address => door.Address;

        public override Watchable Listening => door.Listening;

        public override void Check() => door.Check();

        public override Wire? TryAccept(Watchable listening, out AcceptOutcome outcome, out Exception? failure)
        {
            Wire? wire = door.TryAccept(listening, out outcome, out failure);
            if (wire is null || _hasComeIn)
            {
                return wire;
            }

            _hasComeIn = true;
            return new Stranger(wire);
        }

        public override void KeepSpare() => door.KeepSpare();

        public override Wire? TryAcceptWithSpare(Watchable listening) => door.TryAcceptWithSpare(listening);

        public override void CloseFormer(Watchable former) => door.CloseFormer(former);

        public override void EndListening() => door.EndListening();

        public override void Remove() => door.Remove();
    }

    private sealed class Stranger(Wire wire) : Wire
    {
        public override PeerIdentity Peer => throw new IOException(Problem);

        public override SafeHandle Handle => wire.Handle;

        public override int Number => wire.Number;

        public override bool MustBeDrained => wire.MustBeDrained;

        public override bool IsAtEnd => wire.IsAtEnd;

        public override bool IsDrained => wire.IsDrained;

        public override bool IsReadable(int timeoutMilliseconds) => wire.IsReadable(timeoutMilliseconds);

        public override bool IsMember(Account group) => wire.IsMember(group);

        public override void Send(ReadOnlySpan<byte> message, IReadOnlyList<SafeHandle> handles) =>
            wire.Send(message, handles);

        public override int Receive(Span<byte> buffer, List<SafeHandle> handles) => wire.Receive(buffer, handles);

        public override string? Ring(byte doorbell) => wire.Ring(doorbell);

        public override void RefuseHandles() => wire.RefuseHandles();

        public override void LimitUnread(int bytes) => wire.LimitUnread(bytes);

        public override void ShutDown() => wire.ShutDown();

        public override WatchedProcess? OpenProcess(out string? problem) => wire.OpenProcess(out problem);

        public override void Dispose() => wire.Dispose();
    }
}
