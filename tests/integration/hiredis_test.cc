// The C library that most others are built on, as it is: connections, pipelines, big replies.
#include <hiredis/hiredis.h>

#include <memory>

#include "tests/integration/harness/server_test.h"

namespace iris::harness {
namespace {

struct FreeContext {
  void operator()(redisContext* context) const { redisFree(context); }
};
struct FreeReply {
  void operator()(void* reply) const { freeReplyObject(reply); }
};
using Context = std::unique_ptr<redisContext, FreeContext>;
using ReplyObject = std::unique_ptr<redisReply, FreeReply>;

class HiredisTest : public ServerTest {
 public:
  Context context() {
    Context result(redisConnect("127.0.0.1", server().port()));
    EXPECT_TRUE(result != nullptr && result->err == 0);
    return result;
  }
};
IRIS_WITH_1_AND_4_THREADS(HiredisTest);

template <typename... Args>
ReplyObject run(const Context& context, const char* format, Args... args) {
  return ReplyObject(static_cast<redisReply*>(redisCommand(context.get(), format, args...)));
}

TEST_P(HiredisTest, CommandsAndErrors) {
  start();
  const Context context = this->context();
  const ReplyObject pong = run(context, "PING");
  ASSERT_NE(pong, nullptr) << context->errstr;
  EXPECT_EQ(pong->type, REDIS_REPLY_STATUS);
  EXPECT_STREQ(pong->str, "PONG");
  const ReplyObject echo = run(context, "ECHO %b", "a\0b", size_t{3});
  ASSERT_NE(echo, nullptr);
  EXPECT_EQ(std::string(echo->str, echo->len), std::string("a\0b", 3));
  const ReplyObject wrong = run(context, "NOPE");
  ASSERT_NE(wrong, nullptr);
  EXPECT_EQ(wrong->type, REDIS_REPLY_ERROR);
  EXPECT_EQ(context->err, 0) << "an error reply leaves the connection usable";
}

TEST_P(HiredisTest, PipelinesKeepTheirOrder) {
  start();
  const Context context = this->context();
  constexpr int kDepth = 5000;
  for (int i = 0; i < kDepth; ++i) redisAppendCommand(context.get(), "ECHO %d", i);
  for (int i = 0; i < kDepth; ++i) {
    void* raw = nullptr;
    ASSERT_EQ(redisGetReply(context.get(), &raw), REDIS_OK) << context->errstr;
    const ReplyObject reply(static_cast<redisReply*>(raw));
    ASSERT_EQ(std::string(reply->str, reply->len), std::to_string(i));
  }
}

TEST_P(HiredisTest, NestedRepliesParse) {
  start();
  const Context context = this->context();
  const ReplyObject info = run(context, "COMMAND INFO ping exists");
  ASSERT_NE(info, nullptr) << context->errstr;
  ASSERT_EQ(info->type, REDIS_REPLY_ARRAY);
  EXPECT_EQ(info->elements, 2U);
  const ReplyObject all = run(context, "COMMAND");
  ASSERT_NE(all, nullptr) << context->errstr;
  EXPECT_GT(all->elements, 60U);
  EXPECT_EQ(run(context, "PING")->type, REDIS_REPLY_STATUS);
}

TEST_P(HiredisTest, TransactionsAnswerAsArrays) {
  start();
  const Context context = this->context();
  EXPECT_STREQ(run(context, "MULTI")->str, "OK");
  EXPECT_STREQ(run(context, "EXISTS a b")->str, "QUEUED");
  EXPECT_STREQ(run(context, "DBSIZE")->str, "QUEUED");
  const ReplyObject result = run(context, "EXEC");
  ASSERT_EQ(result->type, REDIS_REPLY_ARRAY);
  ASSERT_EQ(result->elements, 2U);
  EXPECT_EQ(result->element[1]->type, REDIS_REPLY_INTEGER);
}

TEST_P(HiredisTest, WorksOverTheUnixSocket) {
  start({"unixsocket socket"});
  const Context context(redisConnectUnix(server().unix_socket().c_str()));
  ASSERT_EQ(context->err, 0) << context->errstr;
  EXPECT_STREQ(run(context, "PING")->str, "PONG");
}

}  // namespace
}  // namespace iris::harness
