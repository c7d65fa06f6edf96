using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Protocol;
using RpcOverShm.Servers;

namespace RpcOverShm.FunctionalTests.Codecs;

/// <summary>Compressed messages: requests for them, frames and refusals (grpc-behaviour.md 1.11).</summary>
internal sealed class CompressionTests() : RigFixture(RigKind.Shm)
{
    private const string Wanted = "grpc-internal-encoding-request";
    private const int Bytes = 8_000; // One record of a ring that has not grown takes them.

    private static CallOptions Gzip => new(new Metadata { { Wanted, "gzip" }, { "other", "kept" } });

    [Test]
    public async Task Request_OfACallThatAsksForIt_IsCompressed_InEveryShape()
    {
        var seen = new List<bool>();
        CallRig rig = await StartAsync(Noting(seen));

        await Timeouts.OnThread(() => rig.Client.Unary(Zeros, Gzip)).Bounded();
        foreach (MethodType shape in AnyCall.Shapes)
        {
            await AnyCall.CallAsync(rig.Invoker, AnyCall.MethodOf(shape), Zeros, Gzip).Bounded();
        }

        Assert.That(seen, Is.EqualTo(Enumerable.Repeat(true, 5)));
    }

    [Test]
    public async Task Request_WithNoCompress_IsNotCompressed()
    {
        var seen = new List<bool>();
        CallRig rig = await StartAsync(Noting(seen));
        CallOptions plain = Gzip.WithWriteOptions(new WriteOptions(WriteFlags.NoCompress));

        await rig.Client.UnaryAsync(Zeros, plain).ResponseAsync.Bounded();
        await rig.Client.UnaryAsync(Zeros).ResponseAsync.Bounded();
        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream(Gzip);
        await call.RequestStream.WriteAsync(Zeros).Bounded();
        call.RequestStream.WriteOptions = new WriteOptions(WriteFlags.NoCompress);
        await call.RequestStream.WriteAsync(Zeros).Bounded();
        await call.RequestStream.CompleteAsync().Bounded();
        await call.ResponseAsync.Bounded();

        Assert.That(seen, Is.EqualTo(new[] { false, false, true, false }));
    }

    [Test]
    public async Task Wish_OfTheCall_IsNotShownToTheMethod_AndTheRestIs()
    {
        Metadata? headers = null;
        CallRig rig = await StartAsync(new Script
        {
            Unary = (request, context) =>
            {
                headers = context.RequestHeaders;
                return Task.FromResult(request);
            },
        });
        CallOptions options = Gzip;

        await rig.Client.UnaryAsync(Zeros, options).ResponseAsync.Bounded();

        Assert.That(headers!.Select(entry => entry.Key), Is.EqualTo(new[] { "other" }));
        Assert.That(options.Headers!, Has.Count.EqualTo(2));
    }

