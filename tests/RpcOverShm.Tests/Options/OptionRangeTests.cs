using System.Reflection;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Options;

/// <summary>Walks all options: each has a range, and the error of a wrong value names it with its groups.</summary>
public class OptionRangeTests
{
    private const string Address = "shm:///tmp/never-made";

    private static readonly TimeSpan s_longestTimer = TimeSpan.FromMilliseconds(int.MaxValue);
    private static readonly TimeSpan s_tick = TimeSpan.FromTicks(1);

    // The smallest and the largest value; null for no limit but that of the type.
    private static readonly Dictionary<string, (object Least, object? Most)> s_ranges = new()
    {
        ["MaxReceiveMessageSize"] = (0, null),
        ["MaxSendMessageSize"] = (0, null),
        ["MaxMetadataSize"] = (0, 16 << 20),
        ["MaxRetryAttempts"] = (1, null),
        ["MaxRetryBufferSize"] = (0L, null),
        ["MaxRetryBufferPerCallSize"] = (0L, null),
        ["DefaultTimeout"] = (s_tick, null),
        ["IdleTimeout"] = (TimeSpan.FromSeconds(1), s_longestTimer),
        ["InitialReconnectBackoff"] = (s_tick, TimeSpan.FromDays(1)),
        ["MaxReconnectBackoff"] = (s_tick, TimeSpan.FromDays(1)),
        ["Connect.Timeout"] = (s_tick, s_longestTimer),
        ["Ring.Capacity"] = (64 << 10, 1 << 30),
        ["Ring.MaxPeerCapacity"] = (64 << 10, 1 << 30),
        ["Loans.MaxConnectionSize"] = (1L << 20, null),
        ["MaxTopicSize"] = (0L, null),
        ["Loans.MaxSize"] = (1L << 20, null),
        ["Handles.MaxHeld"] = (16, 65_536),
        ["Listen.HandshakeTimeout"] = (s_tick, s_longestTimer),
        ["Listen.MaxPendingHandshakes"] = (1, null),
        ["Listen.MaxConnections"] = (1, null),
        ["Listen.MaxConnectionsPerUser"] = (1, null),
        ["Listen.MaxConnectionsPerProcess"] = (1, null),
        ["Limits.MaxConcurrentCalls"] = (1, null),
        ["Limits.MaxBufferSize"] = (1L, null),
        ["Limits.MaxMetadataSize"] = (0, 16 << 20),
        ["Limits.RequestHeadTimeout"] = (s_tick, s_longestTimer),
        ["Limits.MaxConcurrentCallsPerConnection"] = (1, 65_536),
        ["Limits.MaxQueuedCallsPerConnection"] = (0, null),
        ["Limits.MaxConnectionBufferSize"] = (1L, null),
        ["Limits.MaxCallbackDepth"] = (1, null),
        ["Callbacks.Limits.MaxConcurrentCallsPerConnection"] = (1, 65_536),
        ["Callbacks.Limits.MaxQueuedCallsPerConnection"] = (0, null),
        ["Callbacks.Limits.MaxConnectionBufferSize"] = (1L, null),
        ["Callbacks.Limits.MaxCallbackDepth"] = (1, null),
        ["MaxWaitingStreams"] = (1, null),
        ["MaxConcurrentCallsPerInstance"] = (1, null),
        ["MaxQueuedCallsPerInstance"] = (0, null),
    };

    public static IEnumerable<TestCaseData> Numbers =>
        from root in Roots
        from option in Leaves(root, "")
        where !option.Type.IsEnum
        select new TestCaseData(root, option.Path);

    public static IEnumerable<TestCaseData> Choices =>
        from root in Roots
        from option in Leaves(root, "")
        where option.Type.IsEnum
        select new TestCaseData(root, option.Path, option.Type);

    public static IEnumerable<TestCaseData> Groups =>
        from root in Roots
        from path in GroupsOf(root, "")
        select new TestCaseData(root, path);

