using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp.Testing;
using Microsoft.CodeAnalysis.Diagnostics;
using Microsoft.CodeAnalysis.Testing;

namespace RpcOverShm.Analyzers.Tests;

/// <summary>
/// Compiles code with the libraries and the generated client of this process, and throws if the analyzer reports
/// anything else than what the code marks: <c>[|...|]</c>.
/// </summary>
internal static class Verify
{
    private const string Usings =
        """
        using System;
        using System.Collections.Generic;
        using System.Threading;
        using System.Threading.Tasks;
        using Grpc.Core;
        using Grpc.Core.Interceptors;
        using RpcOverShm;
        using RpcOverShm.Samples;

        """;

    private static readonly MetadataReference[] s_references =
    [
        .. ((string)AppContext.GetData("TRUSTED_PLATFORM_ASSEMBLIES")!).Split(Path.PathSeparator)
            .Append(typeof(Verify).Assembly.Location).DistinctBy(Path.GetFileName)
            .Select(path => MetadataReference.CreateFromFile(path)),
    ];

    /// <summary>Checks members of a class that derives from the generated service.</summary>
    public static Task ReportsAsync<TAnalyzer>(string members)
        where TAnalyzer : DiagnosticAnalyzer, new() => FixesAsync<TAnalyzer, EmptyCodeFixProvider>(members, members);

    /// <summary>Checks them, and what becomes of them with the fix.</summary>
    public static Task FixesAsync<TAnalyzer, TFix>(string members, string fixedMembers)
        where TAnalyzer : DiagnosticAnalyzer, new()
        where TFix : CodeFixProvider, new() =>
        CodeAsync<TAnalyzer, TFix>(
            InClass(members), InClass(fixedMembers), OutputKind.DynamicallyLinkedLibrary);

    /// <summary>Checks the statements of a program, and what becomes of them with the fix.</summary>
    public static Task FixesProgramAsync<TAnalyzer, TFix>(string statements, string fixedStatements)
        where TAnalyzer : DiagnosticAnalyzer, new()
        where TFix : CodeFixProvider, new() =>
        CodeAsync<TAnalyzer, TFix>(Usings + statements, Usings + fixedStatements, OutputKind.ConsoleApplication);

    private static Task CodeAsync<TAnalyzer, TFix>(string code, string fixedCode, OutputKind kind)
        where TAnalyzer : DiagnosticAnalyzer, new()
        where TFix : CodeFixProvider, new()
    {
        var test = new CSharpCodeFixTest<TAnalyzer, TFix, DefaultVerifier>
        {
            TestCode = code,
            FixedCode = fixedCode,
            ReferenceAssemblies = new ReferenceAssemblies("net10.0"),
        };
        test.TestState.OutputKind = kind;
        test.TestState.AdditionalReferences.AddRange(s_references);
        return test.RunAsync();
    }

    private static string InClass(string members) => $$"""
        {{Usings}}
        internal sealed class Sample : Greeter.GreeterBase
        {
        {{members}}
        }
        """;
}
