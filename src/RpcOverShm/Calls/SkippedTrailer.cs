using System.Globalization;
using Grpc.Core;

namespace RpcOverShm.Calls;

/// <summary>The trailer of a stream that has left out messages of a topic.</summary>
internal static class SkippedTrailer
{
    public const string Key = "rpcovershm-topic-skipped";

    public static Metadata.Entry Of(long messages) => new(Key, messages.ToString(CultureInfo.InvariantCulture));
}

/// <summary>A reader of a response stream that knows how many messages of topics were left out.</summary>
internal interface ISkippingReader
{
    long Skipped { get; }
}
