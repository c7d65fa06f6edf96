using Microsoft.Extensions.Options;

namespace RpcOverShm.Hosting.Servers;

/// <summary>
/// Checks the options of one server at the start of the host, as the server does: by creating one that never starts.
/// </summary>
internal sealed class ServerOptionsValidation(ServerRegistration registration) : IValidateOptions<ShmServerOptions>
{
    public ValidateOptionsResult Validate(string? name, ShmServerOptions options)
    {
        if (name != registration.Name)
        {
            return ValidateOptionsResult.Skip;
        }

        try
        {
            _ = new ShmServer(registration.Address, options);
            return ValidateOptionsResult.Success;
        }
        catch (ArgumentException exception)
        {
            return ValidateOptionsResult.Fail($"Server '{name}': {exception.Message}");
        }
    }
}
