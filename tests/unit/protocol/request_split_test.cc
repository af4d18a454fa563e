// However a conversation is cut, the same requests come out of it, and each byte is read once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>

#include "protocol/request_parser.h"
#include "tests/unit/protocol/connection_input.h"

namespace iris::protocol {
namespace {

using std::string_literals::operator""s;
using testing::ElementsAre;
using testing::SizeIs;

std::string bulk(std::string_view bytes) {
  return "$" + std::to_string(bytes.size()) + "\r\n" + std::string(bytes) + "\r\n";
}

// A pipeline with a bit of everything that may follow everything else.
std::string mixed_conversation() {
  std::string bytes = "PING\r\n*1\r\n" + bulk("PING") + "\r\n*0\r\n\n";
  bytes += "*3\r\n" + bulk("BF.ADD") + bulk("") + bulk("\r\n$-1\r\n*\0\xff"s);
  bytes += "ECHO \"a\\x00\\\"b\" 'it\\'s' plain\"joined\"\n*-1\r\n   \r\n";
  bytes += "*4\r\n" + bulk("BF.MADD") + bulk("f") + bulk(std::string(300, 'x')) + bulk("*1\r\n");
  bytes += "*12\r\n";
  for (int i = 0; i < 12; ++i) bytes += bulk(std::to_string(i * i * i));
  bytes += "QUIT\n*2\r\n" + bulk("half") + "$10\r\nan argum";
  return bytes;
}

Transcript parse_cut_at(std::string_view bytes, const std::vector<size_t>& cuts,
                        const RequestLimits& limits = {}) {
  ConnectionInput input(limits);
  size_t start = 0;
  for (const size_t cut : cuts) {
    input.receive(bytes.substr(start, cut - start));
    start = cut;
  }
  input.receive(bytes.substr(start));
  return input.transcript();
}

std::vector<size_t> every_position(size_t size) {
  std::vector<size_t> cuts(size);
  for (size_t i = 0; i < size; ++i) cuts[i] = i;
  return cuts;
}

std::vector<size_t> random_positions(size_t size, std::mt19937_64& random) {
  std::vector<size_t> cuts(std::uniform_int_distribution<size_t>(1, 40)(random));
  for (size_t& cut : cuts) cut = std::uniform_int_distribution<size_t>(0, size)(random);
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

TEST(RequestSplit, TheConversationIsReadWhole) {
  const Transcript whole = parse_whole(mixed_conversation());
  ASSERT_THAT(whole.requests, SizeIs(7));
  EXPECT_THAT(whole.requests[2], ElementsAre("BF.ADD", "", "\r\n$-1\r\n*\0\xff"s));
  EXPECT_THAT(whole.requests[3], ElementsAre("ECHO", "a\0\"b"s, "it's", "plainjoined"));
  EXPECT_THAT(whole.requests[4], SizeIs(4));
  EXPECT_THAT(whole.requests[5], SizeIs(12));
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(whole.pending, "*2\r\n$4\r\nhalf\r\n$10\r\nan argum");
}

TEST(RequestSplit, ByteByByteGivesTheSameRequests) {
  const std::string bytes = mixed_conversation();
  EXPECT_EQ(parse_cut_at(bytes, every_position(bytes.size())), parse_whole(bytes));
}

TEST(RequestSplit, EverySingleCutGivesTheSameRequests) {
  const std::string bytes = mixed_conversation();
  const Transcript whole = parse_whole(bytes);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    ASSERT_EQ(parse_cut_at(bytes, {cut}), whole) << "cut at " << cut;
  }
}

TEST(RequestSplit, RandomCutsGiveTheSameRequests) {
  const std::string bytes = mixed_conversation();
  const Transcript whole = parse_whole(bytes);
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (int round = 0; round < 2000; ++round) {
    ASSERT_EQ(parse_cut_at(bytes, random_positions(bytes.size(), random)), whole)
        << "seed " << seed << ", round " << round;
  }
}

TEST(RequestSplit, EveryEndingOfTheConversationIsReadAlikeWholeAndByteByByte) {
  const std::string bytes = mixed_conversation();
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const std::string start = bytes.substr(0, size);
    ASSERT_EQ(parse_cut_at(start, every_position(size)), parse_whole(start)) << size << " bytes";
  }
}

TEST(RequestSplit, EveryErrorIsTheSameByteByByte) {
  const std::string valid = "*2\r\n" + bulk("PING") + bulk("a");
  const RequestLimits limits = {.max_line_bytes = 40, .authenticated = false};
  for (const std::string& broken :
       {"*x\r\n"s, "*1\rX"s, "*1\n\r\n"s, "*11\r\n"s, "*99999999999\r\n"s, "*1\r\n+"s,
        "*1\r\n\r\n"s, "*1\r\n$x\r\n"s, "*1\r\n$-1\r\n"s, "*1\r\n$16385\r\n"s,
        "*1\r\n$1\r\nabc\r\n"s, "*1\r\n$1\r\na\rb"s, "ECHO \"a\r\n"s, "ECHO 'a'b\r\n"s,
        std::string(41, 'i'), "*" + std::string(40, '1'), "*1\r\n$" + std::string(40, '1')}) {
    const std::string bytes = valid + broken + valid;
    const Transcript whole = parse_whole(bytes, limits);
    EXPECT_NE(whole.error, "") << broken;
    EXPECT_EQ(parse_cut_at(bytes, every_position(bytes.size()), limits), whole) << broken;
  }
}

TEST(RequestSplit, SmallLineLimitsDoNotDependOnCuts) {
  const std::string bytes = "*1\r\n$0\r\n\r\n*1\r\n$5\r\nhello\r\n*0000000000000000000001\r\n";
  for (uint64_t limit = 0; limit < 48; ++limit) {
    const RequestLimits limits = {.max_line_bytes = limit};
    ASSERT_EQ(parse_cut_at(bytes, every_position(bytes.size()), limits), parse_whole(bytes, limits))
        << "limit " << limit;
  }
}

// Work is counted by what can be seen of it: a byte that the parser is done with is overwritten
// with one that would break the request if it were read again before it is whole. So an input that
// survives this was checked in one pass, by construction and not by a clock.
TEST(RequestSplit, AMillionArgumentsInPiecesAreCheckedInOnePass) {
  constexpr size_t kArgs = 1'000'000;
  constexpr size_t kPieceBytes = 64 << 10;
  std::string bytes = "*" + std::to_string(kArgs) + "\r\n";
  std::vector<size_t> header_at;
  for (size_t i = 0; i < kArgs; ++i) {
    header_at.push_back(bytes.size());
    bytes += bulk(std::to_string(i));
  }
  const std::string original = bytes;

  RequestParser parser;
  Args args;
  size_t consumed = 0;
  size_t spoilt = 1;  // but the first byte, which says again and again that this is an array
  size_t next = 0;    // argument whose header may still be read
  for (size_t size = kPieceBytes; size < bytes.size(); size += kPieceBytes) {
    ASSERT_EQ(parser.parse(bytes.data(), size, {}, args, consumed), ParseStatus::kIncomplete);
    ASSERT_EQ(consumed, 0u);
    while (next + 1 < kArgs && header_at[next + 1] <= size) ++next;
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(spoilt),
              bytes.begin() + static_cast<std::ptrdiff_t>(header_at[next]), '!');
    spoilt = header_at[next];
  }
  // The whole one is gone through once more, for its arguments.
  std::copy(original.begin(), original.end(), bytes.begin());
  ASSERT_EQ(parser.parse(bytes.data(), bytes.size(), {}, args, consumed), ParseStatus::kRequest);
  EXPECT_EQ(consumed, bytes.size());
  ASSERT_EQ(args.size(), kArgs);
  for (size_t i = 0; i < kArgs; ++i) {
    const size_t offset = static_cast<size_t>(args[i].data() - bytes.data());
    ASSERT_EQ(original.substr(offset, args[i].size()), std::to_string(i));
  }
}

