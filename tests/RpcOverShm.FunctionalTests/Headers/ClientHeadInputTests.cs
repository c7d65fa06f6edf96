using Grpc.Core.Interceptors;
using RpcOverShm.FunctionalTests.Interceptors;

namespace RpcOverShm.FunctionalTests.Headers;

/// <summary>
/// Call heads that cannot be sent: each fails its own call only, in every shape. <see cref="MetadataTextTests"/> and
/// <see cref="MetadataSizeTests"/> cover values and sizes.
/// </summary>
internal sealed class ClientHeadInputTests() : ItemFixture(RigKind.Shm)
{
    private static readonly Metadata.Entry s_entry = new("k", "");

    public static IEnumerable<TestCaseData> Heads =>
    [
        new TestCaseData(new Metadata { { "", "value" } }, null, "") { TestName = "Head: key of no characters" },
        new TestCaseData(new Metadata { { new string('k', 70_000), "" } }, null, "70000 characters")
        {
            TestName = "Head: key that is too long",
        },
        new TestCaseData(new List<Metadata.Entry>(Enumerable.Repeat(s_entry, 70_000)), null, "70000 entries")
        {
            TestName = "Head: too many entries to count",
        },
        new TestCaseData(new Metadata(), new string('h', 70_000), "The host has more than 65535 bytes.")
        {
            TestName = "Head: host that is too long",
        },
    ];

    [TestCaseSource(nameof(Heads))]
    public async Task Head_ThatCannotBeSent_FailsItsCall(
        IEnumerable<Metadata.Entry> entries, string? host, string detail)
    {
        CallRig rig = await UseAsync(new Script());
        var client = new ScriptClient(rig.Invoker.Intercept(new ClientInterceptor { Host = host }));

        foreach (Func<Task<RpcException>> call in CallsOfEveryShape(client, new CallOptions([.. entries])))
        {
            RpcException failure = await call();
            Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
            Assert.That(failure.Status.Detail, Does.Contain(detail));
        }
    }

    [Test]
    public async Task Host_WithUnpairedSurrogates_ArrivesWithThemReplaced([Values] bool isBlocking)
    {
        CallRig rig = await UseAsync(new Script
        {
            Unary = (_, context) => Task.FromResult(Payloads.Of(context.Host)),
        });
        var client = new ScriptClient(rig.Invoker.Intercept(new ClientInterceptor { Host = "a\uD83Db\uDE00" }));

        Payload response = isBlocking
            ? await Timeouts.OnThread(() => client.Unary(Payloads.Empty)).Bounded()
            : await client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();

        Assert.That(response.Text(), Is.EqualTo("a\uFFFDb\uFFFD"));
    }
}
