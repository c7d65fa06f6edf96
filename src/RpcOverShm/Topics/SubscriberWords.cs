using System.Runtime.CompilerServices;
using RpcOverShm.Rings;
using RpcOverShm.Systems;

namespace RpcOverShm.Topics;

/// <summary>
/// The words with which a link of a subscribing process tells the publisher how far all its subscribers that wait have
/// read, and whether it sleeps. The caller must call it from one thread at a time; the positions are the link's, which
/// may have several readers.
/// </summary>
internal sealed unsafe class SubscriberWords
{
    private readonly long* _headWord;
    private readonly long* _parkedForDataWord;
    private readonly long* _publisherParkedForSpaceWord;
    private readonly long _lazyHeadBytes;

    private long _head;     // the head that the publisher can see
    private bool _isArmed;

    /// <summary>Begins with the head at a position, which must not be before an earlier one of the page.</summary>
    public SubscriberWords(SubscriberPage own, TopicSegment topic, long head)
    {
        _headWord = (long*)Unsafe.AsPointer(ref own.Head);
        _parkedForDataWord = (long*)Unsafe.AsPointer(ref own.ParkedForData);
        _publisherParkedForSpaceWord = (long*)Unsafe.AsPointer(ref topic.ParkedForSpace);
        _lazyHeadBytes = TopicLimits.LazyHeadBytes(topic.Capacity);
        PublishHead(head);
    }

    /// <summary>
    /// Releases the space before a position of which the copies are made. The head is published lazily, unless the
    /// publisher waits for it. Returns how the caller must wake the publisher.
    /// </summary>
    public WakeMethods Release(long head) =>
        head - _head >= _lazyHeadBytes || ParkedAt(head) != WakeMethods.None ? PublishHead(head) : WakeMethods.None;

    /// <summary>
    /// Publishes the exact head. Returns how the caller must wake the publisher, if that waits for a position that the
    /// head has passed with this call. A head that is not beyond the last one changes nothing.
    /// </summary>
    public WakeMethods PublishHead(long head)
    {
        if (head <= _head)
        {
            return WakeMethods.None;
        }

        // SYNC topic-head: releases the space. The full fence orders the store of the head before the load of the
        // publisher's parked word (StoreLoad).
        SharedMemoryOrder.WriteFenced(ref *_headWord, head);
        WakeMethods wakeMethods = ParkedAt(head);
        _head = head;
        return wakeMethods;
    }

    /// <summary>
    /// Asks for a wake-up when the publisher's tail passes a position. Afterwards the caller must look at each of its
    /// readers once more: if none <see cref="TopicReader.HasData"/>, it may sleep until the low halves of tail and
    /// position differ, or until the socket tells. Before, it must have published the head.
    /// </summary>
    public void Arm(long position, WakeMethods wakeMethods)
    {
        _isArmed = true;

        // SYNC topic-parked-for-data: with the full fence, either the publisher sees this word after it stores its next
        // tail, or the caller sees the new tail.
        SharedMemoryOrder.WriteFenced(ref *_parkedForDataWord, position | (long)wakeMethods);
    }

    /// <summary>Withdraws the request.</summary>
    public void Disarm()
    {
        if (_isArmed)
        {
            _isArmed = false;

            // SYNC topic-parked-for-data: a stale value costs the publisher one needless wake-up.
            SharedMemoryOrder.WriteRelease(ref *_parkedForDataWord, 0);
        }
    }

    // How to wake the publisher, if it waits for a position between the published head and this one.
    private WakeMethods ParkedAt(long head)
    {
        // SYNC topic-parked-for-space: a hostile value harms only the publisher: it causes or omits its own wake-up.
        long parked = SharedMemoryOrder.ReadAcquire(ref *_publisherParkedForSpaceWord);
        long wanted = parked & ParkedWord.PositionMask;
        return wanted > _head && wanted <= head ? ParkedWord.WakeMethodsOf(parked) : WakeMethods.None;
    }
}
