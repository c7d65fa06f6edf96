using System.Net.Sockets;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Protocol;

namespace RpcOverShm.FunctionalTests.Access;

/// <summary>Clients of other users are let in exactly by the options; everybody else reaches nothing.</summary>
[RootFixture]
[Parallelizable]
[OneMode]
internal sealed class OtherUserTests : OtherUserFixture
{
    private const uint ForUsers = 0x1C9; // 0711
    private const uint ForGroup = 0x1C8; // 0710
    private const uint ForOwner = 0x1C0; // 0700

    private const string Refused = "PermissionDenied";

    private static PeerUser Member => Guest with { Groups = [99, SharedGroup] };

    private static PeerUser MemberByOwnGroup => Guest with { Group = SharedGroup };

    public static IEnumerable<TestCaseData> Clients =>
    [
        Case("own user, no option", "-", "-", Service, isIn: true),
        Case("other user, no option", "-", "-", Guest, isIn: false),
        Case("member, no option", "-", "-", Member, isIn: false),
        Case("named by number", "12350", "-", Guest, isIn: true),
        Case("named among others", "12345,12350,nobody", "-", Guest, isIn: true),
        Case("not named", "12345,nobody", "-", Guest, isIn: false),
        Case("named by name", "12345,nobody", "-", new PeerUser(65534, 65534), isIn: true),
        Case("member", "-", "43210", Member, isIn: true),
        Case("member by its own group", "-", "43210", MemberByOwnGroup, isIn: true),
        Case("no member", "-", "43210", Guest, isIn: false),
        Case("member of another group", "-", "43210", Guest with { Groups = [SharedGroup + 1] }, isIn: false),
        Case("user with the number of the group", "-", "43210", new PeerUser(SharedGroup, 1), isIn: false),
        Case("member, with users", "12345", "43210", Member, isIn: true),
        Case("named, with a group", "12350", "43210", Guest, isIn: true),
        Case("neither", "12345", "43210", Guest, isIn: false),
    ];

    [TestCaseSource(nameof(Clients))]
    public async Task Client_IsLetInExactlyByTheOption(string users, string group, PeerUser user, bool isIn)
    {
        bool isForUsers = users != "-";
        MakeRunDirectory(
            isForUsers ? ForUsers : group != "-" ? ForGroup : ForOwner, group: group != "-" ? SharedGroup : null);
        await ServeAsync(users, group);

        string answer = await CallAsAsync(user);

        Assert.That(answer, isIn ? Is.EqualTo("right") : Does.StartWith(Refused));
    }

    [Test]
    public async Task Files_HaveTheLeastPermissions(
        [Values("-", "12350")] string users, [Values("-", "43210")] string group)
    {
        bool isForUsers = users != "-";
        bool isForGroup = group != "-" && !isForUsers; // Else the permissions for users suffice.
        MakeRunDirectory(
            isForUsers ? ForUsers : isForGroup ? ForGroup : ForOwner, group: isForGroup ? SharedGroup : null);
        PeerProcess server = await ServeAsync(users, group);

        FileFacts socket = FileFacts.OfPath(SocketPath)!.Value;
        FileFacts lockFile = FileFacts.OfPath(Path.Combine(RunDirectory, LockName))!.Value;
        Assert.That(socket.ModeText, Is.EqualTo(isForUsers ? "0666" : isForGroup ? "0660" : "0600"));
        Assert.That(
            (socket.UserId, socket.GroupId), Is.EqualTo((Service.User, isForGroup ? SharedGroup : Service.Group)));
        Assert.That((lockFile.UserId, lockFile.ModeText), Is.EqualTo((Service.User, "0600")));

        await server.DoAsync("stop");
        Assert.That(System.IO.Directory.GetFileSystemEntries(RunDirectory), Is.Empty);
    }

    // The peer that is let in shows that the ways exist, and that the stranger is kept out by the user alone.
    [Test]
    public async Task Stranger_ReachesNeitherSocketNorMemoryNorDescriptors([Values("12350", "-")] string users)
    {
        MakeRunDirectory(users == "-" ? ForOwner : ForUsers);
        PeerProcess server = await ServeAsync(users, "-");
        PeerProcess inside = await TakePeerAsync(Service);
        await inside.DoAsync($"channel {Address} {RunDirectory}");
        Assert.That(await inside.DoAsync("echo 1"), Is.EqualTo("right"));
        PeerProcess stranger = await TakePeerAsync(Stranger);

        Assert.That(await stranger.DoAsync($"reach {server.Id}"), Is.EqualTo("0 0 0"));
        Assert.That(await stranger.DoAsync($"reach {inside.Id}"), Is.EqualTo("0 0 0"));
        await stranger.DoAsync($"channel {Address} {RunDirectory} 12340");
        Assert.That(await stranger.DoAsync("echo 1"), Does.StartWith(Refused).And.EndWith(
            users == "-"
                ? "a directory of this path is closed to it. Run client and server as the same user, or put the socket "
                    + "where both users may search."
                : "refused: Access denied. The options AllowedUsers and AllowedGroup of the server say who may "
                    + "connect."));

        string[] own = (await inside.DoAsync($"reach {server.Id}")).Split(' ');
        Assert.That((int.Parse(own[0]) > 0, own[2]), Is.EqualTo((true, "1")), "The same user reaches them.");
        Assert.That(await inside.DoAsync("echo 1"), Is.EqualTo("right"));
    }

