using System.Reflection;

namespace Grpc.Core.Api.Tests.Behaviour;

public class BindServiceMethodAttributeTests
{
    [Test]
    public void Attribute_OnServiceBase_IsInheritedByImplementation()
    {
        var attribute = typeof(Implementation).GetCustomAttribute<BindServiceMethodAttribute>()!;

        Assert.That(attribute.BindType, Is.EqualTo(typeof(BindServiceMethodAttributeTests)));
        Assert.That(attribute.BindMethodName, Is.EqualTo("BindService"));
    }

    [BindServiceMethod(typeof(BindServiceMethodAttributeTests), "BindService")]
    private abstract class ServiceBase;

    private abstract class Implementation : ServiceBase;
}
