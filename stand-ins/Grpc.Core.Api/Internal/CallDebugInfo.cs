namespace Grpc.Core.Internal;

/// <summary>
/// What a debugger can learn of a call. A transport volunteers more by a state object that enumerates named values;
/// the names are a convention between the package and its transports.
/// </summary>
internal static class CallDebugInfo
{
    internal static string Summarize(in CallCallbacks callbacks)
    {
        var channel = FindChannel(callbacks) is { } foundChannel ? $"Channel = {foundChannel.Target}, " : "";
        var method = FindMethod(callbacks) is { } foundMethod ? $"Method = {foundMethod.FullName}, " : "";
        var completion = TryGetStatus(callbacks) is { } status
            ? $"IsComplete = true, StatusCode = {status.StatusCode}"
            : "IsComplete = false";
        return channel + method + completion;
    }

    internal static ChannelBase? FindChannel(in CallCallbacks callbacks) => Find(callbacks, "Channel") as ChannelBase;

    internal static IMethod? FindMethod(in CallCallbacks callbacks) => Find(callbacks, "Method") as IMethod;

    internal static object? FindRequest(in CallCallbacks callbacks) => Find(callbacks, "Request");

    // The only way to ask whether a call is over is to ask how it ended: before that, it throws.
    internal static Status? TryGetStatus(in CallCallbacks callbacks)
    {
        try
        {
            return callbacks.GetStatus();
        }
        catch (InvalidOperationException)
        {
            return null;
        }
    }

    internal static Metadata? TryGetTrailers(in CallCallbacks callbacks)
    {
        try
        {
            return callbacks.GetTrailers();
        }
        catch (InvalidOperationException)
        {
            return null;
        }
    }

    private static object? Find(in CallCallbacks callbacks, string name)
    {
        var values = callbacks.State as IEnumerable<KeyValuePair<string, object>> ?? [];
        return values.FirstOrDefault(value => value.Key == name).Value;
    }
}
