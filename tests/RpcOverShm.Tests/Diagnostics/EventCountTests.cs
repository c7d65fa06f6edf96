using RpcOverShm.Diagnostics;

namespace RpcOverShm.Tests.Diagnostics;

public class EventCountTests
{
    [Test]
    public async Task Value_AfterManyThreads_IsTheirSum()
    {
        const int Threads = 8;
        const int Events = 10_000;
        var count = new EventCount();

        await Task.WhenAll(Enumerable.Range(0, Threads).Select(number => Timeouts.OnThread(() =>
        {
            for (int i = 0; i < Events; i++)
            {
                count.Add();
                if (number % 2 == 0)
                {
                    count.Remove();
                }
            }
        }))).Bounded();

        Assert.That(count.Value, Is.EqualTo(Threads / 2 * Events));
    }
}
