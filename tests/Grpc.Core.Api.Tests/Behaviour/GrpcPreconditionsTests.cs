using Grpc.Core.Api.Tests.Fakes;
using Grpc.Core.Utils;

namespace Grpc.Core.Api.Tests.Behaviour;

public class GrpcPreconditionsTests
{
    [Test]
    public void CheckArgument_True_Passes()
    {
        Assert.That(() => GrpcPreconditions.CheckArgument(true), Throws.Nothing);
        Assert.That(() => GrpcPreconditions.CheckArgument(true, "message"), Throws.Nothing);
    }

    [Test]
    public void CheckArgument_False_ThrowsArgument()
    {
        Assert.That(() => GrpcPreconditions.CheckArgument(false), Throws.TypeOf<ArgumentException>());
        Assert.That(
            () => GrpcPreconditions.CheckArgument(false, "message"),
            Throws.TypeOf<ArgumentException>().With.Message.EqualTo("message"));
    }

    [Test]
    public void CheckState_True_Passes()
    {
        Assert.That(() => GrpcPreconditions.CheckState(true), Throws.Nothing);
        Assert.That(() => GrpcPreconditions.CheckState(true, "message"), Throws.Nothing);
    }

    [Test]
    public void CheckState_False_ThrowsInvalidOperation()
    {
        Assert.That(() => GrpcPreconditions.CheckState(false), Throws.TypeOf<InvalidOperationException>());
        Assert.That(
            () => GrpcPreconditions.CheckState(false, "message"),
            Throws.TypeOf<InvalidOperationException>().With.Message.EqualTo("message"));
    }

    [Test]
    public void CheckNotNull_Reference_ReturnsIt()
    {
        var reference = new object();

        Assert.That(GrpcPreconditions.CheckNotNull(reference), Is.SameAs(reference));
        Assert.That(GrpcPreconditions.CheckNotNull(reference, "name"), Is.SameAs(reference));
        Assert.That(GrpcPreconditions.CheckNotNull(0), Is.Zero);
    }

    [Test]
    public void CheckNotNull_Null_ThrowsArgumentNull()
    {
        Assert.That(() => GrpcPreconditions.CheckNotNull<object?>(null), Throws.ArgumentNullException);
        Assert.That(() => GrpcPreconditions.CheckNotNull<object?>(null, "name"), Errors.NullArgument("name"));
        Assert.That(() => GrpcPreconditions.CheckNotNull<int?>(null, "name"), Errors.NullArgument("name"));
    }
}
