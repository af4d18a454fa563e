#include "persistence/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace iris::persistence {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::IsEmpty;

std::string change(const std::vector<std::string>& words) {
  RecordBuilder builder;
  builder.begin(words.size());
  for (const std::string& word : words) builder.word(word);
  return std::string(builder.view());
}

using Changes = std::vector<std::vector<std::string>>;

// The changes of a record; empty if it is not sound as a whole.
Changes changes_of(std::string_view record) {
  ChangeReader reader(record);
  Changes changes;
  RecordWords words;
  while (reader.next(words)) changes.emplace_back(words.begin(), words.end());
  return reader.sound() ? changes : Changes{};
}

std::vector<std::string> records_of(std::string_view bytes) {
  RecordReader reader(bytes);
  std::vector<std::string> records;
  while (!reader.at_end()) {
    const std::string_view record = reader.next();
    if (record.empty()) return {"broken"};
    records.emplace_back(record);
  }
  return records;
}

TEST(Record, IsAnArrayThatAPersonCanRead) {
  EXPECT_EQ(change({"bf.add", "17", "0", "hello"}),
            "*4\r\n$6\r\nbf.add\r\n$2\r\n17\r\n$1\r\n0\r\n$5\r\nhello\r\n");
}

TEST(Record, GivesBackItsWordsWhateverTheirBytes) {
  const std::vector<std::string> words = {"bf.add", "", "\0\r\n$3\r\n*!\xff"s,
                                          std::string(100'000, '*')};
  EXPECT_THAT(changes_of(change(words)), ElementsAre(words));
}

TEST(Record, WritesNumbersOfAnySize) {
  RecordBuilder builder;
  builder.begin(4);
  builder.number(0);
  builder.number(std::numeric_limits<uint64_t>::max());
  builder.signed_number(-1);
  builder.signed_number(std::numeric_limits<int64_t>::min());
  EXPECT_THAT(changes_of(builder.view()),
              ElementsAre(ElementsAre("0", "18446744073709551615", "-1", "-9223372036854775808")));
}

TEST(Record, ABuilderBeginsAnew) {
  RecordBuilder builder;
  builder.begin(1);
  builder.word("first");
  builder.begin(1);
  builder.word("second");
  EXPECT_EQ(builder.view(), change({"second"}));
}

TEST(Record, SeveralChangesAreOneRecord) {
  const std::vector<std::string> parts = {change({"a", "1"}), change({"b"}), change({"c", ""})};
  const std::string joined = joined_record(parts);
  EXPECT_THAT(records_of(joined + parts[0] + joined), ElementsAre(joined, parts[0], joined));
  EXPECT_THAT(changes_of(joined),
              ElementsAre(ElementsAre("a", "1"), ElementsAre("b"), ElementsAre("c", "")));
  EXPECT_THAT(changes_of(joined_record(std::vector{parts[1]})), ElementsAre(ElementsAre("b")));
}

TEST(Record, EveryTruncationIsRefused) {
  const std::vector<std::string> parts = {change({"bf.add", "17", "0", "hello"}),
                                          change({"cf.add", "", "x"})};
  for (const std::string& whole : {parts[0], joined_record(parts)}) {
    for (size_t size = 0; size < whole.size(); ++size) {
      const std::string_view cut = std::string_view(whole).substr(0, size);
      EXPECT_THAT(RecordReader(cut).next(), IsEmpty()) << size;
      EXPECT_THAT(changes_of(cut), IsEmpty()) << size;
    }
    EXPECT_EQ(RecordReader(whole).next(), whole);
  }
}

TEST(Record, WhatFollowsARecordIsNoPartOfIt) {
  EXPECT_THAT(changes_of(change({"a"}) + change({"b"})), IsEmpty());
  EXPECT_THAT(changes_of(change({"a"}) + "x"), IsEmpty());
  EXPECT_THAT(records_of(change({"a"}) + "x"), ElementsAre("broken"));
}

TEST(Record, NonsenseIsRefused) {
  for (const std::string& bytes :
       {"*"s, "*\r\n"s, "*0\r\n"s, "*-1\r\n"s, "*1\r\n"s, "*1\r\n$-1\r\n"s, "*1\r\n$\r\n\r\n"s,
        "*1\r\n$1\r\na\n\n"s, "*1\n$1\na\n"s, "*1\r\n$2\r\na\r\n"s, "*1\r\n$0\r\na\r\n"s,
        "*1\r\n:1\r\n"s, "$1\r\na\r\n"s, "PING\r\n"s, "* 1\r\n$1\r\na\r\n"s, "*+1\r\n$1\r\na\r\n"s,
        "*1\r\n*0\r\n"s, "*2\r\n*1\r\n$1\r\na\r\n$1\r\nb\r\n"s, "*1\r\n*1\r\n*1\r\n$1\r\na\r\n"s,
        "\0\0\0\0\0\0\0\0"s,
        // Lengths that nothing could hold.
        "*18446744073709551615\r\n$1\r\na\r\n"s, "*18446744073709551616\r\n$1\r\na\r\n"s,
        "*18446744073709551615\r\n*1\r\n$1\r\na\r\n"s, "*1\r\n$18446744073709551615\r\na\r\n"s,
        "*1\r\n$18446744073709551614\r\na\r\n"s, "*1\r\n$99999999999999999999\r\na\r\n"s}) {
    EXPECT_THAT(RecordReader(bytes).next(), IsEmpty()) << bytes;
    EXPECT_THAT(changes_of(bytes), IsEmpty()) << bytes;
  }
}

}  // namespace
}  // namespace iris::persistence
