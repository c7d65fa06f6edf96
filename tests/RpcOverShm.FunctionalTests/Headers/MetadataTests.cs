namespace RpcOverShm.FunctionalTests.Headers;

/// <summary>Metadata as methods and clients see it.</summary>
[EveryRig]
internal sealed class MetadataTests(RigKind kind) : ItemFixture(kind)
{
    private static readonly byte[] s_binary = [0, 1, 2, 127, 128, 254, 255, 0];

    private static readonly string s_printable =
        string.Concat(Enumerable.Range(0x21, 0x7E - 0x20).Select(c => (char)c));

    [Test]
    [Item("M01")]
    public async Task Keys_AreLowerCaseEverywhere()
    {
        foreach (Metadata metadata in await EchoAsync(new Metadata
        {
            { "MixedCase.1-2_3", "Value" },
            { "MixedCase-Bin", s_binary },
        }))
        {
            Assert.That(
                metadata.Single(entry => !entry.IsBinary && entry.Value == "Value").Key, Is.EqualTo("mixedcase.1-2_3"));
            Assert.That(metadata.Single(entry => entry.IsBinary).Key, Is.EqualTo("mixedcase-bin"));
        }
    }

    [TestCase("with space")]
    [TestCase("with:colon")]
    [TestCase("sch\u00f6n")]
    [TestCase("line\nbreak")]
    [Item("M01")]
    public void KeysOfOtherCharacters_AreRefusedByTheEntry(string key) =>
        Assert.That(() => new Metadata.Entry(key, "value"), Throws.InstanceOf<ArgumentException>());

    [Test]
    [Item("M01")]
    public void ValuesOfTheOtherKind_AreRefusedByTheEntry()
    {
        Assert.That(() => new Metadata.Entry("key-bin", "text"), Throws.ArgumentException);
        Assert.That(() => new Metadata.Entry("key", s_binary), Throws.ArgumentException);
    }

    [Test]
    [NotOn(RigKind.GrpcDotNet, "HttpClient joins the values of one key by commas, and Kestrel drops empty ones.")]
    [Item("M02")]
    public async Task ReceivedEntries_AreReadAsAnyOthers()
    {
        foreach (Metadata metadata in await EchoAsync(new Metadata
        {
            { "key", "first" },
            { "key-bin", s_binary },
            { "key", "last" },
        }))
        {
            Metadata.Entry binary = metadata.Get("key-bin")!;
            Assert.That(() => binary.Value, Throws.InvalidOperationException);
            binary.ValueBytes[0] = 77;
            Assert.That(binary.ValueBytes, Is.EqualTo(s_binary), "What it gives is a copy.");
            Assert.That(metadata.Get("key")!.Value, Is.EqualTo("last"));
            Assert.That(
                metadata.GetAll("key").Select(entry => entry.Value), Is.EqualTo(new[] { "first", "last" }));
            Assert.That(metadata.Get("absent"), Is.Null);
        }
    }

    [Test]
    [Item("M03")]
    public async Task TrailersOfAFailure_AreNeverNull()
    {
        CallRig rig = await UseAsync(Everywhere(_ => throw new RpcException(new Status(StatusCode.NotFound, ""))));

        RpcException[] failures = await FailuresOfEveryShapeAsync(rig);
        RpcException local = await FailureOf(
            rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(deadline: DateTime.MinValue)));

