using System.Globalization;
using System.Text.Json;
using Grpc.Net.Client.Configuration;

namespace RpcOverShm.FunctionalTests.Rigs;

/// <summary>A retry policy for the methods of a <see cref="Script"/>, in the form of each kind of channel.</summary>
/// <param name="MaxAttempts">The number of attempts, including the first.</param>
/// <param name="Codes">The statuses that are retried.</param>
internal sealed record RigRetries(int MaxAttempts, params StatusCode[] Codes)
{
    private const double Multiplier = 2;

    /// <summary>The initial back-off.</summary>
    public TimeSpan Backoff { get; init; } = TimeSpan.FromMilliseconds(10);

    /// <summary>The capacity of the token bucket; null for no throttling.</summary>
    public int? MaxTokens { get; init; }

    public double TokenRatio { get; init; } = 0.1;

    public ShmServiceConfig ToServiceConfig()
    {
        var policy = new ShmRetryPolicy
        {
            MaxAttempts = MaxAttempts,
            InitialBackoff = Backoff,
            MaxBackoff = Backoff * Multiplier,
            BackoffMultiplier = Multiplier,
        };
        foreach (StatusCode code in Codes)
        {
            policy.RetryableStatusCodes.Add(code);
        }

        var config = new ShmServiceConfig
        {
            MethodConfigs = { new ShmMethodConfig { Names = { Name }, RetryPolicy = policy } },
        };
        if (MaxTokens is { } tokens)
        {
            config.RetryThrottling = new ShmRetryThrottling { MaxTokens = tokens, TokenRatio = TokenRatio };
        }

        return config;
    }

    /// <summary>Converts the policy for grpc-dotnet.</summary>
    public ServiceConfig ToGrpcDotNet()
    {
        var policy = new RetryPolicy
        {
            MaxAttempts = MaxAttempts,
            InitialBackoff = Backoff,
            MaxBackoff = Backoff * Multiplier,
            BackoffMultiplier = Multiplier,
        };
        foreach (StatusCode code in Codes)
        {
            policy.RetryableStatusCodes.Add(code);
        }

        var name = new MethodName { Service = Script.ServiceName };
        return new ServiceConfig
        {
            MethodConfigs = { new MethodConfig { Names = { name }, RetryPolicy = policy } },
            RetryThrottling = MaxTokens is { } tokens
                ? new RetryThrottlingPolicy { MaxTokens = tokens, TokenRatio = TokenRatio }
                : null,
        };
    }

    /// <summary>Converts the policy to gRPC's service config JSON.</summary>
    public string ToJson()
    {
        IEnumerable<string> names = Codes.Select(code => JsonNamingPolicy.SnakeCaseUpper.ConvertName($"{code}"));
        string codes = string.Join(',', names.Select(name => $"\"{name}\""));
        string throttling = MaxTokens is { } tokens
            ? string.Create(
                CultureInfo.InvariantCulture,
                $$""", "retryThrottling": { "maxTokens": {{tokens}}, "tokenRatio": {{TokenRatio}} }""")
            : "";
        return string.Create(
            CultureInfo.InvariantCulture,
            $$"""
            { "methodConfig": [ { "name": [ { "service": "{{Script.ServiceName}}" } ], "retryPolicy": {
              "maxAttempts": {{MaxAttempts}}, "initialBackoff": "{{Backoff.TotalSeconds}}s",
              "maxBackoff": "{{Backoff.TotalSeconds * Multiplier}}s", "backoffMultiplier": {{Multiplier}},
              "retryableStatusCodes": [ {{codes}} ] } } ]{{throttling}} }
            """);
    }

    private static ShmMethodName Name => new() { Service = Script.ServiceName };
}
