namespace RpcOverShm.Analyzers.Tests;

public class ChannelOptionsTests
{
    [TestCase("ShmChannelOptions", "HttpHandler")]
    [TestCase("ShmChannelOptions", "HttpClient")]
    [TestCase("ShmChannelOptions", "DisposeHttpClient")]
    [TestCase("ShmChannelOptions", "HttpVersion")]
    [TestCase("ShmChannelOptions", "HttpVersionPolicy")]
    [TestCase("ShmChannelOptions", "CompressionProviders")]
    [TestCase("ShmChannelOptions", "UnsafeUseInsecureChannelCallCredentials")]
    [TestCase("ShmChannelOptions", "ServiceProvider")]
    [TestCase("ShmServiceConfig", "LoadBalancingConfigs")]
    [TestCase("ShmMethodConfig", "HedgingPolicy")]
    public Task Option_OfGrpcAlone_IsReported(string type, string option) =>
        Verify.ReportsAsync<ChannelOptionsAnalyzer>($$"""
            private static object Make() => new {{type}} { [|{|CS0117:{{option}}|}|] = null };
            """);

    [Test]
    public Task Option_InAnInitializer_IsRemovedByTheFix() =>
        Verify.FixesAsync<ChannelOptionsAnalyzer, RemoveOptionFix>(
            """
                private static ShmChannelOptions Make() => new()
                {
                    MaxSendMessageSize = 1,
                    [|{|CS0117:HttpHandler|}|] = null,
                    MaxMetadataSize = 8192,
                };
            """,
            """
                private static ShmChannelOptions Make() => new()
                {
                    MaxSendMessageSize = 1,
                    MaxMetadataSize = 8192,
                };
            """);

    [Test]
    public Task Option_OfAStatement_IsRemovedByTheFix() => Verify.FixesAsync<ChannelOptionsAnalyzer, RemoveOptionFix>(
        """
            private static void Set(ShmChannelOptions options)
            {
                options.MaxSendMessageSize = 1;
                options.[|{|CS1061:HttpHandler|}|] = null;
            }
        """,
        """
            private static void Set(ShmChannelOptions options)
            {
                options.MaxSendMessageSize = 1;
            }
        """);

    [Test]
    public Task Option_OfATopLevelStatement_IsRemovedByTheFix() =>
        Verify.FixesProgramAsync<ChannelOptionsAnalyzer, RemoveOptionFix>(
            """
            var options = new ShmChannelOptions();
            options.[|{|CS1061:HttpHandler|}|] = null;
            options.MaxSendMessageSize = 1;
            """,
            """
            var options = new ShmChannelOptions();
            options.MaxSendMessageSize = 1;
            """);

    [TestCase("if (isSet) options.[|{|CS1061:HttpHandler|}|] = null;")]
    [TestCase("Action later = () => options.[|{|CS1061:HttpHandler|}|] = null;")]
    [TestCase("object value = options.[|{|CS1061:HttpHandler|}|] = new object();")]
    public Task Option_ThatTheCodeNeeds_HasNoFix(string statement)
    {
        string code = $$"""
            private static void Set(ShmChannelOptions options, bool isSet)
            {
                {{statement}}
            }
            """;
        return Verify.FixesAsync<ChannelOptionsAnalyzer, RemoveOptionFix>(code, code);
    }

    // An option that gRPC lacks too; a type of the user; an option that both have.
    [Test]
    public Task Option_OfAnotherKind_IsNotReported() => Verify.ReportsAsync<ChannelOptionsAnalyzer>("""
        private object HttpHandler { get; set; }

        private static object Make() => new object[]
        {
            new ShmChannelOptions { {|CS0117:Wrong|} = null },
            new Sample { HttpHandler = null },
            new ShmChannelOptions { Credentials = null, ServiceConfig = new ShmServiceConfig() },
        };
        """);
}
