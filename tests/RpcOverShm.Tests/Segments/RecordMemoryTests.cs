using System.Buffers;
using System.Runtime.InteropServices;
using RpcOverShm.Segments;

namespace RpcOverShm.Tests.Segments;

/// <summary>A record that marshallers see where it lies, and no longer than that.</summary>
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
    public void Of_NoBytes_IsAnEmptySequence() => Assert.That(RecordMemory.Of(default).Sequence.Length, Is.Zero);

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
    public void Of_AfterForget_ShowsTheNextRecordByTheSameObject()
    {
        RecordMemory memory = RecordMemory.Of(Record);
        memory.Forget();
        RecordMemory next = RecordMemory.Of(Record[..10]);

        Assert.That(next, Is.SameAs(memory));
        Assert.That(next.Sequence.Length, Is.EqualTo(10));
        Assert.That(RecordMemory.Of(Record), Is.Not.SameAs(next), "A parse within a parse has its own.");
    }

    [Test]
    public void Pin_InsideTheRecord_PointsThere([Values(0, 1, Bytes)] int index)
    {
        using MemoryHandle handle = ((MemoryManager<byte>)RecordMemory.Of(Record)).Pin(index);

        Assert.That((nint)handle.Pointer, Is.EqualTo((nint)(_record + index)));
    }

    [TestCase(-1)]
    [TestCase(Bytes + 1)]
    public void Pin_OutsideTheRecord_Throws(int index)
    {
        RecordMemory memory = RecordMemory.Of(Record);

        Assert.That(() => memory.Pin(index).Pointer == null, Throws.InstanceOf<ArgumentOutOfRangeException>());
    }
}