        Assert.That(failures.Append(local).Select(failure => failure.Trailers), Is.All.Not.Null.And.All.Empty);
        Assert.That(() => Metadata.Empty.Add("key", "value"), Throws.InvalidOperationException);
    }

    [Test]
    [Item("M03")]
    public async Task MetadataOfARequestWithout_IsEmptyAndNotNull()
    {
        foreach (Metadata metadata in await EchoAsync(null))
        {
            // The other rigs add their user-agent, which the method echoes.
            Assert.That(metadata.Select(entry => entry.Key), IsShm ? Is.Empty : Is.All.EqualTo("user-agent"));
        }
    }

    [Test]
    [Item("M04")]
    public async Task PrintableAsciiOfKeysThatMeanNothing_ArrivesExactly()
    {
        foreach (Metadata metadata in await EchoAsync(new Metadata
        {
            { "text", s_printable },
            { "spaces", "in the middle" },
            { "edges", "  between  " },
            { "grpc-of-tomorrow", "value" },
            { "empty", "" },
            { "data-bin", s_binary },
            { "none-bin", [] },
        }))
        {
            Assert.That(metadata.GetValue("text"), Is.EqualTo(s_printable));
            Assert.That(metadata.GetValue("spaces"), Is.EqualTo("in the middle"));

            // No transport strips spaces at the edges, although HTTP/2 allows it, or reserved keys that mean nothing.
            Assert.That(metadata.GetValue("edges"), Is.EqualTo("  between  "));
            Assert.That(metadata.GetValue("grpc-of-tomorrow"), Is.EqualTo("value"));
            Assert.That(metadata.GetValue("empty"), IsGrpcDotNet ? Is.Null.Or.Empty : Is.Empty, "Kestrel drops these.");
            Assert.That(metadata.GetValueBytes("data-bin"), Is.EqualTo(s_binary));
            Assert.That(metadata.GetValueBytes("none-bin"), IsGrpcDotNet ? Is.Null.Or.Empty : Is.Empty);
        }
    }

    [TestCase("grpc-encoding", "identity")]
    [TestCase("grpc-accept-encoding", "identity")]
    [TestCase("grpc-timeout", "5000000u")]
    [TestCase("content-encoding", "identity")]
    [TestCase("content-type", "application/grpc")]
    [TestCase("te", "trailers")]
    [TestCase("host", "elsewhere")]
    [TestCase("accept-encoding", "identity")]
    [Item("M05")]
    public async Task KeysOfTheTransport_AreHiddenFromTheMethod(string key, string value)
    {
        Metadata seen = await MethodsViewAsync(new Metadata { { "before", "1" }, { key, value }, { "after", "2" } });

        // Grpc.Core hides the headers that gRPC uses, and passes on other HTTP headers.
        Assert.That(
            seen.Get(key),
            IsDotNet || key is not ("content-encoding" or "host" or "accept-encoding") ? Is.Null : Is.Not.Null);
        Assert.That(seen.GetValue("before"), Is.EqualTo("1"));
        Assert.That(seen.GetValue("after"), Is.EqualTo("2"));
    }

    [TestCase("grpc-status", "0")]
    [TestCase("grpc-message", "words")]
    [TestCase("grpc-encoding", "identity")]
    [TestCase("grpc-accept-encoding", "identity")]
    [TestCase("content-encoding", "identity")]
    [TestCase("content-type", "application/grpc")]
    [NotOn(RigKind.GrpcDotNet, "HTTP takes the method's status and content type for the transport's own.")]
    [Item("M06")]
    public async Task KeysOfTheTransport_AreHiddenFromTheClient(string key, string value)
    {
        CallRig rig = await UseAsync(new Script
        {
            Unary = async (request, context) =>
            {
                await context.WriteResponseHeadersAsync(new Metadata { { key, value }, { "kept", "1" } });
                context.ResponseTrailers.Add(key, value);
                context.ResponseTrailers.Add("kept", "1");
                return request;
            },
        });

        using AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Of("x"));
        Payload response = await call.ResponseAsync.Bounded();
        Metadata headers = await call.ResponseHeadersAsync.Bounded();

        // Grpc.Core hides the headers that gRPC uses, and passes on other HTTP headers.
        bool isHidden = IsDotNet || key != "content-encoding";
        Assert.That(response.Text(), Is.EqualTo("x"));
        Assert.That(headers.Get(key), isHidden ? Is.Null : Is.Not.Null);
        Assert.That(call.GetTrailers().Get(key), isHidden ? Is.Null : Is.Not.Null);
        Assert.That(headers.GetValue("kept"), Is.EqualTo("1"));
        Assert.That(call.GetTrailers().GetValue("kept"), Is.EqualTo("1"));
    }

    [Test]
    [Item("M07")]
    public async Task TimeoutAmongTheHeaders_IsNoDeadline()
    {
        var seen = new TaskCompletionSource<DateTime>();
        CallRig rig = await UseAsync(new Script
        {
            Unary = (request, context) =>
            {
                seen.SetResult(context.Deadline);
                return Task.FromResult(request);
            },
        });

        var options = new CallOptions(new Metadata { { "grpc-timeout", "100S" } });
        await rig.Client.UnaryAsync(Payloads.Empty, options).ResponseAsync.Bounded();

        // Grpc.Core sends the entry as its own grpc-timeout.
        Assert.That(
            await seen.Task, IsDotNet ? Is.EqualTo(DateTime.MaxValue) : Is.LessThan(DateTime.UtcNow.AddDays(1)));
    }

    [Test]
    [NotOn(RigKind.GrpcDotNet, "HttpClient joins the values of one key by commas, and Kestrel drops empty ones.")]
    [Item("M08")]
    public async Task Duplicates_StayApartAndInOrder()
    {
        foreach (Metadata metadata in await EchoAsync(new Metadata
        {
            { "key", "one" },
            { "key-bin", [1] },
            { "other", "x" },
            { "key", "two, with a comma" },
            { "key-bin", [] },
            { "key", "three" },
            { "key-bin", [3, 3, 3] },
        }))
        {
            Assert.That(
                metadata.GetAll("key").Select(entry => entry.Value),
                Is.EqualTo(new[] { "one", "two, with a comma", "three" }));
            Assert.That(
                metadata.GetAll("key-bin").Select(entry => entry.ValueBytes.Length), Is.EqualTo(new[] { 1, 0, 3 }));
        }
    }

    [Test]
    [Item("M11")]
    public async Task StatusDetails_ReachTheClientByEveryWay()
    {
        CallRig rig = await UseAsync(new Script
        {
            Unary = (_, _) => throw new RpcException(
                new Status(StatusCode.Aborted, "plain"), new Metadata { { "grpc-status-details-bin", s_binary } }),
            ServerStream = async (request, responses, _) =>
            {
                await responses.WriteAsync(request);
                throw new RpcException(
                    new Status(StatusCode.Aborted, "plain"), new Metadata { { "grpc-status-details-bin", s_binary } });
            },
        });

        RpcException[] failures =
        [
            await FailureOf(rig.Client.UnaryAsync(Payloads.Empty)),
            await CallFailure.OfBlocking(() => rig.Client.Unary(Payloads.Empty)),
            await FailureOf(rig.Client.ServerStream(Payloads.Empty).ResponseStream.ToListAsync()),
        ];

        foreach (RpcException failure in failures)
        {
            Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.Aborted, "plain")));
            Assert.That(failure.Trailers.GetValueBytes("grpc-status-details-bin"), Is.EqualTo(s_binary));
        }
    }

    /// <summary>Returns the metadata that a method sees, and its echo in headers and trailers.</summary>
    private async Task<Metadata[]> EchoAsync(Metadata? metadata)
    {
        var seen = new TaskCompletionSource<Metadata>();
        CallRig rig = await UseAsync(new Script
        {
            Unary = async (request, context) =>
            {
                seen.SetResult(context.RequestHeaders);
                await context.WriteResponseHeadersAsync([.. context.RequestHeaders]);
                foreach (Metadata.Entry entry in context.RequestHeaders)
                {
                    context.ResponseTrailers.Add(entry);
                }

                return request;
            },
        });

        using AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(metadata));
        await call.ResponseAsync.Bounded();
        return [await seen.Task, await call.ResponseHeadersAsync.Bounded(), call.GetTrailers()];
    }

    private async Task<Metadata> MethodsViewAsync(Metadata headers)
    {
        var seen = new TaskCompletionSource<Metadata>();
        CallRig rig = await UseAsync(new Script
        {
            Unary = (request, context) =>
            {
                seen.SetResult(context.RequestHeaders);
                return Task.FromResult(request);
            },
        });
        await rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(headers)).ResponseAsync.Bounded();
        return await seen.Task.Bounded();
    }
}