    [Test]
    public async Task Client_ThatDoesNotTrustTheServersUser_LeavesAtOnceAndNamesTheOption()
    {
        MakeRunDirectory(ForUsers);
        await ServeAsync("12350", "-");

        string answer = await CallAsAsync(Guest, trusted: "12399");

        Assert.That(answer, Does.StartWith(Refused).And.Contain(
            "user 12340, and this client trusts servers of user 12350, of the users 12399 and of root only: run client "
            + "and server as the same user, or name the server's user in TrustedServerUsers."));
    }

    // The kernel tells a user which pages a file has only if that user may write to the file. This client is root.
    [Test]
    public async Task Client_WhoseFileHidesItsPages_IsRefused_AndTheServerAddsNone()
    {
        const int Ring = 1 << 20;
        MakeRunDirectory(ForOwner);
        await ServeAsync("-", "-");
        using var hollow = HollowSegment.WithPagesBehindTheEnd(Ring, hasFirstRing: false);
        using SafeFileHandle readOnly = hollow.OpenReadOnly();
        using Socket socket = await UnixSockets.ConnectAsync(SocketPath);
        Hello hello = RawHello.Of(HelloType.Client, RawPeer.Generous with { RingCapacity = Ring });
        DescriptorPassing.Send(socket.SafeHandle, hello.Encode(), [readOnly]);

        using Handshake.ReceivedHello? answer = await RawHandshake.ReceiveAsync(
            socket, CancellationToken.None).Bounded();

        // Early kernels with the call (6.5) tell it everybody.
        Assert.That(
            answer!.Hello.RefusalText, Does.Contain("Operation not permitted (errno 1)").Or.Contain("has holes"));
        Assert.That(hollow.Pages, Is.Zero);
    }

    [Test]
    public async Task Stream_OfANamedUser_IsLetIn_AndOthersAreNot()
    {
        MakeRunDirectory(ForUsers);
        PeerProcess server = await TakePeerAsync(Service);
        await server.DoAsync($"stream-listen {Address} {RunDirectory} 12350");
        PeerProcess stranger = await TakePeerAsync(Stranger);
        PeerProcess guest = await TakePeerAsync(Guest);

        Assert.That(
            await stranger.AskAsync($"stream-connect {Address} {RunDirectory} 12340"),
            Does.StartWith("error ShmTransportException").And.Contain("refused: Access denied."));
        Assert.That(
            await guest.AskAsync($"stream-connect {Address} {RunDirectory}"),
            Does.StartWith("error ShmTransportException").And.Contain("TrustedServerUsers"));
        await guest.DoAsync($"stream-connect {Address} {RunDirectory} 12340");
        await server.DoAsync("stream-accept");
        Task<string> writing = guest.DoAsync("stream-write 100000");
        Assert.That(await server.DoAsync("stream-read 100000"), Is.EqualTo("0"));
        await writing;
    }

    // Connections do not need the directory. Newcomers are still checked by the kernel's word, so nothing is lost.
    [TestCase("mode", ForUsers)]
    [TestCase("owner", ForGroup)]
    [TestCase("gone", ForOwner)]
    [TestCase("mode", ForGroup, Category = LongAttribute.Name)]
    [TestCase("mode", ForOwner, Category = LongAttribute.Name)]
    [TestCase("owner", ForUsers, Category = LongAttribute.Name)]
    [TestCase("owner", ForOwner, Category = LongAttribute.Name)]
    [TestCase("gone", ForUsers, Category = LongAttribute.Name)]
    [TestCase("gone", ForGroup, Category = LongAttribute.Name)]
    public async Task Directory_ThatChangesWhileTheServerRuns_ChangesNothingForConnections(string change, uint mode)
    {
        PeerUser user = mode switch { ForUsers => Guest, ForGroup => Member, _ => Service };
        MakeRunDirectory(mode, group: mode == ForGroup ? SharedGroup : null);
        PeerProcess server = await ServeAsync(
            mode == ForUsers ? "12350" : "-", mode == ForGroup ? $"{SharedGroup}" : "-");
        PeerProcess client = await TakePeerAsync(user);
        await client.DoAsync($"channel {Address} {RunDirectory} 12340");
        Assert.That(await client.DoAsync("echo 1"), Is.EqualTo("right"));

        switch (change)
        {
            case "mode":
                Assert.That(LinuxNative.ChMod(RunDirectory, 0x1FF), Is.Zero);
                break;
            case "owner":
                Assert.That(LinuxNative.ChOwn(RunDirectory, Stranger.User, Stranger.Group), Is.Zero);
                Assert.That(LinuxNative.ChMod(RunDirectory, ForUsers), Is.Zero, "open, or nobody gets to the socket");
                break;
            default:
                System.IO.Directory.Move(RunDirectory, RunDirectory + "-elsewhere");
                break;
        }

        Assert.That(await client.DoAsync("echo 1"), Is.EqualTo("right"));
        Assert.That(await CallAsAsync(user), change == "gone" ? Does.StartWith("Unavailable") : Is.EqualTo("right"));
        Assert.That(
            await CallAsAsync(Stranger), Does.StartWith(change == "gone" ? "Unavailable" : Refused));
        await server.DoAsync("stop");
    }

    private static TestCaseData Case(string name, string users, string group, PeerUser user, bool isIn) =>
        new(users, group, user, isIn) { TestName = $"Client: {name}" };
}
