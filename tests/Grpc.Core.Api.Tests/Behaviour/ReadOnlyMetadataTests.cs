namespace Grpc.Core.Api.Tests.Behaviour;

/// <summary>Everyone shares the empty metadata, so nobody can change it.</summary>
public class ReadOnlyMetadataTests
{
    private static readonly Metadata.Entry s_entry = new("key", "value");

    private static readonly TestCaseData[] s_changes =
    [
        Case("Add entry", metadata => metadata.Add(s_entry)),
        Case("Add text", metadata => metadata.Add("key", "value")),
        Case("Add bytes", metadata => metadata.Add("key-bin", [1])),
        Case("Insert", metadata => metadata.Insert(0, s_entry)),
        Case("Set", metadata => metadata[0] = s_entry),
        Case("Remove", metadata => metadata.Remove(s_entry)),
        Case("RemoveAt", metadata => metadata.RemoveAt(0)),
        Case("Clear", metadata => metadata.Clear()),
    ];

    [TestCaseSource(nameof(s_changes))]
    public void Empty_Changed_ThrowsInvalidOperation(Action<Metadata> change)
    {
        Assert.That(
            () => change(Metadata.Empty),
            Throws.TypeOf<InvalidOperationException>().With.Message.EqualTo("Object is read only"));
        Assert.That(Metadata.Empty, Is.Empty);
    }

    [Test]
    public void Add_NullToEmpty_ComplainsOfTheNullFirst()
    {
        Assert.That(() => Metadata.Empty.Add(null!), Throws.ArgumentNullException);
    }

    [Test]
    public void IsReadOnly_EmptyAndNew_Differ()
    {
        Assert.That(Metadata.Empty.IsReadOnly);
        Assert.That(new Metadata().IsReadOnly, Is.False);
    }

    [Test]
    public void Empty_Read_WorksLikeAnyOther()
    {
        Assert.That(Metadata.Empty.Count, Is.Zero);
        Assert.That(Metadata.Empty.Get("key"), Is.Null);
        Assert.That(Metadata.Empty.Contains(s_entry), Is.False);
    }

    private static TestCaseData Case(string name, Action<Metadata> change)
    {
        return new TestCaseData(change).SetArgDisplayNames(name);
    }
}
