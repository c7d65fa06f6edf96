using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Reflection;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace RpcOverShm.Hosting.Calls;

/// <summary>
/// Binds sections of the configuration to options; refuses names that are no option, or none any more, options that are
/// set in code only, and times that are a number alone. The calls of Bind are replaced by generated code, which needs
/// their types.
/// </summary>
internal static class BoundOptions
{
    /// <summary>The options that no text can stand for. The generated code would pass over them.</summary>
    public static readonly IReadOnlyDictionary<Type, string[]> InCode = new Dictionary<Type, string[]>
    {
        [typeof(ShmServerOptions)] =
        [
            nameof(ShmServerOptions.LoggerFactory),
            nameof(ShmServerOptions.Interceptors),
            nameof(ShmServerOptions.MessageInspectors),
            nameof(ShmServerOptions.Codecs),
        ],
        [typeof(ShmChannelOptions)] =
        [
            nameof(ShmChannelOptions.LoggerFactory),
            nameof(ShmChannelOptions.Credentials),
            nameof(ShmChannelOptions.Codec),
            nameof(ShmChannelOptions.MessageInspectors),
        ],
        [typeof(ShmCallbackOptions)] = [nameof(ShmCallbackOptions.Services)],
    };

    private const DynamicallyAccessedMemberTypes Properties = DynamicallyAccessedMemberTypes.PublicProperties;

    /// <exception cref="OptionsValidationException">A name is no option, or a value does not fit.</exception>
    public static void Bind(
        IConfiguration section, ShmServerOptions options, string name, IServiceProvider provider)
    {
        try
        {
            CheckNames(section, typeof(ShmServerOptions));
            section.Bind(options, static binder => binder.ErrorOnUnknownConfiguration = true);
        }
        catch (InvalidOperationException exception)
        {
            throw Refused(section, typeof(ShmServerOptions), name, exception);
        }

        WarnIfMissing(section, name, provider);
    }

    /// <exception cref="OptionsValidationException">A name is no option, or a value does not fit.</exception>
    public static void Bind(
        IConfiguration section, ShmChannelOptions options, string name, IServiceProvider provider)
    {
        try
        {
            CheckNames(section, typeof(ShmChannelOptions));
            section.Bind(options, static binder => binder.ErrorOnUnknownConfiguration = true);
        }
        catch (InvalidOperationException exception)
        {
            throw Refused(section, typeof(ShmChannelOptions), name, exception);
        }

        WarnIfMissing(section, name, provider);
    }

    private static void CheckNames(
        IConfiguration section, [DynamicallyAccessedMembers(Properties)] Type type)
    {
        PropertyInfo[] options = type.GetProperties(BindingFlags.Public | BindingFlags.Instance);
        string[] inCode = InCode.GetValueOrDefault(type, []);
        foreach (IConfigurationSection child in section.GetChildren())
        {
            if (inCode.Contains(child.Key, StringComparer.OrdinalIgnoreCase))
            {
                throw new InvalidOperationException($"'{child.Key}' cannot be configured; it is set in code.");
            }

            if (FormerOptions.Of(type).TryGetValue(child.Key, out string? name))
            {
                throw new InvalidOperationException(name is null
                    ? $"'{child.Key}' is gone; remove it."
                    : $"'{child.Key}' is named '{name}' now; write that instead.");
            }

            PropertyInfo option = Array.Find(
                options, one => string.Equals(one.Name, child.Key, StringComparison.OrdinalIgnoreCase))
                ?? throw new InvalidOperationException(
                    $"'{child.Key}' is no option{NearName.Suggest(child.Key, options.Select(one => one.Name))} There "
                    + $"are: {string.Join(", ", options.Select(one => one.Name).Except(inCode).Order())}.");
            CheckValue(child, option.PropertyType);
        }
    }

    // The types of options with a form of their own; all others are left to the binder.
    private static void CheckValue(IConfigurationSection value, Type type)
    {
        if (value.Value?.Trim().Length > 0 && !value.GetChildren().Any())
        {
            CheckText(value, type);
        }

        if (type == typeof(TimeSpan) || type == typeof(TimeSpan?))
        {
            CheckTime(value);
        }
        else if (GroupOf(type) is { } group)
        {
            CheckNames(value, group);
        }
        else if (type.IsGenericType && GroupOf(type.GetGenericArguments()[0]) is { } item)
        {
            foreach (IConfigurationSection one in value.GetChildren())
            {
                CheckNames(one, item);
            }
        }
    }

    // The trimmer keeps the properties of the types that are named here.
    [return: DynamicallyAccessedMembers(Properties)]
    private static Type? GroupOf(Type type) => type.Name switch
    {
        nameof(ShmListenOptions) => typeof(ShmListenOptions),
        nameof(ShmServerLimits) => typeof(ShmServerLimits),
        nameof(ShmRingOptions) => typeof(ShmRingOptions),
        nameof(ShmConnectOptions) => typeof(ShmConnectOptions),
        nameof(ShmCallbackOptions) => typeof(ShmCallbackOptions),
        nameof(ShmCallLimits) => typeof(ShmCallLimits),
        nameof(ShmServiceConfig) => typeof(ShmServiceConfig),
        nameof(ShmMethodConfig) => typeof(ShmMethodConfig),
        nameof(ShmMethodName) => typeof(ShmMethodName),
        nameof(ShmRetryPolicy) => typeof(ShmRetryPolicy),
        nameof(ShmRetryThrottling) => typeof(ShmRetryThrottling),
        _ => null,
    };

    // The binder passes over a text for a list or a group.
    private static void CheckText(IConfigurationSection value, Type type)
    {
        if (type.IsGenericType && type.GetGenericTypeDefinition() == typeof(IList<>))
        {
            throw new InvalidOperationException(
                $"'{value.Key}' is a list: write [\"{value.Value}\"], or {value.Key}__0={value.Value} in an "
                + "environment variable.");
        }

        if (type.Assembly == typeof(ShmServerOptions).Assembly && type.IsClass)
        {
            throw new InvalidOperationException(
                $"'{value.Key}' is a group of options, and no text like '{value.Value}': name them below it.");
        }
    }

    // .NET reads a number alone as days, which nobody means.
    private static void CheckTime(IConfigurationSection value)
    {
        string? text = value.Value?.Trim();
        if (int.TryParse(text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out int number))
        {
            throw new InvalidOperationException(
                $"'{value.Key}' is {number}, which .NET reads as {number} days. "
                + $"Write \"{TimeSpan.FromSeconds(number):c}\" for seconds, or \"{number}.00:00:00\" for days.");
        }
    }

    private static void WarnIfMissing(IConfiguration configuration, string name, IServiceProvider provider)
    {
        if (configuration is not IConfigurationSection section || section.Exists())
        {
            return;
        }

        string? parent = ConfigurationPath.GetParentPath(section.Path);
        var root = provider.GetService<IConfiguration>();
        IConfiguration? around = parent is null ? root : root?.GetSection(parent);
        string[] names =
        [
            .. (around?.GetChildren() ?? []).Where(one => one.GetChildren().Any()).Select(one => one.Key),
        ];
        HostingLog.SectionMissing(
            provider.GetRequiredService<ILoggerFactory>().CreateLogger(typeof(BoundOptions).FullName!),
            section.Path,
            name,
            NearName.Suggest(section.Key, names),
            names.Length == 0 ? "no sections" : string.Join(", ", names));
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
