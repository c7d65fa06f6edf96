using System.Buffers.Binary;
using System.Text;
using System.Text.Unicode;
using RpcOverShm.Rings;

namespace RpcOverShm.Topics;

/// <summary>The payload of the last record of a topic: the code of a status, 4 bytes, and its text in UTF-8.</summary>
internal static class TopicEnd
{
    private const int LargestCode = 16; // Unauthenticated

    /// <summary>Writes a status, and cuts its text to the space. Returns the bytes written.</summary>
    public static int Write(Span<byte> payload, int statusCode, string text)
    {
        BinaryPrimitives.WriteInt32LittleEndian(payload, statusCode);
        Utf8.FromUtf16(text, payload[sizeof(int)..], out _, out int written);
        return sizeof(int) + written;
    }

    /// <summary>Reads a status from a copy.</summary>
    /// <exception cref="RingCorruptedException">It is none.</exception>
    public static (int StatusCode, string Text) Read(ReadOnlySpan<byte> payload)
    {
        int code = payload.Length < sizeof(int) ? -1 : BinaryPrimitives.ReadInt32LittleEndian(payload);
        return code is >= 0 and <= LargestCode
            ? (code, Encoding.UTF8.GetString(payload[sizeof(int)..]))
            : throw new RingCorruptedException(
                $"The topic's ring is corrupted: its end of {payload.Length} bytes has no status.");
    }
}
