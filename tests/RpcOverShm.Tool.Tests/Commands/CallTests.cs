using RpcOverShm.MessagePack;
using RpcOverShm.Testing;
using RpcOverShm.Tool.Output;
using RpcOverShm.Tool.Tests.Protos;
using RpcOverShm.Tool.Tests.Support;

namespace RpcOverShm.Tool.Tests.Commands;

/// <summary>Calls of every shape, and what they tell.</summary>
public class CallTests
{
    private const string Service = "rpcovershm.tool.test.Notes";

    private TestServer _server = null!;

    [SetUp]
    public async Task StartAsync() => _server = await TestServer.StartAsync();

    [TearDown]
    public async Task StopAsync() => await _server.DisposeAsync();

    [TestCase("rpcovershm.tool.test.Notes/Add")]
    [TestCase("rpcovershm.tool.test.Notes.Add")]
    [TestCase("/rpcovershm.tool.test.Notes/Add")]
    [TestCase("Notes/Add")]
    [TestCase("add")]
    public async Task Call_OfAUnaryMethod_WritesTheAnswer(string method)
    {
        ToolRun run = await _server.RunAsync("call", TestServer.Name, method, """{"text":"hé","tags":["a"]}""");

        run.Expect(ExitCode.Ok);
        Assert.That(
            run.Out,
            Is.EqualTo("{\n  \"number\": \"7\",\n  \"text\": \"hé\",\n  \"tags\": [\n    \"a\"\n  ]\n}\n"));
        Assert.That(run.Error, Is.Empty);
    }

    [Test]
    public async Task Call_ByEachFormOfAddress_IsAnswered()
    {
        foreach (string address in new[] { "shm://notes/one", "shm://" + _server.SocketPath, _server.SocketPath })
        {
            ToolRun run = await _server.RunAsync("call", address, "Add", "{}", "--json");
            Assert.That(run.Expect(ExitCode.Ok).Out, Is.EqualTo("{\"number\":\"7\"}\n"));
        }
    }

    [Test]
    public async Task Call_WithoutARequest_SendsAnEmptyOne()
    {
        ToolRun run = await _server.RunAsync("call", TestServer.Name, "Add", "--json");

        Assert.That(run.Expect(ExitCode.Ok).Out, Is.EqualTo("{\"number\":\"7\"}\n"));
    }

    [Test]
    public async Task Call_WithDefaults_WritesAllFields()
    {
        ToolRun run = await _server.RunAsync("call", TestServer.Name, "Add", "--json", "--emit-defaults");

        Assert.That(run.Out, Is.EqualTo(
            "{\"number\":\"7\",\"text\":\"\",\"tags\":[],\"properties\":{},\"answers\":[]}\n"));
    }

    [Test]
    public async Task Call_OfAServerStream_WritesALineForEachAnswer()
    {
        ToolRun run = await _server.RunAsync("call", TestServer.Name, "Notes/List", """{"count":3}""");

        Assert.That(run.Expect(ExitCode.Ok).Lines, Is.EqualTo(new[]
        {
            """{"number":"1","text":"note 1"}""",
            """{"number":"2","text":"note 2"}""",
            """{"number":"3","text":"note 3"}""",
        }));
    }

    [Test]
    public async Task Call_OfAClientStream_SendsEachMessageOfTheInput()
    {
        var input = new StringReader("{\"tags\":[\"a\",\"b\"]}\n{\n  \"text\": \"x\"\n}\n{} {\"tags\":[\"c\"]}");

        ToolRun run = await _server.RunAsync(
            input,
            "call", TestServer.Name, "Import", "-", "-m", "x-user=ann=1", "--metadata", "x-key-bin=AP8=", "--json");

        Assert.That(
            run.Expect(ExitCode.Ok).Out,
            Is.EqualTo("{\"notes\":4,\"tags\":3,\"metadata\":[\"x-user=ann=1\",\"x-key-bin=00FF\"]}\n"));
    }

    [Test]
    public async Task Call_OfAClientStreamWithoutRequests_SendsNone()
    {
        ToolRun run = await _server.RunAsync("call", TestServer.Name, "Import", "--json");

        Assert.That(run.Expect(ExitCode.Ok).Out, Is.EqualTo("{}\n"));
    }

