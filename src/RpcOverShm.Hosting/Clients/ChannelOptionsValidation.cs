using Microsoft.Extensions.Options;

namespace RpcOverShm.Hosting.Clients;

/// <summary>
/// Checks the options of one client's channel at the start of the host, as the channel does: by creating one that never
/// connects.
/// </summary>
internal sealed class ChannelOptionsValidation(ClientRegistration registration, IServiceProvider provider)
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
            return ValidateOptionsResult.Success;
        }
        catch (ArgumentException exception)
        {
            return ValidateOptionsResult.Fail($"Client '{name}': {exception.Message}");
        }
    }
}
