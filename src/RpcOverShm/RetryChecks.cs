using System.Diagnostics.CodeAnalysis;
using Grpc.Core;
using RpcOverShm.Clients;
using RpcOverShm.Retries;

namespace RpcOverShm;

/// <summary>Validates a public service config and turns it into the retry settings.</summary>
internal static class RetryChecks
{
    private const int MostTokens = 1000;

    /// <summary>Returns the retry settings; null if no method has a retry policy.</summary>
    public static RetrySettings? Settings(ShmChannelOptions options)
    {
        if (options.MaxRetryAttempts < 1)
        {
            throw new ArgumentException(
                $"{nameof(ShmChannelOptions.MaxRetryAttempts)} is 1 or more, or null for any; "
                + $"not {options.MaxRetryAttempts}.");
        }

        CheckSize(options.MaxRetryBufferSize, nameof(ShmChannelOptions.MaxRetryBufferSize));
        CheckSize(options.MaxRetryBufferPerCallSize, nameof(ShmChannelOptions.MaxRetryBufferPerCallSize));
        Dictionary<string, RetryPolicy?> policies = ByName(
            options.ServiceConfig,
            method => method.RetryPolicy is { } given ? Policy(given, options.MaxRetryAttempts) : null);
        RetryThrottle? throttle = options.ServiceConfig?.RetryThrottling is { } bucket ? Throttle(bucket) : null;
        return policies.Values.All(policy => policy is null)
            ? null
            : new RetrySettings
            {
                Policies = policies,
                Throttle = throttle,
                Budget = new RetryBudget(options.MaxRetryBufferSize, options.MaxRetryBufferPerCallSize),
            };
    }

    /// <summary>Returns a value of each method config by its names; see <see cref="MethodNames"/>.</summary>
    /// <exception cref="ArgumentException">A config is null or its names are not allowed.</exception>
    public static Dictionary<string, T> ByName<T>(ShmServiceConfig? config, Func<ShmMethodConfig, T> read)
    {
        var values = new Dictionary<string, T>(StringComparer.Ordinal);
        foreach (ShmMethodConfig? method in config?.MethodConfigs ?? [])
        {
            ThrowIfNull(method, nameof(ShmServiceConfig.MethodConfigs));
            Add(values, method.Names, read(method));
        }

        return values;
    }

    private static void Add<T>(Dictionary<string, T> values, IList<ShmMethodName> names, T value)
    {
        if (names.Count == 0)
        {
            throw new ArgumentException($"A method config has no names; {nameof(ShmMethodName)}.Default is for all.");
        }

        foreach (ShmMethodName? name in names)
        {
            ThrowIfNull(name, nameof(ShmMethodConfig.Names));
            string key = $"{name.Service}/{name.Method}";
            if (string.IsNullOrEmpty(name.Service) && !string.IsNullOrEmpty(name.Method))
            {
                throw new ArgumentException($"The method '{name.Method}' of a service config has no service.");
            }

            if (!values.TryAdd(key, value))
            {
                throw new ArgumentException($"The service config names '{key}' twice.");
            }
        }
    }

    private static RetryPolicy Policy(ShmRetryPolicy policy, int? mostAttempts)
    {
        int attempts = Required(policy.MaxAttempts, nameof(policy.MaxAttempts));
        TimeSpan initial = Required(policy.InitialBackoff, nameof(policy.InitialBackoff));
        TimeSpan longest = Required(policy.MaxBackoff, nameof(policy.MaxBackoff));
        double multiplier = Required(policy.BackoffMultiplier, nameof(policy.BackoffMultiplier));
        Check(attempts >= 2, nameof(policy.MaxAttempts), "2 or more");
        Check(initial > TimeSpan.Zero, nameof(policy.InitialBackoff), "above zero");
        Check(
            longest > TimeSpan.Zero && longest.TotalMilliseconds <= int.MaxValue,
            nameof(policy.MaxBackoff),
            "above zero and below 24 days");
        Check(multiplier > 0 && double.IsFinite(multiplier), nameof(policy.BackoffMultiplier), "above zero");
        Check(
            policy.RetryableStatusCodes.Count > 0 && !policy.RetryableStatusCodes.Contains(StatusCode.OK),
            nameof(policy.RetryableStatusCodes),
            "at least one code, and not OK");
        return new RetryPolicy(
            Math.Min(attempts, mostAttempts ?? attempts),
            initial,
            longest,
            multiplier,
            policy.RetryableStatusCodes.ToHashSet());
    }

    private static RetryThrottle Throttle(ShmRetryThrottling throttling)
    {
        if (throttling.MaxTokens is <= 0 or > MostTokens || throttling.TokenRatio is not > 0)
        {
            throw new ArgumentException(
                $"A {nameof(ShmRetryThrottling)} has {nameof(throttling.MaxTokens)} above 0 and at most {MostTokens}, "
                + $"and {nameof(throttling.TokenRatio)} above 0; "
                + $"not {throttling.MaxTokens} and {throttling.TokenRatio}.");
        }

        return new RetryThrottle(throttling.MaxTokens, throttling.TokenRatio);
    }

    private static void ThrowIfNull([NotNull] object? value, string listName)
    {
        if (value is null)
        {
            throw new ArgumentException($"One of the {listName} of a service config is null.");
        }
    }

    private static void CheckSize(long? bytes, string name)
    {
        if (bytes < 0)
        {
            throw new ArgumentException($"{name} is 0 or more bytes, or null for any; not {bytes}.");
        }
    }

    private static T Required<T>(T? value, string name)
        where T : struct =>
        value ?? throw new ArgumentException($"A {nameof(ShmRetryPolicy)} has no {name}.");

    private static void Check(bool isAllowed, string name, string what)
    {
        if (!isAllowed)
        {
            throw new ArgumentException($"{nameof(ShmRetryPolicy)}.{name} is {what}.");
        }
    }
}