    [Test]
    public async Task Call_OfADuplexMethodWithSeveralRequests_WritesEachAnswer()
    {
        ToolRun run = await _server.RunAsync("call", TestServer.Name, "Chat", """{"text":"a"}{"text":"b"}""");

        Assert.That(run.Expect(ExitCode.Ok).Lines, Is.EqualTo(new[] { """{"text":"A"}""", """{"text":"B"}""" }));
    }

    [Test]
    public async Task Call_OfADuplexMethod_WritesEachAnswerBeforeTheNextRequest()
    {
        using var talk = new Talk();
        Task<int> run = talk.RunAsync("call", _server.SocketPath, "Chat", "-");

        foreach (string word in new[] { "one", "two", "three" })
        {
            talk.Say($"{{\"text\":\"{word}\"}}");
            Assert.That(await talk.HearAsync(), Is.EqualTo($"{{\"text\":\"{word.ToUpperInvariant()}\"}}"));
        }

        talk.End();
        Assert.That(await run.Bounded(), Is.Zero);
    }

    [Test]
    public async Task Call_OfADuplexMethodThatFails_EndsWhileTheInputIsOpen()
    {
        using var talk = new Talk();
        Task<int> run = talk.RunAsync("call", _server.SocketPath, "Chat", "-");

        talk.Say("""{"text":"a"}""");
        Assert.That(await talk.HearAsync(), Is.EqualTo("""{"text":"A"}"""));
        talk.Say("{}");

        Assert.That(await run.Bounded(), Is.EqualTo((int)ExitCode.CallFailed));
        Assert.That(talk.Error, Is.EqualTo(
            "The call failed with FAILED_PRECONDITION (9): a note without text\n"));
    }

    [Test]
    public async Task Call_OfADuplexMethodWithABadRequest_EndsWithItsPlace()
    {
        ToolRun run = await _server.RunAsync("call", TestServer.Name, "Chat", """{"text":"a"}{"text":5}""");

        Assert.That(
            run.Expect(ExitCode.BadInput).Error, Is.EqualTo("text: expected a string, found the number 5\n"));
    }

    [Test]
    public async Task Call_OfAServerThatStops_EndsWithItsStatus()
    {
        Task<ToolRun> run = _server.RunAsync("call", TestServer.Name, "Wait");
        await _server.Notes.Waiting.Task.Bounded();
        await _server.StopAsync();

        Assert.That((await run).Expect(ExitCode.CallFailed).Error, Does.StartWith(
            "The call failed with UNAVAILABLE (14): "));
    }

    [Test]
    public async Task Call_WithADeadlineThatPasses_EndsWithDeadlineExceeded()
    {
        ToolRun run = await _server.RunAsync("call", TestServer.Name, "Wait", "--deadline", "300ms");

        Assert.That(run.Expect(ExitCode.CallFailed).Error, Does.StartWith(
            "The call failed with DEADLINE_EXCEEDED (4): "));
    }

    [Test]
    public async Task Call_WithADeadline_TellsItToTheServer()
    {
        DateTime before = DateTime.UtcNow;
        (await _server.RunAsync("call", TestServer.Name, "Add", "-d", "1h")).Expect(ExitCode.Ok);

        Assert.That(
            _server.Notes.Deadline,
            Is.InRange(before.AddHours(1).AddSeconds(-1), DateTime.UtcNow.AddHours(1).AddSeconds(1)));
    }

    [Test]
    public async Task Call_ThatIsInterrupted_SaysSo()
    {
        using var interrupt = new CancellationTokenSource();
        using var talk = new Talk();
        Task<int> run = talk.RunAsync(interrupt.Token, "call", _server.SocketPath, "Wait");
        await _server.Notes.Waiting.Task.Bounded();
        await interrupt.CancelAsync();

        Assert.That(await run.Bounded(), Is.EqualTo((int)ExitCode.Interrupted));
    }

