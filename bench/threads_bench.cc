// How much a second thread adds when all threads work on one hot key: requests go straight into
// dispatchers, without sockets, so the figure is that of what is shared (the world lock, the
// keyspace, the filter with its stripes and its item count) and not of the kernel's network.
//
//   driver 0 -> dispatcher 0 --+
//                              +--> one engine, one key: 10,000,000 items at 1 %
//   driver 1 -> dispatcher 1 --+
//
// Each driver is a member of the world lock and works as a worker does: a batch of requests inside
// the lock, first planned (key found, item hashed, memory asked for), then executed. Writing an
// item's digits stands for parsing it. Mixes, of a Bloom filter and of a spectral one: lookups
// only, half and half (also within a batch), writes only, most of them of items that are new.
//
// Throughput is told twice: by the wall, and by the CPU time of the drivers. The second is the
// steadier one where others use the machine, and waiting at a spin lock counts in both.
//
//     threads_bench [SECONDS [ROUNDS [MIX]]]   CSV, medians of the rounds; runs alternate
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/loadgen/item_bytes.h"
#include "bench/loadgen/random.h"
#include "filters/check.h"
#include "server/bloom_value.h"
#include "server/dispatcher.h"
#include "server/engine.h"
#include "server/idle_control.h"
#include "server/spectral_value.h"

namespace iris::server {
namespace {

constexpr size_t kBatchRequests = 128;  // as in a worker
constexpr size_t kItemBytes = 12;
constexpr uint64_t kItems = 10'000'000;
constexpr std::string_view kKey = "hot";
constexpr size_t kSetupMember = 0;
constexpr uint32_t kMostThreads = 16;

// What the drivers do: with which commands, and how many of ten are writes.
struct Mix {
  const char* name;
  const char* look;
  const char* write;
  uint64_t writes_of_ten;
};
constexpr std::array<Mix, 6> kMixes = {{{"BF.EXISTS", "BF.EXISTS", "BF.ADD", 0},
                                        {"BF.EXISTS and BF.ADD", "BF.EXISTS", "BF.ADD", 5},
                                        {"BF.ADD", "BF.EXISTS", "BF.ADD", 10},
                                        {"CF.COUNT", "CF.COUNT", "CF.INCR", 0},
                                        {"CF.COUNT and CF.INCR", "CF.COUNT", "CF.INCR", 5},
                                        {"CF.INCR", "CF.COUNT", "CF.INCR", 10}}};

struct Throughput {
  double by_wall = 0;  // requests a second
  double by_cpu = 0;   // requests a second of each driver's CPU time, added up
};

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// One thread's way into the engine.
class Driver {
 public:
  Driver(Engine& engine, size_t member, const Mix& mix)
      : engine_(engine),
        member_(member),
        writes_of_ten_(mix.writes_of_ten),
        dispatcher_(engine, member),
        random_(member + 1),
        look_(engine.commands.find(mix.look)),
        write_(engine.commands.find(mix.write)) {
    session_.record = engine.clients.add(-1, static_cast<uint32_t>(member), "", "", 0);
    session_.authenticated = true;
  }
  ~Driver() { engine_.clients.remove(session_.record->id); }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  void run(const std::atomic<bool>& go, const std::atomic<bool>& stop) {
    while (!go.load(std::memory_order_acquire)) {
    }
    const double wall = seconds_of(CLOCK_MONOTONIC);
    const double cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    uint64_t requests = 0;
    for (; !stop.load(std::memory_order_relaxed); requests += kBatchRequests) run_batch();
    const auto count = static_cast<double>(requests);
    throughput_.by_wall = count / (seconds_of(CLOCK_MONOTONIC) - wall);
    throughput_.by_cpu = count / (seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu);
  }

  // For setting up: one command, whose reply must be +OK or a number.
  void run_command(const std::vector<std::string_view>& args) {
    InsideWorld inside(engine_.world, member_);
    dispatcher_.begin_batch(engine_.clock.wall_ms());
    dispatcher_.execute(session_, args, engine_.commands.find(args[0]), PlannedWork{}, output_);
    dispatcher_.end_batch();
    CHECK(output_.data()[0] != '-');
    output_.clear();
  }

  const Throughput& throughput() const { return throughput_; }

 private:
  struct Request {
    const Command* command;
    std::array<std::string_view, 3> args;
    PlannedWork planned;
  };

  void run_batch() {
    InsideWorld inside(engine_.world, member_);
    dispatcher_.begin_batch(engine_.clock.wall_ms());
    for (size_t i = 0; i < kBatchRequests; ++i) plan(i);
    for (const Request& request : requests_) {
      dispatcher_.execute(session_, request.args, request.command, request.planned, output_);
    }
    dispatcher_.end_batch();
    CHECK(output_.data()[0] == ':' && output_.size() >= 4 * kBatchRequests);  // ":1\r\n" or so
    output_.clear();
  }

  void plan(size_t i) {
    char* const item = items_.data() + i * kItemBytes;
    loadgen::write_decimal(item, kItemBytes, random_.below(kItems));
    const Command* const command = random_.below(10) < writes_of_ten_ ? write_ : look_;
    Entry* const entry =
        engine_.keyspace.find(session_.db, Database::hashed(kKey), dispatcher_.now_ms());
    Value& value = *entry->value;
    if (value.kind() == ValueKind::kBloom) {
      hashes_[i] = ask_for(static_cast<BloomValue&>(value).filter(), {item, kItemBytes}, command);
    } else {
      hashes_[i] =
          ask_for(static_cast<SpectralValue&>(value).filter(), {item, kItemBytes}, command);
    }
    entry->value->touch(dispatcher_.now_ms());
    requests_[i] = {command,
                    {command->full_name, kKey, {item, kItemBytes}},
                    {&value, {&hashes_[i], 1}, engine_.keyspace.generation(), 0}};
  }

