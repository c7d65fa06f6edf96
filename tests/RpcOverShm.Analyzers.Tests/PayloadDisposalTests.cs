namespace RpcOverShm.Analyzers.Tests;

public class PayloadDisposalTests
{
    [TestCase("ShmPayload [|p|] = await ShmPayload.ReadAsync(Stream, 100); Use(p.Length);")]
    [TestCase("ShmPayload [|p|] = await ShmPayload.ReadAsync(Stream, 100).ConfigureAwait(false); Use(p.ToArray());")]
    [TestCase("ShmPayload [|p|] = ShmPayload.CopyOf(default); await Writer.WriteAsync(p);")]
    [TestCase("ShmPayload [|p|] = await Invoker.AsyncUnaryCall(Method, null, default, Request); Use(p.Bytes);")]
    [TestCase("ShmPayload [|p|] = Invoker.BlockingUnaryCall(Method, null, default, Request);")]
    [TestCase("ShmPayload [|p|] = Reader.Current; await p.CopyToAsync(Stream);")]
    [TestCase("var [|p|] = ShmPayload.CopyOf(default); Invoker.AsyncUnaryCall(Method, null, default, p);")]
    [TestCase("await foreach (ShmPayload [|p|] in Reader.ReadAllAsync()) { Use(p.Length); }")]
    [TestCase("Use(([|await ShmPayload.ReadAsync(Stream, 100)|]).Length);")]
    [TestCase("byte[] bytes = [|Invoker.BlockingUnaryCall(Method, null, default, Request)|].ToArray();")]
    [TestCase("[|await Invoker.AsyncUnaryCall(Method, null, default, Request)|];")]
    public Task Payload_ThatNothingDisposes_IsReported(string statements) =>
        Verify.ReportsAsync<PayloadDisposalAnalyzer>(InMethod(statements));

    [TestCase("using ShmPayload p = await ShmPayload.ReadAsync(Stream, 100); Use(p.Length);")]
    [TestCase("using (ShmPayload p = ShmPayload.CopyOf(default)) { Use(p.Length); }")]
    [TestCase("ShmPayload p = Reader.Current; try { Use(p.Length); } finally { p.Dispose(); }")]
    [TestCase("ShmPayload p = Reader.Current; p?.Dispose();")]
    [TestCase("await foreach (ShmPayload p in Reader.ReadAllAsync()) { using ShmPayload one = p; }")]
    [TestCase("(await ShmPayload.ReadAsync(Stream, 100)).Dispose();")]
    public Task Payload_ThatIsDisposed_IsNotReported(string statements) =>
        Verify.ReportsAsync<PayloadDisposalAnalyzer>(InMethod(statements));

    // A payload that goes elsewhere may be disposed there. One that wraps bytes of the user has no arrays of the pool.
    [TestCase("ShmPayload p = Reader.Current; Use(p);")]
    [TestCase("ShmPayload p = Reader.Current; _field = p;")]
    [TestCase("ShmPayload p = Reader.Current; var list = new List<ShmPayload> { p };")]
    [TestCase("ShmPayload p = Reader.Current; Action later = () => p.ToArray();")]
    [TestCase("ShmPayload p = Reader.Current; ShmPayload other = null; (other, p) = (p, other); other.Dispose();")]
    [TestCase("ShmPayload p = ShmPayload.Wrap(new byte[10]); Use(p.Length);")]
    [TestCase("ShmPayload p = _field; Use(p.Length);")]
    [TestCase("Use(Reader.Current.Length);")]
    [TestCase("_field = await ShmPayload.ReadAsync(Stream, 100);")]
    [TestCase("await foreach (ShmPayload p in Kept.ReadAllAsync()) { Use(p.Length); }")]
    public Task Payload_OfSomebodyElse_IsNotReported(string statements) =>
        Verify.ReportsAsync<PayloadDisposalAnalyzer>(InMethod(statements));

    [Test]
    public Task Payload_ThatIsReturned_IsNotReported() => Verify.ReportsAsync<PayloadDisposalAnalyzer>("""
        private static async Task<ShmPayload> ReadAsync(System.IO.Stream stream)
        {
            ShmPayload payload = await ShmPayload.ReadAsync(stream, 100);
            return payload.Length == 0 ? null : payload;
        }

        private static ValueTask<ShmPayload> ReadNext(System.IO.Stream stream) => ShmPayload.ReadAsync(stream, 100);
        """);

    [Test]
    public Task Payload_OfALocal_IsDeclaredWithUsingByTheFix() =>
        Verify.FixesAsync<PayloadDisposalAnalyzer, DisposePayloadFix>(
            InMethod("ShmPayload [|p|] = await ShmPayload.ReadAsync(Stream, 100); Use(p.Length);"),
            InMethod("using ShmPayload p = await ShmPayload.ReadAsync(Stream, 100); Use(p.Length);"));

    [TestCase("await Writer.WriteAsync(p);")]
    [TestCase("await Writer.WriteAsync(p).ConfigureAwait(false);")]
    [TestCase("_field = await Invoker.AsyncUnaryCall(Method, null, default, p).ResponseAsync.ConfigureAwait(false);")]
    [TestCase("if (p.Length > 0) { await p.CopyToAsync(Stream); }")]
    public Task Payload_OfAnAwaitedCall_IsDeclaredWithUsingByTheFix(string use) =>
        Verify.FixesAsync<PayloadDisposalAnalyzer, DisposePayloadFix>(
            InMethod($"ShmPayload [|p|] = ShmPayload.CopyOf(default); {use}"),
            InMethod($"using ShmPayload p = ShmPayload.CopyOf(default); {use}"));

    // 'using' would dispose it before it has been sent.
    [TestCase("Task sent = Writer.WriteAsync(p);")]
    [TestCase("ValueTask copied = p.CopyToAsync(Stream);")]
    [TestCase("Invoker.AsyncUnaryCall(Method, null, default, p);")]
    [TestCase("var call = Invoker.AsyncServerStreamingCall(Method, null, default, p);")]
    public Task Payload_OfACallThatGoesOn_HasNoFix(string use)
    {
        string code = InMethod($"ShmPayload [|p|] = ShmPayload.CopyOf(default); {use}");
        return Verify.FixesAsync<PayloadDisposalAnalyzer, DisposePayloadFix>(code, code);
    }

    private static string InMethod(string statements) => $$"""
        private ShmPayload _field;

        private static System.IO.Stream Stream => System.IO.Stream.Null;

        private static System.Threading.Channels.ChannelReader<ShmPayload> Kept => throw new NotSupportedException();

        private static CallInvoker Invoker => throw new NotSupportedException();

        private static Method<ShmPayload, ShmPayload> Method => throw new NotSupportedException();

        private static ShmPayload Request => throw new NotSupportedException();

        private static IAsyncStreamReader<ShmPayload> Reader => throw new NotSupportedException();

        private static IAsyncStreamWriter<ShmPayload> Writer => throw new NotSupportedException();

        private async Task RunAsync()
        {
            {{statements}}
            await Task.Yield();
        }

        private static void Use(object value)
        {
        }
        """;
}
