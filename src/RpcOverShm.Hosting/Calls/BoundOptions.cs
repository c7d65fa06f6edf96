using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Options;

namespace RpcOverShm.Hosting.Calls;

/// <summary>
/// Binds sections of the configuration to options; refuses names that are no option, and options that are set in code
/// only. The calls of Bind are replaced by generated code, which needs their types.
/// </summary>
internal static class BoundOptions
{
    /// <summary>The options of a server that no text can stand for. The generated code would pass over them.</summary>
    public static readonly IReadOnlyList<string> OfServersInCode =
    [
        nameof(ShmServerOptions.LoggerFactory),
        nameof(ShmServerOptions.Interceptors),
        nameof(ShmServerOptions.MessageInspectors),
        nameof(ShmServerOptions.Codecs),
    ];

    /// <summary>The options of a channel that no text can stand for.</summary>
    public static readonly IReadOnlyList<string> OfChannelsInCode =
    [
        nameof(ShmChannelOptions.LoggerFactory),
        nameof(ShmChannelOptions.Credentials),
        nameof(ShmChannelOptions.Codec),
        nameof(ShmChannelOptions.MessageInspectors),
        nameof(ShmChannelOptions.CallbackServices),
    ];

    /// <exception cref="OptionsValidationException">A name is no option, or a value does not fit.</exception>
    public static void Bind(IConfiguration section, ShmServerOptions options, string name)
    {
        try
        {
            CheckNames(section, OfServersInCode);
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
            CheckNames(section, OfChannelsInCode);
            section.Bind(options, static binder => binder.ErrorOnUnknownConfiguration = true);
        }
        catch (InvalidOperationException exception)
        {
            throw Refused(section, typeof(ShmChannelOptions), name, exception);
        }
    }

    private static void CheckNames(IConfiguration section, IReadOnlyList<string> inCode)
    {
        foreach (IConfigurationSection child in section.GetChildren())
        {
            if (inCode.Contains(child.Key, StringComparer.OrdinalIgnoreCase))
            {
                throw new InvalidOperationException($"'{child.Key}' cannot be configured; it is set in code.");
            }
        }
    }

    private static OptionsValidationException Refused(
        IConfiguration section, Type options, string name, InvalidOperationException exception) =>
        new(
            name,
            options,
            [
                $"Section '{(section as IConfigurationSection)?.Path}' of the configuration, for '{name}': "
                    + exception.Message,
            ]);
}