  template <typename Filter>
  filters::ItemHash ask_for(const Filter& filter, std::string_view item, const Command* command) {
    const filters::ItemHash hash = filter.hash(item);
    filter.prefetch(hash);
    if (command == write_ && engine_.stripes.shared()) {
      engine_.stripes.prefetch(filter.stripe_of(hash));
    }
    return hash;
  }

  Engine& engine_;
  const size_t member_;
  const uint64_t writes_of_ten_;
  Dispatcher dispatcher_;
  Session session_;
  loadgen::Random random_;
  const Command* const look_;
  const Command* const write_;
  protocol::ReplyBuffer output_;
  std::array<char, kBatchRequests * kItemBytes> items_{};
  std::array<filters::ItemHash, kBatchRequests> hashes_{};
  std::array<Request, kBatchRequests> requests_{};
  Throughput throughput_;
};

// Thread i to core i, so that two threads do not share one.
void pin_to(std::thread& thread, size_t core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  (void)pthread_setaffinity_np(thread.native_handle(), sizeof cores, &cores);  // as well as it goes
}

Throughput measure(uint32_t threads, const Mix& mix, double seconds) {
  Clock clock;
  IdleControl control;
  RunFacts facts;
  facts.threads = threads;
  Engine engine(Config{}, facts, clock, control);
  std::vector<std::unique_ptr<Driver>> drivers;
  for (size_t i = 0; i < threads; ++i) {
    drivers.push_back(std::make_unique<Driver>(engine, i, mix));
  }
  const std::string items = std::to_string(kItems);
  if (std::string_view(mix.write) == "BF.ADD") {
    drivers[kSetupMember]->run_command({"BF.RESERVE", kKey, "0.01", items});
  } else {
    drivers[kSetupMember]->run_command({"CF.RESERVE", kKey, items, "ERROR", "0.01"});
  }
  // Memory that was never written is one page of zeros, which every cache holds.
  for (uint64_t n = 0; n < kItems / 10; ++n) {
    char item[kItemBytes];
    loadgen::write_decimal(item, kItemBytes, n);
    drivers[kSetupMember]->run_command({mix.write, kKey, {item, kItemBytes}});
  }

  std::atomic<bool> go{false};
  std::atomic<bool> stop{false};
  std::vector<std::thread> running;
  for (size_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] { drivers[i]->run(go, stop); });
    pin_to(running.back(), i);
  }
  go.store(true, std::memory_order_release);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop.store(true, std::memory_order_relaxed);
  for (std::thread& thread : running) thread.join();

  Throughput sum;
  for (const auto& driver : drivers) {
    sum.by_wall += driver->throughput().by_wall;
    sum.by_cpu += driver->throughput().by_cpu;
  }
  return sum;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// 1, 2, 4 and so on, as many as there are cores.
std::vector<uint32_t> thread_counts() {
  std::vector<uint32_t> counts;
  const uint32_t most = std::clamp(std::thread::hardware_concurrency(), 1u, kMostThreads);
  for (uint32_t threads = 1; threads <= most; threads *= 2) counts.push_back(threads);
  return counts;
}

void run_mix(const Mix& mix, double seconds, int rounds) {
  const std::vector<uint32_t> counts = thread_counts();
  std::vector<std::vector<double>> by_wall(counts.size()), by_cpu(counts.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < counts.size(); ++i) {
      const Throughput throughput = measure(counts[i], mix, seconds);
      by_wall[i].push_back(throughput.by_wall);
      by_cpu[i].push_back(throughput.by_cpu);
    }
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    const double wall = median(by_wall[i]);
    const double cpu = median(by_cpu[i]);
    std::printf("%s,%" PRIu32 ",%.0f,%.0f,%.2f,%.2f\n", mix.name, counts[i], wall, cpu,
                wall / median(by_wall[0]), cpu / median(by_cpu[0]));
    std::fflush(stdout);
  }
}

int run(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
  const std::string_view wanted = argc > 3 ? argv[3] : "";
  const bool known =
      wanted.empty() ||
      std::any_of(kMixes.begin(), kMixes.end(), [&](const Mix& mix) { return wanted == mix.name; });
  if (!(seconds > 0 && seconds <= 60) || rounds < 1 || rounds > 100 || !known) {
    std::fprintf(stderr,
                 "usage: threads_bench [SECONDS, above 0 to 60 [ROUNDS, 1 to 100 [MIX]]]\n");
    for (const Mix& mix : kMixes) std::fprintf(stderr, "  MIX: %s\n", mix.name);
    return 2;
  }
  std::printf("mix,threads,by_wall,by_cpu,wall_ratio,cpu_ratio\n");
  for (const Mix& mix : kMixes) {
    if (wanted.empty() || wanted == mix.name) run_mix(mix, seconds, rounds);
  }
  return 0;
}

}  // namespace
}  // namespace iris::server

int main(int argc, char** argv) {
  return iris::server::run(argc, argv);
}
