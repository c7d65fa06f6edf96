using dnlib.DotNet;
using dnlib.DotNet.Emit;
using RpcOverShm.TestPeer.Traces;

namespace RpcOverShm.Tests.House;

/// <summary>
/// A copy of the library that calls <see cref="MethodTrace"/> before each step of a method. A step stores to a field,
/// an array or other memory, calls a method, or jumps back. Reading, comparing, calculating and making a value are no
/// steps, nor is what stands in constructors, operators and property accessors.
/// </summary>
internal sealed class TracedLibrary
{
    private static readonly string[] s_accessors = ["get_", "set_", "add_", "remove_", "op_"];

    // Their static methods reinterpret, read or calculate.
    private static readonly string[] s_readers =
        ["System.Runtime.CompilerServices.Unsafe", "System.Runtime.InteropServices.MemoryMarshal", "System.Math"];

    private readonly List<TracedFile> _fileOfMethods = [];

    /// <summary>Copies the library that stands beside the tests.</summary>
    public TracedLibrary(string copy)
    {
        string library = Path.Combine(AppContext.BaseDirectory, "RpcOverShm.dll");
        using var module = ModuleDefMD.Load(library, new ModuleCreationOptions { TryToLoadPdbFromDisk = true });
        IMethod step = new Importer(module).Import(typeof(MethodTrace).GetMethod(nameof(MethodTrace.Step))!);
        foreach (MethodDef method in module.GetTypes().SelectMany(type => type.Methods).Where(MayStep))
        {
            if (PathOf(method) is { } path)
            {
                _fileOfMethods.Add(new TracedFile(path));
                Trace(method.Body, _fileOfMethods.Count, step);
            }
        }

        module.Write(copy);
    }

    /// <summary>Returns the file of the method with a number of the trace; the first has 1.</summary>
    public TracedFile FileOf(int number) => _fileOfMethods[number - 1];

    private static bool MayStep(MethodDef method) => method.HasBody && !method.IsConstructor && !IsAccessor(method);

    private static bool IsAccessor(IMethod method)
    {
        string name = method.Name.String.Split('.')[^1];
        return Array.Exists(s_accessors, prefix => name.StartsWith(prefix, StringComparison.Ordinal));
    }

    // Below src/RpcOverShm; null for what the compiler has made.
    private static string? PathOf(MethodDef method)
    {
        const string Folder = "/src/RpcOverShm/";
        string path = method.Body.Instructions
            .Select(instruction => instruction.SequencePoint?.Document.Url.Replace('\\', '/'))
            .FirstOrDefault(url => url is not null) ?? "";
        int start = path.LastIndexOf(Folder, StringComparison.Ordinal);
        return start < 0 || path.Contains("/obj/", StringComparison.Ordinal) ? null : path[(start + Folder.Length)..];
    }

    private static void Trace(CilBody body, int number, IMethod step)
    {
        body.SimplifyBranches();
        IList<Instruction> all = body.Instructions;
        Instruction[] steps = [.. all.Where((instruction, index) => IsStep(instruction, index, all))];
        foreach (Instruction one in steps)
        {
            int index = all.IndexOf(one);
            while (index > 0 && all[index - 1].OpCode.OpCodeType == OpCodeType.Prefix)
            {
                index--;
            }

            // What jumps to the instruction jumps to the call before it, because that takes its place.
            Instruction first = all[index];
            var moved = new Instruction(first.OpCode, first.Operand);
            first.OpCode = OpCodes.Ldc_I4;
            first.Operand = number;
            all.Insert(index + 1, OpCodes.Call.ToInstruction(step));
            all.Insert(index + 2, moved);
        }

        body.OptimizeBranches();
    }

    private static bool IsStep(Instruction instruction, int index, IList<Instruction> all) =>
        instruction.OpCode.Code switch
        {
            Code.Calli or Code.Stfld or Code.Stsfld or Code.Stobj or Code.Cpobj or Code.Cpblk or Code.Initblk => true,
            Code.Stelem or Code.Stelem_I or Code.Stelem_I1 or Code.Stelem_I2 or Code.Stelem_I4 or Code.Stelem_I8
                or Code.Stelem_R4 or Code.Stelem_R8 or Code.Stelem_Ref => true,
            Code.Stind_I or Code.Stind_I1 or Code.Stind_I2 or Code.Stind_I4 or Code.Stind_I8 or Code.Stind_R4
                or Code.Stind_R8 or Code.Stind_Ref => true,
            Code.Call or Code.Callvirt or Code.Newobj => !IsRead((IMethod)instruction.Operand),
            _ => instruction.Operand is Instruction target && all.IndexOf(target) <= index,
        };

    private static bool IsRead(IMethod method)
    {
        string type = method.DeclaringType.ScopeType.FullName;
        return IsAccessor(method)
            || (method.Name == ".ctor" && method.DeclaringType.ToTypeSig().IsValueType)
            || (type == "System.Threading.Volatile" && method.Name == "Read")
            || Array.Exists(s_readers, reader => type == reader);
    }
}

/// <summary>A source file of the library, by its path below the library's folder.</summary>
internal sealed record TracedFile(string Path)
{
    /// <summary>The name without folder and extension.</summary>
    public string Name { get; } = System.IO.Path.GetFileNameWithoutExtension(Path);

    public string Room { get; } =
        System.IO.Path.GetDirectoryName(Path) is { Length: > 0 } room ? room : RoomTable.RootRoom;

    public int Level => RoomTable.Enforced.Levels[Room];
}
