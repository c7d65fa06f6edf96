namespace RpcOverShm.Perf.Report;

/// <summary>
/// What others were measured at that this run cannot run: quoted, each table with its machine. Only the first one is of
/// the project's own test machine; the others say what is possible elsewhere, and compare with nothing here.
/// </summary>
internal static class RivalTables
{
    public static IReadOnlyList<ReportTable> All { get; } =
    [
        new(
            "Rivals, measured on the project's test machine",
            "2026-11-21, two processes, virtual machine with two AMD EPYC processors, .NET 10.0.12, workstation GC, "
            + "medians of three interleaved rounds (raw rows within 1.6 times are noise). p50 in µs of a sequential "
            + "echo, payload each way; then 64 callers and a server stream at 1 KiB, and CPU µs a call of the former. "
            + "The first three and the C++ one cannot be restored on the build machines.",
            ["", "100 B", "1 KiB", "10 KiB", "100 KiB", "1 MiB", "64 callers", "stream", "CPU µs"],
            [
                ["WCF: CoreWCF + System.ServiceModel over UDS, sync",
                    "87", "77", "97", "470", "5,575", "39 k/s", "", "49"],
                ["grpc-dotnet 2.80 over UDS, async / blocking",
                    "60 / 60", "62 / 71", "94 / 91", "434", "3,650", "67-79 k/s", "438 k/s", "27"],
                ["GrpcDotNetNamedPipes 3.1.0, async",
                    "137", "143", "188", "448", "7,500", "14 k/s", "202 k/s", "135"],
                ["gRPC C++ 1.51 over UDS, sync", "119", "119", "138", "270", "2,140", "", "186 k/s", ""],
                ["Grpc.Core 2.46.5 over UDS, blocking / async (one run)",
                    "167 / 152", "162 / 154", "", "", "1,670", "29 k/s", "32 k/s", ""],
                ["raw named pipe, async / sync",
                    "34 / 46", "33 / 47", "41 / 46", "83 / 48", "575", "168 k/s pipelined", "450 k/s", ""],
                ["raw Unix socket, async / sync",
                    "28 / 46", "35 / 47", "36 / 44", "81 / 47", "383-581", "130 k/s", "407 k/s", ""],
            ]),
        new(
            "SharedMemoryIPC, one-way pump, as published",
            "Intel i9-12900K, DDR5-4800, Windows 11; by the number of pipes. Compare the shape with OneWayPump, not "
            + "the numbers.",
            ["message", "1 pipe", "2 pipes", "4 pipes", "8 pipes"],
            [
                ["1 KB, messages/s", "298 k", "672 k", "947 k", "1.195 M"],
                ["10 KB, MB/s", "2,018", "3,218", "3,991", "4,536"],
                ["100 KB, MB/s", "7,821", "14,379", "19,097", "23,185"],
                ["1 MB, MB/s", "9,957", "15,370", "15,838", "15,445"],
                ["10 MB, MB/s", "13,161", "15,870", "14,771", "13,349"],
            ]),
        new(
            "10 GiB in blocks, as published",
            "Child to parent, every byte discarded through a buffer of 8 KiB. First two rows: Intel i7-8550U, Ubuntu; "
            + "last two: a Windows virtual machine, lowest and highest. MB/s. Compare with BlockSweep.",
            ["", "1 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB and above", "1 MiB"],
            [
                ["standard output", "969", "3,701 (peak)", "", "", "about 2,200", ""],
                ["TCP loopback", "289", "", "3,738", "4,080 (peak)", "", "about 3,900"],
                ["standard output, Windows", "236 to 4,667", "", "", "", "", ""],
                ["TCP loopback, Windows", "133 to 1,509", "", "", "", "", ""],
            ]),
        new(
            "Request and response, as published",
            "Intel i7 laptop, Windows 7, timer of 1 ms. Milliseconds for all calls. Compare with RequestResponse.",
            ["", "10 x 100 KB to 1 MB", "1000 x 1 to 10 KB", "2000 x 0.1 to 1 KB", "10,000 small"],
            [
                ["pipes, native", "13", "26", "28", ""],
                ["pipes, managed", "", "", "29", ""],
                ["MS-RPC", "", "", "", "160"],
                ["WCF", "", "", "", "1,390"],
            ]),
        new(
            "Other shared-memory transports, as published",
            "Different machines, each its author's.",
            ["", "figure"],
            [
                ["ipc-bench, shared memory in C, 1 KB", "1.66 to 1.70 M round trips/s"],
                ["Ipc.Connect, 100,000 small requests", "2.4 s: 41.6 k/s"],
                [".NET RPC over shared memory, unary", "52 to 130 µs"],
                [".NET RPC over shared memory, round trip on an open stream", "8 to 19 µs"],
            ]),
    ];
}
