namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// Makes the answers of one connection of an arm without objects: the request itself, or bytes of the size that it asks
/// for, in a buffer that is used again. Before that it does the work that the request asks for. One thread at a time.
/// </summary>
/// <param name="prefixBytes">Room before each made answer, for the arm's own use.</param>
internal sealed class EchoAnswer(int prefixBytes = 0)
{
    private byte[] _buffer = [];

    /// <summary>
    /// Returns true when the request asks for an answer of another size: prefix and answer, until the next one.
    /// </summary>
    public bool TryMake(ReadOnlySpan<byte> request, out Memory<byte> answer)
    {
        ServedWork.Do(request);
        int size = EchoNumber.ReplyBytes(request);
        if (size == LoadOrder.SameAsRequest)
        {
            answer = default;
            return false;
        }

        if (_buffer.Length < prefixBytes + size)
        {
            _buffer = new byte[prefixBytes + size];
        }

        answer = _buffer.AsMemory(0, prefixBytes + size);
        EchoNumber.FillReply(answer.Span[prefixBytes..], request);
        return true;
    }

    /// <summary>
    /// Checks and counts a request, and does its work. Returns a fresh answer when the request asks for one of another
    /// size, and null when the request itself is the answer.
    /// </summary>
    public static byte[]? MakeOther(ReadOnlySpan<byte> request)
    {
        ServedTally.CountRequest(request);
        ServedWork.Do(request);
        int size = EchoNumber.ReplyBytes(request);
        if (size == LoadOrder.SameAsRequest)
        {
            return null;
        }

        byte[] reply = GC.AllocateUninitializedArray<byte>(size);
        EchoNumber.FillReply(reply, request);
        return reply;
    }
}
