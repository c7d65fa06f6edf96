using Google.Protobuf;
using RpcOverShm.Tool.Output;
using RpcOverShm.Tool.Tests.Protos;
using RpcOverShm.Tool.Tests.Support;

namespace RpcOverShm.Tool.Tests.Commands;

/// <summary>Reflections that are slow, huge, or wrong in a part.</summary>
public class ReflectionTests
{
    private const string Bad = "rpcovershm.tool.test.Bad";

    // The import of the file of one service is missing.
    private static SparseReflection HalfBad => new(NotesReflection.Descriptor)
    {
        FurtherService = Bad,
        FurtherFile = new Google.Protobuf.Reflection.FileDescriptorProto
        {
            Name = "bad.proto",
            Dependency = { "missing.proto" },
        }.ToByteString(),
    };

    [Test]
    public async Task Services_OfWhichOneIsBad_ShowsTheOthersAndWhy()
    {
        await using TestServer server = await TestServer.StartSparseAsync(HalfBad);

        ToolRun text = await server.RunAsync("services", TestServer.Name);
        ToolRun json = await server.RunAsync("services", TestServer.Name, "--json");

        Assert.That(text.Expect(ExitCode.Ok).Lines, Does.Contain(Bad).And.Contains(
            "  rpc Add(rpcovershm.tool.test.Note) returns (rpcovershm.tool.test.Note)"));
        Assert.That(text.Error, Does.StartWith($"{Bad}: ").And.Contains("does not give the file 'missing.proto'"));
        Assert.That(json.Expect(ExitCode.Ok).Out, Does.Contain($"\"name\":\"{Bad}\",\"problem\":\"The reflection of"));
    }

    [Test]
    public async Task Call_BesideABadService_IsAnswered()
    {
        await using TestServer server = await TestServer.StartSparseAsync(HalfBad);

        ToolRun run = await server.RunAsync("call", TestServer.Name, "Add", "--json");
        ToolRun bad = await server.RunAsync("call", TestServer.Name, Bad + "/Any");

        Assert.That(run.Expect(ExitCode.Ok).Out, Is.EqualTo("{\"number\":\"7\"}\n"));
        Assert.That(bad.Expect(ExitCode.NotOffered).Error, Does.Contain("missing.proto"));
    }

    [Test]
    public async Task Services_OfWhichAllAreBad_Fails()
    {
        await using TestServer server = await TestServer.StartSparseAsync(new SparseReflection
        {
            FurtherService = Bad,
            FurtherFile = ByteString.CopyFromUtf8("no descriptor"),
        });

        ToolRun run = await server.RunAsync("services", TestServer.Name);

        Assert.That(run.Expect(ExitCode.NotOffered).Out, Is.EqualTo(Bad + "\n"));
        Assert.That(run.Error, Does.Contain("unusable"));
    }

    [Test]
    public async Task Call_WithATypeThatTheServerCannotDescribe_AsksOnce()
    {
        var reflection = new SparseReflection(NotesReflection.Descriptor);
        await using TestServer server = await TestServer.StartSparseAsync(reflection);
        const string Note = """{"text":"a","attachment":{"@type":"t/no.Such","@value":"AQ=="}}""";
        const string Answer = """{"text":"A","attachment":{"@type":"t/no.Such","@value":"AQ=="}}""";

        ToolRun run = await server.RunAsync("call", TestServer.Name, "Chat", Note + Note + Note);

        Assert.That(run.Expect(ExitCode.Ok).Lines, Is.EqualTo(Enumerable.Repeat(Answer, 3)));
        Assert.That(reflection.Asked.Count(name => name == "no.Such"), Is.EqualTo(1));
    }

    [Test]
    public async Task Services_OfAnAnswerBeyondTheUsualLimit_Fails()
    {
        await using TestServer server = await TestServer.StartSparseAsync(new SparseReflection
        {
            FurtherService = Bad,
            FurtherFile = ByteString.CopyFrom(new byte[5 << 20]),
        });

        ToolRun run = await server.RunAsync("services", TestServer.Name);

        Assert.That(run.Expect(ExitCode.CallFailed).Error, Does.Contain("RESOURCE_EXHAUSTED"));
    }

    // Each of many answers comes in time, all together do not.
    [Test]
    public async Task Services_OfASlowReflection_HasOneDeadlineForAllQuestions()
    {
        var reflection = new SparseReflection(NotesReflection.Descriptor)
        {
            Pause = TimeSpan.FromMilliseconds(100),
            FurtherService = Bad,
            EndlessImports = true,
        };
        await using TestServer server = await TestServer.StartSparseAsync(reflection);

        ToolRun run = await server.RunAsync("services", TestServer.Name, "--deadline", "1s");

        Assert.That(run.Expect(ExitCode.CallFailed).Error, Does.Contain("DEADLINE_EXCEEDED"));
        Assert.That(reflection.Asked.Count, Is.InRange(3, 12));
    }
}
