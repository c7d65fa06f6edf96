using RpcOverShm.Fuzz;
using RpcOverShm.Tests.House;

namespace RpcOverShm.Tests.Fuzz;

/// <summary>
/// Every input of the corpus of the fuzzing with coverage, read without its instrumentation. What afl-fuzz once found
/// is among them.
/// </summary>
public class CorpusTests
{
    private static IEnumerable<string> Targets => Program.Names;

    [TestCaseSource(nameof(Targets))]
    public void Inputs_OfTheCorpus_AreReadOrRefusedAsDocumented(string name)
    {
        FuzzTarget target = Program.Create(name);
        foreach (string file in Directory.GetFiles(Repository.FullPath($"tests/RpcOverShm.Fuzz/Corpus/{name}")))
        {
            Assert.That(() => target.Run(File.ReadAllBytes(file)), Throws.Nothing, file);
        }
    }

    [TestCaseSource(nameof(Targets))]
    public void Inputs_CutShort_AreReadOrRefusedAsDocumented(string name)
    {
        FuzzTarget target = Program.Create(name);
        foreach (byte[] seed in target.Seeds)
        {
            for (int length = 0; length <= seed.Length; length++)
            {
                Assert.That(() => target.Run(seed.AsSpan(0, length)), Throws.Nothing, $"{length} bytes");
            }
        }
    }
}
