using System.Buffers;

namespace MessagePack.Tests.Fakes;

/// <summary>Messages in tests: bytes in hexadecimal digits, and what is read of them or written.</summary>
internal static class Message
{
    internal static readonly MessagePackSerializerOptions Untrusted =
        MessagePackSerializerOptions.Standard.WithSecurity(MessagePackSecurity.UntrustedData);

    internal static byte[] Bytes(string hex) =>
        Convert.FromHexString(string.Concat(hex.Where(char.IsAsciiHexDigit)));

    internal static string Hex(ReadOnlyMemory<byte> bytes) => Convert.ToHexStringLower(bytes.Span);

    internal static string Written(WriteTokens write, bool oldSpec = false)
    {
        var buffer = new ArrayBufferWriter<byte>();
        var writer = new MessagePackWriter(buffer) { OldSpec = oldSpec };
        write(ref writer);
        writer.Flush();
        return Hex(buffer.WrittenMemory);
    }

    internal static string Serialized<T>(T value) => Hex(MessagePackSerializer.Serialize(value));

    internal static T Deserialized<T>(string hex) => MessagePackSerializer.Deserialize<T>(Bytes(hex));

    internal static T Copied<T>(T value, MessagePackSerializerOptions? options = null) =>
        MessagePackSerializer.Deserialize<T>(MessagePackSerializer.Serialize(value, options), options);

    internal static T Read<T>(string hex, ReadTokens<T> read) => Read(Bytes(hex), read);

    internal static T Read<T>(byte[] bytes, ReadTokens<T> read)
    {
        var reader = new MessagePackReader(bytes);
        return read(ref reader);
    }

    internal static T Read<T>(ReadOnlySequence<byte> bytes, ReadTokens<T> read)
    {
        var reader = new MessagePackReader(bytes);
        return read(ref reader);
    }

    /// <summary>Reads the message in one piece and cut at every byte; all of it must be read each time.</summary>
    internal static void AssertReads<T>(string hex, T expected, ReadTokens<T> read)
    {
        byte[] bytes = Bytes(hex);
        Assert.That(Read(bytes, read), Is.EqualTo(expected));
        int cut = 0;
        foreach (ReadOnlySequence<byte> sequence in Segment.EveryCutOf(bytes))
        {
            var reader = new MessagePackReader(sequence);
            T actual = read(ref reader);
            Assert.That(actual, Is.EqualTo(expected), $"Cut {cut} of {hex}");
            Assert.That((reader.End, reader.Consumed), Is.EqualTo((true, (long)bytes.Length)), $"Cut {cut} of {hex}");
            cut++;
        }
    }

    /// <summary>Reads the message in every piece; each time it must throw this.</summary>
    internal static void AssertThrows<TException>(string hex, ReadTokens<object?> read)
        where TException : Exception
    {
        foreach (ReadOnlySequence<byte> sequence in Segment.EveryCutOf(Bytes(hex)))
        {
            Assert.That(() => Read(sequence, read), Throws.InstanceOf<TException>(), hex);
        }
    }
}
