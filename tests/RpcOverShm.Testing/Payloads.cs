using Google.Protobuf;
using Grpc.Core;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Testing;

/// <summary>Creates and checks messages for tests.</summary>
public static class Payloads
{
    public static Payload Empty => new();

    public static Payload Of(string text) => new() { Data = ByteString.CopyFromUtf8(text) };

    /// <summary>Returns a payload of this size, in which each byte depends on its position.</summary>
    public static Payload OfSize(int bytes, ulong seed = 0) =>
        new() { Data = UnsafeByteOperations.UnsafeWrap(BytePattern.Of(bytes, seed)) };

    public static string Text(this Payload payload) => payload.Data.ToStringUtf8();

    /// <summary>Whether the payload equals the one that <see cref="OfSize"/> creates.</summary>
    public static bool IsOfSize(this Payload payload, int bytes, ulong seed = 0) =>
        payload.Data.Length == bytes && new BytePattern(seed).CountWrong(payload.Data.Span) == 0;

    /// <summary>Reads a stream to its end, with a time limit for each read.</summary>
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
