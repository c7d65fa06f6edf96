using System.Buffers.Binary;
using System.Globalization;

namespace RpcOverShm.Testing.Soak;

/// <summary>
/// The messages of a soak: bytes that follow from the run, the call, the direction and the number of the message, with
/// the call and the number in front if there is space. So a message of another call, a lost, doubled or moved message
/// and a wrong byte are all found.
/// </summary>
public static class SoakMessage
{
    private const int LabelBytes = 16;

    /// <summary>Returns a number that depends on all bits of both.</summary>
    public static ulong Mix(ulong first, ulong second)
    {
        ulong mixed = (first + 0x9E37_79B9_7F4A_7C15) ^ (second * 0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58_476D_1CE4_E5B9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D0_49BB_1331_11EB;
        return mixed ^ (mixed >> 31);
    }

    public static byte[] Create(SoakPlan plan, SoakSide side, int sequence)
    {
        byte[] message = new byte[plan.SizeOf(side, sequence)];
        Fill(message, plan, side, sequence);
        return message;
    }

    /// <exception cref="SoakViolationException">The message is another one.</exception>
    public static void Check(ReadOnlySpan<byte> message, SoakPlan plan, SoakSide side, int sequence)
    {
        int expected = plan.SizeOf(side, sequence);
        if (message.Length != expected)
        {
            throw Wrong(message, plan, side, sequence, $"has {message.Length} bytes instead of {expected}");
        }

        if (message.Length >= LabelBytes)
        {
            Span<byte> label = stackalloc byte[LabelBytes];
            WriteLabel(label, plan, side, sequence);
            if (!message[..LabelBytes].SequenceEqual(label))
            {
                throw Wrong(message, plan, side, sequence, "has another label");
            }

            message = message[LabelBytes..];
        }

        long wrong = new BytePattern(plan.PatternOf(side, sequence)).CountWrong(message);
        if (wrong > 0)
        {
            throw Wrong(message, plan, side, sequence, $"has {wrong} wrong bytes of {expected}");
        }
    }

    private static void Fill(Span<byte> message, SoakPlan plan, SoakSide side, int sequence)
    {
        if (message.Length >= LabelBytes)
        {
            WriteLabel(message, plan, side, sequence);
            message = message[LabelBytes..];
        }

        new BytePattern(plan.PatternOf(side, sequence)).Fill(message);
    }

    private static void WriteLabel(Span<byte> label, SoakPlan plan, SoakSide side, int sequence)
    {
        BinaryPrimitives.WriteUInt64LittleEndian(label, plan.CallId);
        BinaryPrimitives.WriteInt32LittleEndian(label[8..], (int)side);
        BinaryPrimitives.WriteInt32LittleEndian(label[12..], sequence);
    }

    private static SoakViolationException Wrong(
        ReadOnlySpan<byte> message, SoakPlan plan, SoakSide side, int sequence, string what)
    {
        string label = message.Length < LabelBytes ? "" : string.Create(
            CultureInfo.InvariantCulture,
            $" Its label is call {SoakCallId.Unpack(BinaryPrimitives.ReadUInt64LittleEndian(message))}, side "
            + $"{BinaryPrimitives.ReadInt32LittleEndian(message[8..])}, message "
            + $"{BinaryPrimitives.ReadInt32LittleEndian(message[12..])}.");
        return new SoakViolationException($"Message {sequence} of the {side} {what}.{label} Expected by {plan}.");
    }
}

/// <summary>The exception for a broken promise of the library.</summary>
public sealed class SoakViolationException(string message) : Exception(message);
