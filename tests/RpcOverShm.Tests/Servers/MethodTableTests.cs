using System.Text;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Servers;

namespace RpcOverShm.Tests.Servers;

/// <summary>Methods whose names have any length are found, other names are not.</summary>
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
        MethodHandler? handler = _table.Find(Encoding.UTF8.GetBytes(name));

        Assert.That(handler?.FullName, Is.EqualTo(reason is null ? name : null));
        if (reason is not null)
        {
            Assert.That(
                _table.CreateUnimplementedStatus(name), Is.EqualTo(new Status(StatusCode.Unimplemented, reason)));
        }
    }

    [Test]
    public void Find_EveryName_GivesItsMethod()
    {
        (string Service, string Method)[] names =
        [
            ("", ""), ("", "a"), ("a", ""), ("a", "b"), ("aa", "bb/"), ("aaa", "bbb"), ("aaa", "bbbb"),
            ("Grüße", "Ähm"),
            .. Enumerable.Range(0, 1000).Select(number => ("company.services.Numbered", $"Method{number}")),
            .. Enumerable.Range(0, 1000).Select(number => ($"company.services.Numbered{number}", "Method")),
        ];
        MethodTable table = TableOf(names);
        string[] full = [.. names.Select(name => $"/{name.Service}/{name.Method}")];
        Assert.That(full.Select(name => table.Find(Encoding.UTF8.GetBytes(name))?.FullName), Is.EqualTo(full));
    }

    [TestCase("")]
    [TestCase("/service/metho")]
    [TestCase("/service/methods")]
    [TestCase("/service/Method")]
    [TestCase("service/method")]
    [TestCase("/service/method\0")]
    public void Find_AnotherName_GivesNull(string other)
    {
        MethodTable table = TableOf(("service", "method"), ("service", "other"));
        Assert.That(table.Find(Encoding.UTF8.GetBytes(other)), Is.Null);
    }

    [Test]
    public void Find_InNone_GivesNull() => Assert.That(TableOf().Find("/service/method"u8), Is.Null);

    [Test]
    public void Find_BytesThatAreNoText_GivesNull() =>
        Assert.That(TableOf(("service", "\uFFFD")).Find([.. "/service/"u8, 0xFF]), Is.Null);

    private static MethodTable TableOf(params (string Service, string Method)[] names) => new(
        [
            .. names.Select(name => Service(
                new Method<string, string>(
                    MethodType.Unary,
                    name.Service,
                    name.Method,
                    Marshallers.StringMarshaller,
                    Marshallers.StringMarshaller),
                (request, _) => Task.FromResult(request))),
        ],
        []);

    private static ServerServiceDefinition Service(string name) =>
        Service(name, (request, _) => Task.FromResult(request));

    private static ServerServiceDefinition Service(string name, UnaryServerMethod<string, string>? handler) =>
        Service(ServedRig.MethodOf(MethodType.Unary, name), handler);

    private static ServerServiceDefinition Service(
        Method<string, string> method, UnaryServerMethod<string, string>? handler) =>
        ServerServiceDefinition.CreateBuilder().AddMethod(method, handler!).Build();
}
