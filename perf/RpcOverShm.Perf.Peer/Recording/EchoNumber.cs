namespace RpcOverShm.Perf.Peer.Recording;

/// <summary>
/// The number of a request. It has the caller and the size of the answer, so that the bytes of a request alone can ask
/// any arm for any answer. A request can ask for processor time instead: it is then its own answer.
/// <code>
///  bit 63: 0    56 to 62: caller    31 to 55: answer's size + 1, 0 for the request itself    0 to 30: sequence
///          1    56 to 62: caller    31 to 55: microseconds of work                           0 to 30: sequence
/// </code>
/// </summary>
internal static class EchoNumber
{
    private const int CallerShift = 56;
    private const int ReplyShift = 31;
    private const long SequenceMask = (1L << ReplyShift) - 1;
    private const long ReplyMask = (1L << (CallerShift - ReplyShift)) - 1;

    public static long Make(int caller, int replyBytes, long sequence, int workMicroseconds = 0)
    {
        if (workMicroseconds > 0 && replyBytes != LoadOrder.SameAsRequest)
        {
            throw new ArgumentException("A request that asks for work is its own answer.", nameof(replyBytes));
        }

        long asked = workMicroseconds > 0 ? workMicroseconds
            : replyBytes == LoadOrder.SameAsRequest ? 0 : replyBytes + 1L;
        long kind = workMicroseconds > 0 ? long.MinValue : 0;
        return kind | ((long)caller << CallerShift) | (asked << ReplyShift) | (sequence & SequenceMask);
    }

    /// <summary>The answer's size that a request asks for, or <see cref="LoadOrder.SameAsRequest"/>.</summary>
    public static int ReplyBytes(ReadOnlySpan<byte> request) =>
        request.Length < PayloadPattern.NumberBytes ? LoadOrder.SameAsRequest : ReplyBytes(Of(request));

    /// <summary>The processor time that a request asks for, in microseconds; 0 for none.</summary>
    public static int WorkMicroseconds(ReadOnlySpan<byte> request)
    {
        long number = request.Length < PayloadPattern.NumberBytes ? 0 : Of(request);
        return number < 0 ? (int)((number >> ReplyShift) & ReplyMask) : 0;
    }

    /// <summary>Fills the answer to a request that asks for one of another size.</summary>
    public static void FillReply(Span<byte> reply, ReadOnlySpan<byte> request) =>
        PayloadPattern.Fill(reply, Of(request));

    private static int ReplyBytes(long number) =>
        number < 0 ? LoadOrder.SameAsRequest : (int)((number >> ReplyShift) & ReplyMask) - 1;

    private static long Of(ReadOnlySpan<byte> request) => BinaryPrimitives.ReadInt64LittleEndian(request);
}
