// The examples in docs/persistence.md are what the code writes, byte for byte. If this fails, the
// format has changed: files of servers that run will not be read any more. If that is meant, give
// the format a new version and bring the document up to date (the test prints what belongs there).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "persistence/file_check.h"
#include "tests/unit/persistence/segment_forge.h"
#include "tests/unit/persistence/snapshot_test_support.h"

namespace iris::persistence {
namespace {

std::string document() {
  std::ifstream file(IRIS_SOURCE_DIR "/docs/persistence.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Indented as the document's examples are.
std::string indented(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out += "    " + line + "\n";
  return out;
}

std::string hex_dump(const std::string& bytes) {
  constexpr size_t kRow = 16;
  std::string out;
  for (size_t row = 0; row < bytes.size(); row += kRow) {
    char text[24];
    std::snprintf(text, sizeof text, "%04zx ", row);
    out += text;
    std::string letters;
    for (size_t i = row; i < row + kRow; ++i) {
      if (i % 8 == 0) out += ' ';
      if (i >= bytes.size()) {
        out += "   ";
        continue;
      }
      const auto byte = static_cast<unsigned char>(bytes[i]);
      std::snprintf(text, sizeof text, "%02x ", byte);
      out += text;
      letters += byte >= 0x20 && byte < 0x7f ? bytes[i] : '.';
    }
    out += " " + letters + "\n";
  }
  return out;
}

void expect_in_document(const std::string& example) {
  const bool found = document().find(indented(example)) != std::string::npos;
  EXPECT_TRUE(found) << "docs/persistence.md should hold\n" << indented(example);
}

std::string answer_about(FileSystem& files, const std::string& path, bool print_records) {
  std::ostringstream out;
  EXPECT_TRUE(check_file(files, path, out, {.print_records = print_records}));
  return out.str();
}

MemoryFiles& example_files() {
  static MemoryFiles files;
  if (!files.names().empty()) return files;
  std::string error;
  auto writer = SnapshotWriter::create_with_salt(files, kDataDirectory, 41, 0x1122334455667788,
                                                 0x0123456789abcdef, error);
  writer->frame(FrameType::kCells, "five!");
  writer->records(42, 1, add_record("hello"));
  EXPECT_EQ(writer->finish(42), "");
  SegmentForge(43, 42)
      .batch({add_record("foo"), add_record("bar")}, 42)
      .batch({add_record("two words")}, 44)
      .end(45)
      .write_to(files);
  return files;
}

TEST(FormatExample, TheSnapshotIsInTheDocument) {
  expect_in_document(hex_dump(example_files().content(snapshot_path(42))));
}

TEST(FormatExample, TheSegmentIsInTheDocument) {
  std::string text = example_files().content(path_in(kDataDirectory, log_name(43)));
  // Each record in a line, as the document shows it.
  std::string shown;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "\r\n") == 0) {
      const bool ends_a_line = i + 2 == text.size() || text[i + 2] == '*' || text[i + 2] == '#';
      shown += ends_a_line ? "\\r\\n\n" : "\\r\\n";
      ++i;
    } else {
      shown += text[i];
    }
  }
  expect_in_document(shown);
}

TEST(FormatExample, WhatCheckSaysIsInTheDocument) {
  expect_in_document(answer_about(example_files(), snapshot_path(42), false));
  expect_in_document(answer_about(example_files(), path_in(kDataDirectory, log_name(43)), true));
}

}  // namespace
}  // namespace iris::persistence