    [Test]
    public async Task Call_ThatFails_ShowsStatusAndDetails()
    {
        const string Request = """
            {"statusCode":5,"detail":"no such note","details":[
                {"@type":"t/rpcovershm.tool.test.Note","text":"7"},{"@type":"t/no.Such","@value":"AQ=="}]}
            """;

        ToolRun text = await _server.RunAsync("call", TestServer.Name, "Fail", Request);
        ToolRun json = await _server.RunAsync("call", TestServer.Name, "Fail", Request, "--json");

        Assert.That(text.Expect(ExitCode.CallFailed).Error, Is.EqualTo(
            "The call failed with NOT_FOUND (5): no such note\n"
            + "detail: {\"@type\":\"t/rpcovershm.tool.test.Note\",\"text\":\"7\"}\n"
            + "detail: {\"@type\":\"t/no.Such\",\"@value\":\"AQ==\"}\n"));
        Assert.That(json.Expect(ExitCode.CallFailed).Out, Is.Empty);
        Assert.That(json.Error, Is.EqualTo(
            "{\"error\":{\"status\":\"NOT_FOUND\",\"statusCode\":5,\"message\":\"no such note\",\"details\":"
            + "[{\"@type\":\"t/rpcovershm.tool.test.Note\",\"text\":\"7\"},"
            + "{\"@type\":\"t/no.Such\",\"@value\":\"AQ==\"}],"
            + "\"exitCode\":1}}\n"));
    }

    [Test]
    public async Task Call_Verbose_ShowsHeadersAndTrailersBesideTheAnswer()
    {
        ToolRun run = await _server.RunAsync("call", TestServer.Name, "Add", "--json", "-v");

        Assert.That(run.Out, Is.EqualTo("{\"number\":\"7\"}\n"));
        Assert.That(run.Error, Does.Contain("header: x-head=first\n").And.Contains("trailer: x-tail=last\n"));
    }

    [Test]
    public async Task Call_ThatFails_ShowsItsTrailersIfAsked()
    {
        const string Request = """{"statusCode":9,"detail":"locked","details":[]}""";

        ToolRun plain = await _server.RunAsync("call", TestServer.Name, "Fail", Request);
        ToolRun verbose = await _server.RunAsync("call", TestServer.Name, "Fail", Request, "-v");
        ToolRun json = await _server.RunAsync("call", TestServer.Name, "Fail", Request, "--json");

        Assert.That(
            plain.Expect(ExitCode.CallFailed).Error,
            Is.EqualTo("The call failed with FAILED_PRECONDITION (9): locked\n"));
        Assert.That(verbose.Expect(ExitCode.CallFailed).Error, Is.EqualTo(
            "header: x-head=failing\n" + plain.Error + "trailer: x-why=busy\ntrailer: x-key-bin=AP8=\n"));
        Assert.That(json.Expect(ExitCode.CallFailed).Error, Does.Contain(
            "\"trailers\":[{\"key\":\"x-why\",\"value\":\"busy\"},{\"key\":\"x-key-bin\",\"value\":\"AP8=\"}]"));
    }

    // The server offers both serialisers for its methods; the tool has only the descriptors of Protobuf.
    [Test]
    public async Task Call_OfAServerThatSpeaksMessagePackToo_UsesTheProtobufForm()
    {
        using ShmChannel channel = ShmChannel.ForAddress(
            "shm://" + _server.SocketPath, new ShmChannelOptions { Codec = ShmMessagePackCodec.Instance });
        Note packed = await new Notes.NotesClient(channel).AddAsync(new Note { Text = "a" });

        ToolRun run = await _server.RunAsync("call", TestServer.Name, "Add", """{"text":"a"}""", "--json");

        Assert.That(packed, Is.EqualTo(new Note { Number = 7, Text = "a" }));
        Assert.That(run.Expect(ExitCode.Ok).Out, Is.EqualTo("{\"number\":\"7\",\"text\":\"a\"}\n"));
    }

    [Test]
    public async Task Call_OfAnUnknownMethod_NamesTheNearest()
    {
        ToolRun run = await _server.RunAsync("call", TestServer.Name, $"{Service}/Adz");
        ToolRun end = await _server.RunAsync("call", TestServer.Name, "Improt");
        ToolRun other = await _server.RunAsync("call", TestServer.Name, "Unheard");

        Assert.That(run.Expect(ExitCode.BadInput).Error, Does.Contain($"Did you mean '{Service}/Add'"));
        Assert.That(end.Expect(ExitCode.BadInput).Error, Does.Contain($"'{Service}/Import'"));
        Assert.That(
            other.Expect(ExitCode.BadInput).Error, Does.Contain("Its methods are").And.Contains($"{Service}/Add,"));
    }

