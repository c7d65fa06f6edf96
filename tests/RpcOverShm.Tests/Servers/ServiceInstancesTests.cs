using Microsoft.Extensions.Logging.Abstractions;
using RpcOverShm.Servers;

namespace RpcOverShm.Tests.Servers;

/// <summary>Instances are created once, also by concurrent calls, and released once, after the last use.</summary>
[TestFixture]
public class ServiceInstancesTests
{
    [Test]
    public async Task Get_OfManyCallsAtOnce_CreatesOneInstance_AfterFailures()
    {
        const int Calls = 8;
        var instances = new ServiceInstances();
        var list = new List<string>();
        int tries = 0;
        using var start = new Barrier(Calls);

        Task<ServiceInstance?>[] calls = [.. Enumerable.Range(0, Calls).Select(_ => Timeouts.OnThread(() =>
        {
            start.SignalAndWait();
            try
            {
                return instances.GetAsync(this, Create, default).AsTask().GetAwaiter().GetResult();
            }
            catch (NotSupportedException)
            {
                return null;
            }
        }))];
        ServiceInstance?[] got = await Task.WhenAll(calls).Bounded();

        Assert.That(got.Count(one => one is null), Is.EqualTo(2), "a failure is that of one call");
        Assert.That(got.OfType<ServiceInstance>().Distinct().Count(), Is.EqualTo(1));

        ServiceInstance Create() => Interlocked.Increment(ref tries) <= 2
            ? throw new NotSupportedException()
            : new NotedInstance("a", list);
    }

    [Test]
    public async Task End_WithUses_ReleasesAfterTheLast_InReverseOrder()
    {
        var instances = new ServiceInstances();
        var list = new List<string>();
        Assert.That(instances.TryBeginUse("a", out ServiceInstance? none), Is.True);
        ServiceInstance made = await instances.GetAsync("a", () => new NotedInstance("a", list), default);
        Assert.That(instances.TryBeginUse("a", out ServiceInstance? known), Is.True);
        Assert.That((none, known), Is.EqualTo(((ServiceInstance?)null, made)));
        await instances.GetAsync("b", () => new NotedInstance("b", list), default);

        Task released = instances.EndAsync(NullLogger.Instance);
        Assert.That(instances.TryBeginUse("a", out _), Is.False);
        instances.EndUse();
        Assert.That(released.IsCompleted, Is.False);
        instances.EndUse();
        await released.Bounded();

        Assert.That(list, Is.EqualTo(["b", "a"]));
        Assert.That(instances.EndAsync(NullLogger.Instance), Is.SameAs(released));
    }

    [Test]
    public void End_WithoutInstances_IsDoneAtOnce()
    {
        Assert.That(new ServiceInstances().EndAsync(NullLogger.Instance).IsCompleted, Is.True);
        Assert.That(ServiceInstances.Ended.EndAsync(NullLogger.Instance).IsCompleted, Is.True);
        Assert.That(ServiceInstances.Ended.TryBeginUse("a", out _), Is.False);
    }

    [TestCase(10, false)]
    [TestCase(10, true)]
    [TestCase(200, false, Category = LongAttribute.Name)]
    [TestCase(200, true, Category = LongAttribute.Name)]
    public async Task End_DuringUsesByManyThreads_ReleasesOnceAndNeverAnInstanceInUse(int rounds, bool isStriped)
    {
        const int Users = 8;
        for (int i = 0; i < rounds; i++)
        {
            var instances = new ServiceInstances(isStriped);
            var list = new List<string>();
            int created = 0;
            using var begun = new CountdownEvent(Users);
            Task<int>[] users = [.. Enumerable.Range(0, Users).Select(_ => Timeouts.OnThread(() =>
            {
                int wrong = 0;
                bool isFirst = true;
                while (instances.TryBeginUse(this, out ServiceInstance? known))
                {
                    known ??= instances.GetAsync(this, Create, default).AsTask().GetAwaiter().GetResult();
                    wrong += ((NotedInstance)known).IsReleased ? 1 : 0;
                    if (isFirst)
                    {
                        isFirst = false;
                        begun.Signal();
                    }

                    wrong += ((NotedInstance)known).IsReleased ? 1 : 0;
                    instances.EndUse();
                }

                return wrong;
            }))];
            Assert.That(begun.Wait(Timeouts.Wait));

            Task released = instances.EndAsync(NullLogger.Instance);
            Assert.That((await Task.WhenAll(users).Bounded()).Sum(), Is.Zero, "uses of a released instance");
            await released.Bounded();

            Assert.That((created, string.Join(',', list)), Is.EqualTo((1, "a")));

            ServiceInstance Create()
            {
                Interlocked.Increment(ref created);
                return new NotedInstance("a", list);
            }
        }
    }

    [Test]
    public async Task Use_ThatIsRefused_KeepsNoReleaseBack()
    {
        const int Rounds = 1000;
        for (int i = 0; i < Rounds; i++)
        {
            var instances = new ServiceInstances(isStriped: true);
            Assert.That(instances.TryBeginUse("a", out _));
            using var start = new Barrier(3);
            Task[] threads =
            [
                OnStart(() => _ = instances.EndAsync(NullLogger.Instance)),
                OnStart(instances.EndUse),
                OnStart(() =>
                {
                    if (instances.TryBeginUse("a", out _))
                    {
                        instances.EndUse();
                    }
                }),
            ];

            await Task.WhenAll(threads).Bounded();
            Assert.That(instances.Released.IsCompleted, "one of the three has released them");

            Task OnStart(Action act) => Timeouts.OnThread(() =>
            {
                start.SignalAndWait();
                act();
            });
        }
    }

    private sealed class NotedInstance(string name, List<string> released) : ServiceInstance(gate: null)
    {
        private volatile bool _isReleased;

        public bool IsReleased => _isReleased;

        protected override string TypeName => name;

        protected override ValueTask ReleaseAsync()
        {
            _isReleased = true;
            released.Add(name);
            return ValueTask.CompletedTask;
        }
    }
}
