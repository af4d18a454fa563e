// A library must have a source file; this one is there for the headers that are compiled with it.
