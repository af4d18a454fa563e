#include "server/log.h"

#include <memory>
#include <utility>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace iris::server {

namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::trace;
    case LogLevel::kVerbose:
      return spdlog::level::debug;
    case LogLevel::kNotice:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
  }
  return spdlog::level::info;
}

// Redis's one-letter levels.
class LevelMark : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    constexpr std::string_view kMarks = ".-*##";
    const auto level = static_cast<size_t>(message.level);
    out.push_back(level < kMarks.size() ? kMarks[level] : '#');
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<LevelMark>();
  }
};

}  // namespace

std::string open_log(const Config& config) {
  spdlog::sink_ptr sink;
  try {  // spdlog's constructors are the one place that throws
    if (config.logfile.empty()) {
      sink = std::make_shared<spdlog::sinks::stdout_sink_mt>();
    } else {
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(config.logfile);
    }
  } catch (const spdlog::spdlog_ex& error) {
    return "logfile " + config.logfile + ": " + error.what();
  }
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<LevelMark>('*').set_pattern("%P:M %d %b %Y %H:%M:%S.%e %* %v");
  auto logger = std::make_shared<spdlog::logger>("iris", std::move(sink));
  logger->set_formatter(std::move(formatter));
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
  set_log_level(config.loglevel);
  return {};
}

void set_log_level(LogLevel level) {
  spdlog::set_level(spdlog_level(level));
}

void silence_log() {
  spdlog::set_level(spdlog::level::off);
}

void write_log(LogLevel level, fmt::string_view format, fmt::format_args arguments) {
  if (!spdlog::should_log(spdlog_level(level))) return;
  spdlog::log(spdlog_level(level), fmt::vformat(format, arguments));
}

}  // namespace iris::server
