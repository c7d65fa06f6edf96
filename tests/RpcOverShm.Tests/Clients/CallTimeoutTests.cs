using Grpc.Core;
using RpcOverShm.Clients;

namespace RpcOverShm.Tests.Clients;

/// <summary>The choice of the time limit of a call: by its method, by the default, by its own deadline.</summary>
internal sealed class CallTimeoutTests
{
    private static readonly TimeSpan s_second = TimeSpan.FromSeconds(1);
    private static readonly Method<string, string> s_method = new(
        MethodType.Unary, "a.Service", "Method", Marshallers.StringMarshaller, Marshallers.StringMarshaller);

    [TestCase("a.Service/Method", 1)]
    [TestCase("a.Service/", 2)]
    [TestCase("/", 3)]
    [TestCase("a.Service/Other", 9)]
    public void MostSpecificName_OfAServiceConfig_Wins(string mostSpecific, int seconds)
    {
        var all = new Dictionary<string, TimeSpan?>
        {
            ["a.Service/Method"] = s_second,
            ["a.Service/"] = 2 * s_second,
            ["/"] = 3 * s_second,
            ["a.Service/Other"] = 4 * s_second,
        };
        string[] names = ["a.Service/Method", "a.Service/", "/", "a.Service/Other"];
        var rest = names.SkipWhile(name => name != mostSpecific).ToDictionary(name => name, name => all[name]);

        CallTimeout? found = new CallTimeouts(rest, 9 * s_second).Find(s_method);

        Assert.That(found?.Time, Is.EqualTo(seconds * s_second));
        Assert.That(found?.LimitsDeadlines, Is.EqualTo(seconds != 9), "Only the default leaves deadlines alone.");
    }

    [Test]
    public void NameWithoutATimeout_HidesTheLessSpecificOne_AndTheDefaultApplies()
    {
        var timeouts = new Dictionary<string, TimeSpan?> { ["a.Service/Method"] = null, ["/"] = s_second };

        Assert.That(
            new CallTimeouts(timeouts, 9 * s_second).Find(s_method),
            Is.EqualTo(new CallTimeout(9 * s_second, LimitsDeadlines: false)));
        Assert.That(new CallTimeouts(timeouts, null).Find(s_method), Is.Null);
    }

    [Test]
    public void InfiniteTimeout_OfAName_ExemptsItFromTheDefault()
    {
        var timeouts = new Dictionary<string, TimeSpan?> { ["a.Service/"] = Timeout.InfiniteTimeSpan };

        Assert.That(new CallTimeouts(timeouts, s_second).Find(s_method), Is.Null);
    }

    [TestCase(null, true, ExpectedResult = 5)]
    [TestCase(3, true, ExpectedResult = 3)]
    [TestCase(7, true, ExpectedResult = 5)]
    [TestCase(0, true, ExpectedResult = 0)]
    [TestCase(null, false, ExpectedResult = 5)]
    [TestCase(3, false, ExpectedResult = 3)]
    [TestCase(7, false, ExpectedResult = 7)]
    [TestCase(0, false, ExpectedResult = 0)]
    public int Limit_OfACall_IsItsDeadlineOrTheTime(int? own, bool limitsDeadlines) =>
        (int)new CallTimeout(5 * s_second, limitsDeadlines).Apply(own * s_second).TotalSeconds;
}
