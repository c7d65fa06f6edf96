using System.Buffers;
using System.Runtime.InteropServices;
using RpcOverShm.Segments;

namespace RpcOverShm.Tests.Segments;

/// <summary>A record that marshallers parse in place, and cannot access afterwards.</summary>
public sealed unsafe class RecordMemoryTests : IDisposable
{
    private const int Bytes = 100;

    private readonly byte* _record = (byte*)NativeMemory.AllocZeroed(Bytes);

    private ReadOnlySpan<byte> Record => new(_record, Bytes);

    public void Dispose() => NativeMemory.Free(_record);

    [Test]
    public void Of_ARecord_IsTheRecordItself()
    {
        RecordMemory memory = RecordMemory.Of(Record);
        ReadOnlySequence<byte> shown = memory.Sequence;
        _record[Bytes - 1] = 7;

        Assert.That(shown.Length, Is.EqualTo(Bytes));
        Assert.That(shown.IsSingleSegment);
        Assert.That(shown.ToArray()[^1], Is.EqualTo(7));
        Assert.That(shown.FirstSpan.Overlaps(Record));
        memory.Forget();
    }

    [Test]
    public void Of_NoBytes_IsAnEmptySequence()
    {
        RecordMemory memory = RecordMemory.Of(default);

        Assert.That(memory.Sequence.Length, Is.Zero);
        memory.Forget();
    }

    [Test]
    public void Forget_WhatWasShown_CanNoLongerBeRead()
    {
        RecordMemory memory = RecordMemory.Of(Record);
        ReadOnlySequence<byte> shown = memory.Sequence;
        memory.Forget();

        Assert.That(() => shown.FirstSpan.Length, Throws.InstanceOf<ArgumentException>());
        Assert.That(() => shown.ToArray(), Throws.InstanceOf<ArgumentException>());
    }

    [Test]
    public void Of_AfterForget_DoesNotShowTheNextRecordToWhoKeptTheLast()
    {
        RecordMemory memory = RecordMemory.Of(Record);
        ReadOnlySequence<byte> kept = memory.Sequence;
        memory.Forget();
        RecordMemory next = RecordMemory.Of(Record);

        Assert.That(() => kept.FirstSpan.Length, Throws.InstanceOf<ArgumentException>());
        next.Forget();
    }

    [Test]
    public void IsShownToThisThread_BetweenOfAndForget_IsTrue()
    {
        RecordMemory outer = RecordMemory.Of(Record);
        RecordMemory inner = RecordMemory.Of(Record);
        inner.Forget();

        Assert.That(RecordMemory.IsShownToThisThread);
        outer.Forget();
        Assert.That(RecordMemory.IsShownToThisThread, Is.False);
    }

    [Test]
    public void Pin_InsideTheRecord_PointsThere([Values(0, 1, Bytes)] int index)
    {
        RecordMemory memory = RecordMemory.Of(Record);
        using MemoryHandle handle = memory.Pin(index);

        Assert.That((nint)handle.Pointer, Is.EqualTo((nint)(_record + index)));
        memory.Forget();
    }

    [TestCase(-1)]
    [TestCase(Bytes + 1)]
    public void Pin_OutsideTheRecord_Throws(int index)
    {
        RecordMemory memory = RecordMemory.Of(Record);

        Assert.That(() => memory.Pin(index).Pointer == null, Throws.InstanceOf<ArgumentOutOfRangeException>());
        memory.Forget();
    }
}
