using System.Buffers.Binary;
using System.Globalization;
using System.Runtime.CompilerServices;
using Google.Protobuf.Reflection;
using MessagePack;

namespace RpcOverShm.MessagePack.Wire;

/// <summary>The rare encodings, and the errors.</summary>
internal ref partial struct MessageReader
{
    private static bool IsMap(byte code) =>
        code is (>= MessagePackCode.MinFixMap and <= MessagePackCode.MaxFixMap)
            or MessagePackCode.Map16 or MessagePackCode.Map32;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private long ReadSigned(byte code, long least, long most)
    {
        if (code == MessagePackCode.Nil)
        {
            return 0;
        }

        Int128 value = ReadInteger(code);
        return value >= least && value <= most ? (long)value : throw OutOfRange(value);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private ulong ReadUnsigned(byte code, ulong most)
    {
        if (code == MessagePackCode.Nil)
        {
            return 0;
        }

        Int128 value = ReadInteger(code);
        return value >= 0 && value <= most ? (ulong)value : throw OutOfRange(value);
    }

    /// <summary>Reads an integer in any encoding.</summary>
    private Int128 ReadInteger(byte code) => code switch
    {
        <= MessagePackCode.MaxFixInt => code,
        >= MessagePackCode.MinNegativeFixInt => (sbyte)code,
        MessagePackCode.UInt8 => Take(sizeof(byte))[0],
        MessagePackCode.UInt16 => BinaryPrimitives.ReadUInt16BigEndian(Take(sizeof(ushort))),
        MessagePackCode.UInt32 => BinaryPrimitives.ReadUInt32BigEndian(Take(sizeof(uint))),
        MessagePackCode.UInt64 => BinaryPrimitives.ReadUInt64BigEndian(Take(sizeof(ulong))),
        MessagePackCode.Int8 => (sbyte)Take(sizeof(sbyte))[0],
        MessagePackCode.Int16 => BinaryPrimitives.ReadInt16BigEndian(Take(sizeof(short))),
        MessagePackCode.Int32 => BinaryPrimitives.ReadInt32BigEndian(Take(sizeof(int))),
        MessagePackCode.Int64 => BinaryPrimitives.ReadInt64BigEndian(Take(sizeof(long))),
        _ => throw Unexpected("an integer", code),
    };

    /// <summary>Reads a number in another encoding than that of its field.</summary>
    private double ReadOtherNumber(byte code, out bool isExact)
    {
        isExact = true;
        switch (MessagePackCode.ToMessagePackType(code))
        {
            case MessagePackType.Nil:
                return 0;
            case MessagePackType.Float when code == MessagePackCode.Float32:
                return BinaryPrimitives.ReadSingleBigEndian(Take(sizeof(float)));
            case MessagePackType.Float:
                return BinaryPrimitives.ReadDoubleBigEndian(Take(sizeof(double)));
            case MessagePackType.Integer:
                Int128 integer = ReadInteger(code);
                var value = (double)integer;
                isExact = (Int128)value == integer;
                return value;
            default:
                throw Unexpected("a number", code);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private int ReadLongMapHeader(byte code) => code switch
    {
        MessagePackCode.Map16 => ReadLength(sizeof(ushort)),
        MessagePackCode.Map32 => ReadLength(sizeof(uint)),
        MessagePackCode.Nil => 0,
        _ => throw Unexpected("a map", code),
    };

    private int ReadLongArrayHeader(byte code) => code switch
    {
        MessagePackCode.Array16 => ReadLength(sizeof(ushort)),
        MessagePackCode.Array32 => ReadLength(sizeof(uint)),
        MessagePackCode.Nil => 0,
        _ => throw Unexpected("an array", code),
    };

    /// <summary>Reads a length or count; throws if it exceeds the number of bytes that remain.</summary>
    private int ReadLength(int sizeBytes)
    {
        ReadOnlySpan<byte> taken = Take(sizeBytes);
        uint length = sizeBytes switch
        {
            sizeof(byte) => taken[0],
            sizeof(ushort) => BinaryPrimitives.ReadUInt16BigEndian(taken),
            _ => BinaryPrimitives.ReadUInt32BigEndian(taken),
        };
        return length <= (uint)(_bytes.Length - _position) ? (int)length : throw EndsEarly();
    }

    /// <summary>
    /// Returns a count; throws if the bytes that remain are too few for its elements and all others that are owed.
    /// </summary>
    private readonly int Promised(int count, int valuesForEach) =>
        (long)count * valuesForEach <= (long)_bytes.Length - _position - Owed ? count : throw EndsEarly();

    /// <summary>Skips one value, and returns the number of values inside it.</summary>
    private long SkipOne()
    {
        byte code = ReadCode();
        switch (code)
        {
            case <= MessagePackCode.MaxFixInt or >= MessagePackCode.MinNegativeFixInt:
            case MessagePackCode.Nil or MessagePackCode.True or MessagePackCode.False:
                return 0;
            case <= MessagePackCode.MaxFixMap:
                return 2 * Promised(code - MessagePackCode.MinFixMap, 2);
            case <= MessagePackCode.MaxFixArray:
                return Promised(code - MessagePackCode.MinFixArray, 1);
            case MessagePackCode.Map16 or MessagePackCode.Map32:
                return 2L * Promised(ReadLongMapHeader(code), 2);
            case MessagePackCode.Array16 or MessagePackCode.Array32:
                return Promised(ReadLongArrayHeader(code), 1);
            default:
                Take(LengthOf(code));
                return 0;
        }
    }

    /// <summary>
    /// Returns the number of bytes after the code, and after the length if there is one, of a value that is no
    /// container.
    /// </summary>
    private int LengthOf(byte code) => code switch
    {
        <= MessagePackCode.MaxFixStr => code - MessagePackCode.MinFixStr,
        MessagePackCode.Bin8 or MessagePackCode.Str8 => ReadLength(sizeof(byte)),
        MessagePackCode.Bin16 or MessagePackCode.Str16 => ReadLength(sizeof(ushort)),
        MessagePackCode.Bin32 or MessagePackCode.Str32 => ReadLength(sizeof(uint)),
        MessagePackCode.UInt8 or MessagePackCode.Int8 => sizeof(byte),
        MessagePackCode.UInt16 or MessagePackCode.Int16 => sizeof(ushort),
        MessagePackCode.UInt32 or MessagePackCode.Int32 or MessagePackCode.Float32 => sizeof(uint),
        MessagePackCode.UInt64 or MessagePackCode.Int64 or MessagePackCode.Float64 => sizeof(ulong),

        // The type of an extension stands between its length and its bytes.
        MessagePackCode.Ext8 => 1 + ReadLength(sizeof(byte)),
        MessagePackCode.Ext16 => 1 + ReadLength(sizeof(ushort)),
        MessagePackCode.Ext32 => 1 + ReadLength(sizeof(uint)),
        >= MessagePackCode.FixExt1 and <= MessagePackCode.FixExt16 => 1 + (1 << (code - MessagePackCode.FixExt1)),
        _ => throw Unexpected("a value", code),
    };

    private readonly MessagePackSerializationException OutOfRange(Int128 value) =>
        Malformed($"{value.ToString(CultureInfo.InvariantCulture)}, which is out of range");

    private readonly MessagePackSerializationException Unexpected(string expected, byte code) =>
        Malformed($"{MessagePackCode.ToFormatName(code)} where {expected} is expected");

    private readonly MessagePackSerializationException EndsEarly() => Malformed("it promises more than there is");

    /// <summary>Creates the exception, including the place of the error.</summary>
    private readonly MessagePackSerializationException Malformed(string found, Exception? inner = null)
    {
        string field = Field == 0
            ? ""
            : $" in field {Field}{NameOf(_message?.FindFieldByNumber(Field))}";
        return new MessagePackSerializationException(
            $"Malformed MessagePack for {_message?.FullName}: {found}{field}, before byte {_position}.", inner);
    }

    private static string NameOf(FieldDescriptor? field) => field is null ? ", which is unknown" : $" ('{field.Name}')";
}
