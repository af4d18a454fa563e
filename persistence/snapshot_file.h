// A snapshot file, written and read as frames one after the other. What is in them is the business
// of the server; that they are whole, in order and unharmed is the business of these files.
//
// A snapshot is written under a temporary name, synced, and renamed: a file with a final name is
// complete, and anything wrong in it is damage.
#pragma once

#include "persistence/snapshot_format.h"  // IWYU pragma: export
#include "persistence/snapshot_reader.h"  // IWYU pragma: export
#include "persistence/snapshot_writer.h"  // IWYU pragma: export