    [Test]
    public async Task Encoding_ThatTheClientDoesNotHave_FailsTheCall()
    {
        CallRig rig = await StartAsync(new Script());

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(
            Zeros, new CallOptions(new Metadata { { Wanted, "br" } })));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(failure.Status.Detail, Does.Contain("Could not find compression provider for 'br'"));
        await rig.Client.UnaryAsync(Zeros, new CallOptions(new Metadata { { Wanted, "identity" } }))
            .ResponseAsync.Bounded();
    }

    [Test]
    public async Task Encoding_ThatTheServerDoesNotHave_IsUnimplemented_AndNamesThoseItHas()
    {
        ShmRig rig = await StartShmAsync(new Script());
        using RawPeer client = await RawPeer.ConnectAsync(rig.Place);

        StatusTrailer end = await client.CallAsync(1, "br", [0]);

        Assert.That(end.Status.StatusCode, Is.EqualTo(StatusCode.Unimplemented));
        Assert.That(end.Status.Detail, Does.Contain("'br'").And.Contains("identity,gzip"));
    }

    [TestCase("gzip", new byte[0], "mark")]
    [TestCase("gzip", new byte[] { 2, 1, 1 }, "mark")]
    [TestCase("gzip", new byte[] { 1, 1, 1 }, "decompressed")]
    [TestCase("identity", new byte[] { 1, 2, 3 }, "")]
    public async Task Message_ThatIsNotWhatItSays_IsInternal_AndTheConnectionLives(
        string encoding, byte[] message, string problem)
    {
        ShmRig rig = await StartShmAsync(new Script());
        using RawPeer client = await RawPeer.ConnectAsync(rig.Place);

        StatusTrailer end = await client.CallAsync(1, encoding, message);
        StatusTrailer next = await client.CallAsync(2, encoding, [0, .. RawFrames.Message("fine")]);

        Assert.That(end.Status.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(end.Status.Detail, Does.Contain(problem));
        Assert.That(next.Status.StatusCode, Is.EqualTo(StatusCode.OK));
    }

    [Test]
    public async Task Limit_OfTheReceiver_CountsDecompressedBytes([Values] bool isStream)
    {
        CallRig rig = await StartAsync(new Script(), new RigOptions { ServerMaxReceive = 1000 });

        RpcException failure;
        if (isStream)
        {
            using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex(Gzip);
            await call.RequestStream.WriteAsync(Zeros).Bounded();
            failure = await FailureOf(call.ResponseStream.MoveNext(CancellationToken.None));
        }
        else
        {
            failure = await FailureOf(rig.Client.UnaryAsync(Zeros, Gzip));
        }

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(
            failure.Status.Detail, Does.StartWith("Received message exceeds the maximum configured message size."));
        await rig.Client.UnaryAsync(Payloads.OfSize(900), Gzip).ResponseAsync.Bounded();
    }

    [Test]
    public async Task Limit_OfTheClient_CountsDecompressedBytes()
    {
        CallRig rig = await StartAsync(
            new Script { Unary = (_, _) => Task.FromResult(Zeros) },
            new RigOptions { ClientMaxReceive = 1000, ResponseCompression = "gzip" });

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
    }

    [Test]
    public async Task Limit_OfTheSender_CountsBytesBeforeCompression()
    {
        CallRig rig = await StartAsync(new Script(), new RigOptions { ClientMaxSend = 1000 });

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Zeros, Gzip));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(
            failure.Status.Detail, Does.StartWith("Sending message exceeds the maximum configured message size."));
    }

    [Test]
    public async Task Response_OfACallThatAsksForIt_IsCompressedOnTheWire_UnlessItsMessageIsNot()
    {
        ShmRig rig = await StartShmAsync(new Script
        {
            ServerStream = async (_, responses, context) =>
            {
                await context.WriteResponseHeadersAsync(new Metadata { { Wanted, "gzip" }, { "other", "kept" } });
                await responses.WriteAsync(Zeros);
                responses.WriteOptions = new WriteOptions(WriteFlags.NoCompress);
                await responses.WriteAsync(Zeros);
            },
        });
        using RawPeer client = await RawPeer.ConnectAsync(rig.Place);

        client.StartServerStream("");
        RawFrame headers = await client.ReceiveAsync(FrameKind.Headers);
        RawFrame compressed = await client.ReceiveAsync(FrameKind.Message);
        RawFrame plain = await client.ReceiveAsync(FrameKind.Message);

        var from = new WireReader(headers.Head);
        Metadata shown = MetadataCodec.Decode(ref from)!;
        Assert.That(
            shown.Select(entry => $"{entry.Key}={entry.Value}"),
            Is.EqualTo(new[] { "other=kept", "grpc-encoding=gzip" }));
        Assert.That(compressed.Body[0], Is.EqualTo(1));
        Assert.That(compressed.Body, Has.Length.LessThan(1000));
        Assert.That(plain.Body[0], Is.Zero);
        Assert.That(plain.Body, Has.Length.GreaterThan(Bytes));
    }

    [Test]
    public async Task Response_OfAServerThatCompresses_IsCompressedOnTheWire([Values] bool isStream)
    {
        ShmRig rig = await StartShmAsync(
            new Script
            {
                Unary = (_, _) => Task.FromResult(Zeros),
                ServerStream = (_, responses, _) => responses.WriteAsync(Zeros),
            },
            new RigOptions { ResponseCompression = "gzip" });
        using RawPeer client = await RawPeer.ConnectAsync(rig.Place);

        client.Start(
            RawFrames.First, isStream ? RawFrames.ServerStreamHead : RawFrames.UnaryHead, RawFrames.Message(""));
        RawFrame response = await client.ReceiveAsync(isStream ? FrameKind.Message : FrameKind.End);

        Assert.That(response.Body[0], Is.EqualTo(1));
        Assert.That(response.Body, Has.Length.LessThan(1000));
    }

    [Test]
    public async Task Responses_OfAServerThatCompresses_ArriveWithoutATrace_InEveryShape()
    {
        CallRig rig = await StartAsync(new Script(), new RigOptions { ResponseCompression = "gzip" });

        string wrong = await Shapes.RunAllAsync(rig.Client, Bytes).Bounded();
        using AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Zeros);
        Metadata headers = await call.ResponseHeadersAsync.Bounded();
        Payload answer = await call.ResponseAsync.Bounded();

        Assert.That(wrong, Is.Empty);
        Assert.That(headers, Is.Empty);
        Assert.That(answer, Is.EqualTo(Zeros));
    }

    [TestCase(null)]
    [TestCase(int.MaxValue)]
    public async Task Limit_ThatIsNone_OrTheLargest_TakesWhatIsCompressed(int? limit)
    {
        CallRig rig = await StartAsync(
            new Script(),
            new RigOptions { ServerMaxReceive = limit, ClientMaxReceive = limit, ResponseCompression = "gzip" });

        Payload answer = await rig.Client.UnaryAsync(Zeros, Gzip).ResponseAsync.Bounded();

        Assert.That(answer, Is.EqualTo(Zeros));
    }

    [Test]
    public async Task Response_ThatIsToBeAsItIs_IsNotCompressedByTheServersOption()
    {
        ShmRig rig = await StartShmAsync(
            new Script
            {
                ServerStream = async (_, responses, context) =>
                {
                    await context.WriteResponseHeadersAsync(new Metadata { { Wanted, "identity" } });
                    await responses.WriteAsync(Zeros);
                },
            },
            new RigOptions { ResponseCompression = "gzip" });
        using RawPeer client = await RawPeer.ConnectAsync(rig.Place);

        client.StartServerStream("");
        RawFrame message = await client.ReceiveAsync(FrameKind.Message);

        Assert.That(Payload.Parser.ParseFrom(message.Body).Data.Length, Is.EqualTo(Bytes));
    }

    [Test]
    public async Task Response_WithAnEncodingThatTheServerDoesNotHave_IsTheMethodsError()
    {
        InvalidOperationException? thrown = null;
        CallRig rig = await StartAsync(new Script
        {
            Unary = async (request, context) =>
            {
                try
                {
                    await context.WriteResponseHeadersAsync(new Metadata { { Wanted, "br" } });
                }
                catch (InvalidOperationException exception)
                {
                    thrown = exception;
                }

                return request;
            },
        });

        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();

        Assert.That(thrown!.Message, Does.Contain("'br'"));
    }

    private static Payload Zeros => new() { Data = Google.Protobuf.ByteString.CopyFrom(new byte[Bytes]) };

    private static Script Noting(List<bool> seen)
    {
        return new Script
        {
            Unary = (_, context) => Note(context),
            ServerStream = (_, _, context) => Note(context),
            ClientStream = async (requests, context) =>
            {
                while (await requests.MoveNext(CancellationToken.None))
                {
                    await Note(context);
                }

                return Payloads.Empty;
            },
            Duplex = async (requests, _, context) =>
            {
                while (await requests.MoveNext(CancellationToken.None))
                {
                    await Note(context);
                }
            },
        };

        Task<Payload> Note(ServerCallContext context)
        {
            seen.Add(((ShmServerCallContext)context).IsLastRequestCompressed);
            return Task.FromResult(Payloads.Empty);
        }
    }
}
