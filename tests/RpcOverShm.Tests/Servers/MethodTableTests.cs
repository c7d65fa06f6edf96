using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Servers;

namespace RpcOverShm.Tests.Servers;

internal sealed class MethodTableTests
{
    private readonly MethodTable _table = new([Service("b.Two"), Service("a.One"), Service("c.Unserved", null)], []);

    [TestCase("/a.One/Unary", null)]
    [TestCase("/a.One/unary", StatusMapping.MethodUnknownDetail)]
    [TestCase("/a.One/", StatusMapping.MethodUnknownDetail)]
    [TestCase("/a.one/Unary", StatusMapping.ServiceUnknownDetail)]
    [TestCase("/c.Unserved/Unary", StatusMapping.ServiceUnknownDetail)]
    [TestCase("a.One/Unary", StatusMapping.ServiceUnknownDetail)]
    [TestCase("/a.One", StatusMapping.ServiceUnknownDetail)]
    [TestCase("/", StatusMapping.ServiceUnknownDetail)]
    [TestCase("", StatusMapping.ServiceUnknownDetail)]
    public void Find_OfAnyName_IsItsHandlerOrNoneWithTheReason(string name, string? reason)
    {
        MethodHandler? handler = _table.Find(System.Text.Encoding.UTF8.GetBytes(name));

        Assert.That(handler?.FullName, Is.EqualTo(reason is null ? name : null));
        if (reason is not null)
        {
            Assert.That(_table.Unimplemented(name), Is.EqualTo(new Status(StatusCode.Unimplemented, reason)));
        }
    }

    private static ServerServiceDefinition Service(string name) =>
        Service(name, (request, _) => Task.FromResult(request));

    private static ServerServiceDefinition Service(string name, UnaryServerMethod<string, string>? handler) =>
        ServerServiceDefinition.CreateBuilder().AddMethod(ServedRig.MethodOf(MethodType.Unary, name), handler!).Build();
}
