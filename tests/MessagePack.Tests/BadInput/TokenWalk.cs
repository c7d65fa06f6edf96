using System.Buffers;
using System.Globalization;

namespace MessagePack.Tests.BadInput;

/// <summary>Reads a message token by token, mostly as what it is and sometimes as anything else.</summary>
internal static class TokenWalk
{
    /// <summary>What was read of each token, up to the first that cannot be.</summary>
    internal static string Read(ReadOnlySequence<byte> bytes, Random random)
    {
        using var result = new StringWriter(CultureInfo.InvariantCulture);
        var reader = new MessagePackReader(bytes);
        while (!reader.End)
        {
            long before = reader.Consumed;
            try
            {
                MessagePackType type = random.Next(16) == 0
                    ? (MessagePackType)random.Next(10)
                    : reader.NextMessagePackType;
                result.Write($"{ReadAs(type, ref reader, random)};");
            }
            catch (Exception e) when (
                e is EndOfStreamException or MessagePackSerializationException or OverflowException)
            {
                result.Write("refused");
                return result.ToString();
            }
            catch (ArgumentOutOfRangeException) when (reader.Consumed - before is > 1 and < 20)
            {
                // A time before the year 1 or after the year 9999.
                result.Write("no time");
                return result.ToString();
            }

            Assert.That(reader.Consumed, Is.InRange(before + 1, bytes.Length));
        }

        return result.ToString();
    }

    private static object? ReadAs(MessagePackType type, ref MessagePackReader reader, Random random)
    {
        switch (type)
        {
            case MessagePackType.Integer:
                return ReadInteger(ref reader, random);
            case MessagePackType.Nil:
                return reader.ReadNil();
            case MessagePackType.Boolean:
                return reader.ReadBoolean();
            case MessagePackType.Float:
                return random.Next(2) == 0 ? reader.ReadDouble() : reader.ReadSingle();
            case MessagePackType.String:
                return random.Next(2) == 0 ? reader.ReadString() : TextBytes(ref reader);
            case MessagePackType.Binary:
                return reader.ReadBytes() is { } data ? Convert.ToHexString(data.ToArray()) : null;
            case MessagePackType.Array:
                return reader.ReadArrayHeader();
            case MessagePackType.Map:
                return reader.ReadMapHeader();
            case MessagePackType.Extension:
                return random.Next(2) == 0 ? reader.ReadDateTime().Ticks : reader.ReadExtensionFormat().Data.Length;
            default:
                return random.Next(2) == 0 ? Convert.ToHexString(reader.ReadRaw().ToArray()) : Skipped(ref reader);
        }
    }

    /// <summary>A string's bytes: without a copy where they lie together, and of the sequence elsewhere.</summary>
    private static string? TextBytes(ref MessagePackReader reader) =>
        reader.TryReadStringSpan(out ReadOnlySpan<byte> span) ? Convert.ToHexString(span)
        : reader.ReadStringSequence() is { } parts ? Convert.ToHexString(parts.ToArray())
        : null;

    private static long Skipped(ref MessagePackReader reader)
    {
        long before = reader.Consumed;
        reader.Skip();
        return reader.Consumed - before;
    }

    private static object ReadInteger(ref MessagePackReader reader, Random random) => random.Next(9) switch
    {
        0 => reader.ReadByte(),
        1 => reader.ReadSByte(),
        2 => reader.ReadInt16(),
        3 => reader.ReadUInt16(),
        4 => reader.ReadInt32(),
        5 => reader.ReadUInt32(),
        6 => reader.ReadUInt64(),
        7 => reader.ReadChar(),
        _ => reader.ReadInt64(),
    };
}
