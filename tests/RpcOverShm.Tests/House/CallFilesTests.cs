namespace RpcOverShm.Tests.House;

/// <summary>
/// The list of the files in which a blocking call works, in CONTRIBUTING.md. Two processes run a copy of the library
/// that notes its steps. What only happens in some calls, such as sleep, is listed apart, so any machine will do.
/// </summary>
public class CallFilesTests
{
    private const string Address = "shm://traced";
    private const string Peer = "RpcOverShm.TestPeer";
    private const int CallsToWarmUp = 3000;
    private const int CallsTraced = 1000;

    [Test]
    public async Task Files_OfAWarmBlockingCall_AreThoseOfTheList()
    {
        using var directory = new TestDirectory();
        using var programs = new TestDirectory();
        PeerProcess.CopyProgramsTo(programs);
        var library = new TracedLibrary(programs.Combine("RpcOverShm.dll"));
        await using PeerProcess server = await PeerProcess.StartAsync(user: null, programs.Path, Peer);
        await using PeerProcess client = await PeerProcess.StartAsync(user: null, programs.Path, Peer);
        await server.DoAsync($"trace-serve {Address} {directory.Path}");
        await client.DoAsync($"trace-call {Address} {directory.Path} {CallsToWarmUp}");
        await server.DoAsync("trace-start");
        await client.DoAsync("trace-start");
        await client.DoAsync($"trace-call {Address} {directory.Path} {CallsTraced}");
        CallTrace ofClient = await TraceOfAsync(client, directory.Combine("client"), library);
        CallTrace ofServer = await TraceOfAsync(server, directory.Combine("server"), library);

        CallFiles listed = CallFiles.OfDocument();
        var found = CallFiles.Of(ofClient, ofServer, listed);
        int files = found.Client.Length + found.Server.Length + found.Both.Length;
        TestContext.Out.WriteLine(
            $"{files} files; changes of level: client {Changes(ofClient)}, server {Changes(ofServer)}.");
        string[] findings = [.. listed.Check(ofClient, ofServer)];
        Findings.AssertNone(findings is [] ? [] : [.. findings, "The list, for CONTRIBUTING.md:", found.ToString()]);
    }

    [Test]
    public void Check_OfAListWithOtherFiles_FindsThem()
    {
        TracedFile[] files =
            [new("ShmChannel.cs"), new("Rings/RingReader.cs"), new("Rings/RingWriter.cs"), new("ShmServer.cs")];
        var client = new CallTrace(number => files[number - 1], ["4 0 1 2 2 1 2 0 1 2 0 1 3 2 0 4"]);
        var server = new CallTrace(number => files[number - 1], ["0 3 0", "2 0 4 3 0"]);

        Assert.That(client.Calls.Select(call => call.LevelChanges), Is.EqualTo(new[] { 1, 1, 1 }));
        Assert.That(
            new CallFiles(["ShmChannel", "RingReader"], ["RingWriter"], [], ["ShmServer"]).Check(client, server),
            Is.Empty);
        Assert.That(
            new CallFiles(["RingReader"], ["ShmServer"], ["RingWriter", "ShmStream"], ["Ring"]).Check(client, server),
            Is.EquivalentTo(new[]
            {
                "There is no file Ring.", "The client works in ShmChannel, which is not listed.",
                "No call of the client works in ShmStream.", "No call of the server works in ShmStream.",
            }));
    }

    private static async Task<CallTrace> TraceOfAsync(PeerProcess peer, string path, TracedLibrary library)
    {
        await peer.DoAsync($"trace-write {path}");
        return new CallTrace(library.FileOf, File.ReadLines(path));
    }

    // The median of the calls without sleep.
    private static string Changes(CallTrace trace)
    {
        TracedCall[] calls = trace.AwakeCalls;
        return calls.Length == 0
            ? "unknown (it always slept)"
            : $"{calls.Select(call => call.LevelChanges).Order().ElementAt(calls.Length / 2)} ({calls.Length} calls)";
    }
}
