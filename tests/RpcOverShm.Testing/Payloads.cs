using Google.Protobuf;
using Grpc.Core;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Testing;

/// <summary>Messages for tests, and what is in them.</summary>
public static class Payloads
{
    public static Payload Empty => new();

    public static Payload Of(string text) => new() { Data = ByteString.CopyFromUtf8(text) };

    /// <summary>So many bytes, of which each depends on its place.</summary>
    public static Payload OfSize(int bytes, ulong seed = 0)
    {
        byte[] data = new byte[bytes];
        new BytePattern(seed).Fill(data);
        return new Payload { Data = UnsafeByteOperations.UnsafeWrap(data) };
    }

    public static string Text(this Payload payload) => payload.Data.ToStringUtf8();

    /// <summary>True when it is what <see cref="OfSize"/> makes.</summary>
    public static bool IsOfSize(this Payload payload, int bytes, ulong seed = 0) =>
        payload.Data.Length == bytes && new BytePattern(seed).CountWrong(payload.Data.Span) == 0;

    /// <summary>Reads a stream to its end; every read is bounded.</summary>
    public static async Task<List<T>> ToListAsync<T>(this IAsyncStreamReader<T> reader)
        where T : class
    {
        var messages = new List<T>();
        while (await reader.MoveNext(CancellationToken.None).Bounded())
        {
            messages.Add(reader.Current);
        }

        return messages;
    }
}
