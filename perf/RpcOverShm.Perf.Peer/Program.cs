// The measured process: server of an arm, or its client. It does what the suite tells it over its standard input, and
// ends when that does.
ParentTie.Fasten(args);
new ControlLoop(Console.OpenStandardInput(), Console.OpenStandardOutput(), ArmCatalog.Find).Run();
