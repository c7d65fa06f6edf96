using Grpc.Core;

namespace RpcOverShm.Tests.Options;

/// <summary>Creating a channel rejects invalid service configs and names the property.</summary>
public class RetryOptionTests
{
    public static IEnumerable<TestCaseData> WrongPolicies =>
    [
        Wrong(policy => policy.MaxAttempts = null, "MaxAttempts"),
        Wrong(policy => policy.MaxAttempts = 1, "MaxAttempts"),
        Wrong(policy => policy.InitialBackoff = null, "InitialBackoff"),
        Wrong(policy => policy.InitialBackoff = TimeSpan.Zero, "InitialBackoff"),
        Wrong(policy => policy.MaxBackoff = null, "MaxBackoff"),
        Wrong(policy => policy.MaxBackoff = TimeSpan.Zero, "MaxBackoff"),
        Wrong(policy => policy.MaxBackoff = TimeSpan.FromDays(30), "MaxBackoff"),
        Wrong(policy => policy.BackoffMultiplier = null, "BackoffMultiplier"),
        Wrong(policy => policy.BackoffMultiplier = 0, "BackoffMultiplier"),
        Wrong(policy => policy.BackoffMultiplier = double.NaN, "BackoffMultiplier"),
        Wrong(policy => policy.RetryableStatusCodes.Clear(), "RetryableStatusCodes"),
        Wrong(policy => policy.RetryableStatusCodes.Add(StatusCode.OK), "RetryableStatusCodes"),
    ];

    private static ShmServiceConfig Right => new()
    {
        MethodConfigs =
        {
            new ShmMethodConfig
            {
                Names = { new ShmMethodName { Service = Script.ServiceName } },
                RetryPolicy = new ShmRetryPolicy
                {
                    MaxAttempts = 3,
                    InitialBackoff = TimeSpan.FromMilliseconds(10),
                    MaxBackoff = TimeSpan.FromMilliseconds(20),
                    BackoffMultiplier = 2,
                    RetryableStatusCodes = { StatusCode.Unavailable },
                },
            },
        },
    };

    [Test]
    public void Config_ThatIsRight_IsTaken() => Assert.That(() => Open(Right), Throws.Nothing);

    [TestCaseSource(nameof(WrongPolicies))]
    public void Policy_ThatIsWrong_IsRefusedByName(object change, string name)
    {
        ShmServiceConfig config = Right;
        ((Action<ShmRetryPolicy>)change)(config.MethodConfigs[0].RetryPolicy!);

        Assert.That(
            () => Open(config),
            Throws.TypeOf<ArgumentOutOfRangeException>()
                .With.Message.StartsWith($"ServiceConfig.MethodConfigs[0].RetryPolicy.{name} is "));
    }

    [Test]
    public void Names_ThatAreMissingTwiceOrWithoutAService_AreRefused()
    {
        ShmServiceConfig none = Right;
        none.MethodConfigs[0].Names.Clear();
        ShmServiceConfig twice = Right;
        twice.MethodConfigs[0].Names.Add(new ShmMethodName { Service = "s", Method = "m" });
        twice.MethodConfigs[0].Names.Add(new ShmMethodName { Service = "s", Method = "m" });
        ShmServiceConfig loose = Right;
        loose.MethodConfigs[0].Names.Add(new ShmMethodName { Method = "m" });

        ShmServiceConfig unnamed = Right;
        unnamed.MethodConfigs[0].Names.Add(null!);
        ShmServiceConfig empty = Right;
        empty.MethodConfigs.Add(null!);

        Assert.That(() => Open(unnamed), Throws.ArgumentException.With.Message.Contains("Names"));
        Assert.That(() => Open(empty), Throws.ArgumentException.With.Message.Contains("MethodConfigs"));
        Assert.That(() => Open(none), Throws.ArgumentException.With.Message.Contains("[0].Names is empty"));
        Assert.That(() => Open(twice), Throws.ArgumentException.With.Message.Contains("'s/m' twice"));
        Assert.That(() => Open(loose), Throws.ArgumentException.With.Message.Contains("'m'"));
    }

    [TestCase(0, 0.1)]
    [TestCase(1001, 0.1)]
    [TestCase(10, 0)]
    [TestCase(10, double.NaN)]
    public void Throttling_ThatIsWrong_IsRefused(int maxTokens, double tokenRatio)
    {
        ShmServiceConfig config = Right;
        config.RetryThrottling = new ShmRetryThrottling { MaxTokens = maxTokens, TokenRatio = tokenRatio };

        Assert.That(
            () => Open(config),
            Throws.TypeOf<ArgumentOutOfRangeException>().With.Message.StartsWith("ServiceConfig.RetryThrottling."));
    }

    private static TestCaseData Wrong(Action<ShmRetryPolicy> change, string name) => new(change, name);

    private static void Open(ShmServiceConfig config) =>
        ShmChannel.ForAddress("shm://x", new ShmChannelOptions { ServiceConfig = config }).Dispose();
}
