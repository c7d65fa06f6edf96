// Writes the documentation of the members that users of an assembly see, from that of all its members.
// Arguments: the assembly, a file with the paths of the assemblies that it refers to, the documentation, the result.
using System.Xml.Linq;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;

MetadataReference assembly = MetadataReference.CreateFromFile(args[0]);
IEnumerable<MetadataReference> others = File.ReadLines(args[1]).Select(path => MetadataReference.CreateFromFile(path));
CSharpCompilation compilation = CSharpCompilation.Create("Reader", references: [assembly, .. others]);
XDocument documentation = XDocument.Load(args[2], LoadOptions.PreserveWhitespace);
var seen = ((IAssemblySymbol)compilation.GetAssemblyOrModuleSymbol(assembly)!).GlobalNamespace
    .GetMembers().SelectMany(Visible).Select(symbol => symbol.GetDocumentationCommentId()).ToHashSet();
documentation.Root!.Element("members")!.Elements("member")
    .Where(member => !seen.Contains(member.Attribute("name")!.Value)).ToList().ForEach(Remove);
documentation.Save(args[3], SaveOptions.DisableFormatting);

static IEnumerable<ISymbol> Visible(ISymbol symbol) => symbol switch
{
    INamespaceSymbol => ((INamespaceSymbol)symbol).GetMembers().SelectMany(Visible),
    {
        DeclaredAccessibility: not
            (Accessibility.Public or Accessibility.Protected or Accessibility.ProtectedOrInternal),
    }
        => [],
    INamedTypeSymbol type => type.GetMembers().SelectMany(Visible).Prepend(type),
    _ => [symbol],
};

// With the line that it stands on.
static void Remove(XElement member)
{
    if (member.PreviousNode is XText space)
    {
        space.Remove();
    }

    member.Remove();
}
