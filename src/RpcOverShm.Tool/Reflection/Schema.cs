using Google.Protobuf;
using Google.Protobuf.Reflection;
using Google.Protobuf.WellKnownTypes;
using RpcOverShm.Tool.Output;

namespace RpcOverShm.Tool.Reflection;

/// <summary>
/// The .proto files that a server has described so far, and what they declare by full name. Not thread-safe.
/// </summary>
internal sealed class Schema
{
    // Servers may leave out what every client has.
    private static readonly Dictionary<string, ByteString> s_known = new FileDescriptor[]
    {
        AnyReflection.Descriptor, ApiReflection.Descriptor, DurationReflection.Descriptor, EmptyReflection.Descriptor,
        FieldMaskReflection.Descriptor, SourceContextReflection.Descriptor, StructReflection.Descriptor,
        TimestampReflection.Descriptor, TypeReflection.Descriptor, WrappersReflection.Descriptor,
        FileDescriptorProto.Descriptor.File,
    }.ToDictionary(file => file.Name, file => file.SerializedData);

    // Far more than any server has; less would be enough to fill the stack or the memory.
    private const int MaxFiles = 2000;
    private const int MaxBytes = 32 << 20;
    private const int MaxPackageLength = 1000;

    private readonly Dictionary<string, ByteString> _files = [];
    private readonly Dictionary<string, IDescriptor> _symbols = [];

    /// <summary>The names of types that were looked for in vain.</summary>
    public HashSet<string> Missed { get; } = [];

    /// <summary>The full names of all that is declared.</summary>
    public IEnumerable<string> Names => _symbols.Keys;

    /// <summary>The files that are there now.</summary>
    public IReadOnlyDictionary<string, ByteString> Files => new Dictionary<string, ByteString>(_files);

    /// <summary>Takes back what was added since the files were these.</summary>
    public void Restore(IReadOnlyDictionary<string, ByteString> files)
    {
        _files.Clear();
        foreach ((string name, ByteString bytes) in files)
        {
            _files.Add(name, bytes);
        }

        Build();
    }

    /// <summary>Reads the descriptor of a file.</summary>
    /// <exception cref="ToolException">The bytes are no descriptor, or its package has too many parts.</exception>
    public static FileDescriptorProto Read(ByteString bytes)
    {
        try
        {
            FileDescriptorProto file = FileDescriptorProto.Parser.ParseFrom(bytes);
            return file.Package.Length <= MaxPackageLength ? file : throw Unusable("a package has too long a name");
        }
        catch (InvalidProtocolBufferException exception)
        {
            throw Unusable(exception.Message, exception);
        }
    }

    /// <summary>Adds files; returns the names of files that they import and that are not there yet.</summary>
    /// <exception cref="ToolException">The files are unusable, or too many.</exception>
    public IReadOnlyList<string> Add(IEnumerable<ByteString> files)
    {
        foreach (ByteString bytes in files)
        {
            // What every client has is as every client has it, whatever the server says.
            string name = Read(bytes).Name;
            _files[name] = s_known.GetValueOrDefault(name, bytes);
        }

        if (_files.Count > MaxFiles || _files.Values.Sum(bytes => (long)bytes.Length) > MaxBytes)
        {
            throw Unusable($"at most {MaxFiles} files of {MaxBytes >> 20} MiB together are read");
        }

        var missing = new HashSet<string>();
        foreach (string name in _files.Values.ToArray().SelectMany(bytes => Read(bytes).Dependency))
        {
            AddKnown(name, missing);
        }

        return [.. missing];
    }

    /// <summary>Makes descriptors of all files, in place of former ones.</summary>
    /// <exception cref="ToolException">The files do not fit together.</exception>
    public void Build()
    {
        var ordered = new List<ByteString>();
        var visited = new HashSet<string>();
        foreach (string name in _files.Keys)
        {
            Order(name, visited, ordered);
        }

        try
        {
            _symbols.Clear();
            foreach (FileDescriptor file in FileDescriptor.BuildFromByteStrings(ordered))
            {
                AddSymbols(file);
            }
        }
        catch (Exception exception) when (exception is not OutOfMemoryException)
        {
            // Protobuf's own classes trust a descriptor, and fail in many ways.
            throw Unusable(exception.Message, exception);
        }

        if (_symbols.Values.OfType<MessageDescriptor>().FirstOrDefault(IsBadEntry) is { } bad)
        {
            _symbols.Clear();
            throw Unusable($"{bad.FullName} is no entry of a map");
        }
    }

    /// <summary>Returns what has a full name; null if no file declares it.</summary>
    public IDescriptor? Find(string fullName) => _symbols.GetValueOrDefault(fullName);

    /// <summary>Returns a type of messages; null, and notes the name, if no file declares it.</summary>
    public MessageDescriptor? FindMessage(string fullName)
    {
        if (Find(fullName) is MessageDescriptor found)
        {
            return found;
        }

        Missed.Add(fullName);
        return null;
    }

    // An entry that contains itself would have no end.
    private static bool IsBadEntry(MessageDescriptor type) =>
        type.GetOptions()?.MapEntry == true
        && (type.FindFieldByNumber(1) is not { IsRepeated: false, FieldType: not FieldType.Message }
            || type.FindFieldByNumber(2) is not { IsRepeated: false } value
            || (value.FieldType == FieldType.Message && value.MessageType.GetOptions()?.MapEntry == true));

    private static ToolException Unusable(string reason, Exception? inner = null) =>
        new(ExitCode.NotOffered, $"The descriptors of the server are unusable: {reason}", inner);

    private void AddKnown(string name, HashSet<string> missing)
    {
        if (_files.ContainsKey(name))
        {
            return;
        }

        if (!s_known.TryGetValue(name, out ByteString? bytes))
        {
            missing.Add(name);
            return;
        }

        _files.Add(name, bytes);
        foreach (string next in Read(bytes).Dependency)
        {
            AddKnown(next, missing);
        }
    }

    // Imports come first. A file that imports itself through others is refused by Protobuf's own classes.
    private void Order(string name, HashSet<string> visited, List<ByteString> ordered)
    {
        if (!visited.Add(name) || !_files.TryGetValue(name, out ByteString? bytes))
        {
            return;
        }

        foreach (string next in Read(bytes).Dependency)
        {
            Order(next, visited, ordered);
        }

        ordered.Add(bytes);
    }

    private void AddSymbols(FileDescriptor file)
    {
        foreach (IDescriptor symbol in file.MessageTypes.SelectMany(WithNested)
            .Concat(file.EnumTypes).Concat(file.Extensions.UnorderedExtensions)
            .Concat(file.Services.SelectMany(service => service.Methods.Cast<IDescriptor>().Prepend(service))))
        {
            _symbols[symbol.FullName] = symbol;
        }
    }

    private static IEnumerable<IDescriptor> WithNested(MessageDescriptor type) => type.NestedTypes
        .SelectMany(WithNested).Concat(type.EnumTypes).Concat(type.Extensions.UnorderedExtensions)
        .Concat(type.Fields.InDeclarationOrder()).Prepend(type);

}
