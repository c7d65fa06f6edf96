using System.Runtime.Serialization;
using System.ServiceModel;

namespace Outside.Contract;

/// <summary>A contract without a .proto file.</summary>
[ServiceContract(Name = "outside.Archive")]
public interface IArchive
{
    [OperationContract]
    Task<Page> FindAsync(Page page);
}

/// <summary>A page of the archive.</summary>
[DataContract]
public sealed class Page
{
    [DataMember(Order = 1)]
    public int Number { get; set; }

    [DataMember(Order = 2)]
    public string Text { get; set; } = "";
}
