using RpcOverShm.Linux;
using RpcOverShm.Systems;

namespace RpcOverShm.FunctionalTests.Python;

/// <summary>
/// Both implementations look for an address at the same path, in every environment. Changes environment variables of
/// the process, so it runs alone.
/// </summary>
[NonParallelizable]
internal sealed class PythonAddressTests : PythonFixture
{
    private static readonly string[] s_variables = ["XDG_RUNTIME_DIR", "TMPDIR"];
    private static readonly string[] s_addresses =
        ["shm://acme", "shm://acme/orders/1", $"shm://{new string('n', 200)}", "shm:///run/acme/x.sock"];

    private readonly Dictionary<string, string?> _before = [];
    private TestDirectory _directory = null!;

    [SetUp]
    public void KeepVariables()
    {
        _directory = new TestDirectory();
        foreach (string name in s_variables)
        {
            _before[name] = Environment.GetEnvironmentVariable(name);
        }
    }

    [TearDown]
    public void RestoreVariables()
    {
        foreach ((string name, string? value) in _before)
        {
            Environment.SetEnvironmentVariable(name, value);
        }

        _directory.Dispose();
    }

    [Test]
    public async Task Address_IsTheSamePath_WhateverTheVariables(
        [Values("unset", "empty", "relative", "absent", "file", "0700", "0755", "0777", "1777", "another's")]
        string runtime,
        [Values] bool hasTemporary)
    {
        string[] variables =
        [
            .. runtime == "unset" ? (string[])[] : [$"XDG_RUNTIME_DIR={Make(runtime)}"],
            .. hasTemporary ? (string[])[$"TMPDIR={_directory.Path}"] : [],
        ];
        foreach (string name in s_variables)
        {
            string? value = variables.FirstOrDefault(one => one.StartsWith(name + "=", StringComparison.Ordinal));
            Environment.SetEnvironmentVariable(name, value?[(name.Length + 1)..]);
        }

        PythonClient client = await TakeClientAsync();
        foreach (string address in s_addresses)
        {
            string path = await client.DoAsync($"resolve {address} {string.Join(' ', variables)}");

            Assert.That(path, Is.EqualTo(RendezvousAddress.Parse(address, null).Place));
        }
    }

    private string Make(string runtime)
    {
        string path = _directory.Combine("runtime");
        switch (runtime)
        {
            case "empty":
                return "";
            case "relative":
                return "some/where";
            case "file":
                File.WriteAllText(path, "");
                break;
            case not "absent":
                Directory.CreateDirectory(path);
                uint mode = runtime == "another's" ? 0x1C0 : Convert.ToUInt32(runtime, 8);
                Assert.That(LinuxNative.ChMod(path, mode), Is.Zero);
                if (runtime == "another's")
                {
                    Assume.That(LinuxNative.ChOwn(path, 12345, 12345), Is.Zero, "Only root can give one away.");
                }

                break;
        }

        return path;
    }
}
