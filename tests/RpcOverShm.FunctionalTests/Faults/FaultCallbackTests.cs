using Grpc.Core.Interceptors;
using RpcOverShm.FunctionalTests.Callbacks;

namespace RpcOverShm.FunctionalTests.Faults;

/// <summary>Faults of services that a client offers, caught by the server that calls them.</summary>
internal sealed class FaultCallbackTests : CallbackFixture
{
    [Test]
    public async Task Callback_ThatThrows_IsTypedAtTheServer_AndThenAtTheClient([Values] bool isBlocking)
    {
        Exception? caught = null;
        var server = new Script
        {
            Unary = async (request, context) =>
            {
                var back = new ScriptClient(
                    context.GetShmSession().CreateCallInvoker().Intercept(SampleFaults.Client));
                try
                {
                    return isBlocking ? back.Unary(request) : await back.UnaryAsync(request);
                }
                catch (OrderMissingException exception)
                {
                    caught = exception;
                    throw;
                }
            },
        };
        ShmRig rig = await StartShmAsync(server, SampleFaults.Options);
        ShmChannel channel = rig.OpenChannel(options => options.Callbacks.Services.Add(
            Everywhere(_ => throw new OrderMissingException("o-5", "not here")).Build(), SampleFaults.Server));

        Exception? thrown = await Timeouts.OnThread(() => Assert.Catch(
            () => new ScriptClient(channel.Intercept(SampleFaults.Client)).Unary(Payloads.Empty))).Bounded();

        Assert.That(((OrderMissingException)caught!).Order, Is.EqualTo("o-5"));
        Assert.That(((OrderMissingException)thrown!).Order, Is.EqualTo("o-5"));
    }
}
