using System.Diagnostics;
using System.Runtime.Versioning;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Windows;

/// <summary>The parts of the system without an object: accounts, clocks, private words, and the fence.</summary>
[WindowsFixture]
[SupportedOSPlatform("windows")]
public class WindowsSystemTests
{
    private const string Users = "S-1-5-32-545";
    private const string LocalSystem = "S-1-5-18";

    private static HostSystem System => HostSystem.Current;

    [Test]
    public void FindUser_ByNameAndSid_IsTheSame()
    {
        string sid = System.OwnUser.ToString();

        Assert.That(sid, Does.StartWith("S-1-"));
        Assert.That(System.FindUser(sid), Is.EqualTo(System.OwnUser));
        Assert.That(System.FindUser(System.NameOf(System.OwnUser)!), Is.EqualTo(System.OwnUser));
        Assert.That(System.FindUser("no such user"), Is.Null);
        Assert.That(System.FindUser("S-1-none"), Is.Null);
        Assert.That(System.FindUser(""), Is.Null);
        Assert.That(System.FindGroup(Users), Is.EqualTo(new Account(Users)));
        Assert.That(System.IsAllPowerful(new Account(LocalSystem)));
        Assert.That(System.IsAllPowerful(new Account(Users)), Is.False);
    }

    [Test]
    public void Texts_OfTheSystem_AreNotThoseOfLinux()
    {
        Assert.That(AccessPolicy.OwnUserOnly.Describe(), Does.EndWith(" and of LocalSystem"));
        Assert.That(System.HandlesName, Is.EqualTo("handles"));
        Assert.That(System.OwnUser.ClaimValueType, Does.EndWith("#sid"));
    }

    [Test]
    public void ThreadTime_OfAThreadThatWorks_Grows()
    {
        long before = System.ThreadTime;
        long start = Stopwatch.GetTimestamp();
        while (System.ThreadTime == before)
        {
            Assert.That(Stopwatch.GetElapsedTime(start), Is.LessThan(Timeouts.Wait));
        }

        Assert.That(System.TimeOfThread(System.CurrentThreadId), Is.GreaterThan(before));
    }

    [Test]
    public void WakePrivate_WithASleeper_WakesIt()
    {
        var word = new LocalWord();
        TestThread sleeper = TestThread.Start("sleeper", () =>
        {
            while (Volatile.Read(ref word.Value) == 0)
            {
                word.Wait(0, TimeSpan.FromMinutes(5));
            }
        });

        Volatile.Write(ref word.Value, 1);
        word.Wake();

        sleeper.Join();
        word.Wait(1, TimeSpan.FromMilliseconds(1));
    }

    // Each thread stores its own word and then reads the other's. Without a fence both can read the old value.
    [Test]
    public void FenceProcess_BetweenAStoreAndALoad_OrdersThoseOfOtherThreads()
    {
        const int Rounds = 20_000;
        long[] words = new long[64];
        long[] seenByOne = new long[Rounds];
        long[] seenByOther = new long[Rounds];
        using var gate = new Barrier(2);

        TestThread other = TestThread.Start("light", () => Race(16, 32, seenByOther, static () => { }));
        Race(32, 16, seenByOne, System.FenceProcess);
        other.Join();

        Assert.That(Enumerable.Range(1, Rounds - 1).Where(i => seenByOne[i] < i && seenByOther[i] < i), Is.Empty);

        void Race(int own, int peer, long[] seen, Action fence)
        {
            for (int i = 1; i < Rounds; i++)
            {
                gate.SignalAndWait();
                Volatile.Write(ref words[own], i);
                fence();
                seen[i] = Volatile.Read(ref words[peer]);
            }
        }
    }
}
