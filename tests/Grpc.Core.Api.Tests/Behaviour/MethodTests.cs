using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.Behaviour;

public class MethodTests
{
    private static readonly Marshaller<string> s_request = Marshallers.StringMarshaller;
    private static readonly Marshaller<string> s_response = Marshallers.StringMarshaller;

    [Test]
    public void Properties_OfMethod_AreWhatItWasMadeWith()
    {
        var method = new Method<string, string>(MethodType.DuplexStreaming, "pkg.Service", "Do", s_request, s_response);

        Assert.That(method.Type, Is.EqualTo(MethodType.DuplexStreaming));
        Assert.That(method.ServiceName, Is.EqualTo("pkg.Service"));
        Assert.That(method.Name, Is.EqualTo("Do"));
        Assert.That(method.RequestMarshaller, Is.SameAs(s_request));
        Assert.That(method.ResponseMarshaller, Is.SameAs(s_response));
    }

    [TestCase("pkg.Service", "Do", "/pkg.Service/Do")]
    [TestCase("", "", "//")]
    public void FullName_OfMethod_JoinsServiceAndName(string service, string name, string expected)
    {
        var method = Create(service, name, s_request, s_response);

        Assert.That(method.FullName, Is.EqualTo(expected));
        Assert.That(((IMethod)method).FullName, Is.EqualTo(expected));
    }

    [Test]
    public void Constructor_NullArgument_ThrowsArgumentNull()
    {
        Assert.That(() => Create(null!, "n", s_request, s_response), Errors.NullArgument("serviceName"));
        Assert.That(() => Create("s", null!, s_request, s_response), Errors.NullArgument("name"));
        Assert.That(() => Create("s", "n", null!, s_response), Errors.NullArgument("requestMarshaller"));
        Assert.That(() => Create("s", "n", s_request, null!), Errors.NullArgument("responseMarshaller"));
    }

    [Test]
    public void DebuggerDisplay_OfMethod_NamesServiceAndType()
    {
        var method = Create("s", "n", s_request, s_response);

        Assert.That(Debugging.Display(method), Is.EqualTo("Name = n, ServiceName = s, Type = Unary"));
    }

    private static Method<string, string> Create(
        string service, string name, Marshaller<string> request, Marshaller<string> response)
    {
        return new Method<string, string>(MethodType.Unary, service, name, request, response);
    }
}