// As above: the part of a line that was searched gets an end of line, which must not be found.
TEST(RequestSplit, ALongLineInPiecesIsSearchedOnce) {
  for (const std::string& start : {"*"s, "*1\r\n$"s, "i"s}) {
    std::string bytes = start + std::string(60'000, '1');
    RequestParser parser;
    Args args;
    size_t consumed = 0;
    for (size_t size = start.size() + 100; size < bytes.size(); size += 100) {
      ASSERT_EQ(parser.parse(bytes.data(), size, {}, args, consumed), ParseStatus::kIncomplete);
      // The 20 bytes that the quick path looks at first stay.
      std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(start.size()) + 20,
                bytes.begin() + static_cast<std::ptrdiff_t>(size), start == "i" ? '\n' : '\r');
    }
  }
}

// The payload's pages cannot be read: a parser that looked at them would die.
TEST(RequestSplit, APayloadIsNotReadAtAll) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t payload_bytes = 16 * page;
  const size_t mapped_bytes = page + payload_bytes + page;
  void* mapped =
      mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  char* payload = static_cast<char*>(mapped) + page;
  const std::string headers = "*1\r\n$" + std::to_string(payload_bytes) + "\r\n";
  char* request = payload - headers.size();
  headers.copy(request, headers.size());
  payload[payload_bytes] = '\r';
  payload[payload_bytes + 1] = '\n';
  ASSERT_EQ(mprotect(payload, payload_bytes, PROT_NONE), 0);

  RequestParser parser;
  Args args;
  size_t consumed = 0;
  const size_t size = headers.size() + payload_bytes + 2;
  for (size_t cut = 0; cut < size; cut += page / 2) {
    ASSERT_EQ(parser.parse(request, cut, {}, args, consumed), ParseStatus::kIncomplete);
  }
  ASSERT_EQ(parser.parse(request, size, {}, args, consumed), ParseStatus::kRequest);
  EXPECT_EQ(args[0].data(), payload);
  EXPECT_EQ(args[0].size(), payload_bytes);
  munmap(mapped, mapped_bytes);
}

}  // namespace
}  // namespace iris::protocol