    [TestCase("[]", "the message: expected an object with the fields of rpcovershm.tool.test.Note, found a list")]
    [TestCase("""{"answers":[{"tags":1}]}""", "answers[0].tags: expected a list of strings, found the number 1")]
    [TestCase("{", "line 1: the JSON ends within a message")]
    [TestCase("{}{}", "takes one message and got more")]
    [TestCase(" ", "takes one message and got none")]
    public async Task Call_WithABadRequest_SaysWhatIsAllowed(string json, string text)
    {
        ToolRun run = await _server.RunAsync("call", TestServer.Name, "Add", json);

        Assert.That(run.Expect(ExitCode.BadInput).Error, Does.Contain(text));
    }

    [TestCase("--deadline", "soon", "--deadline is a time above 0")]
    [TestCase("--deadline", "0s", "--deadline is a time above 0")]
    [TestCase("--metadata", "user", "Metadata are key=value")]
    [TestCase("--metadata", "a b=c", "'a b=c' is no metadata")]
    [TestCase("--metadata", "a-bin=!", "The value of 'a-bin' is base64")]
    [TestCase("--colour", "red", "Unrecognized command or argument '--colour'")]
    public async Task Call_WithABadOption_SaysWhatIsAllowed(string option, string value, string text)
    {
        ToolRun run = await _server.RunAsync("call", TestServer.Name, "Add", "{}", option, value);

        Assert.That(run.Expect(ExitCode.BadInput).Error, Does.Contain(text));
    }

    [Test]
    public async Task Call_OfANameThatNobodyServes_NamesThoseThatAreThere()
    {
        ToolRun run = await _server.RunAsync("call", "nothing", "Add");

        Assert.That(
            run.Expect(ExitCode.NotConnected).Error,
            Does.Contain("No server listens at").And.Contains("notes/one").And.Not.Contains("The call failed"));
    }

    [TestCase("net.pipe://localhost/notes", "'net.pipe://localhost/notes' is not an address")]
    [TestCase("a b", "' ' is not allowed in a name")]
    public async Task Call_OfNoAddress_SaysWhatOneIs(string address, string text)
    {
        ToolRun run = await _server.RunAsync("call", address, "Add");

        Assert.That(run.Expect(ExitCode.BadInput).Error, Does.Contain(text));
    }

    [Test]
    public async Task Call_OfAServerWithoutReflection_SaysHowToAddIt()
    {
        await using TestServer plain = await TestServer.StartPlainAsync();

        ToolRun run = await plain.RunAsync("call", TestServer.Name, "Add");

        Assert.That(run.Expect(ExitCode.NotOffered).Error, Does.Contain("has no reflection").And.Contains("Add it"));
    }

    // The reflection gives one file at a time, and lists no service of the attachment: an Any that names it is enough.
    [Test]
    public async Task Call_WithATypeThatOnlyAnAnyNames_AsksForIt()
    {
        await using TestServer sparse = await TestServer.StartSparseAsync(
            NotesReflection.Descriptor, AttachmentsReflection.Descriptor);
        const string Request =
            """{"attachment":{"@type":"t/rpcovershm.tool.test.Attachment","name":"x","content":"AQ=="},"number":"1"}""";

        ToolRun run = await sparse.RunAsync("call", TestServer.Name, "Add", Request, "--json");

        Assert.That(Codec.AreSame(run.Expect(ExitCode.Ok).Out, Request), Is.True, run.Out);
    }

    [Test]
    public async Task Call_OfAReflectionWithoutAnImport_NamesTheFile()
    {
        await using TestServer sparse = await TestServer.StartSparseAsync(UsesOthersReflection.Descriptor);

        ToolRun run = await sparse.RunAsync("describe", TestServer.Name, "rpcovershm.tool.test.UsesOthers");

        Assert.That(run.Expect(ExitCode.NotOffered).Error, Does.Contain("does not give the file 'attachments.proto'"));
    }
}
