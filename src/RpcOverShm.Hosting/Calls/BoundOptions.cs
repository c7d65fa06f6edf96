using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Options;

namespace RpcOverShm.Hosting.Calls;

/// <summary>
/// Binds sections of the configuration to options; refuses names that are no option. The calls of Bind are replaced by
/// generated code, which needs their types.
/// </summary>
internal static class BoundOptions
{
    /// <exception cref="OptionsValidationException">A name is no option, or a value does not fit.</exception>
    public static void Bind(IConfiguration section, ShmServerOptions options, string name)
    {
        try
        {
            section.Bind(options, static binder => binder.ErrorOnUnknownConfiguration = true);
        }
        catch (InvalidOperationException exception)
        {
            throw Refused(section, typeof(ShmServerOptions), name, exception);
        }
    }

    /// <exception cref="OptionsValidationException">A name is no option, or a value does not fit.</exception>
    public static void Bind(IConfiguration section, ShmChannelOptions options, string name)
    {
        try
        {
            section.Bind(options, static binder => binder.ErrorOnUnknownConfiguration = true);
        }
        catch (InvalidOperationException exception)
        {
            throw Refused(section, typeof(ShmChannelOptions), name, exception);
        }
    }

    private static OptionsValidationException Refused(
        IConfiguration section, Type options, string name, InvalidOperationException exception) =>
        new(
            name,
            options,
            [$"Section '{(section as IConfigurationSection)?.Path}' of the configuration, for '{name}': "
                + exception.Message]);
}