    private static Type[] Roots =>
    [
        typeof(ShmServerOptions),
        typeof(ShmChannelOptions),
        typeof(ShmStreamOptions),
        typeof(ShmStreamListenerOptions),
        typeof(ShmServiceOptions),
    ];

    [TestCaseSource(nameof(Numbers))]
    public void Number_AtTheEndsOfItsRange_IsTakenAndBeyondIsRefusedWithItsPath(Type root, string path)
    {
        (object least, object? most) = s_ranges[path];

        Assert.That(() => Use(With(root, path, least)), Throws.Nothing);
        AssertRefused(root, path, Next(least, -1));
        if (most is null)
        {
            object largest = least switch { int => int.MaxValue, long => long.MaxValue, _ => TimeSpan.MaxValue };
            Assert.That(() => Use(With(root, path, largest)), Throws.Nothing);
        }
        else
        {
            Assert.That(() => Use(With(root, path, most)), Throws.Nothing);
            AssertRefused(root, path, Next(most, 1));
        }
    }

    [Test]
    public void Ranges_OfThisTest_AreThoseOfOptions() => Assert.That(
        s_ranges.Keys, Is.EquivalentTo(Numbers.Select(one => (string)one.Arguments[1]!).Distinct()));

    [TestCaseSource(nameof(Choices))]
    public void Choice_WithoutAName_IsRefusedWithItsPath(Type root, string path, Type type) =>
        AssertRefused(root, path, Enum.ToObject(type, 99));

    [TestCase(1000)]
    [TestCase((64 << 10) + 16)]
    public void Ring_ThatIsNoPowerOfTwo_IsRefused(int size) =>
        AssertRefused(typeof(ShmServerOptions), "Ring.Capacity", size);

    [TestCaseSource(nameof(Groups))]
    public void Group_OfOptions_IsThereAndCannotBeReplaced(Type root, string path)
    {
        Assert.That(Get(Make(root), path), Is.Not.Null);
        Assert.That(() => With(root, path, null), Throws.ArgumentException, "There is no setter.");
    }

    [Test]
    public void SchedulingModes_AreThePublicOnes_UnderTheSameNumbers() => Assert.That(
        Enum.GetValues<SchedulingMode>().Select(mode => $"{mode} {(int)mode}"),
        Is.EqualTo(Enum.GetValues<ShmSchedulingMode>().Select(mode => $"{mode} {(int)mode}")));

    [Test]
    public void Options_ThatContradictEachOther_AreRefusedWithBothNames()
    {
        const int Message = 4 << 20;
        AssertContradicts(
            options => options.Limits.MaxConnectionBufferSize = Message - 1,
            $"Limits.MaxConnectionBufferSize is at least MaxReceiveMessageSize, which is {Message}; set such a value "
            + $"instead of {Message - 1}.");
        AssertContradicts(
            options => options.Limits.MaxBufferSize = Message - 1,
            $"Limits.MaxBufferSize is at least MaxReceiveMessageSize, which is {Message}; set such a value ");
        AssertContradicts(
            options =>
            {
                options.Limits.MaxConnectionBufferSize = 2 * Message;
                options.Limits.MaxBufferSize = Message;
            },
            $"Limits.MaxBufferSize is at least Limits.MaxConnectionBufferSize, which is {2 * Message}; set such a ");
        AssertContradicts(
            options => options.Listen.MaxConnectionsPerProcess = 1001,
            "Listen.MaxConnectionsPerProcess is at most Listen.MaxConnections, which is 1000; set such a value instead "
            + "of 1001.");
        AssertContradicts(
            options => options.Listen.MaxConnectionsPerUser = 1001,
            "Listen.MaxConnectionsPerUser is at most Listen.MaxConnections, which is 1000; set such a value instead ");
        Assert.That(
            () => Use(new ShmChannelOptions { MaxReconnectBackoff = TimeSpan.FromMilliseconds(9) }),
            Throws.TypeOf<ArgumentOutOfRangeException>().With.Message.StartsWith(
                "MaxReconnectBackoff is at least InitialReconnectBackoff, which is 00:00:00.0100000; set such a "));
        Assert.That(
            () => Use(new ShmServerOptions { Limits = { MaxConnectionBufferSize = Message, MaxBufferSize = Message } }),
            Throws.Nothing);
    }

