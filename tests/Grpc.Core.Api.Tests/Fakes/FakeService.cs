namespace Grpc.Core.Api.Tests.Fakes;

/// <summary>Stands where a generated service class would, with the private fields that debuggers look for.</summary>
internal static class FakeService
{
#pragma warning disable IDE1006 // The generator calls it so, and debuggers look for that name.
    private static readonly string __ServiceName = "test.Fake";
#pragma warning restore IDE1006

    private static readonly Method<string, string> s_call = TestMethods.Unary;

    internal static Method<string, string> Call => s_call;

    internal static string Name => __ServiceName;

    /// <summary>What the generator writes, by hand.</summary>
    internal sealed class FakeClient : ClientBase<FakeClient>
    {
        public FakeClient(ChannelBase channel)
            : base(channel)
        {
        }

        public FakeClient(CallInvoker invoker)
            : base(invoker)
        {
        }

        public FakeClient()
        {
        }

        private FakeClient(ClientBaseConfiguration configuration)
            : base(configuration)
        {
        }

        internal CallInvoker Invoker => CallInvoker;

        internal static FakeClient WithoutConfiguration() => new((ClientBaseConfiguration)null!);

        protected override FakeClient NewInstance(ClientBaseConfiguration configuration) => new(configuration);
    }
}
