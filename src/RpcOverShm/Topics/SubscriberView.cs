using System.Runtime.CompilerServices;
using RpcOverShm.Rings;
using RpcOverShm.Systems;

namespace RpcOverShm.Topics;

/// <summary>
/// The publisher's look at one link of a subscribing process, which is not trusted: each word is loaded once and
/// checked. The caller must call it from one thread at a time, that of its <see cref="TopicWriter"/>. After an
/// exception it must end this link, and no other.
/// </summary>
internal sealed unsafe class SubscriberView
{
    private readonly long* _headWord;
    private readonly long* _parkedForDataWord;

    private long _head;         // the head as last read and checked
    private long _start;        // of the subscriber that waits and has begun last
    private long _lastWakeWord; // the parked word for which the link was last woken

    public SubscriberView(SubscriberPage subscriber)
    {
        _headWord = (long*)Unsafe.AsPointer(ref subscriber.Head);
        _parkedForDataWord = (long*)Unsafe.AsPointer(ref subscriber.ParkedForData);
    }

    /// <summary>
    /// Notes that the first subscriber of the link that waits begins at a position, which is not before the last head:
    /// until its process shows a head there, the position counts.
    /// </summary>
    public void StartAt(long position) => _start = position;

    /// <summary>
    /// Returns the position up to which the link's subscribers that wait have read. A link without any need not be
    /// asked.
    /// </summary>
    /// <param name="tail">The tail that the publisher has published.</param>
    /// <exception cref="RingCorruptedException">The head is invalid.</exception>
    public long ReadHead(long tail)
    {
        // SYNC topic-head: the space before the head may be overwritten after this load.
        long head = SharedMemoryOrder.ReadAcquire(ref *_headWord);
        if (head < _head || head > tail || (head & 15) != 0)
        {
            throw new RingCorruptedException(
                $"A subscriber says it has read up to {head}; it had read {_head}, and {tail} was published.");
        }

        _head = head;
        return Math.Max(head, _start);
    }

    /// <summary>
    /// Returns how the caller must wake the link, if that is armed at a position before the tail and was not woken for
    /// it yet. The caller has published the tail before.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public WakeMethods WakeFor(long tail)
    {
        // SYNC topic-parked-for-data: a hostile value harms only the subscriber: it causes or omits its own wake-up.
        long parked = SharedMemoryOrder.ReadAcquire(ref *_parkedForDataWord);
        if ((parked & ParkedWord.WakeMethodsMask) == 0
            || parked == _lastWakeWord
            || tail <= (parked & ParkedWord.PositionMask))
        {
            return WakeMethods.None;
        }

        _lastWakeWord = parked;
        return ParkedWord.WakeMethodsOf(parked);
    }
}
