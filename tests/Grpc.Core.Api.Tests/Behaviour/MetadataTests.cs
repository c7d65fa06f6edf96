using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.Behaviour;

public class MetadataTests
{
    private static readonly Metadata.Entry s_first = new("key", "first");
    private static readonly Metadata.Entry s_second = new("key", "second");
    private static readonly Metadata.Entry s_binary = new("key-bin", [1, 2]);

    [Test]
    public void Add_KeyAndText_AppendsEntry()
    {
        Metadata metadata = new() { { "Key", "value" } };

        Assert.That(metadata.Single().Key, Is.EqualTo("key"));
        Assert.That(metadata.Single().Value, Is.EqualTo("value"));
    }

    [Test]
    public void Add_KeyAndBytes_AppendsBinaryEntry()
    {
        Metadata metadata = new() { { "key-bin", new byte[] { 1 } } };

        Assert.That(metadata.Single().IsBinary);
    }

    [Test]
    public void Add_NullEntry_ThrowsArgumentNull()
    {
        Assert.That(() => new Metadata().Add(null!), Errors.NullArgument("item"));
    }

    [Test]
    public void Add_SameKeyTwice_KeepsBothInOrder()
    {
        Metadata metadata = [s_first, s_second];

        Assert.That(metadata, Is.EqualTo([s_first, s_second]));
    }

    [Test]
    public void Insert_InFront_MovesTheRest()
    {
        Metadata metadata = [s_first];

        metadata.Insert(0, s_binary);

        Assert.That(metadata, Is.EqualTo([s_binary, s_first]));
    }

    [Test]
    public void Insert_NullEntry_ThrowsArgumentNull()
    {
        Assert.That(() => new Metadata().Insert(0, null!), Errors.NullArgument("item"));
    }

    [Test]
    public void Insert_BeyondTheEnd_ThrowsArgumentOutOfRange()
    {
        Assert.That(() => new Metadata().Insert(1, s_first), Throws.TypeOf<ArgumentOutOfRangeException>());
    }

    [Test]
    public void Indexer_Set_ReplacesEntry()
    {
        Metadata metadata = [s_first];

        metadata[0] = s_second;

        Assert.That(metadata[0], Is.SameAs(s_second));
    }

    [Test]
    public void Indexer_SetNull_ThrowsArgumentNull()
    {
        Metadata metadata = [s_first];

        Assert.That(() => metadata[0] = null!, Errors.NullArgument("value"));
    }

    [Test]
    public void Indexer_BeyondTheEnd_ThrowsArgumentOutOfRange()
    {
        Assert.That(() => new Metadata()[0], Throws.TypeOf<ArgumentOutOfRangeException>());
    }

    [Test]
    public void Remove_PresentEntry_TakesItOut()
    {
        Metadata metadata = [s_first, s_second];

        Assert.That(metadata.Remove(s_first));
        Assert.That(metadata, Is.EqualTo([s_second]));
    }

    [Test]
    public void Remove_EqualLookingEntry_LeavesAll()
    {
        // Entries have no equality of their own: two with the same content are different entries.
        Metadata metadata = [s_first];

        Assert.That(metadata.Remove(new Metadata.Entry("key", "first")), Is.False);
        Assert.That(metadata, Has.Count.EqualTo(1));
    }

    [Test]
    public void RemoveAt_Index_TakesThatOneOut()
    {
        Metadata metadata = [s_first, s_second];

        metadata.RemoveAt(0);

        Assert.That(metadata, Is.EqualTo([s_second]));
    }

    [Test]
    public void Clear_Filled_LeavesNothing()
    {
        Metadata metadata = [s_first];

        metadata.Clear();

        Assert.That(metadata, Is.Empty);
    }

    [Test]
    public void ContainsAndIndexOf_Entries_GoByReference()
    {
        Metadata metadata = [s_first, s_second];

        Assert.That(metadata.Contains(s_second));
        Assert.That(metadata.Contains(s_binary), Is.False);
        Assert.That(metadata.IndexOf(s_second), Is.EqualTo(1));
        Assert.That(metadata.IndexOf(s_binary), Is.EqualTo(-1));
    }

    [Test]
    public void CopyTo_Offset_CopiesInOrder()
    {
        var target = new Metadata.Entry[3];

        new Metadata { s_first, s_second }.CopyTo(target, 1);

        Assert.That(target, Is.EqualTo(new[] { null, s_first, s_second }));
    }

    [Test]
    public void Get_RepeatedKey_ReturnsTheLast()
    {
        Metadata metadata = [s_first, s_second];

        Assert.That(metadata.Get("key"), Is.SameAs(s_second));
        Assert.That(metadata.GetValue("key"), Is.EqualTo("second"));
    }

    [TestCase("KEY")]
    [TestCase("kEy")]
    public void Get_OtherCase_FindsEntry(string key)
    {
        Metadata metadata = [s_first];

        Assert.That(metadata.Get(key), Is.SameAs(s_first));
    }

    [TestCase("other")]
    [TestCase("")]
    [TestCase(null)]
    public void Get_UnknownKey_ReturnsNull(string? key)
    {
        Metadata metadata = [s_first];

        Assert.That(metadata.Get(key!), Is.Null);
        Assert.That(metadata.GetValue(key!), Is.Null);
        Assert.That(metadata.GetValueBytes(key!), Is.Null);
        Assert.That(metadata.GetAll(key!), Is.Empty);
    }

    [Test]
    public void GetValue_BinaryEntry_ThrowsInvalidOperation()
    {
        Metadata metadata = [s_binary];

        Assert.That(() => metadata.GetValue("key-bin"), Throws.InvalidOperationException);
    }

    [Test]
    public void GetValueBytes_BinaryAndText_ReturnsBytes()
    {
        Metadata metadata = [s_binary, new("text", "AB")];

        Assert.That(metadata.GetValueBytes("key-bin"), Is.EqualTo(new byte[] { 1, 2 }));
        Assert.That(metadata.GetValueBytes("text"), Is.EqualTo("AB"u8.ToArray()));
    }

    [Test]
    public void GetAll_RepeatedKey_ReturnsThemInOrder()
    {
        Metadata metadata = [s_first, s_binary, s_second];

        Assert.That(metadata.GetAll("Key"), Is.EqualTo([s_first, s_second]));
    }

    [Test]
    public void GetAll_ChangedWhileRunning_GoesOn()
    {
        Metadata metadata = [s_first];
        var found = 0;

        foreach (var entry in metadata.GetAll("key"))
        {
            found++;
            if (found == 1)
            {
                metadata.Add(s_second);
            }
        }

        Assert.That(found, Is.EqualTo(2));
    }

    [Test]
    public void GetEnumerator_ChangedWhileRunning_ThrowsInvalidOperation()
    {
        Metadata metadata = [s_first, s_second];
        using var enumerator = metadata.GetEnumerator();

        metadata.Add(s_binary);

        Assert.That(() => enumerator.MoveNext(), Throws.InvalidOperationException);
    }

    [Test]
    public void GetEnumerator_NonGeneric_SeesTheSame()
    {
        System.Collections.IEnumerable metadata = new Metadata { s_first, s_second };

        Assert.That(metadata.Cast<object>(), Is.EqualTo([s_first, s_second]));
    }
}