    private static void AssertContradicts(Action<ShmServerOptions> change, string text)
    {
        var options = new ShmServerOptions();
        change(options);
        Assert.That(() => Use(options), Throws.TypeOf<ArgumentOutOfRangeException>().With.Message.StartsWith(text));
    }

    private static void AssertRefused(Type root, string path, object value) => Assert.That(
        () => Use(With(root, path, value)),
        Throws.TypeOf<ArgumentOutOfRangeException>()
            .With.Property("ParamName").EqualTo(path)
            .And.Message.StartsWith($"{path} is ")
            .And.Message.Contains($"; set such a value instead of {value}."));

    private static object Next(object value, int step) => value switch
    {
        int number => number + step,
        long number => number + step,
        _ => (TimeSpan)value + TimeSpan.FromTicks(step),
    };

    private static void Use(object options)
    {
        switch (options)
        {
            case ShmServerOptions server:
                _ = new ShmServer(Address, server);
                break;
            case ShmChannelOptions channel:
                ShmChannel.ForAddress(Address, channel).Dispose();
                break;
            case ShmStreamOptions stream:
                _ = stream.ToConnectionSettings();
                break;
            case ShmStreamListenerOptions listener:
                _ = new ShmStreamListener(Address, listener);
                break;
            default:
                _ = ((ShmServiceOptions)options).ToInstanceSettings(isOfServer: true);
                break;
        }
    }

    // Options with which each other one may have any value of its range.
    private static object Make(Type root)
    {
        object options = Activator.CreateInstance(root)!;
        switch (options)
        {
            case ShmServerOptions server:
                server.MaxReceiveMessageSize = 0;
                server.Listen.MaxConnections = null;
                break;
            case ShmChannelOptions channel:
                channel.MaxReceiveMessageSize = 0;
                channel.InitialReconnectBackoff = s_tick;
                channel.MaxReconnectBackoff = TimeSpan.FromDays(1);
                break;
            case ShmStreamListenerOptions listener:
                listener.Listen.MaxConnections = null;
                break;
            case ShmServiceOptions service:
                service.Lifetime = ShmServiceLifetime.Singleton;
                break;
        }

        return options;
    }

    private static object With(Type root, string path, object? value)
    {
        object options = Make(root);
        int dot = path.LastIndexOf('.');
        object owner = dot < 0 ? options : Get(options, path[..dot]);
        PropertyInfo property = owner.GetType().GetProperty(path[(dot + 1)..])!;
        property.SetValue(owner, value, BindingFlags.DoNotWrapExceptions, binder: null, index: null, culture: null);
        return options;
    }

    private static object Get(object options, string path) => path.Split('.')
        .Aggregate(options, (owner, name) => owner.GetType().GetProperty(name)!.GetValue(owner)!);

    private static IEnumerable<(string Path, Type Type)> Leaves(Type type, string path) =>
        from property in type.GetProperties()
        let own = path + property.Name
        let bare = Nullable.GetUnderlyingType(property.PropertyType) ?? property.PropertyType
        from leaf in IsGroup(property)
            ? Leaves(property.PropertyType, own + ".")
            : bare.IsEnum || bare == typeof(int) || bare == typeof(long) || bare == typeof(TimeSpan)
                ? [(own, bare)]
                : []
        select leaf;

    private static IEnumerable<string> GroupsOf(Type type, string path) =>
        from property in type.GetProperties()
        where IsGroup(property)
        from one in GroupsOf(property.PropertyType, $"{path}{property.Name}.").Prepend(path + property.Name)
        select one;

    private static bool IsGroup(PropertyInfo property) =>
        property.PropertyType.Namespace == nameof(RpcOverShm)
        && property.PropertyType.IsClass
        && property.PropertyType != typeof(ShmServiceConfig)
        && property.PropertyType != typeof(ShmServiceCollection)
        && property.PropertyType.GetConstructor([]) is not null;
}
