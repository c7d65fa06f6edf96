using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Options;
using RpcOverShm.Hosting.Calls;

namespace RpcOverShm.Hosting.Clients;

/// <summary>
/// Checks one client at the start of the host: the options of its channel as the channel does, by creating one that
/// never connects, and what the constructors of the client and of its interceptors need.
/// </summary>
internal sealed class ChannelOptionsValidation(
    ClientRegistration registration, IServiceCollection services, IServiceProvider provider)
    : IValidateOptions<ShmChannelOptions>
{
    public ValidateOptionsResult Validate(string? name, ShmChannelOptions options)
    {
        if (name != registration.Name)
        {
            return ValidateOptionsResult.Skip;
        }

        try
        {
            ShmChannel.ForAddress(registration.Address.In(provider), options).Dispose();
        }
        catch (ArgumentException exception)
        {
            return ValidateOptionsResult.Fail($"Client '{name}': {exception.Message}");
        }

        var dependencies = new Dependencies(services, provider);
        return registration.Problems.Select(find => find(dependencies)).FirstOrDefault(one => one is not null)
            is { } problem
                ? ValidateOptionsResult.Fail($"Client '{name}': {problem}")
                : ValidateOptionsResult.Success;
    }
}
