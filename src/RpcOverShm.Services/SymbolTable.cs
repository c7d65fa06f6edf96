using Google.Protobuf.Reflection;

namespace RpcOverShm.Services;

/// <summary>
/// Which file says what a name or an extension is, for some files and all that they import. Made once, then only read,
/// by any thread. Files of different contents may have the same name, since nothing in .NET keeps two assemblies from
/// that: the first is found by the name, and each by its symbols.
/// </summary>
internal sealed class SymbolTable
{
    private readonly HashSet<FileDescriptor> _files = [];
    private readonly Dictionary<string, FileDescriptor> _filesByName = [];
    private readonly Dictionary<string, FileDescriptor> _filesBySymbol = [];

    // Of every message type, what extends it.
    private readonly Dictionary<string, SortedDictionary<int, FileDescriptor>> _extensions = [];

    public SymbolTable(IEnumerable<FileDescriptor> files)
    {
        foreach (FileDescriptor file in files)
        {
            AddFile(file);
        }
    }

    public FileDescriptor? FindFile(string name) => _filesByName.GetValueOrDefault(name);

    /// <summary>The file that a message, enum, service, method, field, value or extension stands in.</summary>
    public FileDescriptor? FindSymbol(string fullName) => _filesBySymbol.GetValueOrDefault(fullName);

    public FileDescriptor? FindExtension(string messageType, int number) =>
        _extensions.GetValueOrDefault(messageType)?.GetValueOrDefault(number);

    /// <summary>The numbers of what extends a message type; null if there is no such type.</summary>
    public IEnumerable<int>? FindExtensionNumbers(string messageType) =>
        _extensions.GetValueOrDefault(messageType)?.Keys;

    private void AddFile(FileDescriptor file)
    {
        if (!_files.Add(file))
        {
            return;
        }

        // What a file extends is in what it imports, so that comes first.
        foreach (FileDescriptor imported in file.Dependencies)
        {
            AddFile(imported);
        }

        _filesByName.TryAdd(file.Name, file);
        foreach (MessageDescriptor message in file.MessageTypes)
        {
            AddMessage(message);
        }

        foreach (EnumDescriptor type in file.EnumTypes)
        {
            AddEnum(type);
        }

        foreach (ServiceDescriptor service in file.Services)
        {
            AddSymbol(service);
            AddSymbols(service.Methods);
        }

        // Only now are all types known that the file may extend.
        AddExtensions(file.Extensions);
        foreach (MessageDescriptor message in file.MessageTypes)
        {
            AddExtensionsIn(message);
        }
    }

    private void AddMessage(MessageDescriptor message)
    {
        AddSymbol(message);
        _extensions.TryAdd(message.FullName, []);
        AddSymbols(message.Fields.InDeclarationOrder());
        AddSymbols(message.Oneofs);
        foreach (MessageDescriptor nested in message.NestedTypes)
        {
            AddMessage(nested);
        }

        foreach (EnumDescriptor type in message.EnumTypes)
        {
            AddEnum(type);
        }
    }

    private void AddEnum(EnumDescriptor type)
    {
        AddSymbol(type);

        // In protobuf a value is a sibling of its enum and not a member of it, whatever the descriptor of C# says.
        string scope = type.FullName[..^type.Name.Length];
        foreach (EnumValueDescriptor value in type.Values)
        {
            _filesBySymbol.TryAdd(scope + value.Name, type.File);
        }
    }

    private void AddExtensionsIn(MessageDescriptor message)
    {
        AddExtensions(message.Extensions);
        foreach (MessageDescriptor nested in message.NestedTypes)
        {
            AddExtensionsIn(nested);
        }
    }

    private void AddExtensions(ExtensionCollection extensions)
    {
        foreach (FieldDescriptor extension in extensions.UnorderedExtensions)
        {
            AddSymbol(extension);
            if (_extensions.TryGetValue(extension.ExtendeeType.FullName, out var known))
            {
                known.TryAdd(extension.FieldNumber, extension.File);
            }
        }
    }

    private void AddSymbols(IEnumerable<IDescriptor> descriptors)
    {
        foreach (IDescriptor descriptor in descriptors)
        {
            AddSymbol(descriptor);
        }
    }

    private void AddSymbol(IDescriptor descriptor) => _filesBySymbol.TryAdd(descriptor.FullName, descriptor.File);
}
