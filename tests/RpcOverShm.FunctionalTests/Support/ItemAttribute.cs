namespace RpcOverShm.FunctionalTests.Support;

/// <summary>
/// Names the item of gRPC's behaviour that a test is about. The table of tests/README.md lists the items; its last
/// column is generated from these attributes. An item is also a category: <c>--filter TestCategory=C11</c>.
/// </summary>
[AttributeUsage(AttributeTargets.Method, AllowMultiple = true)]
internal sealed class ItemAttribute(string name) : CategoryAttribute(name);
