// loadgen: a load generator that costs less than the server it drives.
//
//   options.h           what the user wants
//   request_template.h  the command as bytes with holes; request_batch.h fills them
//   item_choice.h       which items: uniform (random.h), Zipf (zipf.h), sequential
//   item_bytes.h        their bytes
//   driver.h            the loop of a thread, over its share of connections (connection.h)
//   reply_counter.h     replies, however they are cut
//   latency_histogram.h, server_cpu.h, report.h   what is told in the end
//
// Connections are opened before the clock starts; each thread then works alone, and the results are
// added up.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "bench/loadgen/driver.h"
#include "bench/loadgen/options.h"
#include "bench/loadgen/report.h"
#include "bench/loadgen/server_cpu.h"

namespace iris::loadgen {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
// All threads have to be there when the run begins.
constexpr uint64_t kStartDelayNs = kSecondNs / 100;
// Keeps the random choices of threads, and of keys and items, apart.
constexpr uint64_t kSeedStep = 1'000'003;

constexpr int kWrongReplies = 1;
constexpr int kWrongOptions = 2;

int fail(int code, const std::string& reason) {
  std::fprintf(stderr, "loadgen: %s\n", reason.c_str());
  return code;
}

// Part `index` of a whole that is dealt out among `parts`.
uint64_t part_of(uint64_t whole, uint64_t index, uint64_t parts) {
  return whole / parts + (index < whole % parts ? 1 : 0);
}

CpuUse own_cpu() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return {seconds(usage.ru_utime), seconds(usage.ru_stime)};
}

std::unique_ptr<Driver> make_driver(const Options& options, const RequestTemplate& request,
                                    uint64_t thread, std::atomic<bool>& stop, std::string& error) {
  const Address address{options.host, static_cast<uint16_t>(options.port), options.unix_socket};
  std::vector<std::unique_ptr<Connection>> connections;
  for (uint64_t i = 0; i < part_of(options.connections, thread, options.threads); ++i) {
    const int fd = connect_to(address, error);
    if (fd < 0) return nullptr;
    connections.push_back(std::make_unique<Connection>(fd, options.expect));
  }
  const uint64_t seed = options.seed + 2 * thread * kSeedStep;
  ItemChoice choice(options.items, static_cast<uint32_t>(thread),
                    static_cast<uint32_t>(options.threads), seed);
  RequestBatch batch(request, options.pipeline, options.keys, options.binary, options.item_bytes,
                     std::move(choice), seed + kSeedStep);
  return std::make_unique<Driver>(options, std::move(batch), std::move(connections), stop);
}

Share share_of(const Options& options, uint64_t thread, uint64_t start_ns) {
  Share share{};
  share.start_ns = start_ns;
  share.end_ns = options.requests > 0
                     ? UINT64_MAX
                     : start_ns + static_cast<uint64_t>(options.seconds * kSecondNs);
  share.requests =
      options.requests > 0 ? part_of(options.requests, thread, options.threads) : UINT64_MAX;
  if (options.rate > 0) {
    const double batches_a_second =
        options.rate / static_cast<double>(options.pipeline * options.threads);
    share.interval_ps =
        std::max<uint64_t>(1, static_cast<uint64_t>(kSecondNs * 1e3 / batches_a_second));
    // So that threads take turns instead of sending at the same instant.
    share.start_ns += thread * share.interval_ps / 1000 / options.threads;
  }
  return share;
}

void run_drivers(const Options& options, std::vector<std::unique_ptr<Driver>>& drivers,
                 uint64_t start_ns) {
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < drivers.size(); ++thread) {
    threads.emplace_back([&options, &drivers, thread, start_ns] {
      drivers[thread]->run(share_of(options, thread, start_ns));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

int run(const Options& options) {
  const RequestTemplate request = options.request();
  std::atomic<bool> stop{false};
  std::vector<std::unique_ptr<Driver>> drivers;
  for (uint64_t thread = 0; thread < options.threads; ++thread) {
    std::string error;
    auto driver = make_driver(options, request, thread, stop, error);
    if (driver == nullptr) return fail(kWrongReplies, error);
    drivers.push_back(std::move(driver));
  }

  const auto server_before = options.pid != 0 ? sample_cpu(options.pid) : std::nullopt;
  if (options.pid != 0 && !server_before) {
    return fail(kWrongOptions, "--pid " + std::to_string(options.pid) +
                                   ": allowed is the id of a process that is running");
  }
  const CpuUse own_before = own_cpu();
  const uint64_t start_ns = monotonic_ns() + kStartDelayNs;
  run_drivers(options, drivers, start_ns);
  const CpuUse own_after = own_cpu();

  Result result;
  uint64_t end_ns = start_ns;
  for (const auto& driver : drivers) {
    if (!driver->error().empty()) return fail(kWrongReplies, driver->error());
    result.requests += driver->answered();
    result.latencies.add_all(driver->latencies());
    end_ns = std::max(end_ns, driver->ended_ns());
  }
  result.seconds = static_cast<double>(end_ns - start_ns) / kSecondNs;
  result.own_cpu = {own_after.user_s - own_before.user_s, own_after.system_s - own_before.system_s};
  if (server_before) {
    const auto server_after = sample_cpu(options.pid);
    if (!server_after) return fail(kWrongReplies, "the server has ended");
    result.server_cpu = cpu_between(*server_before, *server_after);
  }
  const std::string text =
      options.json ? report_json(options, result) : report_text(options, result);
  std::fputs(text.c_str(), stdout);
  return 0;
}

int main_with(const std::vector<std::string>& arguments) {
  const auto parsed = parse_options(arguments);
  if (const auto* const problem = std::get_if<std::string>(&parsed)) {
    return fail(kWrongOptions, *problem);
  }
  const Options& options = *std::get_if<Options>(&parsed);
  if (!options.help) return run(options);
  std::fputs(help_text().c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace iris::loadgen

int main(int argc, char** argv) {
  return iris::loadgen::main_with(std::vector<std::string>(argv + 1, argv + argc));
}
